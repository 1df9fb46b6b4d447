"""The HTTP API: the same acts as the pages', for programs. And the page that lists them."""

from __future__ import annotations

import itertools
from functools import cache
from typing import Any, Literal

from discreet import exact
from discreet.api import Project
from discreet.console import facts
from discreet.console.answer import Answer, Denied, Grid, Json, Missing, Page
from discreet.console.api import models
from discreet.console.api.document import document
from discreet.console.api.entries import CSV, PARQUET, RELEASE, Entry, Query
from discreet.console.api.files import csv_file, parquet_file
from discreet.console.asking.asking import Outcome
from discreet.console.asking.released import finite, release_data
from discreet.console.people.roster import ROLES, Person
from discreet.console.routes import Route
from discreet.console.visit import Visit
from discreet.release import Release

#: Releases in one list, and how many where nothing is said.
MOST, USUAL = 1000, 100
_BASE = "/api/v1"


def explain(visit: Visit) -> Answer:
    """Price a question."""
    return Json(data=finite(visit.asking.explain(visit.body.wanted(), visit.visitor).data))


def query(visit: Visit) -> Answer:
    """Answer a question, once for its key."""
    return _answered(visit.asking.ask(visit.body.wanted(), visit.visitor, key=visit.key, began=visit.began))


def again(visit: Visit) -> Answer:
    """Measure a release once more."""
    wanted = visit.body.wanted(_known(visit, visit.desk.project))
    return _answered(visit.asking.ask(wanted, visit.visitor, key=visit.key, began=visit.began))


def _answered(outcome: Outcome) -> Answer:
    return Json(data=outcome.releases[0], headers={"idempotency-replayed": str(outcome.replayed).lower()})


def releases(visit: Visit) -> Answer:
    """What was charged, the newest first."""
    project = visit.desk.project
    most, before = _count(visit.asked("limit", str(USUAL))), visit.asked("before")
    table, analyst = visit.asked("table"), visit.asked("analyst")
    found = facts.charges(project)
    if before:
        found = itertools.islice(itertools.dropwhile(lambda each: each.id != before, found), 1, None)
    kept = (each for each in found if (not table or each.table == table) and (not analyst or each.analyst == analyst))
    listed = list(itertools.islice(kept, most + 1))
    following = listed[most - 1].id if len(listed) > most else None
    return Json(data={"releases": [facts.charge(project, each) for each in listed[:most]], "next": following})


def release(visit: Visit) -> Answer:
    """An answer, as it is stored."""
    return Json(data=release_data(_read(visit)))


def release_csv(visit: Visit) -> Answer:
    """An answer as CSV."""
    return csv_file(_read(visit))


def release_parquet(visit: Visit) -> Answer:
    """An answer as Parquet."""
    return parquet_file(_read(visit))


def _read(visit: Visit) -> Release:
    project = visit.desk.project
    confidence = visit.asked("confidence") or None
    statement = visit.asked("statement", "1")
    if not (statement.isascii() and statement.isdigit() and len(statement) < 5):
        raise Denied("statement: a number from 1, of a batch's statements.", status=400)
    return project.release(_known(visit, project), confidence=confidence, statement=int(statement))


def _known(visit: Visit, project: Project) -> str:
    """The release in the path, where there is one."""
    id_ = visit.params["release"]
    if id_ not in project.ledger.refresh().charges:
        raise Missing
    return id_


def budget(visit: Visit) -> Answer:
    """Where the budgets stand."""
    project = visit.desk.project
    found = {table.name: facts.budget(project, table) for table in project.file.tables.values() if not table.public}
    return Json(data=finite({"tables": {name: told for name, told in found.items() if told is not None}}))


def tables(visit: Visit) -> Answer:
    """The declared tables and their columns."""
    project = visit.desk.project
    found = [_table(project, name) for name in project.file.tables]
    return Json(data={"tables": found})


