"""Least squares for any strategy: which solver it has, and the solvers that are short.

DenseSolver     few cells, any matrix
MergedSolver    cells that are measured in groups only: what the groups determine, and no more
WoodburySolver  every cell by itself, and a few more rows that are sums of many

Trees (levels_solver.py) and products (product_solver.py) have files of their own.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.inference.linear.levels_solver import LevelsSolver
from discreet.inference.linear.product_solver import ProductSolver
from discreet.inference.linear.solver_interface import Floats, Law, Places, Solver, checked_ranges, checked_rows
from discreet.inference.linear.weight_profile import WeightProfile, weight_profile
from discreet.mechanisms.strategy.cell_merge import MergeStrategy
from discreet.mechanisms.strategy.strategy import (
    DiagonalStrategy,
    IdentityStrategy,
    MatrixStrategy,
    ProductStrategy,
    StackStrategy,
    Strategy,
)
from discreet.mechanisms.strategy.tree_levels import LevelStrategy

__all__ = ["Solver", "solver_for"]

#: More cells than this are not solved for densely.
MOST_CELLS = 4096

#: Columns nearer to dependent than this, once they have length 1, determine nothing.
_LEAST_PIVOT = 1e-6


def solver_for(strategy: Strategy) -> Solver:
    """The solver for a strategy. Refuses one that leaves a cell undetermined, unless it merges cells on purpose."""
    match strategy:
        case IdentityStrategy():
            return LevelsSolver(LevelStrategy(strategy.size, ((1, 1),)))
        case LevelStrategy():
            return LevelsSolver(strategy)
        case StackStrategy(parts=(DiagonalStrategy(), MatrixStrategy())):
            return WoodburySolver(strategy)
        case ProductStrategy():
            return ProductSolver(strategy, [solver_for(factor) for factor in strategy.factors])
        case MergeStrategy():
            return MergedSolver(strategy, solver_for(strategy.inner))
        case _:
            return DenseSolver(strategy)


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

    def solve(self, combination: Floats) -> Floats:
        return np.asarray(self._solved(combination[None])[0])

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


class MergedSolver(Solver):
    """Least squares for `MergeStrategy` over groups of consecutive cells, from that of the strategy inside.

    A group's estimate is spread evenly over its cells; cells in no group are 0. Only ranges made of whole groups have
    a variance: of others it is infinite.
    """

    def __init__(self, strategy: MergeStrategy, inner: Solver) -> None:
        groups = strategy.groups
        measured = groups[groups >= 0]
        if not measured.size or bool((np.diff(measured) < 0).any()) or len(np.unique(measured)) != strategy.inner.cells:
            raise ValueError("the groups are not in the order of the cells")
        self.strategy: MergeStrategy = strategy
        self.inner = inner
        self._sizes = np.bincount(measured)
        #: For each place between cells: groups begun before it, and whether a group, or the end, is exactly there.
        changes = np.flatnonzero(np.diff(groups)) + 1
        self._edge = np.zeros(len(groups) + 1, dtype=bool)
        self._edge[[0, *changes.tolist(), len(groups)]] = True
        before = np.maximum.accumulate(groups)
        self._begun = np.concatenate([[0], before + 1])
        self._left_out = np.concatenate([[0], np.cumsum(groups < 0)])

    def fit(self, noisy: NDArray[Any]) -> Floats:
        spread = np.concatenate([self.inner.fit(noisy) / self._sizes, [0.0]])
        return np.asarray(spread[self.strategy.groups])

    def variance_of(self, combination: Floats) -> float:
        inside = self._inside(combination)
        return np.inf if inside is None else self.inner.variance_of(inside)

    def row_weights(self, combination: Floats) -> Floats:
        inside = self._inside(combination)
        if inside is None:
            raise ValueError("the strategy does not determine this combination")
        return self.inner.row_weights(inside)

    def _inside(self, combination: Floats) -> Floats | None:
        """A combination of cells as one of groups; None where a group is cut."""
        groups = self.strategy.groups
        first = np.searchsorted(groups[groups >= 0], np.arange(len(self._sizes)))
        inside = combination[groups >= 0][first]
        return inside if np.array_equal(np.concatenate([inside, [0.0]])[groups], combination) else None

    def _ranges(self, lows: Places, highs: Places) -> tuple[NDArray[np.bool_], Places, Places]:
        """Which ranges are made of whole groups, and those as ranges of groups."""
        lows, highs = checked_ranges(self.strategy.cells, lows, highs)
        whole = self._edge[lows] & self._edge[highs + 1] & (self._left_out[highs + 1] == self._left_out[lows])
        return whole, self._begun[lows[whole]], self._begun[highs[whole] + 1] - 1

    def range_variances(self, lows: Places, highs: Places) -> Floats:
        whole, first, last = self._ranges(lows, highs)
        variances = np.full(len(whole), np.inf)
        variances[whole] = self.inner.range_variances(first, last)
        return variances

    def weight_profiles(self, lows: Places, highs: Places) -> WeightProfile:
        whole, first, last = self._ranges(lows, highs)
        if not whole.all():
            raise ValueError("the strategy does not determine this range")
        return self.inner.weight_profiles(first, last)

    def half_widths(self, lows: Places, highs: Places, law: Law, confidence: Any) -> Floats:
        whole, first, last = self._ranges(lows, highs)
        widths = np.full(len(whole), np.inf)
        widths[whole] = self.inner.half_widths(first, last, law, confidence)
        return widths


class WoodburySolver(Solver):
    """Least squares for `Stack((Diagonal, Matrix))`: every cell by itself, and a few more rows, A = (diag(d); M).

    With E = diag(d)^-2 and K = 1 + M E M', the inverse of A'A is E - E M' K^-1 M E (Woodbury): only a matrix of as many
    lines as M is ever factored.
    """

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

    def solve(self, combination: Floats) -> Floats:
        return np.asarray(self._single * combination - (self._low_rank @ combination) @ self._low_rank)

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
