"""The web application: routes from the one table, each behind the guard, each answer on its grid."""

from __future__ import annotations

import asyncio
import re
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

from fastapi import FastAPI, Request, Response
from fastapi.responses import RedirectResponse
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from discreet.console import guard, reading, render
from discreet.console.answer import Answer, Denied, Download, Json, Page, Redirect
from discreet.console.asking.grid import until_tick
from discreet.console.defects import Defects
from discreet.console.desk import Desk
from discreet.console.logs import Logs, places_of
from discreet.console.people.browsers import LASTS_S
from discreet.console.refusing import problem_of, refusal, refusal_page
from discreet.console.routes import RESPONDENTS, Route, spelt, table
from discreet.console.settings import Settings
from discreet.console.strict import Ours, Strict
from discreet.console.surveying import surveys_of
from discreet.console.visit import Visit, Visitor

if TYPE_CHECKING:
    from discreet.console.asking.asking import Asking
    from discreet.console.people.people import People

#: Handlers at once, beside those that wait for their question's turn: each kind of free work has a room of its own.
MORE_THREADS = 128

#: For the log: who asked went away before the request was whole.
GONE = 499

Endpoint = Callable[[Request], Awaitable[Response]]


@dataclass(frozen=True, slots=True, kw_only=True)
class House:
    """What all visits share."""

    desk: Desk
    people: People
    asking: Asking
    settings: Settings
    logs: Logs

    def close(self) -> None:
        """Let go of the ledger, the people and the log."""
        self.desk.close()
        self.people.close()
        self.logs.close()


def make(house: House) -> FastAPI:
    """The application over a house."""

    @asynccontextmanager
    async def life(_: FastAPI) -> AsyncIterator[None]:
        threads = house.settings.at_once + house.settings.waiting + MORE_THREADS
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(threads))
        yield
        await asyncio.to_thread(house.asking.drain)

    # The interactive documents would fetch their scripts from elsewhere.
    app = FastAPI(
        title="Discreet", lifespan=life, docs_url=None, redoc_url=None, openapi_url=None, redirect_slashes=False
    )
    for route in table():
        for path in route.paths:
            app.add_route(path, _endpoint(house, route, path), methods=[route.method])
    for method, path in RESPONDENTS:
        app.add_route(path, _respond(house), methods=[method])
    app.mount("/assets", Ours(StaticFiles(directory=render.HERE / "static"), house.settings))

    async def other(request: Request, problem: Exception) -> Response:
        assert isinstance(problem, HTTPException)
        try:
            guard.check_host(request.headers, house.settings)
        except Denied as denied:
            return _refused(house, request, denied, guard.NOBODY, api=_is_api(request))
        said = {404: "There is nothing here.", 405: "That cannot be done with this address."}
        sentence = said.get(problem.status_code, "This request cannot be answered.")
        return _refused(
            house, request, Denied(sentence, status=problem.status_code), guard.NOBODY, api=_is_api(request)
        )

    app.add_exception_handler(HTTPException, other)
    app.add_middleware(Strict, secure=house.settings.secure)
    return app


