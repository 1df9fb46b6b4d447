"""The levels of a tree as least squares sees them: variances of blocks, from the rows inside them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms.strategy.tree_levels import LevelStrategy

Floats = NDArray[np.float64]
Places = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeLevel:
    """One level's blocks: all alike (`[0]`), but for the last (`[1]`), which may be cut short."""

    size: int
    blocks: int
    weight: int
    #: Variances of a block's estimate from the rows inside it, and of the sum of its children's.
    own: tuple[float, float]
    children: tuple[float, float]

    def variance(self, place: Places) -> Floats:
        return np.where(place == self.blocks - 1, self.own[1], self.own[0])

    def children_variance(self, place: Places) -> Floats:
        return np.where(place == self.blocks - 1, self.children[1], self.children[0])

    def shrinkage(self, place: Places) -> Floats:
        """How much of the sum of its children's estimates is left in a block's own: s / S."""
        return np.asarray(self.variance(place) / self.children_variance(place))

    def total(self, first: Places, past: Places) -> Floats:
        """The sum of the variances of the blocks from `first` up to but not including `past`; 0 where there is none."""
        count = np.maximum(past - first, 0)
        last = (count > 0) & (past == self.blocks)
        return np.asarray(count * self.own[0] + last * (self.own[1] - self.own[0]))


def levels_upwards(strategy: LevelStrategy) -> list[TreeLevel]:
    """The levels, from the cells up."""
    levels: list[TreeLevel] = []
    for size, weight in strategy.levels:
        blocks = -(-strategy.size // size)
        if not levels:
            variance = 1.0 / weight**2
            levels.append(TreeLevel(size=1, blocks=blocks, weight=weight, own=(variance,) * 2, children=(np.inf,) * 2))
            continue
        below, ratio = levels[-1], size // levels[-1].size
        in_last = below.blocks - ratio * (blocks - 1)
        children = (ratio * below.own[0], (in_last - 1) * below.own[0] + below.own[1])
        own = (1 / (1 / children[0] + weight**2), 1 / (1 / children[1] + weight**2))
        levels.append(TreeLevel(size=size, blocks=blocks, weight=weight, own=own, children=children))
    return levels
