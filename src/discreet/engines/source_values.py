"""Source values and their codes in plain Python: the readable twin of `conversion`, which it must equal.

Slow and obvious, written from the table at the head of `conversion` and not from its SQL.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from discreet.engines.canonical_text import canonical_text, has_canonical_text
from discreet.engines.duckdb_conversion import DAMAGED, decimal_form
from discreet.engines.file_reader import text_rows, typed_batches
from discreet.engines.file_source import FileSource, open_csv
from discreet.engines.missing_values import WrittenNumber
from discreet.engines.table_file import MOST_STORED
from discreet.engines.text_lines import MOST_ROW_BYTES, allow_long_fields
from discreet.engines.unpacking import translate_damage
from discreet.errors import UsageError
from discreet.schema.column import (
    MOST_TEXT,
    BooleanColumn,
    CategoryColumn,
    Column,
    MomentColumn,
    NumberColumn,
    TextColumn,
)

BLANKS = "\t\n\v\f\r "
DAY_US = 86_400_000_000

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(?P<exponent>[eE][+-]?\d{1,4})?", re.ASCII)
_MOMENT = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)"
    r"(?:[ T](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?(Z|[+-]\d\d(?::?\d\d)?)?)?",
    re.ASCII,
)
_TRUE = ("true", "t", "yes", "y", "1", "1.0")
_FALSE = ("false", "f", "no", "n", "0", "0.0")


@dataclass(frozen=True, slots=True)
class SourceMoment:
    """A date or timestamp of a Parquet file, in nanoseconds since 1970, and as text. None: an infinity."""

    nanos: int | None
    shown: str

    @property
    def micros(self) -> int | None:
        return None if self.nanos is None else self.nanos // 1000


SourceValue = bool | int | str | SourceMoment | None


def code_of(column: Column, value: SourceValue) -> int | str | None:
    """The code of a value before it is clamped or filled in; None where it does not fit."""
    if value is None:
        return None
    match column:
        case NumberColumn():
            if column.type == "integer" and type(value) is int:  # what its text would give, without the detour
                return value
            return _steps(column, _word(int(value) if isinstance(value, bool) else value))
        case MomentColumn():
            micros = value.micros if isinstance(value, SourceMoment) else read_micros(_word(value))
            return micros if micros is None or column.type == "timestamp" else micros // DAY_US
        case BooleanColumn():
            word = _word(value).strip(BLANKS).lower()
            return 1 if word in _TRUE else 0 if word in _FALSE else None
        case CategoryColumn():
            word = _word(value)
            return column.values.index(word) if word in column.values else None
        case TextColumn():
            return None if DAMAGED in _word(value) else _word(value)[:MOST_TEXT]


def cell_code(column: Column, value: SourceValue) -> int | str | None:
    """The code of a source's value, read by the format that its column declares."""
    return code_of(column, canonical_value(column, value))


def canonical_value(column: Column, value: SourceValue) -> SourceValue:
    """A source's value as every column of its type reads it. Only text has a format."""
    return canonical_text(column, value) if type(value) is str and has_canonical_text(column) else value


def _word(value: SourceValue) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return value.shown if isinstance(value, SourceMoment) else str(value)


def parse_number(text: str) -> Fraction | float | None:
    """A number as written; with an exponent its 64-bit value, which may be infinite; None for anything else."""
    text = text.strip(BLANKS)
    number_match = _NUMBER.fullmatch(text)
    if not number_match:
        return None
    if not number_match["exponent"]:
        return Fraction(text)
    double = float(text)
    return double if math.isinf(double) else Fraction(double)


def _steps(column: NumberColumn, text: str) -> int | None:
    value = parse_number(text)
    if isinstance(value, float):
        return MOST_STORED + 1 if value > 0 else -MOST_STORED - 1
    if value is None or (column.type == "integer" and value.denominator != 1):
        return None
    if column.type == "integer":
        return int(value)
    scale = decimal_form(column)[1]
    return half_away(Fraction(half_away(value * 10**scale), 10**scale) / column.step)


def half_away(value: Fraction) -> int:
    """The nearest whole number, halves away from zero."""
    size = math.floor(abs(value) + Fraction(1, 2))
    return size if value >= 0 else -size


def read_micros(text: str) -> int | None:
    """A moment in microseconds since 1970; None for anything else."""
    moment_match = _MOMENT.fullmatch(text.strip(BLANKS))
    if not moment_match:
        return None
    year, month, day, hour, minute, second, fraction, zone = moment_match.groups()
    try:
        # Year 0 is a leap year that Python's calendar leaves out: take it 400 years, 146,097 days, later.
        days = date(int(year) or 400, int(month), int(day)).toordinal() - 719_163 - (0 if int(year) else 146_097)
    except ValueError:
        return None
    offset = _offset(zone)
    if int(hour or 0) > 23 or int(minute or 0) > 59 or int(second or 0) > 59 or offset is None:
        return None
    seconds = days * 86_400 + int(hour or 0) * 3600 + int(minute or 0) * 60 + int(second or 0) - offset
    return seconds * 1_000_000 + int((fraction or "0").ljust(6, "0")[:6])


def _offset(zone: str | None) -> int | None:
    """A zone as seconds east of UTC."""
    if zone is None or zone == "Z":
        return 0
    hours, minutes = int(zone[1:3]), int(zone[3:].lstrip(":") or 0)
    if hours > 23 or minutes > 59:
        return None
    return (hours * 3600 + minutes * 60) * (-1 if zone[0] == "-" else 1)


