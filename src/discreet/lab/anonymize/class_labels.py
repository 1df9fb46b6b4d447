"""Labels made from the rows of one class alone: as tight as they allow (`tight`), or with round ends (`round`).

Tight: ages 34 and 47 become `34-47`, two names `{Bern|Bonn}`, many `{Bern..Ulm}`. The ends are values of people in the
class. Round: ages become `30-50`, two names that begin alike `B*`, others `*`. An end is a multiple of the largest of
1, 2, 5, 10, 20, 50 and so on that is not wider than the class (of dates: day, month, year, decade), and may still be
somebody's value.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, timedelta
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, localcontext
from typing import Any

import numpy as np

from discreet.lab.anonymize.clocks import clock, clock_text, is_clock
from discreet.lab.anonymize.column_codes import CodedColumn, Flags, Floats, Integers
from discreet.lab.anonymize.labels import ANY, LISTED, OR_NULL, covers, set_label

#: Units of times and durations in microseconds, the widest first.
_CLOCK_UNITS = [1_000_000 * seconds for seconds in (864_000, 86_400, 21_600, 3_600, 600, 60, 10, 1)] + [1]
#: The units of dates and about how many days each has, the widest first.
_CALENDAR = (("decade", 3_652), ("year", 365), ("month", 28), ("day", 1))
#: More digits than two numbers of any column have together.
_DIGITS = 200


def label_classes(column: CodedColumn, ids: Integers, *, style: str) -> tuple[Integers, list[str]]:
    """The number of each row's label, and the labels: one for each class, `style` tight or round."""
    pairs = np.unique(ids * column.size + column.codes)
    classes, codes = pairs // column.size, pairs % column.size
    parts = np.split(codes, np.flatnonzero(np.diff(classes)) + 1)
    numbers: dict[str, int] = {}
    of_class = np.array(
        [numbers.setdefault(class_label(column, part.tolist(), style=style), len(numbers)) for part in parts]
    )
    return of_class[np.searchsorted(np.unique(classes), ids)], list(numbers)


def class_label(column: CodedColumn, codes: Sequence[int], *, style: str) -> str:
    """The label of a class whose rows have these values, sorted.

    >>> import pyarrow as pa
    >>> from discreet.lab.anonymize.column_codes import code_columns
    >>> columns = code_columns(pa.table({"age": [34, 47], "town": ["Bern", "Bonn"]}), ["age", "town"])
    >>> [class_label(column, [0, 1], style=style) for column in columns for style in ("tight", "round")]
    ['34-47', '30-50', '{Bern|Bonn}', 'B*']
    """
    if len(codes) == 1:
        return column.text_of(codes[0])
    plain = [code for code in codes if code < len(column.values)]
    ending = "" if len(plain) == len(codes) else OR_NULL
    values = [column.values[code].as_py() for code in plain]
    label = _label(values, ordered=column.ordered, style=style)
    return label if label == ANY else label + ending


def label_loss(column: CodedColumn, numbers: Integers, labels: Sequence[str]) -> float:
    """The mean over rows of the share of the column's other values that their label could mean instead."""
    meant = np.array([covers(label, column).sum() for label in labels], dtype=np.float64)
    shares: Floats = (np.maximum(meant, 1) - 1) / max(1, column.size - 1)
    return float(shares[numbers].mean())


def alone_with_shown_value(column: CodedColumn, ids: Integers) -> Flags:
    """Which rows are the only one of their class with a value that a tight label shows: an end, or a listed word."""
    order = np.lexsort([column.codes, ids])
    pairs = (ids * column.size + column.codes)[order]
    classes = ids[order]
    first, last = (np.append(True, np.diff(each) != 0) for each in (classes, pairs))
    starts = np.flatnonzero(last)
    alone = np.repeat(np.diff(np.append(starts, len(pairs))) == 1, np.diff(np.append(starts, len(pairs))))
    number = np.cumsum(first) - 1
    values = np.bincount(number, weights=last).astype(np.int64)[number]
    shown = first | np.append(first[1:], True) | (not column.ordered and values <= LISTED)
    flags = np.zeros(len(ids), dtype=bool)
    flags[order] = alone & shown & (values > 1)
    return flags


