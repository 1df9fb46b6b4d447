"""What the reports of a survey with periods say: an estimate for each period, how it changed, and its trend.

Reports of different periods are never added up: with memoized coins a device sends the same report in each, so that
the noise of two periods is not independent, and nobody but the device could say which reports are copies.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet import exact
from discreet.errors import UsageError
from discreet.surveys.collector.period_trends import Interval, label_trends
from discreet.surveys.collector.results import SurveyTally, takes_words
from discreet.surveys.collector.survey_definition import Survey
from discreet.surveys.protocols.collection_periods import FRESH, PERIOD_BYTES, CollectionPeriods
from discreet.surveys.protocols.estimate import UNBIASED, Estimate, Mean, normal_half_width
from discreet.surveys.protocols.grid_numbers import MeanRandomizer
from discreet.surveys.protocols.mean_interval import tail_interval
from discreet.surveys.protocols.randomizer import Randomizer
from discreet.surveys.protocols.report_noise import report_noise

#: The label of a mean among estimates that have labels.
_MEAN = ""


class PeriodTallies:
    """The reports of one survey with periods, summed up for each of them."""

    def __init__(self, randomizer: Randomizer) -> None:
        self._randomizer = randomizer
        self.periods: dict[int, SurveyTally] = {}
        self.n = 0

    def add(self, reports: NDArray[np.uint8]) -> None:
        """Count these, too. A report begins with the number of its period."""
        if not len(reports):
            return
        numbers = reports[:, :PERIOD_BYTES].astype(np.int64) @ (256 ** np.arange(PERIOD_BYTES - 1, -1, -1))
        inner = np.ascontiguousarray(reports[:, PERIOD_BYTES:])
        for number in np.unique(numbers).tolist():
            tally = self.periods.setdefault(number, SurveyTally(self._randomizer))
            tally.add(inner[numbers == number])
        self.n += len(reports)


def final_periods(periods: CollectionPeriods, now: float) -> int:
    """How many periods, from the first on, take no more reports: each is open until the next one is over."""
    return min(max(periods.number_at(now) - 2, 0), periods.periods)


def period_summary(
    survey: Survey,
    tallies: PeriodTallies,
    *,
    confidence: float = 0.95,
    words: Sequence[str] | None = None,
    now: float | None = None,
    only_final: bool = False,
) -> dict[str, Any]:
    """An estimate for each period that has enough reports, the changes between them, and the trend of three or more.

    Guarantee: for each choice, all intervals of periods and of changes hold together with the stated confidence. (As
        far as a single interval does: see `Estimate.interval`, and `tail_interval` for means.) The interval of
        its trend has that confidence alone.
    Because: each of m periods has an interval of the confidence 1 - (1 - confidence) / m, so all of them hold together,
        however the noise of one period depends on that of another; and where two hold, so does what follows from them
        for the change (`change_interval`).
    """
    normal_half_width(confidence)  # refuses what is no confidence
    assert survey.periods is not None
    periods, moment = survey.periods, time.time() if now is None else now
    last = min(max([periods.number_at(moment), *tallies.periods]), periods.periods)
    shown = range(1, (final_periods(periods, moment) if only_final and not survey.closed else last) + 1)
    estimates = _estimates(survey, tallies, shown, words)
    level = 1 - (1 - confidence) / max(len(estimates), 1)
    intervals = {number: _intervals(survey.randomizer, each, level) for number, each in estimates.items()}
    loss = periods.loss(survey.randomizer)
    return {
        "by": "period",
        "n": tallies.n,
        "minimum": survey.minimum,
        "closed": survey.closed,
        "protocol": survey.randomizer.protocol,
        "every": periods.every,
        "coins": periods.coins,
        "confidence": confidence,
        "epsilon": exact.as_float(loss.donation, up=True),
        "loss": loss_data(periods, survey.randomizer),
        "periods": [
            {
                "period": number,
                "begin": periods.begin_text(number),
                "n": tallies.periods[number].n if number in tallies.periods else 0,
                "waiting": number not in estimates,
                **(_shares_data(estimates[number], intervals[number]) if number in estimates else {}),
            }
            for number in shown
        ],
        "changes": _changes(estimates, intervals),
        "trends": _trends(survey, estimates, intervals, confidence),
        "words": False if words is not None else needs_words(survey, tallies),
    }


def needs_words(survey: Survey, tallies: PeriodTallies) -> bool:
    """Whether there is something to estimate, once somebody says which words."""
    return takes_words(survey.randomizer) and bool(tallies.n)


def loss_data(periods: CollectionPeriods, randomizer: Randomizer) -> dict[str, float]:
    """What a device can lose, rounded up."""
    loss = periods.loss(randomizer)
    return {
        "donation": exact.as_float(loss.donation, up=True),
        "per_period": exact.as_float(loss.period, up=True),
        "over_survey": exact.as_float(loss.survey, up=True),
        "unchanged": exact.as_float(loss.unchanged, up=True),
    }


def periods_lines(survey: Survey) -> list[str]:
    """What a respondent must know before the first answer: how often, with which coins, at what total cost."""
    periods = survey.periods
    if periods is None:
        return []
    loss = periods.loss(survey.randomizer)
    donation, period, total, unchanged = (
        exact.show(each, up=True) for each in (loss.donation, loss.period, loss.survey, loss.unchanged)
    )
    times = "once" if periods.donations == 1 else f"at most {periods.donations:,} times"
    unit = f"{periods.periods:,} {periods.every}{'' if periods.periods == 1 else 's'}"
    first = (
        f"collected every {periods.every} for {unit} from {periods.begin_text(1)} (UTC); a device donates {times} "
        f"{periods.one_period}"
    )
    cost = f"loss of a device: epsilon {donation} a donation, at most {period} {periods.one_period}"
    if periods.coins == FRESH:
        return [first, f"{cost} and {total} over {unit}: each donation flips fresh coins, so losses add up"]
    return [
        first,
        f"{cost}; over {unit}, {unchanged} while the answer stays the same (its coins are memoized: flipped once and "
        f"kept) and at most {total} if it changes",
        "an answer that changes gets coins of its own; that it changed can be seen, and often that reports are "
        "from one device",
    ]


def _estimates(
    survey: Survey, tallies: PeriodTallies, shown: range, words: Sequence[str] | None
) -> dict[int, Estimate | Mean]:
    """The estimate of each period that has one."""
    estimates: dict[int, Estimate | Mean] = {}
    for number in shown:
        tally = tallies.periods.get(number)
        if tally is None or tally.n < survey.minimum:
            continue
        try:
            estimate = tally.estimate(words)
        except UsageError:
            if words is not None:
                raise
            continue  # a tree one of whose levels nobody has drawn yet
        if estimate is not None:
            estimates[number] = estimate
    return estimates


def _shares_data(estimate: Estimate | Mean, intervals: Mapping[str, Interval]) -> dict[str, Any]:
    if isinstance(estimate, Mean):
        return {"mean": estimate.value, "interval": list(intervals[_MEAN])}
    return {
        "estimates": [
            {"choice": label, "share": share, "interval": list(intervals[label]) if label in intervals else None}
            for label, share in estimate.shares.items()
        ]
    }


def _values(estimate: Estimate | Mean) -> Mapping[str, float]:
    return {_MEAN: estimate.value} if isinstance(estimate, Mean) else estimate.shares


def _intervals(randomizer: Randomizer, estimate: Estimate | Mean, confidence: float) -> Mapping[str, Interval]:
    if isinstance(estimate, Mean):
        assert isinstance(randomizer, MeanRandomizer)
        return {_MEAN: tail_interval(randomizer, estimate, confidence)}
    return estimate.interval(confidence) if estimate.made == UNBIASED else {}


def _changes(
    estimates: Mapping[int, Estimate | Mean], intervals: Mapping[int, Mapping[str, Interval]]
) -> list[dict[str, Any]]:
    """From each period to the next that has an estimate, and from the first to the last."""
    numbers = sorted(estimates)
    pairs = list(pairwise(numbers))
    if len(numbers) > 2:
        pairs.append((numbers[0], numbers[-1]))
    changes: list[dict[str, Any]] = []
    for first, last in pairs:
        before, after = (_values(estimates[number]) for number in (first, last))
        ends = [intervals[number] for number in (first, last)]
        for label in before:
            if label in after and label in ends[0] and label in ends[1]:
                low, high = change_interval(ends[0][label], ends[1][label])
                named = {} if label == _MEAN else {"choice": label}
                change = {"change": after[label] - before[label], "interval": [low, high]}
                changes.append({"first": first, "last": last, **named, **change})
    return changes


def _trends(
    survey: Survey,
    estimates: Mapping[int, Estimate | Mean],
    intervals: Mapping[int, Mapping[str, Interval]],
    confidence: float,
) -> list[dict[str, Any]]:
    """The slope of each label over the periods that have an estimate."""
    assert survey.periods is not None
    trends = label_trends(
        {number: _values(estimate) for number, estimate in estimates.items()},
        {number: estimate.n for number, estimate in estimates.items()},
        intervals,
        noise=report_noise(survey.randomizer),
        periods=survey.periods,
        confidence=confidence,
    )
    return [{**({} if label == _MEAN else {"choice": label}), **trend} for label, trend in trends.items()]


def change_interval(before: Interval, after: Interval) -> Interval:
    """Where the change lies if both truths lie in their intervals.

    (The root of the sum of the squares would be narrower. It fails: near 0 an interval ends at 0, and the interval of
    the change then held only three times in four. And reports that are sent again are not independent.)
    """
    return after[0] - before[1], after[1] - before[0]