def _table(project: Project, name: str) -> dict[str, Any]:
    table = project.file.tables[name]
    line = facts.table_line(project, table)
    keys = ("name", "public", "population", "version", "unit")
    return {**{key: line[key] for key in keys}, "columns": facts.columns(project, table)}


def tokens(visit: Visit) -> Answer:
    """One's own tokens."""
    people = visit.people
    found = people.tokens.all(_person(visit))
    return Json(data={"tokens": [token.data(people.clock()) for token in found]})


def new_token(visit: Visit) -> Answer:
    """A token, of no more than the role of the one that asks."""
    told, people = visit.body, visit.people
    own: Literal["analyst", "owner"] = "owner" if visit.visitor.may("owner") else "analyst"
    wanted = told.role or own
    if ROLES.index(wanted) > ROLES.index(own):
        raise Denied("A token makes no token of a larger role than its own.", status=403)
    mother = None if visit.visitor.token is None else people.tokens.get(visit.visitor.token)
    text, made = people.tokens.make(_person(visit), label=told.label, days=told.days, role=wanted, parent=mother)
    return Json(data={**made.data(people.clock()), "token": text}, status=201)


def revoke(visit: Visit) -> Answer:
    """End one of one's own tokens."""
    people, number = visit.people, visit.params["number"]
    own = {str(token.number): token for token in people.tokens.all(_person(visit))}
    if number not in own:
        raise Missing
    if not visit.visitor.may(own[number].role):  # else whoever stole a small one could shut out its person's programs
        raise Denied("A token ends no token of a larger role than its own.", status=403)
    return Json(data=people.tokens.revoke(own[number].number).data(people.clock()))


def _person(visit: Visit) -> Person:
    return visit.people.roster.get(visit.visitor.name or "")


def jobs(visit: Visit) -> Answer:
    """Questions on their way."""
    return Json(data={"jobs": visit.asking.jobs(visit.visitor)})


def cancel(visit: Visit) -> Answer:
    """Stop a question at its next tick."""
    return Json(data=visit.asking.cancel(visit.params["job"], visit.visitor))


def requests(visit: Visit) -> Answer:
    """Wishes for more budget."""
    mine = [each for each in visit.people.requests.all() if visit.visitor.may("owner") or _is_own(visit, each.person)]
    return Json(data={"requests": [each.data() for each in mine]})


def _is_own(visit: Visit, person: str) -> bool:
    return person.casefold() == (visit.visitor.name or "").casefold()


def new_request(visit: Visit) -> Answer:
    """Ask an owner for more budget."""
    told = visit.body
    table = visit.desk.project.private(told.table)
    epsilon = exact.number(models.text_of(told.epsilon), name="epsilon")
    made = visit.people.requests.ask(_person(visit), table=table.name, epsilon=epsilon, why=told.why)
    return Json(data=made.data(), status=201)


def described(visit: Visit) -> Answer:
    """The OpenAPI document."""
    return Json(data=_document())


def page(visit: Visit) -> Answer:
    """The list of routes, for people."""
    listed = [
        {
            "method": entry.route.method,
            "path": entry.route.path,
            "role": entry.route.role,
            "lines": entry.route.lines,
            "keyed": entry.keyed,
        }
        for entry in ENTRIES
    ]
    names = ("method", "path", "role", "lines", "keyed")
    grid = Grid(columns=names, rows=[[each[name] for name in names] for each in listed])
    return Page(template="api.html", data={"routes": listed, "origin": visit.settings.origin}, table=grid)


def _count(told: str) -> int:
    if not (told.isascii() and told.isdigit() and len(told) <= 4 and 1 <= int(told) <= MOST):
        raise Denied(f"limit: a number from 1 to {MOST}.", status=400)
    return int(told)


