"""Trees by their levels: blocks of equal size, each level with a whole-number weight of its own."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms.strategy.strategy import Strategy


@dataclass(frozen=True, slots=True)
class LevelStrategy(Strategy):
    """Sums over blocks of consecutive cells: for each level (size, weight), weight times the sum of each block.

    Sizes rise and each divides the next; the last block of a level may be cut short. Binary, b-ary and mixed trees,
    with or without a root, are levels.

    Because each cell lies in exactly one block of each level, every column has the level weights as its entries.

    >>> tree = LevelStrategy(4, ((1, 1), (2, 1), (4, 1)))
    >>> tree.sensitivity(1).l1, tree.sensitivity(1).l2_squared, tree.rows
    (3, 3, 7)
    """

    size: int
    levels: tuple[tuple[int, int], ...]

    def __post_init__(self) -> None:
        sizes = [size for size, _ in self.levels]
        if not sizes or any(two % one or two <= one for one, two in pairwise(sizes)) or sizes[0] < 1:
            raise ValueError("the blocks of the levels are not nested")
        if any(weight < 1 for _, weight in self.levels):
            raise ValueError("a level that measures nothing must be left out")

    @property
    def cells(self) -> int:
        return self.size

    @property
    def rows(self) -> int:
        return sum(-(-self.size // size) for size, _ in self.levels)

    @property
    def largest(self) -> int:
        return max(weight for _, weight in self.levels)

    @property
    def column_l1(self) -> NDArray[Any]:
        return np.full(self.size, sum(weight for _, weight in self.levels), dtype=np.int64)

    @property
    def column_l2_squared(self) -> NDArray[Any]:
        return np.full(self.size, sum(weight**2 for _, weight in self.levels), dtype=object)

    def multiply(self, values: NDArray[Any]) -> NDArray[Any]:
        sums, below, level_sums = values, 1, []
        for size, weight in self.levels:
            starts = np.arange(0, len(sums), size // below)
            sums, below = np.add.reduceat(sums, starts, axis=0) if size != below else sums, size
            level_sums.append(weight * sums)
        return np.concatenate(level_sums)

    def to_data(self) -> Any:
        return ["levels", self.size, [list(level) for level in self.levels]]
