"""Tables: histograms, ranges, marginals and published tables. Each is planned first, free, and then paid for once."""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote

from discreet.console import forms
from discreet.console.jobs import census_tables, marginal_tables, network_statistics, range_cuts, range_tables
from discreet.console.jobs.job_queue import Progress, job_queue_of
from discreet.console.jobs.query_request import QueryRequest
from discreet.console.pages import job_progress, plan_picker, reconciliation, release_list, table_release
from discreet.console.pages.plan_picker import PlanChoices
from discreet.console.request_context import RequestContext
from discreet.console.responses import HandlerResponse, Page, PageTable, Redirect
from discreet.console.routes import Route
from discreet.errors import DiscreetError

AREA = "tables"
KINDS = (
    {"name": "histogram", "words": "how many rows have each value, or each combination of values, of some columns"},
    {"name": "ranges", "words": "ranges and quantiles of a column, as many as you like, for one charge"},
    {"name": "marginals", "words": "all tables of a few columns, which agree with each other"},
    {"name": "publish", "words": "tables of places and attributes that add up exactly, as a census publishes them"},
    {"name": "network", "words": "how many links people have, who resembles whom, triangles: statistics of a network"},
)

Wish = dict[str, Any]


def listing(context: RequestContext) -> HandlerResponse:
    """What can be made, and what was."""
    project = context.handle.project
    releases = release_list.list_releases(project, ("ranges", "marginals", "publish", "description", "graph"))
    data = {
        "kinds": KINDS,
        "released": releases,
        "works": job_queue_of(context).open_jobs(context.visitor, AREA),
        "tables": forms.private_tables(project),
    }
    rows = [[each["release"], each["kind"], each["table"], each["version"], each["time"]] for each in releases]
    grid = PageTable(columns=("release", "kind", "table", "version", "time"), rows=rows)
    return Page(template="tables.html", data=data, table=grid)


def _form(
    context: RequestContext,
    kind: str,
    wish: Wish,
    *,
    quotation: Any = None,
    problem: Exception | None = None,
    about: Mapping[str, Any] | None = None,
) -> Page:
    """A form, with the plan or the problem beside it. `about`: what its template shows besides."""
    tables = forms.private_tables(context.handle.project)
    named = str(wish.get("table", "")).lower()
    trouble, status = (None, 200) if problem is None else forms.form_error(problem)
    data = {
        "kind": kind,
        "tables": tables,
        "table": next((each for each in tables if each["name"].lower() == named), None),
        "wish": wish,
        "quote": quotation,
        "trouble": trouble,
        **(about or {}),
    }
    return Page(template=f"tables_{kind}.html", data=data, status=status)


def _plan_page(
    context: RequestContext,
    kind: str,
    wish: Wish,
    quoted: Callable[[], Any],
    *,
    about: Mapping[str, Any] | None = None,
) -> Page:
    """The form, and beside it the plan where there is enough to make one. Free."""
    if not wish["table"] or not (wish["epsilon"] or wish.get("within")):
        return _form(context, kind, wish, about=about)
    try:
        with job_queue_of(context).pricing_turn(context.visitor):
            return _form(context, kind, wish, quotation=quoted(), about=about)
    except DiscreetError as problem:
        return _form(context, kind, wish, problem=problem, about=about)


def _start_job(
    context: RequestContext,
    kind: str,
    wish: Wish,
    act: Callable[[Progress], str],
    *,
    about: Mapping[str, Any] | None = None,
) -> HandlerResponse:
    """Pay, and go to what came of it; what cannot be is told beside the form."""
    digest = hashlib.sha256(json.dumps([kind, wish], sort_keys=True).encode()).hexdigest()
    words = f"{kind} of {wish['table']}" if wish.get("table") else "tables that add up"
    job_queue = job_queue_of(context)
    try:
        job = job_queue.start(context.visitor, act, area=AREA, words=words, key=digest)
        return Redirect(to=job_queue.next_path(job))
    except DiscreetError as problem:
        return _form(context, kind, wish, problem=problem, about=about)


def _histogram_wish(texts: Mapping[str, tuple[str, ...]]) -> Wish:
    def one(name: str) -> str:
        return texts.get(name, ("",))[0].strip()

    numbers = {name: forms.number_text(one(name), name) for name in ("epsilon", "within", "delta")}
    columns = list(dict.fromkeys(name for name in texts.get("columns", ()) if name))
    return {"table": one("table"), "columns": columns, "where": one("where"), "width": one("width"), **numbers}