def _endpoint(house: House, route: Route, path: str) -> Endpoint:
    """A route as the server calls it: one line is logged for each visit, and nothing of what was said."""

    async def come(request: Request) -> Response:
        came, began, visitor, wanted = time.monotonic(), 0.0, guard.NOBODY, route.looks(path, request.url.path)
        delay_s = 0.0
        try:
            guard.check_host(request.headers, house.settings)
            if route.instant:
                return _at_once(house, route, request, since=came)
            secret = request.cookies.get(house.settings.cookie, "")
            visitor = await asyncio.to_thread(guard.visitor_of, request.headers, secret, route, house.people)
            guard.check_origin(request.headers, route, house.settings)
            guard.check_role(visitor, route)
            wanted, params = await asyncio.to_thread(route.face, wanted, _params(request), house.desk)
            visit = await _visit(house, route, request, visitor, params, secret)
            began = visit.began
            answer = await asyncio.to_thread(route.handler, visit)
            delay_s = answer.delay_s if isinstance(answer, Page | Redirect) else 0.0
            response = await asyncio.to_thread(_response, house, answer, visitor, request, wanted)
        except ClientDisconnect:  # nobody is there to be answered, and nothing is broken
            response = Response(status_code=GONE)
        except Exception as problem:  # whatever it was may quote a cell: told by its kind alone
            if isinstance(problem, Denied):
                await asyncio.to_thread(_keep_denial, house, route, visitor, problem)
            response = _refused(house, request, problem, visitor, api=route.api or wanted != "html", route=spelt(path))
        if delay_s:
            await asyncio.sleep(delay_s)  # here and not in the handler: it holds no thread
        if route.gridded:
            await until_tick(began or came, grid_ms=house.settings.grid_ms)
        house.logs.line(
            method=route.method, route=spelt(path), status=response.status_code, who=visitor.name, since=came
        )
        return response

    return come


def _at_once(house: House, route: Route, request: Request, *, since: float) -> Response:
    """An answer that no thread is needed for: a server that is busy says that it is there."""
    answer = route.handler(_visit_of(house, request, guard.NOBODY, _params(request)))
    response = _response(house, answer, guard.NOBODY, request, "html")
    house.logs.line(method=route.method, route=route.path, status=response.status_code, who=None, since=since)
    return response


def _respond(house: House) -> Endpoint:
    """What a survey's respondents use: the collector's own application, which writes down nothing of who came."""

    async def come(request: Request) -> Response:
        try:
            guard.check_host(request.headers, house.settings)
            address = reading.address(request, house.settings)
            surveys = await asyncio.to_thread(surveys_of, house.desk)
        except Exception as problem:
            return _refused(
                house, request, problem, guard.NOBODY, api=request.method != "GET" or _is_api(request), route="/s"
            )
        return surveys.answering(address)  # type: ignore[return-value]  # it answers as one does

    return come


def _keep_denial(house: House, route: Route, visitor: Visitor, denied: Denied) -> None:
    """For the owner, who may be asked why something was denied."""
    who = visitor.name or denied.who
    house.people.denials.keep(who=who, method=route.method, route=route.spelt, why=denied.sentence)


async def _visit(
    house: House, route: Route, request: Request, visitor: Visitor, params: dict[str, str], secret: str
) -> Visit:
    """A request as its handler gets it."""
    headers = request.headers
    address = reading.address(request, house.settings)
    body = await reading.body(request, house.settings, visitor)
    a_form = route.method not in guard.SAFE and not route.api
    form = reading.form(headers.get("content-type", ""), body) if a_form else {}
    guard.check_form(visitor, (form.get("csrf") or (headers.get("x-csrf", ""),))[0], route)
    return replace(
        _visit_of(house, request, visitor, params),
        query=reading.texts(request.url.query),
        form=form,
        body=reading.model(route, body) if route.api else None,
        key=headers.get("idempotency-key", ""),
        secret=secret,
        browser=request.cookies.get(house.settings.browser_cookie, ""),
        address=address,
        began=time.monotonic(),  # after the body, or whoever sends slowly would choose where a tick falls
    )


def _visit_of(house: House, request: Request, visitor: Visitor, params: dict[str, str]) -> Visit:
    return Visit(
        visitor=visitor,
        desk=house.desk,
        people=house.people,
        asking=house.asking,
        settings=house.settings,
        path=request.url.path,
        params=params,
    )


def _params(request: Request) -> dict[str, str]:
    return {name: str(value) for name, value in request.path_params.items()}


