"""The trend of a survey with periods: the slope of the least-squares line through its periods' estimates.

Nothing is assumed of how the truth moves: the slope of the true shares is what is estimated, straight or not.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.surveys.protocols.collection_periods import FRESH, CollectionPeriods
from discreet.surveys.protocols.report_noise import ReportNoise

Interval = tuple[float, float]
Floats = NDArray[np.float64]

#: The slope of two periods is their difference, which is shown as a change.
FEWEST_PERIODS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class TrendWeights:
    """The slope by least squares of what was estimated in these periods, as a weighted sum of the estimates.

    >>> trend = TrendWeights(numbers=(1, 2, 4), reports=(100, 100, 50))
    >>> round(trend.slope([0.2, 0.3, 0.5]), 9)
    0.1
    """

    numbers: tuple[int, ...]
    #: The reports of each of them.
    reports: tuple[int, ...]

    @property
    def weights(self) -> Floats:
        """(t - mean) / the sum of (t - mean)^2."""
        places = np.array(self.numbers, dtype=np.float64)
        places -= places.mean()
        return np.asarray(places / (places**2).sum())

    def slope(self, values: Sequence[float]) -> float:
        """How much the values rise from one period to the next, on the least-squares line through them."""
        return math.fsum((self.weights * np.array(values)).tolist())

    def from_intervals(self, intervals: Sequence[Interval]) -> Interval:
        """Where the slope of the truths lies if each of them lies in its interval, however they depend on each other.

        >>> TrendWeights(numbers=(1, 2, 3), reports=(9, 9, 9)).from_intervals([(0.0, 0.25), (0.0, 1.0), (0.5, 1.0)])
        (0.125, 0.5)
        """
        low, high = np.array(intervals, dtype=np.float64).T
        rising = self.weights > 0
        ends = (np.where(rising, low, high), np.where(rising, high, low))
        first, last = (self.slope(each.tolist()) for each in ends)
        return first, last

    def half_width(
        self, noise: ReportNoise, periods: CollectionPeriods, *, doubt: float, sampled: bool = False
    ) -> float:
        """How far the slope of the estimates is from that of the truths, but with this probability.

        `sampled`: the truths are those of all people of whom the respondents are a random sample, else those of the
        donations that were made.

        Guarantee: further away with at most the probability `doubt`, for any number of reports.
        Because: docs/proofs/collection.md, Trends. With fresh coins the noise is a sum of independent terms with the
            weights w_t / n_t. With memoized coins one report is sent in several periods: its weights are those of
            these periods, summed up for rising weights and for falling ones apart (their errors pull in opposite
            directions, and two opposite monotone functions of one variable are negatively associated). Two periods
            share at most as many reports as the smaller one has. One person makes at most `donations` donations of a
            period, and may answer in any period whatever he answered before.
        """
        each = self.weights / np.array(self.reports, dtype=np.float64)
        rising, falling = np.maximum(self.weights, 0), np.maximum(-self.weights, 0)
        if periods.coins == FRESH:
            squares, largest = float((self.weights * each).sum()), float(np.abs(each).max())
        else:
            squares = self._shared_squares(rising) + self._shared_squares(falling)
            largest = float(max(np.maximum(each, 0).sum(), np.maximum(-each, 0).sum()))
        answer_squares = periods.donations * self._shared_squares(rising + falling) if sampled else 0.0
        return noise.half_width(squares=squares, largest=largest, answer_squares=answer_squares, doubt=doubt)

    def _shared_squares(self, sizes: Floats) -> float:
        """The sum over all pairs of periods s, t of size_s size_t / max(n_s, n_t), where sizes are 0 or more.

        Because: of periods in the order of their reports, the larger one of a pair is the later one.
        """
        reports = np.array(self.reports, dtype=np.float64)
        order = np.argsort(reports, kind="stable")
        ordered, many = sizes[order], reports[order]
        before = np.cumsum(ordered) - ordered
        return float((ordered * (ordered + 2 * before) / many).sum())


def trend_interval(trend: TrendWeights, slope: float, half_width: float, *, answers: float) -> Interval:
    """The slope and its half-width as an interval, within what a slope can be where answers are so far apart."""
    most = answers * float(np.maximum(trend.weights, 0).sum())
    low, high = max(slope - half_width, -most), min(slope + half_width, most)
    return min(low, slope), max(high, slope)


def label_trends(
    values: Mapping[int, Mapping[str, float]],
    reports: Mapping[int, int],
    intervals: Mapping[int, Mapping[str, Interval]],
    *,
    noise: ReportNoise | None,
    periods: CollectionPeriods,
    confidence: float,
) -> dict[str, dict[str, object]]:
    """For each label with an interval in at least three periods: its slope, its interval, and where it is known the
    interval for the people of whom the respondents are a random sample.
    """
    trends: dict[str, dict[str, object]] = {}
    labels = dict.fromkeys(label for number in sorted(values) for label in intervals[number])
    for label in labels:
        numbers = tuple(number for number in sorted(values) if label in intervals[number])
        if len(numbers) < FEWEST_PERIODS:
            continue
        trend = TrendWeights(numbers=numbers, reports=tuple(reports[number] for number in numbers))
        slope = trend.slope([values[number][label] for number in numbers])
        if noise is None:
            interval = trend.from_intervals([intervals[number][label] for number in numbers])
            population = None
        else:
            interval, population = (
                trend_interval(
                    trend,
                    slope,
                    trend.half_width(noise, periods, doubt=1 - confidence, sampled=sampled),
                    answers=noise.answers,
                )
                for sampled in (False, True)
            )
        trends[label] = {
            "first": numbers[0],
            "last": numbers[-1],
            "slope": slope,
            "interval": list(interval),
            "population": None if population is None else list(population),
        }
    return trends
