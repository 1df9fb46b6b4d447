"""The surveys of a project: their store, their results, and the collector that respondents send their reports to.

Respondents use the addresses of `discreet survey serve` (routes.RESPONDENTS), answered by the same application under
its own strict headers. It is told neither cookies nor tokens: who is logged in here is nothing to a survey.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from discreet.console.jobs import release_store
from discreet.console.project_handle import ProjectHandle
from discreet.console.responses import NotFound
from discreet.errors import UsageError
from discreet.surveys.collector.app import app_of_collector
from discreet.surveys.collector.collector import Collector
from discreet.surveys.collector.live_results import LiveResults
from discreet.surveys.collector.period_results import PeriodTallies, period_summary
from discreet.surveys.collector.results import SurveyTally, summary, tally_new_reports
from discreet.surveys.collector.store_location import open_survey_store
from discreet.surveys.collector.survey_definition import Survey, is_survey_id
from discreet.surveys.collector.survey_store import SurveyStore

Message = dict[str, Any]
Application = Callable[[Message, Callable[[], Awaitable[Any]], Callable[[Any], Awaitable[None]]], Awaitable[None]]

#: What the server says of a request, and nothing that the console has added to it.
_FORWARDED_KEYS = (
    "type", "asgi", "http_version", "method", "scheme", "path", "raw_path", "query_string", "root_path", "server",
    "extensions",
)  # fmt: skip
#: Headers that say who somebody is.
_IDENTIFYING_HEADERS = (b"cookie", b"authorization", b"x-forwarded-for", b"forwarded")


class SurveyHost:
    """What the console holds of them between visits."""

    def __init__(self, folder: Path) -> None:
        self.store: SurveyStore = open_survey_store(None, folder, make=True)
        self._live = LiveResults(self.store)
        self._collector = Collector(self.store)
        self._collector.start()
        self._app = app_of_collector(self._collector)

    def find(self, id_: str) -> Survey:
        """A survey, where there is one."""
        if not is_survey_id(id_):
            raise NotFound
        try:
            return self.store.survey(id_)
        except UsageError:
            raise NotFound from None

    def results(self, survey: Survey) -> dict[str, Any]:
        """What its reports say so far, in steps of its minimum."""
        estimates: dict[str, Any] = release_store.to_json(self._live.current_results(survey.id))
        return estimates

    def word_estimates(self, survey: Survey, words: list[str]) -> dict[str, Any]:
        """The same of a survey that takes any word: about these. Moves in the same steps, for the same reason."""
        if survey.periods is not None:
            return self._period_word_estimates(survey, words)
        received, tally = self.store.count(survey.id), SurveyTally(survey.randomizer)
        most = received if survey.closed else received // survey.minimum * survey.minimum
        tally_new_reports(self.store, survey, tally, most=most)
        estimates: dict[str, Any] = release_store.to_json(summary(survey, tally, words=words))
        return {"survey": survey.id, "question": survey.question, **estimates, "received": received}

    def _period_word_estimates(self, survey: Survey, words: list[str]) -> dict[str, Any]:
        """For each period that takes no more reports."""
        tallies = PeriodTallies(survey.randomizer)
        tally_new_reports(self.store, survey, tallies)
        results = period_summary(survey, tallies, words=words, only_final=True)
        estimates: dict[str, Any] = release_store.to_json(results)
        waiting = all(each["waiting"] for each in results["periods"])
        return {
            "survey": survey.id,
            "question": survey.question,
            **estimates,
            "received": tallies.n,
            "waiting": waiting,
        }

    def collector_app(self, address: str) -> Application:
        """The collector's application, for a visit from an address; it limits how much one may send."""

        async def answer(scope: Message, receive: Any, send: Any) -> None:
            headers = [(name, value) for name, value in scope["headers"] if name.lower() not in _IDENTIFYING_HEADERS]
            plain = {name: scope[name] for name in _FORWARDED_KEYS if name in scope}
            await self._app({**plain, "headers": headers, "client": (address, 0) if address else None}, receive, send)

        return answer

    def close(self) -> None:
        """Store what waits, and let go."""
        self._collector.stop()
        self.store.close()


def survey_host_of(handle: ProjectHandle) -> SurveyHost:
    """The surveys of the house."""
    return handle.singleton(SurveyHost, lambda: SurveyHost(handle.folder))
