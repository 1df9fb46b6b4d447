"""Where ranges cut the blocks of a tree: the variance of their sums, and the weights of the rows in them.

Of a block's total a range is expected to hold a share: 1 where the block lies within, 0 where it lies outside, and in
the blocks that an end cuts the mean of the children's shares, weighted by their variances. Given the block's total,
what is left of the range's sum does not depend on it; so variances add up along the cut blocks.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from discreet.inference.linear.tree_level import Floats, Places, TreeLevel

#: Weights of rows and how often each occurs, a line for each range.
_Weights = tuple[Floats, Floats]


class RangeEnds:
    """For each level the blocks that hold the two ends of each range, and the range's shares of them.

    Where both ends lie in one block, its two shares are equal and count once.
    """

    def __init__(self, levels: list[TreeLevel], lows: Places, highs: Places) -> None:
        self._levels = levels
        self._low, self._high = [lows], [highs]
        self._low_share, self._high_share = [np.ones(len(lows))], [np.ones(len(lows))]
        for below, level in pairwise(levels):
            self._climb(below, level)

    def _climb(self, below: TreeLevel, level: TreeLevel) -> None:
        ratio = level.size // below.size
        low, high = self._low[-1], self._high[-1]
        up_low, up_high = low // ratio, high // ratio
        together = up_low == up_high
        at_low = self._low_share[-1] * below.variance(low)
        at_high = np.where(low == high, 0.0, self._high_share[-1] * below.variance(high))
        past_low = np.minimum((up_low + 1) * ratio, below.blocks)
        in_low = at_low + below.total(low + 1, np.where(together, high, past_low)) + np.where(together, at_high, 0)
        in_high = np.where(together, in_low, at_high + below.total(up_high * ratio, high))
        self._low.append(up_low)
        self._high.append(up_high)
        self._low_share.append(in_low / level.children_variance(up_low))
        self._high_share.append(in_high / level.children_variance(up_high))

    def variances(self) -> Floats:
        """For each range the variance of its sum: over the top's blocks, and within every cut block over its children
        about their mean."""
        low, high = self._low[-1], self._high[-1]
        total = self._cut_squares(len(self._levels) - 1) + self._levels[-1].total(low + 1, high)
        for depth in range(1, len(self._levels)):
            below, level, low, high = self._levels[depth - 1], self._levels[depth], self._low[depth], self._high[depth]
            apart = low != high
            total += self._cut_squares(depth - 1)
            total += sum(below.total(first, past) for first, past in self._within(depth))
            total -= self._low_share[depth] ** 2 * level.children_variance(low)
            total -= np.where(apart, self._high_share[depth] ** 2 * level.children_variance(high), 0.0)
        # What rounding makes of a sum of squares that is nearly nothing.
        return np.maximum(total, 0.0)

    def _cut_squares(self, depth: int) -> Floats:
        level, low, high = self._levels[depth], self._low[depth], self._high[depth]
        low_square = self._low_share[depth] ** 2 * level.variance(low)
        return np.asarray(low_square + np.where(low == high, 0.0, self._high_share[depth] ** 2 * level.variance(high)))

    def _within(self, depth: int) -> list[tuple[Places, Places]]:
        """Of the cut blocks' children those that lie wholly within: of the low end's block, and of the high end's."""
        ratio = self._levels[depth].size // self._levels[depth - 1].size
        apart = self._low[depth] != self._high[depth]
        low, high = self._low[depth - 1], self._high[depth - 1]
        past_low = np.minimum((self._low[depth] + 1) * ratio, self._levels[depth - 1].blocks)
        start_high = np.where(apart, self._high[depth] * ratio, high)
        return [(low + 1, np.where(apart, past_low, high)), (start_high, high)]

    def _outside(self, depth: int) -> list[tuple[Places, Places]]:
        """Of the cut blocks' children those that lie wholly outside: before the low end, and after the high end."""
        ratio = self._levels[depth].size // self._levels[depth - 1].size
        past_high = np.minimum((self._high[depth] + 1) * ratio, self._levels[depth - 1].blocks)
        return [(self._low[depth] * ratio, self._low[depth - 1]), (self._high[depth - 1] + 1, past_high)]

    def weights(self) -> _Weights:
        """The sizes of the rows' weights in each range's sum, and how often each occurs.

        A range's sum is a sum of weights times z, the estimates of blocks from the rows inside: a child of a cut block
        has the block's weight times s / S, and how far its share is from the block's. Blocks that no end cuts hand
        their weight on to the rows inside.
        """
        parts = list(self._parts())
        return np.concatenate([part for part, _ in parts], axis=1), np.concatenate([part for _, part in parts], axis=1)

    def _parts(self) -> Iterator[_Weights]:
        inside = _rows_inside(self._levels)
        ones = np.ones(len(self._low[0]))
        yield from _rows_of_whole_blocks(self._levels[-1], inside[-1], ones, self._low[-1] + 1, self._high[-1])
        low, high = self._low_share[-1], self._high_share[-1]
        for depth in range(len(self._levels) - 1, -1, -1):
            level = self._levels[depth]
            two = (self._low[depth] != self._high[depth]).astype(np.float64)
            yield (low * level.variance(self._low[depth]) * level.weight)[:, None], ones[:, None]
            yield (high * level.variance(self._high[depth]) * level.weight)[:, None], two[:, None]
            if depth == 0:
                return
            low = low * level.shrinkage(self._low[depth]) - self._low_share[depth]
            high = high * level.shrinkage(self._high[depth]) - self._high_share[depth]
            below, rows = self._levels[depth - 1], inside[depth - 1]
            for weight, (first, past) in zip((low, high), self._outside(depth), strict=True):
                yield from _rows_of_whole_blocks(below, rows, weight, first, past)
            for weight, (first, past) in zip((low, high), self._within(depth), strict=True):
                yield from _rows_of_whole_blocks(below, rows, weight + 1, first, past)
            low, high = low + self._low_share[depth - 1], high + self._high_share[depth - 1]