_CONFIDENCE = Query(
    name="confidence",
    lines="Of the noise intervals, as decimal text; else that of the question.",
    schema={"type": "string", "maxLength": 60},
)
_STATEMENT = Query(
    name="statement", lines="Which one of a batch, from 1.", schema={"type": "integer", "minimum": 1, "maximum": 9999}
)
_LIST = (
    Query(name="limit", lines="How many.", schema={"type": "integer", "minimum": 1, "maximum": MOST}),
    Query(name="before", lines="The release after which to go on.", schema={"type": "string"}),
    Query(name="table", lines="Of this table alone.", schema={"type": "string"}),
    Query(name="analyst", lines="Of this analyst alone.", schema={"type": "string"}),
)


def _entry(
    method: Literal["GET", "POST", "DELETE"],
    path: str,
    handler: Any,
    returns: Any,
    lines: str,
    *,
    body: Any = None,
    gridded: bool = False,
    role: Literal["public", "analyst"] = "analyst",
    **more: Any,
) -> Entry:
    route = Route(
        method=method,
        path=_BASE + path,
        handler=handler,
        role=role,
        api=True,
        body=body,
        returns=returns,
        lines=lines,
        gridded=gridded,
    )
    return Entry(route=route, **more)


_READ: dict[str, Any] = {"params": RELEASE, "query": (_CONFIDENCE, _STATEMENT), "refusals": (409,)}
_PAID: dict[str, Any] = {"gridded": True, "keyed": True, "refusals": (402, 409)}
_NUMBER = {"number": {"type": "integer", "minimum": 1}}

ENTRIES = (
    _entry(
        "POST", "/explain", explain, models.Explanation,
        "What a question would cost, and why. Free, and it touches no data.",
        body=models.ExplainBody, refusals=(402, 409),
    ),
    _entry(
        "POST", "/query", query, models.Release,
        "Answer a question. It is charged before anything is counted; a repeat is free.",
        body=models.QueryBody, **_PAID,
    ),
    _entry("GET", "/releases", releases, models.Releases, "What was charged, the newest first.", query=_LIST,
           refusals=(409,)),
    _entry("GET", "/releases/{release}.csv", release_csv, None, "An answer as CSV.", media_type=CSV, **_READ),
    _entry("GET", "/releases/{release}.parquet", release_parquet, None, "An answer as Parquet.", media_type=PARQUET,
           **_READ),
    _entry("GET", "/releases/{release}", release, models.Release, "An answer, as it is stored.", **_READ),
    _entry(
        "POST", "/releases/{release}/again", again, models.Release,
        "Measure an earlier question once more and read both answers together. Charged.",
        body=models.AgainBody, params=RELEASE, **_PAID,
    ),
    _entry("GET", "/budget", budget, models.Budgets, "Where the budgets stand.", refusals=(409,)),
    _entry("GET", "/tables", tables, models.Tables, "The declared tables and their columns.", refusals=(409,)),
    _entry("GET", "/tokens", tokens, models.Tokens, "Your tokens."),
    _entry("POST", "/tokens", new_token, models.NewToken, "Make a token. It is shown once.", body=models.TokenBody,
           status=201),
    _entry("DELETE", "/tokens/{number}", revoke, models.Token, "End one of your tokens.", params=_NUMBER),
    _entry("GET", "/jobs", jobs, models.Jobs, "Questions on their way, and the last that ended."),
    _entry("DELETE", "/jobs/{job}", cancel, models.Stopping,
           "Stop a question at its next tick. What was charged stays charged.",
           params={"job": {"type": "string", "maxLength": 100}}),
    _entry("GET", "/requests", requests, models.Requests, "Wishes for more budget."),
    _entry("POST", "/requests", new_request, models.Request, "Ask an owner for more budget.", body=models.RequestBody,
           status=201),
    _entry("GET", "/openapi.json", described, None, "This document.", role="public"),
)  # fmt: skip


@cache
def _document() -> dict[str, Any]:
    return document(ENTRIES)


ROUTES = (
    *(entry.route for entry in ENTRIES),
    Route(method="GET", path="/api", handler=page, role="public"),
)