def _response(house: House, answer: Answer, visitor: Visitor, request: Request, wanted: str) -> Response:
    match answer:
        case Page() if wanted == "json":
            return Response(render.text(answer.data), answer.status, media_type="application/json")
        case Page() if wanted == "csv":
            grid = render.flat(answer.data) if answer.table is None else answer.table
            name = (request.url.path.rstrip("/").rpartition("/")[2] or "index").removesuffix(".csv")
            return _file(render.csv_of(grid).encode(), "text/csv; charset=utf-8", f"{name}.csv")
        case Page():
            shown = render.html(answer, visitor, path=request.url.path, query=request.url.query)
            return Response(shown, answer.status, media_type="text/html; charset=utf-8")
        case Redirect():
            response: Response = RedirectResponse(_twin(answer.to, wanted), status_code=303)
            if answer.cookie is not None:
                _keep(response, answer.cookie, house.settings)
            if answer.browser is not None:
                _keep_browser(response, answer.browser, house.settings)
            return response
        case Json():
            return Response(render.text(answer.data), answer.status, dict(answer.headers), "application/json")
        case Download():
            return _file(answer.content, answer.media_type, answer.name)


def _twin(to: str, wanted: str) -> str:
    """Where a page's twin leads: to the twin of where the page leads.

    >>> _twin("/r", "json"), _twin("/", "csv"), _twin("/a/r-1?n=2#found", "json"), _twin("/r", "html")
    ('/r.json', '/index.csv', '/a/r-1.json?n=2#found', '/r')
    """
    if wanted == "html":
        return to
    path = re.split("[?#]", to, maxsplit=1)[0]
    return f"{path if path != '/' else '/index'}.{wanted}{to[len(path) :]}"


def _file(content: bytes, media_type: str, name: str) -> Response:
    told = {"content-disposition": f"attachment; filename*=UTF-8''{quote(name, safe='')}"} if name else {}
    return Response(content, headers=told, media_type=media_type)


def _keep(response: Response, secret: str, settings: Settings) -> None:
    """A session's cookie: scripts do not see it, other sites do not send it."""
    age = None if secret else 0
    secure = settings.secure
    response.set_cookie(settings.cookie, secret, path="/", httponly=True, samesite="lax", secure=secure, max_age=age)


def _keep_browser(response: Response, marks: str, settings: Settings) -> None:
    """The cookie of known browsers: it outlives the session, and only a form of our own login page brings it."""
    name, secure = settings.browser_cookie, settings.secure
    response.set_cookie(name, marks, path="/", httponly=True, samesite="strict", secure=secure, max_age=LASTS_S)


def _refused(
    house: House, request: Request, problem: Exception, visitor: Visitor, *, api: bool, route: str = ""
) -> Response:
    """A refusal: JSON for programs, a page for people, who are led to the login where that would help."""
    told = problem_of(problem)
    if told.defect:
        _note(house, problem, method=request.method, route=route)
    headers = {} if told.wait_s is None else {"retry-after": str(int(told.wait_s) + 1)}
    if api:
        return Response(render.text(refusal(told)), told.status, headers, "application/json")
    if told.status == 401 and request.method == "GET":
        return RedirectResponse(f"/login?next={quote(request.url.path, safe='/')}", status_code=303)
    onward = _page_of(house, request) if told.status == 401 else ""
    shown = render.html(refusal_page(told, onward=onward), visitor, path=request.url.path)
    return Response(shown, told.status, headers, "text/html; charset=utf-8")


def _page_of(house: House, request: Request) -> str:
    """The page of ours that a form was sent from, without its query."""
    parts = urlsplit(guard.only(request.headers, "referer"))
    return parts.path if f"{parts.scheme}://{parts.netloc}" in house.settings.origins else "/"


def _note(house: House, problem: Exception, *, method: str, route: str) -> None:
    """A defect, for the log and for the owner's page."""
    id_, place = secrets.token_hex(4), (places_of(problem) or [""])[-1]
    house.logs.defect(problem, id_=id_)
    defects = house.desk.shared(Defects, Defects)
    defects.keep(id_=id_, kind=type(problem).__name__, place=place, method=method, route=route)


def _is_api(request: Request) -> bool:
    return request.url.path.startswith("/api/") or request.url.path.endswith((".json", ".csv"))
