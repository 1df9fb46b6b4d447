"""Numbers over a grid that are boxes: a set of cells of each axis, crossed. Axes are cut no finer than they need."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Flags = NDArray[np.bool_]
Places = NDArray[np.int64]


@dataclass(frozen=True, eq=False, kw_only=True)
class BoxSides:
    """`groups`: of each cell of the grid its place in the smaller one, or -1 where no number holds it.

    `sizes`: of the smaller grid's axes, all above 1. `sides[axis]`: for each number its cells on that axis.
    """

    groups: Places
    sizes: tuple[int, ...]
    sides: tuple[Flags, ...]

    @property
    def size(self) -> int:
        return math.prod(self.sizes)

    def signatures(self) -> list[tuple[int, ...]]:
        """Of each number the axes that it narrows."""
        narrowed = np.array([~side.all(axis=1) for side in self.sides]).T.reshape(-1, len(self.sizes))
        return [tuple(np.flatnonzero(line).tolist()) for line in narrowed]

    def rows(self) -> Flags:
        """The numbers over the cells of the smaller grid, row-major."""
        rows = np.ones((len(self.sides[0]), 1), dtype=np.bool_)
        for side in self.sides:
            rows = (rows[:, :, None] & side[:, None, :]).reshape(len(rows), -1)
        return rows

    def table_groups(self, axes: Sequence[int]) -> Places:
        """Of each cell of the smaller grid its place in the table over some axes."""
        places = np.zeros(1, dtype=np.int64)
        for axis, size in enumerate(self.sizes):
            own = np.arange(size) if axis in axes else np.zeros(size, dtype=np.int64)
            places = np.add.outer(places * (size if axis in axes else 1), own).reshape(-1)
        return places


def different_rows(flags: Flags) -> tuple[Flags, Places]:
    """The different rows of a table, as they come; and for each row which it is."""
    numbers: dict[bytes, int] = {}
    packed = np.packbits(flags, axis=1)
    which = np.array([numbers.setdefault(line.tobytes(), len(numbers)) for line in packed], dtype=np.int64)
    _, first = np.unique(which, return_index=True)
    return np.ascontiguousarray(flags[first]), which


def box_sides(shape: Sequence[int], cells: Sequence[Places]) -> BoxSides | None:
    """The sides of numbers; None where one is no box, or where fewer than two axes tell numbers apart.

    >>> sides = box_sides((2, 3), [np.array([0, 1]), np.array([0, 1, 3, 4])])
    >>> sides is None
    True
    """
    if sum(size > 1 for size in shape) < 2:
        return None
    sides = [np.zeros((len(cells), size), dtype=np.bool_) for size in shape]
    for number, own in enumerate(cells):
        for side, places in zip(sides, np.unravel_index(own, tuple(shape)), strict=True):
            side[number, places] = True
        if math.prod(int(side[number].sum()) for side in sides) != len(own):
            return None
    groups: Places = np.zeros(1, dtype=np.int64)
    sizes, kept = [], []
    for side in sides:
        used: Flags = np.asarray(side.any(axis=0))
        columns, which = different_rows(side[:, used].T)
        own = np.zeros(len(used), dtype=np.int64)
        own[used] = which
        groups = np.add.outer(groups * len(columns), own).reshape(-1)
        if len(columns) > 1:
            sizes.append(len(columns))
            kept.append(columns.T)
    if len(sizes) < 2:
        return None
    inside = np.zeros(len(groups), dtype=np.bool_)
    for own in cells:
        inside[own] = True
    return BoxSides(groups=np.where(inside, groups, -1), sizes=tuple(sizes), sides=tuple(kept))
