"""How a source value becomes a code, as DuckDB SQL. Each expression looks at one value and never fails.

    declared    takes                                             code
    integer     whole numbers: 12, " 12", 12.0, 1.2e1             the number; 12.5 does not fit
    decimal     numbers                                           the nearest grid step, halves away from zero
    date        2026-01-31, or a timestamp, whose day in UTC      days since 1970
    timestamp   2026-01-31 12:00[:00[.000000]][Z or +01:00]       microseconds since 1970, UTC unless it says so
    boolean     true t yes y 1 1.0, false f no n 0 0.0            1, 0
    category    a text that is in the list, byte for byte         its place in the list
    text        anything without U+FFFD, unless missing           the text, its first 1,000 characters

A text of `missing` (NA, NULL, -, nothing at all) and a float that is no number are missing values: NULL, and not told
as something that did not fit. A category that lists such a text takes it.

U+FFFD is what stands where a text was not UTF-8: in the source itself, or in a copy of it that `mended`
made. Such a text is damaged, and as whose row it is it names nobody.

What does not fit, NaN and the infinities become NULL. Blanks around numbers, moments and booleans
are ignored, around categories and text never. A column with a format (`value_format`) is read by the text that
`canonical_text` makes of a cell. A float is read by its shortest decimal text (0.285
is 0.285), a number written with an exponent at its 64-bit value. Digits beyond microseconds are
dropped, digits far beyond the grid (see `decimal_form`) rounded off first. A number too large for
any bound becomes the bound. The grammar is ours and is checked before each cast: the engine's own
casts take more (1_000, 0x10, "epoch", "infinity"), and their errors quote the cell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, assert_never

from discreet.engines.canonical_sql import TextForms, canonical_sql
from discreet.engines.canonical_text import has_canonical_text
from discreet.engines.missing_values import MISSING, is_missing_text_sql, marks_of
from discreet.engines.table_file import MOST_STORED, code_bounds
from discreet.schema.column import (
    MOST_TEXT,
    BooleanColumn,
    CategoryColumn,
    Column,
    MomentColumn,
    NumberColumn,
    TextColumn,
)
from discreet.sql.dialect import text_literal

DuckDBKind = Literal["boolean", "integer", "decimal", "number", "date", "timestamp", "nanoseconds", "text", "word"]

#: Stands where a text was not UTF-8.
DAMAGED = "\N{REPLACEMENT CHARACTER}"

#: Beyond every bound.
FAR = MOST_STORED + 1
#: The first microsecond of DuckDB's calendar.
_FIRST_MICRO = -9223372022400000000

_BLANKS = "' ' || chr(9) || chr(10) || chr(11) || chr(12) || chr(13)"
_AROUND = r"[\t-\r ]*"
_NUMBER = r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)"
_DAY = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_TIME = r"([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9](\.[0-9]{1,9})?)?"
_ZONE = r"(Z|[+-]([01][0-9]|2[0-3])(:?[0-5][0-9])?)"

WHOLE = _AROUND + r"[+-]?([0-9]+(\.0*)?|\.0+)" + _AROUND
PLAIN = _AROUND + _NUMBER + _AROUND
SCIENTIFIC = _AROUND + _NUMBER + "[eE][+-]?[0-9]{1,4}" + _AROUND
DAY = _AROUND + _DAY + _AROUND
LOCAL = f"{_DAY}([ T]{_TIME})?"
ZONED = f"{_DAY}[ T]{_TIME}{_ZONE}"

_KINDS: dict[str, DuckDBKind] = {
    "BOOLEAN": "boolean",
    **dict.fromkeys(("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER"), "integer"),
    **dict.fromkeys(("UBIGINT", "HUGEINT", "UHUGEINT", "FLOAT", "DOUBLE"), "number"),
    "DATE": "date",
    **dict.fromkeys(("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP WITH TIME ZONE"), "timestamp"),
    **dict.fromkeys(("TIMESTAMP_NS", "TIMESTAMPTZ_NS"), "nanoseconds"),
    "VARCHAR": "text",
    **dict.fromkeys(("UUID", "TIME", "JSON"), "word"),
}  # fmt: skip


def kind_of(source_type: str) -> DuckDBKind | None:
    """The kind of a DuckDB type; None for what no column can be made of (nested values, bytes)."""
    if source_type.startswith("DECIMAL("):
        return "decimal"
    return "text" if source_type.startswith("ENUM(") else _KINDS.get(source_type)


def takes(column: Column, kind: DuckDBKind) -> bool:
    """Whether a column of this declaration can be made from values of this kind."""
    match column:
        case NumberColumn() | BooleanColumn():
            return kind in ("boolean", "integer", "decimal", "number", "text")
        case MomentColumn():
            return kind in ("date", "timestamp", "nanoseconds", "text")
        case CategoryColumn() | TextColumn():
            return True
        case _:
            assert_never(column)


def raw_sql(column: Column, value: str, kind: DuckDBKind, *, code: str = "NULL") -> str:
    """The code of `value` before it is clamped or filled in; NULL where it does not fit.

    `code` is where a category's code stands once its list has been joined.
    """
    if kind == "text" and has_canonical_text(column):
        plain = replace(column, format=None, null=None)
        text = canonical_sql(column, f"CAST({value} AS VARCHAR)", _TEXT_FORMS)
        return f"list_transform([{text}], lambda cell: {raw_sql(plain, 'cell', kind)})[1]"
    match column:
        case NumberColumn(type="integer"):
            return _integer(value, kind)
        case NumberColumn():
            return _decimal(column, value, kind)
        case MomentColumn(type="date"):
            return _days(value, kind)
        case MomentColumn():
            return f"CAST({_days(value, kind)} AS HUGEINT) * 86400000000" if kind == "date" else _micros(value, kind)
        case BooleanColumn():
            return _boolean(value, kind)
        case CategoryColumn():
            return code
        case TextColumn():
            text = whole_sql(value) if kind == "text" else word_sql(value, kind)
            return f"substr(CASE WHEN NOT {missing_sql(column, value, kind)} THEN {text} END, 1, {MOST_TEXT})"
        case _:
            assert_never(column)


def word_sql(value: str, kind: DuckDBKind) -> str:
    """A value as the text that categories are compared with."""
    if kind in ("timestamp", "nanoseconds"):
        # Below the calendar's first microsecond DuckDB does not fail: it crashes.
        return f"CAST(CASE WHEN epoch_us({value}) >= {_FIRST_MICRO} THEN {value} END AS VARCHAR)"
    return value if kind == "text" else f"CAST({value} AS VARCHAR)"


def missing_sql(column: Column, value: str, kind: DuckDBKind) -> str:
    """Whether a value stands for none."""
    if kind not in ("text", "number"):
        return "false"
    return missing_text_sql(word_sql(value, kind), marks_of(column) if kind == "text" else MISSING)


def missing_text_sql(text: str, marks: Sequence[str]) -> str:
    """Whether a text is one of the marks."""
    return is_missing_text_sql(text, text_literal, marks)


def whole_sql(text: str) -> str:
    """A text as it is; NULL where it is damaged."""
    return f"CASE WHEN NOT contains({text}, chr({ord(DAMAGED)})) THEN {text} END"


def matches(value: str, pattern: str) -> str:
    """Whether the whole of a text follows one of the patterns above."""
    return f"regexp_full_match({value}, {text_literal(pattern)})"


def _group(text: str, pattern: str, place: int) -> str:
    covering = text_literal(rf"\A(?:{pattern})\z")
    return f"regexp_extract({text}, {covering}, {place})"


#: How DuckDB takes texts apart.
_TEXT_FORMS = TextForms(
    literal=text_literal,
    matches=matches,
    group=_group,
    short=lambda text, most: f"length({text}) <= {most}",
)


def _integer(value: str, kind: DuckDBKind) -> str:
    if kind in ("boolean", "integer"):
        return f"CAST({value} AS BIGINT)"
    if kind == "decimal":
        return f"""CASE WHEN {value} = trunc({value})
        THEN coalesce(TRY_CAST({value} AS BIGINT), CASE WHEN {value} < 0 THEN -{FAR} ELSE {FAR} END) END"""
    text = word_sql(value, kind)
    double = f"TRY_CAST({text} AS DOUBLE)"
    return f"""CASE
      WHEN {matches(text, WHOLE)}
        THEN coalesce(TRY_CAST({text} AS BIGINT), CASE WHEN contains({text}, '-') THEN -{FAR} ELSE {FAR} END)
      WHEN {matches(text, SCIENTIFIC)} AND {double} = trunc({double})
        THEN coalesce(TRY_CAST({double} AS BIGINT), CASE WHEN {double} < 0 THEN -{FAR} ELSE {FAR} END)
    END"""


def _decimal(column: NumberColumn, value: str, kind: DuckDBKind) -> str:
    """Exact: the decimal holds every value within the bounds, and what overflows it lies beyond them.

    A number that is exact in the source becomes one without a text between them, which takes a tenth of the time:
    DuckDB rounds halves away from zero either way.
    """
    width, scale, divisor = decimal_form(column)
    if kind in ("boolean", "integer", "decimal"):
        number = f"CAST({value} AS TINYINT)" if kind == "boolean" else value
        size = number
    else:
        text = word_sql(value, kind)
        size = f"TRY_CAST({text} AS DOUBLE)"
        number = f"""CASE
        WHEN {matches(text, PLAIN)} THEN {text}
        WHEN {matches(text, SCIENTIFIC)} THEN format('{{:.{scale + 40}f}}', {size})
      END"""
    whole = "BIGINT" if width <= 18 else "HUGEINT"
    read = f"TRY_CAST({number} AS DECIMAL({width}, {scale}))"
    steps = f"CAST({read} * CAST({10**scale} AS DECIMAL({scale + 1}, 0)) AS {whole})"
    if divisor > 1:
        steps = f"sign({steps}) * ((2 * abs({steps}) + {divisor}) // {2 * divisor})"
    return f"""coalesce({steps}, CASE
      WHEN {number} IS NULL THEN NULL
      WHEN {size} < 0 THEN -{FAR} ELSE {FAR}
    END)"""


def decimal_form(column: NumberColumn) -> tuple[int, int, int]:
    """(width, scale, divisor): values are read as DECIMAL(width, scale), of which `divisor` units are a step.

    Reading to the grid's own places makes halves fall right for a step of an odd number of units:
    no half lies on a unit. For an even one there are six places more. A product of two decimals of
    at most 18 digits overflows at 18, a wider one at 38, which nothing here can reach.
    """
    places = next(places for places in range(19) if (column.step * 10**places).denominator == 1)
    units = int(column.step * 10**places)
    # One step further than the bounds: half a step beyond them still rounds to a bound.
    largest = (max(abs(limit) for limit in code_bounds(column) or (0,)) + 1) * column.step
    digits = len(str(int(largest))) + 1
    extra = 0 if units % 2 else min(6, max(0, (36 - digits - 2 * places) // 2))
    scale = places + extra
    width = digits + scale
    return (width if width + scale < 18 else max(width, 19)), scale, units * 10**extra


def _micros(value: str, kind: DuckDBKind) -> str:
    match kind:
        case "text":
            text = f"trim({value}, {_BLANKS})"
            return f"""CASE
      WHEN {matches(text, LOCAL)} THEN epoch_us(TRY_CAST({text} AS TIMESTAMP))
      WHEN {matches(text, ZONED)} THEN epoch_us(TRY_CAST({text} AS TIMESTAMP WITH TIME ZONE))
    END"""
        case "nanoseconds":
            count = f"epoch_ns({value})"
            # Division cuts towards zero; below 1970 that is one too many.
            return f"{count} // 1000 - CASE WHEN {count} % 1000 < 0 THEN 1 ELSE 0 END"
        case _:
            return f"epoch_us({value})"


def _days(value: str, kind: DuckDBKind) -> str:
    if kind == "date":
        return f"CASE WHEN isfinite({value}) THEN {value} - DATE '1970-01-01' END"
    return f"CAST(make_timestamp({_micros(value, kind)}) AS DATE) - DATE '1970-01-01'"


def _boolean(value: str, kind: DuckDBKind) -> str:
    if kind == "boolean":
        return f"CAST({value} AS TINYINT)"
    text = f"lower(trim({word_sql(value, kind)}, {_BLANKS}))"
    return f"""CASE
      WHEN {text} IN ('true', 't', 'yes', 'y', '1', '1.0') THEN 1
      WHEN {text} IN ('false', 'f', 'no', 'n', '0', '0.0') THEN 0
    END"""
