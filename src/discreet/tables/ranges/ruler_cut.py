"""Bins that people ask for: of a width, or at most so many of a round width. Histograms and ranges cut alike."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from datetime import date, timedelta
from fractions import Fraction

from discreet import exact
from discreet.errors import Flag, Message, UsageError
from discreet.schema.column import Column, MomentColumn, NumberColumn

#: Periods that dates and times are cut into, the shortest first.
PERIODS = ("day", "week", "month", "quarter", "year")

#: More bins than this are no bins.
MOST_BINS = 10_000

_DAY = 86_400 * 10**6
_EPOCH = date(1970, 1, 1)
_MONTHS = {"month": 1, "quarter": 3, "year": 12}

#: Of a number a width in its own unit; of a date or time a period.
Width = Fraction | str


def width_of(column: Column, *, bins: object = None, width: object = None) -> Width | None:
    """How wide bins are to be; None where nothing is said of it."""
    if bins is None and width is None:
        return None
    if bins is not None and width is not None:
        raise UsageError(
            "give a number of bins or their width, not both", hint=Message(Flag("width", 10), " or ", Flag("bins", 10))
        )
    if not isinstance(column, NumberColumn | MomentColumn) or column.low is None or column.high is None:
        raise UsageError(f"bins of {column.name!r} need a column of numbers or dates with declared bounds")
    if width is not None:
        chosen = _given_width(column, width)
        _count(column, chosen)
        return chosen
    most = exact.positive(bins, name="the number of bins", most=Fraction(MOST_BINS))
    if most.denominator != 1:
        raise UsageError(f"the number of bins must be whole, got {exact.show(most)}")
    for chosen in _round_widths(column):
        if _fits(column, chosen, int(most)):
            return chosen
    raise UsageError(f"{column.name!r} cannot be cut into so few bins", hint="more bins, or a width")


def width_text(width: Width) -> str:
    """A width as people write it."""
    return width if isinstance(width, str) else exact.show(width)


def _given_width(column: NumberColumn | MomentColumn, width: object) -> Width:
    if isinstance(column, MomentColumn):
        if str(width).strip().lower() not in PERIODS:
            raise UsageError(
                f"bins of {column.name!r}, a {column.type}, are as wide as a period, got {str(width)[:40]!r}",
                hint=Message("one of " + ", ".join(PERIODS) + ": ", Flag("width", "month")),
            )
        return str(width).strip().lower()
    wide = exact.positive(width, name="the width of bins", most=Fraction(10**18))
    if (wide / column.step).denominator != 1:
        raise UsageError(
            f"the width of bins must be a multiple of the column's step, {exact.show(column.step)}, "
            f"got {exact.show(wide)}"
        )
    return wide


def _round_widths(column: NumberColumn | MomentColumn) -> Iterator[Width]:
    """Widths of 1, 2, 2.5 or 5 times a power of ten that lie on the column's grid; or periods."""
    if isinstance(column, MomentColumn):
        yield from PERIODS
        return
    yield column.step
    for power in range(-12, 19):
        for digit in (Fraction(1), Fraction(2), Fraction(5, 2), Fraction(5)):
            wide = digit * Fraction(10) ** power
            if wide > column.step and (wide / column.step).denominator == 1:
                yield wide


def _fits(column: NumberColumn | MomentColumn, width: Width, most: int) -> bool:
    return len(list(itertools.islice(_edges(column, width), most + 2))) <= most + 1


def _count(column: NumberColumn | MomentColumn, width: Width) -> None:
    if not _fits(column, width, MOST_BINS):
        raise UsageError(f"bins of this width are more than {MOST_BINS:,}", hint="wider bins")


def bin_edges(column: NumberColumn | MomentColumn, width: Width) -> tuple[int, ...]:
    """The edges of bins in codes: multiples of the width, or the first days of periods, around the bounds.

    >>> bin_edges(NumberColumn(name="age", type="integer", low=3, high=24), Fraction(10))
    (0, 10, 20, 30)
    """
    return tuple(_edges(column, width))


def _edges(column: NumberColumn | MomentColumn, width: Width) -> Iterator[int]:
    assert column.low is not None and column.high is not None
    if isinstance(column, MomentColumn):
        yield from _period_edges(column, str(width))
        return
    wide = int(Fraction(width) / column.step)
    edge = column.low // wide * wide
    yield edge
    while edge <= column.high:
        edge += wide
        yield edge


def _period_edges(column: MomentColumn, period: str) -> Iterator[int]:
    assert column.low is not None and column.high is not None
    unit = 1 if column.type == "date" else _DAY
    try:
        start = _first_day(_EPOCH + timedelta(days=column.low // unit), period)
        yield (start - _EPOCH).days * unit
        while (start - _EPOCH).days * unit <= column.high:
            start = _next_start(start, period)
            yield (start - _EPOCH).days * unit
    except (OverflowError, ValueError):
        raise UsageError(f"the bounds of {column.name!r} are too near the end of the calendar for bins") from None


def _first_day(day: date, period: str) -> date:
    if period in ("day", "week"):
        return day - timedelta(days=day.weekday() if period == "week" else 0)
    months = _MONTHS[period]
    return date(day.year, (day.month - 1) // months * months + 1, 1)


def _next_start(start: date, period: str) -> date:
    if period in ("day", "week"):
        return start + timedelta(days=7 if period == "week" else 1)
    months = start.month - 1 + _MONTHS[period]
    return date(start.year + months // 12, months % 12 + 1, 1)
