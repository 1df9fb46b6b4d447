"""Tables of places and attributes that add up exactly, from a plan that somebody wrote."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from discreet.console import forms
from discreet.console.jobs import noisy_charts, release_store
from discreet.console.jobs.job_queue import Progress
from discreet.console.responses import NotFound, RequestDenied
from discreet.console.visitor import Visitor
from discreet.errors import Command, Message, Refused, UsageError
from discreet.present.cell_text import cell_text
from discreet.project.project import Project
from discreet.project.recall import RecalledRelease
from discreet.schema.toml_file import parse_toml
from discreet.tables.publish.plan_file import MOST_BYTES
from discreet.tables.publish.publish import plan_of
from discreet.tables.publish.published_tables import PublishedTables

#: So many rows of a level are shown on a page; the files have them all.
SHOWN_ROWS = 50
EXAMPLE = """table = "people"
attributes = ["sex", "age"]

[hierarchy]
columns = ["region"]
root = "all"
"""


def wish_of(texts: Mapping[str, tuple[str, ...]]) -> dict[str, Any]:
    """What a form says."""

    def one(name: str) -> str:
        return texts.get(name, ("",))[0]

    return {
        "plan": one("plan")[: MOST_BYTES + 1],
        "epsilon": forms.number_text(one("epsilon").strip(), "epsilon"),
        "delta": forms.number_text(one("delta").strip(), "delta"),
    }


def _plan(text: str) -> dict[str, Any]:
    """A plan's text as data: numbers as they were written, never as floats."""
    if len(text.encode()) > MOST_BYTES:
        raise UsageError(f"a plan may have at most {MOST_BYTES:,} bytes")
    return parse_toml(text, name="the plan")


def check_may_publish(wish: Mapping[str, Any], visitor: Visitor) -> None:
    """Refuse exact totals to anybody but the owner: once they are published, every charge counts double for good."""
    if plan_of(_plan(wish["plan"])).invariants and not visitor.may("owner"):
        raise RequestDenied(
            "Exact totals change the guarantee for everybody, permanently: only the data's owner may publish them.",
            status=403,
        )


def quote_tables(project: Project, wish: Mapping[str, Any], *, most: int) -> dict[str, Any]:
    """What a plan would cost, and how exact it would be. Free."""
    data = project.plan_publish(_plan(wish["plan"]), epsilon=wish["epsilon"], delta=wish["delta"]).to_data()
    cells = sum(level["cells"] for level in data["levels"])
    if cells > most:
        raise Refused(
            f"these tables have {cells:,} cells, but this server answers with at most {most:,}",
            hint=Message("use fewer attributes or levels; ", Command("publish"), " has no such limit"),
        )
    return {**release_store.to_json(data), "cells": cells}


def publish_tables(project: Project, wish: Mapping[str, Any], *, analyst: str | None, progress: Progress) -> str:
    """Measure, and pay, or find what is stored; the address of what came of it."""
    publication = project.publish(
        _plan(wish["plan"]), epsilon=wish["epsilon"], delta=wish["delta"], analyst=analyst, progress=progress
    )
    _store_files(publication, _folder(project, publication.release))
    return f"/tables/{publication.release}"


def _store_files(publication: PublishedTables, to: Path) -> None:
    """Keep its files, all or none of them: of two who publish the same plan at once, the first stands."""
    if to.is_dir():
        return
    draft = to.with_name(f".{to.name}.{secrets.token_hex(4)}")
    try:
        publication.write(draft)
        with suppress(OSError):  # it was kept just now
            draft.rename(to)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _folder(project: Project, release: str) -> Path:
    return release_store.release_folder(project.folder) / release


def tables_page(project: Project, recalled_release: RecalledRelease) -> dict[str, Any] | None:
    """The card of a publication and the first rows of each table; None where nothing is kept of it here."""
    card = release_store.find_release(project.folder, f"{recalled_release.id}/card")
    if card is None:
        return None
    names = [name for name in card["files"] if name.endswith(".parquet")]
    return {**card, "previews": [_preview(_folder(project, recalled_release.id) / name) for name in names]}


def _preview(path: Path) -> dict[str, Any]:
    """The first rows of a table, and a chart where each has one label."""
    import pyarrow.parquet as pq

    arrow_table = pq.read_table(path)
    columns, first = arrow_table.column_names, arrow_table.slice(0, SHOWN_ROWS)
    rows = [list(row.values()) for row in first.to_pylist()]
    labels = columns.index("count")
    chart = None
    if labels == 1:
        bars = [(row[0], row[2], (row[4], row[5])) for row in rows]
        chart = noisy_charts.bars(f"Estimates by {columns[0]}", bars)
    return {
        "name": path.stem,
        "columns": columns,
        "rows": release_store.to_json(rows),
        "shown": {"columns": columns[: labels + 2], "rows": [_shown_row(row, labels) for row in rows]},
        "more": arrow_table.num_rows > SHOWN_ROWS,
        "chart": chart,
    }


def _shown_row(row: list[Any], labels: int) -> list[Any]:
    """A row for people: its labels, its count, and the estimate with its noise as one number."""
    count, estimate, _, low, high = row[labels : labels + 5]
    return [*map(cell_text, row[:labels]), f"{count:,}", noisy_charts.number_with_noise(estimate, (low, high))]


def table_file(project: Project, recalled_release: RecalledRelease, name: str) -> Path:
    """One of the files that its card lists."""
    card = release_store.find_release(project.folder, f"{recalled_release.id}/card")
    if card is None or name not in [*card["files"], "card.html", "card.json"]:
        raise NotFound
    return _folder(project, recalled_release.id) / name
