"""Makes the declared table: one SELECT over the source, streamed into one Parquet file of codes.

Guarantee: the stored form of a row depends on that row and the declaration alone.
Because: each expression of `conversion` looks at one value of the row; a category's list is joined
    by equality on a key without doubles, so a row meets at most one entry; nothing else is joined,
    sorted, grouped or counted over; and how a CSV is cut into rows is set by its header.
Persons with many rows are made in `persons`, from the same SELECT.

The counts for the owner come from the same pass. The file is readable by its owner only from birth
and takes its name only when it is whole and on disk.
"""

from __future__ import annotations

import glob
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO, TypeVar, Unpack

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from discreet.engines.csv_faults import CsvFault, first_fault
from discreet.engines.declared_table_sql import MARK, NULLED, ConversionForms, select_sql
from discreet.engines.duckdb_conversion import DuckDBKind, kind_of, missing_sql, raw_sql, takes, word_sql
from discreet.engines.engine import DeclarationOutcome, PersonCounts
from discreet.engines.file_kind import packing
from discreet.engines.file_source import FileSource
from discreet.engines.parquet_writer import ROWS_AT_ONCE, write_parquet
from discreet.engines.rounding_notes import is_rounded, make_rounding_notes
from discreet.engines.stop_signal import check_stop, until_stopped
from discreet.engines.table_file import arrow_schema, check_declarable, duckdb_type, new_file
from discreet.engines.text_lines import MOST_ROW_BYTES
from discreet.errors import DiscreetError, SchemaError, UsageError
from discreet.schema.column import CategoryColumn, Column, MomentColumn, NumberColumn, type_name
from discreet.schema.schema import Schema
from discreet.sql.dialect import identifier, text_literal

Result = TypeVar("Result")

#: What DuckDB says where it cannot read one cell.
_UNREADABLE = re.compile("utf-?8|unicode|Conversion Error|Invalid TIME value", re.IGNORECASE)

#: How DuckDB names a line of a CSV, and a number of fields that is not the header's.
_LINE = re.compile(r"CSV Error on Line: (\d+)")
_FIELDS = re.compile(r"Expected Number of Columns: (\d+) Found: (\d+)")


#: How DuckDB makes codes of values.
FORMS = ConversionForms(raw=raw_sql, word=word_sql, storage=duckdb_type, missing=missing_sql, wide="HUGEINT")


class Unreadable(UsageError):
    """A cell that the engine cannot read: it is not UTF-8, or in no calendar. In a `mended` copy it can."""


def declare(
    cursor: duckdb.DuckDBPyConnection, schema: Schema, source: FileSource, *, target: Path
) -> DeclarationOutcome:
    """Make the declared table of `source` at `target`, where each row is a unit."""
    check_declarable(schema)
    with translate_read_errors(source), new_file(target) as stream, source.ensure_unchanged():
        values, kinds = prepare_source(cursor, schema, source)

        def write(rows: str) -> DeclarationOutcome:
            sql = select_sql(schema, values, kinds, source=rows, forms=FORMS)
            return _write(cursor.sql(sql).to_arrow_reader(ROWS_AT_ONCE), schema, stream)

        return retry_single_threaded(source, write)


def retry_single_threaded(source: FileSource, act: Callable[[str], Result]) -> Result:
    """What `act` makes of a source, given as SQL; it may be called twice, and begins anew the second time."""
    check_stop()
    try:
        return act(source_sql(source))
    except (duckdb.Error, pa.ArrowException, OSError) as problem:
        check_stop()
        # Several threads cannot always place a quoted field of many lines, and fail by where it lies; one can.
        # One thread alone would take a quote that never ends, so that is refused here.
        if source.kind != "csv" or "unterminated quote" in str(problem) or _unreadable(problem, source):
            raise
    return act(source_sql(source, parallel=False))


def source_sql(source: FileSource, *, parallel: bool = True, encoding: str = "utf-8") -> str:
    """The source as a table function: CSV all text, by the header's delimiter; nothing is guessed from rows."""
    if source.parts:
        return _union_sql(source, parallel=parallel, encoding=encoding)
    files = ", ".join(text_literal(glob.escape(str(file))) for file in source.files)
    if source.kind == "parquet":
        return f"read_parquet([{files}], hive_partitioning = false)"
    columns = ", ".join(f"'c{place}': 'VARCHAR'" for place in range(len(source.names)))
    # Of packed files DuckDB else takes room for 16 of the longest rows, for each file that a thread reads.
    room = f"buffer_size = {2 * MOST_ROW_BYTES}, " if any(map(packing, source.files)) else ""
    return (
        f"read_csv([{files}], auto_detect = false, header = true, columns = {{{columns}}}, "
        f"delim = {text_literal(source.delimiter)}, quote = '\"', escape = '\"', nullstr = '', "
        f"parallel = {str(parallel).lower()}, max_line_size = {MOST_ROW_BYTES}, {room}encoding = '{encoding}', "
        "hive_partitioning = false)"
    )


