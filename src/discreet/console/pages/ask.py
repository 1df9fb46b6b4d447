"""Ask: an editor that prices as you type, rehearses for free, and asks once however often it is sent."""

from __future__ import annotations

import io
import secrets
from typing import Any
from urllib.parse import quote

from discreet.console import answered, priced, vocabulary
from discreet.console.answer import Answer, Denied, Download, Grid, Json, Missing, Page, Redirect
from discreet.console.api.files import PARQUET
from discreet.console.asking.drafts import EPSILON, Draft, Drafts, Kept
from discreet.console.asking.keeping import read
from discreet.console.asking.keyed import owner_of
from discreet.console.asking.released import finite
from discreet.console.asking.wanted import Wanted
from discreet.console.forms import whole
from discreet.console.released import recalled
from discreet.console.render import csv_of
from discreet.console.room import Room
from discreet.console.routes import Route
from discreet.console.visit import Visit
from discreet.errors import DiscreetError, UsageError
from discreet.sql.functions import FUNCTIONS

#: Rehearsals at once: each has a processor for about half a second.
_REHEARSING = Room("rehearsals under way", at_once=2, waiting=6)

#: Groups of a rehearsal that its page shows.
_GROUPS = 50

#: Made-up rows in a file.
MADE_UP = 1_000


def show(visit: Visit) -> Answer:
    """The editor. Its box is empty, or holds the question of a release that one wants to change."""
    draft = Draft(
        sql=_text_of(visit),
        by="within" if visit.asked("within") else "epsilon",
        epsilon=visit.asked("epsilon", EPSILON),
        within=visit.asked("within"),
        confidence=visit.asked("confidence", "0.95"),
        delta=visit.asked("delta"),
        key=secrets.token_urlsafe(18),
    )
    return _page(visit, draft)


def send(visit: Visit) -> Answer:
    """What a button of the form says: price it, rehearse it, take a suggestion, or ask.

    Nothing is shown here: what comes of it has an address of its own, so that a browser can go back to it.
    """
    draft = _draft(visit)
    try:
        wanted = draft.wanted()
        if visit.field("act") == "rehearse":
            return _kept(visit, draft, rehearsal=_rehearsed(visit, draft, wanted, _priced(visit, wanted)))
        if visit.field("act") != "ask":
            return _kept(visit, draft)
        outcome = visit.asking.ask(wanted, visit.visitor, key=draft.key_of(wanted), began=visit.began)
    except (DiscreetError, Denied) as problem:
        return _kept(visit, draft, trouble=priced.trouble(problem, draft.sql, visit.desk.project))
    releases = outcome.releases
    alone = len(releases) == 1 and not releases[0]["derived"] and not releases[0]["from"]
    if alone:
        stored = "?stored=1" if releases[0]["cached"] else ""
        return Redirect(to=f"/a/{quote(releases[0]['release'], safe='')}{stored}")
    return Redirect(to=f"/ask/answer/{quote(draft.key_of(wanted), safe='')}")


def show_draft(visit: Visit) -> Answer:
    """The editor with a question that was sent, its price as it is now, and what came of it."""
    kept = _drafts(visit).find(visit.params["draft"], person=visit.visitor.name or "")
    if kept is None:
        return _page(visit, Draft(sql="", key=secrets.token_urlsafe(18)), lost=True)
    if kept.trouble is not None:
        return _page(visit, kept.form, trouble=kept.trouble)
    try:
        price = _priced(visit, kept.form.wanted())
    except (DiscreetError, Denied) as problem:
        trouble = priced.trouble(problem, kept.form.sql, visit.desk.project)
        return _page(visit, kept.form, rehearsal=kept.rehearsal, trouble=trouble)
    if not price["accepted"]:
        return _page(visit, kept.form, rehearsal=kept.rehearsal, trouble=price["problem"])
    return _page(visit, kept.form, price=price, rehearsal=kept.rehearsal)


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
    return {**data, "rows": data["rows"][:_GROUPS]}


def _drafts(visit: Visit) -> Drafts:
    return visit.desk.shared(Drafts, Drafts)


def _kept(
    visit: Visit, draft: Draft, *, rehearsal: dict[str, Any] | None = None, trouble: dict[str, Any] | None = None
) -> Redirect:
    """To the page that shows a draft."""
    kept = Kept(person=visit.visitor.name or "", form=draft, rehearsal=rehearsal, trouble=trouble)
    return Redirect(to=f"/ask/draft/{_drafts(visit).keep(kept)}")


def _page(
    visit: Visit,
    draft: Draft,
    *,
    price: dict[str, Any] | None = None,
    rehearsal: dict[str, Any] | None = None,
    trouble: dict[str, Any] | None = None,
    lost: bool = False,
) -> Page:
    project = visit.desk.project
    tables = [vocabulary.words(project, table) for table in project.file.tables.values()]
    data = {
        "draft": draft.data(),
        "example": vocabulary.example(project, visit.asked("table")),
        "tables": tables,
        "functions": sorted(FUNCTIONS),
        "price": price,
        "rehearsal": rehearsal,
        "trouble": trouble,
        "lost": lost,
        "analyst": visit.visitor.analyst,
    }
    status = 404 if lost else 200
    return Page(template="ask.html", data=data, status=status if trouble is None else trouble["status"])


def _text_of(visit: Visit) -> str:
    """The question of a release that somebody wants to change; empty where none is named.

    Addresses name releases and never hold SQL: they stay in histories and in the logs of proxies.
    """
    if not (id_ := visit.asked("release")):
        return ""
    texts = recalled(visit.desk.project, id_).texts
    statement = whole(visit.asked("statement", "1"), "statement", least=1, most=max(1, len(texts)))
    return texts[statement - 1] if texts else ""


ROUTES = (
    Route(method="GET", path="/ask", handler=show, role="analyst"),
    Route(method="POST", path="/ask", handler=send, role="analyst", gridded=True),
    Route(method="GET", path="/ask/draft/{draft}", handler=show_draft, role="analyst"),
    Route(method="POST", path="/ask/price", handler=price, role="analyst"),
    Route(method="POST", path="/ask/cancel", handler=cancel, role="analyst"),
    Route(method="GET", path="/ask/open", handler=underway, role="analyst"),
    Route(method="POST", path="/ask/open/{job}/stop", handler=stop, role="analyst"),
    Route(method="GET", path="/ask/rows/{table:path}.csv", handler=rows_csv, role="analyst", twins=False),
    Route(method="GET", path="/ask/rows/{table:path}.parquet", handler=rows_parquet, role="analyst", twins=False),
    Route(method="GET", path="/ask/answer/{key}", handler=answer, role="analyst"),
)
