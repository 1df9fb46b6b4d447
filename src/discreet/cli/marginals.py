"""`discreet marginals`: tables of a few columns each, from one charge, that agree with each other."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table as RichTable
from rich.text import Text

import discreet
from discreet.cli import terminal
from discreet.cli.flags import HERE, Analyst, Confidence, Epsilon, Folder, Json, refuse_unwritable_path
from discreet.cli.noise_digits import round_to_noise
from discreet.cli.row_file import RowFile, named_format
from discreet.errors import Flag, Message, UsageError
from discreet.present.cell_text import cell_text
from discreet.release import legend
from discreet.schema.column import shown_label

if TYPE_CHECKING:
    from discreet.project.project import BudgetStatus, Project
    from discreet.tables.marginals.marginals_release import MarginalsRelease, ReleasedMarginal
    from discreet.tables.marginals.marginals_request import MarginalsQuote

#: So many tables, and lines of each, are shown; files hold them all.
_TABLES, _LINES = 6, 12


def marginals(
    table: Annotated[str, typer.Argument(help="A declared table.")],
    columns: Annotated[list[str] | None, typer.Argument(help="Columns. Default: all with declared values.")] = None,
    epsilon: Epsilon = None,
    delta: Annotated[
        str | None,
        typer.Option("--delta", help="Use Gaussian noise for an (epsilon, delta) guarantee with this delta."),
    ] = None,
    order: Annotated[
        str | None, typer.Option("--order", help="Largest number of columns in a table (default 2).")
    ] = None,
    exactly: Annotated[bool, typer.Option("--exactly", help="Only tables of exactly --order columns.")] = False,
    weight: Annotated[
        list[str] | None, typer.Option("--weight", help="a,b=5: measure this table; its errors have weight 5.")
    ] = None,
    objective: Annotated[
        str,
        typer.Option("--objective", help="What to minimize: the mean error, or the error of the worst table (max)."),
    ] = "mean",
    plan: Annotated[bool, typer.Option("--plan", help="Only show the price and the expected error. Free.")] = False,
    whole: Annotated[
        bool, typer.Option("--whole", help="Give whole numbers of at least 0 that have one total.")
    ] = False,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Folder to write one file per table to.")
    ] = None,
    format_: Annotated[str, typer.Option("--format", help="Format of the files: csv or parquet.")] = "csv",
    csv: Annotated[Path | None, typer.Option("--csv", hidden=True, help="Old spelling of -o FOLDER.")] = None,
    confidence: Confidence = "0.95",
    analyst: Analyst = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Ignore the stored answer; draw new noise and charge again.")
    ] = False,
    project: Folder = HERE,
    as_json: Json = False,
) -> None:
    """Measure all tables of up to --order columns, consistent with each other. Charged once; repeating it is free."""
    if epsilon is None:
        raise UsageError("say how much to spend", hint=Message(Flag("epsilon", 1)))
    opened_project = discreet.open(project)
    folders = {folder: named_format(name) for folder, name in ((output, format_), (csv, "csv")) if folder is not None}
    for folder in folders:
        _check_folder(folder, opened_project)
    wish: dict[str, Any] = {
        "epsilon": epsilon,
        "delta": delta,
        "order": order,
        "exactly": exactly,
        "tables": dict(map(_weight, weight or [])),
        "objective": objective,
    }
    if plan:
        priced = opened_project.plan_marginals(table, columns or [], **wish)
        terminal.print_result(priced.to_data(), _plan_lines(priced), as_json=as_json)
        return
    with terminal.progress("measuring"):
        made = opened_project.marginals(
            table, columns or [], confidence=confidence, analyst=analyst, fresh=fresh, **wish
        )
    for folder, name in folders.items():
        _write(made, folder, name, whole=whole)
    lines = [] if as_json else _table_lines(made, opened_project.budget(table), whole=whole)
    terminal.print_result(made.to_data(whole=whole) if as_json else {}, lines, as_json=as_json)


def _weight(text: str) -> tuple[tuple[str, ...], str]:
    """a,b=5 as names and a weight; without one it is 1."""
    names, _, weight = text.rpartition("=") if "=" in text else (text, "", "1")
    return tuple(name.strip() for name in names.split(",")), weight.strip()


def _check_folder(folder: Path, project: Project) -> None:
    """Refuse, before anything is charged, a folder that cannot take the files."""
    try:
        if project.owns_file(folder) or (folder.exists() and not folder.is_dir()):
            raise UsageError(
                f"the tables cannot be written to {str(folder)!r}: it is a file or belongs to the project",
                hint="name a new folder, or an empty one",
            )
        if folder.is_dir() and any(folder.iterdir()):
            raise UsageError(f"the folder {str(folder)!r} is not empty", hint="name a new one")
        if not folder.resolve().parent.is_dir():
            above = folder.resolve().parent.name
            raise UsageError(
                f"the folder {str(folder)!r} cannot be created: there is no folder {above!r}",
                hint="create that one first, or name another folder",
            )
        folder.mkdir(exist_ok=True)
    except OSError as problem:
        raise UsageError(f"the folder {str(folder)[:200]!r} cannot be created: {problem.strerror}") from None
    refuse_unwritable_path(folder / "001.csv")


def _write(made: MarginalsRelease, folder: Path, format_: str, *, whole: bool) -> None:
    """A file for each table: its columns, the number of rows, and between what the exact one lies."""
    for number, marginal in enumerate(made, start=1):
        plain = "-".join(re.sub(r"[^A-Za-z0-9_]+", "_", name) for name in marginal.columns)[:80]
        file = RowFile(path=folder / f"{number:03}-{plain}.{format_}", format=format_)
        with terminal.explain_write_failure("the tables are"):
            file.write_rows(
                marginal.header,
                (
                    [*labels, *round_to_noise(value, low, high)]
                    for *labels, value, (low, high) in marginal.rows(whole=whole)
                ),
            )


def _plan_lines(priced: MarginalsQuote) -> list[str]:
    from discreet.tables.marginals.marginals_plan import count_noun
    from discreet.tables.marginals.marginals_release import reservation_cost

    wish = priced.planned.workload
    return [
        f"{count_noun(len(wish.sets), 'table')} with {count_noun(sum(wish.cells), 'cell')}",
        f"{priced.planned.words}",
        f"expected error of a cell: {priced.expected_rmse:.4g} (root mean square){_bound(priced)}",
        f"cost {reservation_cost(priced.event)}; this plan charged nothing",
        *(f"note: {warning}" for warning in priced.warnings),
    ]


def _bound(priced: MarginalsQuote) -> str:
    """The bound is about noise that is not discrete; noise of a scale below 1 or so may come out smaller."""
    if priced.lower_bound > priced.expected_rmse:
        return ""
    what = "keeps the worst table" if priced.planned.workload.objective == "max" else "gets"
    return f"; no strategy with this kind of noise {what} below {priced.lower_bound:.4g}"


def _table_lines(made: MarginalsRelease, budget_status: BudgetStatus, *, whole: bool) -> list[Any]:
    """The first tables, for people, how wrong they may be, and what is spent of what."""
    from discreet.tables.marginals.marginals_plan import count_noun

    sets = made.planned.workload.sets
    parts: list[Any] = []
    for marginal, _ in zip(made, range(_TABLES), strict=False):
        parts += [_table(marginal, whole=whole), ""]
    if len(sets) > _TABLES:
        parts.append(f"… {count_noun(len(sets) - _TABLES, 'more table')}; -o FOLDER or --json has them all")
    price = "stored release: free" if made.cached else f"cost {made.cost}"
    parts += [
        legend(made.confidence),
        f"{made.strategy}; expected error {made.expected_rmse:.4g}.",
        f"{price}; {terminal.spent_words(budget_status)}. Release {made.release}, version {made.version}.",
        *(f"note: {warning}" for warning in made.warnings),
    ]
    return parts


def _table(marginal: ReleasedMarginal, *, whole: bool) -> RichTable:
    rich_table = RichTable(box=None, pad_edge=False, header_style="bold")
    for name in marginal.columns:
        rich_table.add_column(Text(name), no_wrap=True)
    rich_table.add_column("rows", justify="right", no_wrap=True)
    for row, _ in zip(marginal.rows(whole=whole), range(_LINES), strict=False):
        *labels, value, _interval = row
        words = f"{value:,}" if whole else f"{value:,.1f} ± {marginal.half_width:,.1f}"
        called = map(partial(shown_label, marginal.code_labels), marginal.columns, labels)
        rich_table.add_row(*(Text(cell_text(label)) for label in called), words)
    if marginal.values.size > _LINES:
        rich_table.add_row(*["…"] * len(marginal.columns), f"{marginal.values.size - _LINES:,} more")
    return rich_table
