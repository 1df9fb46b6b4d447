"""The starts of calendar periods, many at once: a century of months is a key like any other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.plan.calendar import LAST_DAY, StartUnit, part_of
from discreet.sql.typed_expression import DAY_US, DateKind, Kind, TimestampKind

if TYPE_CHECKING:
    from collections.abc import Sequence

_MONTHS: dict[StartUnit, int] = {"year": 12, "quarter": 3, "month": 1}


def period_starts(unit: StartUnit, low: int, high: int, *, most: int) -> tuple[int, ...] | None:
    """The day `low`, which starts a period, every later start up to `high`, and the one after it; None if over `most`.

    Past the calendar's end the last period ends on the day after it.

    >>> period_starts("month", 0, 40, most=100), period_starts("week", 4, 18, most=100)
    ((0, 31, 59), (4, 11, 18, 25))
    >>> period_starts("year", 0, 400, most=2)
    """
    if unit == "week":
        start_days = np.arange(low, high + 8, 7)
    else:
        months = _MONTHS[unit]
        first, last = (np.datetime64(day, "D").astype("M8[M]").astype(np.int64) for day in (low, high))
        start_days = np.arange(first, last + months + 1, months).astype("M8[M]").astype("M8[D]").astype(np.int64)
    # The first start beyond `high` closes the last period.
    edges = start_days[: int(np.searchsorted(start_days, high, side="right")) + 1]
    if len(edges) > most:
        return None
    return tuple(np.minimum(edges, LAST_DAY + 1).tolist())


def period_of(unit: StartUnit, day: int) -> int:
    """The number of the period that a day lies in, as `date_functions.count_periods` counts years, quarters and months.

    >>> period_of("month", 31) - period_of("month", 0), period_of("quarter", -1) - period_of("quarter", 0)
    (1, -1)
    """
    year, month = part_of("year", day), part_of("month", day)
    counts: dict[StartUnit, int] = {"year": year, "quarter": year * 4 + (month + 2) // 3, "month": year * 12 + month}
    return counts[unit]


def day_labels(days: Sequence[int], kind: Kind, factor: int) -> list[str]:
    """Days as people read them, `factor` codes to a day: dates, or timestamps at midnight."""
    if (kind, factor) not in ((DateKind(), 1), (TimestampKind(), DAY_US)):
        raise ValueError(f"not a moment of whole days: {kind}, {factor}")
    dates: list[str] = np.datetime_as_string(np.array(days, dtype="M8[D]")).tolist()
    return dates if factor == 1 else [f"{day} 00:00:00" for day in dates]