def _histogram_request(context: RequestContext, wish: Wish) -> QueryRequest:
    """A histogram is a question in SQL like any other."""
    histogram = context.handle.project.histogram
    text = histogram(
        wish["table"], *wish["columns"], where=wish["where"] or None, width=wish["width"] or None
    ).query.text
    return QueryRequest(text=text, epsilon=wish["epsilon"], within=wish["within"], delta=wish["delta"])


def histogram(context: RequestContext) -> HandlerResponse:
    """Plan a histogram."""
    wish = _histogram_wish(context.query)

    def quoted() -> dict[str, Any]:
        return context.queries.explain(_histogram_request(context, wish), context.visitor).data

    return _plan_page(context, "histogram", wish, quoted, about={"key": secrets.token_urlsafe(16)})


def ask_histogram(context: RequestContext) -> HandlerResponse:
    """Pay for a histogram: an answer like any other."""
    wish = _histogram_wish(context.form)
    try:
        outcome = context.queries.ask(_histogram_request(context, wish), context.visitor, key=context.field("key"))
    except DiscreetError as problem:
        return _form(context, "histogram", wish, problem=problem, about={"key": secrets.token_urlsafe(16)})
    if outcome.releases[0]["derived"]:  # it is stored nowhere, and shown where it was asked
        return Redirect(to=f"/ask/answer/{quote(context.field('key'), safe='')}")
    return Redirect(to=f"/a/{quote(outcome.releases[0]['release'], safe='')}")


def plan_ranges(context: RequestContext) -> HandlerResponse:
    """Plan ranges."""
    wish = range_tables.wish_of(context.query)

    def quoted() -> dict[str, Any]:
        return range_tables.quote_ranges(context.handle.project, wish)

    return _plan_page(context, "ranges", wish, quoted, about=_about_ranges(context, wish))


def _about_ranges(context: RequestContext, wish: Wish) -> dict[str, Any]:
    """What the form for ranges tells before anything is paid: how it can be planned, and where ranges may end."""
    named = {each["name"].lower(): each["ordered"] for each in forms.private_tables(context.handle.project)}
    ordered = named.get(wish["table"].lower(), [])
    column_cuts = range_cuts.cuts_by_column(context.handle.project.table(wish["table"]), ordered) if ordered else {}
    return {"strategies": range_tables.STRATEGIES, "cuts": column_cuts}


def pay_ranges(context: RequestContext) -> HandlerResponse:
    """Pay for ranges."""
    wish, project, analyst = range_tables.wish_of(context.form), context.handle.project, context.visitor.analyst

    def act(tell: Progress) -> str:
        tell("measuring", 0.1)
        return range_tables.measure_ranges(project, wish, analyst=analyst)

    return _start_job(context, "ranges", wish, act, about=_about_ranges(context, wish))


def plan_marginals(context: RequestContext) -> HandlerResponse:
    """Plan marginals."""
    wish = marginal_tables.wish_of(context.query)

    def quoted() -> dict[str, Any]:
        return marginal_tables.quote_marginals(context.handle.project, wish, most=context.settings.most_rows)

    return _plan_page(context, "marginals", wish, quoted)


def pay_marginals(context: RequestContext) -> HandlerResponse:
    """Pay for marginals. Too many cells are refused before anything is charged."""
    wish, project, analyst = marginal_tables.wish_of(context.form), context.handle.project, context.visitor.analyst
    most = context.settings.most_rows

    def act(tell: Progress) -> str:
        tell("planning", 0.1)
        marginal_tables.quote_marginals(project, wish, most=most)
        tell("measuring", 0.3)
        return marginal_tables.measure_marginals(project, wish, analyst=analyst)

    return _start_job(context, "marginals", wish, act)


def plan_network(context: RequestContext) -> HandlerResponse:
    """Plan statistics of a network."""
    wish = network_statistics.wish_of(context.query)

    def quoted() -> dict[str, Any]:
        return network_statistics.quote_statistics(context.handle.project, wish)

    return _plan_page(context, "network", wish, quoted, about=_about_network(context))


