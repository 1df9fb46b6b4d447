"""Room for what is measured in any case: marginals that an expert names fit into the model, or are not paid for."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from discreet.errors import UsageError
from discreet.inference.junction_tree import model_cells
from discreet.schema.column import Column
from discreet.synth.attribute import Attribute
from discreet.synth.attribute_discovery import MOST_WORDS
from discreet.synth.cell_choice import MOST_BINS
from discreet.synth.constraint_bounds import provisional_attributes
from discreet.synth.fit_request import FitRequest
from discreet.synth.fit_task import cells_in


def refuse_large_marginals(
    request: FitRequest, columns: Sequence[Column], from_constraints: Mapping[str, Attribute], *, model_mb: float
) -> None:
    """Refuse named marginals that the model has no room for, alone or together. Before data is touched.

    A column counts for the most cells that the model can make of it, whatever noise may merge.
    """
    if not request.marginals:
        return
    names = [column.name.lower() for column in columns]
    sizes = most_cells_by_column(request, columns, from_constraints)
    bound = list(_places(names, [rule.columns for rule in (*request.constraints.rules, *request.constraints.totals)]))
    sets = list(_places(names, request.marginals))
    room = max(cells_in(model_mb), model_cells(sizes, bound))
    for own in sets:
        _refuse(math.prod(sizes[place] for place in own), room, ", ".join(columns[place].name for place in own))
    _refuse(model_cells(sizes, [*bound, *sets]), room, "")


def _refuse(needed: int, room: int, names: str) -> None:
    if needed > room:
        raise UsageError(
            f"{f'the marginal of {names} has' if names else 'the named marginals together have'} up to "
            f"{needed:,} cells, but the model has room for {room:,}",
            hint="put fewer columns in a marginal, declare fewer values or bins for them, or raise model_mb",
        )


def most_cells_by_column(
    request: FitRequest, columns: Sequence[Column], from_constraints: Mapping[str, Attribute]
) -> list[int]:
    """For each column the most cells that the model can make of it."""
    attributes = request.constraints.prepare_attributes(provisional_attributes(columns, from_constraints))
    sizes = {attribute.name: most_cells(attribute) for attribute in attributes}
    return [sizes.get(column.name, MOST_WORDS + 2) for column in columns]


def most_cells(attribute: Attribute) -> int:
    """The most cells that `first_histograms.group_cells` makes of it: bins, and one more a cut by a constraint."""
    if not attribute.binned:
        return attribute.fine
    cuts = int(np.count_nonzero(np.diff(attribute.apart)))
    return min(attribute.fine, MOST_BINS + 1 + cuts)


def _places(names: Sequence[str], sets: Iterable[Sequence[str]]) -> Iterator[tuple[int, ...]]:
    """For each set of columns their places, rising. One that is about a column that is not modelled binds nothing."""
    for own in sets:
        lowered_names = {name.lower() for name in own}
        if lowered_names <= set(names):
            yield tuple(place for place, name in enumerate(names) if name in lowered_names)
