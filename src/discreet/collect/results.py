"""What the reports say so far. Kept up as they come in: a look costs what is new, not what is there."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet import exact
from discreet.collect.store import PIECE, Store
from discreet.collect.survey import Survey
from discreet.errors import StoreFault, UsageError
from discreet.local.choices import Choices
from discreet.local.estimate import UNBIASED, Estimate, Mean, width
from discreet.local.numbers import Numbers, decimal
from discreet.local.randomizer import Randomizer
from discreet.local.rappor import Rappor
from discreet.local.sketch import Sketch
from discreet.local.tree import Tree

#: Results are computed at most once in this time, and take at most this share of it.
REST_S = 1.0
SHARE = 0.1
#: The fakes of which a result says how far they could have moved it: this share of the reports, at least one.
FAKES = 0.01
#: Protocols that find words: a few fakes can lift one over the threshold, or push one below it, and nothing is proved
#: about how far that moves its share.
DISCOVER = frozenset({"prefix-words", "puzzle"})
#: The intervals that are shown of a tree.
PARTS = 10


class Tally:
    """The reports of one survey, summed up as far as its protocol allows; else kept as they are."""

    def __init__(self, randomizer: Randomizer) -> None:
        self._randomizer = randomizer
        self._sum: Any = None
        self.n = 0

    def take(self, reports: NDArray[np.uint8]) -> None:
        """Count these, too. What the randomizer cannot have made is refused: the store was changed."""
        if not len(reports):
            return
        found = self._summed(self._randomizer.matrix(reports))
        if self._sum is None:
            self._sum = found
        elif isinstance(self._randomizer, Choices | Numbers | Sketch | Rappor):
            self._sum = self._sum + found
        else:
            self._sum = np.concatenate([self._sum, found])
        self.n += len(reports)

    def _summed(self, reports: NDArray[np.uint8]) -> Any:
        match self._randomizer:
            case Choices():
                return self._randomizer.supports(reports)
            case Numbers():
                return float(self._randomizer.guesses(reports).sum())
            case Sketch() | Rappor():
                return self._randomizer.tally(reports)
        return reports

    def estimate(self, words: Sequence[str] | None = None) -> Estimate | Mean | None:
        """The estimate, or None where it needs a list of words and there is none."""
        match self._randomizer:
            case Choices():
                return self._randomizer.from_supports(self._sum, self.n)
            case Numbers():
                return self._randomizer.from_sum(self._sum, self.n)
            case Sketch() | Rappor():
                return None if words is None else self._randomizer.from_tally(self._sum, words)
            case Tree():
                return self._randomizer.estimate(self._sum).ranges(parts(self._randomizer))
        other: Any = self._randomizer
        found: Estimate | Mean = other.estimate(self._sum)
        return found


def takes_words(randomizer: Randomizer) -> bool:
    """Whether its estimate wants the words that are asked about."""
    return isinstance(randomizer, Sketch | Rappor)


def parts(tree: Tree) -> list[tuple[str, str]]:
    """A tree's range in at most `PARTS` intervals of the same number of points, but for the last."""
    points = tree.steps + 1
    size = -(-points // PARTS)
    ends = [(start, min(start + size, points) - 1) for start in range(0, points, size)]
    return [(decimal(tree.low + first * tree.step), decimal(tree.low + last * tree.step)) for first, last in ends]


def tallied(store: Store, survey: Survey) -> Tally:
    """Every report of a survey."""
    tally = Tally(survey.randomizer)
    take_new(store, survey, tally)
    return tally


def take_new(store: Store, survey: Survey, tally: Tally, *, most: int | None = None) -> None:
    """What came in since, up to the first `most` reports."""
    while most is None or tally.n < most:
        found = store.reports(survey, after=tally.n)
        piece = found if most is None else found[: most - tally.n]
        try:
            tally.take(piece)
        except UsageError as problem:
            raise StoreFault("a stored report cannot have come in: the store was changed by another hand") from problem
        if len(found) < PIECE:
            return


def summary(
    survey: Survey,
    tally: Tally,
    *,
    confidence: float = 0.95,
    fakes: int | None = None,
    words: Sequence[str] | None = None,
) -> dict[str, Any]:
    """All that may be said: `waiting` below the minimum, else the estimates and how far to trust them."""
    width(confidence)  # refuses what is no confidence, even below the minimum
    told: dict[str, Any] = {
        "n": tally.n,
        "minimum": survey.minimum,
        "closed": survey.closed,
        "epsilon": exact.as_float(survey.randomizer.epsilon, up=True),
        "protocol": survey.randomizer.protocol,
    }
    if tally.n < survey.minimum:
        return {**told, "waiting": True}
    try:
        found = tally.estimate(words)
    except UsageError as few:
        if words is not None:
            raise
        return {**told, "waiting": True, "because": few.reason}  # a tree one of whose levels nobody has drawn yet
    if found is None:
        return {**told, "estimates": [], "words": True}
    some = max(1, round(FAKES * tally.n)) if fakes is None else fakes
    if some < 0:
        raise UsageError("A number of fakes is not negative.")
    figures = _figures(found, confidence, some)
    if some and survey.randomizer.protocol in DISCOVER:
        figures["fakes"]["could_move"] = 1.0
    return {**told, **figures}


def _figures(found: Estimate | Mean, confidence: float, fakes: int) -> dict[str, Any]:
    moved = {"fakes": {"reports": fakes, "could_move": found.moved_by(fakes)}}
    # A share's noise falls with the root of n: four times as many, half as wide.
    trust: dict[str, Any] = {"confidence": confidence, "halve": 3 * found.n, **moved}
    if isinstance(found, Mean):
        low, high = found.interval(confidence)
        return {"mean": found.value, "interval": [low, high], "plus_minus": (high - low) / 2, **trust}
    if found.made != UNBIASED:
        plain = [{"choice": label, "share": share, "interval": None} for label, share in found.shares.items()]
        return {"estimates": plain, "made": found.made, "plus_minus": None, **trust}
    intervals = found.interval(confidence)
    estimates = [
        {"choice": label, "share": share, "interval": list(intervals[label])} for label, share in found.shares.items()
    ]
    widest = max(((high - low) / 2 for low, high in intervals.values()), default=None)
    return {"estimates": estimates, "plus_minus": widest, **trust}


@dataclass(slots=True)
class _Board:
    """One survey's results as they stand."""

    tally: Tally
    lock: threading.Lock = field(default_factory=threading.Lock)
    told: dict[str, Any] | None = None
    due: float = 0.0


class Live:
    """Results for all who look, at the price of one look now and then. Blocks: never call it in an event loop.

    Results move in steps of the survey's minimum until it is closed: were each report to show as it comes in, the
    difference of two looks would be that report.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._boards: dict[str, _Board] = {}
        self._lock = threading.Lock()

    def fresh(self, id_: str) -> dict[str, Any] | None:
        """What was told less than a moment ago, if anything; this does not block."""
        board = self._boards.get(id_)
        return board.told if board is not None and time.monotonic() < board.due else None

    def look(self, id_: str) -> dict[str, Any]:
        """The results; those of a moment ago where they are good enough, or being renewed."""
        if (told := self.fresh(id_)) is not None:
            return told
        survey = self._store.survey(id_)
        with self._lock:
            board = self._boards.setdefault(id_, _Board(Tally(survey.randomizer)))
        if board.told is not None and not board.lock.acquire(blocking=False):
            return board.told
        if board.told is None:
            board.lock.acquire()
        try:
            return self._renew(board, survey)
        finally:
            board.lock.release()

    def _renew(self, board: _Board, survey: Survey) -> dict[str, Any]:
        if board.told is None or time.monotonic() >= board.due:
            start = time.monotonic()
            received = self._store.count(survey.id)
            step = max(1, survey.minimum)
            take_new(self._store, survey, board.tally, most=received if survey.closed else received // step * step)
            told = {"survey": survey.id, "question": survey.question, **summary(survey, board.tally)}
            told["received"] = received
            if told.get("waiting"):
                told["n"] = received
            done = time.monotonic()
            board.told, board.due = told, done + max(REST_S, (done - start) / SHARE)
        return board.told
