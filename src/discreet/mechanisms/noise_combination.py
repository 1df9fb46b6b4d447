"""Weighted sums of independent noise: the error of two measurements combined, of a + b, of S - a N.

Their law has no closed form. Its tail is bounded from above in float64, by rounding each part *up* to
a grid and convolving:

    P(|sum of w_i X_i| > t) = 2 P(sum of w_i X_i > t) <= 2 P(sum of g * ceil(w_i X_i / g) > t),

since the laws are even and a larger part makes a larger sum. The grid is so fine that half widths
come out less than a hundredth too wide. What float64 and the transform can err is added.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from discreet import exact
from discreet.mechanisms.gaussian import DiscreteGaussian
from discreet.mechanisms.laplace import DiscreteLaplace, error_probability

NoiseLaw = DiscreteLaplace | DiscreteGaussian
Floats = NDArray[np.float64]

#: Grid steps on either side of zero. They reach to ln(1 / doubt) + 7 times the sum of all spreads (a Laplace
#: scale, a Gaussian sigma), beyond which lies less than a thousandth of the doubt.
_PLACES = 1000
#: A doubt smaller than this is met by adding the half widths of the parts.
_LEAST_DOUBT = 1e-9
#: More than the transform's rounding error (about 2^-53 times the logarithm of its length).
_TRANSFORM = 1e-13
#: More than the relative rounding error of everything else.
_ROUNDING = 1e-9
#: Up to this sigma a Gaussian's tail is summed term by term, beyond it by erfc on blocks.
_SUMMED_SIGMA = 4000
#: A Gaussian's tail is tabled up to so many sigma; what lies beyond (1e-44) counts as that.
_TABLED_SIGMAS = 14
#: Weights of combined measurements are multiples of one over this.
_WEIGHT_UNITS = 10**6


@dataclass(frozen=True, slots=True, kw_only=True)
class CombinedNoise:
    """The law of the sum of weight * X over independent parts.

    >>> laws = (DiscreteLaplace(scale=Fraction(10)), DiscreteLaplace(scale=Fraction(20)))
    >>> both = CombinedNoise(parts=tuple(zip(inverse_variance_weights(laws), laws)))
    >>> both.half_width(Fraction(95, 100)), laws[0].half_width(Fraction(95, 100))
    (26.39, 30)
    """

    parts: tuple[tuple[Fraction, NoiseLaw], ...]

    def __post_init__(self) -> None:
        if not any(weight for weight, _ in self.parts) or not all(isinstance(part[0], Fraction) for part in self.parts):
            raise ValueError("a combination needs parts with weights that are Fractions, and not all 0")

    def variance(self) -> float:
        return math.fsum(float(weight) ** 2 * law.variance() for weight, law in self.parts)

    def tail(self, width: Fraction | float) -> Fraction:
        """At least P(|sum| > width), and close to it as long as it is above 1e-9."""
        if width < 0:
            return Fraction(1)
        weights, laws = _split(self.parts)
        if len(laws) == 1:
            return laws[0].tail(math.floor(Fraction(width) / abs(weights[0])))
        spread = math.fsum(abs(float(weight)) * _spread(law) for weight, law in zip(weights, laws, strict=True))
        steps, tails = _tails(_line(weights), laws, reach=max(1.0, float(width) / spread), most=8 * _PLACES)
        place = min(math.floor(float(width) * (1 - _ROUNDING) / float(steps[0])), tails.size - 1)
        return Fraction(min(1.0, float(tails[0, place])))

    def half_width(self, confidence: Fraction) -> float:
        """A width with P(|sum| <= width) >= confidence, about a hundredth above the least one or less."""
        return _half_width(self.parts, confidence)


@lru_cache(maxsize=256)
def _half_width(parts: tuple[tuple[Fraction, NoiseLaw], ...], confidence: Fraction) -> float:
    weights, laws = _split(parts)
    if len(laws) == 1:
        return float(abs(weights[0]) * laws[0].half_width(confidence))
    bound = float(half_widths(_line(weights), laws, confidence=confidence)[0])
    return float(exact.show(Fraction(bound), digits=4, up=True))


def _split(parts: tuple[tuple[Fraction, NoiseLaw], ...]) -> tuple[list[Fraction], list[NoiseLaw]]:
    """The weights that are not 0, and their laws."""
    return [weight for weight, _ in parts if weight], [law for weight, law in parts if weight]


def _line(weights: list[Fraction]) -> Floats:
    return np.array([[abs(float(weight)) for weight in weights]])


def half_widths(weights: Floats, laws: Sequence[NoiseLaw], *, confidence: Fraction) -> Floats:
    """For each line of weights, a width that |sum of weight * X| stays within with this confidence."""
    doubt = error_probability(confidence)
    sizes = np.abs(weights)
    if len(laws) == 1 or doubt < _LEAST_DOUBT:  # each part within its own width (a union bound)
        apart = sizes @ np.array([float(law.half_width(1 - doubt / len(laws))) for law in laws])
        return np.asarray(apart * (1 + _ROUNDING))
    widths = np.zeros(len(sizes))
    lines = np.flatnonzero(sizes.any(axis=1))
    steps, tails = _tails(sizes[lines], laws, reach=-math.log(doubt))
    # The first place whose tail is small enough. The last one's is: it lies 7 spreads further than ln(1 / doubt).
    widths[lines] = np.count_nonzero(tails > float(doubt), axis=1) * steps * (1 + _ROUNDING)
    return widths


def _tails(sizes: Floats, laws: Sequence[NoiseLaw], *, reach: float, most: int = _PLACES) -> tuple[Floats, Floats]:
    """Steps g, and bounds on P(|sum of size * X| > k g) for k = 0, 1, 2 ..., a line for each line of sizes."""
    steps = sizes @ np.array([_spread(law) for law in laws]) * ((reach + 7) / most)
    length = 1 << (2 * most * len(laws)).bit_length()
    transformed: NDArray[np.complex128] = np.ones((len(sizes), length // 2 + 1), dtype=np.complex128)
    left_out = np.zeros((len(sizes), 1))
    for size, law in zip(sizes.T, laws, strict=True):
        # above[j] = P(size * X > j g), j from -most to most; ceil(size * X / g) = j + 1 where it is
        # above j and not above j + 1. The rest is far below, which lands on -most, or far above: left out.
        places = np.arange(-most, most + 1) * (steps / np.maximum(size, 1e-9 * steps))[:, None]
        above = upper_tail(law, np.floor(places - np.abs(places) * 1e-12))
        transformed *= np.fft.rfft(np.diff(-above, prepend=-1.0, axis=1), length, axis=1)
        left_out += above[:, -1:]
    masses = np.maximum(np.fft.irfft(transformed, length, axis=1), 0.0)
    positive = masses[:, most * len(laws) + 1 : 2 * most * len(laws) + 1]
    tails = np.cumsum(positive[:, ::-1], axis=1)[:, ::-1][:, :most]
    return steps, 2 * (tails + left_out + _TRANSFORM) * (1 + _ROUNDING)


def _spread(law: NoiseLaw) -> float:
    return float(law.scale) if isinstance(law, DiscreteLaplace) else math.sqrt(law.sigma2)


def upper_tail(law: NoiseLaw, q: Floats) -> Floats:
    """At least P(X > q), for whole numbers q, of either sign, as float64.

    Below zero P(X > q) = 1 - P(X > -q - 1), of which at most the truth is needed.
    """
    least, most = _positive_tail(law, np.where(q >= 0, q, -q - 1))
    return np.where(q >= 0, most, 1 - least)


def _positive_tail(law: NoiseLaw, q: Floats) -> tuple[Floats, Floats]:
    """At most and at least P(X > q), for whole q >= 0."""
    if isinstance(law, DiscreteLaplace):
        scale = float(law.scale)
        tail = np.exp(-(q + 1) / scale) / (1 + math.exp(-1 / scale))
        return tail * (1 - _ROUNDING), tail * (1 + _ROUNDING)
    block, tails = _gaussian_table(law.sigma2)
    last = len(tails) - 1
    least = tails[np.minimum(np.ceil(q / block), last).astype(np.int64)] * (1 - _ROUNDING)
    most = tails[np.minimum(np.floor(q / block), last).astype(np.int64)] * (1 + _ROUNDING)
    if law.sigma2 > _SUMMED_SIGMA**2:
        least = np.maximum(least - 0.05 / float(law.sigma2), 0.0)
    return np.where(q / block > last, 0.0, least), most


@lru_cache(maxsize=64)
def _gaussian_table(sigma2: Fraction) -> tuple[int, Floats]:
    """P(X > j * block) for j = 0, 1, 2 ..., and the block.

    For a large sigma it is erfc((q + 1/2) / (sigma sqrt 2)) / 2, which is above the truth by Hermite and
    Hadamard (docs/proofs/sampling.md), and by less than 0.05 / sigma^2: the middle of a unit interval
    misses its integral by a 24th of f'' at most, and |f''| adds up to 2 exp(-1/2) / sigma on each side.
    """
    sigma = math.sqrt(sigma2)
    if sigma <= _SUMMED_SIGMA:
        reach = np.arange(math.ceil(_TABLED_SIGMAS * sigma) + 20, 0, -1)
        above = np.cumsum(np.exp(-(reach**2) / (2 * float(sigma2))))[::-1]
        return 1, above / (1 + 2 * above[0])
    block = math.floor(sigma / 500)
    root = sigma * math.sqrt(2)
    places = range(0, math.ceil(_TABLED_SIGMAS * sigma), block)
    return block, np.array([math.erfc((place + 0.5) / root) / 2 for place in places])


def inverse_variance_weights(laws: Sequence[NoiseLaw | CombinedNoise]) -> tuple[Fraction, ...]:
    """Weights that add to 1 and make the variance of the weighted sum least: proportional to 1 / variance.

    Whole millionths, so that they can be stored; a weight of 0 says that a law has too much noise to help.
    """
    if not 1 <= len(laws) <= 1000:
        raise ValueError("between 1 and 1,000 noise distributions can be combined")
    inverse = [1 / max(law.variance(), 1e-200) for law in laws]
    units = [round(_WEIGHT_UNITS * part / math.fsum(inverse)) for part in inverse]
    units[units.index(max(units))] += _WEIGHT_UNITS - sum(units)
    return tuple(Fraction(unit, _WEIGHT_UNITS) for unit in units)
