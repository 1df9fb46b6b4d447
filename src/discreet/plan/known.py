"""What an expression knows of itself from birth, and the limits that hold for all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from discreet.errors import Refused
from discreet.plan.interval import Interval

#: No bound lies further out, so that no product of two bounds leaves an engine's 128-bit whole numbers unseen.
MOST_BOUND = 2**100

#: An expression has at most so many operators in SQL, nested at most so deep: parsers and engines have limits.
MOST_SIZE = 10_000
MOST_DEPTH = 100

#: Bounds of which either may be open.
Ends = tuple[int | None, int | None]


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of an expression from birth. Text has no bounds.

    low, high: every value lies between them, both included; None is no bound.
    null: whether it can be NULL. size, depth: of its SQL.
    """

    low: int | None = field(init=False, compare=False, repr=False)
    high: int | None = field(init=False, compare=False, repr=False)
    null: bool = field(init=False, compare=False, repr=False)
    size: int = field(init=False, compare=False, repr=False)
    depth: int = field(init=False, compare=False, repr=False)


class Sized(Protocol):
    """What an expression is made of."""

    @property
    def size(self) -> int: ...

    @property
    def depth(self) -> int: ...


def check_size(size: int, depth: int = 1) -> None:
    """Refuse what is too much for parsers and engines."""
    if size > MOST_SIZE or depth > MOST_DEPTH:
        raise Refused("this is too much for one question", hint="write it shorter")


def learn(
    node: Known,
    bounds: Interval | Ends,
    *,
    null: bool,
    parts: Sequence[Sized] = (),
    more: int = 0,
    inside: Sequence[Sized] = (),
) -> None:
    """Give a new node what is known of it, within limits. `parts` make it up; `inside` lies within `more`."""
    low, high = (bounds.low, bounds.high) if isinstance(bounds, Interval) else bounds
    size = 1 + more + sum(part.size for part in parts)
    depth = 1 + max((part.depth for part in (*parts, *inside)), default=0)
    check_size(size, depth)
    if any(end is not None and abs(end) > MOST_BOUND for end in (low, high)):
        raise Refused(
            "by the declared bounds this could become larger than 30 digits",
            hint="declare narrower bounds, or cut it with least(…) and greatest(…)",
        )
    for name, known in (("low", low), ("high", high), ("null", null), ("size", size), ("depth", depth)):
        object.__setattr__(node, name, known)
