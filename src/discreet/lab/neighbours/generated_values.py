"""Values of a declared column: likely ones, those at its bounds, those that a question names, and strange ones.

A value is what a source would hold: a text of a CSV, or a value of a Parquet file's type.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from random import Random
from typing import Literal

import pyarrow as pa

from discreet.schema.column import (
    EPOCH,
    BooleanColumn,
    CategoryColumn,
    Column,
    MomentColumn,
    NumberColumn,
    TextColumn,
    moment_code,
    type_name,
)

NAN, INFINITY = float("nan"), float("inf")

#: Ids that a careless engine takes for one another.
IDS = ("a", "A", "a ", " a", "á", "a\u0301", "1", "01", "1.0", "NULL", "'", '"', "a,b", "\U0001f600", "ß", "ss")

#: Ids that one file holds as numbers and another as texts.
NUMBERED = ("1", "-2", "10", "9223372036854775807", "0")

WORDS = ("flu", "Flu", "FLU ", "mumps", "é", "e\u0301", "ß", "SS", "1", "true", "it's", "a%b", "_", "")
TEXTS = (*WORDS, "\\", "%", "\u200b", "\U0001f600", "İ", "ﬁ", "x" * 300, "NaN", "-0")

#: What a CSV may hold where a number, a moment or a truth is declared.
NUMBERS = ("nan", "NaN", "inf", "-Infinity", "1e400", "-1e400", "1e-400", "9223372036854775807", "-9223372036854775808",
           "99999999999999999999999999", "-0", "-0.0", "0.5", "-0.5", "2.5", "1e3", "0x10", "1_000", " 3", "3 ", "--5",
           "x")  # fmt: skip
MOMENTS = ("2020-02-30", "0000-01-01", "9999-12-31", "2020-02-29", "2020-03-15 23:59:59.999999", "infinity", "epoch",
           "2020-01-31T10:00:00+02:00", "1969-12-31", "-0001-01-01", "2020-13-01", "20200105")  # fmt: skip
TRUTHS = ("true", "FALSE", "t", "yes", "1", "0", "2", "on", "")

_DAY_US = 86_400_000_000


@dataclass(frozen=True, kw_only=True)
class Literals:
    """What questions name: their numbers and their texts. Rows that hold them are those that a filter looks for."""

    numbers: tuple[Fraction, ...] = ()
    texts: tuple[str, ...] = ()


NO_LITERALS = Literals()


def draw_types(random: Random, columns: Sequence[Column]) -> tuple[pa.DataType, ...] | None:
    """How a file could hold these columns: as texts of a CSV (None), or as types of Parquet."""
    return None if random.random() < 0.5 else tuple(random.choice(arrow_types(column)) for column in columns)


def arrow_types(column: Column) -> list[pa.DataType]:
    """What a Parquet file may call the type of a declared column."""
    return {
        "integer": [pa.int64(), pa.float64(), pa.int16()],
        "decimal": [pa.float64(), pa.decimal128(20, 3), pa.float32()],
        "date": [pa.date32()],
        "timestamp": [pa.timestamp("us"), pa.timestamp("ms", "UTC")],
        "boolean": [pa.bool_(), pa.int8()],
        "category": [pa.string()],
        "text": [pa.string()],
    }[type_name(column)]


def draw_value(random: Random, column: Column, type_: pa.DataType | None, literals: Literals = NO_LITERALS) -> object:
    """Any value: one in four is missing."""
    if random.random() < 0.25:
        return None
    if random.random() < 0.2:
        return plain_value(random, column, type_, literals)
    return _text(random, column) if type_ is None else _typed(random, column, type_)


def plain_value(
    random: Random,
    column: Column,
    type_: pa.DataType | None,
    literals: Literals = NO_LITERALS,
    *,
    end: Literal["low", "high", ""] = "",
) -> object:
    """A value of the kind that moves a number most: an `end` of the bounds, or what a question names."""
    match column:
        case NumberColumn() | MomentColumn():
            low, high = _ends(column)
            if end:
                return _of_code(low if end == "low" else high, column, type_)
            # An expression such as least(x, 9 - x) is largest between the bounds.
            between = (low + high) // 2, random.randint(low, high)
            near = [low, high, low, high, *between, *_literal_codes(column, literals)]
            return _of_code(random.choice(near), column, type_)
        case BooleanColumn():
            bit = end == "high" if end else random.random() < 0.5
            return (str(bit).lower()) if type_ is None else bit if _is_boolean(type_) else int(bit)
        case CategoryColumn(values=values):
            return random.choice([text for text in literals.texts if text in values] or values)
        case TextColumn():
            return random.choice(literals.texts or WORDS)


def _is_boolean(type_: pa.DataType) -> bool:
    return bool(pa.types.is_boolean(type_))


def _ends(column: NumberColumn | MomentColumn) -> tuple[int, int]:
    usual = (-50, 50) if isinstance(column, NumberColumn) else (0, 30 * (1 if column.type == "date" else _DAY_US))
    low = column.low if column.low is not None else usual[0]
    return low, column.high if column.high is not None else max(low, usual[1])


def _literal_codes(column: NumberColumn | MomentColumn, literals: Literals) -> list[int]:
    """The codes of what questions name, and those beside them."""
    codes: list[int] = []
    if isinstance(column, NumberColumn):
        codes = [round(number / column.step) for number in literals.numbers]
    else:
        for text in literals.texts:
            try:
                codes.append(round(moment_code(text, column.type)))
            except ValueError:
                continue
    return [code + beside for code in codes if abs(code) < 2**40 for beside in (-1, 0, 1)]


def _of_code(code: int, column: NumberColumn | MomentColumn, type_: pa.DataType | None) -> object:
    """The value that a code is of."""
    if isinstance(column, MomentColumn):
        if type_ is not None:
            return code // 1_000 if pa.types.is_timestamp(type_) and type_.unit == "ms" else code
        return iso(code) if column.type == "date" else _moment(code)
    value = code * column.step
    if type_ is None:
        return number_text(value)
    if pa.types.is_floating(type_):
        return float(value)
    if pa.types.is_decimal(type_):
        return round(Decimal(value.numerator) / Decimal(value.denominator), 3)
    reach = 2 ** (type_.bit_width - 1)
    return max(-reach, min(reach - 1, int(value)))


def _text(random: Random, column: Column) -> str:
    match column:
        case NumberColumn():
            low, high = _ends(column)
            code = random.choice([random.randint(low, high), random.choice([low, high, low - 1, high + 1, 0])])
            return random.choice([number_text(code * column.step), random.choice(NUMBERS)])
        case MomentColumn():
            scale = _DAY_US if column.type == "timestamp" else 1
            low, high = (column.low or 0) // scale, (column.high or 0) // scale
            day = iso(random.randint(low - 1, max(low, high) + 1))
            return random.choice([day, day, random.choice(MOMENTS)])
        case BooleanColumn():
            return random.choice(TRUTHS)
        case CategoryColumn(values=values):
            return random.choice([*values, *values, *WORDS])
        case TextColumn():
            return random.choice(TEXTS)


def _typed(random: Random, column: Column, type_: pa.DataType) -> object:
    if pa.types.is_boolean(type_):
        return random.random() < 0.5
    if pa.types.is_integer(type_):
        return _whole(random, column, 2 ** (type_.bit_width - 1))
    if isinstance(column, NumberColumn):
        if pa.types.is_decimal(type_):
            return Decimal(random.randint(-60_000, 60_000)) / 1000
        near = [float(code * column.step) for code in (column.low or 0, column.high or 9, 0, 3)]
        return random.choice([*near, *near, NAN, INFINITY, -INFINITY, -0.0, 5e-324, 3.3e38, 0.285])
    if isinstance(column, MomentColumn):
        return _typed_moment(random, column, type_)
    return random.choice([*(column.values if isinstance(column, CategoryColumn) else TEXTS), *WORDS])


def _whole(random: Random, column: Column, reach: int) -> int:
    near = [column.low or 0, column.high or 9] if isinstance(column, NumberColumn) else [0, 1]
    return random.choice([code for code in (*near, *near, 0, 1, 2, 3, -reach, reach - 1) if -reach <= code < reach])


def _typed_moment(random: Random, column: MomentColumn, type_: pa.DataType) -> int:
    if pa.types.is_date(type_):
        near = range((column.low or 0) - 1, (column.low or 0) + 40)
        far: list[int] = [-(2**31) + 2, 2**31 - 2, 2_932_896]
        chosen: int = random.choice([code for code in [*near, *far] if abs(code) < 2_147_483_648])
        return chosen
    unit: int = 1_000 if type_.unit == "ms" else 1_000_000
    start = (column.low or 0) // 1_000_000 * unit
    return random.choice([*(start + hours * 3600 * unit + 7 for hours in range(-3, 400, 31)), 2**45, -(2**45)])


def number_text(value: Fraction) -> str:
    """A number as a CSV has it."""
    if value.denominator == 1:
        return str(int(value))
    places = next(places for places in range(1, 13) if (value * 10**places).denominator == 1)
    return f"{Decimal(int(value * 10**places)).scaleb(-places):f}"


def iso(day: int) -> str:
    """A day as it is written."""
    return datetime.fromtimestamp(day * 86_400, tz=UTC).date().isoformat()


def _moment(code: int) -> str:
    return (EPOCH + timedelta(microseconds=code)).replace(tzinfo=None).isoformat(sep=" ")
