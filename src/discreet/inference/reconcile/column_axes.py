"""Axes: each column cut into the cells that the regions can tell apart, and the sides of all pieces as numbers.

A cell is NULL or the values between two neighbouring cuts that the column can take. Cells are never enumerated across
columns: their products, the atoms, are 40,000 at 60 questions and millions at 300.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.accounting.region import Run, Value, ValueSet
from discreet.inference.reconcile.measured_number import ColumnDomains
from discreet.inference.reconcile.region_pieces import Piece

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnAxis:
    """One column. Positions on its line: 0 is its bottom, i + 1 is cuts[i], then its top; NULL comes after.

    `real`: of the cells between positions, which ones hold a value that the column can take, and is NULL possible?
    `sides`: the different sides that pieces have here; the first is all of the column. `inside`: the cells of each.
    """

    name: str
    cuts: tuple[Value, ...]
    real: Flags
    sides: tuple[ValueSet, ...]
    inside: Flags

    @property
    def measure(self) -> Floats:
        """How much each cell weighs: evenly, and 1 together. Any positive weights have the same identities."""
        return np.where(self.real, 1.0 / self.real.sum(), 0.0)

    def overlaps(self) -> Floats:
        """Of each two sides, how much they share."""
        weighed: Floats = self.inside * self.measure
        return weighed @ self.inside.T.astype(np.float64)

    def within(self) -> Flags:
        """[a, b]: is side a within side b? Exact."""
        outside = (self.inside & self.real).astype(np.float32) @ (~self.inside & self.real).T.astype(np.float32)
        return np.asarray(outside == 0.0)

    def shares_of_cells(self, allowed: ValueSet) -> Floats:
        """How much of each cell another side holds: a cut within a cell halves it, wherever it is. Additive, so that
        cuts which a region has, but does not need, change nothing."""
        shares = np.zeros(len(self.cuts) + 2)
        shares[-1] = allowed.null
        for low, high in allowed.runs:
            start = 0.0 if low is None else self._position(low)
            stop = len(self.cuts) + 1.0 if high is None else self._position(high)
            shares[:-1] += np.clip(stop - np.arange(len(shares) - 1), 0, 1) - np.clip(
                start - np.arange(len(shares) - 1), 0, 1
            )
        return shares

    def _position(self, value: Value) -> float:
        left, right = bisect_left(self.cuts, value), bisect_right(self.cuts, value)
        return 0.5 + (left + right) / 2.0


def column_axes(pieces: Sequence[Piece], domain: ColumnDomains) -> tuple[list[ColumnAxis], Integers]:
    """The axes of all columns that some piece narrows, and of each piece the number of its side on each of them."""
    names = sorted({name for piece in pieces for name in piece})
    places = np.zeros((len(pieces), len(names)), dtype=np.int64)
    narrowed_axes = []
    for column, name in enumerate(names):
        sides = {domain.possible(name): 0}
        for number, piece in enumerate(pieces):
            if name in piece:
                places[number, column] = sides.setdefault(piece[name], len(sides))
        narrowed_axes.append(_axis(name, tuple(sides)))
    return narrowed_axes, places


def uncut_axis(name: str, domain: ColumnDomains) -> ColumnAxis:
    """The axis of a column that no region narrows."""
    return _axis(name, (domain.possible(name),))


def _axis(name: str, sides: tuple[ValueSet, ...]) -> ColumnAxis:
    ends = {end for side in sides for run in side.runs for end in run if end is not None}
    cuts = tuple(sorted(ends))
    place = {cut: number + 1 for number, cut in enumerate(cuts)}
    inside = np.zeros((len(sides), len(cuts) + 2), dtype=np.bool_)
    for number, side in enumerate(sides):
        for run in side.runs:
            start, stop = _span(run, place)
            inside[number, start:stop] = True
        inside[number, -1] = side.null
    return ColumnAxis(name=name, cuts=cuts, real=inside[0].copy(), sides=sides, inside=inside)


def _span(run: Run, place: dict[Value, int]) -> tuple[int, int]:
    low, high = run
    return (0 if low is None else place[low]), (len(place) + 1 if high is None else place[high])
