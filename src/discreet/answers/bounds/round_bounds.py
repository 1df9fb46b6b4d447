"""Bounds that people can read: two significant digits of their width, or whole calendar periods, always outward."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from fractions import Fraction
from math import ceil, floor

from discreet.plan.calendar import FIRST_DAY, LAST_DAY
from discreet.schema.column import EPOCH, MOST_CODE, MomentColumn, NumberColumn, moment_code

_DAY_US = 86_400_000_000

#: A microsecond, second, minute, hour and day. Bounds more than two of them apart are cut by them.
_SHORT = (1, 1_000_000, 60_000_000, 3_600_000_000, _DAY_US)


def first_code(column: NumberColumn | MomentColumn) -> int:
    """The least code that a bound may have."""
    return -MOST_CODE if isinstance(column, NumberColumn) else FIRST_DAY * (1 if column.type == "date" else _DAY_US)


def last_code(column: NumberColumn | MomentColumn) -> int:
    """The largest code that a bound may have."""
    if isinstance(column, NumberColumn):
        return MOST_CODE
    return LAST_DAY if column.type == "date" else (LAST_DAY + 1) * _DAY_US - 1


def round_outward(column: NumberColumn | MomentColumn, low: int, high: int) -> tuple[int, int]:
    """The nearest round bounds around low and high.

    >>> round_outward(NumberColumn(name="cost", type="decimal", step=Fraction(1, 100)), 17, 2_531_998)
    (0, 2600000)
    >>> round_outward(NumberColumn(name="year", type="integer"), 1951, 2023)
    (1951, 2023)
    >>> day = MomentColumn(name="day", type="date")
    >>> [day.label(code) for code in round_outward(day, 18_300, 20_400)]
    ['2020-01-01', '2025-12-31']

    Years of two digits lie in one century, and a later `high` would move all of them to another one:

    >>> from discreet.schema.value_format import MomentFormat
    >>> born = MomentColumn(name="born", type="date", format=MomentFormat(words="%m/%d/%y"))
    >>> [born.label(code) for code in round_outward(born, 0, 131_071)]
    ['1970-01-01', '2068-12-31']
    """
    if isinstance(column, NumberColumn):
        round_numbers = _numbers(low * column.step, high * column.step)
        low, high = floor(round_numbers[0] / column.step), ceil(round_numbers[1] / column.step)
    elif column.type == "date":
        first, last = _moments(low * _DAY_US, (high + 1) * _DAY_US)
        low, high = first // _DAY_US, -(-last // _DAY_US) - 1
    else:
        low, high = _moments(low, high)
    low, high = within_century(column, low, high)
    return max(low, first_code(column)), min(high, last_code(column))


def within_century(column: NumberColumn | MomentColumn, low: int, high: int) -> tuple[int, int]:
    """The bounds as far as they lie in the hundred years that two digits can mean; as they are if none of it does.

    As they are, too, where a year has four digits.
    """
    if not isinstance(column, MomentColumn) or column.format is None or not column.format.has_short_year:
        return low, high
    last_year = column.format.last_year
    first, last = (
        moment_code(f"{year:04}-01-01", column.type) for year in (max(last_year - 99, 1), min(last_year + 1, 9999))
    )
    inner_low, inner_high = max(low, int(first)), min(high, int(last) - 1)
    return (inner_low, inner_high) if inner_low < inner_high else (low, high)


def _numbers(low: Fraction, high: Fraction) -> tuple[Fraction, Fraction]:
    width = high - low
    if width == 0:
        return low, high
    power = len(str(width.numerator)) - len(str(width.denominator))
    power -= Fraction(10) ** power > width
    unit = Fraction(10) ** (power - 1)
    return floor(low / unit) * unit, ceil(high / unit) * unit


def _moments(low: int, high: int) -> tuple[int, int]:
    """From the start of a period to the start of another."""
    width = high - low
    if width > 730 * _DAY_US:
        return _start(low, months=12), _next(high, months=12)
    if width > 60 * _DAY_US:
        return _start(low, months=1), _next(high, months=1)
    unit = max(period for period in _SHORT if period == 1 or 2 * period < width)
    return low // unit * unit, -(-high // unit) * unit


def _start(code: int, *, months: int) -> int:
    """The start of the month or year that a microsecond lies in."""
    try:
        moment = EPOCH + timedelta(microseconds=code)
    except OverflowError:
        return code
    month = moment.month if months == 1 else 1
    return (datetime(moment.year, month, 1, tzinfo=UTC) - EPOCH) // timedelta(microseconds=1)


def _next(code: int, *, months: int) -> int:
    """The first start of a month or year at `code` or after it."""
    start = _start(code, months=months)
    if start == code:
        return code
    try:
        moment = EPOCH + timedelta(microseconds=start)
        year, month = (moment.year + 1, 1) if months == 12 or moment.month == 12 else (moment.year, moment.month + 1)
        return (datetime(year, month, 1, tzinfo=UTC) - EPOCH) // timedelta(microseconds=1)
    except (OverflowError, ValueError):  # the calendar ends
        return (LAST_DAY + 1) * _DAY_US
