"""One's own page: password, tokens, sessions."""

from __future__ import annotations

from typing import Any

from discreet.console.pages.login import attempt, note_failure, too_many
from discreet.console.people.roster import ROLES, Person, role_of
from discreet.console.people.throttle import TooManyLogins
from discreet.console.people.tokens import DAYS, MOST_DAYS
from discreet.console.request_context import RequestContext
from discreet.console.responses import HandlerResponse, NotFound, Page, PageTable, Redirect
from discreet.console.routes import Route
from discreet.errors import UsageError

_NOTICES = {
    "password": "Your password was changed, and all your other sessions have ended.",
    "ended": "All your other sessions have ended.",
}
TOKEN_COLUMNS = ("number", "person", "label", "role", "created", "expires", "revoked", "used", "holds")


def show(context: RequestContext) -> HandlerResponse:
    """Who one is here."""
    return _page(context, notice=_NOTICES.get(context.query_text("said"), ""))


def password(context: RequestContext) -> HandlerResponse:
    """A new password, by who knows the old one. Every session ends, and this browser gets a new one."""
    me, new = current_person(context), context.field("new")
    try:
        if new != context.field("again"):
            raise UsageError("the two new passwords are not the same")
        changed = context.people.change_password(
            me.name, context.field("old"), new, address=context.address, trusted=context.secret
        )
        if changed is None:
            note_failure(context, me.name, "/me/password")
            raise UsageError("the current password is wrong")
        tried = attempt(context, me.name, new, trusted=context.secret)
    except TooManyLogins as problem:
        raise too_many(problem) from None
    except UsageError as problem:
        return _page(context, error=str(problem.reason), status=400)
    to = "/me?said=password" if tried.cookie else "/login"
    return Redirect(to=to, cookie=tried.cookie, browser=tried.browser)


def make_token(context: RequestContext) -> HandlerResponse:
    """A new token; this page is the only one that shows it."""
    me = current_person(context)
    try:
        role = role_of(context.field("role", me.role))
        text, _ = context.people.tokens.make(me, label=context.field("label"), days=_days(context), role=role)
    except UsageError as problem:
        return _page(context, error=problem.reason, status=400)
    return _page(context, token=text)


def revoke(context: RequestContext) -> HandlerResponse:
    """End a token of one's own."""
    number = path_number(context.params["number"])
    if number not in {token.number for token in context.people.tokens.all(current_person(context))}:
        raise NotFound
    context.people.tokens.revoke(number)
    return Redirect(to="/me#tokens")


def end_others(context: RequestContext) -> HandlerResponse:
    """End one's other sessions."""
    context.people.sessions.end_all(current_person(context), but=context.secret)
    return Redirect(to="/me?said=ended")


def current_person(context: RequestContext) -> Person:
    """The person who comes."""
    return context.people.roster.get(context.visitor.name or "")


def path_number(text: str) -> int:
    """A number in a path."""
    if not text.isascii() or not text.isdigit() or len(text) > 15:
        raise NotFound
    return int(text)


def _days(context: RequestContext) -> int:
    days_text = context.field("days", str(DAYS)).strip()
    if not days_text.isascii() or not days_text.isdigit() or len(days_text) > 6:
        raise UsageError(f"a token can be valid for 1 to {MOST_DAYS:,} days")
    return int(days_text)


def _page(context: RequestContext, *, notice: str = "", error: str = "", token: str = "", status: int = 200) -> Page:
    me, now = current_person(context), context.people.clock()
    tokens = [each.data(now) for each in context.people.tokens.all(me)]
    data: dict[str, Any] = {
        "person": me.data(),
        "roles": list(ROLES[: ROLES.index(me.role) + 1]),
        "tokens": tokens,
        "must_change": context.visitor.must_change,
        "sessions": [each for each in context.people.sessions.all() if each["person"] == me.name],
        "days": DAYS,
        "most_days": MOST_DAYS,
        "said": notice,
        "error": error,
        "token": token,
    }
    rows = [[each[column] for column in TOKEN_COLUMNS] for each in tokens]
    return Page(template="me.html", data=data, table=PageTable(columns=TOKEN_COLUMNS, rows=rows), status=status)


ROUTES = (
    Route(method="GET", path="/me", handler=show, role="analyst"),
    Route(method="POST", path="/me/password", handler=password, role="analyst"),
    Route(method="POST", path="/me/tokens", handler=make_token, role="analyst"),
    Route(method="POST", path="/me/tokens/{number}/revoke", handler=revoke, role="analyst"),
    Route(method="POST", path="/me/sessions/end", handler=end_others, role="analyst"),
)
