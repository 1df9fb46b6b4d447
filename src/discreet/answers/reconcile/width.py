"""How wrong a weighted sum of many independent noises may be: half widths that hold, about a hundredth too wide.

`mechanisms.combined` rounds each part up to a grid, which is best for a few parts and too wide for many. Here the law
of the sum comes from its characteristic function, the product of those of the parts, which are known exactly.

Let S be the sum, Z a standard normal number, Y = S + eta Z, and P > 2 t a period. The share of the time that Y, wound
around a circle of length P, lies within t of 0 is a Fourier series,

    W(t) = 2 t / P + sum over k >= 1 of 2 sin(u_k t) / (pi k) * E cos(u_k Y),      u_k = 2 pi k / P,

and so, for every r,

    P(|S| > t + r eta) <= P(|Y| > t) + P(|Z| > r) <= 1 - W(t) + P(|Y| > P - t) + P(|Z| > r).

The last two are bounded by Chernoff's method and by erfc. The terms of the series fall with exp(-(eta u_k)^2 / 2), so
that it can be cut. What float64 errs is added. docs/proofs/reconcile.md has the steps.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from discreet.measurement import Law
from discreet.mechanisms.combined import Combined
from discreet.mechanisms.gaussian import DiscreteGaussian
from discreet.mechanisms.laplace import DiscreteLaplace, doubt_of

Floats = NDArray[np.float64]
#: Sizes of weights and their laws, and how many parts have each.
Parts = tuple[tuple[float, Law, int], ...]

#: Up to so many parts are convolved on a grid.
_FEW = 3
#: eta, beside the standard deviation of the sum.
_SMOOTH = 1 / 400
#: What is spent of the doubt on each of: the winding, the smoothing.
_SHARE = 1e-3
#: The series is cut where exp(-(eta u)^2 / 2) is e^-32: what is left out adds to less than _ERROR, and so does what
#: float64 rounds.
_CUT = 8.0
_ERROR = 1e-10
#: More terms are needed only where there is hardly any noise: then Chernoff's bound is a fraction of a step.
_MOST_TERMS = 200_000
#: A smaller doubt is met by Chernoff's bound alone.
_LEAST_DOUBT = 1e-7
#: Weights that differ by less than this share of the largest count as one, and that is made good.
_ALIKE = 1e-9


def half_width(parts: Iterable[tuple[float, Law]], confidence: Fraction) -> float:
    """A width that |sum of weight * X| over independent X stays within with this confidence. 0 where there is no part.

    >>> law = DiscreteLaplace(scale=Fraction(10))
    >>> half_width([(1.0, law)] * 100, Fraction(95, 100))  # of a normal sum of this variance: 277
    279.0
    """
    return _half_width(signature(parts), confidence)


def signature(parts: Iterable[tuple[float, Law]]) -> Parts:
    """Equal parts together, in one order: sums with one signature have one law, to a billionth."""
    sizes = [(abs(weight), law) for weight, law in parts if weight]
    largest = max((size for size, _ in sizes), default=1.0)
    digits = 9 - math.floor(math.log10(largest))
    counted: Mapping[tuple[float, Law], int] = Counter((round(size, digits), law) for size, law in sizes)
    kept = [(size, law, times) for (size, law), times in counted.items() if size]
    return tuple(sorted(kept, key=lambda part: (part[0], repr(part[1]))))


@lru_cache(maxsize=4096)
def _half_width(parts: Parts, confidence: Fraction) -> float:
    if not parts:
        return 0.0
    if sum(times for *_, times in parts) <= _FEW:
        each = tuple((Fraction(size), law) for size, law, times in parts for _ in range(times))
        found = float(Combined(parts=each).half_width(confidence))
    else:
        found = _wound(parts, float(doubt_of(confidence)))
    return _rounded_up(found * (1 + 10 * len(parts) * _ALIKE))


def _wound(parts: Parts, doubt: float) -> float:
    """The least t + r eta on a fine grid that the series says is enough."""
    deviation = math.sqrt(math.fsum(times * size**2 * float(law.variance()) for size, law, times in parts))
    eta = _SMOOTH * deviation
    if doubt < _LEAST_DOUBT or eta == 0.0:
        return _chernoff(parts, 0.0, doubt)
    reach = _chernoff(parts, eta, _SHARE * doubt)
    period = 2 * reach
    most = math.ceil(_CUT * period / (2 * math.pi * eta))
    if most > _MOST_TERMS:
        return _chernoff(parts, 0.0, doubt)
    numbers = np.arange(1.0, most + 1)
    u: Floats = numbers * (2 * math.pi / period)
    terms = 2 / (math.pi * numbers) * np.exp(_log_cosine(parts, u) - (eta * u) ** 2 / 2)
    allowed = doubt * (1 - 2 * _SHARE) - 2 * _ERROR

    def enough(t: float) -> bool:
        return 1 - 2 * t / period - float(terms @ np.sin(u * t)) <= allowed

    low, high = 0.0, reach
    while high - low > 1e-4 * deviation:
        middle = (low + high) / 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high + _normal(_SHARE * doubt) * eta


def _log_cosine(parts: Parts, u: Floats) -> Floats:
    """log E cos(u S): the laws are even, and their characteristic functions positive."""
    found = np.zeros(u.size)
    for size, law, times in parts:
        found += times * (_laplace(law, size * u) if isinstance(law, DiscreteLaplace) else _gaussian(law, size * u))
    return found


def _laplace(law: DiscreteLaplace, u: Floats) -> Floats:
    return -np.log1p(_spread(law) * 4 * np.sin(u / 2) ** 2)


def _spread(law: DiscreteLaplace) -> float:
    """p / (1 - p)^2 with p = exp(-1 / scale): half the variance."""
    rate = 1 / float(law.scale)
    return math.exp(-rate) / math.expm1(-rate) ** 2


def _gaussian(law: DiscreteGaussian, u: Floats) -> Floats:
    """By Poisson's formula where sigma is large, else by adding up its few values."""
    sigma2 = float(law.sigma2)
    if sigma2 < 1:
        values = np.arange(1, 13)  # beyond lies less than exp(-84)
        masses = 2 * np.exp(-(values**2) / (2 * sigma2))
        return np.asarray(np.log1p(masses @ (np.cos(np.outer(values, u)) - 1) / (1 + masses.sum())))
    turned = u - 2 * math.pi * np.round(u / (2 * math.pi))
    shifts = 2 * math.pi * np.arange(-2, 3)
    waves = np.exp(-sigma2 / 2 * ((turned[:, None] + shifts) ** 2 - turned[:, None] ** 2)).sum(axis=1)
    return np.asarray(np.log(waves / np.exp(-sigma2 / 2 * shifts**2).sum()) - sigma2 / 2 * turned**2)


