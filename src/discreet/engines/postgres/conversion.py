"""How a source value becomes a code, as PostgreSQL SQL: the table at the head of `conversion`, without TRY_CAST.

Guarantee: each expression looks at one value, never fails, and has the value that `values.code_of` defines.
Because: a text is cast only where a regular expression of ours has matched and its digits are few enough for the
    type; days are computed from their digits, by arithmetic, since the server's own calendar refuses years and
    days; doubles are cast only where a comparison of exact numerics has shown that they neither overflow nor
    vanish, which the server takes for errors, and are taken apart by their bits, since a double cast to numeric
    loses digits; and what has more than `MOST_BYTES` bytes is not looked at, since the server fails on it.

Raw codes are NUMERIC: a number too large for any bound is still one, and is clamped before it is stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, assert_never

from discreet.engines.canonical_sql import TextForms, canonical_sql
from discreet.engines.canonical_text import has_canonical_text
from discreet.engines.duckdb_conversion import DAMAGED, FAR, decimal_form
from discreet.engines.missing_values import is_missing_text_sql, marks_of
from discreet.schema.column import (
    MOST_TEXT,
    BooleanColumn,
    CategoryColumn,
    Column,
    MomentColumn,
    NumberColumn,
    TextColumn,
)
from discreet.sql.dialect import EPOCH, quoted

PostgresKind = Literal["boolean", "integer", "numeric", "float", "date", "timestamp", "text", "word"]

#: Texts longer than this are no numbers, moments or booleans; a row of a CSV has no more either. Of a text of
#: 128 MB a trim, and of 256 MB a regular expression, asks for more memory than the server gives.
MOST_BYTES = 1 << 25

_BLANKS = quoted("\t\n\v\f\r ")
_DAY_US = 86_400_000_000
_NUMBER = r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)"
_WHOLE = r"^[+-]?([0-9]+(\.0*)?|\.0+)$"
_TIME = r"([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9](\.[0-9]{1,9})?)?"
_ZONE = r"(Z|[+-]([01][0-9]|2[0-3])(:?[0-5][0-9])?)"
_MOMENT = rf"^[0-9]{{4}}-(0[1-9]|1[0-2])-[0-9]{{2}}([ T]{_TIME}{_ZONE}?)?$"

#: A decimal text is rounded to a double correctly by so many digits, if it is told that more follow.
_DIGITS = 800
#: From here on a number is rounded to an infinity, and up to here to 0.
_INFINITE = 2**1024 - 2**970
_VANISHING = f"CAST('{5**1075}e-1075' AS NUMERIC)"  # 2^-1075

_KINDS: dict[str, PostgresKind] = {
    "bool": "boolean",
    **dict.fromkeys(("int2", "int4", "int8"), "integer"),
    "numeric": "numeric",
    **dict.fromkeys(("float4", "float8"), "float"),
    "date": "date",
    **dict.fromkeys(("timestamp", "timestamptz"), "timestamp"),
    **dict.fromkeys(("text", "varchar", "bpchar", "citext", "name"), "text"),
    **dict.fromkeys(("uuid", "time", "json", "jsonb"), "word"),
}  # fmt: skip


def kind_of(type_name: str) -> PostgresKind | None:
    """The kind of a type by its name in pg_type, a domain's base taken; None for what no column is made of."""
    return _KINDS.get(type_name)


def takes(column: Column, kind: PostgresKind) -> bool:
    """Whether a column of this declaration can be made from values of this kind."""
    match column:
        case NumberColumn() | BooleanColumn():
            return kind in ("boolean", "integer", "numeric", "float", "text")
        case MomentColumn():
            return kind in ("date", "timestamp", "text")
        case CategoryColumn() | TextColumn():
            return True
        case _:
            assert_never(column)


def value_sql(column: str, kind: PostgresKind) -> str:
    """A source's column as the forms below take it: texts as plain text, bytewise, whatever they are there."""
    return f'(CAST({column} AS TEXT) COLLATE "C")' if kind == "text" else column


