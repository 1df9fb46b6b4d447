"""An account: what one population may lose, and what it has lost. Pure: reads no clock, no file, no data."""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import cast

from discreet import exact
from discreet.accounting.filter import (
    FULL,
    Balance,
    Cost,
    Decision,
    Segment,
    add_losses,
    book_balance,
    decide,
    sum_balances,
)
from discreet.accounting.guarantee import FilterLimits, Guarantee
from discreet.accounting.region import Region
from discreet.accounting.renyi import ORDERS
from discreet.errors import UsageError
from discreet.exact import DELTA_UNITS, EPSILON_UNITS, UNBOUNDED

#: A segment of a population: one version of one of its tables.
SegmentKey = tuple[str, int]

_ZERO_LIMITS = FilterLimits(pure=0, rho=None, delta_keys=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Amount:
    """Epsilon and delta of a population: a limit, what is spent, what remains."""

    epsilon: Fraction
    delta: Fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountStatus:
    """Where a population stands. `spent` is rounded up, `remaining` down; together they are the limit.

    limits, room: the same in each arm, in the ledger's whole units.
    """

    limit: Amount
    spent: Amount
    remaining: Amount
    charges: int
    by_analyst: dict[str, Fraction]
    limits: FilterLimits
    room: RemainingByArm


@dataclass(frozen=True, slots=True, kw_only=True)
class RemainingByArm:
    """What plain addition still allows in each arm, in whole units; 0 where the arm is off or full."""

    pure: int
    rho: int
    orders: tuple[int, ...] = (0,) * len(ORDERS)

    @property
    def is_empty(self) -> bool:
        """Whether no arm has any room."""
        return not (self.pure or self.rho or any(self.orders))


@dataclass(slots=True, kw_only=True)
class PooledLoss:
    """The losses in every arm of all charges of one region: what a search knows of them."""

    arms: tuple[int, ...]
    pure_bounds_orders: bool

    def add(self, cost: Cost) -> None:
        """Add a charge, each arm up to UNBOUNDED, as `Overlap.add` does."""
        self.arms = tuple(add_losses(*pair) for pair in zip(self.arms, cost.arms, strict=True))
        self.pure_bounds_orders = self.pure_bounds_orders and cost.pure_bounds_orders


@dataclass(slots=True, kw_only=True)
class Account:
    """One population: its guarantee, its segments, and the totals that the ledger keeps beside the chain.

    `sealed` is set when a ledger was adopted without its anchor: everything under the limits that this copy
    knows then counts as spent.
    Guarantee: sealed (E, D), and later a grant to (E', D'), is (E', D')-DP in all, if (E, D) was the largest limit
        ever granted and no exact total was published later. Of a grant, or of an exact total, that came after the copy
        was taken it does not know; the owner is warned of both when adopting. No exact total can be published
        afterwards: what is (E, D)-DP for a person who joins need not be (2 E, 2 D)-DP for one who is changed.
    Because: the sealed part was accepted by its own filter, so it is (E, D)-DP (for people who change, where the copy
        knows of exact totals); a fresh filter of (E' - E, D' - D) accepts the rest; adaptive (epsilon, delta) losses
        add.

    `invariant` is set when an exact total of these people was published. Neighbours then change one unit and keep the
    totals; every charge, old and new, counts double, and one arm must hold for everybody.

    `paid`: the sum of prices of each analyst in whole units, every price rounded up; the anchor keeps it, so that a
    restore forgets no payment. `rounded_up`: what rounding added, of prices that are no whole units, as before 0.2.
    `payers_unknown`: something was forgotten, and nobody knows who paid for it. Every quota then counts as used up,
    until the owner grants.

    `corrected`: the entry that last set another limit, while nothing was charged. `restored`: a gap was charged in this
    ledger, so what it knows of this population may not be all.
    """

    name: str
    guarantee: Guarantee
    sealed: Guarantee | None = None
    invariant: bool = False
    segments: dict[SegmentKey, Segment] = field(default_factory=dict)
    delta: int = 0
    used: int = 0
    charges: int = 0
    paid: dict[str, int] = field(default_factory=dict)
    rounded_up: dict[str, Fraction] = field(default_factory=dict)
    payers_unknown: bool = False
    corrected: int = 0
    restored: bool = False
    seq: int = 0
    segment_seqs: dict[SegmentKey, int] = field(default_factory=dict)
    #: For each segment, by the text of the region; the losses of a repeat add to the first.
    unread_charges: dict[SegmentKey, dict[str, PooledLoss]] = field(default_factory=dict)

    @property
    def open_guarantee(self) -> Guarantee | None:
        """The guarantee of the filter in use: all of it, or what was granted on top of what is sealed."""
        if self.sealed is None:
            return self.guarantee
        return _guarantee_beyond_sealed(self.guarantee, self.sealed)

    @property
    def limits(self) -> FilterLimits:
        """The integer limits of the filter in use."""
        limits = _ZERO_LIMITS if self.open_guarantee is None else self.open_guarantee.limits
        return limits.for_changes() if self.invariant else limits

    @property
    def total(self) -> Balance:
        """Certified maxima summed over segments, in whole units."""
        return sum_balances(segment.balance for segment in self.segments.values())

    def decide(self, key: SegmentKey, *, region: Region, cost: Cost, booking: bool = True) -> Decision:
        """May this be charged? Books nothing; `booking` as in `filter.decide`."""
        self._read_charges(key)
        segments = cast(Mapping[Hashable, Segment], self.segments)
        return decide(
            segments,
            key,
            region=region,
            cost=cost,
            delta_spent=self.delta,
            limits=self.limits,
            booking=booking,
            one_arm=self.invariant,
        )

    def book(
        self, key: SegmentKey, *, region: str, cost: Cost, inside: Balance, balance: Balance, used: int, seq: int
    ) -> None:
        """Append a charge that was decided before, with the balance that was decided then.

        `region` is JSON text, as the ledger keeps it. It is read when a decision needs it: opening a long
        ledger to look at a balance should not build the search.
        """
        segment = self.segments.get(key)
        if segment is None:
            segment = self.segments[key] = Segment()
        check_balance_step(segment.balance, cost, inside, balance)
        segment.balance = balance
        unread = self.unread_charges.setdefault(key, {})
        if region in unread:
            unread[region].add(cost)
        else:
            unread[region] = PooledLoss(arms=cost.arms, pure_bounds_orders=cost.pure_bounds_orders)
        self.delta += cost.delta
        self.used = used
        self.charges += 1
        self.seq = self.segment_seqs[key] = seq

    def _read_charges(self, key: SegmentKey) -> None:
        for region, pooled in self.unread_charges.pop(key, {}).items():
            self.segments[key].read(
                Region.from_data(json.loads(region)), pooled.arms, pure_bounds_orders=pooled.pure_bounds_orders
            )

    def raise_to(self, guarantee: Guarantee) -> None:
        """A larger limit. What was lost stays lost."""
        check_rise(self.guarantee, guarantee)
        self.guarantee = guarantee

    def correct(self, guarantee: Guarantee, *, seq: int) -> None:
        """Another limit, larger or smaller; `LedgerState` decides when that may be."""
        self.guarantee, self.corrected, self.seq = guarantee, seq, seq

    def fits_counted_double(self) -> bool:
        """Whether all that was charged so far stays within the limit if neighbours change one unit."""
        limits = (_ZERO_LIMITS if self.open_guarantee is None else self.open_guarantee.limits).for_changes()
        arms = zip(self.total.arms, limits.arms, strict=True)
        return self.delta <= limits.delta_keys and any(limit is not None and spent <= limit for spent, limit in arms)

    def seal(self, guarantee: Guarantee) -> None:
        """Close the filter in use: all of `guarantee` counts as spent, and its history is not read again."""
        check_rise(guarantee, self.guarantee)
        self.sealed, self.segments, self.segment_seqs, self.unread_charges = guarantee, {}, {}, {}
        self.delta, self.used = 0, FULL

    def remaining_by_arm(self) -> RemainingByArm:
        """What plain addition still allows."""
        pure, rho, *orders = (
            max(0, (limit or 0) - spent) for limit, spent in zip(self.limits.arms, self.total.arms, strict=True)
        )
        return RemainingByArm(pure=pure, rho=rho, orders=tuple(orders))

    def status(self) -> AccountStatus:
        """Limit, spent, remaining.

        Epsilon is the smallest that an arm implies; delta is what thresholds have spent, and the rest of the limit's
        as soon as the bound on epsilon rests on an arm other than the pure one.
        """
        limit = Amount(epsilon=self.guarantee.epsilon, delta=self.guarantee.delta)
        spent = self._spent()
        remaining = Amount(epsilon=limit.epsilon - spent.epsilon, delta=limit.delta - spent.delta)
        return AccountStatus(
            limit=limit,
            spent=spent,
            remaining=remaining,
            charges=self.charges,
            by_analyst=self.by_analyst(),
            limits=self.limits,
            room=self.remaining_by_arm(),
        )

    def epsilon_moved(self, key: SegmentKey, decision: Decision) -> Fraction | None:
        """How far a charge would raise the epsilon that is spent; None where no arm can take it at all.

        The costs of all charges under one limit add up to what is spent. Of a charge that is not accepted, what goes
        beyond the limit counts too, so that a refusal can say by how much.
        """
        if decision.accepted:
            segments = {**self.segments, key: Segment(balance=decision.balance)}
            after_it = replace(self, segments=segments, delta=decision.delta)
            return max(Fraction(0), after_it._spent().epsilon - self._spent().epsilon)
        opened = self.open_guarantee
        others = [segment.balance for name, segment in self.segments.items() if name != key]
        before = None if opened is None else self._implied(opened, self.total)
        after = None if opened is None else self._implied(opened, sum_balances([*others, decision.balance]))
        return None if before is None or after is None else max(Fraction(0), after - before)

    def pay(self, analyst: str, price: Fraction) -> None:
        """Count to an analyst what a charge cost the budget."""
        units = -(-price.numerator * EPSILON_UNITS // price.denominator)
        self.paid[analyst] = self.paid.get(analyst, 0) + units
        if EPSILON_UNITS % price.denominator:
            more = Fraction(units, EPSILON_UNITS) - price
            self.rounded_up[analyst] = self.rounded_up.get(analyst, Fraction(0)) + more

    def by_analyst(self) -> dict[str, Fraction]:
        """What the charges of each named analyst cost the budget, exactly."""
        return {
            analyst: Fraction(units, EPSILON_UNITS) - self.rounded_up.get(analyst, 0)
            for analyst, units in self.paid.items()
        }

    def paid_by(self, analyst: str | None) -> Fraction:
        """The sum of the prices that an analyst paid, under any spelling of their name: capitals make nobody new."""
        name = (analyst or "").casefold()
        return sum((paid for who, paid in self.by_analyst().items() if who.casefold() == name), Fraction(0))

    def _spent(self) -> Amount:
        opened, sealed = self.open_guarantee, self.sealed
        if opened is None:
            return Amount(epsilon=self.guarantee.epsilon, delta=self.guarantee.delta)
        times, total = 2 if self.invariant else 1, self.total
        implied = self._implied(opened, total)
        epsilon = opened.epsilon if implied is None else min(opened.epsilon, implied)
        if self.remaining_by_arm().is_empty:
            epsilon = opened.epsilon  # the conversion, on its grid, stops just short of the limit
        pure = min(UNBOUNDED, times * total.pure)
        by_pure = opened.accounting != "zcdp" and Fraction(pure, EPSILON_UNITS) <= epsilon
        delta = min(Fraction(times * self.delta, DELTA_UNITS), opened.keys)
        if total.rho > 0 and not by_pure:  # an arm may imply an epsilon of 0, at its delta
            delta += opened.delta_noise
        if sealed is not None:
            epsilon, delta = epsilon + sealed.epsilon, delta + sealed.delta
        return Amount(epsilon=epsilon, delta=delta)

    def _implied(self, opened: Guarantee, total: Balance) -> Fraction | None:
        """The epsilon that a total implies; counted double, and by two arms alone, once exact totals were published."""
        times = 2 if self.invariant else 1
        return opened.implied_epsilon(
            pure=min(UNBOUNDED, times * total.pure),
            rho=min(UNBOUNDED, times**2 * total.rho),
            orders=None if self.invariant else total.orders,
        )


def check_rise(old: Guarantee, new: Guarantee) -> None:
    """A grant may only raise: each part of it, so that no charge made before falls outside."""
    if new.accounting != old.accounting:
        raise UsageError(f"a grant cannot change the accounting from {old.accounting!r} to {new.accounting!r}")
    if new.epsilon < old.epsilon or new.keys < old.keys or new.delta_noise < old.delta_noise:
        raise UsageError(
            f"a grant can only raise a limit; it is epsilon {exact.show(old.epsilon)}, delta {exact.show(old.delta)}"
        )


def larger_guarantee(one: Guarantee, other: Guarantee) -> Guarantee:
    """The larger of two guarantees, part by part."""
    keys = max(one.keys, other.keys)
    return Guarantee(
        epsilon=max(one.epsilon, other.epsilon),
        delta=keys + max(one.delta_noise, other.delta_noise),
        delta_keys=keys,
        accounting=one.accounting,
    )


def smaller_guarantee(one: Guarantee, other: Guarantee) -> Guarantee:
    """The smaller of two guarantees, part by part; pure, without delta, where the parts make none together."""
    epsilon, keys = min(one.epsilon, other.epsilon), min(one.keys, other.keys)
    delta = keys + min(one.delta_noise, other.delta_noise)
    try:
        return Guarantee(epsilon=epsilon, delta=delta, delta_keys=keys, accounting=one.accounting)
    except UsageError:
        return Guarantee(epsilon=epsilon, delta_keys=Fraction(0), accounting="pure")


def check_balance_step(old: Balance, cost: Cost, inside: Balance, new: Balance) -> None:
    """A balance must follow from the one before, the cost and the bounds that were certified when it was made."""
    whole = all(type(bound) is int and bound >= 0 for bound in inside.arms)
    if not whole or new != book_balance(old, cost, inside):
        raise ValueError("a balance does not follow from the one before it")


def _guarantee_beyond_sealed(new: Guarantee, sealed: Guarantee) -> Guarantee | None:
    """What was granted beyond a sealed guarantee; None where that is not enough for any filter."""
    try:
        return Guarantee(
            epsilon=new.epsilon - sealed.epsilon,
            delta=new.delta - sealed.delta,
            delta_keys=new.keys - sealed.keys,
            accounting=new.accounting,
        )
    except UsageError:
        return None
