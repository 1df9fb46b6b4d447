"""The filters: may this charge be made? docs/proofs/filters.md proves the rule.

Losses are counted in several arms at once: the pure sum of epsilons, zCDP's rho, and Rényi divergences at a few orders.

A population's history is kept in segments, one for each version of each of its tables. Inside a
segment, what counts is the most loaded *possible record*; across segments nothing ties a record
here to a record there, so maxima add. A charge is accepted if the delta spent on keys stays within
its limit and either

- only this segment has ever been charged, and every possible record x in the question's region keeps
  loss(x) + cost <= limit  in one of the arms (which one may differ from record to record), or
- one and the same arm holds for the sum over segments of their certified maxima.

All numbers are whole units. The rule reads regions and losses, never data.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from discreet import exact
from discreet.accounting.events import Loss
from discreet.accounting.guarantee import FilterLimits
from discreet.accounting.overlap import Overlap
from discreet.accounting.region import Region
from discreet.accounting.renyi import ORDERS
from discreet.exact import DELTA_UNITS, EPSILON_UNITS, RHO_UNITS, UNBOUNDED

#: Nodes of the search for a decision, and for tightening what is booked. Never a clock: a decision
#: must not depend on how busy the machine is.
DECISION_NODES = 1024
BOOKING_NODES = 64

#: The whole of a limit, in the unit of `Decision.used`.
FULL = 10**12

#: The arms, in the order of every vector; a decision names the one that holds for everybody, or JOINT.
ARMS = ("pure", "rho", *(f"order {order}" for order in ORDERS))
JOINT = "joint"

_NO_LOSS = (0,) * len(ORDERS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """A loss in the ledger's units, rounded up. `pure` is UNBOUNDED where there is no pure bound.

    `orders` is by default what `pure` and `rho` imply.
    """

    pure: int
    rho: int
    delta: int
    orders: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if not self.orders:
            most = UNBOUNDED if self.pure >= UNBOUNDED else self.pure * (RHO_UNITS // EPSILON_UNITS)
            object.__setattr__(self, "orders", tuple(min(most, order * self.rho) for order in ORDERS))

    @property
    def arms(self) -> tuple[int, ...]:
        """The loss in every arm."""
        return (self.pure, self.rho, *self.orders)

    @property
    def pure_bounds_orders(self) -> bool:
        """Whether the loss at no order is larger than the pure one."""
        return self.pure >= UNBOUNDED or max(self.orders) <= self.pure * (RHO_UNITS // EPSILON_UNITS)

    @staticmethod
    def of(loss: Loss) -> Cost:
        """The whole units that cover a loss.

        >>> from fractions import Fraction
        >>> cost = Cost.of(Loss(epsilon=Fraction(1, 3), rho=Fraction(1, 18)))
        >>> cost.pure, cost.rho, cost.delta
        (333333334, 55555555556, 0)
        """
        return Cost(
            pure=UNBOUNDED if loss.epsilon is None else exact.units_up(loss.epsilon, EPSILON_UNITS),
            rho=exact.units_up(loss.rho, RHO_UNITS),
            delta=exact.units_up(loss.delta, DELTA_UNITS),
            orders=tuple(exact.units_up(order, RHO_UNITS) for order in loss.orders),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Balance:
    """What one segment has spent: certified bounds on the fullest record, and the plain sums."""

    pure: int = 0
    rho: int = 0
    pure_sum: int = 0
    rho_sum: int = 0
    orders: tuple[int, ...] = _NO_LOSS
    order_sums: tuple[int, ...] = _NO_LOSS

    @property
    def arms(self) -> tuple[int, ...]:
        """The bound on the fullest record in every arm."""
        return (self.pure, self.rho, *self.orders)

    @property
    def sums(self) -> tuple[int, ...]:
        """The plain sum in every arm."""
        return (self.pure_sum, self.rho_sum, *self.order_sums)

    @staticmethod
    def of(arms: Sequence[int], sums: Sequence[int] | None = None) -> Balance:
        """A balance of these bounds and sums."""
        pure_sum, rho_sum, *order_sums = sums or (0,) * len(ARMS)
        pure, rho, *orders = arms
        return Balance(
            pure=pure,
            rho=rho,
            pure_sum=pure_sum,
            rho_sum=rho_sum,
            orders=tuple(orders),
            order_sums=tuple(order_sums),
        )


def sum_costs(costs: Sequence[Cost]) -> Cost:
    """Several charges of the same people as one, each rounded up by itself, as the ledger books them."""
    pure, rho, *orders = (add_losses(*losses) for losses in zip(*(cost.arms for cost in costs), strict=True))
    return Cost(pure=pure, rho=rho, delta=sum(cost.delta for cost in costs), orders=tuple(orders))


def sum_balances(balances: Iterable[Balance]) -> Balance:
    """Balances of several segments together: maxima add, because nothing ties a record here to one there."""
    every = list(balances)
    if not every:
        return Balance()
    return Balance.of(
        [add_losses(*losses) for losses in zip(*(balance.arms for balance in every), strict=True)],
        [add_losses(*losses) for losses in zip(*(balance.sums for balance in every), strict=True)],
    )


@dataclass(slots=True)
class Segment:
    """One version of one table: its balance and the history behind it."""

    balance: Balance = field(default_factory=Balance)
    overlap: Overlap = field(default_factory=Overlap)
    #: Whether the pure sum bounds the sums at the orders. A refinement adds less to it than to them.
    pure_bounds_orders: bool = True

    def book(self, region: Region, cost: Cost, balance: Balance) -> None:
        """Append a charge that was decided before."""
        self.read(region, cost.arms, pure_bounds_orders=cost.pure_bounds_orders)
        self.balance = balance

    def read(self, region: Region, losses: Sequence[int], *, pure_bounds_orders: bool) -> None:
        """Append the losses of one or several charges of a region, whose balance is known."""
        self.overlap.add(region, losses)
        self.pure_bounds_orders = self.pure_bounds_orders and pure_bounds_orders


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """Accepted or not, by which arm, and what to book. `used` is the certified share of the limit.

    `inside` holds the certified bounds U on what any record of the region had lost before, in each arm.
    """

    accepted: bool
    arm: str | None
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
    elsewhere = sum_balances(segment.balance for name, segment in segments.items() if name != key).arms
    alone = not any(elsewhere) and not one_arm
    rooms = tuple(map(_room, limits.arms, elsewhere, cost.arms))
    arm, nodes = _choose_arm(here, rooms, alone=alone, region=region, cost=cost)
    inside = _inside(here, rooms, limits, region=region, arm=arm) if booking else here.balance
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
    here: Segment, rooms: Sequence[int | None], *, alone: bool, region: Region, cost: Cost
) -> tuple[str | None, int]:
    """The first arm that holds for everybody, by plain addition or by a search; else, in a lone segment, one for each
    record.

    Not alone: the same arm must hold for every record here, not only in the region.
    """
    nodes = 0
    open_arms = [
        number
        for number, (room, spent, loss) in enumerate(zip(rooms, here.balance.arms, cost.arms, strict=True))
        if room is not None and (alone or spent <= room + loss)
    ]
    for number in open_arms:
        if here.balance.arms[number] <= (rooms[number] or 0):
            return ARMS[number], nodes  # plain addition is within
        if alone and number:
            continue  # the search below looks at all arms at once; the pure one comes first, because it ends none
        only = [room if each == number else None for each, room in enumerate(rooms)]
        verdict = here.overlap.within(region, only, nodes=DECISION_NODES)
        nodes += verdict.nodes
        if verdict.within:
            return ARMS[number], nodes
    if alone and any(open_arms):
        verdict = here.overlap.within(region, rooms, nodes=DECISION_NODES)
        nodes += verdict.nodes
        if verdict.within:
            return JOINT if len(open_arms) > 1 else ARMS[open_arms[0]], nodes
    return None, nodes


def _inside(
    here: Segment, rooms: Sequence[int | None], limits: FilterLimits, *, region: Region, arm: str | None
) -> Balance:
    """U: certified bounds on what any record of the region has lost so far, in each arm."""
    pure, rho = (
        here.overlap.largest(region, arm=number, nodes=BOOKING_NODES).upper if spent else 0
        for number, spent in enumerate((here.balance.pure, here.balance.rho))
    )
    # What pure and rho imply at an order holds too; in a mixed history the orders' own bounds are smaller.
    implying = pure if here.pure_bounds_orders else UNBOUNDED
    inside = [pure, rho, *Cost(pure=implying, rho=rho, delta=0).orders]
    if any(here.balance.orders) and any(limit is not None for limit in limits.orders):
        orders = here.overlap.upper_bounds(region, range(2, len(ARMS)))
        inside[2:] = map(min, inside[2:], orders)
    for number, room in enumerate(rooms):
        if ARMS[number] == arm and room is not None:
            inside[number] = min(inside[number], room)  # the decision proved it
    return Balance.of(inside)


def book_balance(old: Balance, cost: Cost, inside: Balance) -> Balance:
    """spent' = min(spent + loss, max(spent, U + loss)): never falls, never worse than addition.

    >>> spent, cost = Balance(pure=5, rho=5, pure_sum=9, rho_sum=9), Cost(pure=2, rho=2, delta=0)
    >>> booked = book_balance(spent, cost, Balance(pure=1, rho=4))
    >>> booked.pure, booked.rho, booked.pure_sum, booked.rho_sum
    (5, 6, 11, 11)
    """
    losses = zip(old.arms, cost.arms, inside.arms, strict=True)
    return Balance.of(
        [min(add_losses(spent, loss), max(spent, add_losses(most, loss))) for spent, loss, most in losses],
        [add_losses(spent, loss) for spent, loss in zip(old.sums, cost.arms, strict=True)],
    )


def _used(balance: Balance, elsewhere: Sequence[int], limits: FilterLimits, *, certified: bool) -> int:
    """The share of the limit that is certainly not exceeded, rounded up; above FULL means over."""
    shares = [FULL] if certified else []
    for here, others, limit in zip(balance.arms, elsewhere, limits.arms, strict=True):
        spent = add_losses(here, others)
        if limit is not None and spent < UNBOUNDED:
            shares.append(-(-spent * FULL // limit) if limit else FULL + 1)
    return min([*shares, FULL + 1])


def _room(limit: int | None, elsewhere: int, loss: int) -> int | None:
    """What a record may hold already; None when the arm is off or has no room at all."""
    if limit is None or loss >= UNBOUNDED or elsewhere + loss > limit:
        return None
    return limit - elsewhere - loss


def add_losses(*parts: int) -> int:
    """A sum that stops at UNBOUNDED."""
    return min(UNBOUNDED, sum(parts))
