"""`discreet ranges`: intervals, prefixes and quantiles of a column, from one release."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table as RichTable
from rich.text import Text

import discreet
from discreet.cli import stream as streaming
from discreet.cli import terminal
from discreet.cli.flags import (
    HERE,
    Analyst,
    Bins,
    BinWidth,
    Confidence,
    Folder,
    Fresh,
    Gaussian,
    GroupBy,
    Json,
    Overwrite,
    Where,
    two_bounds,
)
from discreet.cli.row_file import Format, OldCsv, Output, RowFile, row_files
from discreet.errors import Command, Flag, Message, UsageError
from discreet.present.cell_text import DASH, cell_text, format_with_noise
from discreet.release import legend
from discreet.schema.column import shown_label

if TYPE_CHECKING:
    from discreet.project.project import BudgetStatus
    from discreet.tables.ranges.range_answers import Ranges
    from discreet.tables.ranges.range_groups import RangesByGroup
    from discreet.tables.ranges.ranges_release import RangesQuote


def ranges(
    table: Annotated[str, typer.Argument(help="A declared table.")],
    column: Annotated[
        str | None, typer.Argument(metavar="COLUMN", help="Column of numbers or dates with bounds.")
    ] = None,
    epsilon: Annotated[
        str | None, typer.Option("--epsilon", help="How much privacy loss to spend. Without it, read a stored release.")
    ] = None,
    delta: Gaussian = None,
    file: Annotated[
        Path | None, typer.Option("--ranges", help="CSV file of the ranges to answer, with columns low and high.")
    ] = None,
    between: Annotated[
        list[str] | None, typer.Option("--between", help="A range to answer, such as 30..45 or ..17.")
    ] = None,
    quantile: Annotated[list[str] | None, typer.Option("--quantile", help="A quantile to answer, such as 0.5.")] = None,
    plan: Annotated[bool, typer.Option("--plan", help="Only show the price and the expected error. Free.")] = False,
    strategy: Annotated[
        str, typer.Option("--strategy", help="Strategy: best, adaptive, identity, or binary (a binary tree).")
    ] = "best",
    seconds: Annotated[str, typer.Option("--seconds", help="How many seconds to search for a better strategy.")] = "1",
    only: Annotated[
        bool, typer.Option("--only", help="Measure only for these ranges: smaller errors, but no other ranges.")
    ] = False,
    where: Where = None,
    by: GroupBy = None,
    bins: Bins = None,
    width: BinWidth = None,
    whole: Annotated[bool, typer.Option("--whole", help="Give whole numbers of at least 0 that add up.")] = False,
    confidence: Confidence = "0.95",
    analyst: Analyst = None,
    fresh: Fresh = False,
    output: Output = None,
    format_: Format = None,
    overwrite: Overwrite = False,
    csv: OldCsv = None,
    stream: Annotated[str | None, typer.Option("--stream", hidden=True, help="Now discreet stream.")] = None,
    step: Annotated[bool, typer.Option("--next", hidden=True, help="Now discreet stream next.")] = False,
    horizon: Annotated[str | None, typer.Option("--horizon", hidden=True, help="Now of discreet stream.")] = None,
    contributions: Annotated[
        str | None, typer.Option("--contributions", hidden=True, help="Now of discreet stream.")
    ] = None,
    streams: Annotated[bool, typer.Option("--streams", hidden=True, help="Now discreet stream list.")] = False,
    project: Folder = HERE,
    as_json: Json = False,
) -> None:
    """Answer ranges and quantiles of a column from one release. Charged once; reading it later is free."""
    from discreet.plan.price import confidence_of
    from discreet.tables.ranges.range_answers import quantile_of

    opened_project = discreet.open(project)
    files = row_files(output, format_, opened_project, overwrite=overwrite, csv=csv)
    confidence_of(confidence)
    pairs = [two_bounds(text) for text in between or ()]
    if streams or stream is not None:
        _refuse_beside_streams(file=file, quantile=quantile, only=only, whole=whole, fresh=fresh)
        _refuse_beside_streams(where=where, by=by, bins=bins, width=width)
        if stream is None:
            streaming.list_streams(opened_project, table, as_json=as_json)
            return
        streaming.run_stream(
            opened_project,
            table,
            stream,
            step=step,
            label=column,
            epsilon=epsilon,
            delta=delta,
            horizon=horizon,
            contributions=contributions,
            between=pairs,
            confidence=confidence,
            plan=plan,
            analyst=analyst,
            files=files,
            as_json=as_json,
        )
        return
    if column is None:
        raise UsageError("name a column", hint=Message(Command("ranges", "patients", "age", Flag("epsilon", 1))))
    if step or horizon is not None or contributions is not None:
        raise UsageError(
            "--next, --horizon and --contributions work only with a stream",
            hint=Message(Command("stream start", "patients", "daily", Flag("epsilon", 1), Flag("horizon", 365))),
        )
    quantiles = [quantile_of(each) for each in quantile or ()]
    if only and quantiles:
        raise UsageError(
            "a release for these ranges only (--only) cannot answer quantiles",
            hint=Message("leave ", Flag("only"), " out"),
        )
    if file is not None and between:
        raise UsageError("--ranges and --between cannot be used together", hint="give one of the two")
    requested_ranges: Any = file if file is not None else pairs or None
    more: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "ranges": requested_ranges}
    more |= {"strategy": strategy, "seconds": seconds, "only": only}
    more |= {"where": where, "by": by or (), "bins": bins, "width": width}
    if plan:
        if epsilon is None:
            raise UsageError("a plan needs an epsilon", hint=Message(Flag("epsilon", 1), " ", Flag("plan", True)))
        with terminal.progress("planning"):
            quoted = opened_project.plan_ranges(table, column, **more)
        terminal.print_result(quoted.to_data(), _plan_words(quoted), as_json=as_json)
        return
    with terminal.progress("measuring"):
        made = opened_project.ranges(table, column, **more, analyst=analyst, fresh=fresh)
        data = made.to_data(confidence=confidence, quantiles=quantiles, whole=whole)
    for file_to_write in files:
        _write(file_to_write, made.ruler.column.name, data)
    terminal.print_result(data, _words(made, data, opened_project.budget(table)), as_json=as_json)


def _refuse_beside_streams(**given: object) -> None:
    for name, value in given.items():
        if value:
            raise UsageError(
                f"--{'ranges' if name == 'file' else name} cannot be used with a stream", hint="leave it out"
            )


def _write(file: RowFile, column: str, data: dict[str, Any]) -> None:
    names = [*data["by"], f"{column}_low", f"{column}_high", "rows", "rows_low", "rows_high"]
    with terminal.explain_write_failure("the answer is"):
        file.write_rows(names, ([*keys, *ends] for *keys, ends in data["rows"]))


def _plan_words(quoted: RangesQuote) -> list[str]:
    data = quoted.to_data()
    epsilon = data["cost"]["epsilon"]
    price = f"rho {data['cost']['rho']:g}" if epsilon is None else f"epsilon {epsilon:g}"
    return [
        f"costs     {price}, once",
        f"cells     {data['cells']:,} of {data['column']}"
        + (f", in each of {data['groups']:,} groups" if quoted.groups else ""),
        f"strategy  {data['strategy']}",
        f"error     about {data['expected_rmse']:.4g} rows for a range (root mean square over the planned ranges);",
        f"          no strategy of this kind gets below {data['lower_bound']:.4g}",
    ]


def _words(made: Ranges | RangesByGroup, data: dict[str, Any], budget_status: BudgetStatus) -> list[Any]:
    table = RichTable(box=None, pad_edge=False, header_style="bold")
    for name in (*data["by"], made.ruler.column.name):
        table.add_column(name, no_wrap=True)
    table.add_column("rows", justify="right", no_wrap=True)
    called = partial(shown_label, data.get("labels", {}))
    for *labels, low, high, value, ends in data["rows"][: terminal.MOST_ROWS]:
        group = [Text(cell_text(label)) for label in map(called, data["by"], labels)]
        table.add_row(*group, f"{low} to {high}", format_with_noise(value, *ends))
    more = len(data["rows"]) - terminal.MOST_ROWS
    lines: list[Any] = [table, *([f"… and {more:,} more: --json or -o FILE.csv has them all"] if more > 0 else [])]
    for *labels, fraction, value, ends in data["quantiles"]:
        quantile_text = (
            f"{DASH} (not shown: the noise is too large)"
            if value is None
            else f"{value} (between {ends[0]} and {ends[1]})"
        )
        names = [f"{name} {cell_text(called(name, label))}" for name, label in zip(data["by"], labels, strict=True)]
        of_group = f" with {', '.join(names)}" if names else ""
        lines.append(f"{100 * fraction:g}% of the rows{of_group} are at or below {quantile_text}")
    paid = "stored release: free" if made.cached else f"cost {made.cost}"
    narrowed = made.where is not None or data["by"] or made.ruler.cut
    return [
        *lines,
        "",
        legend(data["confidence"]),
        *([] if made.where is None else [f"Of the rows where {' '.join(made.where.split())}."]),
        f"Measured by: {made.words}.",
        f"{paid}; {terminal.spent_words(budget_status)}. Release {made.release}, version {made.version}.",
        f"{'Reading these ranges' if data['only'] else 'Every other range and quantile of ' + made.ruler.column.name} "
        f"is free from now on: leave --epsilon out{' and keep the other flags' if narrowed else ''}.",
        *(f"note: {warning}" for warning in made.warnings),
    ]
