"""What the web application keeps between requests, and the way of a report through it."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from discreet.collect.intake import LONGEST_BODY, Parcel, Wrong, read_body
from discreet.collect.limit import Limit
from discreet.collect.results import Live
from discreet.collect.store import Outcome, Store
from discreet.collect.survey import Survey, is_id
from discreet.collect.writer import Busy, Writer
from discreet.errors import UsageError

if TYPE_CHECKING:
    from fastapi import Request

#: Longer bodies are read by another thread, so that nobody waits behind them.
INLINE = 32 * 1024
#: All bodies that are being read, together; more are told to come back.
ROOM = 64 * LONGEST_BODY
#: A body must be here within this time.
BODY_S = 30.0
#: Threads that compute results.
LOOKERS = 2
#: Surveys that are remembered.
REMEMBERED = 1_000


class Slow(Exception):
    """An address that must wait."""

    def __init__(self, wait_s: float) -> None:
        super().__init__()
        self.wait_s = wait_s


class Collector:
    """What the application keeps between requests."""

    def __init__(self, store: Store, *, rate: float | None = None) -> None:
        self.store = store
        self.limit = Limit(rate)
        self.live = Live(store)
        self._writer: Writer | None = None
        # Of their own, so that those who look at results never keep those waiting who send reports.
        self._lookers = ThreadPoolExecutor(LOOKERS, "discreet-results")
        self._surveys: dict[str, Survey] = {}
        self._held = 0

    def start(self) -> None:
        self._writer = Writer(self.store)

    def stop(self) -> None:
        if self._writer is not None:
            self._writer.stop()
        self._lookers.shutdown()

    async def survey(self, id_: str) -> Survey:
        """A survey's rules. They never change; whether it is closed is decided when a report is stored."""
        found = self._surveys.get(id_)
        if found is None:
            found = await asyncio.to_thread(self.read, id_)
            if len(self._surveys) >= REMEMBERED:
                self._surveys.clear()
            self._surveys[id_] = found
        return found

    async def results(self, id_: str) -> dict[str, Any]:
        """What the reports of a survey say."""
        told = self.live.fresh(id_)
        if told is None:
            await self.survey(id_)  # 404 for one that is not there
            told = await asyncio.get_running_loop().run_in_executor(self._lookers, self.live.look, id_)
        return told

    def read(self, id_: str) -> Survey:
        """A survey as it stands now."""
        if not is_id(id_):
            raise Wrong(404, "There is no such survey.")
        try:
            return self.store.survey(id_)
        except UsageError:
            raise Wrong(404, "There is no such survey.") from None

    def admit(self, address: str | None, reports: int) -> None:
        """Refuse an address that sends too much."""
        wait_s = self.limit.wait_s(address, reports)
        if wait_s and reports > self.limit.full:
            raise Wrong(413, f"A batch has at most {int(self.limit.full):,} reports here.")
        if wait_s:
            raise Slow(wait_s)

    async def body(self, request: Request) -> bytes:
        """The body, never more of it than is allowed."""
        from starlette.requests import ClientDisconnect

        said = request.headers.get("content-length", "0")
        if not said.isdecimal() or len(said) > 18 or int(said) > LONGEST_BODY:
            raise Wrong(413, f"A request has at most {LONGEST_BODY:,} bytes.")
        pieces, size = [], 0
        try:
            async with asyncio.timeout(BODY_S):
                async for piece in request.stream():
                    size += len(piece)
                    self._held += len(piece)
                    if size > LONGEST_BODY:
                        raise Wrong(413, f"A request has at most {LONGEST_BODY:,} bytes.")
                    if self._held > ROOM:
                        raise Busy
                    pieces.append(piece)
        except TimeoutError:
            raise Wrong(408, "The request did not arrive in time.") from None
        except ClientDisconnect:
            raise Wrong(400, "The request broke off.") from None
        finally:
            self._held -= size
        return b"".join(pieces)

    async def collect(self, request: Request, id_: str) -> dict[str, Any]:
        """Read, check, store, and only then answer."""
        _refuse_elsewhere(request)
        address = request.client.host if request.client is not None else None
        self.admit(address, 1)
        survey = await self.survey(id_)
        body = await self.body(request)
        if len(body) <= INLINE:
            parcel = read_body(body, survey)
        else:
            parcel = await asyncio.to_thread(read_body, body, survey)
        if len(parcel.batch.sent) > 1:
            self.admit(address, len(parcel.batch.sent) - 1)
        return parcel.answer(await self._stored(parcel))

    async def _stored(self, parcel: Parcel) -> Outcome:
        assert self._writer is not None
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Outcome] = loop.create_future()

        def settle(outcome: Outcome | Exception) -> None:
            if future.done():
                return  # the sender has gone; what it sent is stored all the same
            if isinstance(outcome, Exception):
                future.set_exception(outcome)
            else:
                future.set_result(outcome)

        def tell(outcome: Outcome | Exception) -> None:
            loop.call_soon_threadsafe(settle, outcome)

        self._writer.put(parcel.batch, tell)
        return await future


def _refuse_elsewhere(request: Request) -> None:
    """A page of another site must not make its visitors answer: browsers say where a request comes from."""
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    if site is not None:
        ours = site in ("same-origin", "none")
    else:
        ours = origin is None or origin.partition("://")[2] == request.headers.get("host")
    if not ours:
        raise Wrong(403, "Reports are taken from this site's own page, or from a program.")