def _about_network(context: RequestContext) -> dict[str, Any]:
    """The tables to choose from: those whose rows are links, and those whose rows may be."""
    named = {each["name"]: each for each in forms.private_tables(context.handle.project)}
    tables = network_statistics.network_tables(context.handle.project)
    return {kind: [named[name] for name in names] for kind, names in tables.items()}


def pay_network(context: RequestContext) -> HandlerResponse:
    """Pay for statistics of a network."""
    wish, project, analyst = network_statistics.wish_of(context.form), context.handle.project, context.visitor.analyst

    def act(tell: Progress) -> str:
        tell("measuring", 0.1)
        made = network_statistics.measure_statistics(project, wish, analyst=analyst)
        return network_statistics.page_of(made["release"])

    return _start_job(context, "network", wish, act, about=_about_network(context))


def _about_publish(context: RequestContext, wish: Wish, choices: PlanChoices | None, at: str = "") -> dict[str, Any]:
    """What the form for a plan tells: its lists, where lists can say the plan, and where the problem is."""
    project = context.handle.project
    chosen = choices if choices is not None or not wish["plan"] else plan_picker.choices_of_plan(wish["plan"])
    name = "" if chosen is None else chosen.table.lower()
    table = next((each for each in forms.private_tables(project) if each["name"].lower() == name), None)
    declared = None if table is None else project.table(table["name"])
    return {
        "example": census_tables.EXAMPLE,
        "table": table,
        "choices": None if chosen is None or table is None else chosen.to_data(),
        "options": None if declared is None else plan_picker.options_json(project, declared),
        "trouble_at": at,
    }


def publish_form(context: RequestContext) -> HandlerResponse:
    """The form for a plan: of a table that was chosen, its lists."""
    wish = census_tables.wish_of(context.query)
    choices = PlanChoices(table=context.query_text("table")) if context.query_text("table") else None
    return _form(context, "publish", wish, about=_about_publish(context, wish, choices))


def publish(context: RequestContext) -> HandlerResponse:
    """Plan tables that add up, or pay for them; too many cells are refused before anything is charged."""
    wish, project, visitor = census_tables.wish_of(context.form), context.handle.project, context.visitor
    choices = None
    try:
        if context.field("by") == "choices":
            choices = plan_picker.choices_of_form(context.form)
            wish["plan"] = plan_picker.plan_text(choices, project.private(choices.table))
        census_tables.check_may_publish(wish, visitor)
        with job_queue_of(context).pricing_turn(context.visitor):
            quotation = census_tables.quote_tables(project, wish, most=context.settings.most_rows)
    except DiscreetError as problem:
        about = _about_publish(context, wish, choices, plan_picker.place_of(problem))
        return _form(context, "publish", wish, problem=problem, about=about)
    about = _about_publish(context, wish, choices)
    if context.field("act") != "pay":
        return _form(context, "publish", wish, quotation=quotation, about=about)

    def act(tell: Progress) -> str:
        return census_tables.publish_tables(project, wish, analyst=visitor.analyst, progress=tell)

    return _start_job(context, "publish", wish, act, about=about)


ROUTES = (
    Route(method="GET", path="/tables", handler=listing, role="analyst"),
    Route(method="GET", path="/tables/new/histogram", handler=histogram, role="analyst"),
    Route(method="POST", path="/tables/new/histogram", handler=ask_histogram, role="analyst", gridded=True),
    Route(method="GET", path="/tables/new/ranges", handler=plan_ranges, role="analyst"),
    Route(method="POST", path="/tables/new/ranges", handler=pay_ranges, role="analyst", gridded=True),
    Route(method="GET", path="/tables/new/marginals", handler=plan_marginals, role="analyst"),
    Route(method="POST", path="/tables/new/marginals", handler=pay_marginals, role="analyst", gridded=True),
    Route(method="GET", path="/tables/new/publish", handler=publish_form, role="analyst"),
    Route(method="POST", path="/tables/new/publish", handler=publish, role="analyst", gridded=True),
    Route(method="GET", path="/tables/new/network", handler=plan_network, role="analyst"),
    Route(method="POST", path="/tables/new/network", handler=pay_network, role="analyst", gridded=True),
    *job_progress.routes(AREA),
    *reconciliation.ROUTES,
    *table_release.ROUTES,
)
