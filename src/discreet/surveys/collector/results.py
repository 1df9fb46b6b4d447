"""What the reports say so far. Kept up as they come in: a look costs what is new, not what is there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet import exact
from discreet.errors import StoreFault, UsageError
from discreet.surveys.collector.survey_definition import Survey
from discreet.surveys.collector.survey_store import REPORTS_PER_READ, SurveyStore
from discreet.surveys.protocols.choice_randomizer import ChoiceRandomizer
from discreet.surveys.protocols.estimate import UNBIASED, Estimate, Mean, normal_half_width
from discreet.surveys.protocols.grid_numbers import MeanRandomizer, decimal
from discreet.surveys.protocols.interval_tree import Tree
from discreet.surveys.protocols.randomizer import Randomizer
from discreet.surveys.protocols.rappor import Rappor
from discreet.surveys.protocols.sketch import Sketch

#: The fakes of which a result says how far they could have moved it: this share of the reports, at least one.
FAKE_SHARE = 0.01
#: Protocols that find words: a few fakes can lift one over the threshold, or push one below it, and nothing is proved
#: about how far that moves its share.
DISCOVERY_PROTOCOLS = frozenset({"prefix-words", "puzzle"})
#: The intervals that are shown of a tree.
TREE_INTERVALS = 10


class SurveyTally:
    """The reports of one survey, summed up as far as its protocol allows; else kept as they are."""

    def __init__(self, randomizer: Randomizer) -> None:
        self._randomizer = randomizer
        self._sum: Any = None
        self.n = 0

    def add(self, reports: NDArray[np.uint8]) -> None:
        """Count these, too. What the randomizer cannot have made is refused: the store was changed."""
        if not len(reports):
            return
        batch_sum = self._summed(self._randomizer.matrix(reports))
        if self._sum is None:
            self._sum = batch_sum
        elif isinstance(self._randomizer, ChoiceRandomizer | MeanRandomizer | Sketch | Rappor):
            self._sum = self._sum + batch_sum
        else:
            self._sum = np.concatenate([self._sum, batch_sum])
        self.n += len(reports)

    def _summed(self, reports: NDArray[np.uint8]) -> Any:
        match self._randomizer:
            case ChoiceRandomizer():
                return self._randomizer.supports(reports)
            case MeanRandomizer():
                return float(self._randomizer.guesses(reports).sum())
            case Sketch() | Rappor():
                return self._randomizer.tally(reports)
        return reports

    def estimate(self, words: Sequence[str] | None = None) -> Estimate | Mean | None:
        """The estimate, or None where it needs a list of words and there is none."""
        match self._randomizer:
            case ChoiceRandomizer():
                return self._randomizer.from_supports(self._sum, self.n)
            case MeanRandomizer():
                return self._randomizer.from_sum(self._sum, self.n)
            case Sketch() | Rappor():
                return None if words is None else self._randomizer.from_tally(self._sum, words)
            case Tree():
                return self._randomizer.estimate(self._sum).ranges(tree_intervals(self._randomizer))
        other: Any = self._randomizer
        estimate: Estimate | Mean = other.estimate(self._sum)
        return estimate


def takes_words(randomizer: Randomizer) -> bool:
    """Whether its estimate wants the words that are asked about."""
    return isinstance(randomizer, Sketch | Rappor)


def tree_intervals(tree: Tree) -> list[tuple[str, str]]:
    """A tree's range in at most `TREE_INTERVALS` intervals of the same number of points, but for the last."""
    points = tree.steps + 1
    size = -(-points // TREE_INTERVALS)
    ends = [(start, min(start + size, points) - 1) for start in range(0, points, size)]
    return [(decimal(tree.low + first * tree.step), decimal(tree.low + last * tree.step)) for first, last in ends]


def tally_survey(store: SurveyStore, survey: Survey) -> SurveyTally:
    """Every report of a survey."""
    tally = SurveyTally(survey.randomizer)
    tally_new_reports(store, survey, tally)
    return tally


class ReportTally(Protocol):
    """What reports are added to, one piece after the other."""

    n: int

    def add(self, reports: NDArray[np.uint8]) -> None:
        """Count these, too."""


def tally_new_reports(store: SurveyStore, survey: Survey, tally: ReportTally, *, most: int | None = None) -> None:
    """What came in since, up to the first `most` reports."""
    while most is None or tally.n < most:
        reports = store.reports(survey, after=tally.n)
        piece = reports if most is None else reports[: most - tally.n]
        try:
            tally.add(piece)
        except UsageError as problem:
            raise StoreFault("a stored report is invalid: another program changed the store") from problem
        if len(reports) < REPORTS_PER_READ:
            return


def summary(
    survey: Survey,
    tally: SurveyTally,
    *,
    confidence: float = 0.95,
    fakes: int | None = None,
    words: Sequence[str] | None = None,
) -> dict[str, Any]:
    """All that may be said: `waiting` below the minimum, else the estimates and how far to trust them."""
    normal_half_width(confidence)  # refuses what is no confidence, even below the minimum
    common_data: dict[str, Any] = {
        "n": tally.n,
        "minimum": survey.minimum,
        "closed": survey.closed,
        "epsilon": exact.as_float(survey.randomizer.epsilon, up=True),
        "protocol": survey.randomizer.protocol,
    }
    if tally.n < survey.minimum:
        return {**common_data, "waiting": True}
    try:
        estimate = tally.estimate(words)
    except UsageError as few:
        if words is not None:
            raise
        return {
            **common_data,
            "waiting": True,
            "because": few.reason,
        }  # a tree one of whose levels nobody has drawn yet
    if estimate is None:
        return {**common_data, "estimates": [], "words": True}
    some = max(1, round(FAKE_SHARE * tally.n)) if fakes is None else fakes
    if some < 0:
        raise UsageError("The number of fake reports cannot be negative.")
    figures = _estimate_data(estimate, confidence, some)
    if some and survey.randomizer.protocol in DISCOVERY_PROTOCOLS:
        figures["fakes"]["could_move"] = 1.0
    return {**common_data, **figures}


def _estimate_data(estimate: Estimate | Mean, confidence: float, fakes: int) -> dict[str, Any]:
    moved = {"fakes": {"reports": fakes, "could_move": estimate.moved_by(fakes)}}
    # A share's noise falls with the root of n: four times as many, half as wide.
    trust: dict[str, Any] = {"confidence": confidence, "halve": 3 * estimate.n, **moved}
    if isinstance(estimate, Mean):
        low, high = estimate.interval(confidence)
        return {"mean": estimate.value, "interval": [low, high], "plus_minus": (high - low) / 2, **trust}
    if estimate.made != UNBIASED:
        plain = [{"choice": label, "share": share, "interval": None} for label, share in estimate.shares.items()]
        return {"estimates": plain, "made": estimate.made, "plus_minus": None, **trust}
    intervals = estimate.interval(confidence)
    estimates = [
        {"choice": label, "share": share, "interval": list(intervals[label])}
        for label, share in estimate.shares.items()
    ]
    widest = max(((high - low) / 2 for low, high in intervals.values()), default=None)
    return {"estimates": estimates, "plus_minus": widest, **trust}
