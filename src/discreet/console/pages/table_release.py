"""A released table, read again: what is stored for ever, free."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from discreet.console import forms
from discreet.console.jobs import census_tables, marginal_tables, network_statistics, range_tables, table_description
from discreet.console.pages import release_list
from discreet.console.request_context import RequestContext
from discreet.console.responses import Download, HandlerResponse, NotFound, Page, PageTable, Redirect
from discreet.console.routes import Route
from discreet.errors import DiscreetError
from discreet.project.project import Project
from discreet.project.recall import RecalledRelease

_MEDIA = {
    "csv": "text/csv; charset=utf-8",
    "parquet": "application/vnd.apache.parquet",
    "json": "application/json",
    # A stored page with styles of its own is kept, not shown: the console's rules would strip them.
    "html": "text/html; charset=utf-8",
}


def show(context: RequestContext) -> HandlerResponse:
    """A release as its kind is shown; answers in SQL and models have pages of their own."""
    project = context.handle.project
    recalled_release = release_list.recall_release(project, context.params["release"])
    if recalled_release.is_readable:
        return Redirect(to=f"/a/{quote(recalled_release.id, safe='')}")
    if recalled_release.kind == "model":
        return Redirect(to=f"/synth/{quote(recalled_release.id, safe='')}")
    trouble, status, stored_table = None, 200, None
    try:
        stored_table = _stored_table(project, recalled_release, context)
    except DiscreetError as problem:
        trouble, status = forms.form_error(problem)
    grid = _grid(recalled_release.kind, stored_table)
    data = {
        "line": release_list.release_line(project, recalled_release),
        "found": stored_table if trouble is None else _as_first_shown(project, recalled_release),
        "asked": {
            "between": context.query_text("between")[: range_tables.LONGEST],
            "quantiles": context.query_text("quantiles")[:2_000],
        },
        "cuts": range_tables.cuts_of(project, recalled_release),
        "trouble": trouble,
    }
    return Page(template="tables_release.html", data=data, table=grid, status=status)


def _as_first_shown(project: Project, recalled_release: RecalledRelease) -> dict[str, Any] | None:
    """What was paid for stays on the page when something that was asked of it does not fit."""
    if recalled_release.kind != "ranges":
        return None
    try:
        return range_tables.ranges_page(project, recalled_release, between="", quantiles="")
    except DiscreetError:
        return None


def _stored_table(
    project: Project, recalled_release: RecalledRelease, context: RequestContext
) -> dict[str, Any] | None:
    """What is stored of it; None where it cannot be read here."""
    match recalled_release.kind:
        case "ranges":
            return range_tables.ranges_page(
                project,
                recalled_release,
                between=context.query_text("between"),
                quantiles=context.query_text("quantiles"),
            )
        case "marginals":
            return marginal_tables.marginals_page(project, recalled_release, number=context.query_text("t"))
        case "description":
            return table_description.description_page(project, recalled_release)
        case "publish":
            return census_tables.tables_page(project, recalled_release)
        case "graph":
            return network_statistics.statistics_page(project, recalled_release)
        case _:
            return None


def _grid(kind: str, stored_table: dict[str, Any] | None) -> PageTable | None:
    if kind == "ranges" and stored_table is not None and "rows" in stored_table:
        return range_tables.grid(stored_table)
    if kind == "marginals" and stored_table is not None:
        return marginal_tables.grid(stored_table)
    if kind == "description" and stored_table is not None:
        return table_description.grid(stored_table)
    if kind == "graph" and stored_table is not None:
        return network_statistics.grid(stored_table)
    return None


def download(context: RequestContext) -> HandlerResponse:
    """What is shown, as a file."""
    project = context.handle.project
    recalled_release = release_list.recall_release(project, context.params["release"])
    if recalled_release.kind == "publish":
        path = census_tables.table_file(project, recalled_release, context.query_text("file"))
        media = _MEDIA[path.suffix[1:]]
        return Download(content=path.read_bytes(), media_type=media, name=f"{recalled_release.id}-{path.name}")
    grid = _grid(recalled_release.kind, _stored_table(project, recalled_release, context))
    if grid is None:
        raise NotFound
    return release_list.table_download(grid, context.query_text("format", "csv"), recalled_release.id)


ROUTES = (
    Route(method="GET", path="/tables/{release}/download", handler=download, role="analyst", twins=False),
    Route(method="GET", path="/tables/{release}", handler=show, role="analyst"),
)
