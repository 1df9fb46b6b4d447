"""Intervals and quantiles of a column: charged once, and every further one is free."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from discreet.api import Project
from discreet.console import forms, kept
from discreet.console.answer import Grid
from discreet.console.tabling import cuts, drawn
from discreet.errors import UsageError
from discreet.recall import Recalled
from discreet.tables.ranges.reading import Ranges

#: What can be asked for at once on a page.
MOST_RANGES, MOST_QUANTILES, LONGEST = 1_000, 100, 40_000
USUAL_QUANTILES = ("0.25", "0.5", "0.75")
STRATEGIES = (
    {"name": "best", "words": "the best that is found for all ranges"},
    {"name": "adaptive", "words": "a private test first looks where the column is even"},
    {"name": "identity", "words": "each cell by itself"},
    {"name": "binary", "words": "a binary tree, as in the lecture"},
)


def wish_of(texts: Mapping[str, tuple[str, ...]]) -> dict[str, Any]:
    """What a form, or an address, says."""

    def one(name: str) -> str:
        return texts.get(name, ("",))[0].strip()

    return {
        "table": one("table"),
        "column": one("column"),
        "epsilon": forms.number(one("epsilon"), "epsilon"),
        "delta": forms.number(one("delta"), "delta"),
        "between": one("between")[:LONGEST],
        "strategy": one("strategy") or "best",
        "only": bool(one("only")),
    }


def pairs(text: str) -> list[tuple[str, str]] | None:
    """Ranges, one a line: 30..45, or 30,45; an end left out is the column's own. None where there are none."""
    lines = [line.strip() for line in text.replace(";", "\n").splitlines() if line.strip()]
    if len(lines) > MOST_RANGES:
        raise UsageError(f"{len(lines):,} ranges are more than the {MOST_RANGES:,} that a page answers at once")
    return [_pair(line) for line in lines] or None


def _pair(line: str) -> tuple[str, str]:
    for mark in ("..", ",", " to "):
        low, found, high = line.partition(mark)
        if found:
            return low.strip(), high.strip()
    raise UsageError(f"{line[:60]!r} is not a range", hint="30..45, or ..17, or 65.. , one a line")


def _asked(wish: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "epsilon": wish["epsilon"],
        "delta": wish["delta"],
        "ranges": pairs(wish["between"]),
        "strategy": wish["strategy"],
        "only": wish["only"],
    }


def quoted(project: Project, wish: Mapping[str, Any]) -> dict[str, Any]:
    """What it would cost, and how exact it would be. Free."""
    name = project.private(wish["table"]).name
    found = project.plan_ranges(name, wish["column"], **_asked(wish))
    return {**kept.plain(found.to_data()), "price": forms.price(project, name, found.event)}


def made(project: Project, wish: Mapping[str, Any], *, analyst: str | None) -> str:
    """Measure, and pay, or find what is stored; the address of what came of it."""
    found = project.ranges(wish["table"], wish["column"], **_asked(wish), analyst=analyst)
    if kept.find(project.folder, found.release) is None:
        kept.keep(project.folder, found.release, _told(found))
    between = f"?{urlencode({'between': wish['between']})}" if wish["between"] else ""
    return f"/tables/{found.release}{between}"


def _told(found: Ranges, quantiles: Sequence[str] = ()) -> dict[str, Any]:
    """What is read of a release. What it cost, the ledger says."""
    data = {name: part for name, part in found.to_data(quantiles=quantiles).items() if name not in ("cost", "cached")}
    return {"kind": "ranges", "table": found.table, **data}


def shown(project: Project, told: Recalled, *, between: str, quantiles: str) -> dict[str, Any]:
    """A release of ranges: those that are asked for now. Free: it reads what is stored, and never measures."""
    column, wanted = str(told.about.get("column", "")), pairs(between[:LONGEST])
    newest = max(project.ledger.state.versions.get(told.charge.table, {}), default=0)
    if told.charge.version != newest:
        return _old(project, told, asked=wanted is not None or bool(quantiles.strip()))
    found = project.ranges(told.charge.table, column, ranges=wanted)
    asked = [each.strip() for each in quantiles.split(",") if each.strip()]
    if len(asked) > MOST_QUANTILES:
        raise UsageError(f"at most {MOST_QUANTILES} quantiles at once")
    wants = () if found.only else asked or USUAL_QUANTILES
    return _page(kept.plain(_told(found, wants)), from_=found.release)


def cuts_of(project: Project, told: Recalled) -> dict[str, Any] | None:
    """Where ranges of a release may begin and end; None where its column is no more as it was."""
    table = project.file.tables.get(told.charge.table)
    if told.kind != "ranges" or table is None:
        return None
    try:
        return cuts.cuts(table, [str(told.about.get("column", ""))]).popitem()[1]
    except (UsageError, KeyError):
        return None


def _old(project: Project, told: Recalled, *, asked: bool) -> dict[str, Any]:
    """A release of an older version: what was told when it was made."""
    if asked:
        raise UsageError(
            f"this release is about version {told.charge.version} of {told.charge.table!r}, which is not the newest",
            hint="what was told when it was made is still here",
        )
    data = kept.find(project.folder, told.id)
    return {"readable": False} if data is None else {**_page(data, from_=told.id), "readable": False}


def _page(data: dict[str, Any], *, from_: str) -> dict[str, Any]:
    rows = [(f"{drawn.label(low)} to {drawn.label(high)}", value, ends) for low, high, value, ends in data["rows"]]
    return {
        **data,
        "readable": True,
        "from": from_,
        "lines": [[name, drawn.noise(value, ends)] for name, value, ends in rows],
        "chart": drawn.bars(f"Rows by {data['column']}", rows) if len(rows) <= drawn.MOST_DRAWN else None,
    }


def grid(data: Mapping[str, Any]) -> Grid:
    """The ranges, as a file has them."""
    name = data["column"]
    rows = [[low, high, value, *ends] for low, high, value, ends in data["rows"]]
    return Grid(columns=(f"{name}_low", f"{name}_high", "rows", "rows_low", "rows_high"), rows=rows)
