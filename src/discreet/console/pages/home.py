"""The first page: what one can ask, what is left, the latest answers, requests and drafts; and the jump box."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from discreet.console import public_facts
from discreet.console.console_text import console_texts
from discreet.console.pages.answer_list import search_form
from discreet.console.pages.me import current_person
from discreet.console.pages.query_drafts import drafts_of
from discreet.console.pages.vocabulary import example_query
from discreet.console.people.answer_notes import AnswerNote
from discreet.console.people.refused_queries import RefusedQuery
from discreet.console.population_meters import population_meters, table_lines
from discreet.console.request_context import RequestContext
from discreet.console.responses import HandlerResponse, JsonData, Page, PageTable, Redirect
from discreet.console.routes import Route
from discreet.project.budget import limit_difference, outdated_budget_line
from discreet.project.project import Project
from discreet.project.recall import RecalledRelease, recall_releases
from discreet.schema.schema import Table

LATEST = 8
#: Columns of a table, and refused queries, that stand here.
COLUMNS, REFUSED = 8, 3
#: So many letters of a question are shown.
SHOWN = 90
#: Words that lead to a page.
PAGES = ("ask", "d", "budget", "log", "synth", "tables", "survey", "lab", "learn", "admin", "r", "a", "me", "api")


def show(context: RequestContext) -> HandlerResponse:
    """What there is."""
    if context.visitor.role == "public":
        return Redirect(to="/r")
    project = context.handle.project
    tables = [_table(project, line) for line in table_lines(project)]
    notes = context.people.notes.all()
    newest = [charge.id for charge in itertools.islice(public_facts.charges(project), LATEST)]
    latest = [_answer(project, each, notes) for each in recall_releases(newest, ledger=project.ledger)]
    owner = context.visitor.role == "owner"
    private = [table for table in project.file.tables.values() if not table.public]
    warnings = [line for table in private for line in _file_warnings(project, table)] if owner else []
    lines = (
        [line for table in private if (line := outdated_budget_line(table, project.ledger)) is not None]
        if owner
        else []
    )
    data = {
        "tables": tables,
        "latest": latest,
        "problem_of_file": context.handle.problem if owner else "",
        "warnings": console_texts(dict.fromkeys(warnings)),
        "lines": list(dict.fromkeys(lines)),
        "populations": population_meters(tables),
        **_requests(context, owner=owner),
        "drafts": _drafts(context),
        "refused": [_refused(each) for each in context.people.refused.of(current_person(context), most=REFUSED)],
    }
    rows = [[each["name"], each["public"], each["population"], each["version"]] for each in tables]
    return Page(
        template="home.html",
        data=data,
        table=PageTable(columns=("table", "public", "population", "version"), rows=rows),
    )


def _table(project: Project, line: dict[str, Any]) -> dict[str, Any]:
    """A table, its first columns, and a first question about it."""
    table = project.file.tables[line["name"]]
    names = [column.name for column in table.schema.columns]
    askable = line["budget"] is not None
    return {
        **line,
        "column_names": names[:COLUMNS],
        "more_columns": max(0, len(names) - COLUMNS),
        "example": example_query(project, table.name) if askable else "",
    }


def _answer(project: Project, recalled_release: RecalledRelease, notes: Mapping[str, AnswerNote]) -> dict[str, Any]:
    """An answer in the list: its name or its question stands there, for its id says nothing to people."""
    return {
        **public_facts.charge_json(project, recalled_release.charge),
        "name": notes[recalled_release.id].name if recalled_release.id in notes else "",
        "asked": public_facts.query_excerpt(recalled_release, most=SHOWN),
    }


def _file_warnings(project: Project, table: Table) -> list[str]:
    """Where the file and the ledger differ. A grant that the file does not know of yet is no fault of its owner."""
    warnings = project.warnings(table.name)
    if outdated_budget_line(table, project.ledger) is None:
        return warnings
    return [line for line in warnings if line != limit_difference(table, project.ledger)]


def _requests(context: RequestContext, *, owner: bool) -> dict[str, Any]:
    """For owners what waits for their decision; for analysts what became of their own requests."""
    requests = context.people.requests.all()
    waiting = [each.data() for each in requests if each.state == "open"] if owner else []
    mine = [] if owner else [each.data() for each in requests if each.person == context.visitor.name]
    return {"requests": len(waiting), "waiting": waiting[:LATEST], "mine": mine[:LATEST]}


def _drafts(context: RequestContext) -> list[dict[str, Any]]:
    """Queries that one priced or rehearsed and did not ask, until one logs out."""
    return [
        {
            "draft": name,
            "asked": shorten(draft.form.sql),
            "state": "rehearsed" if draft.rehearsal is not None else "not asked yet",
        }
        for name, draft in drafts_of(context.people.drafts, current_person(context))
        if draft.trouble is None
    ]


def _refused(refused_query: RefusedQuery) -> dict[str, Any]:
    return {"asked": shorten(refused_query.text), "why": refused_query.why, "time": refused_query.data()["time"]}


def shorten(sql: str) -> str:
    """A query on one line, as far as it is shown."""
    line = " ".join(sql.split())
    return line if len(line) <= SHOWN else f"{line[: SHOWN - 1]}…"


def jump(context: RequestContext) -> HandlerResponse:
    """To a table, a release, or a page, by its name; to a search among them where nothing has it."""
    target = context.query_text("to").strip()
    project, small = context.handle.project, target.lower().strip("/")
    names = {name.lower(): name for name in project.file.tables}
    if small in names:
        return Redirect(to=f"/d/{quote(names[small], safe='')}")
    if target in project.ledger.refresh().charges:
        return Redirect(to=f"/a/{quote(target, safe='')}")
    if small in PAGES:
        return Redirect(to=f"/{small}")
    matches = [
        *(
            {"to": f"/d/{quote(name, safe='')}", "words": f"table {name}"}
            for low, name in names.items()
            if search_form(small) in search_form(low)
        ),
        *({"to": f"/{page}", "words": f"page {page}"} for page in PAGES if small in page),
        *(
            {"to": f"/a/{quote(id_, safe='')}", "words": f"release {id_}"}
            for id_ in project.ledger.state.charges
            if small and small in id_
        ),
        *(
            {"to": f"/a/{quote(id_, safe='')}", "words": f"answer {note.name}"}
            for id_, note in context.people.notes.all().items()
            if small and search_form(small) in search_form(note.name)
        ),
    ]
    grid = PageTable(columns=("to", "words"), rows=[[each["to"], each["words"]] for each in matches[:50]])
    return Page(template="jump.html", data={"wanted": target[:200], "found": matches[:50]}, table=grid)


def health(_: RequestContext) -> HandlerResponse:
    """For whoever watches over the server."""
    return JsonData(data={"alive": True})


ROUTES = (
    Route(method="GET", path="/", handler=show, role="public"),
    Route(method="GET", path="/jump", handler=jump, role="analyst"),
    Route(method="GET", path="/healthz", handler=health, role="public", twins=False, instant=True),
)
