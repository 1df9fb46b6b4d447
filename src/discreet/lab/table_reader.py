"""Reads what the lab attacks: files of the user, as Arrow tables. Messages never hold a cell.

A column of text is a number only where no digit would be lost: ZIP code 02138 and long identifiers stay text.
An empty cell is NULL; so are NULL, NA and NaN, in columns of numbers and dates only.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from discreet.errors import UsageError
from discreet.schema.schema import closest_name_hint

if TYPE_CHECKING:
    from discreet.engines.file_source import FileSource

#: What stands for "nothing" among numbers.
NULL_WORDS = ("NULL", "null", "NA", "N/A", "NaN", "nan")
#: A number that loses something when it is read as one: a leading zero, a plus.
_LOSSY = r"^\s*(\+|-?0[0-9])"
#: An integer that a float does not hold.
_LONG = r"^\s*-?[0-9]{16,}\s*$"


def read(path: str | Path) -> pa.Table:
    """All rows of a file, laid out as it seems to be; at least one, under columns with different names."""
    from discreet.engines.file_kind import KIND_WORDS
    from discreet.engines.file_source import find
    from discreet.engines.layout_detection import detect_layout

    if not Path(path).is_file():
        raise UsageError(f"there is no file {str(path)!r}", hint="the lab reads CSV and Parquet files")
    source = find(str(path), folder=Path(), layout=detect_layout(str(path), folder=Path()))
    if not all(source.names) or len(set(source.names)) < len(source.names):
        raise UsageError(f"{source.shown}: two columns have the same name, or one has none", hint="rename them")
    try:
        table = _native(source) if source.is_native else _read(source)
    except (pa.ArrowException, OSError):  # their text quotes rows
        raise UsageError(
            f"{source.shown} cannot be read as {KIND_WORDS[source.kind]}",
            hint="a row may have too many or too few cells, or bytes that are not UTF-8",
        ) from None
    if not table.num_rows:
        raise UsageError(f"{source.shown} has no rows")
    return table


def select_columns(table: pa.Table, names: Sequence[str], *, of: str = "the table") -> pa.Table:
    """These columns alone, in this order. `of` is what a message calls the table: its file."""
    if not names:
        raise UsageError(f"no column of {of} was given", hint=f"one of {', '.join(table.column_names)}")
    table_columns = list(table.column_names)
    for name in names:
        if name not in table_columns:
            raise UsageError(f"{of} has no column {name!r}", hint=closest_name_hint(name, table_columns))
    return table.select(list(names))


def parse_names(text: str) -> tuple[str, ...]:
    """The names in `a,b,c`, as a flag has them.

    >>> parse_names("zip, birth,sex")
    ('zip', 'birth', 'sex')
    """
    column_names = tuple(part.strip() for part in text.split(","))
    if not all(column_names):
        raise UsageError(f"{text!r} names an empty column", hint="separate names by single commas: zip,birth,sex")
    if len(set(column_names)) < len(column_names):
        raise UsageError(f"{text!r} names a column twice")
    return column_names


def _native(source: FileSource) -> pa.Table:
    return _parquet(source) if source.kind == "parquet" else _csv(source)


def _read(source: FileSource) -> pa.Table:
    """A file that is read by a reader of our own."""
    from discreet.engines.file_reader import typed_batches, typed_schema
    from discreet.engines.source_values import source_rows

    if not source.is_text:
        return pa.Table.from_batches(typed_batches(source), schema=typed_schema(source))
    columns = zip(*source_rows(source), strict=True)
    texts = [pa.array(column, pa.string()) for column in columns] or [pa.array([], pa.string())] * len(source.names)
    return pa.table({name: _typed(pa.chunked_array([text])) for name, text in zip(source.names, texts, strict=True)})


def _parquet(source: FileSource) -> pa.Table:
    import pyarrow.parquet as pq

    table = pq.read_table(source.files[0])
    plain = [
        column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
        for column in table.columns
    ]
    return pa.table(dict(zip(table.column_names, plain, strict=True)))


def _csv(source: FileSource) -> pa.Table:
    table = csv.read_csv(
        source.files[0],
        parse_options=csv.ParseOptions(delimiter=source.delimiter, newlines_in_values=True),
        convert_options=csv.ConvertOptions(
            column_types=dict.fromkeys(source.names, pa.string()),
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=True,
        ),
        read_options=csv.ReadOptions(column_names=list(source.names), skip_rows=1),
    )
    return pa.table({name: _typed(table[name]) for name in source.names})


def _typed(text: Any) -> Any:
    """A column of text as integers, floats or dates, where every cell is one; else as it is."""
    filled = pc.if_else(pc.is_in(text, value_set=pa.array(NULL_WORDS)), pa.scalar(None, pa.string()), text)
    if filled.null_count == len(filled):
        return text
    lossy, long = (pc.any(pc.match_substring_regex(text, odd)).as_py() for odd in (_LOSSY, _LONG))
    numbers = () if lossy else (pa.int64(),) if long else (pa.int64(), pa.float64())
    for kind in (*numbers, pa.date32()):
        try:
            return pc.utf8_trim_whitespace(filled).cast(kind)
        except pa.ArrowInvalid:
            continue
    return text
