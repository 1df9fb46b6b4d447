"""The web application: routes from the one table, each behind the guard, each answer on its grid."""

from __future__ import annotations

import asyncio
import re
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import replace
from urllib.parse import quote, urlsplit

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import RedirectResponse, Response

from discreet.console import guard, render, request_reader
from discreet.console.access_log import code_places
from discreet.console.app_state import AppState
from discreet.console.assets import AssetFiles
from discreet.console.defects import Defects
from discreet.console.error_responses import error_json, error_page, error_report_of
from discreet.console.jobs.survey_host import survey_host_of
from discreet.console.jobs.time_grid import until_tick
from discreet.console.people.browsers import LASTS_S
from discreet.console.request_context import RequestContext
from discreet.console.responses import Download, HandlerResponse, JsonData, Page, Redirect, RequestDenied
from discreet.console.routes import RESPONDENTS, Route, display_path, route_table
from discreet.console.security_headers import ConsoleSecurityHeaders
from discreet.console.settings import Settings
from discreet.console.visitor import Visitor

#: Handlers at once, beside those that wait for their question's turn: each kind of free work has a room of its own.
MORE_THREADS = 128

#: For the log: who asked went away before the request was whole.
GONE = 499

Endpoint = Callable[[Request], Awaitable[Response]]


def make_app(state: AppState) -> Starlette:
    """The application over a house."""

    @asynccontextmanager
    async def life(_: Starlette) -> AsyncIterator[None]:
        threads = state.settings.at_once + state.settings.waiting + MORE_THREADS
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(threads))
        yield
        await asyncio.to_thread(state.queries.drain)

    app = Starlette(lifespan=life)
    app.router.redirect_slashes = False
    for route in route_table():
        for path in route.paths:
            app.add_route(path, _make_endpoint(state, route, path), methods=[route.method])
    for method, path in RESPONDENTS:
        app.add_route(path, _make_collector_endpoint(state), methods=[method])
    app.mount("/assets", AssetFiles(state.settings))

    async def handle_http_error(request: Request, problem: Exception) -> Response:
        assert isinstance(problem, HTTPException)
        try:
            guard.check_host(request.headers, state.settings)
        except RequestDenied as denied:
            return _error_response(state, request, denied, guard.PUBLIC_VISITOR, api=_is_api(request))
        sentences = {404: "There is nothing here.", 405: "This URL does not support this method."}
        sentence = sentences.get(problem.status_code, "This request cannot be answered.")
        return _error_response(
            state,
            request,
            RequestDenied(sentence, status=problem.status_code),
            guard.PUBLIC_VISITOR,
            api=_is_api(request),
        )

    app.add_exception_handler(HTTPException, handle_http_error)
    app.add_middleware(ConsoleSecurityHeaders, secure=state.settings.secure)
    return app


def _make_endpoint(state: AppState, route: Route, path: str) -> Endpoint:
    """A route as the server calls it: one line is logged for each visit, and nothing of what was said."""

    async def answer_request(request: Request) -> Response:
        came, began, visitor, page_format = (
            time.monotonic(),
            0.0,
            guard.PUBLIC_VISITOR,
            route.guess_format(path, request.url.path),
        )
        delay_s = 0.0
        try:
            if route.instant:  # whoever watches over the server may call it by any name; it says nothing of anybody
                return _respond_instantly(state, route, request, since=came)
            guard.check_host(request.headers, state.settings)
            secret = request.cookies.get(state.settings.cookie, "")
            visitor = await asyncio.to_thread(guard.visitor_of, request.headers, secret, route, state.people)
            guard.check_origin(request.headers, route, state.settings)
            guard.check_role(visitor, route)
            guard.check_password(visitor, route)
            page_format, params = await asyncio.to_thread(
                route.resolve_format, page_format, _params(request), state.handle
            )
            context = await _read_context(state, route, request, visitor, params, secret)
            began = context.began
            try:
                answer = await asyncio.to_thread(route.handler, context)
            finally:
                if context.upload is not None:
                    await asyncio.to_thread(context.upload.unlink, missing_ok=True)
            delay_s = answer.delay_s if isinstance(answer, Page | Redirect) else 0.0
            response = await asyncio.to_thread(_response, state, answer, visitor, request, page_format)
        except ClientDisconnect:  # nobody is there to be answered, and nothing is broken
            response = Response(status_code=GONE)
        except Exception as problem:  # whatever it was may quote a cell: told by its kind alone
            if isinstance(problem, RequestDenied) and not isinstance(problem, guard.PasswordChangeNeeded):
                await asyncio.to_thread(_record_denial, state, route, visitor, problem)
            response = _error_response(
                state, request, problem, visitor, api=route.api or page_format != "html", route=display_path(path)
            )
        if delay_s:
            await asyncio.sleep(delay_s)  # here and not in the handler: it holds no thread
        if route.gridded:
            await until_tick(began or came, grid_ms=state.settings.grid_ms)
        state.access_log.line(
            method=route.method, route=display_path(path), status=response.status_code, who=visitor.name, since=came
        )
        return response

    return answer_request


