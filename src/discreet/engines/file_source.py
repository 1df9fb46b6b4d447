"""Where a table's rows come from: files, their kind and their column names. No row is read here.

A source is one file or a glob of files of one kind. CSV is UTF-8 with a header; its delimiter is
the one that the header shows, so that no row can change how another row is read. Messages are for
the owner: they name files and columns, never a cell.
"""

from __future__ import annotations

import csv
import glob
import gzip
import io
import shlex
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Literal, TextIO, cast

from discreet.engines.header import Header
from discreet.errors import SchemaError, UsageError
from discreet.schema.source_layout import UNDECLARED, SourceLayout

DELIMITERS = (",", ";", "\t", "|")

#: A header longer than this is not a header.
MOST_HEADER = 1_000_000

_PARQUET = b"PAR1"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSource(Header):
    """The files behind a table, in the order of their names."""

    files: tuple[Path, ...]
    kind: Literal["csv", "parquet"]
    delimiter: str = ","
    #: A copy, in which every cell can be read.
    is_repaired: bool = False

    @contextmanager
    def ensure_unchanged(self) -> Iterator[None]:
        """Whatever is read within was one snapshot: no file was written to meanwhile."""
        before = self.stamp()
        yield
        if self.stamp() != before:
            raise UsageError(f"{self.shown} changed while it was read", hint="try again when nothing writes to it")

    def stamp(self) -> tuple[tuple[int, int, int], ...]:
        """What changes when a file is written to."""
        return stamp_of(self.files)


def stamp_of(files: Iterable[Path]) -> tuple[tuple[int, int, int], ...]:
    """What changes when one of these files is written to."""
    states = [file.stat() for file in files]
    return tuple((state.st_size, state.st_mtime_ns, state.st_ino) for state in states)


def find(source: str, *, folder: Path, layout: SourceLayout = UNDECLARED) -> FileSource:
    """The source as the owner wrote it, relative to `folder`, and laid out as declared."""
    files = files_of(source, folder=folder)
    try:
        kinds = {_kind(file) for file in files}
        if len(kinds) > 1:
            raise UsageError(f"{source} contains both CSV and Parquet files", hint="use one format per table")
        return _parquet(source, files) if kinds == {"parquet"} else _csv(source, files)
    except OSError as problem:
        raise UsageError(f"{source} cannot be read: {problem.strerror or 'it is damaged'}") from None


def files_of(source: str, *, folder: Path) -> tuple[Path, ...]:
    """The files that a source names, in the order of their names."""
    path = folder / source
    if path.is_dir():
        raise UsageError(f"{source} is a folder", hint=f"name its files: {source.rstrip('/')}/*.parquet")
    if path.exists():
        return (path.absolute(),)
    pattern = str(Path(glob.escape(str(folder))) / source)
    matches = [Path(name) for name in glob.glob(pattern, recursive=True)] if glob.has_magic(source) else []
    files = tuple(sorted(file.absolute() for file in matches if file.is_file()))
    if not files:
        raise UsageError(f"there is no file {source}", hint="paths are relative to the folder of discreet.toml")
    return files


def _kind(file: Path) -> Literal["csv", "parquet"]:
    with file.open("rb") as stream:
        if stream.read(4) == _PARQUET:
            return "parquet"
    if file.suffix in (".parquet", ".pq"):
        raise UsageError(f"{file.name} is not a Parquet file")
    return "csv"


def _parquet(source: str, files: tuple[Path, ...]) -> FileSource:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        first, *rest = [pq.read_schema(file) for file in files]
    except pa.ArrowException:
        raise UsageError(f"{source} cannot be read as Parquet: it is damaged") from None
    for file, other in zip(files[1:], rest, strict=True):
        if not other.equals(first):
            raise SchemaError(
                f"{source}: {file.name} and {files[0].name} do not have the same columns and types",
                hint="give them the same columns and types, or declare two tables",
            )
    types = tuple(str(type_) for type_ in first.types)
    return FileSource(shown=source, files=files, kind="parquet", names=tuple(first.names), types=types)


def _csv(source: str, files: tuple[Path, ...]) -> FileSource:
    first, *rest = [_header_line(file) for file in files]
    for file, other in zip(files[1:], rest, strict=True):
        if other != first:
            raise SchemaError(
                f"{source}: {file.name} and {files[0].name} do not have the same header",
                hint="give them the same header, or declare two tables",
            )
    read = {delimiter: _fields(first, delimiter) for delimiter in DELIMITERS}
    delimiter = max(read, key=lambda delimiter: len(read[delimiter]))
    if not read[delimiter]:
        raise UsageError(
            f"the header of {source} does not end on its first line",
            hint="a column name cannot contain a line break",
        )
    return FileSource(shown=source, files=files, kind="csv", names=read[delimiter], delimiter=delimiter)


def _header_line(file: Path) -> str:
    """The first line, whatever stands in the others."""
    try:
        with open_bytes(file) as stream:
            start = stream.readline(MOST_HEADER + 1).splitlines()[:1]
        line = start[0].decode("utf-8-sig") if start else ""
    except UnicodeDecodeError:
        convert = f"iconv -f CP1252 -t UTF-8 {shlex.quote(file.name)} > utf8.csv"
        raise UsageError(
            f"{file.name} is neither Parquet nor CSV in UTF-8",
            hint=f"a CSV file from Windows or Excel is often Windows-1252 (or Latin-1); convert it: {convert}; "
            "then name utf8.csv as the source",
        ) from None
    except (EOFError, gzip.BadGzipFile):
        raise UsageError(f"{file.name} is neither Parquet nor CSV in UTF-8") from None
    if not line.strip() or len(line) > MOST_HEADER or "\0" in line:
        raise UsageError(f"{file.name} does not start with the names of its columns", hint="add a header line")
    return line


def open_bytes(file: Path) -> BinaryIO:
    """A CSV file, unpacked where it is gzipped."""
    return cast(BinaryIO, gzip.open(file)) if file.suffix == ".gz" else file.open("rb")


def open_csv(file: Path) -> TextIO:
    """A CSV file as text, without its byte order mark; U+FFFD stands where it is not UTF-8."""
    return io.TextIOWrapper(open_bytes(file), encoding="utf-8-sig", errors="replace", newline="")


def _fields(line: str, delimiter: str) -> tuple[str, ...]:
    """The names that a header holds under a delimiter; none where its quotes do not fit it."""
    try:
        return tuple(next(csv.reader([line], delimiter=delimiter, strict=True)))
    except csv.Error:
        return ()
