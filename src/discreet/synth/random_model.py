"""Random: rows of the right types from the declared schema alone. Costs nothing, tells nothing."""

from __future__ import annotations

from discreet.errors import UsageError
from discreet.inference.fit import fit
from discreet.kernel.curator import Version
from discreet.schema.column import Column
from discreet.synth.attribute import attribute_of
from discreet.synth.model import Model, ModelCard

#: How many rows come out where nobody says: nothing is known about the table's own number.
ROWS = 1000.0


def random_model(version: Version, columns: tuple[Column, ...]) -> Model:
    """Every declared value equally likely."""
    attributes = tuple(candidate for candidate in map(attribute_of, columns) if candidate is not None)
    if not attributes:
        raise UsageError("no column declares its values", hint="declare bounds, values or bins for at least one column")
    unit = version.schema.unit
    return Model(
        card=ModelCard(
            kind="random",
            table=version.table,
            version=version.number,
            unit="row" if unit.is_row else f"person, at most {unit.rows:,} rows",
            because="made from the declared schema only: it says nothing about the data and is free",
        ),
        columns=columns,
        attributes=attributes,
        fitted=fit([attribute.size for attribute in attributes], (), ROWS),
    )