def _respond_instantly(state: AppState, route: Route, request: Request, *, since: float) -> Response:
    """An answer that no thread is needed for: a server that is busy says that it is there."""
    answer = route.handler(_bare_context(state, request, guard.PUBLIC_VISITOR, _params(request)))
    response = _response(state, answer, guard.PUBLIC_VISITOR, request, "html")
    state.access_log.line(method=route.method, route=route.path, status=response.status_code, who=None, since=since)
    return response


def _make_collector_endpoint(state: AppState) -> Endpoint:
    """What a survey's respondents use: the collector's own application, which writes down nothing of who came."""

    async def forward_to_collector(request: Request) -> Response:
        try:
            guard.check_host(request.headers, state.settings)
            address = request_reader.client_address(request, state.settings)
            surveys = await asyncio.to_thread(survey_host_of, state.handle)
        except Exception as problem:
            return _error_response(
                state,
                request,
                problem,
                guard.PUBLIC_VISITOR,
                api=request.method != "GET" or _is_api(request),
                route="/s",
            )
        return surveys.collector_app(address)  # type: ignore[return-value]  # it answers as one does

    return forward_to_collector


def _record_denial(state: AppState, route: Route, visitor: Visitor, denied: RequestDenied) -> None:
    """For the owner, who may be asked why something was denied."""
    who = visitor.name or denied.who
    state.people.denials.keep(who=who, method=route.method, route=route.display_path, why=denied.sentence)


async def _read_context(
    state: AppState, route: Route, request: Request, visitor: Visitor, params: dict[str, str], secret: str
) -> RequestContext:
    """A request as its handler gets it."""
    headers = request.headers
    address = request_reader.client_address(request, state.settings)
    if route.upload:  # who may not send a file is told so before it comes
        guard.check_form(visitor, headers.get("x-csrf", ""), route)
        upload = await request_reader.receive_file(request, state.settings, state.handle.folder)
        body, form = b"", {}
    else:
        upload = None
        body = await request_reader.read_body(request, state.settings, visitor)
        a_form = route.method not in guard.SAFE and not route.api
        kind = headers.get("content-type", "")
        form = request_reader.parse_form(kind, body, most_fields=route.most_fields) if a_form else {}
        guard.check_form(visitor, (form.get("csrf") or (headers.get("x-csrf", ""),))[0], route)
    return replace(
        _bare_context(state, request, visitor, params),
        query=request_reader.parse_texts(request.url.query),
        form=form,
        body=request_reader.parse_model(route, body) if route.api else None,
        key=headers.get("idempotency-key", ""),
        secret=secret,
        browser=request.cookies.get(state.settings.browser_cookie, ""),
        address=address,
        upload=upload,
        began=time.monotonic(),  # after the body, or whoever sends slowly would choose where a tick falls
    )


def _bare_context(state: AppState, request: Request, visitor: Visitor, params: dict[str, str]) -> RequestContext:
    return RequestContext(
        visitor=visitor,
        handle=state.handle,
        people=state.people,
        queries=state.queries,
        settings=state.settings,
        path=request.url.path,
        params=params,
    )


def _params(request: Request) -> dict[str, str]:
    return {name: str(value) for name, value in request.path_params.items()}


