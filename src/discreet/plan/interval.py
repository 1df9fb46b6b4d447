"""Interval arithmetic on whole numbers: between what bounds a result lies when its operands lie between theirs.

Every rule contains each possible result; where operands are independent, it is the least such interval.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, assert_never

#: How a quotient becomes a whole number: down, towards zero, or to the nearest with halves away from zero.
Rounding = Literal["down", "zero", "nearest"]


@dataclass(frozen=True, slots=True)
class IntegerInterval:
    """The whole numbers from `low` to `high`, both included."""

    low: int
    high: int

    def __post_init__(self) -> None:
        if self.low > self.high:
            raise ValueError(f"the interval ends before it starts: {self}")


def quotient(left: int, right: int, rounding: Rounding) -> int:
    """left / right as a whole number. `right` is not 0.

    >>> quotient(-7, 2, "down"), quotient(-7, 2, "zero"), quotient(-7, 2, "nearest")
    (-4, -3, -4)
    """
    if rounding == "down":
        return left // right
    size = abs(left) // abs(right) if rounding == "zero" else (2 * abs(left) + abs(right)) // (2 * abs(right))
    return size if (left < 0) == (right < 0) else -size


def remainder(left: int, right: int) -> int:
    """What is left of `left` after whole `right`s: it has the sign of `left`. `right` is not 0.

    >>> remainder(-7, 3), remainder(7, -3)
    (-1, 1)
    """
    return left - right * quotient(left, right, "zero")


def plus(left: IntegerInterval, right: IntegerInterval) -> IntegerInterval:
    return IntegerInterval(left.low + right.low, left.high + right.high)


def times(left: IntegerInterval, right: IntegerInterval) -> IntegerInterval:
    """Because a product is monotone in each factor, its extremes are at the corners."""
    corners = [one * two for one in (left.low, left.high) for two in (right.low, right.high)]
    return IntegerInterval(min(corners), max(corners))


def square(of: IntegerInterval) -> IntegerInterval:
    sizes = absolute(of)
    return IntegerInterval(sizes.low**2, sizes.high**2)


def absolute(of: IntegerInterval) -> IntegerInterval:
    ends = abs(of.low), abs(of.high)
    return IntegerInterval(0 if of.low <= 0 <= of.high else min(ends), max(ends))


def over(left: IntegerInterval, right: IntegerInterval, rounding: Rounding) -> IntegerInterval | None:
    """The quotients; None where the divisor can only be 0.

    Because a quotient is monotone in its dividend, and in its divisor on either side of 0, its extremes are
    at the ends of the dividend and at the ends, and next to 0, of the divisor; rounding keeps the order.
    """
    ends = {end for end in (right.low, right.high, -1, 1) if end != 0 and right.low <= end <= right.high}
    corners = [quotient(one, two, rounding) for one in (left.low, left.high) for two in ends]
    return IntegerInterval(min(corners), max(corners)) if corners else None


def remainders(left: IntegerInterval, right: IntegerInterval) -> IntegerInterval | None:
    """The remainders, which are smaller than the divisor and no larger than the dividend, of its sign."""
    most = max(abs(right.low), abs(right.high)) - 1
    if most < 0:
        return None
    return IntegerInterval(max(min(left.low, 0), -most), min(max(left.high, 0), most))


def hull(parts: Iterable[IntegerInterval]) -> IntegerInterval:
    listed = list(parts)
    return IntegerInterval(min(part.low for part in listed), max(part.high for part in listed))


def extreme(
    which: Literal["least", "greatest"], parts: Sequence[tuple[int | None, int | None, bool]]
) -> tuple[int | None, int | None]:
    """The bounds of SQL's LEAST or GREATEST over parts of (low, high, may be NULL), where None is no bound.

    Because NULLs are passed over, only a part that cannot be NULL is sure to be compared: LEAST is at most
    each of those, or, if there is none, at most the largest of all; it is at least the least of all.
    """
    match which:
        case "least":
            lows = [low for low, _, _ in parts]
            sure = [high for _, high, null in parts if not null and high is not None]
            highs = [high for _, high, _ in parts]
            return lowest(lows), min(sure) if sure else highest(highs)
        case "greatest":
            mirrored = [(_minus(high), _minus(low), null) for low, high, null in parts]
            low, high = extreme("least", mirrored)
            return _minus(high), _minus(low)
        case _:
            assert_never(which)


def _minus(end: int | None) -> int | None:
    return None if end is None else -end


def lowest(ends: list[int | None]) -> int | None:
    """The least end; None if one is open."""
    closed_ends = [end for end in ends if end is not None]
    return min(closed_ends) if len(closed_ends) == len(ends) else None


def highest(ends: list[int | None]) -> int | None:
    """The largest end; None if one is open."""
    closed_ends = [end for end in ends if end is not None]
    return max(closed_ends) if len(closed_ends) == len(ends) else None
