"""Every route x every kind of visitor, generated from the router; and every way that a form must not come.

Handlers are replaced by one that only says it was reached: what is tested is who gets as far as that.
"""

import dataclasses
import re
from itertools import product

import httpx2 as httpx
import pytest
from starlette.routing import Mount

from console.alone import alone
from console.house import COOKIE, ORIGIN, PASSWORD, world
from discreet.console import app as app_module
from discreet.console.responses import JsonData
from discreet.console.routes import RESPONDENTS, Route, route_table
from tiers import size

SAFE = {"GET"}
TABLE = route_table()
FORMS = [route for route in TABLE if route.method not in SAFE and not route.api]
GOOD = {"origin": ORIGIN, "sec-fetch-site": "same-origin"}


@pytest.fixture(scope="module")
def clinic(tmp_path_factory):
    made = world(tmp_path_factory.mktemp("routes") / "clinic")
    yield made
    made.house.close()


@pytest.fixture(scope="module")
def reached(clinic):
    """The application, with every handler replaced."""

    def say(route):
        return lambda visit: JsonData(data={"reached": visit.visitor.role, "route": [route.method, route.path]})

    bare = [dataclasses.replace(route, handler=say(route), body=None, gridded=False) for route in TABLE]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(app_module, "route_table", lambda: bare)
        return app_module.make_app(clinic.house)


@pytest.fixture(scope="module")
def visitors(clinic):
    """Headers of each kind of visitor, their role (None: whoever comes so is turned away), and their csrf."""
    people = clinic.house.people
    names = {"olga": "owner", "ann": "analyst", "gone": "analyst", "idle": "analyst", "old": "owner"}
    for name, role in names.items():
        if people.roster.find(name) is None:
            people.add(name, role=role, password=PASSWORD)
    cookies = {name: people.log_in(name, PASSWORD, address="192.0.2.1") for name in names}
    csrf = {name: people.sessions.find(cookie).csrf for name, cookie in cookies.items()}

    def token(name, role=None):
        text, made = people.tokens.make(people.roster.get(name), label="x", role=role)
        return text, made.number

    texts = {
        "owner's": token("olga"),
        "analyst's": token("ann"),
        "lesser": token("olga", "analyst"),
        "revoked": token("olga"),
        "expired": token("olga"),
        "of a disabled": token("gone"),
    }
    people.tokens.revoke(texts["revoked"][1])
    with people.store.writing() as connection:
        connection.execute(
            "UPDATE sessions SET seen = seen - 28800 WHERE person = ?", (people.roster.get("idle").number,)
        )
        connection.execute(
            "UPDATE sessions SET created = created - 604800 WHERE person = ?", (people.roster.get("old").number,)
        )
        connection.execute("UPDATE tokens SET expires = created WHERE number = ?", (texts["expired"][1],))
        # Disabled, with a session and a token that nobody ended: the flag alone must do.
        connection.execute("UPDATE people SET disabled = 1 WHERE name = 'gone'")

    def session(name, role):
        return {"cookie": f"{COOKIE}={cookies[name]}"}, role, "session", csrf[name]

    def bearer(kind, role):
        return {"authorization": f"Bearer {texts[kind][0]}"}, role, "token", ""

    return {
        "nobody": ({}, "public", "none", ""),
        "analyst": session("ann", "analyst"),
        "owner": session("olga", "owner"),
        "disabled analyst": session("gone", "public"),
        "idle session": session("idle", "public"),
        "session of seven days": session("old", "public"),
        "made-up cookie": ({"cookie": f"{COOKIE}={'A' * 43}"}, "public", "session", "x"),
        "owner's token": bearer("owner's", "owner"),
        "analyst's token": bearer("analyst's", "analyst"),
        "token of lesser role": bearer("lesser", "analyst"),
        "revoked token": bearer("revoked", None),
        "expired token": bearer("expired", None),
        "token of a disabled analyst": bearer("of a disabled", None),
        "made-up token": ({"authorization": f"Bearer dsc_{'A' * 43}"}, None, "token", ""),
        "basic authorization": ({"authorization": "Basic b2xnYTpwdw=="}, None, "token", ""),
        "owner's cookie, bad token": (
            {"cookie": f"{COOKIE}={cookies['olga']}", "authorization": f"Bearer {texts['revoked'][0]}"},
            None,
            "both",
            csrf["olga"],
        ),
    }


