"""Columns: public facts that the owner declares. What a column is comes from here, never from data.

In the declared table every value is a whole number, its *code*, or NULL: grid steps of a number,
days or microseconds of a moment, 0 and 1 of a boolean, the place of a category in its list. Only
text stays text.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from typing import Literal

from discreet.errors import SchemaError
from discreet.schema.value_format import BooleanFormat, MomentFormat, NumberFormat

#: Codes live in 64 bits with room to spare, so sums of them never surprise an engine.
MOST_CODE = 2**60

#: A text is kept to so many characters: one endless text must not make a question fail, or take its time.
MOST_TEXT = 1000

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
Label = int | float | str | bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberColumn:
    """Whole or decimal numbers on a grid of `step`: code = value / step. `format` and `null`: see `value_format`.

    Closed: NULL becomes `low`.
    """

    name: str
    type: Literal["integer", "decimal"]
    step: Fraction = Fraction(1)
    low: int | None = None
    high: int | None = None
    edges: tuple[int, ...] | None = None
    constant: bool = False
    closed: bool = field(default=False, repr=False)
    format: NumberFormat | None = field(default=None, repr=False)
    null: tuple[str, ...] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self.step <= 0:
            raise SchemaError(f"column {self.name!r}: step must be above 0")
        if self.type == "integer" and self.step != 1:
            raise SchemaError(f"column {self.name!r}: integers have a step of 1", hint='type = "decimal"')
        if not _plain_step(self.step):
            raise SchemaError(
                f"column {self.name!r}: step must be a round decimal number from 1e-12 to 1e12",
                hint="such as 0.01, 0.25 or 1000: at most 12 places and 5 digits",
            )
        _check_ordered(self)

    def label(self, code: int) -> Label:
        value = code * self.step
        return int(value) if value.denominator == 1 else float(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class MomentColumn:
    """Dates (code = days since 1970) or timestamps in UTC (code = microseconds since 1970).

    Closed: NULL becomes `low`.
    """

    name: str
    type: Literal["date", "timestamp"]
    low: int | None = None
    high: int | None = None
    edges: tuple[int, ...] | None = None
    constant: bool = False
    closed: bool = field(default=False, repr=False)
    format: MomentFormat | None = field(default=None, repr=False)
    null: tuple[str, ...] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        _check_ordered(self)

    def label(self, code: int) -> Label:
        if self.type == "date":
            return (EPOCH + timedelta(days=code)).date().isoformat()
        return (EPOCH + timedelta(microseconds=code)).replace(tzinfo=None).isoformat(sep=" ")


@dataclass(frozen=True, slots=True, kw_only=True)
class BooleanColumn:
    """False is 0, true is 1. Closed: NULL becomes false."""

    name: str
    closed: bool = False
    constant: bool = False
    format: BooleanFormat | None = field(default=None, repr=False)
    null: tuple[str, ...] | None = field(default=None, repr=False)

    def label(self, code: int) -> Label:
        return bool(code)


@dataclass(frozen=True, slots=True, kw_only=True)
class CategoryColumn:
    """One of a declared list. Anything else becomes NULL, or `other`. Closed: NULL takes the first value.

    `labels`: what some of the values are called for people, as pairs.
    """

    name: str
    values: tuple[str, ...]
    labels: tuple[tuple[str, str], ...] = ()
    other: str | None = None
    closed: bool = False
    constant: bool = False
    null: tuple[str, ...] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if not self.values:
            raise SchemaError(f"column {self.name!r}: a category needs at least one value", hint='values = ["a", "b"]')
        if len(set(self.values)) != len(self.values):
            raise SchemaError(f"column {self.name!r}: a value is listed twice")
        if self.other is not None and self.other not in self.values:
            raise SchemaError(
                f"column {self.name!r}: other = {self.other!r} is not in values", hint="add it to the list"
            )

    def label(self, code: int) -> Label:
        return self.values[code]


@dataclass(frozen=True, slots=True, kw_only=True)
class TextColumn:
    """Free text, compared byte by byte. Never known keys."""

    name: str
    constant: bool = False
    null: tuple[str, ...] | None = field(default=None, repr=False)


Column = NumberColumn | MomentColumn | BooleanColumn | CategoryColumn | TextColumn


def domain(column: Column) -> tuple[int, int] | None:
    """The half-open range of codes a column can take, where it is declared.

    >>> domain(BooleanColumn(name="smoker"))
    (0, 2)
    """
    match column:
        case NumberColumn() | MomentColumn():
            return None if column.low is None or column.high is None else (column.low, column.high + 1)
        case BooleanColumn():
            return (0, 2)
        case CategoryColumn():
            return (0, len(column.values))
        case TextColumn():
            return None


def nullable(column: Column) -> bool:
    """Whether the declared table may hold NULL here."""
    return isinstance(column, TextColumn) or not column.closed


def type_name(column: Column) -> str:
    """The word for its type in discreet.toml."""
    return (
        column.type
        if isinstance(column, NumberColumn | MomentColumn)
        else type(column).__name__.removesuffix("Column").lower()
    )


def short_year_notes(columns: Iterable[Column], *, declared: bool = False) -> list[str]:
    """Columns of dates whose years have two digits, if no `high` says in which century they are; `declared`: or one."""
    notes = []
    for column in columns:
        form = column.format if isinstance(column, MomentColumn) else None
        if not isinstance(column, MomentColumn) or form is None or not form.has_short_year:
            continue
        years = f"{column.name}: years have two digits, and are read as {form.last_year - 99} to {form.last_year}"
        if column.high is None:
            notes.append(f"{years}. Declare high to change this: with high = 2010-12-31, 47 is 1947")
        elif declared:
            notes.append(
                f"{years}, because high is {str(column.label(column.high))[:10]}; another high can move the century"
            )
    return notes


def moment_code(value: object, type_: Literal["date", "timestamp"]) -> Fraction:
    """A date or timestamp, or its ISO text, as an exact number of days or microseconds since 1970, UTC."""
    if isinstance(value, str):
        value = datetime.fromisoformat(value.strip())
    if isinstance(value, date) and not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day)
    if not isinstance(value, datetime):
        raise ValueError("not a date")
    try:
        utc = value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    except OverflowError:
        raise ValueError("the date is not in the calendar") from None
    micros = (utc - EPOCH) // timedelta(microseconds=1)
    return Fraction(micros) if type_ == "timestamp" else Fraction(micros, 86_400_000_000)


def code_labels(columns: Iterable[Column]) -> dict[str, dict[str, str]]:
    """What the values of categories are called for people, by column; none of columns without labels."""
    return {
        column.name: dict(column.labels) for column in columns if isinstance(column, CategoryColumn) and column.labels
    }


def shown_label(labels: Mapping[str, Mapping[str, str]], name: str, value: Label) -> Label:
    """A value as people read it: by its label, where it has one."""
    return labels[name].get(value, value) if name in labels and isinstance(value, str) else value


def _plain_step(step: Fraction) -> bool:
    """Whether engines can cut decimals to this grid exactly, within 38 digits."""
    digits = str(int(step * 10**12)).strip("0")
    return (step * 10**12).denominator == 1 and step <= 10**12 and len(digits) <= 5


def _check_ordered(column: NumberColumn | MomentColumn) -> None:
    low, high, edges = column.low, column.high, column.edges
    if any(code is not None and abs(code) > MOST_CODE for code in (low, high)):
        raise SchemaError(
            f"column {column.name!r}: these bounds are too large for sums",
            hint="narrower bounds, or a larger step"
            if column.type == "decimal"
            else 'narrower bounds, or type = "decimal" and a step above 1',
        )
    if low is not None and high is not None and low > high:
        raise SchemaError(f"column {column.name!r}: low is above high")
    if column.closed and low is None:
        raise SchemaError(f"column {column.name!r}: a closed column needs low, which NULL becomes", hint="low = 0")
    if edges is None:
        return
    if low is None or high is None:
        raise SchemaError(f"column {column.name!r}: bins need low and high")
    if len(edges) < 2 or edges[0] != low or edges[-1] != high + 1 or any(a >= b for a, b in itertools.pairwise(edges)):
        raise SchemaError(f"column {column.name!r}: edges must rise from low to high")
