"""Coming in and going out: /login, /logout, and the first owner's /setup link."""

from __future__ import annotations

import re
from dataclasses import replace

from discreet.console.answer import Answer, Denied, Page, Redirect
from discreet.console.people.people import Attempt
from discreet.console.people.throttle import Throttled
from discreet.console.routes import Route
from discreet.console.visit import Visit
from discreet.errors import UsageError

WRONG = "The name or the password is wrong."
#: A path of this console. Browsers drop control letters and read a backslash as a slash, and `//` begins a host.
_PATH = re.compile(r"/(?![/\\])[^\\\x00-\x20\x7f]{0,500}")


def show(visit: Visit) -> Answer:
    """The form; for somebody who is in already, the page they were on their way to."""
    if visit.visitor.via == "session":
        return Redirect(to=way(visit.asked("next")))
    return _form(visit, way(visit.asked("next")))


def enter(visit: Visit) -> Answer:
    """Log in: a new session, whatever cookie the browser had. An unknown name is told as a wrong password is."""
    name, onward = visit.field("name"), way(visit.field("next"))
    try:
        tried = attempt(visit, name, visit.field("password"))
    except Throttled as problem:
        raise too_many(problem) from None
    if tried.cookie is None:
        note_failure(visit, name, "/login")
        return replace(_form(visit, onward, name=name[:60], error=WRONG, status=401), delay_s=tried.delay_s)
    return Redirect(to=onward, cookie=tried.cookie, browser=tried.browser, delay_s=tried.delay_s)


def leave(visit: Visit) -> Answer:
    """Log out: the session ends here, not only in this browser."""
    if visit.secret:
        visit.people.sessions.end(visit.secret)
    return Redirect(to="/login", cookie="")


def set_up(visit: Visit) -> Answer:
    """The form for the first owner."""
    holds = visit.people.setup.holds(visit.params["link"])
    return _first(holds=holds, status=200 if holds else 404)


def found(visit: Visit) -> Answer:
    """Make the first owner, who is logged in at once."""
    name, password = visit.field("name"), visit.field("password")
    if not visit.people.setup.holds(visit.params["link"]):
        return _first(holds=False, status=404)
    try:
        if password != visit.field("again"):
            raise UsageError("the two passwords are not the same")
        visit.people.first_owner(visit.params["link"], name=name, password=password)
        tried = attempt(visit, name, password)
    except Throttled as problem:
        raise too_many(problem) from None
    except UsageError as problem:
        return _first(holds=True, name=name[:60], error=problem.reason, status=400)
    return Redirect(to="/" if tried.cookie else "/login", cookie=tried.cookie, browser=tried.browser)


def way(told: str) -> str:
    """Where to go after the login: a path of this console, else its first page.

    Guarantee: a link to the login leads nowhere else than into this console.

    >>> way("/d/patients"), way("//evil.example"), way("/\\t/evil.example"), way("https://evil.example")
    ('/d/patients', '/', '/', '/')
    """
    inward = _PATH.fullmatch(told) and told.partition("?")[0] not in ("/login", "/logout")
    return told if inward else "/"


def attempt(visit: Visit, name: str, password: str, *, trusted: str = "") -> Attempt:
    """Try to log a visit's browser in. Raises Throttled."""
    return visit.people.attempt(
        name,
        password,
        address=visit.address,
        instead_of=visit.secret,
        browser=visit.browser,
        trusted=trusted,
    )


def too_many(problem: Throttled) -> Denied:
    """Too many tries, as HTTP tells it."""
    return Denied(f"Too many login attempts. {problem.hint.capitalize()}.", status=429, wait_s=problem.wait_s)


def note_failure(visit: Visit, name: str, route: str) -> None:
    """For /admin. A name that nobody has may be a password in the wrong field, and is not written down."""
    known = visit.people.roster.find(name)
    who = "somebody" if known is None else known.name
    visit.people.denials.keep(who=who, method="POST", route=route, why=WRONG, always=True)


def _form(visit: Visit, onward: str, *, name: str = "", error: str = "", status: int = 200) -> Page:
    data = {"next": onward, "name": name, "error": error, "empty": not visit.people.roster.all()}
    return Page(template="login.html", data=data, status=status)


def _first(*, holds: bool, name: str = "", error: str = "", status: int) -> Page:
    return Page(template="login_setup.html", data={"holds": holds, "name": name, "error": error}, status=status)


ROUTES = (
    Route(method="GET", path="/login", handler=show, role="public", twins=False),
    # On the grid too: what the disk and the processor do meanwhile is nobody's clue.
    Route(method="POST", path="/login", handler=enter, role="public", gridded=True),
    Route(method="POST", path="/logout", handler=leave, role="public"),
    Route(method="GET", path="/setup/{link}", handler=set_up, role="public", twins=False),
    Route(method="POST", path="/setup/{link}", handler=found, role="public"),
)
