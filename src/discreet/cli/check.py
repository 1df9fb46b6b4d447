"""`discreet check`: measure k, l and t of a table, the classes to blame, and the risk of each row."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli import show
from discreet.cli.anonymize import Quasi, Sensitive
from discreet.cli.flags import HERE, Ignored, Json, has_place

if TYPE_CHECKING:
    from discreet.lab.anonymize import Report


def check(
    file: Annotated[Path, typer.Argument(help="A CSV or Parquet file.")],
    quasi: Quasi,
    sensitive: Sensitive = None,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="Write the risk of every row: a .csv or .parquet file.")
    ] = None,
    project: Ignored = HERE,
    as_json: Json = False,
) -> None:
    """Measure k-anonymity, l-diversity and t-closeness of a table."""
    from discreet.lab import anonymize
    from discreet.lab.anonymize.files import nameable, write
    from discreet.lab.reading import names, read

    if out is not None:
        nameable(out, file)
        has_place(out)
    found = anonymize.check(read(file), quasi=names(quasi), sensitive=names(sensitive) if sensitive is not None else ())
    if out is not None:
        write(found.risks(), out)
    show.out(found.to_data(), [*_lines(found), *([f"wrote {out}"] if out is not None else [])], as_json=as_json)


def _lines(found: Report) -> list[str]:
    from discreet.lab.evidence import percent

    told = [
        f"{found.rows:,} rows in {found.classes:,} classes; "
        f"{percent(found.unique_share)} of rows are the only one of their kind",
        f"k = {found.k}: {_class(found, 'k')}",
    ]
    if found.homogeneous_share is not None:
        told += [
            f"l = {found.l} (by entropy {found.entropy_l:.3f}): {_class(found, 'l')}",
            f"t = {found.t:.4f}: {_class(found, 't')}",
            f"{percent(found.homogeneous_share)} of people are in a class with a single sensitive value",
        ]
    return told


def _class(found: Report, of: str) -> str:
    """The class to blame, in words."""
    witness = found.witness[of]
    shown = ", ".join(f"{name} {value}" for name, value in witness["class"].items())
    return f"{witness['rows']:,} rows with {shown}"
