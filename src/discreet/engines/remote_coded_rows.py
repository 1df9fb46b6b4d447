"""Marginals that the engine counts where the rows lie, each when a program asks for it. No row comes to the curator.

What the curator holds is cells, however many rows there are; what it pays is one GROUP BY for each marginal. Made for
engines whose rows cannot come: see `engine.CodedRows` for the others.

Guarantee: a marginal is the one that `CodedRows` would count from the same rows over the same axes.
Because: each axis has a cell for every code that a declared table holds, so no row is in one marginal and not in
    another; a cell of a merged axis is the union of runs of neighbouring cells of it, and the engine counts runs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.engines.engine import CodedRows
from discreet.plan.cells import Axis

#: The exact number of rows in each cell of some axes, flat and row-major.
MarginalCounter = Callable[[tuple[Axis, ...]], NDArray[np.int64]]


class RemoteCodedRows(CodedRows):
    """The rows of a declared table over axes, seen only through their marginals. Exact: for a program alone."""

    __slots__ = ("_axes", "_folds", "_tally")

    def __init__(
        self, tally: MarginalCounter, axes: tuple[Axis, ...], groups: tuple[NDArray[np.int64], ...] = ()
    ) -> None:
        """`groups`: cell c of axis i counts as cell `groups[i][c]`; else each as itself."""
        groups = groups or tuple(np.arange(axis.size) for axis in axes)
        super().__init__((), tuple(int(group.max()) + 1 for group in groups))
        self._tally = tally
        self._axes = axes
        self._folds = tuple(map(merge_neighbours, axes, groups))

    def _count_marginal(self, places: tuple[int, ...]) -> NDArray[np.int64]:
        folds = [self._folds[place] for place in places]
        exact_counts = self._tally(tuple(axis for axis, _ in folds)).reshape([axis.size for axis, _ in folds])
        for turn, (place, (_, group)) in enumerate(zip(places, folds, strict=True)):
            exact_counts = _sum_by_group(exact_counts, turn, group, self.sizes[place])
        return exact_counts.ravel()

    def merged(self, groups: tuple[NDArray[np.int64], ...]) -> RemoteCodedRows:
        """The same rows over coarser cells of the axes, which must not be merged yet."""
        return RemoteCodedRows(self._tally, self._axes, groups)


def merge_neighbours(axis: Axis, group: NDArray[np.int64]) -> tuple[Axis, NDArray[np.int64]]:
    """The axis with neighbouring cells of one group as one cell, and the groups of its cells. NULL stays a cell."""
    bins = len(axis.edges) - 1
    starts = np.flatnonzero(np.diff(group[:bins], prepend=-1))
    edges = (*(axis.edges[start] for start in starts), axis.edges[-1])
    kept = np.append(starts, [bins] if axis.null else []).astype(np.int64)
    return Axis(of=axis.of, edges=edges, null=axis.null, labels=()), group[kept]


def _sum_by_group(exact_counts: NDArray[np.int64], turn: int, group: NDArray[np.int64], size: int) -> NDArray[Any]:
    """The counts with the cells of one axis added up by group."""
    if len(group) == size and np.array_equal(group, np.arange(size)):
        return exact_counts
    moved = np.moveaxis(exact_counts, turn, 0)
    folded = np.zeros((size, *moved.shape[1:]), dtype=np.int64)
    np.add.at(folded, group, moved)
    return np.moveaxis(folded, 0, turn)
