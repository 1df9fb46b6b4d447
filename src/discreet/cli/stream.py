"""`discreet stream`: `start` a running total of a table that grows, take its `next` step, `show` or `list` totals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table as RichTable

import discreet
from discreet.cli import terminal
from discreet.cli.flags import HERE, Analyst, Confidence, Folder, Gaussian, Json, Overwrite, two_bounds
from discreet.cli.noise_digits import round_to_noise
from discreet.cli.row_file import Format, Output, RowFile, row_files
from discreet.cli.verb_app import VerbApp
from discreet.errors import Command, Message, UsageError

if TYPE_CHECKING:
    from discreet.project.project import Project
    from discreet.tables.stream.stream import TableStream
    from discreet.tables.stream.stream_plan import StreamPlan
    from discreet.tables.stream.stream_row import StreamEstimate


stream_app = VerbApp(no_args_is_help=True, help="Running totals of a table that grows, charged once for all steps.")

TableName = Annotated[str, typer.Argument(metavar="TABLE", help="A declared table.")]
StreamName = Annotated[str, typer.Argument(metavar="NAME", help="Name of the stream.")]


@stream_app.command()
def start(
    table: TableName,
    name: StreamName,
    epsilon: Annotated[str, typer.Option("--epsilon", help="How much privacy loss to spend, once, for all steps.")],
    horizon: Annotated[str, typer.Option("--horizon", help="Number of steps that the stream will have.")],
    delta: Gaussian = None,
    contributions: Annotated[
        str | None, typer.Option("--contributions", help="Count at most K rows per person over the whole stream.")
    ] = None,
    plan: Annotated[bool, typer.Option("--plan", help="Only show the price and the expected error. Free.")] = False,
    analyst: Analyst = None,
    project: Folder = HERE,
    as_json: Json = False,
) -> None:
    """Start a stream. Charged once, for all its steps; --plan only shows the price."""
    run_stream(
        discreet.open(project),
        table,
        name,
        epsilon=epsilon,
        horizon=horizon,
        delta=delta,
        contributions=contributions,
        plan=plan,
        analyst=analyst,
        as_json=as_json,
    )


@stream_app.command("next")
def take_next(
    table: TableName,
    name: StreamName,
    label: Annotated[
        str | None, typer.Argument(metavar="[LABEL]", help="Name of the step, such as a date. Repeating it is free.")
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Take the step even if the table has no new version since the last one.")
    ] = False,
    analyst: Analyst = None,
    output: Output = None,
    format_: Format = None,
    overwrite: Overwrite = False,
    project: Folder = HERE,
    as_json: Json = False,
) -> None:
    """Take a stream's next step, if its table has a new version. Free."""
    opened_project = discreet.open(project)
    files = row_files(output, format_, opened_project, overwrite=overwrite)
    run_stream(
        opened_project,
        table,
        name,
        step=True,
        force=force,
        label=label,
        analyst=analyst,
        files=files,
        as_json=as_json,
    )


@stream_app.command()
def show(
    table: TableName,
    name: StreamName,
    between: Annotated[
        list[str] | None, typer.Option("--between", help="A range of steps to add up, such as 2..5 or monday..")
    ] = None,
    confidence: Confidence = "0.95",
    output: Output = None,
    format_: Format = None,
    overwrite: Overwrite = False,
    project: Folder = HERE,
    as_json: Json = False,
) -> None:
    """Show what a stream has released so far. Free."""
    from discreet.plan.price import confidence_of

    opened_project = discreet.open(project)
    files = row_files(output, format_, opened_project, overwrite=overwrite)
    confidence_of(confidence)
    pairs = [two_bounds(text) for text in between or ()]
    run_stream(opened_project, table, name, between=pairs, confidence=confidence, files=files, as_json=as_json)


@stream_app.command("list")
def list_(table: TableName, project: Folder = HERE, as_json: Json = False) -> None:
    """List the streams of a table. Free."""
    list_streams(discreet.open(project), table, as_json=as_json)


def run_stream(
    project: Project,
    table: str,
    name: str,
    *,
    step: bool = False,
    force: bool = False,
    label: str | None = None,
    epsilon: str | None = None,
    delta: str | None = None,
    horizon: str | None = None,
    contributions: str | None = None,
    between: Sequence[tuple[str, str]] = (),
    confidence: str = "0.95",
    plan: bool = False,
    analyst: str | None = None,
    files: Sequence[RowFile] = (),
    as_json: bool = False,
) -> None:
    """Plan or start a stream (with an epsilon), take its next step (`step`), or show what it released."""
    from discreet.tables.stream import project_streams, stream_plan

    if label is not None and not step:
        raise UsageError(
            f"a stream has no column; {label[:60]!r} can only be the label of a step",
            hint=Message(Command("stream next", table, name, "LABEL"), " takes a step"),
        )
    terms: dict[str, Any] = {"delta": delta, "horizon": horizon, "contributions": contributions}
    if plan:
        quoted = project_streams.plan_stream(project, table, name, epsilon=epsilon, **terms)
        plan_notes = stream_plan.notes(
            quoted, project.guarantee(table), population=project.table(table).population, curator=project.curator
        )
        words = [*_plan_words(quoted), *(f"note: {one}" for one in plan_notes)]
        terminal.print_result(_plan_data(name, quoted) | {"warnings": plan_notes}, words, as_json=as_json)
        return
    with terminal.progress("measuring"):
        stream, there = project_streams.stream(project, table, name, epsilon=epsilon, **terms, analyst=analyst)
        noted = _take_step(stream, label, project, force=force) if step else []
        estimates = [
            (low, high, stream.interval(low or 1, high or None, confidence=confidence)) for low, high in between
        ]
        data = stream.to_data()
    data["intervals"] = [[low, high, one.value, list(one.interval)] for low, high, one in estimates]
    data["warnings"] = [*noted, *data["warnings"]]
    for file in files:
        _write(file, stream, data["rows"])
    paid = "" if epsilon is None else "this stream already exists: free\n" if there else "charged once, for all steps\n"
    words = [*_words(stream, paid, project), *_interval_words(estimates)]
    terminal.print_result(data, [*words, *(f"note: {one}" for one in data["warnings"])], as_json=as_json)


