"""A logarithmic axis: each factor of ten takes the same room."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from discreet.present.charts import svg


@dataclass(frozen=True, slots=True, kw_only=True)
class LogarithmicScale:
    """A map of [low, high], both above 0, onto [start, end] of the drawing: equal ratios are equally far apart.

    >>> LogarithmicScale(low=0.01, high=100, start=0, end=400).at(1)
    200.0
    """

    low: float
    high: float
    start: float
    end: float

    def __post_init__(self) -> None:
        if not 0 < self.low <= self.high < math.inf or not all(map(math.isfinite, (self.start, self.end))):
            raise ValueError(f"a logarithmic axis cannot go from {self.low} to {self.high}")

    def at(self, value: float) -> float:
        """Where `value` is drawn; an axis of one value has it in its middle."""
        if self.low == self.high:
            return (self.start + self.end) / 2
        share = (math.log10(value) - math.log10(self.low)) / (math.log10(self.high) - math.log10(self.low))
        return self.start + share * (self.end - self.start)

    def ticks(self) -> list[tuple[float, str]]:
        """Round numbers on the axis, and how they are written: powers of ten; with 2 and 5 where those are few.

        >>> [said for _, said in LogarithmicScale(low=0.05, high=8, start=0, end=1).ticks()]
        ['0.05', '0.1', '0.2', '0.5', '1', '2', '5']
        >>> [said for _, said in LogarithmicScale(low=0.001, high=1000, start=0, end=1).ticks()]
        ['0.001', '0.01', '0.1', '1', '10', '100', '1,000']
        """
        first, last = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
        digits = (1,) if last - first > 3 else (1, 2, 5)
        digit_powers = [(digit, power) for power in range(first, last + 1) for digit in digits]
        labelled = [(float(f"{digit}e{power}"), _tick_label(digit, power)) for digit, power in digit_powers]
        return [(value, label) for value, label in labelled if self.low * (1 - 1e-9) <= value <= self.high * (1 + 1e-9)]

    @property
    def room(self) -> float:
        """How wide its numbers are."""
        return max((svg.width(label) for _, label in self.ticks()), default=0.0) + 8


def enclosing_ends(values: Iterable[float]) -> tuple[float, float]:
    """Round ends, 1, 2 or 5 times a power of ten, around values above 0.

    >>> enclosing_ends([0.03, 7]), enclosing_ends([1, 1])
    ((0.02, 10.0), (0.5, 2.0))
    """
    numbers = list(values)
    low, high = min(numbers), max(numbers)
    if low <= 0 or not math.isfinite(high):
        raise ValueError("a logarithmic axis needs values above 0")
    powers = range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 2)
    rounds = [float(f"{digit}e{power}") for power in powers for digit in (1, 2, 5)]
    if low == high:
        return max(each for each in rounds if each < low), min(each for each in rounds if each > high)
    return max(each for each in rounds if each <= low), min(each for each in rounds if each >= high)


def _tick_label(digit: int, power: int) -> str:
    if -4 <= power < 9:
        return f"{digit * 10**power:,}" if power >= 0 else f"{digit / 10**-power:.{-power}f}"
    return f"{digit}e{power}"
