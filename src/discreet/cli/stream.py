"""`discreet ranges --stream`: start a counter that goes on day after day, take its next step, read what it said."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.table import Table as RichTable

from discreet.cli import show
from discreet.cli.digits import telling
from discreet.cli.flags import writable
from discreet.errors import UsageError

if TYPE_CHECKING:
    from discreet.api import Project, Standing
    from discreet.tables.stream.opening import Plan
    from discreet.tables.stream.row import Estimate
    from discreet.tables.stream.stream import Stream


def run(
    project: Project,
    table: str,
    name: str,
    *,
    step: bool = False,
    label: str | None = None,
    epsilon: str | None = None,
    delta: str | None = None,
    horizon: str | None = None,
    contributions: str | None = None,
    between: Sequence[tuple[str, str]] = (),
    confidence: str = "0.95",
    plan: bool = False,
    analyst: str | None = None,
    csv_file: Path | None = None,
    as_json: bool = False,
) -> None:
    """Plan or start a stream (with an epsilon), take its next step (`step`), or show what it released."""
    from discreet.tables.stream import opening, verbs

    writable(csv_file, project)
    if label is not None and not step:
        raise UsageError(
            f"a stream has no column, and {label[:60]!r} would be a label", hint="--next LABEL takes a step"
        )
    terms: dict[str, Any] = {"delta": delta, "horizon": horizon, "contributions": contributions}
    if plan:
        quoted = verbs.plan_stream(project, table, name, epsilon=epsilon, **terms)
        told = opening.notes(
            quoted, project.guarantee(table), population=project.table(table).population, curator=project.curator
        )
        words = [*_plan_words(quoted), *(f"note: {one}" for one in told)]
        show.out(_plan_data(name, quoted) | {"warnings": told}, words, as_json=as_json)
        return
    with show.progress("asking"):
        found, there = verbs.stream(project, table, name, epsilon=epsilon, **terms, analyst=analyst)
        noted = _take(found, label) if step else []
        asked = [(low, high, found.interval(low or 1, high or None, confidence=confidence)) for low, high in between]
        data = found.to_data()
    data["intervals"] = [[low, high, one.value, list(one.interval)] for low, high, one in asked]
    data["warnings"] = [*noted, *data["warnings"]]
    if csv_file is not None:
        _write(csv_file, data["rows"])
    paid = "" if epsilon is None else "it was there: free\n" if there else "charged once, for all of it\n"
    words = [*_words(found, paid, project.budget(table)), *_asked_words(asked)]
    show.out(data, [*words, *(f"note: {one}" for one in data["warnings"])], as_json=as_json)


def listed(project: Project, table: str, *, as_json: bool = False) -> None:
    """The streams of a table."""
    from discreet.tables.stream import verbs

    found = verbs.streams(project, table)
    lines = [f"{one.name}: {one.steps:,} of {one.horizon:,} steps{', closed' if one.closed else ''}" for one in found]
    kept = ("stream", "release", "steps", "horizon", "closed")
    data = [{key: value for key, value in one.to_data().items() if key in kept} for one in found]
    show.out({"streams": data}, lines or ["no stream follows this table yet"], as_json=as_json)


def _take(found: Stream, label: str | None) -> list[str]:
    """Take a step; what the owner should know about it is public."""
    before = found.rows
    row = found.next(label)
    if row.step <= len(before):
        return [f"step {row.step} ({row.label}) was taken before, and is what it was"]
    if before and before[-1].version == row.version:
        told = f"discreet refresh {found.table} makes a new one when data arrived"
        return [f"version {row.version} was counted in step {row.step - 1} already, so nobody is new in it; {told}"]
    return []


def _plan_data(name: str, plan: Plan) -> dict[str, Any]:
    return {
        "stream": name,
        "horizon": plan.counter.horizon,
        "contributions": plan.contributions,
        "cost": plan.cost.to_data(up=True),
        "guarantee": plan.price,
        "strategy": plan.counter.words,
        "expected_rmse": plan.expected_rmse,
        "worst_sd": float(plan.sds.max()),
    }


def _plan_words(plan: Plan) -> list[str]:
    return [
        f"costs     {plan.price}, once, for {plan.counter.horizon:,} step{'' if plan.counter.horizon == 1 else 's'}",
        f"strategy  {plan.counter.words}",
        f"error     of a total about {plan.expected_rmse:.4g} rows (root mean square over the steps), "
        f"at worst {plan.sds.max():.4g}",
    ]


def _words(found: Stream, paid: str, standing: Standing) -> list[Any]:
    table = RichTable(box=None, pad_edge=False, header_style="bold")
    table.add_column("step", no_wrap=True)
    for name in ("new rows", "rows so far"):
        table.add_column(name, justify="right", no_wrap=True)
    rows = found.rows
    for row in rows[-show.MOST_ROWS :]:
        name = f"{row.step}" if row.label is None else f"{row.step} {row.label}"
        table.add_row(name, _shown(row.count), _shown(row.total))
    more = len(rows) - show.MOST_ROWS
    left = f"{found.steps:,} of {found.horizon:,} steps taken"
    if found.closed:
        left += "; closed: a step failed, or the ledger was rolled back or copied"
    elif found.steps < found.horizon:
        left += (
            f"; next: discreet refresh {found.table}, then discreet ranges {found.table} --stream {found.name} --next"
        )
    return [
        *([f"… {more:,} earlier step{'' if more == 1 else 's'}: --json or --csv has them all"] if more > 0 else []),
        *([table, ""] if rows else []),
        f"{paid}{left}",
        f"cost {found.plan.price} in all; a step, and reading, is free. Intervals hold with 95%.",
        f"{show.spent(standing)}. Release {found.id}.",
    ]


def _asked_words(asked: list[tuple[str, str, Estimate]]) -> list[str]:
    return [f"steps {low or 1} to {high or 'now'}: {_shown(one)} new rows" for low, high, one in asked]


def _shown(one: Estimate) -> str:
    """A number without the digits that its noise makes meaningless."""
    digits = 1 if one.plus_minus < 10 else 0
    return f"{one.value:,.{digits}f} ± {one.plus_minus:,.{digits}f}"


def _write(path: Path, rows: list[dict[str, Any]]) -> None:
    with show.writing("every step is"), path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["step", "label", "count", "count_low", "count_high", "total", "total_low", "total_high"])
        for row in rows:
            count = telling(row["count"], *row["count_interval"])
            total = telling(row["total"], *row["total_interval"])
            writer.writerow([row["step"], row["label"], *count, *total])
