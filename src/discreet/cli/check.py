"""`discreet check`: measure k, l and t of a table, the classes to blame, and the risk of each row."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli import terminal
from discreet.cli.anonymize import Quasi, Sensitive
from discreet.cli.flags import HERE, Ignored, Json
from discreet.cli.row_file import Format, new_file

if TYPE_CHECKING:
    from discreet.lab.anonymize import AnonymityReport


def check(
    file: Annotated[Path, typer.Argument(help="A CSV or Parquet file.")],
    quasi: Quasi,
    sensitive: Sensitive = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Write the risk of every row: a .csv or .parquet file.")
    ] = None,
    format_: Format = None,
    project: Ignored = HERE,
    as_json: Json = False,
) -> None:
    """Measure k-anonymity, l-diversity and t-closeness of a table."""
    from discreet.lab import anonymize
    from discreet.lab.table_reader import parse_names, read

    target = None if output is None else new_file(output, format_, file)
    report = anonymize.check(
        read(file), quasi=parse_names(quasi), sensitive=parse_names(sensitive) if sensitive is not None else ()
    )
    if target is not None:
        target.write_table(report.risks())
    terminal.print_result(
        report.to_data(), [*_lines(report), *([f"wrote {output}"] if output is not None else [])], as_json=as_json
    )


def _lines(report: AnonymityReport) -> list[str]:
    from discreet.lab.evidence import percent

    lines = [
        f"{report.rows:,} rows in {report.classes:,} classes; {percent(report.unique_share)} of rows are unique",
        f"k = {report.k}: {_class(report, 'k')}",
    ]
    if report.homogeneous_share is not None:
        lines += [
            f"l = {report.l} (by entropy {report.entropy_l:.3f}): {_class(report, 'l')}",
            f"t = {report.t:.4f}: {_class(report, 't')}",
            f"{percent(report.homogeneous_share)} of people are in a class with a single sensitive value",
        ]
    return lines


def _class(report: AnonymityReport, of: str) -> str:
    """The class to blame, in words."""
    witness = report.witness[of]
    shown = ", ".join(f"{name} {value}" for name, value in witness["class"].items())
    return f"{witness['rows']:,} rows with {shown}"