def source_rows(source: FileSource) -> Iterator[list[SourceValue]]:
    """The rows of a source, in file order."""
    for part in source.single_files():
        places = source.places_in(part)
        if part is source:
            yield from _rows_of(part)
        else:
            yield from ([row[place] for place in places] for row in _rows_of(part))


def _rows_of(part: FileSource) -> Iterator[list[SourceValue]]:
    """The rows of files that have one header."""
    for file in part.files:
        match part.kind:
            case "csv":
                yield from _csv_rows(file, part)
            case "parquet":
                yield from _parquet_rows(file)
            case _:
                yield from _read_rows(file, part)


def _read_rows(file: Path, part: FileSource) -> Iterator[list[SourceValue]]:
    """The rows of a file that no engine reads as it is."""
    if part.is_text:
        yield from map(list, text_rows(part))
        return
    for batch in typed_batches(part):
        yield from map(list, zip(*(_given(column) for column in batch.columns), strict=True))


def _csv_rows(file: Path, source: FileSource) -> Iterator[list[SourceValue]]:
    width = len(source.names)
    allow_long_fields()
    with translate_damage(file), open_csv(file, source.layout) as stream:
        reader = csv.reader(stream, delimiter=source.delimiter, strict=True)
        try:
            next(reader)
            for row in reader:
                if not row and width > 1:
                    continue
                if len(row or [""]) != width:
                    line = reader.line_num + source.layout.skip_rows
                    raise UsageError(
                        f"line {line} of {source.shown} has {len(row)} fields, but the header has {width}",
                        hint="fix that line, or set skip_rows to the number of lines above the header",
                    )
                yield [field or None for field in row or [""]]
        except csv.Error as problem:
            line = reader.line_num + source.layout.skip_rows
            if "field limit" in str(problem):
                raise UsageError(f"line {line} of {source.shown} has more than {MOST_ROW_BYTES:,} bytes") from None
            raise UsageError(f"line {line} of {source.shown} has a quote that is not closed") from None


def _parquet_rows(file: Path) -> Iterator[list[SourceValue]]:
    import pyarrow.parquet as pq

    table = pq.read_table(file, partitioning=None)
    columns = [_given(table.column(place).combine_chunks()) for place in range(table.num_columns)]
    yield from map(list, zip(*columns, strict=True))


def _given(column: Any) -> list[SourceValue]:
    import pyarrow as pa

    kind = column.type
    if pa.types.is_date(kind):
        return [None if days is None else _day(days) for days in column.cast("int32").to_pylist()]
    if pa.types.is_timestamp(kind):
        size = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}[kind.unit]
        counts = column.cast("int64").to_pylist()
        return [None if count is None else _moment(count, size, zoned=kind.tz is not None) for count in counts]
    if pa.types.is_time(kind):
        size = {"s": 10**6, "ms": 10**3, "us": 1, "ns": 0}[kind.unit]
        counts = column.view(pa.int32() if kind.bit_width == 32 else pa.int64()).to_pylist()
        return [None if count is None else _clock(count * size if size else count // 1000) for count in counts]
    if pa.types.is_float32(kind):
        return [None if value is None else WrittenNumber(np.float32(value)) for value in column.to_pylist()]
    if pa.types.is_decimal(kind):
        return [None if value is None else WrittenNumber(f"{value:f}") for value in column.to_pylist()]
    if pa.types.is_dictionary(kind):
        return _given(column.dictionary_decode())
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return list(legible_texts(column))
    return [WrittenNumber(repr(value)) if isinstance(value, float) else value for value in column.to_pylist()]


def legible_texts(column: Any) -> list[str | None]:
    """The texts of a column of Parquet, with U+FFFD where they are not UTF-8."""
    import pyarrow as pa

    as_bytes = column.cast(pa.binary_view() if pa.types.is_string_view(column.type) else pa.large_binary())
    return [None if text is None else text.decode(errors="replace") for text in as_bytes.to_pylist()]


def _day(days: int) -> SourceMoment:
    if abs(days) == 2**31 - 1:
        return SourceMoment(None, "?")
    shown = (date(1970, 1, 1) + timedelta(days=days)).isoformat() if -719_162 <= days <= 2_932_896 else "?"
    return SourceMoment(days * DAY_US * 1000, shown)


def _clock(micros: int) -> str | None:
    """A time of day as text; None for one outside the day, whose end is 24:00:00."""
    if not 0 <= micros <= DAY_US:
        return None
    seconds, rest = divmod(micros, 1_000_000)
    fraction = f".{rest:06d}".rstrip("0") if rest else ""
    return f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}{fraction}"


def _moment(count: int, size: int, *, zoned: bool) -> SourceMoment:
    if abs(count) == 2**63 - 1:
        return SourceMoment(None, "?")
    if abs(count * size // 1000) >= 2**63 and size > 1000:
        return SourceMoment(None, "?")  # in no calendar: engines count microseconds in 64 bits
    seconds, micros = divmod(count * size // 1000, 1_000_000)
    if not -62_135_596_800 <= seconds < 253_402_300_800:
        return SourceMoment(count * size, "?")
    shown = (datetime(1970, 1, 1) + timedelta(seconds=seconds)).isoformat(sep=" ")
    fraction = f".{micros:06d}".rstrip("0") if micros else ""
    return SourceMoment(count * size, f"{shown}{fraction}{'+00' if zoned else ''}")
