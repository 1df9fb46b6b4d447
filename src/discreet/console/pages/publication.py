"""What the owner chose to publish: everybody may read it, without an account, and check it without us.

A release that is not published is not there, for anybody: the same sentence as for one that never was. One that is read
together with earlier ones (`again`) shows their noisy numbers, so it is published with them or not at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from discreet.bundle import bundle_files
from discreet.bundle.claims import claims_of_event, parameters
from discreet.bundle.sheet import Sheet
from discreet.console.console_text import console_texts
from discreet.console.error_responses import error_report_of, page_problem
from discreet.console.pages import release_view
from discreet.console.pages.answer_address import shows_all_rows
from discreet.console.pages.bundle_cache import FIELDS, about_of, bundle_cache_of, bundle_of
from discreet.console.pages.publication_draft import preview_json, suggested_fields
from discreet.console.people.publications import Publication
from discreet.console.request_context import RequestContext
from discreet.console.responses import Download, HandlerResponse, NotFound, Page, PageTable, Redirect
from discreet.console.routes import Route
from discreet.errors import DiscreetError, UsageError

#: Files of a bundle that can be had one by one, and what they are.
KINDS = {
    "parquet": "application/vnd.apache.parquet",
    "yaml": "application/yaml",
    "html": "text/html; charset=utf-8",
    "svg": "image/svg+xml",
    "csv": "text/csv; charset=utf-8",
    "json": "application/json",
}


def index(context: RequestContext) -> HandlerResponse:
    """All that is published, the newest first."""
    answers = bundle_cache_of(context).state(context.handle.project).answers
    lines = [_line(context, each) for each in reversed(context.people.published.all()) if each.release in answers]
    columns = ("release", "name", "table", "published", "variant", "description")
    rows = [[each[name] for name in columns] for each in lines]
    return Page(template="published.html", data={"published": lines}, table=PageTable(columns=columns, rows=rows))


def _line(context: RequestContext, publication: Publication) -> dict[str, Any]:
    """A publication in a list: what the ledger says of it, and its own words."""
    project, bundles = context.handle.project, bundle_cache_of(context)
    recalled_release = bundles.recall(project, publication.release)
    account = project.ledger.state.account(recalled_release.charge.population)
    made_by = bundles.combined_event(project, publication.release)
    claims = {} if made_by is None else claims_of_event(made_by, doubled=account.invariant)
    return {
        "release": publication.release,
        "name": publication.fields.get("name", ""),
        "description": publication.fields.get("description", ""),
        "table": recalled_release.charge.table,
        "published": publication.data()["published"][:10],
        "variant": claims.get("variant", "unknown"),
        "parameters": parameters(claims) if claims else {},
    }


def show(context: RequestContext) -> HandlerResponse:
    """One release: its card, its rows, its chart, and its files."""
    publication = _publication(context)
    bundle = bundle_of(context, publication)
    content = bundle.content
    tables = [_table(sheet, every=shows_all_rows(context)) for sheet in content.sheets]
    data = {
        **_line(context, publication),
        "question": content.text,
        "version": content.version,
        "confidence": float(content.confidence),
        "tables": tables,
        "explanation": bundle.explanation,
        "warnings": console_texts(content.warnings),
        "card": dict(bundle.card["deployment"]),
        "files": {name: len(part) for name, part in bundle.files.items()},
        "key": bundle.key,
    }
    table = release_view.file_table(tables[0]) if tables else None
    return Page(template="published_release.html", data=data, table=table)


def _table(sheet: Sheet, *, every: bool) -> dict[str, Any]:
    data = sheet.to_data()
    return {
        **data,
        "sheet": release_view.page_sheet(data, every=every),
        "chart": release_view.release_chart(_chart_data(data)),
    }


def _chart_data(data: dict[str, Any]) -> dict[str, Any]:
    """What a chart is drawn of: cells of a column are placed by where they begin, not by both of their ends."""
    if [column["name"] for column in data["columns"]] != ["low", "high", "rows"]:
        return data
    return {name: [[row[0], row[2]] for row in data[name]] for name in ("rows", "intervals")} | {
        "columns": [data["columns"][0], data["columns"][2]]
    }


def file(context: RequestContext) -> HandlerResponse:
    """One file of the bundle."""
    publication = _publication(context)
    name = context.params["file"]
    content = bundle_of(context, publication).files.get(name)
    if content is None:
        raise NotFound
    return Download(content=content, media_type=KINDS[name.rpartition(".")[2]], name=f"{publication.release}-{name}")


def archive(context: RequestContext) -> HandlerResponse:
    """The whole bundle, which `discreet release verify` checks."""
    publication = _publication(context)
    packed = bundle_files.archive(bundle_of(context, publication).files, name=publication.release)
    return Download(content=packed, media_type="application/zip", name=f"{publication.release}.zip")


def form(context: RequestContext) -> HandlerResponse:
    """For the owner: what publishing means, and the fields that only people can fill."""
    return _form(context)


def _form(
    context: RequestContext, *, form_texts: dict[str, str] | None = None, problem: Exception | None = None
) -> Page:
    release = _answered_release(context)
    publication = context.people.published.find(release)
    fields, prefilled = form_texts or {}, ""
    if form_texts is None and publication is not None:
        fields = dict(publication.fields)
    elif form_texts is None:
        fields, prefilled = suggested_fields(context, release)
    data = {
        "release": release,
        "is_published": publication is not None,
        "also": [
            {
                "release": each,
                "is_published": each not in _unpublished_earlier(context, release),
                "ticked": each in context.fields("also"),
            }
            for each in _earlier_releases(context, release)
        ],
        "fields": [
            {"name": name, "label": label, "hint": hint, "value": fields.get(name, "")}
            for name, (label, hint) in FIELDS.items()
        ],
        "prefilled": prefilled,
        "preview": preview_json(context, release, {name: fields.get(name, "") for name in FIELDS}),
        "trouble": None if problem is None else page_problem(error_report_of(problem)),
    }
    status = 200 if problem is None else error_report_of(problem).status
    return Page(template="published_form.html", data=data, status=status)


def open_form(context: RequestContext) -> HandlerResponse:
    """From an answer's page: to the form. Nothing is published yet."""
    return Redirect(to=f"/r/{quote(_answered_release(context), safe='')}/publish")


