"""Ask: an editor that prices as you type, rehearses for free, and asks once however often it is sent."""

from __future__ import annotations

import io
import secrets
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from discreet.api import Project
from discreet.console import answered, facts, priced
from discreet.console.answer import Answer, Denied, Download, Grid, Json, Missing, Page, Redirect
from discreet.console.api.files import PARQUET
from discreet.console.asking.keeping import read
from discreet.console.asking.keyed import owner_of
from discreet.console.asking.released import finite
from discreet.console.asking.wanted import Wanted
from discreet.console.forms import whole
from discreet.console.render import csv_of
from discreet.console.room import Room
from discreet.console.routes import Route
from discreet.console.visit import Visit
from discreet.errors import DiscreetError, UsageError
from discreet.schema.column import Boolean, Category
from discreet.schema.schema import Table
from discreet.sql.functions import FUNCTIONS
from discreet.sql.text import statements

#: Rehearsals at once: each has a processor for about half a second.
_REHEARSING = Room("rehearsals under way", at_once=2, waiting=6)

#: So many values of a category are offered while typing.
_VALUES = 60

EPSILON = "0.1"

#: Made-up rows in a file.
MADE_UP = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """What stands in the form. `by`: whether a price or a width is told."""

    sql: str
    by: str = "epsilon"
    epsilon: str = EPSILON
    within: str = ""
    confidence: str = "0.95"
    delta: str = ""
    rows: str = ""
    fresh: bool = False
    key: str

    def wanted(self) -> Wanted:
        """The request that the form makes."""
        by_width = self.by == "within"
        return Wanted(
            kind="batch" if len(statements(self.sql)) > 1 else "query",
            text=self.sql,
            epsilon=None if by_width else self.epsilon or None,
            within=(self.within or None) if by_width else None,
            confidence=self.confidence or "0.95",
            delta=self.delta or None,
            fresh=self.fresh,
        )

    def key_of(self, wanted: Wanted) -> str:
        """The form's key, for this question: sent twice it is one request, changed it is another."""
        return f"{self.key}-{wanted.digest().hex()[:16]}"

    def data(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}


def show(visit: Visit) -> Answer:
    """The editor, with what the address says in it."""
    text = visit.asked("sql") or _example(visit.desk.project, visit.asked("table"))
    draft = Draft(
        sql=text,
        by="within" if visit.asked("within") else "epsilon",
        epsilon=visit.asked("epsilon", EPSILON),
        within=visit.asked("within"),
        confidence=visit.asked("confidence", "0.95"),
        delta=visit.asked("delta"),
        key=secrets.token_urlsafe(18),
    )
    return _page(visit, draft)


def send(visit: Visit) -> Answer:
    """What a button of the form says: price it, rehearse it, take a suggestion, or ask."""
    draft = _draft(visit)
    try:
        wanted = draft.wanted()
        if visit.field("act") == "rehearse":
            price = _priced(visit, wanted)
            return _page(visit, draft, price=price, rehearsal=_rehearsed(visit, draft, wanted, price))
        if visit.field("act") != "ask":
            return _page(visit, draft, price=_priced(visit, wanted))
        outcome = visit.asking.ask(wanted, visit.visitor, key=draft.key_of(wanted), began=visit.began)
    except (DiscreetError, Denied) as problem:
        return _page(visit, draft, problem=problem)
    releases = outcome.releases
    alone = len(releases) == 1 and not releases[0]["derived"] and not releases[0]["from"]
    if alone:
        stored = "?stored=1" if releases[0]["cached"] else ""
        return Redirect(to=f"/a/{quote(releases[0]['release'], safe='')}{stored}")
    return Redirect(to=f"/ask/answer/{quote(draft.key_of(wanted), safe='')}")


def price(visit: Visit) -> Answer:
    """The price of what is being typed, for the page's script."""
    try:
        return Json(data=_priced(visit, _draft(visit).wanted()))
    except DiscreetError as problem:
        project = visit.desk.project
        return Json(data={"accepted": False, "problem": priced.trouble(problem, visit.field("sql"), project)})


