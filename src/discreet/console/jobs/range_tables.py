"""Intervals and quantiles of a column: charged once, and every further one is free."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any
from urllib.parse import urlencode

from discreet.console import forms
from discreet.console.jobs import noisy_charts, range_cuts, release_store
from discreet.console.responses import PageTable
from discreet.errors import UsageError
from discreet.present.cell_text import cell_text
from discreet.present.charts.key_order import ordered_places
from discreet.project.project import Project
from discreet.project.recall import RecalledRelease
from discreet.schema.column import shown_label
from discreet.tables.ranges.range_answers import Ranges
from discreet.tables.ranges.range_groups import RangesByGroup

#: What can be asked for at once on a page.
MOST_RANGES, MOST_QUANTILES, LONGEST = 1_000, 100, 40_000
USUAL_QUANTILES = ("0.25", "0.5", "0.75")
STRATEGIES = (
    {"name": "best", "words": "the best strategy found for all ranges"},
    {"name": "adaptive", "words": "a private test first finds where the column is even"},
    {"name": "identity", "words": "measures each cell by itself"},
    {"name": "binary", "words": "measures a binary tree of ranges"},
)


def wish_of(texts: Mapping[str, tuple[str, ...]]) -> dict[str, Any]:
    """What a form, or an address, says."""

    def one(name: str) -> str:
        return texts.get(name, ("",))[0].strip()

    return {
        "table": one("table"),
        "column": one("column"),
        "epsilon": forms.number_text(one("epsilon"), "epsilon"),
        "delta": forms.number_text(one("delta"), "delta"),
        "between": one("between")[:LONGEST],
        "strategy": one("strategy") or "best",
        "only": bool(one("only")),
        "where": one("where")[:LONGEST],
        "by": ", ".join(_names(one("by")[:LONGEST])),
        "width": one("width")[:60],
    }


def _names(text: str) -> list[str]:
    """Names of columns, with commas between them."""
    return [name.strip() for name in text.split(",") if name.strip()]


def pairs(text: str) -> list[tuple[str, str]] | None:
    """Ranges, one a line: 30..45, or 30,45; an end left out is the column's own. None where there are none."""
    lines = [line.strip() for line in text.replace(";", "\n").splitlines() if line.strip()]
    if len(lines) > MOST_RANGES:
        raise UsageError(f"{len(lines):,} ranges are too many: one page answers at most {MOST_RANGES:,}")
    return [_pair(line) for line in lines] or None


def _pair(line: str) -> tuple[str, str]:
    for mark in ("..", ",", " to "):
        low, separator, high = line.partition(mark)
        if separator:
            return low.strip(), high.strip()
    raise UsageError(f"{line[:60]!r} is not a range", hint="30..45, or ..17, or 65.. , one per line")


def _plan_arguments(wish: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "epsilon": wish["epsilon"],
        "delta": wish["delta"],
        "ranges": pairs(wish["between"]),
        "strategy": wish["strategy"],
        "only": wish["only"],
        "where": wish["where"] or None,
        "by": _names(wish["by"]),
        "width": wish["width"] or None,
    }


def quote_ranges(project: Project, wish: Mapping[str, Any]) -> dict[str, Any]:
    """What it would cost, and how exact it would be. Free."""
    name = project.private(wish["table"]).name
    plan = project.plan_ranges(name, wish["column"], **_plan_arguments(wish))
    return {**release_store.to_json(plan.to_data()), "price": forms.price_json(project, name, plan.event)}


def measure_ranges(project: Project, wish: Mapping[str, Any], *, analyst: str | None) -> str:
    """Measure, and pay, or find what is stored; the address of what came of it."""
    ranges = project.ranges(wish["table"], wish["column"], **_plan_arguments(wish), analyst=analyst)
    if release_store.find_release(project.folder, ranges.release) is None:
        release_store.store_release(project.folder, ranges.release, _release_json(ranges))
    between = f"?{urlencode({'between': wish['between']})}" if wish["between"] else ""
    return f"/tables/{ranges.release}{between}"


def _release_json(ranges: Ranges | RangesByGroup, quantiles: Sequence[str] = ()) -> dict[str, Any]:
    """What is read of a release. What it cost, the ledger says."""
    data = {name: part for name, part in ranges.to_data(quantiles=quantiles).items() if name not in ("cost", "cached")}
    return {"kind": "ranges", "table": ranges.table, **data}