def _label(values: list[Any], *, ordered: bool, style: str) -> str:
    """The label of sorted values, none of them NULL."""
    if len(values) == 1:
        return str(values[0])
    if ordered:
        return _span_label(values[0], values[-1], style=style)
    texts = list(map(str, values))
    if style == "tight" and not any("|" in text or ".." in text for text in texts):
        return set_label(texts)
    # A star at the end of the common beginning would be read as part of it.
    return _common_beginning(texts[0], texts[-1]).rstrip(ANY) + ANY


def _common_beginning(first: str, last: str) -> str:
    """What the first and the last of sorted texts, and so all of them, begin with."""
    same = [one == other for one, other in zip(first, last, strict=False)]
    return first[: same.index(False) if False in same else len(same)]


def _span_label(low: Any, high: Any, *, style: str) -> str:
    """All values from one to the other, both among them, or from one round point to another."""
    if is_clock(low):
        return _clock_label(clock(low), clock(high), style=style)
    if isinstance(low, date):
        return f"[{low}, {high}]" if style == "tight" else _calendar_label(low, high)
    if isinstance(low, int | float | Decimal):
        first, last = Decimal(str(low)), Decimal(str(high))
        if style == "round" and first.is_finite() and last.is_finite():
            first, last = _round_out(first, last)
        whole = isinstance(low, int)
        texts = [str(int(each)) if whole else _plain_number(each) for each in (first, last)]
        return "-".join(texts) if whole and first >= 0 else f"[{texts[0]}, {texts[1]}]"
    return ANY


def _plain_number(number: Decimal) -> str:
    return format(number.normalize(), "f") if number.is_finite() else str(number)


def _round_out(low: Decimal, high: Decimal) -> tuple[Decimal, Decimal]:
    """The multiples of a round step around two numbers: of the largest step that is not wider than they are apart."""
    with localcontext(prec=_DIGITS):
        span = high - low
        power = Decimal(10) ** span.adjusted()
        step = next(power * times for times in (5, 2, 1) if power * times <= span)
        return (
            (low / step).to_integral_value(ROUND_FLOOR) * step,
            (high / step).to_integral_value(ROUND_CEILING) * step,
        )


def _clock_label(low: int, high: int, *, style: str) -> str:
    if style == "round":
        unit = next(unit for unit in _CLOCK_UNITS if unit <= high - low)
        low, high = low // unit * unit, -(-high // unit) * unit
    return f"[{clock_text(low)}, {clock_text(high)}]"


def _calendar_label(low: date, high: date) -> str:
    """From the start of the unit of one date to the start of the unit after the other's."""
    days = (high - low).days
    unit = next((name for name, length in _CALENDAR if length <= days), "day")
    try:
        return f"[{_start(low, unit)}, {_start(high, unit, after=True)})"
    except (ValueError, OverflowError):  # the end of the calendar
        return f">={_start(low, unit)}"


def _start(day: date, unit: str, *, after: bool = False) -> date:
    """When its day, month, year or decade begins, or the next one."""
    midnight = {"hour": 0, "minute": 0, "second": 0, "microsecond": 0} if isinstance(day, datetime) else {}
    start = day.replace(**midnight)
    if unit == "decade":
        return start.replace(year=day.year // 10 * 10 + 10 * after or 1, month=1, day=1)
    if unit == "year":
        return start.replace(year=day.year + after, month=1, day=1)
    if unit == "month":
        first = start.replace(day=1)
        return (first + timedelta(days=32)).replace(day=1) if after else first
    return start + timedelta(days=1) if after else start
