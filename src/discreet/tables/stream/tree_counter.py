"""The counter under Laplace noise: a tree of blocks of steps, each drawn once, when its last step is over.

A total so far is the sum of the largest blocks that are over. A block's own number is combined with the sum of the
blocks inside it, each weighed by its variance (Honaker 2015): that is the least-squares estimate from what is known.
Every interval is estimated so from what is known when it ends.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms.strategy.tree_levels import LevelStrategy
from discreet.tables.stream.stream_counter import StreamCounter

#: Weights of levels are rounded to multiples of this part of the largest.
_WEIGHT = 2**12

#: The widest trees that are tried.
_WIDEST = 64


@dataclass(frozen=True, eq=False)
class TreeCounter(StreamCounter):
    """Blocks of 1, b, b^2, ... steps, each level with a whole-number weight of its own."""

    size: int
    levels: tuple[tuple[int, int], ...]

    @cached_property
    def strategy(self) -> LevelStrategy:
        return LevelStrategy(self.size, self.levels)

    def due(self, step: int) -> list[int]:
        # A last block may be cut short.
        over = [(step + 1) % block == 0 or step + 1 == self.size for block, _ in self.levels]
        rows = [start + step // block for start, (block, _) in zip(self._starts, self.levels, strict=True)]
        return [row for row, is_over in zip(rows, over, strict=True) if is_over]

    @cached_property
    def _starts(self) -> list[int]:
        """The first row of each level."""
        counts = [-(-self.size // block) for block, _ in self.levels]
        return [sum(counts[:place]) for place in range(len(counts))]

    def estimate_weights(self, first: int, last: int) -> NDArray[np.float64]:
        """Least squares over the blocks that are over.

        Because: the estimate's weights are A z with A'A z = wanted, A the rows drawn. Level by level A'A gains w^2 on
        all pairs of steps inside a block, so z follows by one correction for each block (Sherman and Morrison), in
        which the level below stands as if each of its blocks were one number of its combined variance.
        """
        end = last + 1
        solution = np.zeros(end)
        solution[first:] = 1.0 / self.levels[0][1] ** 2
        for level in range(1, len(self.levels)):
            (block, weight), below = self.levels[level], self.levels[level - 1][0]
            over = solution[: end // block * block].reshape(-1, block)
            inside = float(self._variances[level - 1]) / below
            over -= (weight**2 * inside / (1.0 + weight**2 * inside * block)) * over.sum(axis=1, keepdims=True)
        weights = np.zeros(self._drawn(last))
        for (block, weight), start in zip(self.levels, self._starts, strict=True):
            sums = solution[: end // block * block].reshape(-1, block).sum(axis=1)
            weights[self._places[start : start + len(sums)]] = weight * sums
        return weights

    def total_variances(self) -> NDArray[np.float64]:
        return _digits([block for block, _ in self.levels], self.size) @ self._variances

    @cached_property
    def _variances(self) -> NDArray[np.float64]:
        blocks, weights = zip(*self.levels, strict=True)
        return _combined(np.array(blocks), np.array(weights, dtype=np.float64))

    @cached_property
    def _places(self) -> NDArray[np.int64]:
        """Where in the order of drawing each row of the strategy stands."""
        order = np.array([row for step in range(self.size) for row in self.due(step)])
        return np.argsort(order)

    def _drawn(self, step: int) -> int:
        """How many numbers are drawn by the end of a step."""
        done = step + 1
        return sum(done // block if done < self.size else -(-done // block) for block, _ in self.levels)

    @property
    def words(self) -> str:
        parts = [f"blocks of {block:,} (weight {weight / self.levels[0][1]:.2f})" for block, weight in self.levels[1:]]
        return ", ".join(["single steps", *parts])

    def to_data(self) -> Any:
        return ["tree", self.size, [list(level) for level in self.levels]]


def best_tree(size: int) -> TreeCounter:
    """The tree, of one branching factor, with the smallest mean variance of totals under Laplace noise.

    >>> best_tree(7).words
    'single steps'
    """
    tried = [_weighted_tree(size, branching) for branching in range(2, min(size, _WIDEST) + 2)]
    return min(tried, key=lambda tree: float(tree.total_variances().mean()) * tree.strategy.sensitivity(1).l1 ** 2)


def _weighted_tree(size: int, branching: int) -> TreeCounter:
    """The tree of a branching factor with its best weights. A level whose weight is nothing is left out."""
    blocks = [1]
    while blocks[-1] * branching <= size:
        blocks.append(blocks[-1] * branching)
    weights = _best_weights(np.array(blocks), _digits(blocks, size).mean(axis=0))
    whole = np.rint(weights / weights.max() * _WEIGHT).astype(int).tolist()
    kept = [(block, weight) for block, weight in zip(blocks, whole, strict=True) if weight > 0 or block == 1]
    return TreeCounter(size, tuple((block, max(1, weight)) for block, weight in kept))


def _digits(blocks: list[int], size: int) -> NDArray[np.float64]:
    """How many blocks of each level the total up to each step is made of."""
    done = np.arange(1, size + 1)
    over = [done // block for block in blocks]
    inside = [upper * (block // below) for upper, block, below in zip(over[1:], blocks[1:], blocks, strict=False)]
    return np.stack([*(mine - above for mine, above in zip(over, inside, strict=False)), over[-1]], axis=1).astype(
        float
    )


def _combined(blocks: NDArray[np.int64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """The variance of a block's estimate at each level: of its own number and the sum of what is inside, weighed."""
    variances = np.zeros(len(blocks))
    variances[0] = 1.0 / weights[0] ** 2
    for level in range(1, len(blocks)):
        inside = float(blocks[level] // blocks[level - 1]) * variances[level - 1]
        variances[level] = 1.0 / (weights[level] ** 2 + 1.0 / inside)
    return variances


def _best_weights(blocks: NDArray[np.int64], digits: NDArray[np.float64]) -> NDArray[np.float64]:
    """Weights that make (sum of weights)^2 * mean variance smallest, by a fixed point.

    Where it is smallest, a little more weight on any level lowers the mean variance by the same: w_l g_l is one
    number for all levels, with -2 w_l g_l the derivative. Each round moves w_l by the cube root of what is amiss, which
    is exact for blocks that are not combined.
    """
    weights = np.ones(len(blocks))
    for _ in range(200):
        variances = _combined(blocks, weights)
        slope = np.zeros(len(blocks))
        felt = 0.0  # how much the mean variance rises with the variance of a block of this level
        for level in reversed(range(len(blocks))):
            felt += digits[level]
            slope[level] = felt * variances[level] ** 2
            if level:
                ratio = float(blocks[level] // blocks[level - 1])
                felt *= ratio * (variances[level] / (ratio * variances[level - 1])) ** 2
        pull = weights * slope
        weights = np.maximum(1e-9, weights * np.cbrt(pull / pull.mean()))
        weights /= weights.max()
    return weights
