"""The cost of the evenest partition: one number that says whether a partition pays, before one is bought."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.accounting.sensitivity import Sensitivity
from discreet.mechanisms.integer_arrays import Integers
from discreet.mechanisms.strategy.unevenness import Unevenness


@dataclass(frozen=True, slots=True)
class PartitionCost:
    """The least, over partitions into blocks of some sizes, of unevenness plus `price` for each block; whole units.

    Blocks are single cells or those of `Unevenness`, which nest, so the least is found from the bottom up.

    Guarantee: adding or removing a unit of at most R rows moves the number by at most `sensitivity(R).l1`.
    Because: a row lies in one block of any fixed partition, and moves that block's unevenness by less than 2 units; the
        least of numbers that each move by at most m moves by at most m.
    """

    uneven: Unevenness
    price: int

    def __post_init__(self) -> None:
        sizes = self.uneven.sizes
        if self.price < 0 or sizes != tuple(2**power for power in range(1, len(sizes) + 1)):
            raise ValueError("the most even partition needs every power of two, starting with 2, and a price")

    def apply(self, exact_counts: Integers) -> Integers:
        """The one number."""
        numbers = self.uneven.apply(exact_counts)
        cells = self.uneven.padded
        least = np.full(cells, self.price, dtype=numbers.dtype)
        start = 0
        for size in self.uneven.sizes:
            blocks = numbers[start : start + cells // size] + self.price
            start += cells // size
            least = np.minimum(blocks, least.reshape(-1, 2).sum(axis=1))
        return np.asarray(least.sum(keepdims=True))

    def sensitivity(self, rows: int) -> Sensitivity:
        """How far the number moves when a unit of at most so many rows comes or goes."""
        far = rows * 2 * self.uneven.unit
        because = "a row moves the unevenness of one block of a partition by less than 2"
        return Sensitivity(l0=1, l1=far, l2_squared=far**2, linf=far, because=(because,))

    def to_data(self) -> Any:
        return ["evenest", self.uneven.to_data(), self.price]
