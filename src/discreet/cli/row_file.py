"""The file that `-o` names, and its format: CSV or Parquet, by `--format`, else by the name of the file."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.flags import refuse_overwriting, refuse_unwritable_output, refuse_unwritable_path
from discreet.errors import Flag, Message, UsageError

if TYPE_CHECKING:
    import pyarrow as pa

    from discreet.project.project import Project

Output = Annotated[
    Path | None, typer.Option("-o", "--output", help="Also write the rows to this .csv or .parquet file.")
]
Format = Annotated[
    str | None, typer.Option("--format", help="Format of the file: csv or parquet. Default: by the file's name.")
]
#: The spellings from before `-o`; they name the format, and may be used together.
OldCsv = Annotated[Path | None, typer.Option("--csv", hidden=True, help="Old spelling of -o FILE --format csv.")]
OldParquet = Annotated[
    Path | None, typer.Option("--parquet", hidden=True, help="Old spelling of -o FILE --format parquet.")
]

FORMATS = ("csv", "parquet")


@dataclass(frozen=True, slots=True, kw_only=True)
class RowFile:
    """A file for rows."""

    path: Path
    format: str

    def write_table(self, table: pa.Table) -> None:
        """Write an Arrow table."""
        if self.format == "csv":
            import pyarrow.csv

            pyarrow.csv.write_csv(table, self.path)
        else:
            import pyarrow.parquet

            pyarrow.parquet.write_table(table, self.path)

    def write_rows(self, names: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        """Write rows of plain values."""
        if self.format == "csv":
            with self.path.open("w", encoding="utf-8", newline="") as stream:
                writer = csv.writer(stream)
                writer.writerow(names)
                writer.writerows(rows)
        else:
            import pyarrow as pa

            columns = list(zip(*rows, strict=True)) or [()] * len(names)
            self.write_table(pa.Table.from_arrays([_array(column) for column in columns], names=list(names)))


def _array(column: Sequence[Any]) -> pa.Array:
    """A column; as text where its values are of several kinds. The rows may have been charged, so it never fails."""
    import pyarrow as pa

    try:
        return pa.array(column)
    except (TypeError, ValueError, OverflowError):
        return pa.array([None if value is None else str(value) for value in column])


def row_files(
    output: Path | None,
    format_: str | None,
    project: Project,
    *,
    overwrite: bool = False,
    csv: Path | None = None,
    parquet: Path | None = None,
) -> list[RowFile]:
    """The files to write, each tried before anything is charged."""
    if format_ is not None and output is None:
        raise UsageError("--format needs a file to write", hint="-o rows.csv")
    files = [] if output is None else [RowFile(path=output, format=file_format(output, format_))]
    files += [
        RowFile(path=path, format=name) for path, name in ((csv, "csv"), (parquet, "parquet")) if path is not None
    ]
    for file in files:
        refuse_unwritable_output(file.path, project)
        refuse_overwriting(file.path, overwrite=overwrite)
    return files


def new_file(path: Path, format_: str | None, *sources: Path) -> RowFile:
    """A file to write, which can be written and is none of those that are read."""
    file = RowFile(path=path, format=file_format(path, format_))
    if any(path.resolve() == source.resolve() for source in sources):
        raise UsageError(f"{path.name!r} is the input file: writing would overwrite it", hint="write to another file")
    refuse_unwritable_path(path)
    return file


def file_format(path: Path, format_: str | None) -> str:
    """The format that was named, else that of the file's suffix. Refused if the two differ."""
    suffix = path.suffix.lower().removeprefix(".")
    if format_ is not None:
        if suffix in FORMATS and suffix != named_format(format_):
            raise UsageError(
                f"{path.name[:60]!r} is named .{suffix}, but the format is {format_}",
                hint=Message("leave ", Flag("format"), f" out, or name a .{format_} file"),
            )
        return named_format(format_)
    if suffix not in FORMATS:
        raise UsageError(
            f"{path.name[:60]!r} is neither .csv nor .parquet",
            hint=Message(Flag("output", "rows.csv", short="o"), ", or add ", Flag("format", "csv")),
        )
    return suffix


def named_format(format_: str) -> str:
    """A format by its name."""
    if format_ not in FORMATS:
        raise UsageError(
            f"there is no format {format_[:60]!r}",
            hint=Message(Flag("format", "csv"), ", or ", Flag("format", "parquet")),
        )
    return format_
