"""Unevenness: how far counts are from flat within blocks of a line of cells. What a partition is chosen by."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.accounting.sensitivity import Sensitivity
from discreet.mechanisms.integer_arrays import Integers
from discreet.mechanisms.strategy.strategy import absolute_total


@dataclass(frozen=True, slots=True)
class Unevenness:
    """For each block of each size, `unit` times the sum over its cells of |count - mean of the block|, exactly.

    Sizes are powers of two, and `unit` is the largest of them, so that all numbers are whole; the line is filled up
    with empty cells.

    Guarantee: adding or removing a unit of at most R rows moves all numbers together by at most `sensitivity(R).l1`.
    Because: a row lies in one block of each size s. In s |count - mean| = |s count - sum| its own cell moves by s - 1
        and each other cell of the block by 1, so their sum by at most 2 (s - 1), and unit / s times that is
        2 unit (1 - 1 / s). R rows come one after the other.

    >>> Unevenness(4, (2, 4)).apply(np.array([5, 1, 0, 0])).tolist()  # 4 * (2 + 2), 4 * 0, 4 * (3.5 + .5 + 1.5 + 1.5)
    [16, 0, 28]
    """

    size: int
    sizes: tuple[int, ...]

    def __post_init__(self) -> None:
        if not self.sizes or any(size < 2 or size & (size - 1) for size in self.sizes) or self.size < 1:
            raise ValueError("the number of cells in a block must be a power of two")

    @property
    def unit(self) -> int:
        return max(self.sizes)

    @property
    def padded(self) -> int:
        """The cells with those that fill the line up."""
        return -(-self.size // self.unit) * self.unit

    def apply(self, exact_counts: Integers) -> Integers:
        """The numbers, one size after the other."""
        counts = np.asarray(exact_counts)
        if counts.shape != (self.size,):
            raise ValueError("the strategy has another number of cells")
        wide = 2 * absolute_total(counts) * self.unit >= 2**62
        line = np.zeros(self.padded, dtype=object if wide else np.int64)
        line[: self.size] = counts
        block_numbers = [self._of(line.reshape(-1, size), size) for size in self.sizes]
        return np.concatenate(block_numbers)

    def _of(self, blocks: NDArray[Any], size: int) -> NDArray[Any]:
        return np.asarray(np.abs(size * blocks - blocks.sum(axis=1, keepdims=True)).sum(axis=1) * (self.unit // size))

    def sensitivity(self, rows: int) -> Sensitivity:
        """How far the numbers move when a unit of at most so many rows comes or goes."""
        each = [rows * 2 * (self.unit - self.unit // size) for size in self.sizes]
        return Sensitivity(
            l0=len(each),
            l1=sum(each),
            l2_squared=sum(one**2 for one in each),
            linf=max(each),
            because=(f"a row moves the unevenness of one block of each of {len(each)} sizes by less than 2",),
        )

    def to_data(self) -> Any:
        return ["unevenness", self.size, list(self.sizes)]


def sizes_up_to(cells: int) -> tuple[int, ...]:
    """Powers of two from 2 to what holds all cells, but for the largest two: nobody's counts are that flat."""
    return tuple(2**power for power in range(1, max(2, math.ceil(math.log2(max(2, cells))) - 1)))
