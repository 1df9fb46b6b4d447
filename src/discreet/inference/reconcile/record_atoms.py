"""Atoms: possible records up to what the regions can tell apart, one cell in each column. Found as they are needed."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping

import numpy as np

from discreet.accounting.region import Value, ValueSet
from discreet.inference.reconcile.column_axes import ColumnAxis, Flags, Floats, Integers
from discreet.inference.reconcile.geometry import Geometry

#: A climb goes over all columns at most so often.
MOST_SWEEPS = 8


class Atoms:
    """The atoms of a geometry. An atom is its cells, one for each axis."""

    __slots__ = ("axes", "domain", "first", "inside", "owner", "size")

    def __init__(self, geometry: Geometry) -> None:
        self.axes = geometry.axes
        self.domain = geometry.domain
        self.first = geometry.first
        self.size = len(geometry.pieces)
        self.owner = np.repeat(np.arange(self.size), np.diff(self.first, append=len(geometry.places)))
        #: Of each axis: which pieces hold which cells.
        self.inside = [axis.inside[geometry.places[:, column]] for column, axis in enumerate(self.axes)]

    def regions_holding(self, atom: Integers) -> Flags:
        """Of each region, does it hold the atom? Pieces of a region are disjoint, so at most one does."""
        return np.logical_or.reduceat(self._misses(atom) == 0, self.first)

    def _misses(self, atom: Integers) -> Integers:
        misses = np.zeros(len(self.owner), dtype=np.int64)
        for inside, cell in zip(self.inside, atom.tolist(), strict=True):
            misses += ~inside[:, cell]
        return misses

    def within(self, region: int) -> Integers:
        """Some atom of a region."""
        piece = self.first[region]
        cells = [(inside[piece] & axis.real).argmax() for axis, inside in zip(self.axes, self.inside, strict=True)]
        return np.array(cells, dtype=np.int64)

    def climb(self, atom: Integers, worth: Floats) -> tuple[Integers, float]:
        """Change one cell after another for the better; the regions that hold an atom add their worth."""
        atom, piece_worth = atom.copy(), worth[self.owner]
        best = float(piece_worth[self._misses(atom) == 0].sum())
        for _ in range(MOST_SWEEPS):
            before = best
            misses = self._misses(atom)
            for column, (axis, inside) in enumerate(zip(self.axes, self.inside, strict=True)):
                misses -= ~inside[:, atom[column]]
                near = misses == 0
                load = np.where(axis.real, piece_worth[near] @ inside[near], -np.inf)
                cell = int(load.argmax())
                if load[cell] > load[atom[column]]:
                    atom[column], best = cell, float(load[cell])
                misses += ~inside[:, atom[column]]
            if best <= before:
                break
        return atom, best

    def of(self, record: Mapping[str, Value | None]) -> Integers:
        """The atom of a record."""
        return np.array([_cell(axis, record.get(axis.name)) for axis in self.axes], dtype=np.int64)

    def record(self, atom: Integers) -> dict[str, Value | None]:
        """Some record of the atom: a value for every declared column, and for every other that a region narrows."""
        free = {name: _some(allowed) for name, allowed in self.domain.columns.items()}
        return free | {axis.name: _value(axis, cell) for axis, cell in zip(self.axes, atom.tolist(), strict=True)}


def _cell(axis: ColumnAxis, value: Value | None) -> int:
    return len(axis.cuts) + 1 if value is None else bisect_right(axis.cuts, value)


def _some(allowed: ValueSet) -> Value | None:
    """Some value of a column that no region narrows."""
    if allowed.null or not allowed.runs:
        return None
    low, high = allowed.runs[0]
    if low is not None:
        return low
    return high - 1 if isinstance(high, int) else 0


def _value(axis: ColumnAxis, cell: int) -> Value | None:
    if cell == len(axis.cuts) + 1:
        return None
    if cell > 0:
        return axis.cuts[cell - 1]
    if not axis.cuts:
        return 0  # any value will do, and nothing says of which type
    top = axis.cuts[0]
    return "" if isinstance(top, str) else top - 1
