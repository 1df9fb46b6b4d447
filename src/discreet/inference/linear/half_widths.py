"""How far a weighted sum of many equal noises may be off, with a given confidence, under their exact law.

The law of Y = sum of w_i X_i has the characteristic function prod phi(w_i s), known in closed form for discrete
Laplace and Gaussian noise. It is inverted as a Fourier series. What would make that wrong is bounded:

- Y has atoms, and no series converges at one. So the law of Y + Z is inverted, where Z is independent and small.
  |Z| <= d always gives P(|Y| > t) <= P(|Y + Z| > t - d); where |Z| <= d has probability 1 - q, that over 1 - q.
- The series is that of Y + Z wrapped around a circle; the circle is so long that less than a ten-thousandth of the
  doubt lies outside (Chernoff, with the worst way to spread the variance over weights: all in one).
- The series is cut off. Its remainder is added to the doubt.

Three small things are checked by tests and not bounded here: weights are gathered on a fine logarithmic grid (which
keeps the variance; about 1e-4 of a width), the remainder for noise of a large standard deviation is taken as that of
continuous noise, and single precision is allowed 1e-5. `mechanisms.weighted_sum`, for few sums, has none of these.

Widths come out less than a hundredth of themselves above the least ones, at confidences from 0.8 on.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.inference.linear.weight_profile import STEP, WeightProfile, grid
from discreet.mechanisms.gaussian import DiscreteGaussian
from discreet.mechanisms.laplace import DiscreteLaplace, error_probability

Law = DiscreteLaplace | DiscreteGaussian
Floats = NDArray[np.float64]

#: From this standard deviation on, noise is made continuous by a uniform Z of its own in every X.
_FINE = 200.0
#: Terms of the series for fine noise and for coarse noise, for each 24 standard deviations of the circle.
_FINE_TERMS, _COARSE_TERMS = 1024, 16384
#: The half width of Z for coarse noise, in standard deviations of Y.
_COARSE_DELTA = 0.008
#: A doubt below this is met by Chernoff's bound.
_LEAST_DOUBT = 1e-9
#: Noise of a smaller variance is mostly 0; its law is too spiky for a series, and Chernoff's bound is below 1.
_LEAST_VARIANCE = 0.01
#: The share of the doubt that the wrapping may cost.
_WRAPPED = 1e-4
#: More than the rounding errors of the transform; and where logarithms are taken in single precision, for coarse noise
#: and doubts that are not small.
_ROUNDING, _SINGLE_ROUNDING, _SINGLE_DOUBT = 1e-12, 1e-5, 1e-3
#: Terms of all the sums that are inverted at a time.
_CHUNK = 2**22


def half_widths(shape: WeightProfile, law: Law, confidence: Fraction) -> Floats:
    """For each sum a width that it stays within with this confidence."""
    doubt = max(float(error_probability(confidence)), 1e-290)
    if law.variance() <= 1e-9 * doubt:
        # A noise is not 0 with a chance below its variance, and no strategy has a thousand million rows.
        return np.zeros(len(shape.variance))
    lengths = np.sqrt(shape.variance * law.variance())
    if doubt < _LEAST_DOUBT or law.variance() < _LEAST_VARIANCE:
        return lengths * _chernoffs(shape, law, doubt)
    series = _series(law, doubt)
    chunk = max(1, _CHUNK // series.terms)
    chunks = [slice(i, i + chunk) for i in range(0, len(lengths), chunk)]
    widths = [series.widths(shape.largest[some], shape.times[some], shape.rest[some]) for some in chunks]
    far = _chernoffs(shape, law, doubt) if doubt < _SINGLE_DOUBT else _chernoff(law, doubt)
    return np.asarray(lengths * np.minimum(np.concatenate(widths) if widths else np.zeros(0), far))


@lru_cache(maxsize=4)
def _series(law: Law, doubt: float) -> _Series:
    """Ranges come in chunks, and again and again under the same law."""
    return _Series(law, doubt)


class _Series:
    """The Fourier series for one law and one doubt; a standard deviation of Y is the unit."""

    def __init__(self, law: Law, doubt: float) -> None:
        self._deviation = math.sqrt(law.variance())
        self._law, self._fine = law, self._deviation >= _FINE
        self._half = _chernoff(law, doubt * _WRAPPED)
        # The remainder falls with the square of the terms, or with their fourth power: keep it small beside the doubt.
        smaller = max(1.0, 1e-3 / doubt)
        terms = min(_FINE_TERMS * smaller**0.5, 2**14) if self._fine else min(_COARSE_TERMS * smaller**0.25, 2**16)
        self.terms = 1 << math.ceil(math.log2(terms * self._half / 12))
        self._frequencies = np.arange(1, self.terms + 1) * (math.pi / self._half)
        single = not self._fine and doubt >= _SINGLE_DOUBT
        self._turns: NDArray[Any] = (self._frequencies / self._deviation).astype(np.float32 if single else np.float64)
        self._delta, missed, self._smoothing, remainder = self._smooth()
        remainder += _SINGLE_ROUNDING if single else _ROUNDING
        self._target = 1 - doubt * (1 - missed - _WRAPPED) + remainder

    @cached_property
    def _table(self) -> Floats:
        """For each place of the grid the log of the characteristic function, for each unit of variance there."""
        places = grid()[:, None].astype(self._turns.dtype)
        return np.asarray(self._logs(places) / places**2)

    def _smooth(self) -> tuple[float, float, Floats, float]:
        """How far Z reaches, how likely it is further, what it does to the series, and the series' remainder."""
        last = float(self._frequencies[-1])
        if self._fine:
            # Hoeffding: a sum of w_i U_i, |U_i| <= 1/2, is beyond d with chance at most 2 exp(-2 d^2 / |w|^2).
            missed = 1e-3
            delta = math.sqrt(math.log(2 / missed) / 2) / self._deviation
            # |phi| <= 1 / (1 + s^2 / 2) for Laplace noise of any weights; a Gaussian's is smaller.
            return delta, missed, np.ones(self.terms), 2 / math.pi / last**2
        # The sum of four uniforms: its transform is at most (4 / (s d))^4.
        delta = _COARSE_DELTA
        quarter = self._frequencies * (delta / 4)
        remainder = (4 / (last * delta)) ** 4 / (2 * math.pi)
        return delta, 0.0, (np.sin(quarter) / quarter) ** 4, remainder

    def _logs(self, weights: Floats) -> Floats:
        """log of the characteristic function of weight * X, and of its own Z where noise is fine."""
        turned = weights * self._turns
        logs = _log_transform(self._law, turned)
        if self._fine:
            logs += np.log(np.maximum(np.abs(np.sinc(turned / (2 * math.pi))), 1e-300))
        return logs

    def widths(self, kept: Floats, times: Floats, rest: Floats) -> Floats:
        """The first place of a fine grid where enough of the law lies within, and Z's reach on top."""
        kind = self._turns.dtype
        logs = rest.astype(kind) @ self._table if rest.any() else np.zeros((len(rest), self.terms), dtype=kind)
        look = self._interpolated if self._fine else self._logs
        for weights, counts in zip(kept.T.astype(kind), times.T.astype(kind), strict=True):
            some = slice(None) if weights.all() else np.flatnonzero(weights)
            logs[some] += counts[some, None] * look(weights[some, None])
        terms = np.exp(logs) * (self._smoothing * (2 / math.pi) / np.arange(1, self.terms + 1))
        # The sum over j of terms_j sin(pi j u / half) at the places u = 2 m half / size, m = 0 .. size / 2.
        size = (4 if self._fine else 2) * self.terms
        padded = np.zeros((len(kept), size // 2 + 1), dtype=np.complex128)
        padded[:, 1 : self.terms + 1] = terms * -0.5j
        within = np.fft.irfft(padded, size, axis=1)[:, : size // 2 + 1] * size
        within += np.arange(size // 2 + 1) * (2 / size)
        # Rounding makes it wave where it is flat: the last place that is too low decides.
        low = within < self._target
        first = size // 2 + 1 - np.argmax(low[:, ::-1], axis=1)
        return np.asarray(first * (self._half * 2 / size) + self._delta)

    def _interpolated(self, kept: Floats) -> Floats:
        """The logs of weights between the places of the grid: fine noise needs no more."""
        place = np.minimum(-np.log(np.minimum(kept, 1.0)) / STEP, len(self._table) - 1.001)
        left = place.astype(np.int64)
        part, first = place - left, left[:, 0]
        return np.asarray(((1 - part) * self._table[first] + part * self._table[first + 1]) * kept**2)


def _log_transform(law: Law, turned: Floats) -> Floats:
    """log E exp(i t X): both laws' are positive everywhere."""
    if isinstance(law, DiscreteLaplace):
        return np.asarray(-np.log1p(2 * law.variance() * np.sin(turned / 2) ** 2))
    sigma2 = float(law.sigma2)
    turned = np.remainder(turned + math.pi, 2 * math.pi) - math.pi
    if sigma2 < 0.25:
        masses = [math.exp(-(k**2) / (2 * sigma2)) for k in range(1, 8)]
        series = 1 + 2 * sum(mass * np.cos(k * turned) for k, mass in enumerate(masses, 1))
        return np.asarray(np.log(series / (1 + 2 * sum(masses))))
    # Poisson's summation: the sum of a Gaussian's copies, 2 pi apart.
    copies = sum(np.exp(-sigma2 * ((2 * math.pi * k) ** 2 - 4 * math.pi * k * turned) / 2) for k in (-2, -1, 0, 1, 2))
    whole = sum(math.exp(-sigma2 * (2 * math.pi * k) ** 2 / 2) for k in (-2, -1, 0, 1, 2))
    return np.asarray(-sigma2 * turned**2 / 2 + np.log(copies / whole))


@lru_cache(maxsize=256)
def _chernoff(law: Law, doubt: float) -> float:
    """A width, in standard deviations, that no weighted sum of the noise leaves with more than this chance.

    Laplace: log E exp(l w X) = -log(1 - 2 v sinh(l w / 2)^2) is a convex function of w^2, and 0 at 0, so that with the
    sum of w_i^2 fixed the product is largest where one weight has it all. Gaussian: E exp(l X) <= exp(l^2 sigma^2 / 2).
    """
    deviation = math.sqrt(law.variance())
    if isinstance(law, DiscreteGaussian):
        return math.sqrt(2 * math.log(2 / doubt) * float(law.sigma2)) / deviation
    rates = _most_rate(law) * (1 - np.geomspace(1e-6, 0.9, 400))
    return float(np.min((math.log(2 / doubt) + _log_moments(law, rates)) / rates))


def _chernoffs(shape: WeightProfile, law: Law, doubt: float) -> Floats:
    """The same for each sum, with what is known of its weights.

    Because: divided by w^2 the logarithms are convex in log w, so between two places of the grid they lie below the
    line; weights below the grid count as larger ones.
    """
    if isinstance(law, DiscreteGaussian):
        return np.full(len(shape.variance), _chernoff(law, doubt))
    rates = np.concatenate([_most_rate(law) * (1 - np.geomspace(1e-6, 0.9, 100)), np.geomspace(1, 100, 100)])
    places = grid()[:, None]
    inside = places * rates < _most_rate(law) * (1 - 1e-9)
    logs = np.where(inside, _log_moments(law, np.where(inside, places * rates, 0.0)) / places**2, 1e200)
    whole = shape.shares_on_grid()
    whole[whole < 1e-15] = 0.0  # a rounding error is no weight
    return np.asarray(np.min((math.log(2 / doubt) + whole @ logs) / rates, axis=1) * (1 + 1e-9))


def _most_rate(law: DiscreteLaplace) -> float:
    """The rate, for one standard deviation, at which E exp(rate * X) is infinite: 1 / scale."""
    return math.sqrt(law.variance()) / float(law.scale)


def _log_moments(law: DiscreteLaplace, rates: Floats) -> Floats:
    """log E exp(rate * X / deviation)."""
    deviation = math.sqrt(law.variance())
    return np.asarray(-np.log1p(-np.minimum(2 * law.variance() * np.sinh(rates / deviation / 2) ** 2, 1 - 1e-15)))
