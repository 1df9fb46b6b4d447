"""The guard: who comes, and whether they may.

Guarantee: a handler runs only for a visitor whose role its route allows; one that changes something only for a form of
    this console's own page, or for a token.
Because: browsers send cookies along with requests that other sites make, but not the csrf token, which only our pages
    hold, and they tell where a form came from. Tokens are sent by programs alone, and no cookie opens the API. A host
    that is not ours is refused first, so that a name that somebody points here is nobody's own page.
"""

from __future__ import annotations

import hmac
from typing import TYPE_CHECKING

from starlette.datastructures import Headers

from discreet.console.answer import Denied
from discreet.console.routes import Route
from discreet.console.settings import Settings
from discreet.console.visit import Visitor

if TYPE_CHECKING:
    from discreet.console.people.people import People

SAFE = ("GET", "HEAD")
NOBODY = Visitor()


def only(headers: Headers, name: str) -> str:
    """A header that stands on one line; empty where it stands on none, or on several that may differ."""
    found = headers.getlist(name)
    return found[0] if len(found) == 1 else ""


def check_host(headers: Headers, settings: Settings) -> None:
    """Refuse a request that was sent to another name than the console's."""
    if only(headers, "host").lower() not in settings.hosts:
        raise Denied("This address is not one that the console is reached by.", status=421)


def visitor_of(headers: Headers, secret: str, route: Route, people: People) -> Visitor:
    """Who comes: by a token to the API and to anything that only reads, by a session to pages."""
    told = headers.get("authorization", "")
    if told and (route.api or route.method in SAFE):
        scheme, _, token = told.partition(" ")
        return _by_token(token.strip() if scheme.lower() == "bearer" else "", people)
    session = None if route.api or not secret else people.sessions.find(secret)
    if session is None:
        return NOBODY
    person = session.person
    return Visitor(role=person.role, name=person.name, analyst=person.analyst, via="session", csrf=session.csrf)


def _by_token(text: str, people: People) -> Visitor:
    """Whose token it is. What is wrong with one is told to whoever holds it, and to nobody else."""
    found = people.tokens.find(text)
    why = "this token is not known" if found is None else found.why_not(people.clock())
    if found is None or why:
        raise Denied(f"{why[:1].upper()}{why[1:]}.", status=401, who="" if found is None else found.person.name)
    people.tokens.came(found)
    person = found.person
    return Visitor(role=found.role, name=person.name, analyst=person.analyst, via="token", token=found.number)


def check_role(visitor: Visitor, route: Route) -> None:
    """Refuse a visitor whose role is less than the route's."""
    if visitor.may(route.role):
        return
    if visitor.role == "public":
        raise Denied("Please log in first." if not route.api else "This needs a token.", status=401)
    raise Denied(f"This is for the {route.role} of the data.", status=403)


def check_origin(headers: Headers, route: Route, settings: Settings) -> None:
    """Refuse what changes something and does not come from a page of ours."""
    if route.api or route.method in SAFE:
        return
    if only(headers, "origin") not in settings.origins:
        raise Denied("This form did not come from a page of this console.", status=403)
    if set(headers.getlist("sec-fetch-site")) - {"same-origin"}:
        raise Denied("This form came from another site.", status=403)


def check_form(visitor: Visitor, told: str, route: Route) -> None:
    """Refuse a form that does not hold its visitor's own token."""
    if route.api or route.method in SAFE or visitor.via != "session":
        return
    if not visitor.csrf or not hmac.compare_digest(told.encode(), visitor.csrf.encode()):
        raise Denied("This page is older than your login; load it again.", status=403)
