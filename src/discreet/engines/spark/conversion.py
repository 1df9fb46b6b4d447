"""How a source value becomes a code, as Spark SQL: the table at the head of `engines.duckdb_conversion`, under ANSI.

Guarantee: each expression looks at one value, never fails, and has the value that `values.code_of` defines.
Because: a text is read only where a regular expression of ours covers all of it, since Spark's own casts take more;
    what is cast is `try_cast`; sums and products are DECIMAL(38, 0) of numbers that were cut to the bounds'
    digits first, so that none reaches 10^38; a divisor is a constant. Moments arrive as whole numbers (`reading`).

A float is read by its shortest decimal text. One that Python would write with an exponent, and every text with
one, is read at its 64-bit value, whole part and fraction taken apart by products with powers of two, which a double
does without rounding: Spark's own cast to a decimal goes by the text, and drops digits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import assert_never

from discreet.engines.canonical_sql import TextForms, canonical_sql
from discreet.engines.canonical_text import has_canonical_text
from discreet.engines.duckdb_conversion import DAMAGED, FAR, decimal_form
from discreet.engines.missing_values import is_missing_text_sql, marks_of
from discreet.engines.spark.moment_conversion import day_word, moment_sql, moment_word
from discreet.engines.spark.value_kinds import WIDE, SparkKind, matches, once, text, trimmed
from discreet.engines.table_file import code_bounds
from discreet.engines.table_file import duckdb_type as duckdb_storage
from discreet.schema.column import (
    MOST_TEXT,
    BooleanColumn,
    CategoryColumn,
    Column,
    MomentColumn,
    NumberColumn,
    TextColumn,
)
from discreet.sql.spark_dialect import SparkDialect

_NUMBER = r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)"
_WHOLE = r"[+-]?(?:[0-9]+(?:\.0*)?|\.0+)"
_SCIENTIFIC = _NUMBER + "[eE][+-]?[0-9]{1,4}"

#: From here to there Python writes a float without an exponent.
_PLAIN_FROM, _PLAIN_TO = "1.0E-4D", "1.0E16D"

_divided = SparkDialect().quotient


def takes(column: Column, kind: SparkKind) -> bool:
    """Whether a column of this declaration can be made from values of this kind."""
    match column:
        case NumberColumn() | BooleanColumn():
            return kind.family in ("boolean", "integer", "decimal", "float", "double", "text")
        case MomentColumn():
            return kind.family in ("days", "moment", "text")
        case CategoryColumn() | TextColumn():
            return True
        case _:
            assert_never(column)


def storage(column: Column) -> str:
    """The type that holds every code of a column."""
    return {"INTEGER": "INT", "BIGINT": "BIGINT", "VARCHAR": "STRING"}[duckdb_storage(column)]


def raw_sql(column: Column, value: str, kind: SparkKind, *, code: str = "CAST(NULL AS BIGINT)") -> str:
    """The code of `value`, SQL of a column, before it is clamped or filled in; NULL where it does not fit."""
    if kind.family == "text" and has_canonical_text(column):
        plain = replace(column, format=None, null=None)
        cell = once(word_sql(value, kind), canonical_sql(column, "n", _TEXT_FORMS))
        return once(cell, raw_sql(plain, "n", kind))
    match column:
        case NumberColumn():
            return _number(column, value, kind)
        case MomentColumn():
            return moment_sql(column, value, kind)
        case BooleanColumn():
            return _boolean(value, kind)
        case CategoryColumn():
            return code
        case TextColumn():
            whole = whole_sql(f"substr({word_sql(value, kind)}, 1, {MOST_TEXT})", of=word_sql(value, kind))
            return f"CASE WHEN NOT {missing_sql(column, value, kind)} THEN {whole} END"
        case _:
            assert_never(column)


def missing_sql(column: Column, value: str, kind: SparkKind) -> str:
    """Whether a value stands for none: `missing`."""
    if kind.family in ("float", "double"):
        return f"isnan({value})"
    return missing_text_sql(value, marks_of(column)) if kind.family == "text" else "false"


def missing_text_sql(value: str, marks: Sequence[str]) -> str:
    """Whether a text is one of the marks."""
    return is_missing_text_sql(value, text, marks)


def _group(value: str, pattern: str, place: int) -> str:
    covering = text(rf"\A(?:{pattern})\z")
    return f"regexp_extract({value}, {covering}, {place})"


#: How Spark takes texts apart.
_TEXT_FORMS = TextForms(
    literal=text, matches=matches, group=_group, short=lambda value, most: f"length({value}) <= {most}"
)


def whole_sql(result: str, *, of: str) -> str:
    """A text; NULL where the one that it is made of is damaged."""
    return f"CASE WHEN NOT contains({of}, {text(DAMAGED)}) THEN {result} END"


def word_sql(value: str, kind: SparkKind) -> str:
    """A value as the text that categories are compared with, bytewise."""
    match kind.family:
        case "text":
            return f"make_valid_utf8({value})"
        case "boolean" | "integer" | "decimal":
            return f"CAST({value} AS STRING)"
        case "float" | "double":
            return _float_word(value, kind)
        case "days":
            inside = f"{value} BETWEEN -719162 AND 2932896"
            return f"CASE WHEN {inside} THEN {day_word(value)} WHEN {value} IS NOT NULL THEN '?' END"
        case "moment":
            return moment_word(value, kind)
        case "uuid":
            return once(f"lower(hex({value}))", _dashed("n"))
        case _:
            assert_never(kind.family)


def _signed(below: str, size: str) -> str:
    return f"CASE WHEN {below} THEN 0 - {size} ELSE {size} END"


def _number(column: NumberColumn, value: str, kind: SparkKind) -> str:
    match kind.family:
        case "boolean" | "integer":
            number = f"CAST({value} AS BIGINT)"
            return number if column.type == "integer" else _whole_steps(column, number)
        case "decimal":
            return _decimal(column, value, kind)
        case "double":
            return _double(column, value)
        case "float":  # what its shortest text says, which is another number than its own
            return _written(column, _float_word(value, kind))
        case _:
            return _written(column, value)


def _whole_steps(column: NumberColumn, number: str) -> str:
    """The steps of a whole number of 64 bits. Cut just beyond the bounds it is still beyond them."""
    _, scale, divisor = decimal_form(column)
    most = _largest(column) + 1
    cut = f"CASE WHEN n > {most} THEN {most} WHEN n < -{most} THEN -{most} ELSE n END" if most < 2**63 else "n"
    size = _steps(f"(CASE WHEN n < 0 THEN 0 - n ELSE n END * {10**scale})", divisor)
    return once(number, once(f"CAST({cut} AS {WIDE})", _signed("n < 0", size)))


def _largest(column: NumberColumn) -> int:
    """The whole part of what lies one step beyond the bounds."""
    return int((max(abs(limit) for limit in code_bounds(column) or (0,)) + 1) * column.step)


def _steps(units: str, divisor: int) -> str:
    """Units, not negative, as steps of `divisor` of them, halves up."""
    if divisor == 1:
        return f"CAST({units} AS {WIDE})"
    return _divided(f"(2 * CAST({units} AS {WIDE}) + {divisor})", str(2 * divisor), wide=True)


def _decimal(column: NumberColumn, value: str, kind: SparkKind) -> str:
    """A decimal: by a product that holds all of its digits, else by its text, which under ANSI has no exponent."""
    is_whole = column.type == "integer"
    _, scale, divisor = (0, 0, 1) if is_whole else decimal_form(column)
    if divisor == 1 and not (is_whole and kind.scale) and kind.precision + scale + 2 <= 38:
        return _scaled(value, kind, scale, most_digits=19 if is_whole else len(str(_largest(column))))
    shown = f"CAST({value} AS STRING)"
    if kind.scale:
        whole = f"trim(TRAILING '0' FROM {shown}) LIKE '%.'" if column.type == "integer" else f"{value} IS NOT NULL"
    else:
        whole = f"{value} IS NOT NULL"
    return f"CASE WHEN {whole} THEN {_plain(column, shown)} END"


def _scaled(value: str, kind: SparkKind, scale: int, *, most_digits: int) -> str:
    """A decimal times a power of ten, halves away from zero; what has more digits before the point is far."""
    units = f"CAST({value} * {10**scale}BD AS {WIDE})"
    if kind.precision - kind.scale <= most_digits:
        return units
    least, far = f"{10**most_digits}BD", f"CAST({FAR} AS {WIDE})"
    return f"CASE WHEN {value} >= {least} THEN {far} WHEN {value} <= -{least} THEN 0 - {far} ELSE {units} END"


def _plain(column: NumberColumn, shown: str) -> str:
    """The code of a number as written, without an exponent or blanks; of a whole one, where an integer is declared."""
    parts = (
        "named_struct('below', n LIKE '-%',"
        " 'd', trim(LEADING '0' FROM substring_index(trim(LEADING '+-' FROM n), '.', 1)),"
        " 'f', CASE WHEN contains(n, '.') THEN substring_index(n, '.', -1) ELSE '' END)"
    )
    if column.type == "integer":
        size = f"CASE WHEN length(n.d) > 19 THEN CAST({FAR} AS {WIDE}) ELSE try_cast('0' || n.d AS {WIDE}) END"
        return once(shown, once(parts, _signed("n.below", size)))
    _, scale, divisor = decimal_form(column)
    digits = f"'0' || n.d || substr(rpad(n.f, {scale}, '0'), 1, {scale})" if scale else "'0' || n.d"
    # Digits after the one behind the last place decide nothing: halves go away from zero.
    up = f"CASE WHEN substr(n.f, {scale + 1}, 1) >= '5' THEN 1 ELSE 0 END"
    units = f"(try_cast({digits} AS {WIDE}) + {up})"
    far = f"length(n.d) > {len(str(_largest(column)))}"
    size = f"CASE WHEN {far} THEN CAST({FAR} AS {WIDE}) ELSE {_steps_of(units, divisor)} END"
    return once(shown, once(parts, _signed("n.below", size)))


def _steps_of(units: str, divisor: int) -> str:
    """`_steps`, of what is written with n: the inner n is another."""
    return once(units, _steps("n", divisor)) if divisor > 1 else units


def _written(column: NumberColumn, value: str) -> str:
    """The code of a text, or of what is written like one."""
    pattern = _WHOLE if column.type == "integer" else _NUMBER
    exact = _exact_whole("n") if column.type == "integer" else _exact(column, "n")
    return once(
        trimmed(value),
        f"CASE WHEN {matches('n', pattern)} THEN {_plain(column, 'n')}"
        f" WHEN {matches('n', _SCIENTIFIC)} THEN {once('try_cast(n AS DOUBLE)', exact)} END",
    )


def _double(column: NumberColumn, value: str) -> str:
    """A double: NaN and the infinities fit nowhere."""
    usual = f"abs({value}) < CAST('Infinity' AS DOUBLE)"
    if column.type == "integer":
        return f"CASE WHEN {usual} THEN {once(value, _exact_whole('n'))} END"
    plain = f"{value} = 0 OR abs({value}) BETWEEN {_PLAIN_FROM} AND {_PLAIN_TO} AND abs({value}) < {_PLAIN_TO}"
    shown = f"CAST(try_cast(CAST({value} AS STRING) AS DECIMAL(38, 21)) AS STRING)"
    return f"CASE WHEN {plain} THEN {_plain(column, shown)} WHEN {usual} THEN {once(value, _exact(column, 'n'))} END"


def _exact_whole(double: str) -> str:
    """A double that is a whole number, else NULL."""
    whole = f"try_cast({double} AS BIGINT)"
    beyond = _signed(f"{double} < 0", f"CAST({FAR} AS {WIDE})")
    return (
        f"CASE WHEN abs({double}) >= {_power(63)} THEN {beyond}"
        f" WHEN CAST({whole} AS DOUBLE) = {double} THEN CAST({whole} AS {WIDE}) END"
    )


def _exact(column: NumberColumn, double: str) -> str:
    """The code of a double at its own value a, which may be infinite.

    a = 2^50 u + v + 2^-61 h + 2^-123 l + 2^-135 t, all whole. What is smaller than 2^-135 is 0 on every grid, for
    s, its places, are at most 24. The fraction times 10^s = 5^s 2^s, rounded, is (c + 2^(60-s)) >> (61-s), where
    c = (5^s h + (5^s l + (5^s t >> 12)) >> 62): what is shifted out each time is less than what stays decides.
    """
    _, scale, divisor = decimal_form(column)
    five, far = 5**scale, _power((_largest(column) + 1).bit_length())
    pieces = _taken_apart("n")
    low = f"(n.l * {five} + {_shifted(f'n.t * {five}', 12)})"
    carried = f"(n.h * {five} + {_shifted(low, 62)})"
    fraction = _shifted(f"({carried} + {2 ** (60 - scale)})", 61 - scale)
    units = f"((n.u * {2**50} + n.v) * {10**scale} + {fraction})"
    size = once(f"abs({double})", once(pieces, _steps_of(units, divisor)))
    beyond = f"CAST({FAR} AS {WIDE})"
    return (
        f"CASE WHEN {double} >= {far} THEN {beyond} WHEN {double} <= -{far} THEN 0 - {beyond}"
        f" ELSE {_signed(f'{double} < 0', size)} END"
    )


def _taken_apart(double: str) -> str:
    """The whole numbers u, v, h, l and t of a double that is not negative and below 2^112."""
    steps = [
        f"named_struct('u', {_cut(f'n / {_power(50)}')}, 'rest', n)",
        f"named_struct('u', n.u, 'rest', n.rest - n.u * {_power(50)})",
        f"named_struct('u', n.u, 'v', {_cut('n.rest')}, 'rest', (n.rest - {_cut('n.rest')}) * {_power(61)})",
        f"named_struct('u', n.u, 'v', n.v, 'h', {_cut('n.rest')}, 'rest', (n.rest - {_cut('n.rest')}) * {_power(62)})",
        f"named_struct('u', n.u, 'v', n.v, 'h', n.h, 'l', {_cut('n.rest')},"
        f" 't', (n.rest - {_cut('n.rest')}) * {_power(12)})",
    ]
    wide = [f"'{name}', CAST(try_cast(n.{name} AS BIGINT) AS {WIDE})" for name in "uvhlt"]
    result = f"named_struct({', '.join(wide)})"
    for step in reversed(steps):
        result = once(step, result)
    return once(double, result)


def _cut(double: str) -> str:
    """A double below 2^63 without its fraction."""
    return f"CAST(try_cast({double} AS BIGINT) AS DOUBLE)"


def _power(bits: int) -> str:
    return f"{float(2**bits)!r}D".replace("e+", "E")


def _shifted(number: str, bits: int) -> str:
    """A wide number, not negative, over a power of two, rounded down."""
    return _divided(number, str(2**bits), wide=True)


def _float_word(value: str, kind: SparkKind) -> str:
    """As Python writes a float: shortest, and with an exponent below 1e-4 and from 1e16 on (32 bits: 1e6).

    Java 17's own text is not always the shortest beyond 1e7 (a double's: 1e16): the first that reads back is. Of two
    texts that are as near, the even one: that happens only to floats of 32 bits from 1e6 to 1e7, which have quarters.
    """
    single = kind.family == "float"
    own = f"abs(n) BETWEEN 1.0E-6D AND {'1.0E7D' if single else _PLAIN_TO}"
    wide = "CAST(n AS DOUBLE)"
    forms = [f"format_string('%.{places}e', {wide})" for places in (14, 15, 16)]
    if single:
        even = "CASE WHEN abs({0}) >= 1.0E6D AND abs({0}) < 1.0E7D THEN bround({0}, {1}) ELSE {0} END"
        forms = [f"format_string('%.{places}e', {even.format(wide, places - 6)})" for places in (5, 6, 7, 8)]
    kind_name = "FLOAT" if single else "DOUBLE"
    reading = " ".join(f"WHEN try_cast({form} AS {kind_name}) = n THEN {form}" for form in forms[:-1])
    shortest = f"CASE WHEN {own} THEN CAST(n AS STRING) {reading} ELSE {forms[-1]} END"
    decimal = f"trim(TRAILING '0' FROM CAST(try_cast({shortest} AS DECIMAL(38, 21)) AS STRING))"
    plain = once(decimal, "CASE WHEN n LIKE '%.' THEN n || '0' ELSE n END")
    exponents = f"CASE {reading} ELSE {forms[-1]} END"
    mantissa = "trim(TRAILING '.' FROM trim(TRAILING '0' FROM substring_index(n, 'e', 1)))"
    scientific = once(exponents, f"{mantissa} || 'e' || substring_index(n, 'e', -1)")
    size, most = "abs(CAST(n AS DOUBLE))", "1.0E6D" if single else _PLAIN_TO
    return once(
        value,
        f"CASE WHEN isnan(n) THEN 'nan' WHEN n = CAST('Infinity' AS DOUBLE) THEN 'inf'"
        f" WHEN n = CAST('-Infinity' AS DOUBLE) THEN '-inf' WHEN n = 0 THEN CAST(n AS STRING)"
        f" WHEN {size} >= {_PLAIN_FROM} AND {size} < {most} THEN {plain}"
        f" WHEN n IS NOT NULL THEN {scientific} END",
    )


def _dashed(digits: str) -> str:
    cuts = [(1, 8), (9, 4), (13, 4), (17, 4), (21, 12)]
    return " || '-' || ".join(f"substr({digits}, {start}, {length})" for start, length in cuts)


def _boolean(value: str, kind: SparkKind) -> str:
    if kind.family == "boolean":
        return f"CAST({value} AS INT)"
    small = "translate(n, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ', 'abcdefghijklmnopqrstuvwxyz')"
    return once(
        trimmed(word_sql(value, kind)),
        f"CASE WHEN {small} IN ('true', 't', 'yes', 'y', '1', '1.0') THEN 1"
        f" WHEN {small} IN ('false', 'f', 'no', 'n', '0', '0.0') THEN 0 END",
    )
