"""Weighted sums of many independent discrete draws: how far they lie from 0, by their characteristic function.

`combined` rounds each part to a grid, which is best for two or three parts, looked at as a whole law. Here there may be
thousands: the cells of marginals, totals of streams, answers that were derived from others.

Let E be the sum, and U the sum of eight uniform draws on [-u/8, u/8], independent of it. Then |E + U| <= h - u implies
|E| <= h, so P(|E| <= h) >= P(|E + U| <= h - u), and that is a Fourier series: wrapped round a circle of length L,

    P(|E + U| <= a, wrapped) = 2 a / L + sum over k >= 1 of 2 / (pi k) sin(2 pi k a / L) f(2 pi k / L),

f the characteristic function. Each thing that is left out is bounded and taken off the confidence: what wrapping adds,
terms beyond the last, digits of the weights, and the rounding of float64. docs/proofs/sums.md has the steps.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms import characteristic_function
from discreet.mechanisms.characteristic_function import WeightedDraws
from discreet.mechanisms.laplace import DiscreteLaplace, error_probability
from discreet.mechanisms.noise_combination import NoiseLaw

Floats = NDArray[np.float64]
#: A weight, the law of what it weighs, and how many independent draws there are of it. Or an array of weights.
WeightedPart = tuple[float | Floats, NoiseLaw, int]
#: For each law its different weights and how many draws have each, as bytes.
SumSignature = tuple[tuple[NoiseLaw, bytes, bytes], ...]

#: The largest u, as a part of the width that a Gaussian of the same variance would have. It widens by 2 u at most.
_SMOOTHING = 0.004
#: And the least, as a part of half the circle; enough where the sum's own law makes a series of so many terms do.
_LEAST_SMOOTHING, _SHORT = 1e-4, 256
#: What the series may leave out, as a part of the doubt. It has `_FIRST` terms, or twice as many, at most so often.
_LEFT_OUT = 1e-3
_FIRST, _DOUBLINGS = 32, 14
#: Places of half widths on the circle, at least.
_PLACES = 2**14
#: More than what float64 errs in a term of the series times its number, and in all else.
_ROUNDING_TERM, _ROUNDING = 1e-15, 1e-12
#: Doubts below this are met by Chernoff's bound, which is wider.
_LEAST_DOUBT = 1e-9
#: Weights are rounded to so many binary digits, and differ by this share of themselves at most.
_DIGITS = 24
_ALIKE = 2.0**-_DIGITS
#: Weights must be 0 or between these, so that their squares are numbers.
_LEAST_WEIGHT, _MOST_WEIGHT = 1e-150, 1e150
#: How many draws have a weight, in a signature: one.
_ONE = np.ones(1).tobytes()
#: Sums of more bytes of weights than this are not remembered.
_MOST_BYTES = 4096


def half_width(parts: Iterable[WeightedPart], confidence: Fraction) -> float:
    """A width that |sum of weight * X| stays within with this confidence. 0 where there is no part.

    For doubts from 1e-9 on it is less than a hundredth above the least one, or that of a Gaussian if that is more.

    Guarantee: P(|sum| <= result) >= confidence.
    Because: docs/proofs/sums.md.

    >>> law = DiscreteLaplace(scale=Fraction(10))
    >>> half_width([(1.0, law, 100)], Fraction(95, 100)) < 279  # of a normal sum of this variance: 277
    True
    """
    doubt = error_probability(confidence)
    parts = list(parts)
    sum_signature = signature(parts)
    if not sum_signature:
        return 0.0
    if len(sum_signature) == 1 and sum_signature[0][2] == _ONE:
        return _single_half_width(
            math.fsum(times * float(np.sum(np.abs(w))) for w, _, times in parts), sum_signature[0][0], confidence
        )
    if sum(len(weights) + len(counts) for _, weights, counts in sum_signature) > _MOST_BYTES:
        return _half_width(sum_signature, float(doubt))
    return _cached_half_width(sum_signature, float(doubt))


def chernoff_half_width(parts: Iterable[WeightedPart], confidence: Fraction) -> float:
    """`half_width` by Chernoff's bound alone: a third wider, and hundreds of times as fast. 0 where there is no part.

    >>> law = DiscreteLaplace(scale=Fraction(10))
    >>> 277 < chernoff_half_width([(1.0, law, 100)], Fraction(95, 100)) < 1.45 * 277
    True
    """
    lines = _draws_of(signature(parts))
    return _chernoff_width(lines, float(error_probability(confidence))) * (1 + _ALIKE) if lines else 0.0


def _single_half_width(weight: float, law: NoiseLaw, confidence: Fraction) -> float:
    """One draw's own half width, exactly, times its weight, rounded up."""
    width = law.half_width(confidence)
    product = weight * float(width)
    return product if Fraction(product) >= Fraction(weight) * width else math.nextafter(product, math.inf)


