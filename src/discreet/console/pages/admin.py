"""For owners: people and roles, tokens, sessions, what was denied and why, and who may come where."""

from __future__ import annotations

import secrets
from typing import Any

from discreet.console.defects import Defects
from discreet.console.pages.me import TOKEN_COLUMNS, current_person, path_number
from discreet.console.people.roster import Person, PersonRole, role_of
from discreet.console.request_context import RequestContext
from discreet.console.responses import HandlerResponse, NotFound, Page, PageTable, Redirect
from discreet.console.routes import Route, route_table
from discreet.errors import UsageError

#: Denials that the first page shows.
LATEST = 20
_PEOPLE = ("number", "name", "role", "analyst", "disabled", "created")
_DENIALS = ("time", "who", "method", "route", "needs", "why")
_ROUTES = ("method", "path", "role")


def show(context: RequestContext) -> HandlerResponse:
    """Everybody, and what they have."""
    return _page(context)


def add(context: RequestContext) -> HandlerResponse:
    """Somebody new, with a password that this page shows once."""
    password = _new_password()
    try:
        made = context.people.add(
            context.field("name"),
            role=_role(context),
            password=password,
            analyst=context.field("analyst").strip() or None,
            temporary=True,
        )
    except UsageError as problem:
        return _page(context, error=problem.reason, status=400)
    return _page(context, shown={"name": made.name, "password": password})


def password(context: RequestContext) -> HandlerResponse:
    """A new password for somebody who lost theirs, shown once; their sessions end."""
    person, new = _person(context), _new_password()
    if person == current_person(context):
        return Redirect(to="/me")  # one's own takes the old one
    context.people.set_password(person.name, new, temporary=True)
    return _page(context, shown={"name": person.name, "password": new})


def role(context: RequestContext) -> HandlerResponse:
    """Make somebody an owner or an analyst."""
    try:
        context.people.roster.set_role(_person(context).name, _role(context))
    except UsageError as problem:
        return _page(context, error=problem.reason, status=400)
    return Redirect(to="/admin")


def analyst(context: RequestContext) -> HandlerResponse:
    """Say under which name somebody's questions are charged."""
    try:
        context.people.roster.set_analyst(_person(context).name, context.field("analyst"))
    except UsageError as problem:
        return _page(context, error=problem.reason, status=400)
    return Redirect(to="/admin")


def disable(context: RequestContext) -> HandlerResponse:
    """Keep somebody out."""
    try:
        context.people.roster.disable(_person(context).name)
    except UsageError as problem:
        return _page(context, error=problem.reason, status=400)
    return Redirect(to="/admin")


def enable(context: RequestContext) -> HandlerResponse:
    """Let somebody in again."""
    context.people.roster.enable(_person(context).name)
    return Redirect(to="/admin")


def end(context: RequestContext) -> HandlerResponse:
    """End somebody's sessions; of one's own, the others."""
    context.people.sessions.end_all(_person(context), but=context.secret)
    return Redirect(to="/admin#sessions")


def tokens(context: RequestContext) -> HandlerResponse:
    """All tokens there are and were."""
    token_rows = [token.data(context.people.clock()) for token in context.people.tokens.all()]
    rows = [[each[column] for column in TOKEN_COLUMNS] for each in token_rows]
    return Page(
        template="admin_tokens.html", data={"tokens": token_rows}, table=PageTable(columns=TOKEN_COLUMNS, rows=rows)
    )


def revoke(context: RequestContext) -> HandlerResponse:
    """End anybody's token."""
    number = path_number(context.params["number"])
    if number not in {token.number for token in context.people.tokens.all()}:
        raise NotFound
    context.people.tokens.revoke(number)
    return Redirect(to="/admin/tokens")


def denials(context: RequestContext) -> HandlerResponse:
    """What was denied lately, and why."""
    denial_rows = _denials_with_roles(context)
    rows = [[each[column] for column in _DENIALS] for each in denial_rows]
    return Page(
        template="admin_denials.html", data={"denials": denial_rows}, table=PageTable(columns=_DENIALS, rows=rows)
    )


def routes(_: RequestContext) -> HandlerResponse:
    """The one table of who may come where."""
    route_rows = [{"method": each.method, "path": each.display_path, "role": each.role} for each in route_table()]
    rows = [[each[column] for column in _ROUTES] for each in route_rows]
    return Page(template="admin_routes.html", data={"routes": route_rows}, table=PageTable(columns=_ROUTES, rows=rows))


def _page(context: RequestContext, *, error: str = "", shown: dict[str, str] | None = None, status: int = 200) -> Page:
    people = [person.data() for person in context.people.roster.all()]
    data: dict[str, Any] = {
        "people": people,
        "sessions": context.people.sessions.all(),
        "denials": _denials_with_roles(context)[:LATEST],
        "defects": [each.data() for each in context.handle.singleton(Defects, Defects).all()],
        "error": error,
        "shown": shown,
    }
    rows = [[each[column] for column in _PEOPLE] for each in people]
    return Page(template="admin.html", data=data, table=PageTable(columns=_PEOPLE, rows=rows), status=status)


def _denials_with_roles(context: RequestContext) -> list[dict[str, Any]]:
    needs = {(each.method, each.display_path): each.role for each in route_table()}
    denial_rows = [denial.data() for denial in context.people.denials.all()]
    return [{**each, "needs": needs.get((each["method"], each["route"]))} for each in denial_rows]


def _person(context: RequestContext) -> Person:
    person = context.people.roster.find_number(path_number(context.params["number"]))
    if person is None:
        raise NotFound
    return person


def _role(context: RequestContext) -> PersonRole:
    return role_of(context.field("role"))


def _new_password() -> str:
    """96 bits, for the time until its person writes one of their own."""
    return secrets.token_urlsafe(12)


ROUTES = (
    Route(method="GET", path="/admin", handler=show, role="owner"),
    Route(method="POST", path="/admin/people", handler=add, role="owner"),
    Route(method="POST", path="/admin/people/{number}/password", handler=password, role="owner"),
    Route(method="POST", path="/admin/people/{number}/role", handler=role, role="owner"),
    Route(method="POST", path="/admin/people/{number}/analyst", handler=analyst, role="owner"),
    Route(method="POST", path="/admin/people/{number}/disable", handler=disable, role="owner"),
    Route(method="POST", path="/admin/people/{number}/enable", handler=enable, role="owner"),
    Route(method="POST", path="/admin/people/{number}/end", handler=end, role="owner"),
    Route(method="GET", path="/admin/tokens", handler=tokens, role="owner"),
    Route(method="POST", path="/admin/tokens/{number}/revoke", handler=revoke, role="owner"),
    Route(method="GET", path="/admin/denials", handler=denials, role="owner"),
    Route(method="GET", path="/admin/routes", handler=routes, role="owner"),
)
