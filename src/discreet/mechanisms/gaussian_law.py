"""The discrete Gaussian's law in certified numbers: its normaliser, its tail, its variance.

f(x) = exp(-x^2 / (2 sigma^2)) and Z = the sum of f(k) over all whole numbers k (a theta function).
Proofs are in docs/proofs/sampling.md; each function names the fact that it stands on.
"""

from __future__ import annotations

import math
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import lru_cache

from discreet import exact
from discreet.mechanisms import enclosure

#: The first digits of pi, cut off, so a lower bound; and the next number of as many digits.
_PI_LOW = Fraction("3.14159265358979323846264338327950288419716939937510")
_PI_HIGH = _PI_LOW + Fraction(1, 10**50)

#: Below this sigma^2 tails are summed; from it on they are compared with an integral.
_SUMMED = 64
#: exp(-x) is bounded by exp(-10000) beyond it: no Fraction of a million digits is ever made.
_FAR = Fraction(10**4)
#: Up to this x^2, erfc(x) = 1 - erf(x) > 1e-28 by a series; beyond it by the asymptotic one.
_SERIES = 60

#: exp(60) is 1e26: 100 digits leave more than 70 for what a sum of that size is multiplied with.
_FLOOR = Context(prec=100, rounding=ROUND_FLOOR, Emin=MIN_EMIN, Emax=MAX_EMAX)
_CEILING = Context(prec=50, rounding=ROUND_CEILING, Emin=MIN_EMIN, Emax=MAX_EMAX)


def exp_minus(value: Fraction, *, up: bool) -> Fraction:
    """A bound on exp(-value)."""
    if value > _FAR:
        return exact.exp(-_FAR, up=True) if up else Fraction(0)
    return exact.exp(-value, up=up)


@lru_cache(maxsize=256)
def normaliser(sigma2: Fraction) -> enclosure.Interval:
    """Z between two Fractions."""
    if sigma2 < 1:
        return _summed_normaliser(sigma2)
    low, high = excess(sigma2)
    return low * exact.sqrt(2 * _PI_LOW * sigma2, up=False), high * exact.sqrt(2 * _PI_HIGH * sigma2, up=True)


def _summed_normaliser(sigma2: Fraction) -> enclosure.Interval:
    """Z by its first 17 terms on each side, for sigma < 1.

    What is left out is below 2 f(18) (1 + 1/2 + 1/4 + ...) = 4 f(18), since f(k + 1) < f(k) / 2.
    """
    sums = []
    for up in (False, True):
        terms = (exp_minus(k * k / (2 * sigma2), up=up) for k in range(1, 18))
        sums.append(1 + 2 * sum(terms, Fraction(0)))
    return sums[0], sums[1] + 4 * exp_minus(18 * 18 / (2 * sigma2), up=True)


@lru_cache(maxsize=256)
def excess(sigma2: Fraction) -> enclosure.Interval:
    """Z / sqrt(2 pi sigma^2) for sigma >= 1, which is at least 1.

    By Poisson summation it is 1 + 2 (g + g^4 + g^9 + ...) with g = exp(-2 pi^2 sigma^2) < 1e-8;
    g^9 + g^16 + ... is below 2 g^9.
    """
    low = 1 + 2 * sum((exp_minus(2 * _PI_HIGH**2 * sigma2 * n, up=False) for n in (1, 4)), Fraction(0))
    high = 1 + 2 * sum((exp_minus(2 * _PI_LOW**2 * sigma2 * n, up=True) for n in (1, 4)), Fraction(0))
    return low, high + 4 * exp_minus(2 * _PI_LOW**2 * sigma2 * 9, up=True)