def standard_deviation(parts: Iterable[WeightedPart]) -> float:
    """The standard deviation of the sum."""
    return math.sqrt(math.fsum(times * float(np.sum(np.square(w))) * law.variance() for w, law, times in parts))


def signature(parts: Iterable[WeightedPart]) -> SumSignature:
    """Equal weights of each law together, in one order. Sums with one signature have one half width, to 7 digits."""
    sizes: dict[NoiseLaw, tuple[list[Floats], list[Floats]]] = {}
    for weight, law, times in parts:
        own = np.abs(np.atleast_1d(np.asarray(weight, dtype=np.float64)))
        if times < 0 or not np.all((own == 0) | (own >= _LEAST_WEIGHT) & (own <= _MOST_WEIGHT)):
            raise ValueError("weights must be 0 or between 1e-150 and 1e150, and numbers of draws at least 0")
        weights, counts = sizes.setdefault(law, ([], []))
        weights.append(own)
        counts.append(np.full(len(own), float(times)))
    law_weights = []
    for law, (weights, counts) in sizes.items():
        alike, count = _group_weights(np.concatenate(weights), np.concatenate(counts))
        if len(alike):
            law_weights.append((law, alike.tobytes(), count.tobytes()))
    return tuple(sorted(law_weights, key=lambda line: repr(line[0])))


def _group_weights(sizes: Floats, counts: Floats) -> tuple[Floats, Floats]:
    """The different weights that are not 0, rounded, rising; and how many draws have each."""
    mantissas, exponents = np.frexp(sizes)
    rounded = np.ldexp(np.rint(np.ldexp(mantissas, _DIGITS)), exponents - _DIGITS)
    rounded, counts = rounded[(sizes > 0) & (counts > 0)], counts[(sizes > 0) & (counts > 0)]
    order = np.argsort(rounded, kind="stable")
    rounded, counts = rounded[order], counts[order]
    firsts = np.flatnonzero(np.diff(rounded, prepend=0.0))
    return rounded[firsts], np.add.reduceat(counts, firsts) if len(firsts) else counts


@lru_cache(maxsize=4096)
def _cached_half_width(sum_signature: SumSignature, doubt: float) -> float:
    return _half_width(sum_signature, doubt)


def _half_width(sum_signature: SumSignature, doubt: float) -> float:
    return _series_half_width(_draws_of(sum_signature), doubt)


def _draws_of(sum_signature: SumSignature) -> list[WeightedDraws]:
    return [
        WeightedDraws(law=law, weights=np.frombuffer(weights), counts=np.frombuffer(counts))
        for law, weights, counts in sum_signature
    ]


def _series_half_width(lines: Sequence[WeightedDraws], doubt: float) -> float:
    """A half width of the sum for any weights that are rounded to these."""
    unlikely = doubt * _LEFT_OUT / 4
    far = _chernoff_width(lines, unlikely)
    if doubt < _LEAST_DOUBT:
        return _chernoff_width(lines, doubt) * (1 + _ALIKE)
    wished = doubt * _LEFT_OUT
    smoothing, terms, missing = _fine(lines, far, wished) or _coarse(lines, far, doubt)
    length = 2 * (far + smoothing)
    steps = _series(lines, smoothing, length, terms)
    spent = missing + 2 * unlikely + _rounding(steps)
    if spent > doubt / 2:
        return _chernoff_width(lines, doubt) * (1 + _ALIKE)
    return (_first_place_within(steps, length, 1 - doubt + spent) + smoothing + _ALIKE * far) * (1 + 1e-9)


def _rounding(steps: Floats) -> float:
    """The time of the k-th term errs by some 10^-16 of itself, so that what f is there may by 10^-16 k."""
    return _ROUNDING_TERM * float(np.arange(1, len(steps) + 1) @ steps) + _ROUNDING


