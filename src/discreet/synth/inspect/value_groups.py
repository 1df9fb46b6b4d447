"""The cells of a column gathered to a few values that people read: `17 to 29`, `30 to 49`, `others`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.inference.axes import Table
from discreet.schema.column import TextColumn
from discreet.synth.attribute import Attribute
from discreet.synth.inspect.model_histograms import draws_mixed, kind_of, reading_order
from discreet.synth.inspect.report_text import label_text
from discreet.synth.inspect.simple_questions import value_text

OTHERS = "others"


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueGroups:
    """The names of the groups, and for each cell of the model the place of its group: every cell is in one."""

    names: tuple[str, ...]
    places: NDArray[np.int64]

    def gather(self, table: Table) -> Table:
        """A table whose first axis is the column's: the sums of its groups, which become the last axis."""
        indicator = np.zeros((len(self.places), len(self.names)))
        indicator[np.arange(len(self.places)), self.places] = 1
        return np.tensordot(table, indicator, axes=([0], [0]))


def gather_values(attribute: Attribute, counts: Table, most: int) -> ValueGroups:
    """At most `most` groups, and one more for what has no place among them.

    Numbers and moments are cut into runs of about equally many rows of the model; of other values the most common
    stand alone. Values that were merged as rare, and NULL, are the group more.
    """
    cells, labels = reading_order(attribute), attribute.shown_labels()
    own = [cell for cell in cells if labels[cell] is not None and not draws_mixed(attribute, cell)]
    runs = _runs(own, counts, most) if kind_of(attribute) in ("number", "moment") else _common(own, counts, most)
    rest = sorted(set(cells) - {cell for run in runs for cell in run})
    names = [_name(attribute, run) for run in runs]
    if rest:
        names.append(label_text(labels[rest[0]]) if len(rest) == 1 else OTHERS)
    places = np.full(attribute.size, len(runs), dtype=np.int64)
    for place, run in enumerate(runs):
        places[run] = place
    return ValueGroups(names=tuple(names), places=places)


def _runs(own: list[int], counts: Table, most: int) -> list[list[int]]:
    """Neighbours together, by the middle of each cell's part of all rows."""
    if len(own) <= most:
        return [[cell] for cell in own]
    rows = np.maximum(counts[own], 0)
    middles = (np.cumsum(rows) - rows / 2) / max(float(rows.sum()), 1e-9)
    numbers = np.minimum((middles * most).astype(int), most - 1).tolist()
    return [
        [cell for cell, number in zip(own, numbers, strict=True) if number == chosen] for chosen in sorted(set(numbers))
    ]


def _common(own: Sequence[int], counts: Table, most: int) -> list[list[int]]:
    common = sorted(own, key=lambda cell: -counts[cell])[: most if len(own) <= most else most - 1]
    return [[cell] for cell in own if cell in common]


def _name(attribute: Attribute, run: Sequence[int]) -> str:
    """The value, or the first and the last one of a run."""
    if len(run) == 1:
        return label_text(attribute.shown_labels()[run[0]])
    assert not isinstance(attribute.column, TextColumn)
    fine = np.concatenate([attribute.drawn(cell) for cell in run])
    first, last = attribute.edges[int(fine.min())], attribute.edges[int(fine.max()) + 1] - 1
    return f"{value_text(attribute.column.label(first))} to {value_text(attribute.column.label(last))}"
