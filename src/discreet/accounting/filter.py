"""The two-filter rule: may this charge be made? docs/proofs/filters.md proves it.

A population's history is kept in segments, one for each version of each of its tables. Inside a
segment, what counts is the most loaded *possible record*; across segments nothing ties a record
here to a record there, so maxima add. A charge is accepted if the delta spent on keys stays within
its limit and either

- only this segment has ever been charged, and every possible record x in the question's region
  keeps  pure(x) + p <= P  or  rho(x) + r <= R  (the arm may differ from record to record), or
- one and the same arm holds for the sum over segments of their certified maxima.

All numbers are whole units. The rule reads regions and losses, never data.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from discreet import exact
from discreet.accounting.events import Loss
from discreet.accounting.guarantee import FilterLimits
from discreet.accounting.overlap import Overlap
from discreet.accounting.region import Region
from discreet.exact import DELTA_UNITS, EPSILON_UNITS, RHO_UNITS, UNBOUNDED

#: Nodes of the search for a decision, and for tightening what is booked. Never a clock: a decision
#: must not depend on how busy the machine is.
DECISION_NODES = 1024
BOOKING_NODES = 64

#: The whole of a limit, in the unit of `Decision.used`.
FULL = 10**12

Arm = Literal["pure", "rho", "joint"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """A loss in the ledger's units, rounded up. `pure` is UNBOUNDED where there is no pure bound."""

    pure: int
    rho: int
    delta: int

    @staticmethod
    def of(loss: Loss) -> Cost:
        """The whole units that cover a loss.

        >>> from fractions import Fraction
        >>> Cost.of(Loss(epsilon=Fraction(1, 3), rho=Fraction(1, 18)))
        Cost(pure=333333334, rho=55555555556, delta=0)
        """
        return Cost(
            pure=UNBOUNDED if loss.epsilon is None else exact.units_up(loss.epsilon, EPSILON_UNITS),
            rho=exact.units_up(loss.rho, RHO_UNITS),
            delta=exact.units_up(loss.delta, DELTA_UNITS),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Balance:
    """What one segment has spent: certified bounds on the fullest record, and the plain sums."""

    pure: int = 0
    rho: int = 0
    pure_sum: int = 0
    rho_sum: int = 0


@dataclass(slots=True)
class Segment:
    """One version of one table: its balance and the history behind it."""

    balance: Balance = field(default_factory=Balance)
    overlap: Overlap = field(default_factory=Overlap)

    def book(self, region: Region, cost: Cost, balance: Balance) -> None:
        """Append a charge that was decided before."""
        self.overlap.add(region, pure=cost.pure, rho=cost.rho)
        self.balance = balance


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """Accepted or not, by which arm, and what to book. `used` is the certified share of the limit.

    `inside` holds the certified bounds U on what any record of the region had lost before, in each arm.
    """

    accepted: bool
    arm: Arm | None
    inside: Balance
    balance: Balance
    delta: int
    used: int
    nodes: int


def decide(
    segments: Mapping[Hashable, Segment],
    key: Hashable,
    *,
    region: Region,
    cost: Cost,
    delta_spent: int,
    limits: FilterLimits,
    booking: bool = True,
    one_arm: bool = False,
) -> Decision:
    """Decide a charge on segment `key`; books nothing.

    Without `booking` what would be booked is not searched for: it is bounded by what everybody has spent. `one_arm`:
    the arm may not differ from record to record, because neighbours differ by two of them (docs/proofs/filters.md).
    """
    here = segments.get(key) or Segment()
    others = [segment.balance for name, segment in segments.items() if name != key]
    elsewhere = Balance(pure=_add(*(other.pure for other in others)), rho=_add(*(other.rho for other in others)))
    alone = _alone(elsewhere) and not one_arm
    arm, nodes = _choose_arm(here, elsewhere, alone=alone, region=region, cost=cost, limits=limits)
    inside = here.balance
    if booking:
        inside = _inside(here, region=region, cost=cost, arm=arm, elsewhere=elsewhere, limits=limits)
    balance = book_balance(here.balance, cost, inside)
    delta = delta_spent + cost.delta
    used = _used(balance, elsewhere, limits, certified=arm is not None and alone)
    return Decision(
        accepted=arm is not None and delta <= limits.delta_keys,
        arm=arm,
        inside=inside,
        balance=balance,
        delta=delta,
        used=used,
        nodes=nodes,
    )


def _choose_arm(
    here: Segment, elsewhere: Balance, *, alone: bool, region: Region, cost: Cost, limits: FilterLimits
) -> tuple[Arm | None, int]:
    """The first arm that holds: pure, then rho, then (in a lone segment) either for each record."""
    room = _room(limits.pure, elsewhere.pure, cost.pure), _room(limits.rho, elsewhere.rho, cost.rho)
    nodes = 0
    arm: Literal["pure", "rho"]
    for arm, left, spent, loss in (
        ("pure", room[0], here.balance.pure, cost.pure),
        ("rho", room[1], here.balance.rho, cost.rho),
    ):
        # Not alone: the same arm must hold for every record here, not only in the region.
        if left is None or (not alone and spent > left + loss):
            continue
        if spent <= left:
            return arm, nodes  # plain addition is within
        verdict = here.overlap.within(
            region,
            pure=left if arm == "pure" else None,
            rho=left if arm == "rho" else None,
            nodes=DECISION_NODES,
        )
        nodes += verdict.nodes
        if verdict.within:
            return arm, nodes
    if alone and None not in room:
        verdict = here.overlap.within(region, pure=room[0], rho=room[1], nodes=DECISION_NODES)
        nodes += verdict.nodes
        if verdict.within:
            return "joint", nodes
    return None, nodes


def _inside(
    here: Segment, *, region: Region, cost: Cost, arm: Arm | None, elsewhere: Balance, limits: FilterLimits
) -> Balance:
    """U: certified bounds on what any record of the region has lost so far, in each arm."""
    old = here.balance
    inside_pure = here.overlap.largest(region, arm="pure", nodes=BOOKING_NODES).upper if old.pure else 0
    inside_rho = here.overlap.largest(region, arm="rho", nodes=BOOKING_NODES).upper if old.rho else 0
    room_pure = _room(limits.pure, elsewhere.pure, cost.pure)
    room_rho = _room(limits.rho, elsewhere.rho, cost.rho)
    if arm == "pure" and room_pure is not None:
        inside_pure = min(inside_pure, room_pure)  # the decision proved it
    if arm == "rho" and room_rho is not None:
        inside_rho = min(inside_rho, room_rho)
    return Balance(pure=inside_pure, rho=inside_rho)


def book_balance(old: Balance, cost: Cost, inside: Balance) -> Balance:
    """spent' = min(spent + loss, max(spent, U + loss)): never falls, never worse than addition.

    >>> spent, cost = Balance(pure=5, rho=5, pure_sum=9, rho_sum=9), Cost(pure=2, rho=2, delta=0)
    >>> book_balance(spent, cost, Balance(pure=1, rho=4))
    Balance(pure=5, rho=6, pure_sum=11, rho_sum=11)
    """
    return Balance(
        pure=min(_add(old.pure, cost.pure), max(old.pure, _add(inside.pure, cost.pure))),
        rho=min(_add(old.rho, cost.rho), max(old.rho, _add(inside.rho, cost.rho))),
        pure_sum=_add(old.pure_sum, cost.pure),
        rho_sum=_add(old.rho_sum, cost.rho),
    )


def _used(balance: Balance, elsewhere: Balance, limits: FilterLimits, *, certified: bool) -> int:
    """The share of the limit that is certainly not exceeded, rounded up; above FULL means over."""
    shares = [FULL] if certified else []
    for spent, limit in (
        (_add(balance.pure, elsewhere.pure), limits.pure),
        (_add(balance.rho, elsewhere.rho), limits.rho),
    ):
        if limit is not None and spent < UNBOUNDED:
            shares.append(-(-spent * FULL // limit) if limit else FULL + 1)
    return min([*shares, FULL + 1])


def _room(limit: int | None, elsewhere: int, loss: int) -> int | None:
    """What a record may hold already; None when the arm is off or has no room at all."""
    if limit is None or loss >= UNBOUNDED or elsewhere + loss > limit:
        return None
    return limit - elsewhere - loss


def _alone(elsewhere: Balance) -> bool:
    return elsewhere.pure == 0 and elsewhere.rho == 0


def _add(*parts: int) -> int:
    """A sum that stops at UNBOUNDED."""
    return min(UNBOUNDED, sum(parts))
