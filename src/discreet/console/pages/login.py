"""Coming in and going out: /login, /logout, and the first owner's /setup link."""

from __future__ import annotations

import re
from dataclasses import replace

from discreet.console.people.people import LoginAttempt
from discreet.console.people.throttle import TooManyLogins
from discreet.console.request_context import RequestContext
from discreet.console.responses import HandlerResponse, Page, Redirect, RequestDenied
from discreet.console.routes import Route
from discreet.errors import UsageError

WRONG = "The name or the password is wrong."
#: A path of this console. Browsers drop control letters and read a backslash as a slash, and `//` begins a host.
_PATH = re.compile(r"/(?![/\\])[^\\\x00-\x20\x7f]{0,500}")


def show(context: RequestContext) -> HandlerResponse:
    """The form; for somebody who is in already, the page they were on their way to."""
    if context.visitor.via == "session":
        return Redirect(to=safe_path(context.query_text("next")))
    return _form(context, safe_path(context.query_text("next")))


def enter(context: RequestContext) -> HandlerResponse:
    """Log in: a new session, whatever cookie the browser had. An unknown name is told as a wrong password is."""
    name, onward = context.field("name"), safe_path(context.field("next"))
    try:
        tried = attempt(context, name, context.field("password"))
    except TooManyLogins as problem:
        raise too_many(problem) from None
    if tried.cookie is None:
        note_failure(context, name, "/login")
        return replace(_form(context, onward, name=name[:60], error=WRONG, status=401), delay_s=tried.delay_s)
    return Redirect(to=onward, cookie=tried.cookie, browser=tried.browser, delay_s=tried.delay_s)


def leave(context: RequestContext) -> HandlerResponse:
    """Log out: the session ends here, not only in this browser, and the drafts of its person are deleted."""
    if context.secret:
        session = context.people.sessions.find(context.secret)
        if session is not None:
            context.people.drafts.forget(session.person)
        context.people.sessions.end(context.secret)
    return Redirect(to="/login", cookie="")


def setup_form(context: RequestContext) -> HandlerResponse:
    """The form for the first owner."""
    holds = context.people.setup.holds(context.params["link"])
    return _setup_page(holds=holds, status=200 if holds else 404)


def create_first_owner(context: RequestContext) -> HandlerResponse:
    """Make the first owner, who is logged in at once."""
    name, password = context.field("name"), context.field("password")
    if not context.people.setup.holds(context.params["link"]):
        return _setup_page(holds=False, status=404)
    try:
        if password != context.field("again"):
            raise UsageError("the two passwords are not the same")
        context.people.first_owner(context.params["link"], name=name, password=password)
        tried = attempt(context, name, password)
    except TooManyLogins as problem:
        raise too_many(problem) from None
    except UsageError as problem:
        holds = context.people.setup.holds(context.params["link"])  # of two who came at once, one is the owner
        return _setup_page(holds=holds, name=name[:60], error=problem.reason, status=400)
    return Redirect(to="/" if tried.cookie else "/login", cookie=tried.cookie, browser=tried.browser)


def safe_path(path: str) -> str:
    """Where to go after the login: a path of this console, else its first page.

    Guarantee: a link to the login leads nowhere else than into this console.

    >>> [safe_path(to) for to in ("/d/patients", "//evil.example", "/\\t/evil.example", "https://evil.example")]
    ['/d/patients', '/', '/', '/']
    """
    inward = _PATH.fullmatch(path) and path.partition("?")[0] not in ("/login", "/logout")
    return path if inward else "/"


def attempt(context: RequestContext, name: str, password: str, *, trusted: str = "") -> LoginAttempt:
    """Try to log a visit's browser in. Raises Throttled."""
    return context.people.attempt(
        name,
        password,
        address=context.address,
        instead_of=context.secret,
        browser=context.browser,
        trusted=trusted,
    )


def too_many(problem: TooManyLogins) -> RequestDenied:
    """Too many tries, as HTTP tells it."""
    return RequestDenied(f"Too many login attempts. {problem.hint.capitalize()}.", status=429, wait_s=problem.wait_s)


def note_failure(context: RequestContext, name: str, route: str) -> None:
    """For /admin. A name that nobody has may be a password in the wrong field, and is not written down."""
    person = context.people.roster.find(name)
    who = "somebody" if person is None else person.name
    context.people.denials.keep(who=who, method="POST", route=route, why=WRONG, always=True)


def _form(context: RequestContext, onward: str, *, name: str = "", error: str = "", status: int = 200) -> Page:
    data = {"next": onward, "name": name, "error": error, "empty": not context.people.roster.all()}
    return Page(template="login.html", data=data, status=status)


def _setup_page(*, holds: bool, name: str = "", error: str = "", status: int) -> Page:
    return Page(template="login_setup.html", data={"holds": holds, "name": name, "error": error}, status=status)


ROUTES = (
    Route(method="GET", path="/login", handler=show, role="public", twins=False),
    # On the grid too: what the disk and the processor do meanwhile is nobody's clue.
    Route(method="POST", path="/login", handler=enter, role="public", gridded=True),
    Route(method="POST", path="/logout", handler=leave, role="public"),
    Route(method="GET", path="/setup/{link}", handler=setup_form, role="public", twins=False),
    Route(method="POST", path="/setup/{link}", handler=create_first_owner, role="public"),
)
