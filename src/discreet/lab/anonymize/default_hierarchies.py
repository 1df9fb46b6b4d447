"""Hierarchies made from a column's values alone, never from their frequencies or from another column.

Numbers: bins whose width doubles, aligned at zero. Dates: day, month, year, decade. Times and durations: a minute, ten,
an hour, and on. Codes of one length, such as ZIP codes: one more letter masked at each level. Other categories:
neighbours in sorted order, four groups into one, told by words of the column itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from discreet.lab.anonymize.clocks import clock, clock_text, is_clock
from discreet.lab.anonymize.column_codes import NULL, CodedColumn
from discreet.lab.anonymize.hierarchy import ValueHierarchy, build_hierarchy
from discreet.lab.anonymize.labels import ANY, set_label

#: The finest bins of a number are about so many.
BINS = 20
#: So many groups of categories become one at the next level.
JOINED = 4
#: The widths of bins of times and durations, in microseconds: a minute, ten, an hour, six, a day, ten, a hundred.
CLOCK = [1_000_000 * seconds for seconds in (60, 600, 3_600, 21_600, 86_400, 864_000, 8_640_000)]
#: Codes are masked letter by letter if all have this many letters at least and at most.
CODE = range(3, 13)


def default_hierarchy(column: CodedColumn) -> ValueHierarchy:
    """A hierarchy for any column."""
    values = column.values.to_pylist()
    nulls = [NULL] if column.has_null else []
    return build_hierarchy(column, ([*step, *nulls] for step in _steps(values)))


def _steps(values: list[Any]) -> Iterator[list[str]]:
    """What the values, sorted, become at each level between themselves and `*`."""
    if not values:
        return iter(())
    if isinstance(values[0], bool | str):
        texts = list(map(str, values))
        return _mask_steps(texts) if _are_codes(texts) else _join_steps(texts)
    if isinstance(values[0], int | float | Decimal):
        return _bin_steps(values)
    if isinstance(values[0], date):
        return _date_steps(values)
    if is_clock(values[0]):
        return _clock_steps(values)
    return _join_steps(list(map(str, values)))


def _bin_steps(values: list[Any]) -> Iterator[list[str]]:
    finite = [float(value) for value in values if math.isfinite(value)]
    if len(finite) < 2:
        return
    span, whole = finite[-1] - finite[0], all(isinstance(value, int) for value in values)
    if not span:  # whole numbers that are one as floats
        return
    width = _round_width(span / BINS)
    width = max(2.0, width) if whole else width
    while math.isfinite(span) and width <= span:
        yield [_bin(value, width, whole=whole) for value in values]
        width *= 2


def _round_width(least: float) -> float:
    """The next of 1, 2, 5, 10, 20, 50, ..."""
    power: float = 10.0 ** math.floor(math.log10(least))
    return next(power * step for step in (1, 2, 5, 10) if power * step >= least * (1 - 1e-12))


def _bin(value: Any, width: float, *, whole: bool) -> str:
    if not math.isfinite(value):
        return str(value)
    if whole:
        step = int(width)
        low = int(value) // step * step
        return f"{low}-{low + step - 1}" if low >= 0 else f"[{low}, {low + step - 1}]"
    place = math.floor(float(value) / width)
    return f"[{place * width:.12g}, {(place + 1) * width:.12g})"


def _date_steps(values: list[Any]) -> Iterator[list[str]]:
    if isinstance(values[0], datetime):
        yield [f"{value:%Y-%m-%d}" for value in values]
    yield [f"{value.year:04d}-{value.month:02d}" for value in values]
    yield [f"{value.year:04d}" for value in values]
    yield [f"{value.year // 10 * 10:04d}s" for value in values]


def _clock_steps(values: list[Any]) -> Iterator[list[str]]:
    ticks = list(map(clock, values))
    for width in CLOCK:
        starts = [tick // width * width for tick in ticks]
        yield [f"[{clock_text(start)}, {clock_text(start + width)})" for start in starts]


def _are_codes(texts: list[str]) -> bool:
    """Whether all are codes of one length, so that a common beginning is likely to mean something."""
    length = len(texts[0])
    return length in CODE and all(
        len(text) == length and text.isalnum() and any(map(str.isdigit, text)) for text in texts
    )


def _mask_steps(texts: list[str]) -> Iterator[list[str]]:
    length = len(texts[0])
    for hidden in range(1, length):
        yield [text[: length - hidden] + ANY * hidden for text in texts]


def _join_steps(texts: list[str]) -> Iterator[list[str]]:
    size = JOINED
    while size < len(texts):
        step: list[str] = []
        for start in range(0, len(texts), size):
            part = texts[start : start + size]
            step += [set_label(part)] * len(part)
        yield step
        size *= JOINED
