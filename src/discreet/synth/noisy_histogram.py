"""Noisy histograms of one column."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

#: At an absurd epsilon noise is 0 to the last float; nothing divides by it.
LEAST_VARIANCE = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisyHistogram:
    """Noisy counts of a column's cells, and their variance."""

    values: NDArray[np.float64]
    variance: float
    is_laplace: bool = False

    @property
    def sd(self) -> float:
        return math.sqrt(self.variance)

    def deviations(self, chance: float) -> float:
        """So many standard deviations the noise exceeds with this chance, about."""
        return math.log(1 / (2 * chance)) / math.sqrt(2) if self.is_laplace else NormalDist().inv_cdf(1 - chance)

    def with_(self, other: NoisyHistogram) -> NoisyHistogram:
        """The mean of both by inverse variance."""
        total = self.variance + other.variance
        mean = (self.values * other.variance + other.values * self.variance) / total
        variance = self.variance * other.variance / total
        return NoisyHistogram(values=mean, variance=variance, is_laplace=self.is_laplace)


@dataclass(frozen=True, slots=True, kw_only=True)
class HistogramPair:
    """Two histograms of one column by independent noise: one to decide about its cells, one for their counts.

    Where bins are counted once more, one is both.
    """

    deciding: NoisyHistogram
    counting: NoisyHistogram

    @property
    def both(self) -> NoisyHistogram:
        return self.deciding if self.deciding is self.counting else self.deciding.with_(self.counting)

    def with_(self, other: HistogramPair) -> HistogramPair:
        """Each with its like."""
        if self.deciding is self.counting:
            both = self.both.with_(other.both)
            return HistogramPair(deciding=both, counting=both)
        return HistogramPair(deciding=self.deciding.with_(other.deciding), counting=self.counting.with_(other.counting))
