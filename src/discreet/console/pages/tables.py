"""Tables: histograms, ranges, marginals and published tables. Each is planned first, free, and then paid for once."""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote

from discreet.console import forms, released
from discreet.console.answer import Answer, Grid, Page, Redirect
from discreet.console.asking.wanted import Wanted
from discreet.console.pages import agreeing, tables_read, under_way
from discreet.console.routes import Route
from discreet.console.tabling import cuts, marginals, published, ranges
from discreet.console.visit import Visit
from discreet.console.works import Progress, works_of
from discreet.errors import DiscreetError

AREA = "tables"
KINDS = (
    {"name": "histogram", "words": "how many rows have each value, or each combination of values, of some columns"},
    {"name": "ranges", "words": "intervals and quantiles of a column, as many as you like, from one charge"},
    {"name": "marginals", "words": "all tables of a few columns, which agree with each other"},
    {"name": "publish", "words": "tables of places and attributes that add up exactly, as a census publishes them"},
)

Wish = dict[str, Any]


def listing(visit: Visit) -> Answer:
    """What can be made, and what was."""
    project = visit.desk.project
    found = released.listed(project, ("ranges", "marginals", "publish"))
    data = {
        "kinds": KINDS,
        "released": found,
        "works": works_of(visit).listed(visit.visitor, AREA),
        "tables": forms.private_tables(project),
    }
    rows = [[each["release"], each["kind"], each["table"], each["version"], each["time"]] for each in found]
    grid = Grid(columns=("release", "kind", "table", "version", "time"), rows=rows)
    return Page(template="tables.html", data=data, table=grid)


def _form(
    visit: Visit, kind: str, wish: Wish, *, found: Any = None, problem: Exception | None = None, **more: Any
) -> Page:
    tables = forms.private_tables(visit.desk.project)
    named = str(wish.get("table", "")).lower()
    trouble, status = (None, 200) if problem is None else forms.trouble(problem)
    data = {
        "kind": kind,
        "tables": tables,
        "table": next((each for each in tables if each["name"].lower() == named), None),
        "wish": wish,
        "quote": found,
        "trouble": trouble,
        **more,
    }
    return Page(template=f"tables_{kind}.html", data=data, status=status)


def _planned(visit: Visit, kind: str, wish: Wish, quoted: Callable[[], Any], **more: Any) -> Page:
    """The form, and beside it the plan where there is enough to make one. Free."""
    if not wish["table"] or not (wish["epsilon"] or wish.get("within")):
        return _form(visit, kind, wish, **more)
    try:
        with works_of(visit).pricing(visit.visitor):
            return _form(visit, kind, wish, found=quoted(), **more)
    except DiscreetError as problem:
        return _form(visit, kind, wish, problem=problem, **more)


def _paid(visit: Visit, kind: str, wish: Wish, act: Callable[[Progress], str], **more: Any) -> Answer:
    """Pay, and go to what came of it; what cannot be is told beside the form."""
    digest = hashlib.sha256(json.dumps([kind, wish], sort_keys=True).encode()).hexdigest()
    words = f"{kind} of {wish['table']}" if wish.get("table") else "tables that add up"
    works = works_of(visit)
    try:
        work = works.start(visit.visitor, act, area=AREA, words=words, key=digest)
        return Redirect(to=works.awaited(work))
    except DiscreetError as problem:
        return _form(visit, kind, wish, problem=problem, **more)


def _histogram_wish(texts: Mapping[str, tuple[str, ...]]) -> Wish:
    def one(name: str) -> str:
        return texts.get(name, ("",))[0].strip()

    numbers = {name: forms.number(one(name), name) for name in ("epsilon", "within", "delta")}
    columns = list(dict.fromkeys(name for name in texts.get("columns", ()) if name))
    return {"table": one("table"), "columns": columns, **numbers}


def _question(visit: Visit, wish: Wish) -> Wanted:
    """A histogram is a question in SQL like any other."""
    text = visit.desk.project.histogram(wish["table"], *wish["columns"]).asked.text
    return Wanted(text=text, epsilon=wish["epsilon"], within=wish["within"], delta=wish["delta"])


def histogram(visit: Visit) -> Answer:
    """Plan a histogram."""
    wish = _histogram_wish(visit.query)

    def quoted() -> dict[str, Any]:
        return visit.asking.explain(_question(visit, wish), visit.visitor).data

    return _planned(visit, "histogram", wish, quoted, key=secrets.token_urlsafe(16))