def ranges_page(project: Project, recalled_release: RecalledRelease, *, between: str, quantiles: str) -> dict[str, Any]:
    """A release of ranges: those that are asked for now. Free: it reads what is stored, and never measures."""
    column, range_pairs = str(recalled_release.about.get("column", "")), pairs(between[:LONGEST])
    newest = max(project.ledger.state.versions.get(recalled_release.charge.table, {}), default=0)
    if recalled_release.charge.version != newest:
        return _old_version_page(
            project, recalled_release, has_new_ranges=range_pairs is not None or bool(quantiles.strip())
        )
    stored = json.loads(project.ledger.answer(recalled_release.id))
    released_ranges = project.ranges(
        recalled_release.charge.table,
        column,
        ranges=range_pairs,
        where=stored.get("where"),
        by=stored.get("by", ()),
        width=stored.get("cut"),
    )
    quantile_texts = [each.strip() for each in quantiles.split(",") if each.strip()]
    if len(quantile_texts) > MOST_QUANTILES:
        raise UsageError(f"at most {MOST_QUANTILES} quantiles can be shown at once")
    wants = () if released_ranges.only else tuple(quantile_texts or USUAL_QUANTILES)
    return _page(_read_ranges(released_ranges, range_pairs, wants), from_=released_ranges.release)


#: What was read of releases, with the ranges and quantiles that were asked for: to find the ends of a quantile takes a
#: tenth of a second. What is stored never changes, its version keeps its schema, and ids are drawn once for ever.
#: Warnings, which may change with the ledger, are part of what it is kept by.
_READ: dict[tuple[Any, ...], dict[str, Any]] = {}
_MOST_READ = 64


def _read_ranges(
    released_ranges: Ranges | RangesByGroup, range_pairs: list[tuple[str, str]] | None, wants: tuple[str, ...]
) -> dict[str, Any]:
    """What is read of a release, as JSON: kept for the next visit."""
    key = (released_ranges.release, released_ranges.warnings, range_pairs and tuple(range_pairs), wants)
    if key not in _READ:
        read = release_store.to_json(_release_json(released_ranges, wants))
        if len(_READ) >= _MOST_READ:
            _READ.clear()
        _READ[key] = read
        return dict(read)
    return dict(_READ[key])


def cuts_of(project: Project, recalled_release: RecalledRelease) -> dict[str, Any] | None:
    """Where ranges of a release may begin and end; None where its column is no more as it was."""
    table = project.file.tables.get(recalled_release.charge.table)
    if recalled_release.kind != "ranges" or table is None:
        return None
    try:
        return range_cuts.cuts_by_column(table, [str(recalled_release.about.get("column", ""))]).popitem()[1]
    except (UsageError, KeyError):
        return None


def _old_version_page(project: Project, recalled_release: RecalledRelease, *, has_new_ranges: bool) -> dict[str, Any]:
    """A release of an older version: what was told when it was made."""
    if has_new_ranges:
        raise UsageError(
            f"this release is about version {recalled_release.charge.version} of {recalled_release.charge.table!r}, "
            "which is not the newest",
            hint="read the ranges that were released with it",
        )
    data = release_store.find_release(project.folder, recalled_release.id)
    return {"readable": False} if data is None else {**_page(data, from_=recalled_release.id), "readable": False}


def _page(data: dict[str, Any], *, from_: str) -> dict[str, Any]:
    called = partial(shown_label, data.get("labels", {}))
    rows = [
        (
            ", ".join(
                [*map(cell_text, map(called, data.get("by", ()), labels)), f"{cell_text(low)} to {cell_text(high)}"]
            ),
            value,
            ends,
        )
        for *labels, low, high, value, ends in data["rows"]
    ]
    return {
        **data,
        "readable": True,
        "from": from_,
        "lines": [[name, noisy_charts.number_with_noise(value, ends)] for name, value, ends in rows],
        "chart": noisy_charts.bars(f"Rows by {data['column']}", rows, ordered=_are_in_order(data))
        if len(rows) <= noisy_charts.MOST_DRAWN
        else None,
    }


def _are_in_order(data: Mapping[str, Any]) -> bool:
    """Whether the ranges follow each other without an overlap, and are of all rows."""
    ends = [(low, high) for low, high, _, _ in data["rows"]] if not data.get("by") else []
    starts = ordered_places([low for low, _ in ends])
    return starts == list(range(len(ends))) and all(
        ordered_places([high, low]) == [0, 1] for (_, high), (low, _) in pairwise(ends)
    )


def grid(data: Mapping[str, Any]) -> PageTable:
    """The ranges, as a file has them."""
    name, by = data["column"], data.get("by", [])
    rows = [[*keys, *ends] for *keys, ends in data["rows"]]
    return PageTable(columns=(*by, f"{name}_low", f"{name}_high", "rows", "rows_low", "rows_high"), rows=rows)
