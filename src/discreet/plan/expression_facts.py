"""What an expression knows of itself from birth, and the limits that hold for all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from discreet.errors import Refused
from discreet.plan.interval import IntegerInterval

#: No bound lies further out, and no sum or product of sizes on the way to one: an engine has 128 bits.
MOST_BOUND = 2**100
MOST_REACH = 2**120

#: An expression has at most so many operators in SQL, nested at most so deep, and a predicate at most so many:
#: the time that DuckDB takes to plan them grows with the square of their number.
MOST_SIZE = 1_000
MOST_DEPTH = 100
MOST_WEIGHT = 5_000

#: So many literals of a list are planned as quickly as one operator.
LITERALS = 8

#: Bounds of which either may be open.
Ends = tuple[int | None, int | None]


@dataclass(frozen=True, slots=True)
class ExpressionFacts:
    """What is known of an expression from birth. Text has no bounds.

    low, high: every value lies between them, both included; None is no bound.
    null: whether it can be NULL. size, depth: of its SQL.
    reach: no sum or product of the sizes of its terms and factors, in any order, is larger. An engine may take
        constants together before it computes: (x * c) * (y * d) becomes x * y * (c * d), even where x is 0.
    """

    low: int | None = field(init=False, compare=False, repr=False)
    high: int | None = field(init=False, compare=False, repr=False)
    null: bool = field(init=False, compare=False, repr=False)
    size: int = field(init=False, compare=False, repr=False)
    depth: int = field(init=False, compare=False, repr=False)
    reach: int = field(init=False, compare=False, repr=False)


class Sized(Protocol):
    """What an expression is made of."""

    @property
    def size(self) -> int: ...

    @property
    def depth(self) -> int: ...


def check_size(size: int, *, most: int) -> None:
    """Refuse what is too much for parsers and engines."""
    if size > most:
        raise Refused("this query is too complex", hint="make it shorter")


def set_facts(
    node: ExpressionFacts,
    bounds: IntegerInterval | Ends,
    *,
    null: bool,
    parts: Sequence[Sized] = (),
    more: int = 0,
    inside: Sequence[Sized] = (),
    reach: int = 0,
) -> None:
    """Give a new node what is known of it, within limits. `parts` make it up; `inside` lies within `more`."""
    low, high = (bounds.low, bounds.high) if isinstance(bounds, IntegerInterval) else bounds
    size = 1 + more + sum(part.size for part in parts)
    depth = 1 + max((part.depth for part in (*parts, *inside)), default=0)
    check_size(size, most=MOST_SIZE)
    check_size(depth, most=MOST_DEPTH)
    reach = max(reach, reach_of(low, high))
    if reach > MOST_REACH or any(end is not None and abs(end) > MOST_BOUND for end in (low, high)):
        raise Refused(
            "with the declared bounds, this could exceed 30 digits",
            hint="declare narrower bounds, or limit it with least(…) and greatest(…)",
        )
    facts = {"low": low, "high": high, "null": null, "size": size, "depth": depth, "reach": reach}
    for name, fact in facts.items():
        object.__setattr__(node, name, fact)


def reach_of(low: int | None, high: int | None) -> int:
    """The largest size between two bounds; what has none is still stored in 64 bits. At least 1, so that
    taking part in a product never makes it smaller."""
    return max(2**63 if end is None else abs(end) for end in (low, high, 1))
