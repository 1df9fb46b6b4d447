"""Least squares where cells are measured in groups only: what the groups determine, and no more."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.inference.linear.solver_interface import Floats, Law, Places, Solver, checked_ranges
from discreet.inference.linear.weight_profile import WeightProfile
from discreet.mechanisms.strategy.cell_merge import MergeStrategy


class MergedSolver(Solver):
    """Least squares for `MergeStrategy` over groups of consecutive cells, from that of the strategy inside.

    A group's estimate is spread evenly over its cells; cells in no group are 0. Only ranges made of whole groups have
    a variance: of others it is infinite.
    """

    def __init__(self, strategy: MergeStrategy, inner: Solver) -> None:
        groups = strategy.groups
        measured = groups[groups >= 0]
        if not measured.size or bool((np.diff(measured) < 0).any()) or len(np.unique(measured)) != strategy.inner.cells:
            raise ValueError("the groups are not in the order of the cells")
        self.strategy: MergeStrategy = strategy
        self.inner = inner
        self._sizes = np.bincount(measured)
        #: For each place between cells: groups begun before it, and whether a group, or the end, is exactly there.
        changes = np.flatnonzero(np.diff(groups)) + 1
        self._edge = np.zeros(len(groups) + 1, dtype=bool)
        self._edge[[0, *changes.tolist(), len(groups)]] = True
        before = np.maximum.accumulate(groups)
        self._begun = np.concatenate([[0], before + 1])
        self._left_out = np.concatenate([[0], np.cumsum(groups < 0)])

    def fit(self, noisy: NDArray[Any]) -> Floats:
        spread = np.concatenate([self.inner.fit(noisy) / self._sizes, [0.0]])
        return np.asarray(spread[self.strategy.groups])

    def variance_of(self, combination: Floats) -> float:
        groups = self.strategy.groups
        first = np.searchsorted(groups[groups >= 0], np.arange(len(self._sizes)))
        inside = combination[groups >= 0][first]
        if not np.array_equal(np.concatenate([inside, [0.0]])[groups], combination):
            return np.inf
        return self.inner.variance_of(inside)

    def _ranges(self, lows: Places, highs: Places) -> tuple[NDArray[np.bool_], Places, Places]:
        """Which ranges are made of whole groups, and those as ranges of groups."""
        lows, highs = checked_ranges(self.strategy.cells, lows, highs)
        whole = self._edge[lows] & self._edge[highs + 1] & (self._left_out[highs + 1] == self._left_out[lows])
        return whole, self._begun[lows[whole]], self._begun[highs[whole] + 1] - 1

    def range_variances(self, lows: Places, highs: Places) -> Floats:
        whole, first, last = self._ranges(lows, highs)
        variances = np.full(len(whole), np.inf)
        variances[whole] = self.inner.range_variances(first, last)
        return variances

    def weight_profiles(self, lows: Places, highs: Places) -> WeightProfile:
        whole, first, last = self._ranges(lows, highs)
        if not whole.all():
            raise ValueError("the strategy does not determine this range")
        return self.inner.weight_profiles(first, last)

    def half_widths(self, lows: Places, highs: Places, law: Law, confidence: Any) -> Floats:
        whole, first, last = self._ranges(lows, highs)
        widths = np.full(len(whole), np.inf)
        widths[whole] = self.inner.half_widths(first, last, law, confidence)
        return widths
