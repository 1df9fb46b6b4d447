"""Persons by how many rows they have, as measured, and between what the share of rows lies that a limit leaves out.

Two noisy histograms count the persons: one in wide buckets of numbers of rows, one in narrow buckets inside of these.
With N(r) persons of r rows, a limit leaves out B = sum of N(r) max(0, r - limit) of R = sum of N(r) r rows. The
share is a just where B - a R = 0. Bucket by bucket, r lies between two ends, so that

    sum of N w_low(a)  <=  B - a R  <=  sum of N w_high(a)

with weights w that are known. The sums are linear in the counts, and their noise has a known law: where the noise does
not reach from the sum to 0, the share a is rejected. What is not rejected is the interval, however small R is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from discreet.kernel.measurement import Law
from discreet.mechanisms.weighted_sum import chernoff_half_width

Floats = NDArray[np.float64]

#: In so many places between its ends a width is computed.
_TRIALS = 4


@dataclass(frozen=True, kw_only=True)
class RosterHistogram:
    """Noisy numbers of persons with more than edges[i - 1] rows (0 for the first) and at most edges[i]."""

    edges: tuple[int, ...]
    noisy: tuple[int, ...]
    law: Law

    def up_to(self, most: int) -> RosterHistogram:
        """The buckets of persons with at most so many rows; `most` is an edge."""
        size = self.edges.index(most) + 1
        return RosterHistogram(edges=self.edges[:size], noisy=self.noisy[:size], law=self.law)


@dataclass(frozen=True, kw_only=True)
class RosterEstimate:
    """Persons with at most so many rows, measured in wide buckets and in narrow ones, of which the wide ones consist.

    Guarantee: each interval holds the exact number of the persons up to the last edge with 1 - `doubt`, for a last edge
        that was fixed before anything was drawn. (Where it is the highest bucket that shows, it is one of a few that
        could have been: the doubts of these add.)
    Because: with the exact counts, the sum of w_high is at least 0 at the true share, so that it is rejected only if
        the noise is below -width, which has at most a quarter of the doubt; likewise on the other side, and for both
        ways to read the counts: wide buckets alone, or wide and narrow ones together.
    """

    wide: RosterHistogram
    narrow: RosterHistogram

    def share(self, limit: int, *, doubt: Fraction) -> tuple[float, float]:
        """Between what the share of rows beyond a limit lies, which is an edge."""
        lows, highs = [], []
        for reading in (_wide_alone, _together):

            def above(share: float, by: Reading = reading) -> tuple[float, float]:
                return self._sum(by, limit, share, doubt, high=True)

            def below(rest: float, by: Reading = reading) -> tuple[float, float]:
                value, width = self._sum(by, limit, 1 - rest, doubt, high=False)
                return -value, width

            highs.append(_last(above))
            lows.append(1 - _last(below))
        low = max(lows)
        return low, max(low, min(highs))

    def beyond(self, limit: int, *, doubt: Fraction) -> tuple[float, float]:
        """Between what the number of rows beyond a limit lies."""
        lows, highs = [0.0], []
        for reading in (_wide_alone, _together):
            value, width = self._sum(reading, limit, 0.0, doubt, high=False)
            lows.append(value - width)
            highs.append(sum(self._sum(reading, limit, 0.0, doubt, high=True)))
        return max(lows), max(*lows, min(highs))

    def _sum(self, reading: Reading, limit: int, share: float, doubt: Fraction, *, high: bool) -> tuple[float, float]:
        """The sum of w_high, or of w_low, and a width that its noise leaves on one side with a quarter of the doubt."""
        weights = [_weights(each.edges, limit, share, high=high) for each in (self.wide, self.narrow)]
        own, inner = reading(self, *weights)
        value = float(own @ np.array(self.wide.noisy, float) + inner @ np.array(self.narrow.noisy, float))
        return value, chernoff_half_width([(own, self.wide.law, 1), (inner, self.narrow.law, 1)], 1 - doubt / 2)


def _last(test: Callable[[float], tuple[float, float]]) -> float:
    """The last place from 0 to 1 where a linear value and its width, which is convex, add to at least 0; else 0.

    The width is computed in a few places and taken as the straight line between them, which is nowhere below it.
    """
    places = {place: sum(test(place)) for place in (0.0, 1.0)}
    for _ in range(_TRIALS):
        crossing = _crossing(places)
        if crossing in places:
            break
        places[crossing] = sum(test(crossing))
    return _crossing(places)


def _crossing(places: Mapping[float, float]) -> float:
    """Where straight lines between these places are at least 0 for the last time."""
    for low, high in reversed(list(pairwise(sorted(places)))):
        if places[high] >= 0:
            return high
        if places[low] >= 0:
            return low + (high - low) * places[low] / (places[low] - places[high])
    return 0.0


Reading = Callable[[RosterEstimate, Floats, Floats], tuple[Floats, Floats]]


def _weights(edges: Sequence[int], limit: int, share: float, *, high: bool) -> Floats:
    """What a person of each bucket adds to B - share * R, at most or at least."""
    weights = []
    for low, most in pairwise([0, *edges]):
        rows = (most if low >= limit else low + 1) if high else (low + 1 if low >= limit else most)
        weights.append(max(0, rows - limit) - share * rows)
    return np.array(weights)


def _wide_alone(roster: RosterEstimate, wide: Floats, narrow: Floats) -> tuple[Floats, Floats]:
    return wide, np.zeros(len(narrow))


def _together(roster: RosterEstimate, wide: Floats, narrow: Floats) -> tuple[Floats, Floats]:
    """The weights of the narrow buckets, of which the wide ones take over what makes the least variance.

    Because: the sum over j of w_j N_j is c W + the sum over j of (w_j - c) N_j for every c, where W is the sum of N_j.
    """
    variances = roster.wide.law.variance(), roster.narrow.law.variance()
    ends = [0, *(roster.narrow.edges.index(edge) + 1 for edge in roster.wide.edges)]
    own, inner = np.zeros(len(wide)), narrow.copy()
    for place, (first, end) in enumerate(pairwise(ends)):
        whole = float(variances[0]) + (end - first) * float(variances[1])
        own[place] = narrow[first:end].sum() * float(variances[1]) / whole if whole else narrow[first:end].mean()
        inner[first:end] -= own[place]
    inner[np.abs(inner) < 1e-9] = 0.0
    return own, inner