def raw_sql(column: Column, value: str, kind: PostgresKind, *, code: str = "CAST(NULL AS NUMERIC)") -> str:
    """The code of `value`, SQL of a column, before it is clamped or filled in; NULL where it does not fit."""
    if kind == "text" and has_canonical_text(column):
        plain = replace(column, format=None, null=None)
        short = f"CASE WHEN octet_length({value}) <= {MOST_BYTES} THEN {value} END"
        text = _once(canonical_sql(column, "given", _TEXT_FORMS), given=short)
        return _once(raw_sql(plain, "cell", kind), cell=text)
    match column:
        case NumberColumn():
            return _number(column, value, kind)
        case MomentColumn():
            return _moment(column, value, kind)
        case BooleanColumn():
            return _boolean(value, kind)
        case CategoryColumn():
            return code
        case TextColumn():
            text = word_sql(value, kind)
            whole = f"strpos({text}, {quoted(DAMAGED)}) = 0 AND NOT {missing_sql(column, value, kind)}"
            return f"CASE WHEN {whole} THEN substr({text}, 1, {MOST_TEXT}) END"
        case _:
            assert_never(column)


def missing_sql(column: Column, value: str, kind: PostgresKind) -> str:
    """Whether a value stands for none: `missing`."""
    if kind in ("float", "numeric"):
        return f"{value} = 'NaN'"
    return missing_text_sql(value, marks_of(column)) if kind == "text" else "false"


def missing_text_sql(text: str, marks: Sequence[str]) -> str:
    """Whether a text is one of the marks."""
    return is_missing_text_sql(text, quoted, marks)


def word_sql(value: str, kind: PostgresKind) -> str:
    """A value as the text that categories are compared with, bytewise. A CHAR's padding is not part of it."""
    if kind in ("date", "timestamp"):
        # Infinities lie outside these years, too; beyond them the text is the server's own affair.
        value = f"CASE WHEN {value} >= DATE '0001-01-01' AND {value} < DATE '10000-01-01' THEN {value} END"
    if kind == "float":
        value = _float_word(value)
    return f'(CAST({value} AS TEXT) COLLATE "C")'


def _float_word(value: str) -> str:
    """A float's shortest digits as Python writes them: 1.0 for 1, and no exponent below 1e16."""
    plain = "CASE WHEN strpos(t, '.') > 0 THEN t ELSE t || '.0' END"
    written = _once(plain, t="CAST(CAST(t AS NUMERIC) AS TEXT)")
    near = f"abs(CAST({value} AS FLOAT8)) >= 1e-4 AND abs(CAST({value} AS FLOAT8)) < 1e16"
    return f"""CASE
      WHEN {value} = 'NaN' THEN 'nan'
      WHEN {value} = 'Infinity' THEN 'inf'
      WHEN {value} = '-Infinity' THEN '-inf'
      WHEN {value} = 0 THEN {_once(plain, t=f"CAST({value} AS TEXT)")}
      WHEN {near} THEN {_once(written, t=f"CAST({value} AS TEXT)")}
      ELSE CAST({value} AS TEXT)
    END"""


def _once(result: str, **given: str) -> str:
    """`result`, in which names stand for expressions, each computed once."""
    listed = ", ".join(f"{sql} AS {name}" for name, sql in given.items())
    return f"(SELECT {result} FROM (SELECT {listed} OFFSET 0) AS once)"


#: How PostgreSQL takes texts apart.
_TEXT_FORMS = TextForms(
    literal=quoted,
    matches=lambda text, pattern: f"{text} ~ {quoted(f'^(?:{pattern})$')}",
    group=lambda text, pattern, place: f"coalesce((regexp_match({text}, {quoted(f'^(?:{pattern})$')}))[{place}], '')",
    short=lambda text, most: f"length({text}) <= {most}",
)


def _trimmed(value: str, result: str) -> str:
    """`result`, in which t stands for a text without blanks around it; NULL for one that is too long."""
    short = f"CASE WHEN octet_length({value}) <= {MOST_BYTES} THEN btrim({value}, {_BLANKS}) END"
    return _once(result, t=short)


def _number(column: NumberColumn, value: str, kind: PostgresKind) -> str:
    match kind:
        case "integer" | "boolean":
            number = f"CAST({value} AS INTEGER)" if kind == "boolean" else value
            return _exact(column, f"CAST({number} AS NUMERIC)")
        case "numeric":
            usual = f"{value} NOT IN ('NaN', 'Infinity', '-Infinity')"
            near = f"CASE WHEN abs({value}) > 1e40 THEN sign({value}) * 1e40 ELSE {value} END"
            return f"CASE WHEN {usual} THEN {_exact(column, near)} END"
        case "float":
            return _float(column, value)
        case _:
            return _written(column, value)


