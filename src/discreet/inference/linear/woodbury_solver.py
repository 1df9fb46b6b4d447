"""Least squares where every cell is measured by itself and a few more rows are sums of many: A = (diag(d); M).

With E = diag(d)^-2 and K = 1 + M E M', the inverse of A'A is E - E M' K^-1 M E (Woodbury): only a matrix of as many
lines as M is ever factored.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.inference.linear.solver_interface import Floats, Places, Solver, checked_ranges, checked_rows
from discreet.inference.linear.weight_profile import WeightProfile, weight_profile
from discreet.mechanisms.strategy.strategy import DiagonalStrategy, MatrixStrategy, StackStrategy


class WoodburySolver(Solver):
    """Least squares for `Stack((Diagonal, Matrix))`."""

    def __init__(self, strategy: StackStrategy) -> None:
        diagonal, matrix = strategy.parts
        if not isinstance(diagonal, DiagonalStrategy) or not isinstance(matrix, MatrixStrategy):
            raise TypeError("the solver needs a diagonal and a matrix")
        if not diagonal.weights.all():
            raise ValueError("a weight of 0 may leave a cell undetermined")
        self.strategy: StackStrategy = strategy
        self._weights = diagonal.weights.astype(np.float64)
        self._matrix = matrix.entries.astype(np.float64)
        self._single = 1 / self._weights**2
        spread = self._matrix * self._single
        inner = spread @ self._matrix.T
        inner[np.diag_indices(len(inner))] += 1
        #: K^-1/2 M E, so that the inverse of A'A is E less its square.
        self._low_rank = np.linalg.solve(np.linalg.cholesky(inner), spread)
        # A range's sum over the columns is a difference of two of these.
        self._sums = np.pad(np.cumsum(self._low_rank, axis=1), ((0, 0), (1, 0)))
        self._single_sums = np.pad(np.cumsum(self._single), (1, 0))

    def fit(self, noisy: NDArray[Any]) -> Floats:
        return np.asarray(self.fit_lines(noisy[None])[0])

    def fit_lines(self, noisy: NDArray[Any]) -> Floats:
        rows = checked_rows(self.strategy, noisy, axes=2)
        size = len(self._weights)
        together = self._weights * rows[:, :size] + rows[:, size:] @ self._matrix
        return np.asarray(self._single * together - (together @ self._low_rank.T) @ self._low_rank)

    def variance_of(self, combination: Floats) -> float:
        return float((self._single * combination**2).sum() - ((self._low_rank @ combination) ** 2).sum())

    def range_variances(self, lows: Places, highs: Places) -> Floats:
        lows, highs = checked_ranges(len(self._weights), lows, highs)
        single = self._single_sums[highs + 1] - self._single_sums[lows]
        return np.asarray(single - ((self._sums[:, highs + 1] - self._sums[:, lows]) ** 2).sum(axis=0))

    def weight_profiles(self, lows: Places, highs: Places) -> WeightProfile:
        lows, highs = checked_ranges(len(self._weights), lows, highs)
        place = np.arange(len(self._weights))
        inside = (place >= lows[:, None]) & (place <= highs[:, None])
        shared = (self._sums[:, highs + 1] - self._sums[:, lows]).T
        cells = np.where(inside, self._single, 0.0) - shared @ self._low_rank
        return weight_profile(np.concatenate([cells * self._weights, cells @ self._matrix.T], axis=1))
