"""Laws that are known: draws against the law itself, and divergences without any draw.

The laws are written down here once more, in plain float64, apart from the code that draws from them: a mistake that
the code makes both in drawing and in telling its law is seen all the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from discreet.lab.evidence import binomial_upper_tail
from discreet.lab.privacy_audit import binomial

#: P(X >= k) at whole numbers k.
UpperTail = Callable[[NDArray[np.float64]], NDArray[np.float64]]
Masses = NDArray[np.float64]

#: How far apart draws are compared: noise that is used again is used nearby, or in another half.
_LAGS = (1, 2, 3, 4, 5, 8, 16, 32, 64)


def laplace_upper_tail(scale: float) -> UpperTail:
    """P(X >= k) of discrete Laplace noise: r^k / (1 + r) for k > 0, with r = exp(-1/scale)."""
    ratio = 1 + math.exp(-1 / scale)

    def beyond(k: NDArray[np.float64]) -> NDArray[np.float64]:
        upper = np.exp(-np.maximum(k, 1) / scale) / ratio
        lower = 1 - np.exp(-(1 - np.minimum(k, 0)) / scale) / ratio
        return np.where(k > 0, upper, lower)

    return beyond


def gaussian_upper_tail(sigma: float) -> UpperTail:
    """P(X >= k) of the discrete Gaussian, summed."""
    reach = math.ceil(40 * sigma) + 2
    support = np.arange(-reach, reach + 1)
    mass = np.exp(-(support**2) / (2 * sigma**2))
    above = np.append(np.cumsum(mass[::-1])[::-1] / mass.sum(), 0.0)

    def beyond(k: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(above[np.clip(k.astype(np.int64) + reach, 0, len(above) - 1)])

    return beyond


def law_p_value(draws: NDArray[np.int64], beyond: UpperTail, scale: float) -> float:
    """The chance, at most, of draws as far from the law as these: at some of 41 places too many or too few beyond.

    Because: the number of draws at or beyond a place is binomial, and the union bound covers the places.
    """
    places = np.unique(np.rint(scale * np.linspace(-5, 5, 41)))
    p_values = [
        count_p_value(int((draws >= place).sum()), len(draws), float(chance))
        for place, chance in zip(places, beyond(places), strict=True)
    ]
    return min(1.0, len(p_values) * min(p_values))


def independence_p_value(draws: NDArray[np.int64], beyond: UpperTail, scale: float) -> float:
    """The chance, at most, of draws that repeat each other, or cancel, as often or as rarely as these.

    Guarantee: for independent draws of the law, P(result <= x) <= x.
    Because: for each lag the draws are put into pairs that far apart, none of them in two pairs, so that the number of
        equal pairs is binomial; the law is the same on both sides of zero, so of opposite pairs too; and the union
        bound covers the lags.
    """
    support = np.arange(-math.ceil(40 * scale) - 1, math.ceil(40 * scale) + 2).astype(np.float64)
    above = beyond(support)
    equal = float(((above[:-1] - above[1:]) ** 2).sum())
    lags = {lag for lag in (*_LAGS, len(draws) // 4, len(draws) // 2) if 1 <= lag <= len(draws) // 2}
    p_values = []
    for lag in lags:
        blocks = draws[: len(draws) // (2 * lag) * 2 * lag].reshape(-1, 2, lag)
        ones, others = blocks[:, 0].ravel(), blocks[:, 1].ravel()
        p_values += [count_p_value(int((ones == each).sum()), len(ones), equal) for each in (others, -others)]
    return min(1.0, len(p_values) * min(p_values))


def noise_p_value(draws: NDArray[np.int64], beyond: UpperTail, scale: float) -> float:
    """The same for both at once: draws of this law, and independent ones."""
    return min(1.0, 2 * min(law_p_value(draws, beyond, scale), independence_p_value(draws, beyond, scale)))


def masses_p_value(draws: NDArray[np.int64], masses: Sequence[float]) -> float:
    """The same for a law over 0, 1, 2 ...: each of them too often or too rarely."""
    counts = np.bincount(draws, minlength=len(masses))
    p_values = [count_p_value(int(count), len(draws), mass) for count, mass in zip(counts, masses, strict=True)]
    return min(1.0, len(p_values) * min(p_values))


def count_p_value(count: int, n: int, chance: float) -> float:
    """How likely a binomial count is that lies at least this far out, on either side."""
    if not 0 < chance < 1:
        return float(count == (n if chance >= 1 else 0))
    above = binomial_upper_tail(count, n, chance) if count else 1.0
    return min(1.0, 2 * min(above, binomial.binomial_lower_tail(count, n, chance)))


def quantile_masses(
    rows: Sequence[int], *, fraction: float, epsilon: float, most: int, flips: bool = False
) -> list[float]:
    """How likely each bin of so many rows is as the estimate of a quantile, by the exponential mechanism; or, if it
    `flips`, by permute-and-flip.

    A bin is the worse the more rows lie between its ranks and the quantile's; a person of `most` rows moves that by
    max(fraction, 1 - fraction) for each.
    """
    reached = np.concatenate(([0.0], np.cumsum(rows)))
    target = fraction * reached[-1]
    low, high = reached[:-1].copy(), reached[1:].copy()
    low[0], high[-1] = -math.inf, math.inf
    distance = np.maximum(0.0, np.maximum(low - target, target - high))
    weights = np.exp(-distance * epsilon / (2 * most * max(fraction, 1 - fraction)))
    return choice_masses(weights / weights.max(), flips=flips)


def choice_masses(weights: Masses, *, flips: bool) -> list[float]:
    """How likely each candidate is, by weights of which the largest is 1."""
    if flips:
        return [_first_heads(weights, place) for place in range(len(weights))]
    masses: list[float] = (weights / weights.sum()).tolist()
    return masses


def _first_heads(chances: Masses, place: int) -> float:
    """The chance that the coin at a place shows heads, and is picked from all that do."""
    heads = np.ones(1)  # of so many other coins
    for chance in np.delete(chances, place):
        heads = np.convolve(heads, [1 - chance, chance])
    return float(chances[place] * (heads / np.arange(1, len(heads) + 1)).sum())


def largest_ratio(left: Masses, right: Masses) -> float:
    """The epsilon of two laws over the same outputs: the largest |ln(P / Q)|; infinite where one has no mass."""
    if ((left > 0) != (right > 0)).any():
        return math.inf
    shown = left > 0
    return float(np.abs(np.log(left[shown] / right[shown])).max())


def hockey_stick(left: Masses, right: Masses, epsilon: float) -> float:
    """The delta of two laws at epsilon, the larger of both directions: the sum of max(0, P - e^epsilon Q)."""
    grown = math.exp(epsilon)
    return float(max(np.maximum(p - grown * q, 0).sum() for p, q in ((left, right), (right, left))))
