"""For owners: people and roles, tokens, sessions, what was denied and why, and who may come where."""

from __future__ import annotations

import secrets
from typing import Any

from discreet.console.answer import Answer, Grid, Missing, Page, Redirect
from discreet.console.defects import Defects
from discreet.console.pages.me import TOKEN_COLUMNS, person_of, whole
from discreet.console.people.roster import Person, PersonRole, role_of
from discreet.console.routes import Route, table
from discreet.console.visit import Visit
from discreet.errors import UsageError

#: Denials that the first page shows.
LATEST = 20
_PEOPLE = ("number", "name", "role", "analyst", "disabled", "created")
_DENIALS = ("time", "who", "method", "route", "needs", "why")
_ROUTES = ("method", "path", "role")


def show(visit: Visit) -> Answer:
    """Everybody, and what they have."""
    return _page(visit)


def add(visit: Visit) -> Answer:
    """Somebody new, with a password that this page shows once."""
    password = _new_password()
    try:
        made = visit.people.add(
            visit.field("name"), role=_role(visit), password=password, analyst=visit.field("analyst").strip() or None
        )
    except UsageError as problem:
        return _page(visit, error=problem.reason, status=400)
    return _page(visit, shown={"name": made.name, "password": password})


def password(visit: Visit) -> Answer:
    """A new password for somebody who lost theirs, shown once; their sessions end."""
    person, new = _person(visit), _new_password()
    if person == person_of(visit):
        return Redirect(to="/me")  # one's own takes the old one
    visit.people.set_password(person.name, new)
    return _page(visit, shown={"name": person.name, "password": new})


def role(visit: Visit) -> Answer:
    """Make somebody an owner or an analyst."""
    try:
        visit.people.roster.set_role(_person(visit).name, _role(visit))
    except UsageError as problem:
        return _page(visit, error=problem.reason, status=400)
    return Redirect(to="/admin")


def analyst(visit: Visit) -> Answer:
    """Say under which name somebody's questions are charged."""
    try:
        visit.people.roster.set_analyst(_person(visit).name, visit.field("analyst"))
    except UsageError as problem:
        return _page(visit, error=problem.reason, status=400)
    return Redirect(to="/admin")


def disable(visit: Visit) -> Answer:
    """Keep somebody out."""
    try:
        visit.people.roster.disable(_person(visit).name)
    except UsageError as problem:
        return _page(visit, error=problem.reason, status=400)
    return Redirect(to="/admin")


def enable(visit: Visit) -> Answer:
    """Let somebody in again."""
    visit.people.roster.enable(_person(visit).name)
    return Redirect(to="/admin")


def end(visit: Visit) -> Answer:
    """End somebody's sessions; of one's own, the others."""
    visit.people.sessions.end_all(_person(visit), but=visit.secret)
    return Redirect(to="/admin#sessions")


def tokens(visit: Visit) -> Answer:
    """All tokens there are and were."""
    found = [token.data(visit.people.clock()) for token in visit.people.tokens.all()]
    rows = [[each[column] for column in TOKEN_COLUMNS] for each in found]
    return Page(template="admin_tokens.html", data={"tokens": found}, table=Grid(columns=TOKEN_COLUMNS, rows=rows))


def revoke(visit: Visit) -> Answer:
    """End anybody's token."""
    number = whole(visit.params["number"])
    if number not in {token.number for token in visit.people.tokens.all()}:
        raise Missing
    visit.people.tokens.revoke(number)
    return Redirect(to="/admin/tokens")


def denials(visit: Visit) -> Answer:
    """What was denied lately, and why."""
    found = _denied(visit)
    rows = [[each[column] for column in _DENIALS] for each in found]
    return Page(template="admin_denials.html", data={"denials": found}, table=Grid(columns=_DENIALS, rows=rows))


def routes(_: Visit) -> Answer:
    """The one table of who may come where."""
    found = [{"method": each.method, "path": each.spelt, "role": each.role} for each in table()]
    rows = [[each[column] for column in _ROUTES] for each in found]
    return Page(template="admin_routes.html", data={"routes": found}, table=Grid(columns=_ROUTES, rows=rows))


def _page(visit: Visit, *, error: str = "", shown: dict[str, str] | None = None, status: int = 200) -> Page:
    people = [person.data() for person in visit.people.roster.all()]
    data: dict[str, Any] = {
        "people": people,
        "sessions": visit.people.sessions.all(),
        "denials": _denied(visit)[:LATEST],
        "defects": [each.data() for each in visit.desk.shared(Defects, Defects).all()],
        "error": error,
        "shown": shown,
    }
    rows = [[each[column] for column in _PEOPLE] for each in people]
    return Page(template="admin.html", data=data, table=Grid(columns=_PEOPLE, rows=rows), status=status)


def _denied(visit: Visit) -> list[dict[str, Any]]:
    needs = {(each.method, each.spelt): each.role for each in table()}
    told = [denial.data() for denial in visit.people.denials.all()]
    return [{**each, "needs": needs.get((each["method"], each["route"]))} for each in told]


def _person(visit: Visit) -> Person:
    found = visit.people.roster.numbered(whole(visit.params["number"]))
    if found is None:
        raise Missing
    return found


def _role(visit: Visit) -> PersonRole:
    return role_of(visit.field("role"))


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
