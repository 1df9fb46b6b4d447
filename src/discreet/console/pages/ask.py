"""Ask: an editor that prices as you type, rehearses for free, and asks once however often it is sent."""

from __future__ import annotations

import io
import secrets
from dataclasses import replace
from typing import Any
from urllib.parse import quote

from discreet.console.api.release_files import PARQUET
from discreet.console.forms import whole_number
from discreet.console.jobs.concurrency_limit import ConcurrencyLimit
from discreet.console.jobs.idempotency import key_owner
from discreet.console.jobs.release_json import without_infinities
from discreet.console.jobs.stored_results import decode_releases
from discreet.console.pages import query_builder, query_price, rehearsal_charts, release_view, vocabulary
from discreet.console.pages.answer_address import shows_all_rows
from discreet.console.pages.column_precision import at_column_precision, precision_columns
from discreet.console.pages.me import current_person
from discreet.console.pages.query_drafts import EPSILON, QueryDraft, SavedDraft, drafts_of, find_draft
from discreet.console.pages.release_list import recall_release
from discreet.console.render import csv_of
from discreet.console.request_context import RequestContext
from discreet.console.responses import (
    Download,
    HandlerResponse,
    JsonData,
    NotFound,
    Page,
    PageTable,
    Redirect,
    RequestDenied,
)
from discreet.console.routes import Route
from discreet.errors import DiscreetError, UsageError
from discreet.sql.function_names import FUNCTIONS

#: Rehearsals at once: each has a processor for about half a second.
_REHEARSAL_LIMIT = ConcurrencyLimit("rehearsals in progress", at_once=2, waiting=6)

#: Groups of a rehearsal that its page shows.
_GROUPS = 50

_LONGEST_COLUMN = 400

#: Made-up rows in a file.
MADE_UP = 1_000


def show(context: RequestContext) -> HandlerResponse:
    """The editor. Its box is empty, or holds the question of a release that one wants to change."""
    draft = QueryDraft(
        sql=_text_of(context),
        by="within" if context.query_text("within") else "epsilon",
        epsilon=context.query_text("epsilon", EPSILON),
        within=context.query_text("within"),
        confidence=context.query_text("confidence", "0.95"),
        delta=context.query_text("delta"),
        key=secrets.token_urlsafe(18),
    )
    return _page(context, draft)


def send(context: RequestContext) -> HandlerResponse:
    """What a button of the form says: build it, price it, rehearse it, take a suggestion, or ask.

    Nothing is shown here: what comes of it has an address of its own, so that a browser can go back to it.
    """
    draft = _draft(context)
    try:
        if context.field("act") == "build":
            built = query_builder.build_sql(context.handle.project, draft.choices)
            return _save_draft(context, replace(draft, sql=built))
        if context.field("act") == "rehearse":
            return _save_draft(context, draft, rehearsal=_rehearse(context, draft, _price(context, draft)))
        query_request = draft.to_query_request()
        if context.field("act") != "ask":
            return _save_draft(context, draft)
        key = draft.key_of(query_request)
        settled = at_column_precision(query_request, draft.column, context.handle.project)
        outcome = context.queries.ask(settled, context.visitor, key=key, began=context.began)
    except (DiscreetError, RequestDenied) as problem:
        return _save_draft(context, draft, trouble=query_price.editor_error(problem, draft.sql, context.handle.project))
    releases = outcome.releases
    alone = len(releases) == 1 and not releases[0]["derived"] and not releases[0]["from"]
    if alone:
        stored = "?stored=1" if releases[0]["cached"] else ""
        return Redirect(to=f"/a/{quote(releases[0]['release'], safe='')}{stored}")
    return Redirect(to=f"/ask/answer/{quote(key, safe='')}")


def show_draft(context: RequestContext) -> HandlerResponse:
    """The editor with a question that was sent, its price as it is now, and what came of it."""
    saved_draft = find_draft(context.people.drafts, context.params["draft"], current_person(context))
    if saved_draft is None:
        return _page(context, QueryDraft(sql="", key=secrets.token_urlsafe(18)), lost=True)
    if saved_draft.trouble is not None:
        return _page(context, saved_draft.form, trouble=saved_draft.trouble)
    try:
        price = _price(context, saved_draft.form)
    except (DiscreetError, RequestDenied) as problem:
        trouble = query_price.editor_error(problem, saved_draft.form.sql, context.handle.project)
        return _page(context, saved_draft.form, rehearsal=saved_draft.rehearsal, trouble=trouble)
    if not price["accepted"]:
        return _page(context, saved_draft.form, rehearsal=saved_draft.rehearsal, trouble=price["problem"])
    return _page(context, saved_draft.form, price=price, rehearsal=saved_draft.rehearsal)