def _exact(column: NumberColumn, number: str) -> str:
    """The code of an exact number below 1e41, which is looked at more than once."""
    if column.type == "integer":
        return _once("CASE WHEN n = trunc(n) THEN trunc(n) END", n=number)
    _, scale, divisor = decimal_form(column)
    return _once(f"sign(n) * div(2 * abs(n) + {divisor}, {2 * divisor})", n=f"round({number} * {10**scale})")


def _float(column: NumberColumn, value: str) -> str:
    """A float by its shortest text, where that has no exponent in Python, too; else at its 64-bit value."""
    usual = f"{value} NOT IN ('NaN', 'Infinity', '-Infinity')"
    plain = f"{value} = 0 OR abs(CAST({value} AS FLOAT8)) BETWEEN 1e-4 AND 9999999999999998"
    double = f"CAST(CAST({value} AS TEXT) AS FLOAT8)"
    return f"""CASE
      WHEN NOT {usual} THEN NULL
      WHEN {plain} THEN {_exact(column, f"CAST(CAST({value} AS TEXT) AS NUMERIC)")}
      ELSE {_double(column, double)}
    END"""


def _written(column: NumberColumn, value: str) -> str:
    """A number written out: its sign, its digits before and after the point, its exponent."""
    pattern = _WHOLE if column.type == "integer" else f"^{_NUMBER}$"
    parts = {
        "below": "t LIKE '-%'",
        "d": "ltrim(split_part(split_part(lower(ltrim(t, '+-')), 'e', 1), '.', 1), '0')",
        "f": "split_part(split_part(lower(ltrim(t, '+-')), 'e', 1), '.', 2)",
        "e": "CAST('0' || ltrim(split_part(lower(t), 'e', 2), '+-') AS INTEGER)"
        " * CASE WHEN split_part(lower(t), 'e', 2) LIKE '-%' THEN -1 ELSE 1 END",
    }
    scale = 0 if column.type == "integer" else decimal_form(column)[1]
    # Digits after the one behind the grid's last decide nothing: halves go away from zero.
    digits = f"CAST('0' || d || '.' || left(f, {scale + 1}) || '0' AS NUMERIC)"
    plain = f"CASE WHEN length(d) > 40 THEN {FAR} ELSE {_exact(column, digits)} END"
    signed = "CASE WHEN below THEN -1 ELSE 1 END"
    return _trimmed(
        value,
        f"""CASE
      WHEN t ~ '{pattern}' THEN {_once(f"{signed} * {plain}", **parts)}
      WHEN t ~ '^{_NUMBER}[eE][+-]?[0-9]{{1,4}}$' THEN {_once(f"{signed} * {_scientific(column)}", **parts)}
    END""",
    )


def _scientific(column: NumberColumn) -> str:
    """The code of 0.g * 10^p: the digits d and f of which the point stands before the first that is not 0."""
    g = "ltrim(d || f, '0')"
    p = "e + CASE WHEN d <> '' THEN length(d) ELSE length(ltrim(f, '0')) - length(f) END"
    text = f"'0.' || left(g, {_DIGITS}) || CASE WHEN length(g) > {_DIGITS} THEN '1' ELSE '' END || 'e' || p"
    in_range = _once(
        f"""CASE
        WHEN CAST(u AS NUMERIC) >= {_INFINITE} THEN {FAR}
        WHEN CAST(u AS NUMERIC) <= {_VANISHING} THEN 0
        ELSE {_double(column, "CAST(u AS FLOAT8)")}
      END""",
        u=text,
    )
    return _once(f"CASE WHEN g = '' OR p < -330 THEN 0 WHEN p > 310 THEN {FAR} ELSE {in_range} END", g=g, p=p)


def _double(column: NumberColumn, double: str) -> str:
    """The code of a finite double at its exact value m * 2^k."""
    bits = f"CAST(CAST('x' || encode(float8send(abs({double})), 'hex') AS BIT(64)) AS BIGINT)"
    m = "CAST((b & 4503599627370495) + CASE WHEN b >> 52 > 0 THEN 4503599627370496 ELSE 0 END AS NUMERIC)"
    k = "CAST(greatest(b >> 52, 1) - 1075 AS INTEGER)"
    two = "trunc(power(CAST(2 AS NUMERIC), abs(k)))"
    if column.type == "integer":
        # A double below 2^-53 of its own digits is no whole number.
        result = "CASE WHEN k >= 0 THEN m * w WHEN m = 0 THEN 0 WHEN k > -53 AND m % w = 0 THEN div(m, w) END"
    else:
        _, scale, divisor = decimal_form(column)
        units = f"CASE WHEN k >= 0 THEN m * w * {10**scale} ELSE div(2 * m * {10**scale} + w, 2 * w) END"
        result = f"div(2 * ({units}) + {divisor}, {2 * divisor})"
    shifted = _once(_once(result, m="m", k="k", w=two), m=m, k=k)
    return f"(CASE WHEN {double} < 0 THEN -1 ELSE 1 END * {_once(shifted, b=bits)})"


