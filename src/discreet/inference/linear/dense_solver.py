"""Least squares by dense algebra: any strategy over few cells."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.inference.linear.solver_interface import Floats, Places, Solver, checked_ranges, checked_rows
from discreet.inference.linear.weight_profile import WeightProfile, weight_profile
from discreet.mechanisms.strategy.strategy import MatrixStrategy, Strategy

#: More cells than this are not solved for densely.
MOST_CELLS = 4096

#: Columns nearer to dependent than this, once they have length 1, determine nothing.
_LEAST_PIVOT = 1e-6


class DenseSolver(Solver):
    """Least squares for a strategy of at most `MOST_CELLS` cells, by Cholesky's factor of A'A."""

    def __init__(self, strategy: Strategy) -> None:
        if strategy.cells > MOST_CELLS:
            raise ValueError(f"the dense solver supports at most {MOST_CELLS:,} cells")
        self.strategy = strategy
        entries = strategy.entries if isinstance(strategy, MatrixStrategy) else strategy.matrix()
        self._matrix = entries.astype(np.float64)
        lengths = np.sqrt((self._matrix**2).sum(axis=0))
        if not lengths.all():
            raise ValueError("no row of the strategy measures some cell")
        scaled = self._matrix / lengths
        try:
            factor = np.linalg.cholesky(scaled.T @ scaled)
        except np.linalg.LinAlgError:
            raise ValueError("the strategy leaves cells undetermined") from None
        if factor.diagonal().min() < _LEAST_PIVOT:
            raise ValueError("the strategy leaves cells undetermined")
        #: L^-1 with A'A = L L': the inverse of A'A is its square.
        self._root = np.linalg.inv(factor) / lengths

    @cached_property
    def _sums(self) -> Floats:
        return np.pad(np.cumsum(self._root, axis=1), ((0, 0), (1, 0)))

    def fit(self, noisy: NDArray[Any]) -> Floats:
        return np.asarray(self.fit_lines(noisy[None])[0])

    def fit_lines(self, noisy: NDArray[Any]) -> Floats:
        rows = checked_rows(self.strategy, noisy, axes=2)
        cells = self._solved(rows @ self._matrix)
        # Once more on what is left over: the normal equations square the condition number.
        return cells + self._solved((rows - cells @ self._matrix.T) @ self._matrix)

    def _solved(self, sides: Floats) -> Floats:
        return np.asarray(sides @ self._root.T @ self._root)

    def variance_of(self, combination: Floats) -> float:
        return float(((self._root @ combination) ** 2).sum())

    def range_variances(self, lows: Places, highs: Places) -> Floats:
        lows, highs = checked_ranges(self.strategy.cells, lows, highs)
        chunks = [
            ((self._sums[:, high + 1] - self._sums[:, low]) ** 2).sum(axis=0) for low, high in _chunks(lows, highs)
        ]
        return np.concatenate(chunks) if chunks else np.zeros(0)

    def weight_profiles(self, lows: Places, highs: Places) -> WeightProfile:
        lows, highs = checked_ranges(self.strategy.cells, lows, highs)
        cells = (self._sums[:, highs + 1] - self._sums[:, lows]).T @ self._root
        return weight_profile(cells @ self._matrix.T)


def _chunks(lows: Places, highs: Places, size: int = 1024) -> list[tuple[Places, Places]]:
    return [(lows[i : i + size], highs[i : i + size]) for i in range(0, len(lows), size)]
