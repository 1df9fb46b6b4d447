"""What the web application keeps between requests, and the way of a report through it."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from discreet.errors import UsageError
from discreet.surveys.collector.address_limit import AddressLimit
from discreet.surveys.collector.intake import LONGEST_BODY, ReportUpload, RequestRefusal, read_body
from discreet.surveys.collector.live_results import LiveResults
from discreet.surveys.collector.report_writer import ReportWriter, WriterBusy
from discreet.surveys.collector.survey_definition import Survey, is_survey_id
from discreet.surveys.collector.survey_store import BatchOutcome, SurveyStore

if TYPE_CHECKING:
    from starlette.requests import Request

#: Longer bodies are read by another thread, so that nobody waits behind them.
INLINE_BODY_BYTES = 32 * 1024
#: All bodies that are being read, together; more are told to come back.
MOST_PENDING_BYTES = 64 * LONGEST_BODY
#: A body must be here within this time.
BODY_S = 30.0
#: Threads that compute results.
RESULT_THREADS = 2
#: Surveys that are remembered.
CACHED_SURVEYS = 1_000


class AddressMustWait(Exception):
    """An address that must wait."""

    def __init__(self, wait_s: float) -> None:
        super().__init__()
        self.wait_s = wait_s


class Collector:
    """What the application keeps between requests."""

    def __init__(self, store: SurveyStore, *, rate: float | None = None) -> None:
        self.store = store
        self.limit = AddressLimit(rate)
        self.live = LiveResults(store)
        self._writer: ReportWriter | None = None
        # Of their own, so that those who look at results never keep those waiting who send reports.
        self._result_threads = ThreadPoolExecutor(RESULT_THREADS, "discreet-results")
        self._surveys: dict[str, Survey] = {}
        self._pending_bytes = 0

    def start(self) -> None:
        self._writer = ReportWriter(self.store)

    def stop(self) -> None:
        if self._writer is not None:
            self._writer.stop()
        self._result_threads.shutdown()

    async def survey(self, id_: str) -> Survey:
        """A survey's rules. They never change; whether it is closed is decided when a report is stored."""
        survey = self._surveys.get(id_)
        if survey is None:
            survey = await asyncio.to_thread(self.read, id_)
            if len(self._surveys) >= CACHED_SURVEYS:
                self._surveys.clear()
            self._surveys[id_] = survey
        return survey

    async def results(self, id_: str) -> dict[str, Any]:
        """What the reports of a survey say."""
        results = self.live.cached_results(id_)
        if results is None:
            await self.survey(id_)  # 404 for one that is not there
            results = await asyncio.get_running_loop().run_in_executor(
                self._result_threads, self.live.current_results, id_
            )
        return results

    def read(self, id_: str) -> Survey:
        """A survey as it stands now."""
        if not is_survey_id(id_):
            raise RequestRefusal(404, "There is no such survey.")
        try:
            return self.store.survey(id_)
        except UsageError:
            raise RequestRefusal(404, "There is no such survey.") from None

    def admit(self, address: str | None, reports: int) -> None:
        """Refuse an address that sends too much."""
        wait_s = self.limit.wait_s(address, reports)
        if wait_s and reports > self.limit.capacity:
            raise RequestRefusal(
                413, f"This collector accepts at most {int(self.limit.capacity):,} reports in a batch."
            )
        if wait_s:
            raise AddressMustWait(wait_s)

    async def body(self, request: Request) -> bytes:
        """The body, never more of it than is allowed."""
        from starlette.requests import ClientDisconnect

        content_length = request.headers.get("content-length", "0")
        if not content_length.isdecimal() or len(content_length) > 18 or int(content_length) > LONGEST_BODY:
            raise RequestRefusal(413, f"A request can have at most {LONGEST_BODY:,} bytes.")
        pieces, size = [], 0
        try:
            async with asyncio.timeout(BODY_S):
                async for piece in request.stream():
                    size += len(piece)
                    self._pending_bytes += len(piece)
                    if size > LONGEST_BODY:
                        raise RequestRefusal(413, f"A request can have at most {LONGEST_BODY:,} bytes.")
                    if self._pending_bytes > MOST_PENDING_BYTES:
                        raise WriterBusy
                    pieces.append(piece)
        except TimeoutError:
            raise RequestRefusal(408, "The request did not arrive in time.") from None
        except ClientDisconnect:
            raise RequestRefusal(400, "The request was interrupted.") from None
        finally:
            self._pending_bytes -= size
        return b"".join(pieces)

    async def collect(self, request: Request, id_: str) -> dict[str, Any]:
        """Read, check, store, and only then answer."""
        _refuse_cross_site(request)
        address = request.client.host if request.client is not None else None
        self.admit(address, 1)
        survey = await self.survey(id_)
        body = await self.body(request)
        if len(body) <= INLINE_BODY_BYTES:
            parcel = read_body(body, survey)
        else:
            parcel = await asyncio.to_thread(read_body, body, survey)
        if len(parcel.batch.reports) > 1:
            self.admit(address, len(parcel.batch.reports) - 1)
        return parcel.answer(await self._store_upload(parcel))

    async def _store_upload(self, parcel: ReportUpload) -> BatchOutcome:
        assert self._writer is not None
        loop = asyncio.get_running_loop()
        future: asyncio.Future[BatchOutcome] = loop.create_future()

        def settle(outcome: BatchOutcome | Exception) -> None:
            if future.done():
                return  # the sender has gone; what it sent is stored all the same
            if isinstance(outcome, Exception):
                future.set_exception(outcome)
            else:
                future.set_result(outcome)

        def tell(outcome: BatchOutcome | Exception) -> None:
            loop.call_soon_threadsafe(settle, outcome)

        self._writer.put(parcel.batch, tell)
        return await future


def _refuse_cross_site(request: Request) -> None:
    """A page of another site must not make its visitors answer: browsers say where a request comes from."""
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    if site is not None:
        ours = site in ("same-origin", "none")
    else:
        ours = origin is None or origin.partition("://")[2] == request.headers.get("host")
    if not ours:
        raise RequestRefusal(403, "Reports are accepted only from this site's own page or from a program.")
