"""Discrete Laplace noise: P(X = k) proportional to exp(-|k| / scale), k any whole number."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from discreet import exact as rounding
from discreet.accounting import events
from discreet.errors import UsageError
from discreet.mechanisms import bernoulli, geometric, integer_arrays
from discreet.mechanisms.bits import Bits
from discreet.mechanisms.geometric import Geometric
from discreet.mechanisms.integer_arrays import Integers

#: What a Laplace scale and a Gaussian sigma may be.
LEAST_SCALE = Fraction(1, 1000)
MOST_SCALE = Fraction(10**12)

#: Confidences nearer to one than this are refused; they would ask for nothing but wider intervals.
LEAST_ERROR_PROBABILITY = Fraction(1, 10**100)

#: Lanes that are drawn at a time: few enough to stay in the processor's cache.
CHUNK = 1 << 15

#: A probability of exp(-10000) or less is bounded by exp(-10000).
_FAR = Fraction(10**4)


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscreteLaplace:
    """Two-sided geometric noise on integers.

    Guarantee: adding a draw to each of several integers, whose total (l1) distance between
        neighbours is at most `l1`, is (l1 / scale)-differentially private.
    Because: the masses at k and k + d differ by a factor of at most exp(|d| / scale), factors of
        independent draws multiply, and the draws follow that law exactly (docs/proofs/sampling.md).

    >>> DiscreteLaplace(scale=Fraction(10)).event(l1=1)
    LaplaceEvent(scale=Fraction(10, 1), l1=1)
    >>> DiscreteLaplace(scale=Fraction(10)).half_width(Fraction(95, 100))
    30
    """

    scale: Fraction

    def __post_init__(self) -> None:
        if not isinstance(self.scale, Fraction):
            raise TypeError("a scale must be a Fraction")
        if not LEAST_SCALE <= self.scale <= MOST_SCALE:
            raise UsageError(
                f"the noise would have scale {rounding.show(self.scale)}; it must be between 0.001 and 1e12",
                hint="ask with another epsilon, or declare narrower bounds",
            )

    def event(self, *, l1: int) -> events.LaplaceEvent:
        """What it costs on integers whose l1 distance between neighbours is at most `l1`."""
        return events.LaplaceEvent(scale=self.scale, l1=l1)

    def add_noise(self, exact: Integers, *, l1: int, bits: Bits) -> tuple[Integers, events.Event]:
        """The exact integers with noise, and what that costs."""
        event = self.event(l1=l1)
        exact = integer_arrays.check_integers(exact)
        noise = self.draw(exact.size, bits=bits).reshape(exact.shape)
        return integer_arrays.add_integers(exact, noise), event

    def draw(self, size: int, *, bits: Bits) -> NDArray[np.int64]:
        """`size` independent draws."""
        drawn = np.empty(size, dtype=np.int64)
        for start in range(0, size, CHUNK):
            count = min(CHUNK, size - start)
            drawn[start : start + count] = apply_signs(*magnitudes(self.scale, count, bits))
        return drawn

    def mass(self, k: int) -> float:
        """P(X = k), in float64."""
        return math.tanh(float(1 / (2 * self.scale))) * math.exp(-float(min(abs(k) / self.scale, _FAR)))

    def mass_bounds(self, k: int) -> tuple[Fraction, Fraction]:
        """P(X = k) = (1 - r) / (1 + r) * r^|k| with r = exp(-1/scale), between two Fractions."""
        far = abs(k) / self.scale
        low, high = (rounding.exp(-1 / self.scale, up=up) for up in (False, True))
        least = rounding.exp(-far, up=False) if far <= _FAR else Fraction(0)
        most = rounding.exp(-min(far, _FAR), up=True)
        return (1 - high) / (1 + high) * least, min(Fraction(1), (1 - low) / (1 + low) * most)

    def tail(self, q: int) -> Fraction:
        """At least P(|X| > q) = 2 r^(q + 1) / (1 + r), and no more than rounding above it."""
        if q < 0:
            return Fraction(1)
        power = rounding.exp(-min((q + 1) / self.scale, _FAR), up=True)
        return min(Fraction(1), 2 * power / (1 + rounding.exp(-1 / self.scale, up=False)))

    @lru_cache(maxsize=256)  # noqa: B019 - laws are small, equal by value, and asked the same again and again
    def half_width(self, confidence: Fraction) -> int:
        """The smallest q with P(|X| <= q) >= confidence."""
        doubt = error_probability(confidence)
        # tail(q) <= doubt is q + 1 >= scale * ln(2 / (doubt * (1 + r))).
        ratio = 2 / (doubt * (1 + rounding.exp(-1 / self.scale, up=False)))
        width = max(0, math.ceil(self.scale * rounding.ln(ratio, up=True)) - 2)
        while self.tail(width) > doubt:  # once, as a rule: the guess was one too small on purpose
            width += 1
        return width

    def variance(self) -> float:
        """2 r / (1 - r)^2 = 1 / (2 sinh(1 / (2 scale))^2)."""
        return (1 / math.sinh(float(1 / (2 * self.scale)))) ** 2 / 2


def error_probability(confidence: Fraction) -> Fraction:
    """1 - confidence, of a confidence that makes sense."""
    if not 0 < confidence <= 1 - LEAST_ERROR_PROBABILITY:
        raise UsageError("a confidence must be above 0 and below 1, such as 0.95")
    return 1 - confidence


def magnitudes(scale: Fraction, size: int, bits: Bits) -> tuple[NDArray[np.float64], NDArray[np.uint64]]:
    """|X| for `size` draws, and words of which bit 0 is the sign still to be given (`apply_signs`)."""
    words = bits.words(size)
    if scale <= geometric.MOST_SCALE:
        return Geometric(scale=scale, folded=True).magnitudes(words, bits=bits), words
    unsigned = wide_magnitudes(scale, words, bits)
    # Zero is drawn with either sign, so that one of the two must be drawn again to count it once.
    while (again := np.flatnonzero((unsigned == 0) & (words & np.uint64(1) == 1))).size:
        words = words.copy()
        words[again] = bits.words(again.size)
        unsigned[again] = wide_magnitudes(scale, words[again], bits)
    return unsigned, words


def apply_signs(unsigned: NDArray[np.float64], words: NDArray[np.uint64]) -> NDArray[np.int64]:
    """The magnitudes with the signs that bit 0 of their words gives: negative where it is set."""
    return ((words << np.uint64(63)) | unsigned.view(np.uint64)).view(np.float64).astype(np.int64)


def wide_magnitudes(scale: Fraction, words: NDArray[np.uint64], bits: Bits) -> NDArray[np.float64]:
    """Geometric magnitudes of a scale beyond what one float64 logarithm can carry.

    Because: for G geometric of `scale` and m = 2^shift, G = m H + R where H is geometric of
    scale / m and, independently, P(R = r) is proportional to exp(-r / scale) on 0 .. m - 1.
    R is drawn uniformly and kept with probability exp(-R / scale), which is above 1 - 2^-18.
    """
    shift = math.ceil(scale).bit_length() - 20
    high = Geometric(scale=scale / (1 << shift), folded=False).magnitudes(words, bits=bits)
    low = _low_part(scale, shift, words.size, bits)
    return np.ldexp(high, shift) + low  # exact: below 2^53


def _low_part(scale: Fraction, shift: int, size: int, bits: Bits) -> NDArray[np.float64]:
    low_parts = np.empty(size)
    again = np.arange(size)
    while again.size:
        low = (bits.words(again.size) >> np.uint64(64 - shift)).view(np.int64)
        kept = bernoulli.exp_minus(low, 1 / scale, bits=bits)
        low_parts[again[kept]] = low[kept]
        again = again[~kept]
    return low_parts