def tail(sigma2: Fraction, q: int) -> Fraction:
    """At least P(|X| > q), and close to it."""
    if q < 0:
        return Fraction(1)
    if sigma2 < _SUMMED:
        return min(Fraction(1), _summed_tail(sigma2, q))
    square = (q + Fraction(1, 2)) ** 2
    if square >= sigma2:
        # f is convex beyond sigma, so f(k) is at most its integral over k - 1/2 .. k + 1/2; and
        # Z >= sqrt(2 pi sigma^2). Hence P(|X| > q) <= erfc((q + 1/2) / (sigma sqrt 2)).
        return _erfc_up(square / (2 * sigma2))
    # f is concave within sigma, so f(k) is at least that integral, for each |k| <= q.
    return 1 - _erf_down(square / (2 * sigma2)) / excess(sigma2)[1]


def _summed_tail(sigma2: Fraction, q: int) -> Fraction:
    """2 (f(q + 1) + f(q + 2) + ...) / Z, summed upwards.

    f(k + 1) = f(k) r(k) and r(k + 1) = r(k) g, with r(k) = exp(-(2k + 1) / (2 sigma^2)) and
    g = exp(-1 / sigma^2). r falls, so the terms after f(k) add up to less than f(k) r(k) / (1 - r(k)).
    """
    start = (q + 1) ** 2 / (2 * sigma2)
    if start > _FAR:  # then r(q + 1) < 1/100
        return 3 * exact.exp(-_FAR, up=True)
    term = _decimal_up(exp_minus(start, up=True))
    ratio = _decimal_up(exp_minus((2 * q + 3) / (2 * sigma2), up=True))
    shrink = _decimal_up(exp_minus(1 / sigma2, up=True))
    total, least = term, term.scaleb(-40, _CEILING)
    while term > least or ratio > Decimal("0.5"):
        term = _CEILING.multiply(term, ratio)
        ratio = _CEILING.multiply(ratio, shrink)
        total = _CEILING.add(total, term)
    total = _CEILING.add(total, term)  # the rest: below term * ratio / (1 - ratio) <= term
    return 2 * Fraction(total) / normaliser(sigma2)[0]


def _decimal_up(value: Fraction) -> Decimal:
    return _CEILING.divide(Decimal(value.numerator), Decimal(value.denominator))


def _erfc_up(square: Fraction) -> Fraction:
    """At least erfc(x), for x^2 = square."""
    if square <= _SERIES:
        return 1 - _erf_down(square)
    # erfc(x) = exp(-x^2) / (x sqrt(pi)) * (1 - 1/(2x^2) + 1*3/(2x^2)^2 - ...), and a partial sum that
    # ends with a plus is above it (integrate by parts). Twenty terms agree to 1e-18 here.
    term = total = Fraction(1)
    for n in range(1, 21):
        term *= -(2 * n - 1) / (2 * square)
        total += term
    return total * exp_minus(square, up=True) / exact.sqrt(square * _PI_LOW, up=False)


def _erf_down(square: Fraction) -> Fraction:
    """At most erf(x), for x^2 = square <= 60, and within 1e-48 of it.

    erf(x) = 2 / sqrt(pi) * x * exp(-x^2) * (1 + 2x^2 / 3 + (2x^2)^2 / (3*5) + ...). All terms are
    positive, so rounding each down and stopping early errs on the safe side.
    """
    twice = _FLOOR.divide(Decimal(2 * square.numerator), Decimal(square.denominator))
    term = total = Decimal(1)
    odd = 1
    while odd < 2 * twice or term > Decimal("1e-60"):
        odd += 2
        term = _FLOOR.divide(_FLOOR.multiply(term, twice), Decimal(odd))
        total = _FLOOR.add(total, term)
    factor = exact.sqrt(4 * square / _PI_HIGH, up=False) * enclosure.exp_minus(square, digits=90)[0]
    return min(Fraction(1), Fraction(total) * factor)


def variance(sigma2: Fraction) -> float:
    """The variance, in float64: below sigma^2, and the same to 16 digits from sigma = 2 on."""
    if sigma2 >= 4:
        return float(sigma2)
    weights = [math.exp(-float(k * k / (2 * sigma2))) for k in range(1, 40)]
    second = sum(k * k * weight for k, weight in enumerate(weights, 1))
    return 2 * second / (1 + 2 * sum(weights))
