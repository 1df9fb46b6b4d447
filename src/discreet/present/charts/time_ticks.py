"""Times on an axis: round ones beside it, and where they lie."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta

_START = datetime(1970, 1, 1)
_DAY = 86_400.0
#: Steps in seconds, below a day and of whole days; then in months.
_SECONDS = (1, 5, 15, 30, 60, 300, 900, 1800, 3600, 10_800, 21_600, 43_200, 86_400, 2 * 86_400, 7 * 86_400, 14 * 86_400)
_MONTHS = (1, 2, 3, 6, 12, 24, 60, 120, 240, 600, 1200, 2400, 6000, 12_000)


def seconds(moment: date | datetime) -> float:
    """Seconds since 1970, in UTC; of a date its midnight.

    >>> seconds(date(1970, 1, 2))
    86400.0
    """
    if isinstance(moment, datetime):
        plain = moment.astimezone(UTC).replace(tzinfo=None) if moment.tzinfo else moment
        return (plain - _START).total_seconds()
    return (moment - _START.date()).days * _DAY


def ticks(low: float, high: float, *, about: int = 4) -> list[tuple[float, str]]:
    """About so many round moments from `low` to `high`, and how each is written.

    >>> [said for _, said in ticks(seconds(date(2026, 1, 5)), seconds(date(2026, 5, 3)))]
    ['2026-02', '2026-03', '2026-04', '2026-05']
    """
    for step in _SECONDS:
        if (high - low) / step <= about:
            first = -(-low // step) * step
            count = int((high - first) // step)
            return [(first + place * step, _tick_label(first + place * step, step)) for place in range(count + 1)]
    for months in _MONTHS:
        if (high - low) / (months * 30.44 * _DAY) <= about or months == _MONTHS[-1]:
            return list(_calendar(low, high, months))
    raise AssertionError("the last step is always taken")


def _calendar(low: float, high: float, months: int) -> Iterator[tuple[float, str]]:
    """The first days of every so many months."""
    begin = _START + timedelta(seconds=low)
    place = -(-(begin.year * 12 + begin.month - 1) // months) * months
    while place < 12 * 10_000:
        moment = datetime(place // 12, place % 12 + 1, 1) if place >= 12 else _START.replace(year=1)
        at = seconds(moment)
        if at > high:
            return
        if at >= low:
            yield at, f"{moment.year:04d}" if months % 12 == 0 else f"{moment.year:04d}-{moment.month:02d}"
        place += months


def _tick_label(at: float, step: float) -> str:
    moment = _START + timedelta(seconds=at)
    if step >= _DAY:
        return f"{moment:%Y-%m-%d}"
    return f"{moment:%H:%M:%S}" if step < 60 else f"{moment:%m-%d %H:%M}"
