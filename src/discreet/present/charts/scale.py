"""Where a value lies on a chart, and which round numbers stand beside it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """A straight map of [low, high] onto [start, end] of the drawing; `low` is below `high`.

    >>> Scale(low=-10, high=30, start=300, end=100).at(0)
    250.0
    """

    low: float
    high: float
    start: float
    end: float

    def __post_init__(self) -> None:
        if not all(map(math.isfinite, (self.low, self.high, self.start, self.end))) or not self.low < self.high:
            raise ValueError(f"a scale cannot go from {self.low} to {self.high}")

    def at(self, value: float) -> float:
        """Where `value` is drawn. Halves, because the width of all floats is no float."""
        share = (value / 2 - self.low / 2) / (self.high / 2 - self.low / 2)
        return self.start + share * (self.end - self.start)

    def clipped(self, value: float) -> float:
        """Where `value` is drawn, or else the end of the axis that it lies beyond."""
        return self.at(min(max(value, self.low), self.high))


def check_finite(value: float | None, *, of: str) -> float | None:
    """A number that can be drawn, or None; NaN, the infinities and what is beyond floats cannot."""
    if value is None:
        return None
    try:
        drawn = float(value)
    except OverflowError:
        drawn = math.inf
    if not math.isfinite(drawn):
        raise ValueError(f"{of} is not a number that can be drawn")
    return drawn


def span(values: Iterable[float | None], *, zero: bool) -> tuple[float, float]:
    """The ends of an axis that holds these values, and zero where that is wanted. Never without width.

    >>> span([3, 8], zero=True), span([], zero=True), span([5, 5], zero=False)
    ((0.0, 8.0), (0.0, 1.0), (4.5, 5.5))
    """
    numbers = [float(value) for value in values if value is not None] + ([0.0] if zero else [])
    low, high = (min(numbers), max(numbers)) if numbers else (0.0, 1.0)
    if low / 2 < high / 2 and low < high:
        return low, high
    if low == 0:
        return 0.0, 1.0
    return low - abs(low) / 10, high + abs(high) / 10


def widen_to_round(ends: tuple[float, float], *, about: int = 5) -> tuple[float, float]:
    """The ends moved out to round numbers, where those are floats.

    >>> widen_to_round((0.0, 87.0))
    (0.0, 100.0)
    """
    low, high = ends
    digit, power = _step(low, high, about)
    first, last = math.floor(_steps(low, digit, power)), math.ceil(_steps(high, digit, power))
    wide = _times(first, digit, power), _times(last, digit, power)
    return (min(low, wide[0]), max(high, wide[1])) if all(map(math.isfinite, wide)) else ends


def ticks(low: float, high: float, *, about: int = 5) -> list[tuple[float, str]]:
    """About so many round numbers from `low` to `high`, and how each is written.

    >>> ticks(0, 100)
    [(0.0, '0'), (20.0, '20'), (40.0, '40'), (60.0, '60'), (80.0, '80'), (100.0, '100')]
    >>> [text for _, text in ticks(-0.3, 0.2)]
    ['-0.3', '-0.2', '-0.1', '0.0', '0.1', '0.2']
    """
    digit, power = _step(low, high, about)
    first, last = math.ceil(_steps(low, digit, power)), math.floor(_steps(high, digit, power))
    tick_values = {_times(count, digit, power): None for count in range(first, last + 1)}
    return [(value, _tick_label(value, power)) for value in tick_values if low <= value <= high]


def _step(low: float, high: float, about: int) -> tuple[int, int]:
    """A round step as digit and power of ten: at most `about` of them fill the axis."""
    raw = high / about - low / about
    # Between neighbouring floats of a large size a finer step is no step.
    raw = max(raw, math.ulp(max(abs(low), abs(high))) * 2)
    power = math.floor(math.log10(raw))
    for digit in (1, 2, 5):
        if _times(1, digit, power) >= raw * (1 - 1e-9):
            return digit, power
    return 1, power + 1


def _steps(value: float, digit: int, power: int) -> float:
    """How many steps a value is; a hair beyond a whole number is that number."""
    step = _times(1, digit, power)
    count = value / step if step and math.isfinite(step) else value / digit / 10.0 ** min(power, 300)
    return round(count) if abs(count - round(count)) < 1e-9 * max(1.0, abs(count)) else count


def _times(count: int, digit: int, power: int) -> float:
    """count * digit * 10^power, rounded once."""
    try:
        return float(count * digit * 10**power) if power >= 0 else count * digit / 10**-power
    except OverflowError:
        return math.copysign(math.inf, count)


def _tick_label(value: float, power: int) -> str:
    """A round number as people write it."""
    if value and not 1e-4 <= abs(value) < 1e9:
        return f"{value:.6g}"
    return f"{value + 0.0:,.{min(12, max(0, -power))}f}"
