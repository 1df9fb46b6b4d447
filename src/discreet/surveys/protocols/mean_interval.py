"""Intervals of a mean from the law of its noise, at any confidence.

`Mean.interval` is that of a normal law, which is right for many reports at a usual confidence. Where the intervals of
many periods hold together each has a confidence so high that it asks for tails that no normal law has.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from discreet.mechanisms import weighted_sum
from discreet.surveys.protocols.estimate import Mean, normal_half_width
from discreet.surveys.protocols.grid_numbers import Duchi, MeanRandomizer
from discreet.surveys.protocols.laplace_record import LaplaceRecord

#: Halvings of an interval of chances.
_HALVINGS = 45
#: More than what float64 errs in a tail, as a part of it.
_ROUNDING = 1e-6
#: Terms of a binomial tail that are summed: this often the root of n, and some. The rest is bounded.
_TERMS, _FEWEST_TERMS = 10, 60


def tail_interval(randomizer: MeanRandomizer, mean: Mean, confidence: float) -> tuple[float, float]:
    """Where the mean of the respondents' numbers lies. It is within the bounds, unless the estimate itself is not.

    Guarantee: with Laplace noise and with one bit a report it holds the true mean with at least this confidence, for
        every number of reports and all answers. With windows it is `Mean.interval`.
    Because: for Laplace noise the mean's error is a sum of known noise, whatever the answers (`weighted_sum`); for one
        bit a report see `_bit_interval`.
    """
    normal_half_width(confidence)  # refuses what is no confidence
    least, most = mean.bounds
    if isinstance(randomizer, LaplaceRecord):
        law, weight = randomizer.noise, float(randomizer.step) / mean.n
        half = weight * weighted_sum.half_width([(1.0, law, mean.n)], Fraction(confidence))
        low, high = mean.value - half, mean.value + half
    elif isinstance(randomizer, Duchi):
        low, high = _bit_interval(randomizer, mean, (1 - confidence) / 2)
    else:
        return mean.interval(confidence)
    low, high = (min(max(end, least), most) for end in (low, high))
    return min(low, mean.value), max(high, mean.value)


def _bit_interval(randomizer: Duchi, mean: Mean, tail: float) -> tuple[float, float]:
    """Where the mean lies if a bit is 1 with a probability that rises with the number in equal steps.

    Because: the chances of the n bits have a mean p that is a linear function of the numbers' mean. Whatever they are,
        at least k ones are as likely as for n bits of chance p, or less, where k - 1 >= n p; at most k ones where
        k + 1 <= n p (Hoeffding, On the distribution of the number of successes in independent trials, 1956). So a p
        is left out where that is so and the binomial tail is at most `tail`.
    """
    n, (zero, one) = mean.n, (float(end) for end in randomizer.extent)
    step, low = float(randomizer.step), mean.bounds[0]
    ones = round(n * ((mean.value - low) / step - zero) / (one - zero))
    tail *= 1 - _ROUNDING
    lowest = min(_end(ones, n, tail), (ones - 1) / n)
    highest = max(1 - _end(n - ones, n, tail), (ones + 1) / n)
    first, last = (low + step * (zero + (one - zero) * chance) for chance in (lowest, highest))
    return first, last


def _end(ones: int, n: int, tail: float) -> float:
    """The largest p with P(at least so many ones of n bits of chance p) <= tail, rounded down; 0 for no ones.

    >>> round(_end(10, 10, 0.025), 4), _end(0, 10, 0.025)
    (0.6915, 0.0)
    """
    low, high = 0.0, ones / n
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if _at_least(ones, n, middle) <= tail:
            low = middle
        else:
            high = middle
    return low


def _at_least(ones: int, n: int, chance: float) -> float:
    """P(at least so many ones of n bits of this chance), rounded up; for a chance of at most ones / n.

    Because: it is the first term times 1 + r + r r' + ..., where r, r', ... are the ratios of each term to the one
        before, (n - k) / (k + 1) chance / (1 - chance). They fall, and all are below 1; so what is left out is at most
        a geometric series.

    >>> _at_least(3, 5, 0.25) / ((10 * 9 + 5 * 3 + 1) / 1024) - 1 < 1e-9
    True
    """
    if ones == 0:
        return 1.0
    if chance <= 0:
        return 0.0
    log = math.lgamma(n + 1) - math.lgamma(ones + 1) - math.lgamma(n - ones + 1)
    log += ones * math.log(chance) + (n - ones) * math.log1p(-chance)
    last = min(n, ones + int(_TERMS * math.sqrt(n)) + _FEWEST_TERMS)
    places = np.arange(ones, last, dtype=np.float64)
    ratios = (n - places) / (places + 1) * (chance / (1 - chance))
    terms = np.cumprod(ratios)
    rest = float(terms[-1] * ratios[-1] / (1 - ratios[-1])) if last < n else 0.0
    return math.exp(log) * (1 + float(terms.sum()) + rest)