KINDS = [
    "nobody", "analyst", "owner", "disabled analyst", "idle session", "session of seven days", "made-up cookie",
    "owner's token", "analyst's token", "token of lesser role", "revoked token", "expired token",
    "token of a disabled analyst", "made-up token", "basic authorization", "owner's cookie, bad token",
]  # fmt: skip
#: Of each role one, by session and by token; all others are taken for one of them, or turned away.
OWN = {"nobody", "analyst", "owner", "owner's token", "analyst's token", "revoked token"}
RANK = {"public": 0, "analyst": 1, "owner": 2}


def expected(route, role, via):
    """Which role gets there, or None; written down apart from the guard."""
    form = route.method not in SAFE and not route.api
    if route.instant:
        return "public", 200  # whoever comes is nobody in particular: it is answered without a look at them
    if via == "both":
        role = "owner" if form else None  # a page's form hears the cookie alone; elsewhere a bad token is a bad token
    elif (via == "token" and form) or (via == "session" and route.api):
        role = "public"
    if role is None:
        return None, 401
    if RANK[role] >= RANK[route.role]:
        return role, 200
    return None, 401 if role == "public" else 403


def filled(path):
    return re.sub(r"\{[^}]+\}", "1", path)


def ask(app, requests):
    """Many requests in one loop: (method, path, headers, form) each."""

    async def run():
        transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url=ORIGIN) as client:
            return [
                await client.request(method, path, headers=headers, data=form)
                for method, path, headers, form in requests
            ]

    return alone(run())


def reached_as(response):
    return response.json().get("reached") if response.headers.get("content-type") == "application/json" else None


def test_the_kinds_are_all_there(visitors):
    assert set(KINDS) == set(visitors)


@pytest.mark.parametrize("kind", KINDS)
def test_every_route_is_as_the_table_says(reached, visitors, kind):
    """In the fast tier a kind that is taken for another (not in `OWN`) comes to one address in twelve."""
    headers, role, via, csrf = visitors[kind]
    asked = [(route, path) for route in TABLE for path in route.paths]
    asked = asked[:: 1 if kind in OWN else size(12, 1)]
    requests = [
        (
            route.method,
            filled(path),
            {**headers, **({} if route.method in SAFE else GOOD), **({"x-csrf": csrf} if route.upload else {})},
            {"csrf": csrf} if route in FORMS else None,
        )
        for route, path in asked
    ]
    wrong = []
    for (route, path), response in zip(asked, ask(reached, requests), strict=True):
        wanted, status = expected(route, role, via)
        led = status == 401 and route.method in SAFE and not route.api and path == route.path
        seen = (reached_as(response), response.status_code)
        if seen != (wanted, 303 if led else status):
            wrong.append((route.method, path, seen, (wanted, status)))
        elif wanted and response.json()["route"] != [route.method, route.path]:
            wrong.append((route.method, path, "stands behind", response.json()["route"]))
        if led and not response.headers["location"].startswith("/login?next=/"):
            wrong.append((route.method, path, response.headers["location"]))
    assert not wrong


WAYS = {
    "without csrf": ({}, None),
    "with an empty csrf": ({}, ""),
    "with a wrong csrf": ({}, "A" * 43),
    "with another session's csrf": ({}, "other"),
    "from another origin": ({"origin": "https://evil.example"}, "own"),
    "from our name by another scheme": ({"origin": ORIGIN.replace("http:", "https:")}, "own"),
    "from our name at another port": ({"origin": "http://127.0.0.1:9000"}, "own"),
    "from our name as a prefix": ({"origin": ORIGIN + ".evil.example"}, "own"),
    "from an opaque origin": ({"origin": "null"}, "own"),
    "without an origin": ({"origin": None}, "own"),
    "from another site": ({"sec-fetch-site": "cross-site"}, "own"),
    "from a neighbour": ({"sec-fetch-site": "same-site"}, "own"),
    "typed into the line": ({"sec-fetch-site": "none"}, "own"),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_form_that_is_not_ours_reaches_nothing(reached, visitors, clinic, way):
    """For the mightiest visitor, and, where it is about where a form comes from, for nobody too."""
    people = clinic.house.people
    headers, _, _, own = visitors["owner"]
    other = people.sessions.find(people.log_in("olga", PASSWORD, address="192.0.2.1")).csrf
    changed, csrf = WAYS[way]
    form = None if csrf is None else {"csrf": {"own": own, "other": other}.get(csrf, csrf)}
    sent = {name: value for name, value in (GOOD | changed).items() if value is not None}
    assert FORMS
    visiting = [headers, {}] if changed else [headers]
    forms = FORMS[:: 1 if way == next(iter(WAYS)) else size(8, 1)]
    requests = [(route.method, filled(route.path), {**who, **sent}, form) for route, who in product(forms, visiting)]
    found = ask(reached, requests)
    assert {(response.status_code, reached_as(response)) for response in found} == {(403, None)}


def test_the_same_form_from_our_page_reaches_everything(reached, visitors):
    headers, _, _, own = visitors["owner"]
    plain = [r for r in FORMS if not r.upload]  # of a file the body is the file, so its token is in a header
    found = ask(reached, [(r.method, filled(r.path), {**headers, **GOOD}, {"csrf": own}) for r in plain])
    assert {reached_as(response) for response in found} == {"owner"}
    by_header = ask(reached, [(r.method, filled(r.path), {**headers, **GOOD, "x-csrf": own}, None) for r in FORMS])
    assert {reached_as(response) for response in by_header} == {"owner"}


@pytest.mark.thin(1)
@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1:8000.evil.example", "127.0.0.1", "127.0.0.1:9000", "", "localhost:8000@evil"]
)
def test_another_host_reaches_nothing(reached, visitors, host):
    """DNS rebinding: a name that somebody else points here is no page of ours, whoever comes by it.

    What is answered at once to nobody in particular (/healthz) has any name: who watches may come by an address.
    """
    headers, _, _, own = visitors["owner"]
    requests = [
        (route.method, filled(path), {**headers, **GOOD, "host": host}, {"csrf": own} if route in FORMS else None)
        for route in TABLE
        for path in route.paths
        if not route.instant
    ]
    found = ask(reached, requests)
    assert {(response.status_code, reached_as(response)) for response in found} == {(421, None)}
    assert {route.path for route in TABLE if route.instant} == {"/healthz"}
    (alive,) = ask(reached, [("GET", "/healthz", {**headers, "host": host}, None)])
    assert alive.status_code == 200