def cancel(visit: Visit) -> Answer:
    """Stop the question of this form at its next tick. What was charged stays charged."""
    draft = _draft(visit)
    visit.asking.cancel_key(draft.key_of(draft.wanted()), visit.visitor)
    return Redirect(to="/ask/open")


def stop(visit: Visit) -> Answer:
    """Stop one of the open questions."""
    visit.asking.cancel(visit.params["job"], visit.visitor)
    return Redirect(to="/ask/open")


def underway(visit: Visit) -> Answer:
    """Questions on their way."""
    found = visit.asking.jobs(visit.visitor)
    names = ("job", "person", "kind", "text", "state", "stopping", "made")
    grid = Grid(columns=names, rows=[[each[name] for name in names] for each in found])
    return Page(template="ask_open.html", data={"jobs": found}, table=grid)


def answer(visit: Visit) -> Answer:
    """What one's own request came to: several answers, or one that follows from others."""
    known = visit.people.keys.find(owner_of(visit.visitor.name or ""), visit.params["key"])
    if known is None or known.result is None:
        raise Missing
    releases = [_released(each) for each in read(known.result, visit.desk.project)]
    return Page(template="ask_answer.html", data={"releases": releases}, table=_cells(releases))


def _cells(releases: list[dict[str, Any]]) -> Grid:
    """Every cell of several answers, one a line: they have different columns."""
    rows = [
        [number, each["release"], place, column["name"], cell, *(ends or (None, None))]
        for number, each in enumerate(releases, 1)
        for place, (cells, intervals) in enumerate(zip(each["rows"], each["intervals"], strict=True), 1)
        for column, cell, ends in zip(each["columns"], cells, intervals, strict=True)
    ]
    return Grid(columns=("statement", "release", "row", "column", "value", "low", "high"), rows=rows)


def rows_csv(visit: Visit) -> Answer:
    """Made-up rows of a table as CSV, to write questions against."""
    found = _made_up(visit)
    rows = list(zip(*(column.to_pylist() for column in found.columns), strict=True))
    content = csv_of(Grid(columns=found.column_names, rows=rows)).encode()
    return Download(content=content, media_type="text/csv; charset=utf-8", name=f"made-up-{visit.params['table']}.csv")


def rows_parquet(visit: Visit) -> Answer:
    """The same as Parquet."""
    import pyarrow.parquet as pq

    out = io.BytesIO()
    pq.write_table(_made_up(visit), out)
    return Download(content=out.getvalue(), media_type=PARQUET, name=f"made-up-{visit.params['table']}.parquet")


def _made_up(visit: Visit) -> Any:
    from discreet.rehearse import look_alike

    tables = visit.desk.project.file.tables
    table = next((each for each in tables.values() if each.name == visit.params["table"]), None)
    if table is None or table.public:
        raise Missing
    return look_alike(tables, table.name, rows=MADE_UP)


def _released(data: dict[str, Any]) -> dict[str, Any]:
    names = ("release", "table", "version", "columns", "rows", "intervals", "confidence", "warnings", "derived", "from")
    found = {name: data[name] for name in names}
    return {**found, "cost": data["cost"], "sheet": answered.sheet(data), "chart": answered.chart(data)}


def _draft(visit: Visit) -> Draft:
    """The form, with what a suggestion puts in place."""
    told = {name: visit.field(name).strip() for name in ("by", "epsilon", "within", "confidence", "delta", "rows")}
    told["by"] = "within" if told["by"] == "within" else "epsilon"
    told["sql"] = visit.field("sql").replace("\r\n", "\n")
    taken, _, value = visit.field("take").partition(" ")
    if taken in ("sql", "epsilon", "within"):
        told[taken] = value
        told["by"] = told["by"] if taken == "sql" else taken
    told["key"] = (visit.field("key") or secrets.token_urlsafe(18))[:64]
    return Draft(**told, fresh=visit.field("fresh") == "yes")


def _priced(visit: Visit, wanted: Wanted) -> dict[str, Any]:
    with visit.asking.explaining.turn(visit.visitor.name):
        return priced.priced(wanted, visit.desk.project, visit.asking, analyst=visit.visitor.analyst)


