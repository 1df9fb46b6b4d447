"""Releases that are no answers in SQL, as the ledger lists them: fits, ranges, marginals, published tables."""

from __future__ import annotations

import io
import itertools
from collections.abc import Collection
from typing import Any

from discreet.console import public_facts
from discreet.console.jobs import release_store
from discreet.console.render import csv_of, text
from discreet.console.responses import Download, NotFound, PageTable
from discreet.errors import UsageError
from discreet.project.project import Project
from discreet.project.recall import RecalledRelease, recall_releases

#: So many are listed, the newest first.
LISTED = 200
FORMATS = ("csv", "parquet", "json")


def list_releases(project: Project, kinds: Collection[str]) -> list[dict[str, Any]]:
    """The newest releases of some kinds."""
    state = project.ledger.refresh()
    ids = [id_ for id_ in reversed(state.charges) if id_ in state.reservations and id_ in state.answers]
    releases = (each for each in recall_releases(ids, ledger=project.ledger) if each.kind in kinds)
    return [release_line(project, each) for each in itertools.islice(releases, LISTED)]


def release_line(project: Project, recalled_release: RecalledRelease) -> dict[str, Any]:
    """A release in a list: what the ledger says of it."""
    paid = public_facts.spending_json(recalled_release.cost, up=True)
    if recalled_release.cost.epsilon is None:
        paid["words"] = f"rho {paid['rho']:.4g}, delta {paid['delta']:g}"
    return {
        **public_facts.charge_json(project, recalled_release.charge),
        "kind": recalled_release.kind,
        "words": recalled_release.words,
        "cost": paid,
        "about": release_store.to_json(dict(recalled_release.about)),
    }


def recall_release(project: Project, id_: str) -> RecalledRelease:
    """What the ledger says of a release; nothing is here under another name."""
    try:
        return project.recall(id_)
    except UsageError:
        raise NotFound from None


def table_download(grid: PageTable, file_format: str, name: str) -> Download:
    """Rows as a file, in the format that is wanted."""
    match file_format:
        case "csv":
            return Download(content=csv_of(grid).encode(), media_type="text/csv; charset=utf-8", name=f"{name}.csv")
        case "json":
            data = {"columns": list(grid.columns), "rows": release_store.to_json([list(row) for row in grid.rows])}
            return Download(content=text(data).encode(), media_type="application/json", name=f"{name}.json")
        case "parquet":
            content = _parquet(grid)
            return Download(content=content, media_type="application/vnd.apache.parquet", name=f"{name}.parquet")
    raise UsageError(f"{file_format[:20]!r} is not a supported format", hint=", ".join(FORMATS))


def _parquet(grid: PageTable) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = [[row[place] for row in grid.rows] for place in range(len(grid.columns))]
    arrow_table = pa.table([_array(pa, column) for column in columns], names=[str(name) for name in grid.columns])
    out = io.BytesIO()
    pq.write_table(arrow_table, out)
    return out.getvalue()


def _array(pa: Any, values: list[Any]) -> Any:
    """Values of one type as they are; of several as text, which is how a file of one type can hold them."""
    kinds = {type(value) for value in values if value is not None}
    if kinds <= {int, float}:
        return pa.array([None if value is None else float(value) for value in values] if float in kinds else values)
    if len(kinds) > 1:
        return pa.array([None if value is None else str(value) for value in values])
    return pa.array(values)
