"""Proposes how the files of a source are laid out, for the owner to keep or change: see `schema/source_layout`.

    encoding     by a mark at the start, by the first bytes (UTF-16), or because the bytes are Windows' and not UTF-8
    skip_rows    the first line that is as wide as most lines is the header, and those above it are a title
    delimiter    another than the header shows, where only that one gives most lines the header's number of fields
    sheet        the only sheet or table in a file

What is proposed is written into discreet.toml and from then on declared: no row decides it again.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from pathlib import Path

from discreet.engines.encoding import inspect_file
from discreet.engines.file_kind import file_kind
from discreet.engines.file_source import DELIMITERS, fields, files_of, open_bytes, open_csv
from discreet.engines.text_lines import MARKS, MOST_HEADER
from discreet.engines.unpacking import translate_damage
from discreet.errors import DiscreetError
from discreet.schema.source_layout import UNDECLARED, SourceLayout

#: So many lines are looked at, and titles are sought in so many of them.
_LINES, _TITLES = 200, 50
#: So large a part of the lines must be as wide as the header.
_MOST_LINES = 0.8
#: What no column is called: a number, or a date.
_VALUE = re.compile(r"[-+]?[\d.,]*\d%?|\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}.*")
#: What separates fields where none of the usual ones does.
_RARE = (":", "~", "^", "\x1f", "\x01")


def detect_layout(source: str, *, folder: Path, given: SourceLayout = UNDECLARED) -> SourceLayout:
    """The layout that a source's files seem to have; what is `given` stays. Of files that cannot be read, nothing."""
    with suppress(DiscreetError, OSError, ValueError):
        files = files_of(source, folder=folder)
        match file_kind(files[0]):
            case "csv":
                layout = given if given.encoding else replace(given, encoding=_encoding(files))
                return _with_lines(layout, _lines(files[0], layout))
            case "json":
                return given if given.encoding else replace(given, encoding=_encoding(files))
            case "excel":
                return _workbook(files[0], given)
            case "sqlite":
                from discreet.engines.sqlite_reader import sqlite_tables

                return _with_table(given, sqlite_tables(files[0]))
            case "duckdb":
                from discreet.engines.duckdb_file import duckdb_tables

                return _with_table(given, duckdb_tables(files[0]))
            case _:
                return given
    return given


def _encoding(files: Sequence[Path]) -> str | None:
    """The encoding of text files, where it is not UTF-8 and can be known."""
    for file in files:
        with translate_damage(file), open_bytes(file) as stream:
            start = stream.read(64)
        mark = next((mark for mark in MARKS if start.startswith(mark)), None)
        if mark is not None:
            return None if MARKS[mark] == "utf-8" else MARKS[mark]
        even, odd = start[::2].count(0), start[1::2].count(0)
        if len(start) > 1 and (even == 0) != (odd == 0) and 2 * max(even, odd) > len(start) // 2:
            return "utf-16"
    inspected = [inspect_file(file) for file in files]
    letters, damaged = (sum(counts) for counts in list(zip(*inspected, strict=True))[:2])
    return "cp1252" if damaged > letters and all(windows for *_, windows in inspected) else None


def _lines(file: Path, layout: SourceLayout) -> list[str]:
    """The first lines of a text file."""
    with translate_damage(file), open_csv(file, replace(layout, skip_rows=0)) as text:
        lines = iter(lambda: text.readline(MOST_HEADER), "")
        return [line.rstrip("\r\n") for line in islice(lines, _LINES)]


