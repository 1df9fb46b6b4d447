"""The calendar of the years 1 to 9999, in days counted from 1970. Standard library only."""

from __future__ import annotations

from datetime import date
from typing import Literal, assert_never

#: Calendar fields of a day; week and isoyear are those of ISO 8601, doy is the day of the year.
PartUnit = Literal["year", "month", "day", "doy", "week", "isoyear"]
#: Calendar periods that a day lies in. A week starts on Monday. What is shorter than a day is plain arithmetic.
StartUnit = Literal["year", "quarter", "month", "week"]

_EPOCH = date(1970, 1, 1).toordinal()

#: The first and the last day that every engine's calendar knows.
FIRST_DAY = date.min.toordinal() - _EPOCH
LAST_DAY = date.max.toordinal() - _EPOCH

_MONTHS: dict[StartUnit, int] = {"year": 12, "quarter": 3, "month": 1}
#: A Monday.
_MONDAY = date(1970, 1, 5).toordinal() - _EPOCH


def part_of(unit: PartUnit, day: int) -> int:
    """A field of a day.

    >>> part_of("year", 0), part_of("doy", -1), part_of("week", 0)
    (1970, 365, 1)
    """
    calendar_day = date.fromordinal(day + _EPOCH)
    match unit:
        case "year":
            return calendar_day.year
        case "month":
            return calendar_day.month
        case "day":
            return calendar_day.day
        case "doy":
            return calendar_day.toordinal() - date(calendar_day.year, 1, 1).toordinal() + 1
        case "week":
            return calendar_day.isocalendar().week
        case "isoyear":
            # The last days of 9999 belong to an ISO week of 9999, the first ones of year 1 to one of year 1.
            return calendar_day.isocalendar().year
        case _:
            assert_never(unit)


def start_of(unit: StartUnit, day: int) -> int:
    """The first day of the period that a day lies in.

    >>> start_of("quarter", 100), start_of("year", -1)
    (90, -365)
    """
    if unit == "week":
        return day - (day - _MONDAY) % 7
    calendar_day = date.fromordinal(day + _EPOCH)
    months = _MONTHS[unit]
    return calendar_day.replace(month=(calendar_day.month - 1) // months * months + 1, day=1).toordinal() - _EPOCH


def first_start(unit: StartUnit, day: int) -> int:
    """The first day, at `day` or later, that starts a period. Beyond the calendar, the day after its last.

    >>> first_start("month", 0), first_start("month", 1)
    (0, 31)
    """
    if day <= FIRST_DAY:
        return FIRST_DAY
    if day > LAST_DAY:
        return LAST_DAY + 1
    start = start_of(unit, day - 1)
    if unit == "week":
        return min(start + 7, LAST_DAY + 1)
    calendar_day = date.fromordinal(start + _EPOCH)
    month = calendar_day.month - 1 + _MONTHS[unit]
    year = calendar_day.year + month // 12
    return LAST_DAY + 1 if year > date.max.year else date(year, month % 12 + 1, 1).toordinal() - _EPOCH


def first_of_year(year: int) -> int:
    """The first day of a year, cut to the calendar: year 10000 starts the day after its last."""
    if year > date.max.year:
        return LAST_DAY + 1
    return date(max(year, 1), 1, 1).toordinal() - _EPOCH
