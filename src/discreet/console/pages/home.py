"""The first page: tables, what is left of their budgets, the latest answers; and the jump box."""

from __future__ import annotations

import itertools
from typing import Any
from urllib.parse import quote

from discreet.api import Project
from discreet.console import facts
from discreet.console.answer import Answer, Grid, Json, Page, Redirect
from discreet.console.routes import Route
from discreet.console.visit import Visit
from discreet.ledger.records import Charge
from discreet.schema.schema import Table
from discreet.standing import difference, lag

LATEST = 8
#: So many letters of a question are shown.
SHOWN = 90
#: Words that lead to a page.
PAGES = ("ask", "budget", "log", "synth", "tables", "survey", "lab", "learn", "admin", "r", "a", "me", "api")


def show(visit: Visit) -> Answer:
    """What there is."""
    if visit.visitor.role == "public":
        return Redirect(to="/r")
    project = visit.desk.project
    tables = [facts.table_line(project, table) for table in project.file.tables.values()]
    latest = [_answer(project, each) for each in itertools.islice(facts.charges(project), LATEST)]
    owner = visit.visitor.role == "owner"
    private = [table for table in project.file.tables.values() if not table.public]
    warnings = [line for table in private for line in _warned(project, table)] if owner else []
    lines = [line for table in private if (line := lag(table, project.ledger)) is not None] if owner else []
    data = {
        "tables": tables,
        "latest": latest,
        "problem_of_file": visit.desk.problem if owner else "",
        "warnings": list(dict.fromkeys(warnings)),
        "lines": list(dict.fromkeys(lines)),
        "requests": _open_requests(visit) if owner else 0,
    }
    rows = [[each["name"], each["public"], each["population"], each["version"]] for each in tables]
    return Page(
        template="home.html", data=data, table=Grid(columns=("table", "public", "population", "version"), rows=rows)
    )


def _answer(project: Project, charge: Charge) -> dict[str, Any]:
    """An answer in the list: its question stands beside its id, which says nothing to people."""
    return {**facts.charge(project, charge), "asked": facts.asked(project.recalled(charge.id), most=SHOWN)}


def _warned(project: Project, table: Table) -> list[str]:
    """Where the file and the ledger differ. A grant that the file does not know of yet is no fault of its owner."""
    told = project.warnings(table.name)
    if lag(table, project.ledger) is None:
        return told
    return [line for line in told if line != difference(table, project.ledger)]


def _open_requests(visit: Visit) -> int:
    return sum(each.state == "open" for each in visit.people.requests.all())


def jump(visit: Visit) -> Answer:
    """To a table, a release, or a page, by its name; to a search among them where nothing has it."""
    wanted = visit.asked("to").strip()
    project, small = visit.desk.project, wanted.lower().strip("/")
    names = {name.lower(): name for name in project.file.tables}
    if small in names:
        return Redirect(to=f"/d/{quote(names[small], safe='')}")
    if wanted in project.ledger.refresh().charges:
        return Redirect(to=f"/a/{quote(wanted, safe='')}")
    if small in PAGES:
        return Redirect(to=f"/{small}")
    found = [
        *(
            {"to": f"/d/{quote(name, safe='')}", "words": f"table {name}"}
            for low, name in names.items()
            if small in low
        ),
        *({"to": f"/{page}", "words": f"page {page}"} for page in PAGES if small in page),
        *(
            {"to": f"/a/{quote(id_, safe='')}", "words": f"release {id_}"}
            for id_ in project.ledger.state.charges
            if small and small in id_
        ),
    ]
    grid = Grid(columns=("to", "words"), rows=[[each["to"], each["words"]] for each in found[:50]])
    return Page(template="jump.html", data={"wanted": wanted[:200], "found": found[:50]}, table=grid)


def alive(_: Visit) -> Answer:
    """For whoever watches over the server."""
    return Json(data={"alive": True})


ROUTES = (
    Route(method="GET", path="/", handler=show, role="public"),
    Route(method="GET", path="/jump", handler=jump, role="analyst"),
    Route(method="GET", path="/healthz", handler=alive, role="public", twins=False, instant=True),
)