def _rows_inside(levels: list[TreeLevel]) -> list[tuple[_Weights, _Weights]]:
    """For each level the weights of the rows inside a block in its estimate z, and how often each occurs: of a whole
    block, and of the last."""
    by_level: list[tuple[_Weights, _Weights]] = []
    for depth, level in enumerate(levels):
        own = [np.array([variance * level.weight]) for variance in level.own]
        if not depth:
            by_level.append(((own[0], np.ones(1)), (own[1], np.ones(1))))
            continue
        (whole, whole_counts), (last, last_counts) = by_level[-1]
        below = levels[depth - 1]
        ratio = level.size // below.size
        in_last = below.blocks - ratio * (level.blocks - 1)
        kept = [level.own[0] / level.children[0], level.own[1] / level.children[1]]
        by_level.append(
            (
                (np.concatenate([own[0], kept[0] * whole]), np.concatenate([[1.0], ratio * whole_counts])),
                (
                    np.concatenate([own[1], kept[1] * whole, kept[1] * last]),
                    np.concatenate([[1.0], (in_last - 1) * whole_counts, last_counts]),
                ),
            )
        )
    return by_level


def _rows_of_whole_blocks(
    level: TreeLevel, inside: tuple[_Weights, _Weights], weight: Floats, first: Places, past: Places
) -> Iterator[_Weights]:
    """The rows inside the blocks from `first` up to but not including `past`, whose estimates all have this weight."""
    count = np.maximum(past - first, 0)
    last = (count > 0) & (past == level.blocks)
    if level.own[0] == level.own[1]:
        yield weight[:, None] * inside[0][0], count[:, None] * inside[0][1]
        return
    yield weight[:, None] * inside[0][0], (count - last)[:, None] * inside[0][1]
    yield weight[:, None] * inside[1][0], last[:, None] * inside[1][1]
