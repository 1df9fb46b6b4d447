"""Columns cut where conditions and keys cut them: the axes of a grid of cells."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.accounting.region import Box, ValueSet
from discreet.plan.cells import Axis
from discreet.plan.expressions import Code

Places = NDArray[np.int64]

#: Codes beyond this make no edges.
_FAR = 2**62


@dataclass(frozen=True, slots=True, kw_only=True)
class CutColumn:
    """The codes of a column from edges[0] up to, not including, edges[-1], cut at the others; NULL is the last cell."""

    column: str
    edges: tuple[int, ...]
    null: bool

    @property
    def size(self) -> int:
        return len(self.edges) - 1 + self.null

    @property
    def axis(self) -> Axis:
        code = Code(self.column, self.edges[0], self.edges[-1] - 1, self.null)
        return Axis(of=code, edges=self.edges, null=self.null, labels=())

    def places(self, allowed: ValueSet) -> Places:
        """The cells of these values, each of which lies wholly inside them.

        >>> ages = CutColumn(column="age", edges=(0, 18, 65, 120), null=True)
        >>> ages.places(ValueSet(((18, None),), null=True)).tolist()
        [1, 2, 3]
        """
        inside = np.zeros(self.size, dtype=np.bool_)
        edges = np.array(self.edges)
        for low, high in allowed.runs:
            start = 0 if low is None else int(np.searchsorted(edges, int(low)))
            stop = len(edges) - 1 if high is None else int(np.searchsorted(edges, int(high)))
            inside[start:stop] = True
        if self.null:
            inside[-1] = allowed.null
        return np.flatnonzero(inside)


#: Of each column where it is cut, besides its ends.
Cuts = Mapping[str, frozenset[int]]


def cuts_of(boxes: Iterable[Box], domains: Mapping[str, ValueSet]) -> Cuts | None:
    """Where boxes cut columns; None where a column is not one range of whole numbers, with NULL perhaps.

    A column that some box names is in it, cut or not.
    """
    cuts: dict[str, set[int]] = {}
    for box in boxes:
        for column, allowed in box.sides.items():
            ends = whole_range(domains.get(column))
            if ends is None:
                return None
            own = cuts.setdefault(column, set())
            inner = (int(end) for run in allowed.runs for end in run if end is not None)
            own.update(end for end in inner if ends[0] < end < ends[1])
    return {column: frozenset(own) for column, own in cuts.items()}


def whole_range(domain: ValueSet | None) -> tuple[int, int] | None:
    """The one range of whole numbers that a domain is, besides NULL.

    >>> whole_range(ValueSet(((0, 5),), null=True)), whole_range(ValueSet((("", None),)))
    ((0, 5), None)
    """
    match domain:
        case ValueSet(runs=((int() as low, int() as high),)) if -_FAR < low < high < _FAR:
            return low, high
        case _:
            return None


def merged_cuts(parts: Iterable[Cuts]) -> Cuts:
    """Where any of them cuts."""
    merged: dict[str, frozenset[int]] = {}
    for part in parts:
        for column, own in part.items():
            merged[column] = merged.get(column, frozenset()) | own
    return merged


def cells_between(cuts: Cuts, domains: Mapping[str, ValueSet]) -> int:
    """How many cells the cuts make, all columns crossed."""
    return math.prod(len(own) + 1 + domains[column].null for column, own in cuts.items())


def cut_columns(cuts: Cuts, domains: Mapping[str, ValueSet]) -> tuple[CutColumn, ...]:
    """The columns, by name."""
    columns = []
    for column in sorted(cuts):
        ends = whole_range(domains[column])
        assert ends is not None
        edges = (ends[0], *sorted(cuts[column]), ends[1])
        columns.append(CutColumn(column=column, edges=edges, null=domains[column].null))
    return tuple(columns)


def box_places(columns: tuple[CutColumn, ...], boxes: Iterable[Box]) -> Places:
    """The cells of a union of boxes, row-major, rising."""
    parts = [_box_places(columns, box) for box in boxes]
    if not parts:
        return np.zeros(0, dtype=np.int64)
    return parts[0] if len(parts) == 1 else np.unique(np.concatenate(parts))


def _box_places(columns: tuple[CutColumn, ...], box: Box) -> Places:
    places = np.zeros(1, dtype=np.int64)
    for column in columns:
        allowed = box.sides.get(column.column)
        own = np.arange(column.size) if allowed is None else column.places(allowed)
        places = np.add.outer(places * column.size, own).reshape(-1)
    return places