@pytest.mark.parametrize("host", ["127.0.0.1:8000", "localhost:8000", "LOCALHOST:8000", "[::1]:8000"])
def test_our_own_names_reach(reached, host):
    (found,) = ask(reached, [("GET", "/login", {"host": host}, None)])
    assert reached_as(found) == "public"


def strangers(app, routes):
    """What the application serves and the table does not know."""
    known = {(path, route.method) for route in routes for path in route.paths}
    served = set()
    for each in app.routes:
        if isinstance(each, Mount):
            served.add((each.path, "MOUNT"))
        else:
            served |= {(each.path, method) for method in each.methods - {"HEAD"}}
    known |= {(path, method) for method, path in RESPONDENTS}  # surveys: public, by the collector's own rules
    return served - known - {("/assets", "MOUNT")}, known - served


def test_the_application_serves_the_table_and_nothing_else(reached):
    assert strangers(reached, TABLE) == (set(), set())


def test_a_route_beside_the_table_would_be_seen(clinic):
    made = app_module.make_app(clinic.house)
    made.add_route("/extra", lambda request: None)
    assert strangers(made, TABLE)[0] == {("/extra", "GET")}
    known = [route for route in TABLE if route.path != "/login"]
    assert ("/login", "POST") in strangers(app_module.make_app(clinic.house), known)[0]


def test_no_address_is_in_the_table_twice():
    known = [(path, route.method) for route in TABLE for path in route.paths]
    assert len(known) == len(set(known))


def test_what_everybody_may_reach_is_short_and_known():
    """A route for the public is a decision: it is written down here too."""
    public = {f"{route.method} {route.path}" for route in TABLE if route.role == "public"}
    assert public <= PUBLIC, sorted(public - PUBLIC)


def test_what_only_owners_may_do():
    """People, limits, what is published, surveys: each of these acts is an owner's."""
    acts = re.compile(r"^/admin|/(publish|withdraw|approve|decline|grant|close|tokens)$|^/survey/new$")
    mine = ("/me/", "/tables/new/", "/api/")  # one's own tokens; a table's own word for a set of tables
    for route in TABLE:
        if acts.search(route.path) and not route.path.startswith(mine):
            assert route.role == "owner", route.path


def test_a_route_for_nobody_is_impossible():
    assert {route.role for route in TABLE} <= set(RANK)
    assert all(isinstance(route, Route) for route in TABLE)


#: What needs no login.
PUBLIC = {
    "GET /",
    "GET /api",
    "GET /api/v1/openapi.json",
    "GET /healthz",
    "GET /help",
    "GET /help/files/{file:path}",
    "GET /help/{page:path}",
    "GET /learn",
    "GET /learn/teacher",
    "GET /learn/{lesson}",
    "GET /r",
    "GET /r/{release}",
    "GET /r/{release}.zip",
    "GET /r/{release}/files/{file}",
    "GET /login",
    "POST /login",
    "POST /logout",
    "GET /setup/{link}",
    "POST /setup/{link}",
}
