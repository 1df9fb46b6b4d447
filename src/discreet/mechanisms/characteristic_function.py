"""The characteristic function of a weighted sum of many discrete Laplace or Gaussian draws.

Both laws' functions are even, positive, of period 2 pi, and fall from 0 to pi:

- Laplace: (1 - r)^2 / (1 - 2 r cos t + r^2) = 1 / (1 + (sin(t/2) / sinh(1/(2 scale)))^2), r = exp(-1/scale);
- Gaussian: Jacobi's third theta function over its value at 0, by its product formula a product of factors
  1 + 2 q cos t + q^2 with 0 < q < 1; by Poisson's formula a sum of Gaussians around the multiples of 2 pi.

Where sigma^2 >= 4, up to an angle of pi/2 the sum is the Gaussian around 0, and the others less than 10^-17 of it. So
thousands of such draws with different weights are one Gaussian there.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms.laplace import DiscreteLaplace
from discreet.mechanisms.noise_combination import NoiseLaw

Floats = NDArray[np.float64]

#: From this sigma^2 on Poisson's sum has two terms that matter, below it the masses are few.
_POISSON = 4.0
_PLACES = np.arange(1.0, 25.0)

#: So many numbers are worked on at a time.
_CHUNK = 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightedDraws:
    """Draws of one law: the different weights, above 0 and rising, and how many draws have each."""

    law: NoiseLaw
    weights: Floats
    counts: Floats

    @property
    def squares(self) -> float:
        """The sum of all squared weights."""
        return float(self.counts @ self.weights**2)

    def log(self, times: Floats) -> Floats:
        """The logarithm of the characteristic function of the weighted sum."""
        if isinstance(self.law, DiscreteLaplace) or self.law.sigma2 < _POISSON:
            return self._sum(times, 0)
        few = int(np.searchsorted(self.weights, math.pi / 2 / times.max(), side="right"))
        light = float(self.counts[:few] @ self.weights[:few] ** 2)
        return self._sum(times, few) - float(self.law.sigma2) / 2 * light * times**2

    def log_falling(self, times: Floats) -> Floats:
        """The same of those draws alone whose function falls up to twice the time: at least what it is up to there."""
        if isinstance(self.law, DiscreteLaplace) or self.law.sigma2 < _POISSON:
            return self._sum(times, 0, most=math.pi / 2)
        ends = np.searchsorted(self.weights, math.pi / 2 / times, side="right")
        squares = np.concatenate([[0.0], np.cumsum(self.counts * self.weights**2)])
        return np.asarray(-float(self.law.sigma2) / 2 * squares[ends] * times**2)

    def _sum(self, times: Floats, first: int, most: float = math.inf) -> Floats:
        """Draw by draw, for the weights from `first` on, and angles up to `most`."""
        logarithms: Floats = np.zeros(len(times))
        weights, counts = self.weights[first:], self.counts[first:]
        if not len(weights):
            return logarithms
        for some in _slices(len(times), len(weights)):
            angles = np.multiply.outer(weights, times[some])
            logarithms[some] = counts @ np.where(angles <= most, _log_one(self.law, angles), 0.0)
        return logarithms


def _slices(length: int, each: int) -> Iterator[slice]:
    step = max(1, _CHUNK // each)
    return (slice(start, start + step) for start in range(0, length, step))


def _log_one(law: NoiseLaw, angles: Floats) -> Floats:
    """The logarithm of one draw's characteristic function."""
    if isinstance(law, DiscreteLaplace):
        return np.asarray(-np.log1p(np.sin(angles / 2) ** 2 * math.sinh(1 / (2 * float(law.scale))) ** -2))
    sigma2 = float(law.sigma2)
    return _log_wide_gaussian(angles, sigma2) if sigma2 >= _POISSON else _log_narrow_gaussian(angles, sigma2)


def _log_wide_gaussian(angles: Floats, sigma2: float) -> Floats:
    """Around the nearest multiple of 2 pi and the next nearest; all others are less than 10^-34 of these."""
    near = np.abs(angles - 2 * math.pi * np.round(angles / (2 * math.pi)))
    others = np.exp(-2 * math.pi * sigma2 * np.maximum(math.pi - near, 0.0))
    return np.asarray(-sigma2 / 2 * near**2 + np.log1p(others))


def _log_narrow_gaussian(angles: Floats, sigma2: float) -> Floats:
    """1 less the masses times 1 - cos, so that nothing is lost near 0."""
    masses = 2 * np.exp(-(_PLACES**2) / (2 * sigma2))
    missed: Floats = np.zeros(angles.shape)
    for place, mass in zip(_PLACES[masses > 0], masses[masses > 0], strict=True):
        missed += mass * (1 - np.cos(angles * place))
    return np.asarray(np.log1p(-missed / (1 + masses.sum())))


def log(lines: Iterable[WeightedDraws], times: Floats) -> Floats:
    """The logarithm of the characteristic function of the sum of all lines."""
    return np.asarray(sum((line.log(times) for line in lines), start=np.zeros(len(times))))


def log_falling(lines: Iterable[WeightedDraws], times: Floats) -> Floats:
    """At least the same anywhere from each time to twice of it."""
    return np.asarray(sum((line.log_falling(times) for line in lines), start=np.zeros(len(times))))
