"""Where a table's rows come from: files, their kind and their column names. No row is read here.

A source is one file or a glob of files of one kind:

    CSV            text with a header; its delimiter is declared, or the one that the header shows; packed or not
    JSON lines     text; its columns are those that are declared
    Excel          a sheet with a header
    SQLite         a table or view
    Parquet, Arrow, DuckDB    with types

so that no row can change how another row is read. Files of one source may have their columns in different orders: they
are read by name, and a column that one of them lacks is none of the source's. Messages are for the owner: they name
files and columns, never a cell.
"""

from __future__ import annotations

import csv
import glob
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO, TextIO

from discreet.engines.file_kind import KIND_WORDS, FileKind, file_kind, packing
from discreet.engines.header import Header
from discreet.engines.stop_signal import Stopped
from discreet.engines.text_lines import header_line, open_text
from discreet.engines.unpacking import open_unpacked
from discreet.errors import SchemaError, UsageError
from discreet.schema.schema import Table
from discreet.schema.source_layout import UNDECLARED, SourceLayout

DELIMITERS = (",", ";", "\t", "|")

#: So many columns may a source have.
MOST_COLUMNS = 5_000

#: Kinds whose values are all text.
_TEXTS: tuple[FileKind, ...] = ("csv", "json", "excel", "sqlite")

