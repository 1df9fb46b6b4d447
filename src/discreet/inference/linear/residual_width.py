"""Half widths of intervals for weighted sums of many independent discrete draws, by their characteristic function.

Let E be the sum, and U the sum of eight uniform draws on [-u/8, u/8], independent of it. Then |E + U| <= h - u implies
|E| <= h, so P(|E| <= h) >= P(|E + U| <= h - u), and that is a Fourier series: wrapped round a circle of length L,

    P(|E + U| <= a, wrapped) = 2 a / L + sum over k >= 1 of 2 / (pi k) sin(2 pi k a / L) f(2 pi k / L),

f the characteristic function. Three things are left out, and each is bounded and taken off the confidence:

- wrapping adds at most P(|E + U| > L - a), which Chernoff's bound makes as small as is wished;
- terms beyond the last: f is at most (8 / (u t))^8, for U; and for each draw of weight w that of w t, which falls up
  to w t = pi (`_rest`);
- rounding.

Widths so found are above the least ones by less than a hundredth (2 u and what is left out), and never below them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from discreet.inference.linear.residual_characteristic import Characteristic
from discreet.inference.linear.residual_law import Term
from discreet.mechanisms.combined import Noise
from discreet.mechanisms.laplace import DiscreteLaplace, doubt_of

Floats = NDArray[np.float64]

#: The largest U, as a part of the width that a Gaussian of the same variance would have.
_SMOOTHING = 0.002
#: And at least such a part of where the series is cut off: it matters where noise is all but nothing.
_LEAST_SMOOTHING = 1e-4
#: What the series may leave out, as a part of the doubt; beyond `_MOST_TERMS` it is what it is.
_LEFT_OUT = 1e-3
_MOST_TERMS = 2**19
#: More than what float64 errs in the series: some 10^-16 for each term, weighted by 1/k.
_ROUNDING = 1e-12
#: Doubts below this are met by Chernoff's bound, which is wider.
_LEAST_DOUBT = 1e-9


@lru_cache(maxsize=128)
def half_width(terms: tuple[Term, ...], confidence: Fraction) -> float:
    """A width that the sum stays within with this confidence, and less than a hundredth above the least one.

    Guarantee: P(|sum| <= result) >= confidence.
    """
    doubt = float(doubt_of(confidence))
    if len(terms) == 1 and terms[0][1] == 1:
        weight, _, law = terms[0]
        return weight * float(law.half_width(confidence)) * (1 + 1e-12)
    far = _far(terms, doubt * _LEFT_OUT / 4)
    if doubt < _LEAST_DOUBT:
        return _far(terms, doubt)
    smoothing = max(_SMOOTHING * NormalDist().inv_cdf(1 - doubt / 2) * _sd(terms), _LEAST_SMOOTHING * far)
    length = 2 * (far + smoothing)
    steps, missing = _series(Characteristic.of(terms), smoothing, length, doubt * _LEFT_OUT)
    spent = missing + doubt * _LEFT_OUT / 4 + _ROUNDING
    if spent > doubt / 2:
        return _far(terms, doubt)
    return (_solved(steps, length, 1 - doubt + spent) + smoothing) * (1 + 1e-9)


def _sd(terms: Sequence[Term]) -> float:
    return math.sqrt(math.fsum(count * weight**2 * law.variance() for weight, count, law in terms))


def _spread(law: Noise) -> float:
    """The standard deviation that a law of this scale would have if it were not discrete: at least its own."""
    return math.sqrt(2) * float(law.scale) if isinstance(law, DiscreteLaplace) else math.sqrt(law.sigma2)


def _solved(steps: Floats, length: float, wanted: float) -> float:
    """The least a, to within a millionth, at which the series is as large as wanted."""
    rates = np.arange(1, len(steps) + 1) * (2 * math.pi / length)
    low, high = 0.0, length / 2
    while high - low > 1e-6 * high:
        middle = (low + high) / 2
        reached = 2 * middle / length + float((np.sin(rates * middle) * steps).sum()) >= wanted
        low, high = (low, middle) if reached else (middle, high)
    return high


def _series(law: Characteristic, smoothing: float, length: float, wished: float) -> tuple[Floats, float]:
    """The coefficients 2 / (pi k) f(2 pi k / L) for k = 1, 2 ..., and a bound on the sum of those left out."""
    found: list[Floats] = []
    first, last = 1, 32
    while True:
        numbers = np.arange(first, last + 1).astype(np.float64)
        times = numbers * (2 * math.pi / length)
        found.append(2 / (math.pi * numbers) * np.exp(law.log(times)) * _sinc(times * smoothing / 8))
        missing = _rest(law, smoothing, length, last)
        if missing <= wished or last >= _MOST_TERMS:
            return np.concatenate(found), missing
        first, last = last + 1, 2 * last


def _sinc(x: Floats) -> Floats:
    """The characteristic function of eight uniform draws."""
    return np.asarray((np.sin(x) / x) ** 8)


def _rest(law: Characteristic, smoothing: float, length: float, last: int) -> float:
    """At least the sum over k > last of 2 / (pi k) |f(2 pi k / L)|.

    Because: from t to 2 t the numbers 1/k add up to less than ln 2, and |f| is at most the product over the draws
        with 2 t w <= pi of what it is at t, for there it falls; times the bound for U. Beyond where that bound is
        10^-20 the rest is less than the bound itself: it falls with the eighth power of k.
    """
    time = last * 2 * math.pi / length
    doublings = max(0, math.ceil(math.log2(3000 / (smoothing * time)))) + 1
    times: Floats = time * np.exp2(np.arange(doublings, dtype=np.float64))
    smooth = np.minimum(1.0, 8 / (smoothing * times)) ** 8
    own = np.exp(law.log(times, falling_to=2 * times))
    return float((2 / math.pi * math.log(2) * own * smooth).sum() + smooth[-1]) * (1 + 1e-9)


def _far(terms: Sequence[Term], doubt: float) -> float:
    """A width that the sum leaves with at most this probability, by Chernoff's bound: the best of some exponents."""
    heaviest = max(
        (weight * float(law.scale) for weight, _, law in terms if isinstance(law, DiscreteLaplace)), default=0
    )
    spread = math.sqrt(math.fsum(count * (weight * _spread(law)) ** 2 for weight, count, law in terms))
    tried = [math.sqrt(2 * math.log(2 / doubt)) / spread * share for share in (0.25, 0.5, 0.7, 0.85, 1.0, 1.1)]
    tried += [share / heaviest for share in (0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.98)] if heaviest else []
    widths = [(_log_moment(terms, rate) + math.log(2 / doubt)) / rate for rate in tried if rate * heaviest < 1]
    return min(widths) * (1 + 1e-9)


def _log_moment(terms: Sequence[Term], rate: float) -> float:
    """At least the logarithm of E[exp(rate * sum)].

    Because: 1 / (1 - (sinh(s/2) / sinh(1/(2 scale)))^2) for Laplace, s = rate * weight; at most exp(s^2 sigma2 / 2)
        for a discrete Gaussian (docs/proofs/tables-marginals.md).
    """
    found = 0.0
    for weight, count, law in terms:
        s = rate * weight
        if isinstance(law, DiscreteLaplace):
            found -= count * math.log1p(-((math.sinh(s / 2) / math.sinh(1 / (2 * float(law.scale)))) ** 2))
        else:
            found += count * s * s * float(law.sigma2) / 2
    return found
