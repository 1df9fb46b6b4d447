"""The time, as a thing that is handed in: tests turn it by hand."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime

#: Seconds of UTC since 1970.
Clock = Callable[[], float]

MINUTE_S = 60
HOUR_S = 60 * MINUTE_S
DAY_S = 24 * HOUR_S


def wall_clock() -> float:
    """What the clock on the wall says."""
    return time.time()


def iso_time(second: int) -> str:
    """A second, as people and programs read it.

    >>> iso_time(0)
    '1970-01-01T00:00:00Z'
    """
    return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def day(second: float) -> str:
    """The day of a second, in UTC."""
    return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%d")