def list_streams(project: Project, table: str, *, as_json: bool = False) -> None:
    """The streams of a table."""
    from discreet.tables.stream import project_streams

    streams = project_streams.streams(project, table)
    lines = [f"{one.name}: {one.steps:,} of {one.horizon:,} steps{', closed' if one.closed else ''}" for one in streams]
    kept = ("stream", "release", "steps", "horizon", "closed")
    data = [{key: value for key, value in one.to_data().items() if key in kept} for one in streams]
    terminal.print_result({"streams": data}, lines or ["this table has no stream yet"], as_json=as_json)


def _take_step(stream: TableStream, label: str | None, project: Project, *, force: bool) -> list[str]:
    """Take a step, unless the table has no new version: steps are few and paid for. The notes it returns are public."""
    before = stream.rows
    is_new = not before or before[-1].version != project.peek_version(stream.table).number
    was_taken = label is not None and any(row.label == label for row in before)
    open_ = not stream.closed and stream.steps < stream.horizon
    if not is_new and not was_taken and not force and open_:
        last = before[-1]
        return [
            f"no step was taken, because step {last.step} already counted version {last.version}, the newest one; "
            f"run discreet refresh {stream.table} when there is new data, or add --force to take a step anyway"
        ]
    row = stream.next(label)
    if row.step <= len(before):
        return [f"step {row.step} ({row.label}) was taken before; its stored numbers are shown"]
    return (
        [] if is_new else [f"step {row.step - 1} already counted version {row.version}, so this step adds nothing new"]
    )


def _plan_data(name: str, plan: StreamPlan) -> dict[str, Any]:
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


def _plan_words(plan: StreamPlan) -> list[str]:
    return [
        f"costs     {plan.price}, once, for {plan.counter.horizon:,} step{'' if plan.counter.horizon == 1 else 's'}",
        f"strategy  {plan.counter.words}",
        f"error     about {plan.expected_rmse:.4g} rows for a total (root mean square over the steps), "
        f"at worst {plan.sds.max():.4g}",
    ]


def _words(stream: TableStream, paid: str, project: Project) -> list[Any]:
    table = RichTable(box=None, pad_edge=False, header_style="bold")
    table.add_column("step", no_wrap=True)
    for name in ("new rows", "rows so far"):
        table.add_column(name, justify="right", no_wrap=True)
    rows = stream.rows
    for row in rows[-terminal.MOST_ROWS :]:
        name = f"{row.step}" if row.label is None else f"{row.step} {row.label}"
        table.add_row(name, _shown(row.count), _shown(row.total))
    more = len(rows) - terminal.MOST_ROWS
    left = f"{stream.steps:,} of {stream.horizon:,} steps taken"
    if stream.closed:
        left += "; closed: a step failed, or the ledger was rolled back or copied"
    elif stream.steps < stream.horizon:
        again = f"discreet stream next {stream.table} {stream.name}"
        left += f"; next: discreet refresh {stream.table}, then {again}"
    return [
        *(
            [f"… {more:,} earlier step{'' if more == 1 else 's'}: --json or -o FILE.csv has them all"]
            if more > 0
            else []
        ),
        *([table, ""] if rows else []),
        f"{paid}{left}",
        f"cost {terminal.cost_words(project, stream.id)} in all; steps and reading are free. "
        "± 95% confidence interval.",
        f"{terminal.spent_words(project.budget(stream.table))}. Release {stream.id}.",
    ]


def _interval_words(estimates: list[tuple[str, str, StreamEstimate]]) -> list[str]:
    return [f"steps {low or 1} to {high or 'now'}: {_shown(one)} new rows" for low, high, one in estimates]


def _shown(one: StreamEstimate) -> str:
    """A number without the digits that its noise makes meaningless."""
    digits = 1 if one.plus_minus < 10 else 0
    return f"{one.value:,.{digits}f} ± {one.plus_minus:,.{digits}f}"


def _write(file: RowFile, stream: TableStream, rows: list[dict[str, Any]]) -> None:
    names = ["step", "label", "count", "count_low", "count_high", "total", "total_low", "total_high"]
    hint = f"discreet stream show {stream.table} {stream.name} -o FILE writes them to another file: it is free"
    with terminal.explain_write_failure("every step is", hint=hint):
        file.write_rows(names, map(_written, rows))


def _written(row: dict[str, Any]) -> list[Any]:
    """A step in a file, without the digits that its noise makes meaningless."""
    count = round_to_noise(row["count"], *row["count_interval"])
    total = round_to_noise(row["total"], *row["total_interval"])
    return [row["step"], row["label"], *count, *total]
