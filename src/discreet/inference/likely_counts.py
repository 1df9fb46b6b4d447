"""Likely counts: what noisy counts of many groups say together, by empirical Bayes. Post-processing.

Each noisy number is an exact one plus noise of a known law. How the exact numbers are spread over the groups is
estimated from all noisy numbers (the spread that makes them likely, by a few dozen steps of EM from a smooth start:
Laird 1978); then each exact number has a mean and a variance, given its own noisy number. With most groups empty, a
noisy 12 in noise of ±30 is about 0; with most groups near 100, a noisy 70 is about 95.

    f = g * q       what noisy numbers are expected: the spread g of the exact ones, blurred by the noise q
    g(k) <- g(k) sum over x of h(x) q(x - k) / f(x)        one step of EM; h: how often each noisy number occurs

Both sums are convolutions on one grid. The mean of (mean given x) is close to the mean of x itself, so that shrinking
adds no bias to totals; whoever needs them exactly uses `nearest_with_totals` after it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms.gaussian import DiscreteGaussian
from discreet.mechanisms.laplace import DiscreteLaplace
from discreet.mechanisms.noise_combination import CombinedNoise

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
NoiseLaw = DiscreteLaplace | DiscreteGaussian | CombinedNoise

#: Steps of EM. The start is smooth, and so is what it has become after these; hundreds more change errors by 1%.
_STEPS = 60
#: Of the noise's spread a grid step is this part, where that is more than 1.
_FINE = 8
#: Grid steps: numbers beyond so many are far above their noise and stay as they are.
_PLACES = 4096
#: The noise reaches so many standard deviations; a noisy number further below the least possible one counts as there.
_REACH = 12.0
_FAR = 6.0
#: More than the error of the transform: what is expected less often than this is taken for it.
_LEAST = 1e-14
#: What is below a whole number by less than this is that number: the error of many float additions.
_NEARLY = 1e-7


@dataclass(frozen=True, slots=True, kw_only=True)
class LikelyCounts:
    """For each group the mean and the variance of its exact number, given all noisy ones."""

    means: Floats
    variances: Floats


def likely_counts(noisy: Floats, law: NoiseLaw, *, least: float | None) -> LikelyCounts:
    """What the exact numbers are likely to be. `least`: none of them is below it; None where they may be anything."""
    spread = math.sqrt(float(law.variance()))
    if noisy.size == 0 or spread < 1e-3:
        means = noisy if least is None else np.maximum(noisy, least)
        return LikelyCounts(means=means.astype(np.float64), variances=np.zeros(noisy.size))
    step = float(max(1, math.floor(spread / _FINE)))
    start = (math.floor(float(noisy.min() - 3 * spread) / step) * step) if least is None else float(least)
    above = noisy - start
    beyond = above > (_PLACES - 1) * step - _FAR * spread
    means, variances = noisy.astype(np.float64), np.full(noisy.size, spread**2)
    if not beyond.all():
        near = np.maximum(above[~beyond], -_FAR * spread)
        inside = _on_grid(near, law, step, at_least=least is not None)
        means[~beyond] = start + inside.means
        variances[~beyond] = inside.variances
    return LikelyCounts(means=means, variances=variances)


def _on_grid(noisy: Floats, law: NoiseLaw, step: float, *, at_least: bool) -> LikelyCounts:
    """`likely_counts` of exact numbers on a grid of steps from 0. `at_least`: many of them may be 0 itself."""
    spread = math.sqrt(float(law.variance()))
    reach = math.ceil(_REACH * spread / step)
    places = np.rint(noisy / step).astype(np.int64)
    below = max(0, -int(places.min()))
    size = max(2, int(places.max()) + math.ceil(3 * spread / step))
    blur = _Blur.of(_masses(law, step, reach), size=size, below=below)
    counts = np.bincount(places + below, minlength=blur.seen).astype(np.float64)
    values = step * np.arange(size)
    weights = 1 / (values + spread) if at_least else np.ones(size)
    weights /= weights.sum()
    if at_least:
        weights /= 2
        weights[0] += 0.5
    for _ in range(_STEPS):
        weights *= blur.transposed(counts / blur.blurred(weights))
        weights /= weights.sum()
    own = places + below
    expected = blur.blurred(weights)[own]
    means = np.minimum(blur.blurred(weights * values)[own] / expected, values[-1])
    squares = blur.blurred(weights * values**2)[own] / expected
    return LikelyCounts(means=means, variances=np.clip(squares - means**2, 0.0, spread**2))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Blur:
    """Convolution with the noise: from `size` exact places to `seen` noisy ones, of which `below` lie below 0."""

    transform: NDArray[np.complex128]
    length: int
    size: int
    below: int
    seen: int

    @staticmethod
    def of(masses: Floats, *, size: int, below: int) -> _Blur:
        reach = masses.size // 2
        length = 1 << (size + below + 2 * reach).bit_length()
        kernel = np.zeros(length)
        kernel[np.arange(-reach, reach + 1)] = masses
        return _Blur(transform=np.fft.rfft(kernel), length=length, size=size, below=below, seen=size + below)

    def blurred(self, weights: Floats) -> Floats:
        padded = np.zeros(self.length)
        padded[self.below : self.below + self.size] = weights
        return np.maximum(np.fft.irfft(np.fft.rfft(padded) * self.transform, self.length)[: self.seen], _LEAST)

    def transposed(self, ratios: Floats) -> Floats:
        padded = np.zeros(self.length)
        padded[: self.seen] = ratios
        spread_out = np.fft.irfft(np.fft.rfft(padded) * np.conj(self.transform), self.length)
        return np.maximum(spread_out[self.below : self.below + self.size], 0.0)


def _masses(law: NoiseLaw, step: float, reach: int) -> Floats:
    """How likely noise of each multiple of a step is; combined noise is taken for Gaussian of its variance."""
    places = step * np.arange(-reach, reach + 1)
    if isinstance(law, DiscreteLaplace):
        masses = np.exp(-np.abs(places) / float(law.scale))
    else:
        masses = np.exp(-(places**2) / (2 * float(law.variance())))
    return np.asarray(masses / masses.sum())


def nearest_with_totals(likely: LikelyCounts, segments: Integers, totals: Floats, *, least: float | None = 0) -> Floats:
    """The numbers nearest to the means, in units of their variances, that sum to `totals` in each segment.

    `segments`: for each number, which total it belongs to. None is below `least`, and no total below what that allows.
    """
    floor = -math.inf if least is None else float(least)
    count = totals.size
    sizes = np.bincount(segments, minlength=count)
    room = np.bincount(segments, weights=likely.variances, minlength=count) / np.maximum(sizes, 1)
    weights = likely.variances + 1e-6 * room[segments] + 1e-9  # none is immovable
    free = np.ones(likely.means.size, dtype=np.bool_)
    moved = likely.means
    for _ in range(100):
        fixed = np.bincount(segments[~free], minlength=count) * (0.0 if least is None else floor)
        rest = totals - fixed - np.bincount(segments[free], weights=likely.means[free], minlength=count)
        share = rest / np.maximum(np.bincount(segments[free], weights=weights[free], minlength=count), 1e-300)
        moved = np.where(free, likely.means + share[segments] * weights, floor)
        below = free & (moved < floor - 1e-12)
        if not below.any():
            break
        free &= ~below
    return moved if least is None else np.maximum(moved, floor)


def round_with_totals(values: Floats, segments: Integers, totals: Integers) -> Integers:
    """Each number rounded down or up, those with the largest remainders up, so that segments sum to whole `totals`.

    Because: of all whole numbers with these totals, these are nearest to the values.
    """
    whole = np.floor(values + _NEARLY).astype(np.int64)
    missing = totals - _sums(whole, segments, totals.size)
    order = np.lexsort((-(values - whole), segments))
    starts = np.searchsorted(segments[order], np.arange(totals.size))
    sizes = np.maximum(np.bincount(segments, minlength=totals.size), 1)
    ranks = np.arange(values.size) - starts[segments[order]]
    each, over = np.divmod(missing, sizes)  # 0 but for the error of floats
    whole[order] += each[segments[order]] + (ranks < over[segments[order]])
    return whole


def _sums(whole: Integers, segments: Integers, count: int) -> Integers:
    sums = np.zeros(count, dtype=np.int64)
    np.add.at(sums, segments, whole)
    return sums