#: Which settings of a layout a kind of files has.
_SETTINGS: dict[FileKind, tuple[str, ...]] = {
    "csv": ("encoding", "delimiter", "skip_rows"),
    "json": ("encoding",),
    "excel": ("skip_rows", "sheet"),
    "sqlite": ("sheet",),
    "duckdb": ("sheet",),
    "parquet": (),
    "arrow": (),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSource(Header):
    """The files behind a table, in the order of their names."""

    files: tuple[Path, ...]
    kind: FileKind
    delimiter: str = ","
    layout: SourceLayout = UNDECLARED
    #: A copy, in which every cell can be read.
    is_repaired: bool = False
    #: A copy that holds texts alone.
    is_text_copy: bool = False
    #: So many lines of the source stood above those of this copy.
    lines_above: int = 0
    #: The files one by one, where they are not read together.
    parts: tuple[FileSource, ...] = ()
    #: Columns that no column can be made of, or that not all files have.
    left_out: tuple[str, ...] = ()

    @property
    def is_text(self) -> bool:
        """Whether all values are text, whatever they mean."""
        return self.kind in _TEXTS or self.is_text_copy

    @property
    def is_native(self) -> bool:
        """Whether engines read the files as they are; of others they read copies (`readable_copies`)."""
        if self.kind == "parquet":
            return True
        plain = self.layout.encoding in (None, "utf-8") and not self.layout.skip_rows
        return self.kind == "csv" and plain and all(packing(file) in (None, ".gz") for file in self.files)

    def single_files(self) -> tuple[FileSource, ...]:
        """The sources that this one consists of: each of one kind and one header."""
        return self.parts or (self,)

    def places_in(self, part: FileSource) -> tuple[int, ...]:
        """Where the columns of this source stand in one of its parts."""
        if part is self:
            return tuple(range(len(self.names)))
        return tuple(part.names.index(name) for name in self.names)

    def place(self, name: str) -> int:
        """Which column a declared name means. Of one that some files lack it says which."""
        matches = [each for each in self.names if each.lower() == name.lower()]
        if not matches and self.kind == "json":
            return len(self.names)  # any line may have it: engines read those that `find` was given as declared
        lacking = [part.shown for part in self.parts if name not in part.names]
        if not matches and 0 < len(lacking) < len(self.parts):
            more = f" and {len(lacking) - 1:,} more" if len(lacking) > 1 else ""
            raise SchemaError(
                f"{self.shown}: {lacking[0]}{more} has no column {name!r}, which other files have",
                hint="add the column to every file, or do not declare it",
            )
        return Header.place(self, name)

    @contextmanager
    def ensure_unchanged(self) -> Iterator[None]:
        """Whatever is read within was one snapshot: no file was written to meanwhile.

        Also where what is made of two of them does not fit together: then this is why.
        """
        before = self.stamp()
        try:
            yield
        except Stopped:
            raise
        except Exception:
            self._refuse_changed(before)
            raise
        self._refuse_changed(before)

    def _refuse_changed(self, before: tuple[tuple[int, int, int], ...]) -> None:
        try:
            is_same = self.stamp() == before
        except OSError:  # it is gone
            is_same = False
        if not is_same:
            raise UsageError(
                f"{self.shown} changed while it was read", hint="try again when nothing writes to it"
            ) from None

    def stamp(self) -> tuple[tuple[int, int, int], ...]:
        """What changes when a file is written to."""
        return stamp_of(self.files)


def stamp_of(files: Iterable[Path]) -> tuple[tuple[int, int, int], ...]:
    """What changes when one of these files is written to."""
    states = [file.stat() for file in files]
    return tuple((state.st_size, state.st_mtime_ns, state.st_ino) for state in states)


def find(
    source: str, *, folder: Path, layout: SourceLayout = UNDECLARED, declared: Collection[str] | None = None
) -> FileSource:
    """The source as the owner wrote it, relative to `folder`, and laid out as declared.

    `declared`: the columns of a source whose files do not name them, which JSON lines do not. None: look at its rows.
    """
    files = files_of(source, folder=folder)
    try:
        kinds = {file_kind(file) for file in files}
        if len(kinds) > 1:
            first, second = sorted(KIND_WORDS[kind] for kind in kinds)[:2]
            raise UsageError(f"{source} contains both {first} and {second} files", hint="use one format per table")
        [kind] = kinds
        refuse_settings(source, kind, layout)
        parts = [_part(source if len(files) == 1 else file.name, file, kind, layout, declared) for file in files]
        merged = _whole(source, files, parts)
    except OSError as problem:
        raise UsageError(f"{source} cannot be read: {problem.strerror or 'it is damaged'}") from None
    if len(merged.names) > MOST_COLUMNS:
        raise UsageError(
            f"{source} has {len(merged.names):,} columns; at most {MOST_COLUMNS:,} can be read",
            hint="keep the columns that are needed",
        )
    return merged


def find_tables(tables: Sequence[Table], *, folder: Path) -> tuple[FileSource, ...]:
    """The sources of a table and of those on the way to its persons, with all columns that their declarations name."""
    named: dict[str, None] = {}
    for table in tables:
        unit = table.schema.unit
        columns = (column.name for column in table.schema.columns)
        named |= dict.fromkeys((*columns, *unit.person, *unit.on, *unit.ends))
    return tuple(find(table.source, folder=folder, layout=table.layout, declared=named) for table in tables)


def refuse_settings(source: str, kind: FileKind, layout: SourceLayout) -> None:
    """Refuse a setting that says nothing about files of this kind."""
    for setting in layout.settings():
        if setting not in _SETTINGS[kind]:
            kinds = [KIND_WORDS[other] for other, settings in _SETTINGS.items() if setting in settings]
            raise SchemaError(
                f"{source} is {KIND_WORDS[kind]}, which has no `{setting}`",
                hint=f"remove the setting; it is for {' and '.join(kinds)} files",
            )


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


def _part(shown: str, file: Path, kind: FileKind, layout: SourceLayout, declared: Collection[str] | None) -> FileSource:
    """One file, as a source of its own."""
    part = FileSource(shown=shown, names=(), files=(file,), kind=kind, layout=layout)
    match kind:
        case "csv":
            names, delimiter = _csv_header(shown, file, layout)
            return replace(part, names=names, delimiter=delimiter)
        case "parquet":
            names, types = _parquet_columns(shown, file)
            return replace(part, names=names, types=types)
        case "json":
            from discreet.engines.json_lines import json_names

            if declared is not None:
                return replace(part, names=tuple(dict.fromkeys(declared)))
            names, nested = json_names(file, layout)
            if not names:
                raise UsageError(f"{shown} has no JSON object with a value", hint="write one object on each line")
            return replace(part, names=names, left_out=nested)
        case "arrow":
            from discreet.engines.arrow_reader import arrow_columns

            columns, nested = arrow_columns(file)
            return replace(part, names=tuple(columns), types=tuple(map(str, columns.values())), left_out=nested)
        case "duckdb":
            from discreet.engines.duckdb_file import duckdb_columns

            columns, nested = duckdb_columns(file, layout)
            return replace(part, names=tuple(columns), types=tuple(columns.values()), left_out=nested)
        case "sqlite":
            from discreet.engines.sqlite_reader import sqlite_names

            return replace(part, names=sqlite_names(file, layout))
        case "excel":
            from discreet.engines.workbook_reader import sheet_header

            return replace(part, names=sheet_header(file, layout))


def _whole(source: str, files: tuple[Path, ...], parts: list[FileSource]) -> FileSource:
    """The parts as one source: read together where they are alike, else by the names that all of them have."""
    first = parts[0]
    if len(parts) == 1:
        return first
    if first.is_native and all((part.names, part.types, part.delimiter) == _form(first) for part in parts):
        return replace(first, shown=source, files=files)
    for part in parts:
        if len(set(part.names)) < len(part.names):
            raise SchemaError(
                f"{source}: {part.shown} and {first.shown if part is not first else parts[1].shown} do not have the "
                f"same header, and two columns of {part.shown} have the same name",
                hint="give each column its own name",
            )
    common = [name for name in first.names if all(name in part.names for part in parts)]
    names = tuple(dict.fromkeys(name for part in parts for name in part.names)) if first.kind == "json" else common
    if not names:
        other = next((part for part in parts[1:] if not set(part.names) & set(first.names)), parts[1])
        raise SchemaError(
            f"{source}: {other.shown} and {first.shown} do not have the same header",
            hint="give them the same header, or declare two tables",
        )
    parts = [_with_names(part, names) for part in parts]
    types = [_types_of(part, names) for part in parts]
    for part, own in zip(parts, types, strict=True):
        if own != types[0]:
            raise SchemaError(
                f"{source}: {part.shown} and {first.shown} do not have the same columns and types",
                hint="give them the same columns and types, or declare two tables",
            )
    left_out = dict.fromkeys(name for part in parts for name in (*part.names, *part.left_out) if name not in names)
    return replace(
        first, shown=source, files=files, names=tuple(names), types=types[0], parts=tuple(parts),
        left_out=tuple(left_out),
    )  # fmt: skip


def _form(part: FileSource) -> tuple[tuple[str, ...], tuple[str, ...], str]:
    return part.names, part.types, part.delimiter


def _with_names(part: FileSource, names: Iterable[str]) -> FileSource:
    """JSON lines have all columns that the others have."""
    return replace(part, names=tuple(names)) if part.kind == "json" else part


def _types_of(part: FileSource, names: Iterable[str]) -> tuple[str, ...]:
    return tuple(part.types[part.names.index(name)] for name in names) if part.types else ()


def _parquet_columns(shown: str, file: Path) -> tuple[tuple[str, ...], tuple[str, ...]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        schema = pq.read_schema(file)
    except pa.ArrowException:
        raise UsageError(f"{shown} cannot be read as Parquet: it is damaged") from None
    return tuple(schema.names), tuple(str(type_) for type_ in schema.types)


def _csv_header(shown: str, file: Path, layout: SourceLayout) -> tuple[tuple[str, ...], str]:
    """The names in a header, and the delimiter between them."""
    line = header_line(file, layout)
    delimiters = DELIMITERS if layout.delimiter is None else (layout.delimiter,)
    read = {delimiter: fields(line, delimiter) for delimiter in delimiters}
    delimiter = max(read, key=lambda delimiter: len(read[delimiter]))
    if not read[delimiter]:
        raise UsageError(
            f"the header of {shown} does not end on its {'line' if layout.skip_rows else 'first line'}",
            hint="a column name cannot contain a line break",
        )
    return read[delimiter], delimiter


def open_bytes(file: Path) -> BinaryIO:
    """A text file, unpacked."""
    return open_unpacked(file)


def open_csv(file: Path, layout: SourceLayout = UNDECLARED) -> TextIO:
    """A CSV file as text from its header on, without a mark; U+FFFD stands where it is no text in its encoding."""
    return open_text(file, layout)


def fields(line: str, delimiter: str) -> tuple[str, ...]:
    """The names that a header holds under a delimiter; none where its quotes do not fit it."""
    try:
        return tuple(next(csv.reader([line], delimiter=delimiter, strict=True)))
    except csv.Error:
        return ()