def price(context: RequestContext) -> HandlerResponse:
    """The price of what is being typed, for the page's script."""
    try:
        return JsonData(data=_price(context, _draft(context)))
    except DiscreetError as problem:
        project = context.handle.project
        return JsonData(
            data={"accepted": False, "problem": query_price.editor_error(problem, context.field("sql"), project)}
        )


def build(context: RequestContext) -> HandlerResponse:
    """The query that the form's choices make, for the page's script. Nothing is asked, and nothing is kept."""
    try:
        choices = query_builder.choices_of(context.form)
        return JsonData(data={"sql": query_builder.build_sql(context.handle.project, choices), "problem": None})
    except DiscreetError as problem:
        return JsonData(data={"sql": None, "problem": query_price.editor_error(problem, "", context.handle.project)})


def cancel(context: RequestContext) -> HandlerResponse:
    """Stop the question of this form at its next tick. What was charged stays charged."""
    draft = _draft(context)
    context.queries.cancel_key(draft.key_of(draft.to_query_request()), context.visitor)
    return Redirect(to="/jobs")


def answer(context: RequestContext) -> HandlerResponse:
    """What one's own request came to: several answers, or one that follows from others."""
    stored_key = context.people.keys.find(key_owner(context.visitor.name or ""), context.params["key"])
    if stored_key is None or stored_key.result is None:
        raise NotFound
    releases = [
        _release_page(each, every=shows_all_rows(context))
        for each in decode_releases(stored_key.result, context.handle.project)
    ]
    return Page(template="ask_answer.html", data={"releases": releases}, table=_cells(releases))


def _cells(releases: list[dict[str, Any]]) -> PageTable:
    """Every cell of several answers, one a line: they have different columns."""
    rows = [
        [number, each["release"], place, column["name"], cell, *(ends or (None, None))]
        for number, each in enumerate(releases, 1)
        for place, (cells, intervals) in enumerate(zip(each["rows"], each["intervals"], strict=True), 1)
        for column, cell, ends in zip(each["columns"], cells, intervals, strict=True)
    ]
    return PageTable(columns=("statement", "release", "row", "column", "value", "low", "high"), rows=rows)


def rows_csv(context: RequestContext) -> HandlerResponse:
    """Made-up rows of a table as CSV, to write questions against."""
    made_up_table = _made_up_table(context)
    rows = list(zip(*(column.to_pylist() for column in made_up_table.columns), strict=True))
    content = csv_of(PageTable(columns=made_up_table.column_names, rows=rows)).encode()
    return Download(
        content=content, media_type="text/csv; charset=utf-8", name=f"made-up-{context.params['table']}.csv"
    )


def rows_parquet(context: RequestContext) -> HandlerResponse:
    """The same as Parquet."""
    import pyarrow.parquet as pq

    out = io.BytesIO()
    pq.write_table(_made_up_table(context), out)
    return Download(content=out.getvalue(), media_type=PARQUET, name=f"made-up-{context.params['table']}.parquet")


def _made_up_table(context: RequestContext) -> Any:
    from discreet.rehearse import look_alike

    tables = context.handle.project.file.tables
    table = next((each for each in tables.values() if each.name == context.params["table"]), None)
    if table is None or table.public:
        raise NotFound
    return look_alike(tables, table.name, rows=MADE_UP)


def _release_page(data: dict[str, Any], *, every: bool) -> dict[str, Any]:
    names = ("release", "table", "version", "columns", "rows", "intervals", "confidence", "warnings", "derived", "from")
    release_fields = {name: data[name] for name in names}
    return {
        **release_fields,
        "title": data.get("title"),
        "cost": data["cost"],
        "sheet": release_view.page_sheet(data, every=every),
        "chart": release_view.release_chart(data),
    }


def _draft(context: RequestContext) -> QueryDraft:
    """The form, with what a suggestion puts in place."""
    form_texts = {
        name: context.field(name).strip() for name in ("by", "epsilon", "within", "confidence", "delta", "rows")
    }
    form_texts["column"] = context.field("column")[:_LONGEST_COLUMN]
    form_texts["by"] = "within" if form_texts["by"] == "within" else "epsilon"
    form_texts["sql"] = context.field("sql").replace("\r\n", "\n")
    taken, _, value = context.field("take").partition(" ")
    if taken in ("sql", "epsilon", "within"):
        form_texts[taken] = value
        form_texts["by"] = form_texts["by"] if taken == "sql" else taken
    form_texts["key"] = (context.field("key") or secrets.token_urlsafe(18))[:64]
    choices = query_builder.choices_of(context.form)
    return QueryDraft(**form_texts, fresh=context.field("fresh") == "yes", choices=choices)