def _chernoff(parts: Parts, eta: float, doubt: float) -> float:
    """A width that |S + eta Z| exceeds with at most this probability: 2 E exp(s Y - s width), at the best s tried."""
    poles = [1 / (size * float(law.scale)) for size, law, _ in parts if isinstance(law, DiscreteLaplace)]
    sigmas = [size * math.sqrt(law.sigma2) for size, law, _ in parts if isinstance(law, DiscreteGaussian)]
    most = min(poles) if poles else 100 / math.hypot(eta, *sigmas)
    tried = most * np.concatenate([np.geomspace(1e-6, 0.5, 90), 1 - np.geomspace(0.5, 1e-3, 60)])
    moments = (eta * tried) ** 2 / 2
    for size, law, times in parts:
        moments += times * _log_moment(law, size * tried)
    widths = (moments + math.log(2 / doubt)) / tried
    return float(np.nanmin(widths)) * (1 + 1e-9)


def _log_moment(law: Law, s: Floats) -> Floats:
    """At least log E exp(s X). A discrete Gaussian's is at most that of a normal number of the same sigma."""
    if isinstance(law, DiscreteGaussian):
        return float(law.sigma2) / 2 * s**2
    rate = 1 / float(law.scale)
    with np.errstate(all="ignore"):  # too far out: such an s is passed over
        return -np.log1p(-((2 * np.sinh(s / 2) * math.exp(-rate / 2) / math.expm1(-rate)) ** 2))


def _normal(doubt: float) -> float:
    """r with P(|Z| > r) <= doubt."""
    r = 0.0
    while math.erfc(r / math.sqrt(2)) > doubt:
        r += 0.01
    return r


def _rounded_up(width: float) -> float:
    """Four digits are enough for anybody."""
    if width == 0:
        return 0.0
    digits = 3 - math.floor(math.log10(width))
    return math.ceil(width * 10.0**digits) / 10.0**digits
