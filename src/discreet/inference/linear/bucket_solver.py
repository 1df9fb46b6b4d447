"""Least squares over buckets of cells that are taken to be even inside: ranges may cut through a bucket."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.inference.linear.solver_interface import Floats, Law, Places, Solver, checked_ranges
from discreet.inference.linear.weight_profile import WeightProfile
from discreet.mechanisms.strategy.cell_merge import MergeStrategy


class BucketSolver(Solver):
    """Least squares for `MergeStrategy` over buckets of consecutive cells, each spread evenly over its cells.

    Variances and widths are those of the noise. How far the cells of a bucket are from even comes on top, and only
    the data know it.
    """

    def __init__(self, strategy: MergeStrategy, inner: Solver) -> None:
        groups = strategy.groups
        if groups[0] != 0 or bool((np.diff(groups) < 0).any()) or groups[-1] != strategy.inner.cells - 1:
            raise ValueError("the buckets are not in the order of the cells")
        self.strategy: MergeStrategy = strategy
        self.inner = inner
        self._sizes = np.bincount(groups)
        self._starts = np.cumsum(self._sizes) - self._sizes

    def fit(self, noisy: NDArray[Any]) -> Floats:
        return np.asarray((self.inner.fit(noisy) / self._sizes)[self.strategy.groups])

    def variance_of(self, combination: Floats) -> float:
        sums = np.add.reduceat(combination, self._starts)
        return self.inner.variance_of(sums / self._sizes)

    def weight_profiles(self, lows: Places, highs: Places) -> WeightProfile:
        raise ValueError("a range that cuts a bucket cannot be answered directly: combine ranges of whole buckets")

    def _mixtures(self, lows: Places, highs: Places) -> list[tuple[Floats, Places, Places]]:
        """Each range as a mixture of four ranges of whole buckets: with or without the buckets at its ends.

        A range covers a share a of its first bucket and a share b of its last one, so it is the sum with both taken
        whole, times a b, plus that without the last, times a (1 - b), and so on. Within one bucket: a share of it.
        """
        lows, highs = checked_ranges(self.strategy.cells, lows, highs)
        first, last = self.strategy.groups[lows], self.strategy.groups[highs]
        begin = np.where(first == last, (highs - lows + 1) / self._sizes[first], 1.0)
        one = np.where(first < last, (self._starts[first] + self._sizes[first] - lows) / self._sizes[first], begin)
        two = np.where(first < last, (highs - self._starts[last] + 1) / self._sizes[last], 1.0)
        mixtures = []
        for share, start in ((one, first), (1 - one, first + 1)):
            for other, end in ((two, last), (1 - two, last - 1)):
                mixtures.append((share * other, start, end))
        return mixtures

    def _mixed(self, lows: Places, highs: Places, each: Any) -> Floats:
        total = np.zeros(len(lows))
        for shares, start, end in self._mixtures(lows, highs):
            used = (shares > 0) & (start <= end)
            if used.any():
                total[used] += shares[used] * each(start[used], end[used])
        return total

    def range_variances(self, lows: Places, highs: Places) -> Floats:
        """At most: the standard deviation of a mixture is no more than the mixture of standard deviations."""
        return self._mixed(lows, highs, lambda start, end: np.sqrt(self.inner.range_variances(start, end))) ** 2

    def half_widths(self, lows: Places, highs: Places, law: Law, confidence: Fraction) -> Floats:
        """Widths that hold the noise: those of the four parts, which share the doubt."""
        level = 1 - (1 - confidence) / 4
        return self._mixed(lows, highs, lambda start, end: self.inner.half_widths(start, end, law, level))