def _rehearsed(visit: Visit, draft: Draft, wanted: Wanted, price: dict[str, Any]) -> dict[str, Any]:
    """The question on rows that are made up: free, and nothing private is read."""
    from discreet.rehearse import rehearse
    from discreet.rehearse.lookalike import MOST_ROWS

    if wanted.kind == "batch":
        raise UsageError("a rehearsal is of one question at a time", hint="leave one statement in the editor")
    rows = whole(draft.rows, "How many rows", least=1, most=MOST_ROWS) if draft.rows else None
    with _REHEARSING.turn(visit.visitor.name):
        made = rehearse(
            visit.desk.project,
            wanted.text,
            epsilon=wanted.epsilon,
            within=wanted.within,
            confidence=wanted.confidence,
            delta=wanted.delta,
            rows=rows,
            gaussian=bool(price["gaussian"]) if price["accepted"] else None,
        )
    data: dict[str, Any] = finite(made.to_data())
    return data


def _page(
    visit: Visit,
    draft: Draft,
    *,
    price: dict[str, Any] | None = None,
    rehearsal: dict[str, Any] | None = None,
    problem: Exception | None = None,
) -> Page:
    project = visit.desk.project
    found = None if problem is None else priced.trouble(problem, draft.sql, project)
    if found is None and price is not None and not price["accepted"]:
        found, price = price["problem"], None
    tables = [_words(project, table) for table in project.file.tables.values()]
    data = {
        "draft": draft.data(),
        "tables": tables,
        "functions": sorted(FUNCTIONS),
        "price": price,
        "rehearsal": rehearsal,
        "trouble": found,
        "analyst": visit.visitor.analyst,
    }
    return Page(template="ask.html", data=data, status=200 if found is None else found["status"])


def _words(project: Project, table: Table) -> dict[str, Any]:
    """What may be named in a question about a table, and what is left of its budget."""
    columns = [
        {
            "name": column.name,
            "values": list(column.values[:_VALUES]) if isinstance(column, Category) else [],
            "boolean": isinstance(column, Boolean),
        }
        for column in table.schema.columns
    ]
    unit = table.schema.unit
    return {
        "name": table.name,
        "public": table.public,
        "columns": columns,
        "keys": [*unit.person, *unit.on, *unit.ends],
        "budget": facts.budget(project, table),
    }


def _example(project: Project, wanted: str) -> str:
    """A first question: how many rows by a column whose values are known."""
    private = [table for table in project.file.tables.values() if not table.public]
    table = next((each for each in private if each.name.lower() == wanted.lower()), private[0] if private else None)
    if table is None:
        return ""
    name = _quoted(table.name)
    key = next((column.name for column in table.schema.columns if isinstance(column, Category | Boolean)), None)
    if key is None:
        return f"SELECT count(*) AS n\nFROM {name}"
    return f"SELECT {_quoted(key)}, count(*) AS n\nFROM {name}\nGROUP BY {_quoted(key)}"


def _quoted(name: str) -> str:
    plain = name.isascii() and name.isidentifier() and name == name.lower()
    return name if plain else '"' + name.replace('"', '""') + '"'


ROUTES = (
    Route(method="GET", path="/ask", handler=show, role="analyst"),
    Route(method="POST", path="/ask", handler=send, role="analyst", gridded=True),
    Route(method="POST", path="/ask/price", handler=price, role="analyst"),
    Route(method="POST", path="/ask/cancel", handler=cancel, role="analyst"),
    Route(method="GET", path="/ask/open", handler=underway, role="analyst"),
    Route(method="POST", path="/ask/open/{job}/stop", handler=stop, role="analyst"),
    Route(method="GET", path="/ask/rows/{table:path}.csv", handler=rows_csv, role="analyst", twins=False),
    Route(method="GET", path="/ask/rows/{table:path}.parquet", handler=rows_parquet, role="analyst", twins=False),
    Route(method="GET", path="/ask/answer/{key}", handler=answer, role="analyst"),
)
