"""The surveys of a project: their store, their results, and the collector that respondents send their reports to.

Respondents use the addresses of `discreet survey serve` (routes.RESPONDENTS), answered by the same application under
its own strict headers. It is told neither cookies nor tokens: who is logged in here is nothing to a survey.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from discreet.collect.app import over
from discreet.collect.collector import Collector
from discreet.collect.results import Live, Tally, summary, take_new
from discreet.collect.store import Store, open_store
from discreet.collect.survey import Survey, is_id
from discreet.console import kept
from discreet.console.answer import Missing
from discreet.console.desk import Desk
from discreet.errors import UsageError

Message = dict[str, Any]
Application = Callable[[Message, Callable[[], Awaitable[Any]], Callable[[Any], Awaitable[None]]], Awaitable[None]]

#: What the server says of a request, and nothing that the console has added to it.
_PLAIN = (
    "type", "asgi", "http_version", "method", "scheme", "path", "raw_path", "query_string", "root_path", "server",
    "extensions",
)  # fmt: skip
#: Headers that say who somebody is.
_OURS = (b"cookie", b"authorization", b"x-forwarded-for", b"forwarded")


class Surveys:
    """What the console holds of them between visits."""

    def __init__(self, folder: Path) -> None:
        self.store: Store = open_store(None, folder, make=True)
        self._live = Live(self.store)
        self._collector = Collector(self.store)
        self._collector.start()
        self._app = over(self._collector)

    def find(self, id_: str) -> Survey:
        """A survey, where there is one."""
        if not is_id(id_):
            raise Missing
        try:
            return self.store.survey(id_)
        except UsageError:
            raise Missing from None

    def results(self, survey: Survey) -> dict[str, Any]:
        """What its reports say so far, in steps of its minimum."""
        found: dict[str, Any] = kept.plain(self._live.look(survey.id))
        return found

    def about_words(self, survey: Survey, words: list[str]) -> dict[str, Any]:
        """The same of a survey that takes any word: about these. Moves in the same steps, for the same reason."""
        received, tally = self.store.count(survey.id), Tally(survey.randomizer)
        most = received if survey.closed else received // survey.minimum * survey.minimum
        take_new(self.store, survey, tally, most=most)
        found: dict[str, Any] = kept.plain(summary(survey, tally, words=words))
        return {"survey": survey.id, "question": survey.question, **found, "received": received}

    def answering(self, address: str) -> Application:
        """The collector's application, for a visit from an address; it limits how much one may send."""

        async def answer(scope: Message, receive: Any, send: Any) -> None:
            headers = [(name, value) for name, value in scope["headers"] if name.lower() not in _OURS]
            plain = {name: scope[name] for name in _PLAIN if name in scope}
            await self._app({**plain, "headers": headers, "client": (address, 0) if address else None}, receive, send)

        return answer

    def close(self) -> None:
        """Store what waits, and let go."""
        self._collector.stop()
        self.store.close()


def surveys_of(desk: Desk) -> Surveys:
    """The surveys of the house."""
    return desk.shared(Surveys, lambda: Surveys(desk.folder))