def ask_histogram(visit: Visit) -> Answer:
    """Pay for a histogram: an answer like any other."""
    wish = _histogram_wish(visit.form)
    try:
        found = visit.asking.ask(_question(visit, wish), visit.visitor, key=visit.field("key"))
    except DiscreetError as problem:
        return _form(visit, "histogram", wish, problem=problem, key=secrets.token_urlsafe(16))
    return Redirect(to=f"/a/{quote(found.releases[0]['release'], safe='')}")


def plan_ranges(visit: Visit) -> Answer:
    """Plan ranges."""
    wish = ranges.wish_of(visit.query)

    def quoted() -> dict[str, Any]:
        return ranges.quoted(visit.desk.project, wish)

    return _planned(visit, "ranges", wish, quoted, **_about_ranges(visit, wish))


def _about_ranges(visit: Visit, wish: Wish) -> dict[str, Any]:
    """What the form for ranges tells before anything is paid: how it can be planned, and where ranges may end."""
    named = {each["name"].lower(): each["ordered"] for each in forms.private_tables(visit.desk.project)}
    ordered = named.get(wish["table"].lower(), [])
    found = cuts.cuts(visit.desk.project.table(wish["table"]), ordered) if ordered else {}
    return {"strategies": ranges.STRATEGIES, "cuts": found}


def pay_ranges(visit: Visit) -> Answer:
    """Pay for ranges."""
    wish, project, analyst = ranges.wish_of(visit.form), visit.desk.project, visit.visitor.analyst

    def act(tell: Progress) -> str:
        tell("measuring", 0.1)
        return ranges.made(project, wish, analyst=analyst)

    return _paid(visit, "ranges", wish, act, **_about_ranges(visit, wish))


def plan_marginals(visit: Visit) -> Answer:
    """Plan marginals."""
    wish = marginals.wish_of(visit.query)

    def quoted() -> dict[str, Any]:
        return marginals.quoted(visit.desk.project, wish, most=visit.settings.most_rows)

    return _planned(visit, "marginals", wish, quoted)


def pay_marginals(visit: Visit) -> Answer:
    """Pay for marginals. Too many cells are refused before anything is charged."""
    wish, project, analyst = marginals.wish_of(visit.form), visit.desk.project, visit.visitor.analyst
    most = visit.settings.most_rows

    def act(tell: Progress) -> str:
        tell("planning", 0.1)
        marginals.quoted(project, wish, most=most)
        tell("measuring", 0.3)
        return marginals.made(project, wish, analyst=analyst)

    return _paid(visit, "marginals", wish, act)


def publishing(visit: Visit) -> Answer:
    """The form for a plan."""
    return _form(visit, "publish", published.wish_of(visit.query), example=published.EXAMPLE)


def publish(visit: Visit) -> Answer:
    """Plan tables that add up, or pay for them; too many cells are refused before anything is charged."""
    wish, project, visitor = published.wish_of(visit.form), visit.desk.project, visit.visitor
    more: dict[str, Any] = {"example": published.EXAMPLE}
    try:
        published.check_may(wish, visitor)
        with works_of(visit).pricing(visit.visitor):
            found = published.quoted(project, wish, most=visit.settings.most_rows)
    except DiscreetError as problem:
        return _form(visit, "publish", wish, problem=problem, **more)
    if visit.field("act") != "pay":
        return _form(visit, "publish", wish, found=found, **more)

    def act(tell: Progress) -> str:
        return published.made(project, wish, analyst=visitor.analyst, progress=tell)

    return _paid(visit, "publish", wish, act, **more)


ROUTES = (
    Route(method="GET", path="/tables", handler=listing, role="analyst"),
    Route(method="GET", path="/tables/new/histogram", handler=histogram, role="analyst"),
    Route(method="POST", path="/tables/new/histogram", handler=ask_histogram, role="analyst", gridded=True),
    Route(method="GET", path="/tables/new/ranges", handler=plan_ranges, role="analyst"),
    Route(method="POST", path="/tables/new/ranges", handler=pay_ranges, role="analyst", gridded=True),
    Route(method="GET", path="/tables/new/marginals", handler=plan_marginals, role="analyst"),
    Route(method="POST", path="/tables/new/marginals", handler=pay_marginals, role="analyst", gridded=True),
    Route(method="GET", path="/tables/new/publish", handler=publishing, role="analyst"),
    Route(method="POST", path="/tables/new/publish", handler=publish, role="analyst", gridded=True),
    *under_way.routes(AREA),
    *agreeing.ROUTES,
    *tables_read.ROUTES,
)