def publish(context: RequestContext) -> HandlerResponse:
    """Publish a release, or change what its card says; with the earlier ones that it shows, if that is ticked."""
    release = _answered_release(context)
    form_texts = {name: context.field(name).replace("\r\n", "\n") for name in FIELDS}
    try:
        about_of(form_texts)
        if context.field("act") == "preview":
            return _form(context, form_texts=form_texts)
        hidden = _unpublished_earlier(context, release)
        _refuse_unticked(hidden, context.fields("also"))
        by = context.people.roster.get(context.visitor.name or "")
        fields = {name: text for name, text in form_texts.items() if text.strip()}
        fields_by_release = {
            **{each: {} for each in hidden},
            release: fields,
        }  # earlier ones first: nothing shows what is hidden
        for each, texts in fields_by_release.items():
            bundle_of(context, Publication(release=each, published=0, by=by.name, fields=texts))  # what cannot be read
        for each, texts in fields_by_release.items():
            context.people.published.publish(each, by=by, fields=texts)  # is not published
    except DiscreetError as problem:
        return _form(context, form_texts=form_texts, problem=problem)
    return Redirect(to=f"/r/{quote(release, safe='')}")


def withdraw(context: RequestContext) -> HandlerResponse:
    """Show it no more, nor what shows its numbers. What was read cannot be taken back."""
    release = _answered_release(context)
    for each in context.people.published.all():
        if each.release in context.handle.project.ledger.state.answers and release in _earlier_releases(
            context, each.release
        ):
            context.people.published.withdraw(each.release)
    context.people.published.withdraw(release)
    return Redirect(to="/r")


def _earlier_releases(context: RequestContext, release: str) -> tuple[str, ...]:
    """The earlier releases that one is read together with, and whose numbers it shows."""
    return bundle_cache_of(context).recall(context.handle.project, release).also


def _unpublished_earlier(context: RequestContext, release: str) -> list[str]:
    """Those of them that are not published."""
    return [each for each in _earlier_releases(context, release) if context.people.published.find(each) is None]


def _refuse_unticked(hidden: Sequence[str], ticked: Sequence[str]) -> None:
    if unticked := [each for each in hidden if each not in ticked]:
        raise UsageError(
            f"this release also shows the numbers of {', '.join(unticked)}, which are not published",
            hint="tick the boxes to publish them as well, or publish none of them",
        )


def _publication(context: RequestContext) -> Publication:
    release = context.params["release"]
    publication = context.people.published.find(release)
    if publication is None or release not in bundle_cache_of(context).state(context.handle.project).answers:
        raise NotFound
    return publication


def _answered_release(context: RequestContext) -> str:
    """A release that the ledger holds an answer of."""
    release = context.params["release"]
    state = context.handle.project.ledger.refresh()
    if release not in state.charges:
        raise NotFound
    if release not in state.answers:
        raise UsageError("this release was charged but has no answer, so there is nothing to publish")
    return release


ROUTES = (
    Route(method="GET", path="/r", handler=index, role="public"),
    Route(method="GET", path="/r/{release}/publish", handler=form, role="owner", twins=False),
    Route(method="POST", path="/a/{release}/publish", handler=open_form, role="owner"),
    Route(method="POST", path="/r/{release}/publish", handler=publish, role="owner"),
    Route(method="POST", path="/r/{release}/withdraw", handler=withdraw, role="owner"),
    Route(method="GET", path="/r/{release}/files/{file}", handler=file, role="public", twins=False),
    Route(method="GET", path="/r/{release}.zip", handler=archive, role="public", twins=False),
    Route(method="GET", path="/r/{release}", handler=show, role="public"),
)
