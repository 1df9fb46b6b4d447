"""The counter under Gaussian noise: the square root of the matrix of running totals, one number at each step."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms.strategy.toeplitz import ToeplitzStrategy, square_root
from discreet.tables.stream.stream_counter import StreamCounter


@dataclass(frozen=True, eq=False)
class SquareRootCounter(StreamCounter):
    """As many numbers as steps. The matrix has an inverse, so there is one unbiased estimate and it is read off by it.

    Because there is no other, what comes later cannot improve what was said before.
    """

    size: int

    @cached_property
    def strategy(self) -> ToeplitzStrategy:
        return square_root(self.size)

    def due(self, step: int) -> list[int]:
        return [step]

    def estimate_weights(self, first: int, last: int) -> NDArray[np.float64]:
        # Rows of the inverse, summed: sum over t in [first, last] of inverse[t - s] / weight[t], for each s.
        shares = np.zeros(last + 1)
        shares[first:] = 1.0 / self.strategy.weights[first : last + 1]
        return np.convolve(shares[::-1], self._inverse[: last + 1])[: last + 1][::-1]

    def total_variances(self) -> NDArray[np.float64]:
        variances = np.zeros(self.size)
        for step in range(self.size):
            column = np.cumsum(self._inverse[: self.size - step] / self.strategy.weights[step:])
            variances[step:] += column * column
        return variances

    @cached_property
    def _inverse(self) -> NDArray[np.float64]:
        """The coefficients of the inverse of the integer Toeplitz matrix, itself one, by forward substitution."""
        coefficients = self.strategy.coefficients.astype(np.float64)
        inverse = np.zeros(self.size)
        inverse[0] = 1.0 / coefficients[0]
        for far in range(1, self.size):
            inverse[far] = -(coefficients[far:0:-1] @ inverse[:far]) / coefficients[0]
        return inverse

    @property
    def words(self) -> str:
        return f"square root of running totals over {self.size:,} steps, columns of equal length"

    def to_data(self) -> Any:
        """With a digest of the whole matrix: the same words must for ever mean the same numbers."""
        return ["root", self.size, self.strategy.to_data()[-1]]
