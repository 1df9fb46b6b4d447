"""Releases that are no answers in SQL, as the ledger lists them: fits, ranges, marginals, published tables."""

from __future__ import annotations

import io
from collections.abc import Collection
from typing import Any

from discreet.api import Project
from discreet.console import facts, kept
from discreet.console.answer import Download, Grid, Missing
from discreet.console.render import csv_of, text
from discreet.errors import UsageError
from discreet.recall import Recalled

#: So many are listed, the newest first.
LISTED = 200
FORMATS = ("csv", "parquet", "json")


def listed(project: Project, kinds: Collection[str]) -> list[dict[str, Any]]:
    """The newest releases of some kinds."""
    state = project.ledger.refresh()
    found: list[dict[str, Any]] = []
    for charge in facts.charges(project):
        if charge.id in state.reservations and charge.id in state.answers:
            told = project.recalled(charge.id)
            if told.kind in kinds:
                found.append(line(project, told))
        if len(found) == LISTED:
            break
    return found


def line(project: Project, told: Recalled) -> dict[str, Any]:
    """A release in a list: what the ledger says of it."""
    paid = facts.spending(told.cost, up=True)
    if told.cost.epsilon is None:
        paid["words"] = f"rho {paid['rho']:.4g}, delta {paid['delta']:g}"
    return {
        **facts.charge(project, told.charge),
        "kind": told.kind,
        "words": told.words,
        "cost": paid,
        "about": kept.plain(dict(told.about)),
    }


def recalled(project: Project, id_: str) -> Recalled:
    """What the ledger says of a release; nothing is here under another name."""
    try:
        return project.recalled(id_)
    except UsageError:
        raise Missing from None


def download(grid: Grid, wanted: str, name: str) -> Download:
    """Rows as a file, in the format that is wanted."""
    match wanted:
        case "csv":
            return Download(content=csv_of(grid).encode(), media_type="text/csv; charset=utf-8", name=f"{name}.csv")
        case "json":
            data = {"columns": list(grid.columns), "rows": kept.plain([list(row) for row in grid.rows])}
            return Download(content=text(data).encode(), media_type="application/json", name=f"{name}.json")
        case "parquet":
            content = _parquet(grid)
            return Download(content=content, media_type="application/vnd.apache.parquet", name=f"{name}.parquet")
    raise UsageError(f"there is no format {wanted[:20]!r}", hint=", ".join(FORMATS))


def _parquet(grid: Grid) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = [[row[place] for row in grid.rows] for place in range(len(grid.columns))]
    found = pa.table([_array(pa, column) for column in columns], names=[str(name) for name in grid.columns])
    out = io.BytesIO()
    pq.write_table(found, out)
    return out.getvalue()


def _array(pa: Any, values: list[Any]) -> Any:
    """Values of one type as they are; of several as text, which is how a file of one type can hold them."""
    kinds = {type(value) for value in values if value is not None}
    if kinds <= {int, float}:
        return pa.array([None if value is None else float(value) for value in values] if float in kinds else values)
    if len(kinds) > 1:
        return pa.array([None if value is None else str(value) for value in values])
    return pa.array(values)
