"""The ledger's rule in Fractions, over a handful of possible records: slow, obvious, and written apart from it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction

from discreet.accounting.guarantee import Guarantee

#: The possible records, by the one column that regions speak of. None is NULL.
RECORDS = (0, 1, 2, 3, None)
Number = Fraction | float  # math.inf where a loss has no bound


@dataclass(frozen=True)
class Paid:
    """A charge: whom it touches, what they lose."""

    who: frozenset[int | None]
    pure: Number
    rho: Fraction


@dataclass
class Population:
    """Charges by segment, under a guarantee."""

    guarantee: Guarantee
    segments: dict[tuple[str, int], list[Paid]] = field(default_factory=dict)

    def copy(self) -> Population:
        return Population(self.guarantee, {key: list(paid) for key, paid in self.segments.items()})

    def limits(self) -> tuple[Number, Number]:
        """The pure limit and the rho limit; -1 where an arm is off."""
        limits = self.guarantee.limits
        pure = -1 if limits.pure is None else Fraction(limits.pure, 10**9)
        rho = -1 if limits.rho is None else Fraction(limits.rho, 10**12)
        return pure, rho

    def load(self, key: tuple[str, int], record: int | None) -> tuple[Number, Number]:
        mine = [paid for paid in self.segments.get(key, []) if record in paid.who]
        return sum((paid.pure for paid in mine), Fraction(0)), sum((paid.rho for paid in mine), Fraction(0))

    def largest(self, key: tuple[str, int]) -> tuple[Number, Number]:
        loads = [self.load(key, record) for record in RECORDS]
        return max(pure for pure, _ in loads), max(rho for _, rho in loads)

    def total(self) -> tuple[Number, Number]:
        most = [self.largest(key) for key in self.segments]
        return sum((pure for pure, _ in most), Fraction(0)), sum((rho for _, rho in most), Fraction(0))

    def accepts(self, key: tuple[str, int], charge: Paid) -> bool:
        """Would every record stay within an arm (one segment), or all records within one arm (several)?"""
        after = self.copy()
        after.segments.setdefault(key, []).append(charge)
        pure_limit, rho_limit = self.limits()
        if len(after.segments) == 1:
            return all(
                pure <= pure_limit or rho <= rho_limit
                for pure, rho in (after.load(key, record) for record in charge.who)
            )
        pure, rho = after.total()
        return pure <= pure_limit or rho <= rho_limit

    def pay(self, key: tuple[str, int], charge: Paid) -> None:
        self.segments.setdefault(key, []).append(charge)

    def forgotten(self, before: Population | None) -> dict[tuple[str, int], Paid]:
        """What an acknowledged rollback from here to `before` charges."""
        found = {}
        for key, paid in self.segments.items():
            kept = before.segments.get(key, []) if before else []
            if len(paid) > len(kept):
                most = self.largest(key)
                lost = paid[len(kept) :]
                pure = sum((each.pure for each in lost), Fraction(0)) if _finite(paid) else math.inf
                rho = sum((each.rho for each in lost), Fraction(0))
                found[key] = Paid(frozenset(RECORDS), min(most[0], pure), min(most[1], rho))
        return found


def _finite(paid: list[Paid]) -> bool:
    """Only then does the ledger know the plain sum."""
    return all(each.pure < math.inf for each in paid)
