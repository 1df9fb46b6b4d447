"""What is left of counts when their mean is taken away, in whole numbers: n times each count less the sum of all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms.strategy.strategy import Strategy


@dataclass(frozen=True, slots=True)
class ContrastStrategy(Strategy):
    """The matrix n I - J over n cells, J all ones: whole numbers, and n times the projection onto what sums to 0.

    Because (n I - J)^2 = n (n I - J), equal noise on its n rows says about the n - 1 contrasts of the cells what the
    residual mechanism of Xiao and others (2023) says, alike in all directions and with no correlated noise to draw
    (docs/proofs/tables-marginals.md). A column is n - 1 once and -1 otherwise.

    >>> ContrastStrategy(3).sensitivity(1).l1, ContrastStrategy(3).sensitivity(1).l2_squared
    (4, 6)
    """

    size: int

    def __post_init__(self) -> None:
        if self.size < 2:
            raise ValueError("one cell has no contrast")

    @property
    def cells(self) -> int:
        return self.size

    @property
    def rows(self) -> int:
        return self.size

    @property
    def largest(self) -> int:
        """Sums that are kept below 2^62 by it stay below 2^63 on the way: n is at most twice n - 1."""
        return self.size - 1

    @property
    def column_l1(self) -> NDArray[Any]:
        return np.full(self.size, 2 * (self.size - 1), dtype=np.int64)

    @property
    def column_l2_squared(self) -> NDArray[Any]:
        return np.full(self.size, self.size * (self.size - 1), dtype=np.int64)

    def multiply(self, values: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(self.size * values - values.sum(axis=0, keepdims=True))

    def to_data(self) -> Any:
        return ["centred", self.size]
