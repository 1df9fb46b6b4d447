"""What a solver answers: the cells that fit noisy rows best, and how far sums of them may be off."""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.inference.linear.half_widths import half_widths
from discreet.inference.linear.weight_profile import WeightProfile
from discreet.mechanisms.gaussian import DiscreteGaussian
from discreet.mechanisms.laplace import DiscreteLaplace
from discreet.mechanisms.strategy.strategy import Strategy

Law = DiscreteLaplace | DiscreteGaussian
Floats = NDArray[np.float64]
Places = NDArray[np.int64]

#: Ranges whose weights are looked at together.
_CHUNK = 512


class Solver(ABC):
    """Least squares for one strategy, under independent noise of one law on each of its rows.

    Ranges are numbers of cells from 0, both ends included: `lows` and `highs` of shape (queries,), or, where the
    strategy is a product over axes, (queries, axes) for boxes.
    """

    strategy: Strategy

    @abstractmethod
    def fit(self, noisy: NDArray[Any]) -> Floats:
        """The cells whose rows are nearest to the noisy ones."""

    def fit_lines(self, noisy: NDArray[Any]) -> Floats:
        """The same for several sets of rows, one a line."""
        return np.stack([self.fit(line) for line in noisy])

    @abstractmethod
    def range_variances(self, lows: Places, highs: Places) -> Floats:
        """For each range the variance of its least-squares sum, where every row has noise of variance 1."""

    @abstractmethod
    def variance_of(self, combination: Floats) -> float:
        """The variance of one combination of the least-squares cells, where every row has noise of variance 1."""

    def solve(self, combination: Floats) -> Floats:
        """(A'A)^-1 times a combination of the cells. Not of a strategy that leaves cells undetermined."""
        raise ValueError("the strategy leaves cells undetermined")

    def row_weights(self, combination: Floats) -> Floats:
        """The weight of each row in the least-squares answer to a combination of the cells: A (A'A)^-1 b.

        Refuses, by a ValueError, what the strategy does not determine.
        """
        return np.asarray(self.strategy.multiply(self.solve(combination)))

    def prefix_total(self) -> float:
        """The sum over all ranges that begin with the first cell of their variances."""
        cells = self.strategy.cells
        return float(self.range_variances(np.zeros(cells, dtype=np.int64), np.arange(cells)).sum())

    @abstractmethod
    def weight_profiles(self, lows: Places, highs: Places) -> WeightProfile:
        """For each range, of a few, how the variance of its sum is spread over the rows."""

    def half_widths(self, lows: Places, highs: Places, law: Law, confidence: Fraction) -> Floats:
        """For each range a width that its sum's error stays within, with this confidence, under this law."""
        chunks = [
            half_widths(self.weight_profiles(lows[i : i + _CHUNK], highs[i : i + _CHUNK]), law, confidence)
            for i in range(0, len(lows), _CHUNK)
        ]
        return np.concatenate(chunks) if chunks else np.zeros(0)


def checked_rows(strategy: Strategy, noisy: NDArray[Any], *, axes: int = 1) -> Floats:
    """The noisy rows, or lines of them where there are two axes, as floats."""
    if noisy.ndim != axes or noisy.shape[-1] != strategy.rows:
        raise ValueError("the noisy rows belong to another strategy")
    return noisy.astype(np.float64)


def checked_ranges(cells: int, lows: Places, highs: Places) -> tuple[Places, Places]:
    """Ranges that lie within the cells."""
    lows, highs = np.asarray(lows, dtype=np.int64), np.asarray(highs, dtype=np.int64)
    if lows.ndim != 1 or lows.shape != highs.shape:
        raise ValueError("ranges need as many lows as highs")
    if lows.size and not (lows.min() >= 0 and highs.max() < cells and bool((lows <= highs).all())):
        raise ValueError("a range is outside the cells")
    return lows, highs
