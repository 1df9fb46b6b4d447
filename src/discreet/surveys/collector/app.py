"""The collector's web application: a respondent's page, the live results, and `POST /collect/{survey}`.

No login, no cookies, no request to anybody else, no log of who came.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.errors import StoreFault
from discreet.surveys.collector.collector import AddressMustWait, Collector
from discreet.surveys.collector.collector_headers import CollectorHeaders
from discreet.surveys.collector.intake import RequestRefusal
from discreet.surveys.collector.report_writer import WriterBusy
from discreet.surveys.collector.survey_store import SurveyStore

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

PAGES = Path(__file__).parent / "pages"
CLIENT = Path(__file__).parents[1] / "device" / "client" / "discreet-local.js"


def make_collector_app(store: SurveyStore, *, rate: float | None = None) -> Starlette:
    """The application over a store. rate: reports a second from one address; 0 is no limit."""
    collector = Collector(store, rate=rate)

    @asynccontextmanager
    async def life(_: Starlette) -> AsyncIterator[None]:
        collector.start()
        yield
        await asyncio.to_thread(collector.stop)

    return app_of_collector(collector, life)


def app_of_collector(
    collector: Collector, life: Callable[[Starlette], AbstractAsyncContextManager[None]] | None = None
) -> Starlette:
    """The application over a collector, which `life` starts and stops; without one, whoever made the collector does."""
    from starlette.applications import Starlette
    from starlette.responses import FileResponse, JSONResponse
    from starlette.staticfiles import StaticFiles

    app = Starlette(lifespan=life)
    app.router.redirect_slashes = False

    async def collect(request: Request) -> Response:
        try:
            response_data = await collector.collect(request, request.path_params["survey"])
            # A replay, with nothing new in it, is refused; the body says that all of it is counted.
            return JSONResponse(response_data, 409 if "error" in response_data else 200)
        except (RequestRefusal, WriterBusy, AddressMustWait, StoreFault) as problem:
            return refusal_response(problem)

    async def survey(request: Request) -> Response:
        survey_rules = await asyncio.to_thread(collector.read, request.path_params["survey"])
        return JSONResponse(survey_rules.to_data())

    async def results(request: Request) -> Response:
        return JSONResponse(await collector.results(request.path_params["survey"]))

    def page(name: str) -> Callable[[Request], Awaitable[Response]]:
        async def show(request: Request) -> Response:
            try:
                await collector.survey(request.path_params["survey"])
            except RequestRefusal as wrong:  # the page itself says so, to people
                return FileResponse(PAGES / name, status_code=wrong.status)
            return FileResponse(PAGES / name)

        return show

    async def client(_: Request) -> Response:
        return FileResponse(CLIENT, media_type="text/javascript")

    app.add_route("/collect/{survey}", collect, methods=["POST"])
    app.add_route("/surveys/{survey}.json", survey, methods=["GET"])
    app.add_route("/surveys/{survey}/results.json", results, methods=["GET"])
    app.add_route("/s/{survey}", page("respond.html"), methods=["GET"])
    app.add_route("/s/{survey}/results", page("results.html"), methods=["GET"])
    app.add_route(f"/static/{CLIENT.name}", client, methods=["GET"])
    app.mount("/static", StaticFiles(directory=PAGES))
    _install_error_handlers(app)
    app.add_middleware(CollectorHeaders)
    return app


def _install_error_handlers(app: Starlette) -> None:
    """Every refusal is {"error": one sentence}."""
    from starlette.exceptions import HTTPException
    from starlette.responses import JSONResponse

    async def refused(_: Request, problem: Exception) -> Response:
        return refusal_response(problem)

    async def other(_: Request, problem: Exception) -> Response:
        assert isinstance(problem, HTTPException)
        sentences = {404: "There is no such page.", 405: "This URL does not support that method."}
        sentence = sentences.get(problem.status_code, "This request cannot be answered.")
        return JSONResponse({"error": sentence}, status_code=problem.status_code, headers=problem.headers)

    for kind in (RequestRefusal, WriterBusy, AddressMustWait, StoreFault):
        app.add_exception_handler(kind, refused)
    app.add_exception_handler(HTTPException, other)


def refusal_response(problem: Exception) -> Response:
    """A refused request, in one sentence."""
    from starlette.responses import JSONResponse

    match problem:
        case RequestRefusal():
            return JSONResponse(problem.to_data(), status_code=problem.status)
        case AddressMustWait():
            later = {"retry-after": str(int(problem.wait_s) + 1)}
            return JSONResponse({"error": "Too many reports from your address; try again later."}, 429, later)
        case _:
            sentence = "The collector cannot store reports at the moment; send the report again later."
            return JSONResponse({"error": sentence}, 503, {"retry-after": "2"})
