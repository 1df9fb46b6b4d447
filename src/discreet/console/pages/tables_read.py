"""A released table, read again: what is stored for ever, free."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from discreet.api import Project
from discreet.console import forms, released
from discreet.console.answer import Answer, Download, Grid, Missing, Page, Redirect
from discreet.console.routes import Route
from discreet.console.tabling import marginals, published, ranges
from discreet.console.visit import Visit
from discreet.errors import DiscreetError
from discreet.recall import Recalled

_MEDIA = {
    "csv": "text/csv; charset=utf-8",
    "parquet": "application/vnd.apache.parquet",
    "json": "application/json",
    # A stored page with styles of its own is kept, not shown: the console's rules would strip them.
    "html": "text/html; charset=utf-8",
}


def show(visit: Visit) -> Answer:
    """A release as its kind is shown; answers in SQL and models have pages of their own."""
    project = visit.desk.project
    told = released.recalled(project, visit.params["release"])
    if told.readable:
        return Redirect(to=f"/a/{quote(told.id, safe='')}")
    if told.kind == "model":
        return Redirect(to=f"/synth/{quote(told.id, safe='')}")
    trouble, status, found = None, 200, None
    try:
        found = _found(project, told, visit)
    except DiscreetError as problem:
        trouble, status = forms.trouble(problem)
    grid = _grid(told.kind, found)
    data = {
        "line": released.line(project, told),
        "found": found if trouble is None else _as_first_shown(project, told),
        "asked": {"between": visit.asked("between")[: ranges.LONGEST], "quantiles": visit.asked("quantiles")[:2_000]},
        "cuts": ranges.cuts_of(project, told),
        "trouble": trouble,
    }
    return Page(template="tables_release.html", data=data, table=grid, status=status)


def _as_first_shown(project: Project, told: Recalled) -> dict[str, Any] | None:
    """What was paid for stays on the page when something that was asked of it does not fit."""
    if told.kind != "ranges":
        return None
    try:
        return ranges.shown(project, told, between="", quantiles="")
    except DiscreetError:
        return None


def _found(project: Project, told: Recalled, visit: Visit) -> dict[str, Any] | None:
    """What is stored of it; None where it cannot be read here."""
    match told.kind:
        case "ranges":
            return ranges.shown(project, told, between=visit.asked("between"), quantiles=visit.asked("quantiles"))
        case "marginals":
            return marginals.shown(project, told, number=visit.asked("t"))
        case "publish":
            return published.shown(project, told)
        case _:
            return None


def _grid(kind: str, found: dict[str, Any] | None) -> Grid | None:
    if kind == "ranges" and found is not None and "rows" in found:
        return ranges.grid(found)
    if kind == "marginals" and found is not None:
        return marginals.grid(found)
    return None


def download(visit: Visit) -> Answer:
    """What is shown, as a file."""
    project = visit.desk.project
    told = released.recalled(project, visit.params["release"])
    if told.kind == "publish":
        path = published.file(project, told, visit.asked("file"))
        media = _MEDIA[path.suffix[1:]]
        return Download(content=path.read_bytes(), media_type=media, name=f"{told.id}-{path.name}")
    grid = _grid(told.kind, _found(project, told, visit))
    if grid is None:
        raise Missing
    return released.download(grid, visit.asked("format", "csv"), told.id)


ROUTES = (
    Route(method="GET", path="/tables/{release}/download", handler=download, role="analyst", twins=False),
    Route(method="GET", path="/tables/{release}", handler=show, role="analyst"),
)