def _union_sql(source: FileSource, *, parallel: bool, encoding: str) -> str:
    """Files with different headers, one after another, each by the names that all of them have.

    Those with one header are read together: each reading of packed files has room of its own for the longest rows.
    """
    alike: dict[tuple[tuple[str, ...], str], list[FileSource]] = {}
    for part in source.parts:
        alike.setdefault((part.names, part.delimiter), []).append(part)
    selects = []
    for parts in alike.values():
        part = replace(parts[0], files=tuple(file for each in parts for file in each.files))
        places = source.places_in(part)
        columns = ", ".join(f"a{place} AS c{number}" for number, place in enumerate(places))
        names = ", ".join(f"a{place}" for place in range(len(part.names)))
        rows = source_sql(part, parallel=parallel, encoding=encoding)
        selects.append(f"SELECT {columns} FROM {rows} AS part({names})")
    return f"({' UNION ALL '.join(selects)})"


def source_columns(cursor: duckdb.DuckDBPyConnection, source: FileSource) -> tuple[list[str], list[str]]:
    """What DuckDB calls the columns of a source and their types, in file order."""
    if source.is_text and (source.kind == "csv" or source.parts):
        return [f"c{place}" for place in range(len(source.names))], ["VARCHAR"] * len(source.names)
    description = cursor.execute(f"DESCRIBE SELECT * FROM {source_sql(source)}").fetchall()
    return [row[0] for row in description], [row[1] for row in description]


def prepare_source(
    cursor: duckdb.DuckDBPyConnection, schema: Schema, source: FileSource
) -> tuple[list[str], list[DuckDBKind]]:
    """Where the declared columns stand in the source, which is s, and of what kind they are; their lists are made."""
    places = [source.place(column.name) for column in schema.columns]
    _create_category_lists(cursor, schema)
    names, types = source_columns(cursor, source)
    kinds = [_kind(column, types[place], source) for column, place in zip(schema.columns, places, strict=True)]
    return [f"s.{identifier(names[place])}" for place in places], kinds


def _create_category_lists(cursor: duckdb.DuckDBPyConnection, schema: Schema) -> None:
    """Each category's list as a table to join: a CASE of thousands of values would be slow."""
    for place, column in enumerate(schema.columns):
        if isinstance(column, CategoryColumn):
            cursor.execute(
                f"CREATE TEMP TABLE list_{place} AS SELECT unnest($1::VARCHAR[]) AS word, unnest(range($2)) AS code",
                [list(column.values), len(column.values)],
            )


def _kind(column: Column, source_type: str, source: FileSource) -> DuckDBKind:
    kind = kind_of(source_type)
    if kind is None or not takes(column, kind):
        raise SchemaError(
            f"column {column.name!r} is declared {type_name(column)}, but it is {source_type} in {source.shown}",
            hint="declare another type, or convert the source",
        )
    return kind


def _write(batches: Iterable[Any], schema: Schema, stream: BinaryIO) -> DeclarationOutcome:
    """Write the stored columns, count the rest."""
    tally = DeclarationTally(schema)

    def stored() -> Iterator[Any]:
        for batch in until_stopped(batches):
            tally.count(batch)
            yield stored_columns(batch, schema)

    write_parquet(stored(), arrow_schema(schema), stream)
    return tally.making(exact_rows=tally.exact_rows)


def stored_columns(batch: Any, schema: Schema) -> Any:
    """The columns of a batch that are stored."""
    kept = [batch.column(f"stored_{place}") for place in range(len(schema.columns))]
    kept += [] if schema.unit.is_row else [batch.column("person")]
    return pa.RecordBatch.from_arrays(kept, schema=arrow_schema(schema))


@cache
def _number(number: int) -> Any:
    """A number to compare a column with. (Of a plain int Arrow makes one with pandas, where that is installed.)"""
    content = pa.py_buffer(number.to_bytes(2, sys.byteorder, signed=True))
    return pa.Array.from_buffers(pa.int16(), 1, [None, content])[0]