def _price(context: RequestContext, draft: QueryDraft) -> dict[str, Any]:
    query_request = draft.to_query_request()
    drafts = [
        (name, each.form)
        for name, each in drafts_of(context.people.drafts, current_person(context))
        if each.trouble is None
    ]
    about = query_price.PriceContext(analyst=context.visitor.analyst, column=draft.column, drafts=drafts)
    with context.queries.explain_limit.turn(context.visitor.name):
        return query_price.price_query(query_request, context.handle.project, context.queries, about)


def _rehearse(context: RequestContext, draft: QueryDraft, price: dict[str, Any]) -> dict[str, Any]:
    """The question on rows that are made up: free, and nothing private is read."""
    from discreet.rehearse import rehearse
    from discreet.rehearse.lookalike import MOST_ROWS

    column = price["column"] if price["accepted"] else draft.column
    query_request = at_column_precision(draft.to_query_request(), column, context.handle.project)
    if query_request.kind == "batch":
        raise UsageError("only one query at a time can be rehearsed", hint="leave one statement in the editor")
    rows = whole_number(draft.rows, "the number of rows", least=1, most=MOST_ROWS) if draft.rows else None
    with _REHEARSAL_LIMIT.turn(context.visitor.name):
        made = rehearse(
            context.handle.project,
            query_request.text,
            epsilon=query_request.epsilon,
            within=query_request.within,
            confidence=query_request.confidence,
            delta=query_request.delta,
            rows=rows,
            gaussian=bool(price["gaussian"]) if price["accepted"] else None,
        )
    data: dict[str, Any] = without_infinities(made.to_data())
    errors = price["errors"] if price["accepted"] else []
    return {**data, "charts": rehearsal_charts.charts_of(data, errors), "rows": data["rows"][:_GROUPS]}


def _save_draft(
    context: RequestContext,
    draft: QueryDraft,
    *,
    rehearsal: dict[str, Any] | None = None,
    trouble: dict[str, Any] | None = None,
) -> Redirect:
    """To the page that shows a draft."""
    saved_draft = SavedDraft(form=draft, rehearsal=rehearsal, trouble=trouble)
    return Redirect(to=f"/ask/draft/{saved_draft.keep(context.people.drafts, current_person(context))}")


def _page(
    context: RequestContext,
    draft: QueryDraft,
    *,
    price: dict[str, Any] | None = None,
    rehearsal: dict[str, Any] | None = None,
    trouble: dict[str, Any] | None = None,
    lost: bool = False,
) -> Page:
    project = context.handle.project
    tables = [
        {**vocabulary.table_vocabulary(project, table), "snippets": query_builder.snippets(project, table)}
        for table in project.file.tables.values()
    ]
    data = {
        "draft": draft.data(),
        "columns": precision_columns(project, draft.sql) if draft.sql else [],
        "example": vocabulary.example_query(project, context.query_text("table")),
        "tables": tables,
        "builder": query_builder.form_data(project, context.query_text("table")),
        "functions": sorted(FUNCTIONS),
        "price": price,
        "rehearsal": rehearsal,
        "trouble": trouble,
        "lost": lost,
        "analyst": context.visitor.analyst,
    }
    status = 404 if lost else 200
    return Page(template="ask.html", data=data, status=status if trouble is None else trouble["status"])


def _text_of(context: RequestContext) -> str:
    """The question of a release that somebody wants to change; empty where none is named.

    Addresses name releases and never hold SQL: they stay in histories and in the logs of proxies.
    """
    if not (id_ := context.query_text("release")):
        return ""
    texts = recall_release(context.handle.project, id_).texts
    statement = whole_number(context.query_text("statement", "1"), "statement", least=1, most=max(1, len(texts)))
    return texts[statement - 1] if texts else ""


ROUTES = (
    Route(method="GET", path="/ask", handler=show, role="analyst"),
    Route(method="POST", path="/ask", handler=send, role="analyst", gridded=True),
    Route(method="GET", path="/ask/draft/{draft}", handler=show_draft, role="analyst"),
    Route(method="POST", path="/ask/price", handler=price, role="analyst"),
    Route(method="POST", path="/ask/build", handler=build, role="analyst"),
    Route(method="POST", path="/ask/cancel", handler=cancel, role="analyst"),
    Route(method="GET", path="/ask/rows/{table:path}.csv", handler=rows_csv, role="analyst", twins=False),
    Route(method="GET", path="/ask/rows/{table:path}.parquet", handler=rows_parquet, role="analyst", twins=False),
    Route(method="GET", path="/ask/answer/{key}", handler=answer, role="analyst"),
)
