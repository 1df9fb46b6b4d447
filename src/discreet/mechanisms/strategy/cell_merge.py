"""Cells that no question tells apart, measured as one."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms.strategy.strategy import Strategy


@dataclass(frozen=True, eq=False)
class MergeStrategy(Strategy):
    """Another strategy over sums of cells: cell i is part of the sum `groups[i]`, or of none where that is -1.

    Because each cell is in at most one sum, its column is that sum's column of the inner strategy, or nothing.

    >>> from discreet.mechanisms.strategy.strategy import MatrixStrategy
    >>> MergeStrategy(np.array([0, 0, -1, 1]), MatrixStrategy(np.array([[1, 2]]))).matrix().tolist()
    [[1, 1, 0, 2]]
    """

    groups: NDArray[np.int64]
    inner: Strategy

    def __post_init__(self) -> None:
        if self.groups.ndim != 1 or not len(self.groups) or self.groups.min() < -1:
            raise ValueError("the groups must be one list of numbers, each at least -1")
        if self.groups.max() >= self.inner.cells:
            raise ValueError("the inner strategy does not have this group")

    @property
    def cells(self) -> int:
        return len(self.groups)

    @property
    def rows(self) -> int:
        return self.inner.rows

    @cached_property
    def largest(self) -> int:
        """No entry is longer than its column; one of the inner strategy may stand over a sum of no cell."""
        return min(self.inner.largest, math.isqrt(int(self.column_l2_squared.max())))

    @property
    def column_l1(self) -> NDArray[Any]:
        return self._columns(self.inner.column_l1)

    @property
    def column_l2_squared(self) -> NDArray[Any]:
        return self._columns(self.inner.column_l2_squared)

    def _columns(self, norms: NDArray[Any]) -> NDArray[Any]:
        return np.concatenate([norms, np.zeros(1, dtype=norms.dtype)])[self.groups]

    @cached_property
    def _order(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """The cells of some sum in the order of their sums, where each sum starts, and which sums there are."""
        order = np.argsort(self.groups, kind="stable")
        order = order[np.count_nonzero(self.groups < 0) :]
        present, starts = np.unique(self.groups[order], return_index=True)
        return order, starts, present

    def multiply(self, values: NDArray[Any]) -> NDArray[Any]:
        order, starts, present = self._order
        sums = np.zeros((self.inner.cells, *values.shape[1:]), dtype=values.dtype)
        if len(present):
            sums[present] = np.add.reduceat(values[order], starts, axis=0)
        return self.inner.multiply(sums)

    def to_data(self) -> Any:
        return ["merged", self.groups.tolist(), self.inner.to_data()]
