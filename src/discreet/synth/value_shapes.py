"""How values lie within a cell: round numbers, weekdays and month ends, hours and full minutes.

A shape gives every code a weight, which repeats along the column: a code is drawn from an interval in proportion to it.
Weights come from noisy counts (`shape_measurement`); 1 is what a code has where nothing was found.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.int64]
Floats = NDArray[np.float64]

#: Rows at a time: a table of so many rows by so many classes of digits stays small.
_AT_ONCE = 20_000

HOUR = 3_600_000_000

#: Days after which the calendar repeats, weekdays included: 400 years.
_CYCLE = 146_097

#: Grains of a time within its hour, in microseconds: full hours, quarters, five minutes, minutes, seconds and below.
GRAINS = (HOUR, HOUR // 4, HOUR // 12, HOUR // 60, 1_000_000, 1_000, 1)

#: The shares of instants that have each grain and no coarser one, where they lie evenly.
EVEN_GRAINS = np.diff([0.0, *(1 / grain for grain in GRAINS)])

#: A shape is not drawn for more days or hours than this: then codes lie evenly.
MOST_SLOTS = 2**22


@dataclass(frozen=True, slots=True, eq=False)
class DigitShape:
    """Numbers by their last two digits and, where those are 0, by the two before them: 1 to 99, and 100 to 199.

    Class 0 is empty: it is what classes from 100 on tell apart. `weights[k]`: of each code of class k.
    """

    kind: ClassVar[str] = "digits"
    sizes: ClassVar[tuple[int, ...]] = (200,)

    weights: tuple[Floats]

    def mass(self, lows: Codes, highs: Codes) -> Floats:
        """The weight of all codes in [low, high)."""
        return np.concatenate([self._masses(*part).sum(axis=1) for part in _parts(lows, highs)])

    def draw(self, lows: Codes, highs: Codes, generator: np.random.Generator) -> Codes:
        """A code in each [low, high)."""
        return np.concatenate([self._draw(*part, generator) for part in _parts(lows, highs)])

    def _draw(self, lows: Codes, highs: Codes, generator: np.random.Generator) -> Codes:
        ends, which = np.unique(np.stack([lows, highs]), axis=1, return_inverse=True)
        cumulative = np.cumsum(self._masses(ends[0], ends[1]), axis=1)
        which = which.ravel()
        position = generator.random(len(lows)) * cumulative[which, -1]
        classes = np.minimum((cumulative[which] <= position[:, None]).sum(axis=1), 199)
        first, step, count = _class_codes(lows, highs, classes)
        drawn = first + step * generator.integers(0, np.maximum(count, 1))
        plain = (cumulative[which, -1] <= 0) | (count <= 0)
        return np.where(plain, generator.integers(lows, highs), drawn)

    def _masses(self, lows: Codes, highs: Codes) -> Floats:
        _, _, counts = _class_codes(lows[:, None], highs[:, None], np.arange(200)[None, :])
        return counts * self.weights[0]


def _class_codes(lows: Codes, highs: Codes, classes: Codes) -> tuple[Codes, Codes, Codes]:
    """The first code of a class in [low, high), how far apart they are, and how many there are."""
    step = np.where(classes < 100, 100, 10_000)
    residue = np.where(classes < 100, classes, (classes - 100) * 100)
    first = lows + (residue - lows) % step
    count = np.where(classes == 0, 0, np.maximum(0, (highs - first + step - 1) // step))
    return first, step, count


def _parts(lows: Codes, highs: Codes) -> list[tuple[Codes, Codes]]:
    starts = range(0, max(len(lows), 1), _AT_ONCE)
    return [(lows[start : start + _AT_ONCE], highs[start : start + _AT_ONCE]) for start in starts]


def digit_classes(codes: Codes) -> Codes:
    """The class of each code.

    >>> digit_classes(np.array([7, 1999, 2500, 40_000, -1])).tolist()
    [7, 99, 125, 100, 99]
    """
    return np.where(codes % 100 != 0, codes % 100, 100 + codes // 100 % 100)


@dataclass(frozen=True, slots=True, eq=False)
class DayShape:
    """Days by weekday (Monday first), by day of the month (the last day of a month is number 32), and by month."""

    kind: ClassVar[str] = "days"
    sizes: ClassVar[tuple[int, ...]] = (7, 33, 13)

    weights: tuple[Floats, Floats, Floats]

    def mass(self, lows: Codes, highs: Codes) -> Floats:
        """The weight of all codes in [low, high)."""
        first, ends = self._ends(lows, highs)
        return np.asarray(ends[highs - first] - ends[lows - first])

    def draw(self, lows: Codes, highs: Codes, generator: np.random.Generator) -> Codes:
        """A code in each [low, high)."""
        first, ends = self._ends(lows, highs)
        return first + _slots(ends, lows - first, highs - first, generator)

    def _ends(self, lows: Codes, highs: Codes) -> tuple[int, Floats]:
        first, last = int(lows.min(initial=0)), int(highs.max(initial=1))
        first = first if len(lows) else 0
        return first, np.concatenate([[0.0], np.cumsum(self.of_days(np.arange(first, last)))])

    def of_days(self, days: Codes) -> Floats:
        """The weight of each day."""
        if len(days) > MOST_SLOTS:
            return np.ones(len(days))
        weekday, monthday, month = day_classes(days)
        return np.asarray(self.weights[0][weekday] * self.weights[1][monthday] * self.weights[2][month])


def day_classes(days: Codes) -> tuple[Codes, Codes, Codes]:
    """Weekday, day of the month (32 for the last one) and month of days since 1970.

    >>> [each.tolist() for each in day_classes(np.array([0, 30]))]
    [[3, 5], [1, 32], [1, 1]]
    """
    weekdays, monthdays, months = _calendar()
    places = days % _CYCLE
    return weekdays[places], monthdays[places], months[places]


@cache
def _calendar() -> tuple[Codes, Codes, Codes]:
    """The classes of all days of 400 years, after which the calendar repeats: to look them up is nine times as fast."""
    days = np.arange(_CYCLE)
    dates = days.astype("datetime64[D]")
    months = dates.astype("datetime64[M]")
    monthday = (dates - months.astype("datetime64[D]")).astype(np.int64) + 1
    is_last = (dates + np.timedelta64(1, "D")).astype("datetime64[M]") != months
    return (days + 3) % 7, np.where(is_last, 32, monthday), months.astype(np.int64) % 12 + 1


@dataclass(frozen=True, slots=True, eq=False)
class TimeShape:
    """Instants by their day (as `DayShape`), by the hour of the day, and by their grain within the hour."""

    kind: ClassVar[str] = "times"
    sizes: ClassVar[tuple[int, ...]] = (7, 33, 13, 24, len(GRAINS))

    weights: tuple[Floats, Floats, Floats, Floats, Floats]

    def mass(self, lows: Codes, highs: Codes) -> Floats:
        """The weight of all codes in [low, high), in hours."""
        if _is_wide(lows, highs):
            return np.asarray(highs - lows, dtype=np.float64)
        first, ends = self._ends(lows, highs)
        return np.asarray(self._to(ends, highs, first) - self._to(ends, lows, first)) * HOUR

    def draw(self, lows: Codes, highs: Codes, generator: np.random.Generator) -> Codes:
        """A code in each [low, high): an hour, then a grain within it."""
        hours = self._draw_hours(lows, highs, generator)
        low, high = np.maximum(lows, hours * HOUR), np.minimum(highs, (hours + 1) * HOUR)
        chances = np.cumsum(self.weights[4] * EVEN_GRAINS)
        chances /= chances[-1]
        grains = np.searchsorted(chances, generator.random(len(lows)), side="right").clip(0, len(GRAINS) - 1)
        return _grained(low, high, grains, generator)

    def _draw_hours(self, lows: Codes, highs: Codes, generator: np.random.Generator) -> Codes:
        if _is_wide(lows, highs):
            return np.asarray(generator.integers(lows, highs) // HOUR)
        first, ends = self._ends(lows, highs)
        start, stop = self._to(ends, lows, first), self._to(ends, highs, first)
        position = start + generator.random(len(lows)) * (stop - start)
        return np.clip(np.searchsorted(ends, position, side="right") - 1 + first, lows // HOUR, (highs - 1) // HOUR)

    def _ends(self, lows: Codes, highs: Codes) -> tuple[int, Floats]:
        """The first hour, and the weight of all hours before each one."""
        if not len(lows):
            return 0, np.zeros(1)
        first, last = _hours(lows, highs)
        hours, first_day = np.arange(first, last), first // 24
        days = DayShape(weights=self.weights[:3]).of_days(np.arange(first_day, (last - 1) // 24 + 1))
        return first, np.concatenate([[0.0], np.cumsum(days[hours // 24 - first_day] * self.weights[3][hours % 24])])

    @staticmethod
    def _to(ends: Floats, codes: Codes, first: int) -> Floats:
        """The weight of all that is before a code."""
        return np.interp(codes / HOUR - first, np.arange(len(ends)), ends)


def _hours(lows: Codes, highs: Codes) -> tuple[int, int]:
    """The first hour of all intervals, and the end of the last one."""
    return int(lows.min()) // HOUR, (int(highs.max()) - 1) // HOUR + 1


def _is_wide(lows: Codes, highs: Codes) -> bool:
    """Whether there are too many hours to weigh each, as where one instant is in the year 9999."""
    first, last = _hours(lows, highs) if len(lows) else (0, 0)
    return last - first > MOST_SLOTS


def _grained(low: Codes, high: Codes, grains: Codes, generator: np.random.Generator) -> Codes:
    """A code in each [low, high) that is a multiple of its grain and of no coarser one; where none is, of a finer."""
    drawn = generator.integers(low, high)
    waiting = np.arange(len(low))
    for number, grain in enumerate(GRAINS):
        own = waiting[grains[waiting] <= number]
        first = -(-low[own] // grain)
        count = np.maximum(0, (high[own] - 1) // grain - first + 1)
        codes = (first + generator.integers(0, np.maximum(count, 1))) * grain
        if number:
            codes = _off_coarser(codes, low[own], high[own], grain, GRAINS[number - 1], generator)
        fits = (count > 0) & ((codes % GRAINS[number - 1] != 0) if number else True)
        drawn[own[fits]] = codes[fits]
        waiting = np.setdiff1d(waiting, own[fits], assume_unique=True)
    return drawn


def _off_coarser(
    codes: Codes, low: Codes, high: Codes, grain: int, coarser: int, generator: np.random.Generator
) -> Codes:
    """Multiples of a grain moved off those of a coarser one, where the interval has room."""
    moved = codes + grain * generator.integers(1, coarser // grain, size=len(codes))
    moved = np.where(moved < high, moved, moved - coarser)
    return np.where((codes % coarser == 0) & (moved >= low) & (moved < high), moved, codes)


def _slots(ends: Floats, lows: Codes, highs: Codes, generator: np.random.Generator) -> Codes:
    """A slot in each [low, high) by the weights whose sums `ends` are; evenly where they are 0."""
    start, stop = ends[lows], ends[highs]
    position = start + generator.random(len(lows)) * (stop - start)
    drawn = np.clip(np.searchsorted(ends, position, side="right") - 1, lows, highs - 1)
    return np.where(stop > start, drawn, generator.integers(lows, highs))


ValueShape = DigitShape | DayShape | TimeShape
SHAPES: dict[str, type[DigitShape] | type[DayShape] | type[TimeShape]] = {
    shape.kind: shape for shape in (DigitShape, DayShape, TimeShape)
}
