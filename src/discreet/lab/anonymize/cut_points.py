"""Where a cut between two neighbouring values is written: at the roundest point between them, which nobody need have.

A label made of the values themselves would publish single people's birth dates and wages. Between 1961-03-07 and
1961-07-19 a cut is written 1961-04-01; between 51,234 and 58,112 it is 55,000; between `Bern` and `Bonn`, `Bo`; between
10:07:31 and 10:52:09 o'clock, 10:30. The neighbours are those of the box that is cut: what others have does not matter.
"""

from __future__ import annotations

from bisect import bisect_left
from contextlib import suppress
from datetime import date, datetime, time, timedelta
from decimal import Decimal, localcontext
from typing import Any

import pyarrow as pa

from discreet.lab.anonymize.clocks import clock, clock_text, clock_value

#: A gap of 10^e surely holds a multiple of 10^(e - 1): so many powers of ten are tried, from 10^(e + 1) on.
_POWERS = 4
#: More digits than two numbers of any column have together.
_DIGITS = 200
#: Steps of times and durations in microseconds, the roundest first.
_CLOCK = [
    times * 1_000_000
    for times in (8_640_000, 864_000, 86_400, 43_200, 21_600, 10_800, 3_600, 1_800, 600, 300, 60, 30, 10, 5, 1)
] + [times * 10**first_code_beyond for first_code_beyond in range(5, -1, -1) for times in (5, 1)]


def cut_label(below: Any, above: Any) -> str:
    """A point over `below` and at most `above`, two neighbours in sorted order; `above` only where nothing is between.

    >>> cut_label(51_234, 58_112), cut_label(24, 25), cut_label(1.25, 1.75), cut_label("Bern", "Bonn")
    ('55000', '25', '1.5', 'Bo')
    >>> cut_label(date(1961, 3, 7), date(1961, 7, 19)), cut_label(date(1961, 3, 7), date(1974, 7, 19))
    ('1961-04-01', '1970-01-01')
    >>> cut_label(time(10, 7, 31), time(10, 52, 9)), cut_label(timedelta(hours=20), timedelta(hours=30))
    ('10:30:00', '24:00:00')
    """
    return _cut_point(below, above)[1]


def first_code_beyond(values: pa.Array, first: int, last: int) -> int:
    """From which of the places after `first`, up to `last`, values are beyond the edge between these two."""
    point = _cut_point(values[first].as_py(), values[last].as_py())[0]
    return bisect_left(range(last), point, lo=first + 1, key=lambda where: values[where].as_py())


def _cut_point(below: Any, above: Any) -> tuple[Any, str]:
    """The edge as a value like the others, and as it is written."""
    if isinstance(above, int | float | Decimal):
        return _number_cut(below, above)
    if isinstance(above, date):  # a moment is a date, too
        cut_value: Any = next((point for point in _starts(below) if below < point < above), above)
        return cut_value, str(cut_value)
    if isinstance(above, str):
        cut_value = next(above[:size] for size in range(1, len(above) + 1) if above[:size] > below)
        return cut_value, cut_value
    if isinstance(above, time | timedelta):
        return _clock_cut(below, above)
    return above, str(above)


def _number_cut(below: Any, above: Any) -> tuple[Any, str]:
    """The multiple of the largest step 10^e or 5 * 10^(e - 1) that lies between."""
    low, high = (Decimal(str(value)) for value in (below, above))
    if not (low.is_finite() and high.is_finite()):
        return above, str(above)
    with localcontext(prec=_DIGITS):
        most = (high - low).adjusted() + 1
        for exponent in range(most, most - _POWERS, -1):
            for step in (Decimal(10) ** exponent, 5 * Decimal(10) ** (exponent - 1)):
                point = low // step * step
                point += step * (point <= low)  # // rounds towards zero
                value = type(above)(point)
                if below < value < above and (not isinstance(above, int) or point == value):
                    return value, format(point.normalize(), "f")
    return above, str(above)


def _clock_cut(below: Any, above: Any) -> tuple[Any, str]:
    """A time of day or a duration: the multiple of the roundest step that lies between."""
    low, high = clock(below), clock(above)
    for step in _CLOCK:
        point = (low // step + 1) * step
        if point < high:
            return clock_value(point, like=above), clock_text(point)
    return above, clock_text(high)


def _starts(moment: date) -> list[date]:
    """The starts of the next century, decade, year, month, day and, of moments, hour and minute, roundest first."""
    midnight = {"hour": 0, "minute": 0, "second": 0, "microsecond": 0} if isinstance(moment, datetime) else {}
    years = [
        moment.replace(year=(moment.year // span + 1) * span, month=1, day=1, **midnight)
        for span in (100, 10, 1)
        if (moment.year // span + 1) * span <= date.max.year
    ]
    first = moment.replace(day=1, **midnight)
    spans = [(first, timedelta(days=32)), (moment.replace(**midnight), timedelta(days=1))]
    later_starts = [*years]
    for start, span in spans:
        try:
            later = start + span
        except OverflowError:  # the end of the calendar
            continue
        later_starts.append(later.replace(day=1) if span.days > 1 else later)
    if isinstance(moment, datetime):
        for start, more in (
            (moment.replace(minute=0, second=0, microsecond=0), timedelta(hours=1)),
            (moment.replace(second=0, microsecond=0), timedelta(minutes=1)),
        ):
            with suppress(OverflowError):
                later_starts.append(start + more)
    return later_starts
