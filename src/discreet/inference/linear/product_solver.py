"""Least squares for products of strategies over axes: the inverse of a Kronecker product is that of the inverses."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.inference.linear import weight_profile
from discreet.inference.linear.solver_interface import Floats, Places, Solver, checked_rows
from discreet.inference.linear.weight_profile import WeightProfile
from discreet.mechanisms.strategy.strategy import ProductStrategy
from discreet.mechanisms.strategy.tree_levels import LevelStrategy


class ProductSolver(Solver):
    """Least squares for `ProductStrategy`, from those of its factors. Ranges are boxes, of shape (queries, axes)."""

    def __init__(self, strategy: ProductStrategy, factors: Sequence[Solver]) -> None:
        self.strategy: ProductStrategy = strategy
        self.factors = tuple(factors)

    def fit(self, noisy: NDArray[Any]) -> Floats:
        table = checked_rows(self.strategy, noisy).reshape([factor.strategy.rows for factor in self.factors])
        for axis, factor in enumerate(self.factors):
            lines = np.moveaxis(table, axis, -1)
            fitted = factor.fit_lines(lines.reshape(-1, lines.shape[-1]))
            table = np.moveaxis(fitted.reshape(*lines.shape[:-1], -1), -1, axis)
        return table.reshape(-1)

    def variance_of(self, combination: Floats) -> float:
        """Of a combination that is itself a product, given flat; others are not asked for."""
        table = combination.reshape(self.factors[0].strategy.cells, -1)
        if len(self.factors) != 2:
            raise ValueError("combinations need exactly two axes")
        pivot = np.unravel_index(int(np.argmax(np.abs(table))), table.shape)
        if table[pivot] == 0:
            return 0.0
        first, second = table[:, pivot[1]] / table[pivot], table[pivot[0]]
        if not np.allclose(np.outer(first, second), table):
            raise ValueError("a product needs one combination for each axis")
        return self.factors[0].variance_of(first) * self.factors[1].variance_of(second)

    def row_weights(self, combination: Floats) -> Floats:
        """Of any combination, given flat: axis by axis."""
        table = combination.reshape([factor.strategy.cells for factor in self.factors])
        for axis, factor in enumerate(self.factors):
            lines = np.moveaxis(table, axis, -1)
            if isinstance(factor.strategy, LevelStrategy) and factor.strategy.levels == ((1, 1),):
                continue  # single cells: a row each
            flat = lines.reshape(-1, lines.shape[-1])
            weights = np.zeros((len(flat), factor.strategy.rows))
            for place in np.flatnonzero(flat.any(axis=1)).tolist():
                weights[place] = factor.row_weights(flat[place])
            table = np.moveaxis(weights.reshape(*lines.shape[:-1], -1), -1, axis)
        return table.reshape(-1)

    def range_variances(self, lows: Places, highs: Places) -> Floats:
        lows, highs = self._boxes(lows, highs)
        parts = [f.range_variances(lows[:, axis], highs[:, axis]) for axis, f in enumerate(self.factors)]
        return np.asarray(math.prod(parts[1:], start=parts[0]))

    def weight_profiles(self, lows: Places, highs: Places) -> WeightProfile:
        lows, highs = self._boxes(lows, highs)
        parts = [f.weight_profiles(lows[:, axis], highs[:, axis]) for axis, f in enumerate(self.factors)]
        return reduce(weight_profile.product_profile, parts)

    def _boxes(self, lows: Places, highs: Places) -> tuple[Places, Places]:
        lows, highs = np.asarray(lows, dtype=np.int64), np.asarray(highs, dtype=np.int64)
        if lows.ndim != 2 or lows.shape != highs.shape or lows.shape[1] != len(self.factors):
            raise ValueError(f"boxes over {len(self.factors)} axes need one low and one high for each axis")
        return lows, highs
