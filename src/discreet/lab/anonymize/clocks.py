"""Times of day and durations as whole microseconds, and as labels write them: hours, minutes, seconds.

A duration of a day and an hour is 25:00:00: no comma in it, so that intervals of durations can be read again.
"""

from __future__ import annotations

import re
from datetime import datetime, time, timedelta
from typing import Any

_MICROSECOND = timedelta(microseconds=1)
_TEXT = re.compile(r"(-?)([0-9]+):([0-5][0-9]):([0-5][0-9])(?:\.([0-9]{6}))?")


def is_clock(value: Any) -> bool:
    """Whether it is a time of day or a duration."""
    return isinstance(value, time | timedelta)


def clock(value: Any) -> int:
    """A time of day or a duration in microseconds."""
    if isinstance(value, timedelta):
        return value // _MICROSECOND
    seconds = (value.hour * 60 + value.minute) * 60 + value.second
    return int(seconds * 1_000_000 + value.microsecond)


def clock_value(microseconds: int, *, like: Any) -> Any:
    """So many microseconds as a value of the same kind."""
    duration = timedelta(microseconds=microseconds)
    return duration if isinstance(like, timedelta) else (datetime.min + duration).time()


def clock_text(microseconds: int) -> str:
    """As a label writes it.

    >>> clock_text(90_000_000_000), clock_text(-1_500_000)
    ('25:00:00', '-0:00:01.500000')
    """
    seconds, rest = divmod(abs(microseconds), 1_000_000)
    hours = f"{seconds // 3600}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    return "-" * (microseconds < 0) + hours + (f".{rest:06d}" if rest else "")


def read_clock(text: str) -> int | None:
    """What a label says, in microseconds; None where it is no time and no duration."""
    clock_match = _TEXT.fullmatch(text)
    if not clock_match:
        return None
    sign, hours, minutes, seconds, rest = clock_match.groups()
    whole = (int(hours) * 60 + int(minutes)) * 60 + int(seconds)
    return (-1 if sign else 1) * (whole * 1_000_000 + int(rest or 0))
