"""`discreet infer`: noisy tables from anywhere, made consistent; and rows that have them. No project, no charge."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table as RichTable
from rich.text import Text

from discreet.cli import terminal
from discreet.cli.flags import HERE, Ignored, Json, Overwrite, refuse_overwriting
from discreet.cli.row_file import Format, RowFile, new_file
from discreet.errors import Flag, Message, UsageError

if TYPE_CHECKING:
    from discreet.tables.infer.inferred_tables import InferredTable, InferredTables

#: What a file of the tables has of each cell.
_NUMBERS = ("noisy", "noisy_error", "count", "agreed", "standard_error", "low", "high")


def infer(
    tables: Annotated[Path, typer.Argument(help="A TOML file of noisy tables with their variances.")],
    rows: Annotated[int | None, typer.Option("--rows", help="Also sample so many rows; -o says where to.")] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", help="A .csv or .parquet file: of the rows with --rows, else of the consistent tables."
        ),
    ] = None,
    format_: Format = None,
    overwrite: Overwrite = False,
    seed: Annotated[int | None, typer.Option("--seed", help="Seed for reproducible rows.")] = None,
    project: Ignored = HERE,
    as_json: Json = False,
) -> None:
    """Make noisy or published tables consistent with each other, and sample rows that have them. Free."""
    file = _output_file(tables, output, format_, overwrite=overwrite)
    if rows is not None and file is None and not as_json:
        raise UsageError(
            Message(Flag("rows"), " needs a file to write"), hint=Message(Flag("output", "rows.csv", short="o"))
        )
    if seed is not None and (rows is None or seed < 0):
        raise UsageError(
            Message(Flag("seed"), " is a whole number of at least 0, and goes with ", Flag("rows")),
            hint=Message(Flag("rows", 1000)),
        )
    from discreet.tables.infer.inferred_tables import infer_tables

    with terminal.progress("inferring"):
        inferred = infer_tables(tables)
    data, lines = inferred.to_data(), _lines(inferred)
    if rows is not None:
        sampled_rows = inferred.sample(rows, seed=seed)
        if file is None:
            data["rows"] = [list(row.values()) for row in sampled_rows.to_pylist()]
        else:
            columns = [column.to_pylist() for column in sampled_rows.columns]
            _write(file, sampled_rows.column_names, list(zip(*columns, strict=True)))
            lines.append(f"wrote {rows:,} rows to {file.path}")
    elif file is not None:
        _write(file, ("table", "cell", *_NUMBERS), _cell_rows(inferred))
        lines.append(f"wrote the tables to {file.path}")
    terminal.print_result(data | {"file": None if file is None else str(file.path)}, lines, as_json=as_json)


def _output_file(tables: Path, output: Path | None, format_: str | None, *, overwrite: bool) -> RowFile | None:
    """The file to write, tried before the work."""
    if output is None:
        if format_ is not None:
            raise UsageError(Message(Flag("format"), " needs a file to write"), hint="-o rows.csv")
        return None
    file = new_file(output, format_, tables)
    refuse_overwriting(output, overwrite=overwrite)
    return file


def _lines(inferred: InferredTables) -> list[Any]:
    """The tables, one after another, as far as a screen shows them."""
    lines: list[Any] = []
    shown = 0
    for table in inferred.tables:
        if shown >= terminal.MOST_ROWS:
            break
        lines += [_table(table, most=terminal.MOST_ROWS - shown), ""]
        shown += table.noisy.size
    cells = sum(table.noisy.size for table in inferred.tables)
    if cells > terminal.MOST_ROWS:
        lines.append(f"… {cells - terminal.MOST_ROWS:,} more cells; -o FILE.csv or --json has them all")
    about = "" if inferred.total_error == 0 else f" ± {inferred.total_error:,.4g}"
    lines += [
        f"total {inferred.total:,.6g}{about}; the given tables disagree by a chi-square of {inferred.chi_square:.3g} "
        f"(about {inferred.degrees:,} is expected)",
        "± is one standard error. consistent: nowhere negative, and the tables agree. between: where the exact count",
        "is with 95% confidence, from the unbiased counts that agree. Nothing was charged.",
        *(f"note: {warning}" for warning in inferred.warnings),
    ]
    return lines


def _table(table: InferredTable, *, most: int) -> RichTable:
    rich_table = RichTable(box=None, pad_edge=False, header_style="bold")
    for name in table.columns:
        rich_table.add_column(Text(name), no_wrap=True)
    for name in ("noisy", "consistent", "between"):
        rich_table.add_column(name, justify="right", no_wrap=True)
    for row, _ in zip(table.rows(), range(most), strict=False):
        given = f"{row['noisy']:,.1f} ± {row['noisy_error']:.3g}" if row["noisy_error"] else f"{row['noisy']:,.1f}"
        numbers = (given, f"{row['count']:,.1f}", f"{row['low']:,.1f} and {row['high']:,.1f}")
        rich_table.add_row(*(Text(label) for label in row["values"]), *numbers)
    return rich_table


def _cell_rows(inferred: InferredTables) -> list[list[Any]]:
    """A row for each cell, its values in one field."""
    return [
        [
            table.name,
            ";".join(f"{name}={value}" for name, value in zip(table.columns, row["values"], strict=True)),
            *(row[name] for name in _NUMBERS),
        ]
        for table in inferred.tables
        for row in table.rows()
    ]


def _write(file: RowFile, names: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    try:
        file.write_rows(names, rows)
    except OSError as problem:
        raise UsageError(f"{str(file.path)!r} could not be written: {problem.strerror or problem}") from None
