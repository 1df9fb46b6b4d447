"""Discrete Gaussian noise: P(X = k) proportional to exp(-k^2 / (2 sigma^2)), k any whole number."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial

import numpy as np
from numpy.typing import NDArray

from discreet import exact as rounding
from discreet.accounting import events
from discreet.errors import UsageError
from discreet.mechanisms import enclosure, gaussian_law, integer_arrays, laplace, uniform
from discreet.mechanisms.bits import Bits
from discreet.mechanisms.integer_arrays import Integers


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscreteGaussian:
    """Discrete Gaussian noise of parameter sigma^2 on integers.

    Guarantee: adding a draw to each of several integers, whose squared Euclidean (l2) distance
        between neighbours is at most `l2_squared`, is rho-zCDP for rho = l2_squared / (2 sigma^2).
    Because: Canonne, Kamath and Steinke (2020), theorem 14, for this law; and the draws follow it
        exactly (docs/proofs/sampling.md). There is no pure epsilon.

    >>> DiscreteGaussian(sigma2=Fraction(100)).event(l2_squared=1)
    GaussianEvent(sigma2=Fraction(100, 1), l2_squared=1)
    >>> DiscreteGaussian(sigma2=Fraction(100)).half_width(Fraction(95, 100))
    20
    """

    sigma2: Fraction

    def __post_init__(self) -> None:
        if not isinstance(self.sigma2, Fraction):
            raise TypeError("sigma2 must be a Fraction")
        if not laplace.LEAST_SCALE**2 <= self.sigma2 <= laplace.MOST_SCALE**2:
            raise UsageError(
                f"the noise would have variance {rounding.show(self.sigma2)}; it must be from 1e-6 to 1e24",
                hint="ask with another epsilon, or declare narrower bounds",
            )

    def event(self, *, l2_squared: int) -> events.GaussianEvent:
        """What it costs on integers whose squared l2 distance between neighbours is at most that."""
        return events.GaussianEvent(sigma2=self.sigma2, l2_squared=l2_squared)

    def add_noise(self, exact: Integers, *, l2_squared: int, bits: Bits) -> tuple[Integers, events.Event]:
        """The exact integers with noise, and what that costs."""
        event = self.event(l2_squared=l2_squared)
        exact = integer_arrays.check_integers(exact)
        noise = self.draw(exact.size, bits=bits).reshape(exact.shape)
        return integer_arrays.add_integers(exact, noise), event

    def draw(self, size: int, *, bits: Bits) -> NDArray[np.int64]:
        """`size` independent draws: the first `size` proposals that are accepted."""
        drawn = np.empty(size, dtype=np.int64)
        filled = 0
        while filled < size:
            # At least 0.46 of the proposals are accepted, from sigma = 3 on about 0.76.
            missing = size - filled
            accepted = self._accepted(min(laplace.CHUNK, missing * 3 // 2 + 8), bits)[:missing]
            drawn[filled : filled + accepted.size] = accepted
            filled += accepted.size
        return drawn

    def _accepted(self, size: int, bits: Bits) -> NDArray[np.int64]:
        """Of `size` proposals those that are accepted: a random number of draws.

        Because: Y is proposed with probability proportional to exp(-|Y|/t) and accepted with
        probability exp(-(|Y| - sigma^2/t)^2 / (2 sigma^2)). The product of the two is
        exp(-Y^2 / (2 sigma^2)) times a constant. Both steps are exact.
        """
        unsigned, words = laplace.magnitudes(Fraction(self._proposal()), size, bits)
        distance = unsigned - float(self.sigma2 / self._proposal())
        chances = np.multiply(distance, distance, out=distance)
        chances *= -float(1 / (2 * self.sigma2))
        np.exp(chances, out=chances)

        def exact(lane: int) -> enclosure.Computable:
            return partial(_exp_minus, self._exponent(int(unsigned[lane])))

        kept = np.flatnonzero(uniform.below(bits.words(size), chances, exact, bits))
        return laplace.apply_signs(unsigned[kept], words[kept])

    def _proposal(self) -> int:
        """The scale t of the proposals: the whole number next above sigma."""
        return math.isqrt(math.floor(self.sigma2)) + 1

    def _exponent(self, magnitude: int) -> Fraction:
        return (magnitude - self.sigma2 / self._proposal()) ** 2 / (2 * self.sigma2)

    def mass(self, k: int) -> float:
        """P(X = k), in float64."""
        low, high = self.mass_bounds(k)
        return float((low + high) / 2)

    def mass_bounds(self, k: int) -> tuple[Fraction, Fraction]:
        """P(X = k) between two Fractions."""
        low, high = gaussian_law.normaliser(self.sigma2)
        exponent = k * k / (2 * self.sigma2)
        least, most = (gaussian_law.exp_minus(exponent, up=up) for up in (False, True))
        return least / high, min(Fraction(1), most / low)

    def tail(self, q: int) -> Fraction:
        """At least P(|X| > q), and close to it."""
        return gaussian_law.tail(self.sigma2, q)

    @lru_cache(maxsize=256)  # noqa: B019 - laws are small, equal by value, and asked the same again and again
    def half_width(self, confidence: Fraction) -> int:
        """The smallest q for which `tail` certifies P(|X| <= q) >= confidence."""
        doubt = laplace.error_probability(confidence)
        width = self._guess(float(doubt))
        while width > 0 and self.tail(width - 1) <= doubt:
            width -= 1
        while self.tail(width) > doubt:
            width += 1
        return width

    def _guess(self, doubt: float) -> int:
        """A first guess: the half width of a rounded continuous Gaussian, in float64."""
        root = math.sqrt(2 * float(self.sigma2))
        low, high = 0, math.ceil(22 * root)  # erfc(22) < 1e-100
        while low < high:
            middle = (low + high) // 2
            if math.erfc((middle + 0.5) / root) <= doubt:
                high = middle
            else:
                low = middle + 1
        return low

    def variance(self) -> float:
        return gaussian_law.variance(self.sigma2)


def _exp_minus(value: Fraction, digits: int) -> enclosure.Interval:
    return enclosure.exp_minus(value, digits=digits)
