"""One's own page: password, tokens, sessions."""

from __future__ import annotations

from typing import Any

from discreet.console.answer import Answer, Grid, Missing, Page, Redirect
from discreet.console.pages.login import attempt, note_failure, too_many
from discreet.console.people.roster import ROLES, Person, role_of
from discreet.console.people.throttle import Throttled
from discreet.console.people.tokens import DAYS, MOST_DAYS
from discreet.console.routes import Route
from discreet.console.visit import Visit
from discreet.errors import UsageError

_SAID = {
    "password": "Your password is changed, and every other session has ended.",
    "ended": "Every other session has ended.",
}
TOKEN_COLUMNS = ("number", "person", "label", "role", "created", "expires", "revoked", "used", "holds")


def show(visit: Visit) -> Answer:
    """Who one is here."""
    return _page(visit, said=_SAID.get(visit.asked("said"), ""))


def password(visit: Visit) -> Answer:
    """A new password, by who knows the old one. Every session ends, and this browser gets a new one."""
    me, new = person_of(visit), visit.field("new")
    try:
        if new != visit.field("again"):
            raise UsageError("the two new passwords are not the same")
        if visit.people.check(me.name, visit.field("old"), address=visit.address, trusted=visit.secret) is None:
            note_failure(visit, me.name, "/me/password")
            raise UsageError("the old password is wrong")
        visit.people.set_password(me.name, new)
        tried = attempt(visit, me.name, new, trusted=visit.secret)
    except Throttled as problem:
        raise too_many(problem) from None
    except UsageError as problem:
        return _page(visit, error=str(problem.reason), status=400)
    to = "/me?said=password" if tried.cookie else "/login"
    return Redirect(to=to, cookie=tried.cookie, browser=tried.browser)


def make_token(visit: Visit) -> Answer:
    """A new token; this page is the only one that shows it."""
    me = person_of(visit)
    try:
        role = role_of(visit.field("role", me.role))
        text, _ = visit.people.tokens.make(me, label=visit.field("label"), days=_days(visit), role=role)
    except UsageError as problem:
        return _page(visit, error=problem.reason, status=400)
    return _page(visit, token=text)


def revoke(visit: Visit) -> Answer:
    """End a token of one's own."""
    number = whole(visit.params["number"])
    if number not in {token.number for token in visit.people.tokens.all(person_of(visit))}:
        raise Missing
    visit.people.tokens.revoke(number)
    return Redirect(to="/me#tokens")


def end_others(visit: Visit) -> Answer:
    """End one's other sessions."""
    visit.people.sessions.end_all(person_of(visit), but=visit.secret)
    return Redirect(to="/me?said=ended")


def person_of(visit: Visit) -> Person:
    """The person who comes."""
    return visit.people.roster.get(visit.visitor.name or "")


def whole(text: str) -> int:
    """A number in a path."""
    if not text.isascii() or not text.isdigit() or len(text) > 15:
        raise Missing
    return int(text)


def _days(visit: Visit) -> int:
    told = visit.field("days", str(DAYS)).strip()
    if not told.isascii() or not told.isdigit() or len(told) > 6:
        raise UsageError(f"a token holds for 1 to {MOST_DAYS:,} days")
    return int(told)


def _page(visit: Visit, *, said: str = "", error: str = "", token: str = "", status: int = 200) -> Page:
    me, now = person_of(visit), visit.people.clock()
    tokens = [each.data(now) for each in visit.people.tokens.all(me)]
    data: dict[str, Any] = {
        "person": me.data(),
        "roles": list(ROLES[: ROLES.index(me.role) + 1]),
        "tokens": tokens,
        "sessions": [each for each in visit.people.sessions.all() if each["person"] == me.name],
        "days": DAYS,
        "most_days": MOST_DAYS,
        "said": said,
        "error": error,
        "token": token,
    }
    rows = [[each[column] for column in TOKEN_COLUMNS] for each in tokens]
    return Page(template="me.html", data=data, table=Grid(columns=TOKEN_COLUMNS, rows=rows), status=status)


ROUTES = (
    Route(method="GET", path="/me", handler=show, role="analyst"),
    Route(method="POST", path="/me/password", handler=password, role="analyst"),
    Route(method="POST", path="/me/tokens", handler=make_token, role="analyst"),
    Route(method="POST", path="/me/tokens/{number}/revoke", handler=revoke, role="analyst"),
    Route(method="POST", path="/me/sessions/end", handler=end_others, role="analyst"),
)