def _first_place_within(steps: Floats, length: float, target: float) -> float:
    """The first place of a fine grid where the series is as large as wanted. At half the circle it is 1."""
    size = max(_PLACES, 4 << (len(steps) - 1).bit_length())
    spectrum = np.zeros(size // 2 + 1, dtype=np.complex128)
    spectrum[1 : len(steps) + 1] = -0.5j * size * steps
    within = np.fft.irfft(spectrum, size)[: size // 2] + np.arange(size // 2) * (2 / size)
    enough = within >= target
    return length / size * (int(np.argmax(enough)) if enough.any() else size // 2)


def _series(lines: Sequence[WeightedDraws], smoothing: float, length: float, terms: int) -> Floats:
    """The coefficients 2 / (pi k) f(2 pi k / L) for k = 1, 2 ... `terms`."""
    numbers = np.arange(1.0, terms + 1)
    times = numbers * (2 * math.pi / length)
    return np.asarray(
        2 / (math.pi * numbers) * np.exp(characteristic_function.log(lines, times)) * _sinc(times * smoothing / 8)
    )


def _sinc(x: Floats) -> Floats:
    """The characteristic function of eight uniform draws."""
    return np.asarray((np.sin(x) / x) ** 8)


def _fine(lines: Sequence[WeightedDraws], far: float, wished: float) -> tuple[float, int, float] | None:
    """The least u that makes sense, where a short series is enough all the same, as it is for most sums."""
    smoothing = _LEAST_SMOOTHING * far
    terms, missing = _cut(lines, smoothing, 2 * (far + smoothing), wished)
    return (smoothing, terms, missing) if terms <= _SHORT else None


def _coarse(lines: Sequence[WeightedDraws], far: float, doubt: float) -> tuple[float, int, float]:
    """The largest u, how many terms are needed with it, and a bound on what they leave out."""
    spread = math.sqrt(math.fsum(line.squares * line.law.variance() for line in lines))
    smoothing = max(_LEAST_SMOOTHING * far, _SMOOTHING * NormalDist().inv_cdf(1 - doubt / 2) * spread)
    return smoothing, *_cut(lines, smoothing, 2 * (far + smoothing), doubt * _LEFT_OUT)


def _cut(lines: Sequence[WeightedDraws], smoothing: float, length: float, wished: float) -> tuple[int, float]:
    """How many terms leave out no more than is wished, and a bound on that."""
    bounds = _tail_sums(lines, smoothing, length)
    enough = np.flatnonzero(bounds <= wished)
    place = min(int(enough[0]) if len(enough) else len(bounds) - 1, _DOUBLINGS)
    return _FIRST << place, float(bounds[place])


def _tail_sums(lines: Sequence[WeightedDraws], smoothing: float, length: float) -> Floats:
    """At least the sums over k > n of 2 / (pi k) |f(2 pi k / L)|, for n = 32, 64, 128 ...

    Because: from t to 2 t the numbers 1/k add up to less than ln 2, and |f| is at most the product over the draws
        with 2 t w <= pi of what it is at t, for there it falls; times the bound for U. Beyond where that bound is
        10^-20 the rest is less than the bound itself: it falls with the eighth power of k.
    """
    time = _FIRST * 2 * math.pi / length
    doublings = max(_DOUBLINGS, math.ceil(math.log2(3000 / (smoothing * time)))) + 1
    times: Floats = time * np.exp2(np.arange(doublings, dtype=np.float64))
    smooth = np.minimum(1.0, 8 / (smoothing * times)) ** 8
    blocks = 2 / math.pi * math.log(2) * np.exp(characteristic_function.log_falling(lines, times)) * smooth
    return np.asarray((np.cumsum(blocks[::-1])[::-1] + smooth[-1]) * (1 + 1e-6))


def _chernoff_width(lines: Sequence[WeightedDraws], doubt: float) -> float:
    """A width that the sum leaves with at most this probability, by Chernoff's bound: the best of some exponents."""
    scales = [line.weights[-1] * float(line.law.scale) for line in lines if isinstance(line.law, DiscreteLaplace)]
    heaviest = float(max(scales, default=0.0))
    spread = math.sqrt(math.fsum(line.squares * _spread(line.law) ** 2 for line in lines))
    tried = [math.sqrt(2 * math.log(2 / doubt)) / spread * share for share in (0.25, 0.5, 0.7, 0.85, 1.0, 1.1)]
    tried += [share / heaviest for share in (0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.995)] if heaviest else []
    widths = [(_log_moment(lines, rate) + math.log(2 / doubt)) / rate for rate in tried if rate * heaviest < 1]
    return min(widths) * (1 + 1e-9)


def _spread(law: NoiseLaw) -> float:
    """The standard deviation that a law of this scale would have if it were not discrete: at least its own."""
    return math.sqrt(2) * float(law.scale) if isinstance(law, DiscreteLaplace) else math.sqrt(law.sigma2)


def _log_moment(lines: Sequence[WeightedDraws], rate: float) -> float:
    """At least the logarithm of E[exp(rate * sum)].

    Because: 1 / (1 - (sinh(s/2) / sinh(1/(2 scale)))^2) for Laplace, s = rate * weight; at most exp(s^2 sigma2 / 2)
        for a discrete Gaussian.
    """
    log_moment = 0.0
    for line in lines:
        if isinstance(line.law, DiscreteLaplace):
            ratio = np.sinh(line.weights * (rate / 2)) / math.sinh(1 / (2 * float(line.law.scale)))
            log_moment -= float(line.counts @ np.log1p(-(ratio**2)))
        else:
            log_moment += line.squares * rate**2 * float(line.law.sigma2) / 2
    return log_moment
