"""What a published number says: between which two numbers the true one lies."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from discreet.errors import UsageError

#: How a number was rounded. "nearest" does not assume which way halves went, "down" cut the digits off.
Way = Literal["nearest", "half-up", "half-even", "down"]
WAYS: tuple[Way, ...] = ("nearest", "half-up", "half-even", "down")


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedRange:
    """A number between two others; None is no limit. An end belongs to it unless it is `past`. `told`: as published."""

    low: Fraction | None = None
    high: Fraction | None = None
    excludes_low: bool = False
    excludes_high: bool = False
    published_text: str = ""

    def __post_init__(self) -> None:
        if self.low is not None and self.high is not None and self.low > self.high:
            raise UsageError(f"a statistic has low {float(self.low):g} above high {float(self.high):g}")

    @classmethod
    def rounded(cls, value: Fraction, unit: Fraction = Fraction(0), *, way: Way = "nearest") -> PublishedRange:
        """What a value says that was rounded to a multiple of `unit`; 0 is not rounded at all.

        >>> PublishedRange.rounded(Fraction("36.7"), Fraction("0.1")).high
        Fraction(147, 4)
        """
        text = f"{float(value):.10g}"
        if unit < 0:
            raise UsageError(f"a number cannot be rounded to a unit of {float(unit):g}")
        if unit == 0:
            return cls(low=value, high=value, published_text=text)
        if way == "down":
            return cls(low=value, high=value + unit, excludes_high=True, published_text=text)
        odd = way == "half-even" and (value / unit) % 2 == 1
        return cls(
            low=value - unit / 2,
            high=value + unit / 2,
            excludes_low=odd,
            excludes_high=odd or way == "half-up",
            published_text=text,
        )

    def holds(self, value: Fraction | int) -> bool:
        """Whether a number agrees with it."""
        above = self.low is None or self.low < value or (self.low == value and not self.excludes_low)
        below = self.high is None or value < self.high or (self.high == value and not self.excludes_high)
        return above and below

    def show(self) -> str:
        """As people read it."""
        if self.published_text:
            return self.published_text
        low, high = (None if end is None else f"{float(end):.10g}" for end in (self.low, self.high))
        if low is None or high is None:
            return f"{low} or more" if low is not None else f"{high} or less" if high is not None else "anything"
        return low if low == high else f"{low} to {high}"


def round_half_up(value: Fraction, unit: Fraction) -> Fraction:
    """The nearest multiple of `unit`, the higher of two.

    >>> round_half_up(Fraction("33.5"), Fraction(1))
    Fraction(34, 1)
    """
    return (value / unit + Fraction(1, 2)) // 1 * unit if unit else value
