"""Counters that read cells in the order of time: each number is a weighted sum of the cells up to its own."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms.strategy.strategy import Strategy

#: The square root is rounded to multiples of 2^-10, the lengths of its columns are evened out in steps of 2^-12. That
#: costs 0.02% of the error, and leaves room for noise on a thousand contributions at small epsilons.
COEFFICIENT_BITS = 10
WEIGHT_BITS = 12

#: Digits of the fixed point in which the coefficients are worked out, in whole numbers, the same on every machine.
_FINE = 128


@dataclass(frozen=True, eq=False)
class ToeplitzStrategy(Strategy):
    """Row t, column s <= t holds `coefficients[t - s] * weights[s]`; above the diagonal there is nothing.

    Because column s holds the first n - s coefficients, times its weight, its norms are partial sums.

    >>> ToeplitzStrategy(np.array([2, 1, 1]), np.array([1, 1, 3])).matrix().tolist()
    [[2, 0, 0], [1, 2, 0], [1, 1, 6]]
    """

    coefficients: NDArray[np.int64]
    weights: NDArray[np.int64]

    def __post_init__(self) -> None:
        for part in (self.coefficients, self.weights):
            if part.ndim != 1 or not part.size or part.dtype != np.int64 or int(np.abs(part).max()) >= 2**31:
                raise ValueError("the entries must be whole numbers of moderate size")
        if self.coefficients.size != self.weights.size or self.coefficients[0] == 0 or not self.weights.all():
            raise ValueError("the counter does not count every cell")

    @property
    def cells(self) -> int:
        return int(self.coefficients.size)

    @property
    def rows(self) -> int:
        return int(self.coefficients.size)

    @property
    def largest(self) -> int:
        return int(np.abs(self.coefficients).max()) * int(np.abs(self.weights).max())

    @cached_property
    def column_l1(self) -> NDArray[Any]:
        sums = np.cumsum(np.abs(self.coefficients.astype(object)))[::-1]
        return np.asarray(sums * np.abs(self.weights.astype(object)))

    @cached_property
    def column_l2_squared(self) -> NDArray[Any]:
        sums = np.cumsum(self.coefficients.astype(object) ** 2)[::-1]
        return np.asarray(sums * self.weights.astype(object) ** 2)

    def multiply(self, values: NDArray[Any]) -> NDArray[Any]:
        weights = self.weights.astype(values.dtype).reshape(-1, *([1] * (values.ndim - 1)))
        weighted: NDArray[Any] = np.asarray(weights * values)
        products: NDArray[Any] = np.zeros_like(weighted)
        for far, coefficient in enumerate(self.coefficients.tolist()):
            products[far:] += coefficient * weighted[: self.cells - far]
        return products

    def to_data(self) -> Any:
        numbers = np.concatenate([self.coefficients, self.weights]).astype("<i8").tobytes()
        return ["toeplitz", self.cells, hashlib.sha256(numbers).hexdigest()]


def square_root(size: int) -> ToeplitzStrategy:
    """The square root of the matrix of running totals, its columns made equally long, in whole numbers.

    Running totals are the lower triangle of ones; as a power series that is 1 / (1 - x), and its square root has the
    coefficients f_k = f_{k-1} (2k - 1) / 2k. Column s of the root is shorter the later it begins; scaling it up to the
    length of the first costs nothing in sensitivity and lets the later cells be seen better (Fichtenberger, Henzinger
    and Upadhyay 2023 for the root; Henzinger, Kalinin and Upadhyay 2025 for its normalisation).

    Because weights are rounded down, no column is longer than the first: w_s^2 N_s <= 4^12 N_0.

    >>> square_root(3).coefficients.tolist(), square_root(3).weights.tolist()
    ([1024, 512, 384], [4096, 4320, 4830])
    """
    coefficients, fine = [], 1 << _FINE
    for far in range(size):
        coefficients.append((fine + (1 << (_FINE - COEFFICIENT_BITS - 1))) >> (_FINE - COEFFICIENT_BITS))
        fine = fine * (2 * far + 1) // (2 * far + 2)
    sums, total = [], 0
    for coefficient in coefficients:
        total += coefficient**2
        sums.append(total)
    weights = [math.isqrt((total << (2 * WEIGHT_BITS)) // part) for part in reversed(sums)]
    return ToeplitzStrategy(np.array(coefficients, dtype=np.int64), np.array(weights, dtype=np.int64))