def _with_lines(layout: SourceLayout, lines: list[str]) -> SourceLayout:
    """The delimiter and the rows above the header that fit most lines."""
    candidates = [layout.delimiter] if layout.delimiter else [*DELIMITERS, *_RARE]
    usual = None
    best: tuple[float, int, str, int] | None = None
    for delimiter in candidates:
        rows = [fields(line, delimiter) for line in lines]
        above = layout.skip_rows or _rows_above(rows)
        width = len(rows[above]) if above < len(rows) else 0
        wide = [len(row) == width for row, line in zip(rows, lines, strict=True) if line.strip()][above:]
        fitting = sum(wide) / len(wide) if wide else 0.0
        if width > 1 and (best is None or (fitting >= _MOST_LINES, width) > (best[0] >= _MOST_LINES, best[1])):
            if delimiter in _RARE and (best is not None or fitting < 1 or len(wide) < 3):
                continue
            best = (fitting, width, delimiter, above)
    if best is None:
        blank = next((place for place, line in enumerate(lines) if line.strip()), 0)
        return layout if layout.skip_rows else replace(layout, skip_rows=blank)
    fitting, _, delimiter, above = best
    if fitting < _MOST_LINES and not layout.delimiter:
        return layout  # nothing fits most lines: as the header says
    header = lines[above] if above < len(lines) else ""
    usual = max(DELIMITERS, key=lambda each: len(fields(header, each)))
    shown = layout.delimiter or (None if usual == delimiter else delimiter)
    return replace(layout, delimiter=shown, skip_rows=above)


def _rows_above(rows: Sequence[Sequence[str | None]]) -> int:
    """How many rows stand above the header: the first row that is as wide as most, and most of whose cells are filled.

    None where that row looks like data: then the header is another one.

    >>> _rows_above([("Report",), ("",), ("a", "b"), ("1", "2"), ("3", "4")])
    2
    >>> _rows_above([("a", "b"), ("1", "2"), ("3", "")]), _rows_above([("a", ""), ("1", "2"), ("3", "4")])
    (0, 0)
    >>> _rows_above([("Report", "", ""), ("", "", ""), ("a", "b", "c"), ("1", "2", "3")])
    2
    """
    widths = Counter(len(row) for row in rows if any(row))
    width = max(widths, key=lambda each: (widths[each], each), default=0)
    if width < 2:
        return 0
    for place, row in enumerate(rows[:_TITLES]):
        filled = sum(bool(cell and cell.strip()) for cell in row)
        if len(row) == width and 2 * filled > width:
            return 0 if any(cell and _VALUE.fullmatch(cell.strip()) for cell in row) else place
        if len(row) > width:
            return 0
    return 0


def _workbook(file: Path, given: SourceLayout) -> SourceLayout:
    from discreet.engines.workbook_reader import cell_texts, sheet_names, top_rows

    layout = _with_table(given, sheet_names(file))
    if layout.sheet is None or layout.skip_rows:
        return layout
    rows = [cell_texts(row) for row in top_rows(file, layout)[:_LINES]]
    widths = Counter(_reach(row) for row in rows if _reach(row))
    if not widths:
        return layout
    most = max(widths, key=lambda each: (widths[each], each))
    header = next((place for place, row in enumerate(rows) if _reach(row) >= most and _is_filled(row)), 0)
    if header >= _TITLES or any(cell and _VALUE.fullmatch(cell.strip()) for cell in rows[header]):
        return layout
    return replace(layout, skip_rows=header)


def _reach(row: Sequence[str | None]) -> int:
    """The number of cells up to the last that is filled."""
    return max((place for place, cell in enumerate(row, start=1) if cell), default=0)


def _is_filled(row: Sequence[str | None]) -> bool:
    return 2 * sum(bool(cell) for cell in row) > _reach(row)


def _with_table(layout: SourceLayout, names: Sequence[str]) -> SourceLayout:
    return replace(layout, sheet=names[0]) if layout.sheet is None and len(names) == 1 else layout


def tables_in(file: Path) -> tuple[str, ...]:
    """The sheets of a workbook, or the tables of a DuckDB or SQLite file; none of files of another kind."""
    match file_kind(file):
        case "excel":
            from discreet.engines.workbook_reader import sheet_names

            return sheet_names(file)
        case "sqlite":
            from discreet.engines.sqlite_reader import sqlite_tables

            return sqlite_tables(file)
        case "duckdb":
            from discreet.engines.duckdb_file import duckdb_tables

            return duckdb_tables(file)
        case _:
            return ()
