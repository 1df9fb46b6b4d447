"""The ledger's rule in Fractions, over a handful of possible records: slow, obvious, and written apart from it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from decimal import Decimal, localcontext
from fractions import Fraction

from discreet.accounting.guarantee import Guarantee
from discreet.accounting.renyi import ORDERS

#: The possible records, by the one column that regions speak of. None is NULL.
RECORDS = (0, 1, 2, 3, None)
Number = Fraction | float  # math.inf where a loss has no bound


#: A loss in each arm: pure, rho, and divergences at the orders.
Losses = tuple[Number, ...]


def losses_of(epsilon: Fraction | None, rho: Fraction) -> Losses:
    """What an epsilon costs at an order, by cosh; a Gaussian order * rho. In the ledger's millionths of a millionth."""
    if epsilon is None:
        return (math.inf, rho, *(order * rho for order in ORDERS))
    with localcontext() as context:
        context.prec = 60
        exact = Decimal(epsilon.numerator) / Decimal(epsilon.denominator)

        def cosh(number: Decimal) -> Decimal:
            return (number.exp() + (-number).exp()) / 2

        curves = [(cosh((order - Decimal("0.5")) * exact) / cosh(exact / 2)).ln() / (order - 1) for order in ORDERS]
        return (epsilon, rho, *(Fraction(math.ceil(curve * 10**12), 10**12) for curve in curves))


@dataclass(frozen=True)
class Paid:
    """A charge: whom it touches, what they lose."""

    who: frozenset[int | None]
    losses: Losses


def _sums(parts: list[Losses]) -> Losses:
    return tuple(sum(each, Fraction(0)) for each in zip(*parts, strict=True)) or (Fraction(0),) * (2 + len(ORDERS))


@dataclass
class Population:
    """Charges by segment, under a guarantee."""

    guarantee: Guarantee
    segments: dict[tuple[str, int], list[Paid]] = field(default_factory=dict)

    def copy(self) -> Population:
        return Population(self.guarantee, {key: list(paid) for key, paid in self.segments.items()})

    def within(self, losses: Losses) -> bool:
        """Whether one arm holds."""
        units = (10**9, *[10**12] * (1 + len(ORDERS)))
        return any(
            limit is not None and loss <= Fraction(limit, unit)
            for loss, limit, unit in zip(losses, self.guarantee.limits.arms, units, strict=True)
        )

    def load(self, key: tuple[str, int], record: int | None) -> Losses:
        return _sums([paid.losses for paid in self.segments.get(key, []) if record in paid.who])

    def largest(self, key: tuple[str, int]) -> Losses:
        return tuple(map(max, *(self.load(key, record) for record in RECORDS)))

    def total(self) -> Losses:
        return _sums([self.largest(key) for key in self.segments])

    def accepts(self, key: tuple[str, int], charge: Paid) -> bool:
        """Would every record stay within an arm (one segment), or all records within one arm (several)?"""
        after = self.copy()
        after.segments.setdefault(key, []).append(charge)
        if len(after.segments) == 1:
            return all(self.within(after.load(key, record)) for record in charge.who)
        return self.within(after.total())

    def pay(self, key: tuple[str, int], charge: Paid) -> None:
        self.segments.setdefault(key, []).append(charge)

    def forgotten(self, before: Population | None) -> dict[tuple[str, int], Paid]:
        """What an acknowledged rollback from here to `before` charges."""
        found = {}
        for key, paid in self.segments.items():
            kept = before.segments.get(key, []) if before else []
            if len(paid) > len(kept):
                lost = _sums([each.losses for each in paid[len(kept) :]])
                # Only where every loss has a bound does the ledger know the plain sum.
                plain = [math.inf if _sums([each.losses for each in paid])[0] == math.inf else lost[0], *lost[1:]]
                found[key] = Paid(frozenset(RECORDS), tuple(map(min, self.largest(key), plain)))
        return found
