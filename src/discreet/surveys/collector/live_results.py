"""Results for all who look: kept up as reports come in, and told at most once in a while."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from typing import Any

from discreet.surveys.collector.period_results import PeriodTallies, period_summary
from discreet.surveys.collector.results import SurveyTally, summary, tally_new_reports
from discreet.surveys.collector.survey_definition import Survey
from discreet.surveys.collector.survey_store import SurveyStore

#: Results are computed at most once in this time, and take at most this share of it.
REST_S = 1.0
SHARE = 0.1


@dataclass(slots=True)
class _CachedResults:
    """One survey's results as they stand."""

    tally: SurveyTally | PeriodTallies
    lock: threading.Lock = field(default_factory=threading.Lock)
    results: dict[str, Any] | None = None
    due: float = 0.0


class LiveResults:
    """Results for all who look, at the price of one look now and then. Blocks: never call it in an event loop.

    Results move in steps of the survey's minimum until it is closed: were each report to show as it comes in, the
    difference of two looks would be that report. Of a survey with periods only those are shown that take no more.
    """

    def __init__(self, store: SurveyStore) -> None:
        self._store = store
        self._boards: dict[str, _CachedResults] = {}
        self._lock = threading.Lock()

    def cached_results(self, id_: str) -> dict[str, Any] | None:
        """What was told less than a moment ago, if anything; this does not block."""
        board = self._boards.get(id_)
        return board.results if board is not None and time.monotonic() < board.due else None

    def current_results(self, id_: str) -> dict[str, Any]:
        """The results; those of a moment ago where they are good enough, or being renewed."""
        if (results := self.cached_results(id_)) is not None:
            return results
        survey = self._store.survey(id_)
        with self._lock:
            board = self._boards.setdefault(id_, _CachedResults(new_tally(survey)))
        if board.results is not None and not board.lock.acquire(blocking=False):
            return board.results
        if board.results is None:
            board.lock.acquire()
        try:
            return self._renew(board, survey)
        finally:
            board.lock.release()

    def _renew(self, board: _CachedResults, survey: Survey) -> dict[str, Any]:
        if board.results is None or time.monotonic() >= board.due:
            start = time.monotonic()
            results = {"survey": survey.id, "question": survey.question, **self._estimated(board.tally, survey)}
            done = time.monotonic()
            board.results, board.due = results, done + max(REST_S, (done - start) / SHARE)
        return board.results

    def _estimated(self, tally: SurveyTally | PeriodTallies, survey: Survey) -> dict[str, Any]:
        received = self._store.count(survey.id)
        if isinstance(tally, PeriodTallies):
            tally_new_reports(self._store, survey, tally)
            results = period_summary(survey, tally, only_final=True)
            return {
                **results,
                "received": received,
                "waiting": not any(not each["waiting"] for each in results["periods"]),
            }
        step = max(1, survey.minimum)
        tally_new_reports(self._store, survey, tally, most=received if survey.closed else received // step * step)
        results = summary(survey, tally)
        return {**results, "received": received, **({"n": received} if results.get("waiting") else {})}


def new_tally(survey: Survey) -> SurveyTally | PeriodTallies:
    """Nothing counted yet."""
    return SurveyTally(survey.randomizer) if survey.periods is None else PeriodTallies(survey.randomizer)
