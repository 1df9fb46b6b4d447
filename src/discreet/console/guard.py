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

from discreet.console.responses import RequestDenied
from discreet.console.routes import Route
from discreet.console.settings import Settings
from discreet.console.visitor import Visitor

if TYPE_CHECKING:
    from discreet.console.people.people import People

SAFE = ("GET", "HEAD")
PUBLIC_VISITOR = Visitor()
#: Where a password is changed.
OWN_PASSWORD = ("/me", "/me/password")


class PasswordChangeNeeded(RequestDenied):
    """Somebody logged in with a password that somebody else chose."""

    def __init__(self) -> None:
        super().__init__("Choose a password of your own first.", hint="change it on your own page")


def single_header(headers: Headers, name: str) -> str:
    """A header that stands on one line; empty where it stands on none, or on several that may differ."""
    values = headers.getlist(name)
    return values[0] if len(values) == 1 else ""


def check_host(headers: Headers, settings: Settings) -> None:
    """Refuse a request that was sent to another name than the console's."""
    if single_header(headers, "host").lower() not in settings.hosts:
        raise RequestDenied("The console does not serve this host name.", status=421)


def visitor_of(headers: Headers, secret: str, route: Route, people: People) -> Visitor:
    """Who comes: by a token to the API and to anything that only reads, by a session to pages."""
    authorization = headers.get("authorization", "")
    if authorization and (route.api or route.method in SAFE):
        scheme, _, token = authorization.partition(" ")
        return _by_token(token.strip() if scheme.lower() == "bearer" else "", people)
    session = None if route.api or not secret else people.sessions.find(secret)
    if session is None:
        return PUBLIC_VISITOR
    person = session.person
    return Visitor(
        role=person.role,
        name=person.name,
        analyst=person.analyst,
        via="session",
        csrf=session.csrf,
        must_change=person.temporary,
    )


def _by_token(text: str, people: People) -> Visitor:
    """Whose token it is. What is wrong with one is told to whoever holds it, and to nobody else."""
    token = people.tokens.find(text)
    why = "this token is unknown" if token is None else token.why_not(people.clock())
    if token is None or why:
        raise RequestDenied(f"{why[:1].upper()}{why[1:]}.", status=401, who="" if token is None else token.person.name)
    people.tokens.note_use(token)
    person = token.person
    return Visitor(role=token.role, name=person.name, analyst=person.analyst, via="token", token=token.number)


def check_role(visitor: Visitor, route: Route) -> None:
    """Refuse a visitor whose role is less than the route's."""
    if visitor.may(route.role):
        return
    if visitor.role == "public":
        raise RequestDenied("Please log in first." if not route.api else "This request needs a token.", status=401)
    raise RequestDenied(f"Only an {route.role} may do this.", status=403)


def check_password(visitor: Visitor, route: Route) -> None:
    """Refuse everything but the way to a password of one's own to who has somebody else's."""
    open_to_all = route.role == "public" and route.path != "/"  # the first page shows more to who has an account
    if visitor.must_change and not open_to_all and route.path not in OWN_PASSWORD:
        raise PasswordChangeNeeded


def check_origin(headers: Headers, route: Route, settings: Settings) -> None:
    """Refuse what changes something and does not come from a page of ours."""
    if route.api or route.method in SAFE:
        return
    if single_header(headers, "origin") not in settings.origins:
        raise RequestDenied("This form did not come from a page of this console.", status=403)
    if set(headers.getlist("sec-fetch-site")) - {"same-origin"}:
        raise RequestDenied("This form came from another site.", status=403)


def check_form(visitor: Visitor, sent_csrf: str, route: Route) -> None:
    """Refuse a form that does not hold its visitor's own token."""
    if route.api or route.method in SAFE or visitor.via != "session":
        return
    if not visitor.csrf or not hmac.compare_digest(sent_csrf.encode(), visitor.csrf.encode()):
        raise RequestDenied("This page was loaded before you logged in; load it again.", status=403)