def _response(
    state: AppState, answer: HandlerResponse, visitor: Visitor, request: Request, page_format: str
) -> Response:
    match answer:
        case Page() if page_format == "json":
            return Response(render.text(answer.data), answer.status, media_type="application/json")
        case Page() if page_format == "csv":
            grid = render.flat(answer.data) if answer.table is None else answer.table
            name = (request.url.path.rstrip("/").rpartition("/")[2] or "index").removesuffix(".csv")
            return _download_response(render.csv_of(grid).encode(), "text/csv; charset=utf-8", f"{name}.csv")
        case Page():
            practice = state.handle.project.ledger.state.practice
            shown = render.html(answer, visitor, path=request.url.path, query=request.url.query, practice=practice)
            return Response(shown, answer.status, media_type="text/html; charset=utf-8")
        case Redirect():
            response: Response = RedirectResponse(_with_format(answer.to, page_format), status_code=303)
            if answer.cookie is not None:
                _set_session_cookie(response, answer.cookie, state.settings)
            if answer.browser is not None:
                _set_browser_cookie(response, answer.browser, state.settings)
            return response
        case JsonData():
            return Response(render.text(answer.data), answer.status, dict(answer.headers), "application/json")
        case Download():
            return _download_response(answer.content, answer.media_type, answer.name)


def _with_format(to: str, page_format: str) -> str:
    """Where a page's twin leads: to the twin of where the page leads.

    >>> [_with_format(*each) for each in (("/r", "json"), ("/", "csv"), ("/a/r-1?n=2#found", "json"), ("/r", "html"))]
    ['/r.json', '/index.csv', '/a/r-1.json?n=2#found', '/r']
    """
    if page_format == "html":
        return to
    path = re.split("[?#]", to, maxsplit=1)[0]
    return f"{path if path != '/' else '/index'}.{page_format}{to[len(path) :]}"


def _download_response(content: bytes, media_type: str, name: str) -> Response:
    headers = {"content-disposition": f"attachment; filename*=UTF-8''{quote(name, safe='')}"} if name else {}
    return Response(content, headers=headers, media_type=media_type)


def _set_session_cookie(response: Response, secret: str, settings: Settings) -> None:
    """A session's cookie: scripts do not see it, other sites do not send it."""
    age = None if secret else 0
    secure = settings.secure
    response.set_cookie(settings.cookie, secret, path="/", httponly=True, samesite="lax", secure=secure, max_age=age)


def _set_browser_cookie(response: Response, marks: str, settings: Settings) -> None:
    """The cookie of known browsers: it outlives the session, and only a form of our own login page brings it."""
    name, secure = settings.browser_cookie, settings.secure
    response.set_cookie(name, marks, path="/", httponly=True, samesite="strict", secure=secure, max_age=LASTS_S)


def _error_response(
    state: AppState, request: Request, problem: Exception, visitor: Visitor, *, api: bool, route: str = ""
) -> Response:
    """A refusal: JSON for programs, a page for people, who are led to the login where that would help."""
    report = error_report_of(problem)
    if report.defect:
        _record_defect(state, problem, method=request.method, route=route)
    headers = {} if report.wait_s is None else {"retry-after": str(int(report.wait_s) + 1)}
    if api:
        return Response(render.text(error_json(report)), report.status, headers, "application/json")
    if isinstance(problem, guard.PasswordChangeNeeded) and request.method == "GET":
        return RedirectResponse("/me", status_code=303)
    if report.status == 401 and request.method == "GET":
        return RedirectResponse(f"/login?next={quote(request.url.path, safe='/')}", status_code=303)
    onward = _referring_page(state, request) if report.status == 401 else ""
    shown = render.html(error_page(report, onward=onward), visitor, path=request.url.path)
    return Response(shown, report.status, headers, "text/html; charset=utf-8")


def _referring_page(state: AppState, request: Request) -> str:
    """The page of ours that a form was sent from, without its query."""
    parts = urlsplit(guard.single_header(request.headers, "referer"))
    return parts.path if f"{parts.scheme}://{parts.netloc}" in state.settings.origins else "/"


def _record_defect(state: AppState, problem: Exception, *, method: str, route: str) -> None:
    """A defect, for the log and for the owner's page."""
    id_, place = secrets.token_hex(4), (code_places(problem) or [""])[-1]
    state.access_log.defect(problem, id_=id_)
    defects = state.handle.singleton(Defects, Defects)
    defects.keep(id_=id_, kind=type(problem).__name__, place=place, method=method, route=route)


def _is_api(request: Request) -> bool:
    return request.url.path.startswith("/api/") or request.url.path.endswith((".json", ".csv"))