class DeclarationTally:
    """The counts for the owner."""

    def __init__(self, schema: Schema) -> None:
        self.exact_rows = 0
        self._schema = schema
        ordered = [column for column in schema.columns if isinstance(column, NumberColumn | MomentColumn)]
        self._nulled = {column.name: 0 for column in schema.columns}
        self._marked = {column.name: 0 for column in schema.columns}
        self._clamped = {column.name: 0 for column in ordered}
        self._moved = {column: (0, 0) for column in ordered if isinstance(column, NumberColumn) and is_rounded(column)}

    def count(self, batch: Any) -> None:
        self.exact_rows += batch.num_rows
        for place, column in enumerate(self._schema.columns):
            for mark, counts in ((NULLED, self._nulled), (MARK, self._marked)):
                counts[column.name] += pc.sum(pc.equal(batch.column(f"unread_{place}"), _number(mark))).as_py() or 0
            if isinstance(column, NumberColumn) and column in self._moved:
                self._count_moved(column, batch.column(f"moved_{place}"))
            elif column.name in self._clamped:
                self._clamped[column.name] += pc.sum(batch.column(f"clamped_{place}")).as_py() or 0

    def _count_moved(self, column: NumberColumn, moved: Any) -> None:
        values, most = self._moved[column]
        self._clamped[column.name] += pc.sum(pc.equal(moved, _number(-1))).as_py() or 0
        values += pc.sum(pc.greater(moved, _number(0))).as_py() or 0
        self._moved[column] = (values, max(most, pc.max(moved).as_py() or 0))

    def making(self, *, exact_rows: int, **counts: Unpack[PersonCounts]) -> DeclarationOutcome:
        rounded = make_rounding_notes(self._moved)
        return DeclarationOutcome(
            exact_rows=exact_rows,
            exact_nulled=self._nulled,
            exact_clamped=self._clamped,
            exact_rounded=rounded,
            exact_marked=self._marked,
            **counts,
        )


@contextmanager
def translate_read_errors(source: FileSource) -> Iterator[None]:
    """Turns what DuckDB says about a source into one sentence without its cells."""
    try:
        yield
    except DiscreetError:
        raise
    except (duckdb.Error, pa.ArrowException, OSError) as problem:
        check_stop()
        if _unreadable(problem, source):
            raise Unreadable(_sentence(str(problem), source)) from None
        fault = _fault(str(problem), source)
        if fault is not None:
            raise UsageError(fault.reason, hint=fault.hint) from None
        raise UsageError(_sentence(str(problem), source)) from None


def _unreadable(problem: Exception, source: FileSource) -> bool:
    """Whether it was one cell that could not be read. Of a mended copy none is: there the words are a cell's own."""
    return not source.is_repaired and _UNREADABLE.search(str(problem)) is not None


def _fault(problem: str, source: FileSource) -> CsvFault | None:
    """The line at fault, where DuckDB names none; where it names one, with all of its fields, of which it counts
    one too many at most. Where the two name different lines, DuckDB's word stands."""
    line, fields = _LINE.search(problem), _FIELDS.search(problem)
    if source.kind != "csv" or not (fields or "invalid state" in problem):
        return None
    fault = first_fault(source)
    same = fault is not None and (line is None or source.parts or fault.line == int(line[1]) + source.lines_above)
    return fault if same else None


def _sentence(problem: str, source: FileSource) -> str:
    line, fields = _LINE.search(problem), _FIELDS.search(problem)
    number = int(line[1]) + source.lines_above if line else None
    where = source.shown if number is None or source.parts else f"line {number} of {source.shown}"
    if fields:
        return f"{where} has {fields[2]} fields, but the header has {fields[1]}"
    if "unterminated quote" in problem:
        return f"{where} has a quote that is not closed"
    if "utf-8" in problem.lower() or "utf8" in problem.lower():
        return f"{where} is not UTF-8 text"
    if "Conversion Error" in problem:
        return f"{where} has a timestamp that is not in the calendar"
    if "Maximum line size" in problem:
        return f"{where} has more than {MOST_ROW_BYTES:,} bytes"
    if "Out of Memory" in problem:
        return f"{where} needs more memory than the engine may use"
    return f"{where} cannot be read as {'CSV' if source.kind == 'csv' else 'Parquet'}"
