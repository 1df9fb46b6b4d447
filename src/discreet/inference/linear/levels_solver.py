"""Least squares on a tree, by its levels: one pass up, one pass down, exact, a few operations for each row.

Going up, z is the best estimate of a block from the rows inside it, of variance s: the sum of its children's z, whose
variance is S, averaged with its own row of weight w by inverse variances, 1 / s = 1 / S + w^2. Going down, x is the
best estimate from all rows: a child is x = z + (s / S) (x of the parent - sum of z). Nobody measures the whole, unless
a level does: the blocks at the top have x = z.

Blocks of one level are alike but for the last, which may be cut short: so variances need two numbers a level, and
a range is known by the blocks that its two ends cut.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.inference.linear.prefix_variances import prefix_total
from discreet.inference.linear.range_ends import RangeEnds
from discreet.inference.linear.solver_interface import Floats, Places, Solver, checked_ranges, checked_rows
from discreet.inference.linear.tree_level import TreeLevel, levels_upwards
from discreet.inference.linear.weight_profile import WeightProfile, weight_profile
from discreet.mechanisms.strategy.tree_levels import LevelStrategy


class LevelsSolver(Solver):
    """Least squares for `LevelStrategy`. The cells themselves must be measured, or nothing tells them apart."""

    def __init__(self, strategy: LevelStrategy) -> None:
        if strategy.levels[0][0] != 1:
            raise ValueError("the tree does not measure its leaves, so cells are undetermined")
        self.strategy: LevelStrategy = strategy
        self._levels = levels_upwards(strategy)

    def fit(self, noisy: NDArray[Any]) -> Floats:
        rows = np.split(checked_rows(self.strategy, noisy), np.cumsum([level.blocks for level in self._levels])[:-1])
        estimates: list[Floats] = []
        sums: list[Floats] = []
        for depth, (level, own) in enumerate(zip(self._levels, rows, strict=True)):
            if depth == 0:
                sums.append(own)
                estimates.append(own / level.weight)
                continue
            ratio = level.size // self._levels[depth - 1].size
            sums.append(np.add.reduceat(estimates[-1], np.arange(0, len(estimates[-1]), ratio)))
            estimates.append(_merged(level, own, sums[-1]))
        fitted = estimates[-1]
        for depth in range(len(self._levels) - 1, 0, -1):
            fitted = self._downwards(depth, fitted - sums[depth], estimates[depth - 1])
        return fitted

    def _downwards(self, depth: int, excess: Floats, estimates: Floats) -> Floats:
        """The children's best estimates: each takes its share of what the parent has in excess."""
        level, below = self._levels[depth], self._levels[depth - 1]
        excess = excess / level.children[0]
        excess[-1] *= level.children[0] / level.children[1]
        fitted = estimates + below.own[0] * np.repeat(excess, level.size // below.size)[: len(estimates)]
        fitted[-1] += (below.own[1] - below.own[0]) * excess[-1]
        return fitted

    def variance_of(self, combination: Floats) -> float:
        """By the same two passes: with b the combination, b' (A'A)^-1 b, where A'A is inverted block by block."""
        shares, variance = combination, 0.0
        for depth, level in enumerate(self._levels):
            if depth:
                below = self._levels[depth - 1]
                starts = np.arange(0, len(shares), level.size // below.size)
                variances = below.variance(np.arange(below.blocks))
                total = np.add.reduceat(variances, starts)
                mean = np.add.reduceat(shares * variances, starts) / total
                variance += float((np.add.reduceat(shares**2 * variances, starts) - mean**2 * total).sum())
                shares = mean
        top = self._levels[-1]
        return variance + float((shares**2 * top.variance(np.arange(top.blocks))).sum())

    def range_variances(self, lows: Places, highs: Places) -> Floats:
        """As `variance_of`: only the blocks that an end of the range cuts add to it."""
        ends = RangeEnds(self._levels, *checked_ranges(self.strategy.size, lows, highs))
        return ends.variances()

    def prefix_total(self) -> float:
        return prefix_total(self._levels)

    def weight_profiles(self, lows: Places, highs: Places) -> WeightProfile:
        ends = RangeEnds(self._levels, *checked_ranges(self.strategy.size, lows, highs))
        return weight_profile(*ends.weights())


def _merged(level: TreeLevel, own: Floats, sums: Floats) -> Floats:
    """Each block's estimate: its own row and the sum of its children, by inverse variances."""
    estimates = level.own[0] * (level.weight * own + sums / level.children[0])
    estimates[-1] = level.own[1] * (level.weight * own[-1] + sums[-1] / level.children[1])
    return estimates
