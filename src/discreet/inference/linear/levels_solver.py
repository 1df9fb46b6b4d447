"""Least squares on a tree, by its levels: one pass up, one pass down, exact, a few operations for each row.

Going up, z is the best estimate of a block from the rows inside it, of variance s: the sum of its children's z, whose
variance is S, averaged with its own row of weight w by inverse variances, 1 / s = 1 / S + w^2. Going down, x is the
best estimate from all rows: a child is x = z + (s / S) (x of the parent - sum of z). Nobody measures the whole, unless
a level does: the blocks at the top have x = z.

Blocks of one level are alike but for the last, which may be cut short: so variances need two numbers a level, and
a range is known by the blocks that its two ends cut.

The sum of the variances of all prefixes of the cells comes from two kinds of block a level. Within a block, a prefix
has a share a of its total and, given the total, a variance R (see `range_ends`). Over all places in a block the sums of
a, of a^2 and of R follow from those of its children: place by place, m whole children come before.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

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

    def solve(self, combination: Floats) -> Floats:
        """The fit of rows y with A'y = b: on the leaves b over their weight, and nothing on the other levels."""
        rows = np.zeros(self.strategy.rows)
        rows[: len(combination)] = combination / self._levels[0].weight
        return self.fit(rows)

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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cuts:
    """Sums over the places where a prefix may end in a block: how many, of the shares, their squares, and of R."""

    places: int
    shares: float
    squares: float
    rest: float


def prefix_total(levels: list[TreeLevel]) -> float:
    """The sum of the variances of all prefixes, where every row has noise of variance 1."""
    whole = last = _Cuts(places=1, shares=1.0, squares=1.0, rest=0.0)
    for depth in range(1, len(levels)):
        below, level = levels[depth - 1], levels[depth]
        ratio = level.size // below.size
        in_last = below.blocks - ratio * (level.blocks - 1)
        if level.blocks > 1:
            bigger = _block(below, ratio - 1, whole, whole, below.own[0])
        last = _block(below, in_last - 1, whole, last, below.own[1])
        whole = bigger if level.blocks > 1 else last
    top = levels[-1]
    before = np.arange(top.blocks - 1) * top.own[0]
    alike = before * whole.places + top.own[0] * whole.squares + whole.rest
    end = (top.blocks - 1) * top.own[0] * last.places + top.own[1] * last.squares + last.rest
    return float(alike.sum()) + end


def _block(below: TreeLevel, count: int, whole: _Cuts, end: _Cuts, end_variance: float) -> _Cuts:
    """The cuts of a block of so many whole children and one more."""
    variance = below.own[0]
    total = count * variance + end_variance
    parts = [
        _child(np.asarray(np.arange(count) * variance, dtype=np.float64), variance, whole, total),
        _child(np.array([count * variance]), end_variance, end, total),
    ]
    places = whole.places * count + end.places
    shares, squares, rest = (sum(values) for values in zip(*parts, strict=True))
    return _Cuts(places=places, shares=shares, squares=squares, rest=rest)


def _child(before: Floats, own: float, cuts: _Cuts, total: float) -> tuple[float, float, float]:
    """The sums over cuts in some children alike, each with so much variance before it in the block."""
    shares = (cuts.places * before + own * cuts.shares) / total
    squares = (cuts.places * before**2 + 2 * before * own * cuts.shares + own**2 * cuts.squares) / total**2
    rest = cuts.rest + cuts.places * before + own * cuts.squares - total * squares
    return float(shares.sum()), float(squares.sum()), float(rest.sum())
