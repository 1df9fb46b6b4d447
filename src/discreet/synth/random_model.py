"""Random: rows of the right types from the declared schema and public facts alone. Costs nothing, tells nothing."""

from __future__ import annotations

from collections.abc import Sequence

from discreet.errors import UsageError
from discreet.inference.fit import FittedGraphicalModel, MeasuredMarginal, fit
from discreet.kernel.curator import Version
from discreet.present.cell_text import counted
from discreet.schema.column import Column
from discreet.synth.attribute import Attribute, attribute_of
from discreet.synth.constraint_bounds import attributes_from_totals
from discreet.synth.constraints import PublicConstraints
from discreet.synth.model import Model, ModelCard
from discreet.synth.rules import codes_in_cells

#: How many rows come out where nobody says: nothing is known about the table's own number.
ROWS = 1000.0


def random_model(version: Version, columns: tuple[Column, ...], constraints: PublicConstraints) -> Model:
    """Every declared value equally likely, as far as public constraints leave it so."""
    from_constraints = attributes_from_totals(columns, constraints.totals)
    described = [from_constraints.get(column.name) or attribute_of(column) for column in columns]
    attributes = constraints.prepare_attributes([attribute for attribute in described if attribute is not None])
    if not attributes:
        raise UsageError("no column declares its values", hint="declare bounds, values or bins for at least one column")
    unit = version.schema.unit
    return Model(
        card=ModelCard(
            kind="random",
            table=version.table,
            version=version.number,
            unit="row" if unit.is_row else f"person, at most {counted(unit.rows, 'row')}",
            because="made from the declared schema only: it says nothing about the data and is free",
        ),
        columns=columns,
        attributes=attributes,
        fitted=_even_fit(attributes, constraints),
        constraints=constraints,
    )


def _even_fit(attributes: Sequence[Attribute], constraints: PublicConstraints) -> FittedGraphicalModel:
    """Even columns that know nothing of each other, but for what constraints say.

    Constraints cut cells, so cells are then weighed by how many values each holds.
    """
    limits = constraints.on(attributes, ROWS)
    codes = [codes_in_cells(attribute) for attribute in attributes] if constraints.rules or constraints.totals else []
    even = [
        MeasuredMarginal(attributes=(place,), values=limits.total * own / own.sum(), variance=1.0)
        for place, own in enumerate(codes)
    ]
    sizes = [attribute.size for attribute in attributes]
    return fit(sizes, even, limits.total, allowed=limits.allowed, totals=limits.totals)
