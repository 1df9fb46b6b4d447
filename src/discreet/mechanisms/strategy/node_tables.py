"""Tables of the nodes of a hierarchy: sums over groups of places, crossed with groups of the cells at a place."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.accounting.sensitivity import Sensitivity
from discreet.mechanisms.integer_arrays import Integers
from discreet.mechanisms.strategy.strategy import Strategy


@dataclass(frozen=True, eq=False, kw_only=True)
class NodeStrategy(Strategy):
    """For every node and every group of cells the number of rows: cells are places by cells at a place, row-major.

    Place i lies in node `places[i]` of `nodes`, cell c in group `groups[c]` of `kinds`; -1 is left out of the table.

    Because every cell is counted once or not at all, a column has one 1 or nothing.

    >>> table = NodeStrategy(places=np.array([0, 0, 1]), nodes=2, groups=np.array([0, -1]), kinds=1)
    >>> table.apply(np.array([5, 9, 6, 9, 7, 9])).tolist(), table.sensitivity(3).l1
    ([11, 7], 3)
    """

    places: NDArray[np.int64]
    nodes: int
    groups: NDArray[np.int64]
    kinds: int

    def __post_init__(self) -> None:
        for own, count in ((self.places, self.nodes), (self.groups, self.kinds)):
            if own.ndim != 1 or not len(own) or not -1 <= own.min() <= own.max() < count or own.max() < 0:
                raise ValueError("a place or a cell is in a group that does not exist")

    @property
    def cells(self) -> int:
        return len(self.places) * len(self.groups)

    @property
    def rows(self) -> int:
        return self.nodes * self.kinds

    @property
    def largest(self) -> int:
        return 1

    @property
    def column_l1(self) -> NDArray[Any]:
        counted = np.multiply.outer(self.places >= 0, self.groups >= 0).ravel()
        return counted.astype(np.int64)

    @property
    def column_l2_squared(self) -> NDArray[Any]:
        return self.column_l1

    def sensitivity(self, rows: int) -> Sensitivity:
        """As every strategy's, without writing out its many columns: none is longer than 1, and some is."""
        return Sensitivity(
            l0=self.rows,
            l1=rows,
            l2_squared=rows**2,
            linf=rows,
            because=("a row is counted at most once in the tables of one level",),
        )

    def apply(self, exact_counts: Integers) -> Integers:
        """The tables, exactly: in 64 bits where no sum can be too large for them, which is seen at a glance."""
        counts = np.asarray(exact_counts)
        if counts.shape == (self.cells,) and counts.dtype == np.int64:
            largest = max(int(counts.max()), -int(counts.min()))
            if largest * self.cells < 2**62:
                return self.multiply(counts)
        return super().apply(exact_counts)

    def multiply(self, values: NDArray[Any]) -> NDArray[Any]:
        rest = values.shape[1:]
        table = values.reshape(len(self.places), len(self.groups), *rest)
        table = _sum_groups(table, self.places, self.nodes)
        table = np.moveaxis(_sum_groups(np.moveaxis(table, 1, 0), self.groups, self.kinds), 0, 1)
        return np.ascontiguousarray(table).reshape(self.rows, *rest)

    def to_data(self) -> Any:
        digests = [hashlib.sha256(own.astype("<i8").tobytes()).hexdigest() for own in (self.places, self.groups)]
        return ["nodes", self.nodes, self.kinds, len(self.places), len(self.groups), *digests]


def _sum_groups(values: NDArray[Any], groups: NDArray[np.int64], count: int) -> NDArray[Any]:
    """Sums over groups along the first axis; what is in group -1 is left out, and a group may be empty."""
    if np.array_equal(groups, np.arange(count)):
        return values
    order = np.argsort(groups, kind="stable")
    order = order[np.searchsorted(groups[order], 0) :]
    ordered = groups[order]
    starts = np.flatnonzero(np.diff(ordered, prepend=-1))
    group_sums = np.zeros((count, *values.shape[1:]), dtype=values.dtype)
    group_sums[ordered[starts]] = np.add.reduceat(values[order], starts, axis=0)
    return group_sums