def _moment(column: MomentColumn, value: str, kind: PostgresKind) -> str:
    if kind == "date":
        days = f"CASE WHEN isfinite({value}) THEN CAST({value} - {EPOCH} AS NUMERIC) END"
        return days if column.type == "date" else f"({days}) * {_DAY_US}"
    if kind == "timestamp":
        micros = f"CASE WHEN isfinite({value}) THEN trunc(extract(epoch FROM {value}) * 1000000) END"
    else:
        micros = _micros(value)
    return micros if column.type == "timestamp" else _once(_floor("n", _DAY_US), n=micros)


def _floor(name: str, divisor: int) -> str:
    """A numeric over a positive number, rounded down. (`/` would round to so many digits first.)"""
    return f"div({name} - mod(mod({name}, {divisor}) + {divisor}, {divisor}), {divisor})"


def _micros(value: str) -> str:
    """A moment from its digits; NULL for a day that its month has not."""
    parts = {
        "y": "CAST(substr(t, 1, 4) AS INTEGER)",
        "m": "CAST(substr(t, 6, 2) AS INTEGER)",
        "d": "CAST(substr(t, 9, 2) AS INTEGER)",
        "seconds": "CAST('0' || substr(t, 12, 2) AS INTEGER) * 3600 + CAST('0' || substr(t, 15, 2) AS INTEGER) * 60"
        " + CASE WHEN substr(t, 17, 1) = ':' THEN CAST(substr(t, 18, 2) AS INTEGER) ELSE 0 END",
        "fraction": "CAST(rpad(left(coalesce(substring(t FROM '\\.([0-9]+)'), '0'), 6), 6, '0') AS INTEGER)",
        "zone": "replace(substring(substr(t, 17) FROM '[+-][0-9:]+$'), ':', '')",
    }
    leap = "(y % 4 = 0 AND y % 100 <> 0 OR y % 400 = 0)"
    most = f"CASE WHEN m = 2 THEN CASE WHEN {leap} THEN 29 ELSE 28 END WHEN m IN (4, 6, 9, 11) THEN 30 ELSE 31 END"
    # Years begin in March, and 400 of them, which are 146,097 days, keep the year 0 from being negative.
    days = _once(
        "q * 365 + q / 4 - q / 100 + q / 400 + (153 * r + 2) / 5 + d - 1 - 719468 - 146097",
        q="y + 400 - CASE WHEN m <= 2 THEN 1 ELSE 0 END",
        r="m + CASE WHEN m > 2 THEN -3 ELSE 9 END",
        d="d",
    )
    east = (
        "coalesce((CAST(substr(zone, 2, 2) AS INTEGER) * 3600 + CAST('0' || substr(zone, 4, 2) AS INTEGER) * 60)"
        " * CASE WHEN zone LIKE '-%' THEN -1 ELSE 1 END, 0)"
    )
    micros = f"(CAST({days} AS NUMERIC) * 86400 + seconds - {east}) * 1000000 + fraction"
    read = _once(f"CASE WHEN d BETWEEN 1 AND {most} THEN {micros} END", **parts)
    return _trimmed(value, f"CASE WHEN t ~ '{_MOMENT}' THEN {read} END")


def _boolean(value: str, kind: PostgresKind) -> str:
    if kind == "boolean":
        return f"CAST(CAST({value} AS INTEGER) AS NUMERIC)"
    true, false = "('true', 't', 'yes', 'y', '1', '1.0')", "('false', 'f', 'no', 'n', '0', '0.0')"
    result = f'CASE WHEN lower(t COLLATE "C") IN {true} THEN 1 WHEN lower(t COLLATE "C") IN {false} THEN 0 END'
    return _trimmed(word_sql(value, kind), f"CAST({result} AS NUMERIC)")
