"""The guarantee: the only budget type. A budget is a guarantee used as a limit."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Literal, get_args

from discreet import exact
from discreet.accounting.renyi import ORDERS, conversion_cost
from discreet.accounting.zcdp_conversion import epsilon_from_rho, rho_from_epsilon
from discreet.errors import UsageError
from discreet.exact import DELTA_UNITS, EPSILON_UNITS, MAX_BUDGET_EPSILON, RHO_UNITS

#: Which arms may accept a charge, where one suffices: all of them (pure, zCDP and each of `ORDERS`), pure and zCDP (as
#: in ledgers before 0.2), the pure sum alone, or zCDP alone.
Accounting = Literal["renyi", "either", "pure", "zcdp"]

#: How the delta that is not for keys is shared if all arms are on: most to zCDP, which serves histories of one kind of
#: noise, the rest evenly to the orders, which serve mixed ones. Found by measuring (RESULTS.md, accounting).
ZCDP_SHARE = Fraction(3, 4)
ORDER_SHARE = (1 - ZCDP_SHARE) / len(ORDERS)


#: From this epsilon on a limit protects little (decision 60).
LARGE_EPSILON = Fraction(10)


def large_limit_sentence(epsilon: Fraction | None) -> str | None:
    """What to say of a limit that is too large to mean much; None where it is not.

    >>> large_limit_sentence(Fraction(3)) is None
    True
    >>> print(large_limit_sentence(Fraction(10)))
    epsilon 10 is certainly not good: one person's data may change the odds of what is believed about that person by a \
factor of e^10, which is about 22,026
    """
    if epsilon is None or epsilon < LARGE_EPSILON:
        return None
    digits = float(epsilon) / math.log(10)
    factor = f"{math.exp(epsilon):,.0f}" if digits < 9 else f"1 followed by {int(digits)} zeros"
    return (
        f"epsilon {exact.show(epsilon)} is certainly not good: one person's data may change the odds of what is "
        f"believed about that person by a factor of e^{exact.show(epsilon)}, which is about {factor}"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterLimits:
    """A guarantee in the ledger's integer units, rounded down. None: that arm is off."""

    pure: int | None
    rho: int | None
    delta_keys: int
    orders: tuple[int | None, ...] = (None,) * len(ORDERS)

    @property
    def arms(self) -> tuple[int | None, ...]:
        """The limits of all arms: pure, rho, then the orders."""
        return (self.pure, self.rho, *self.orders)

    def for_changes(self) -> FilterLimits:
        """The same limits where neighbours change one unit, for losses that are counted by adding or removing one.

        Because: changing a unit is removing one and adding one; pure losses double, rho counts four times (the square
        of two steps), delta for keys twice (docs/proofs/filters.md, invariants). The orders are off: two steps at one
        order are bounded by larger orders only.
        """
        return FilterLimits(
            pure=None if self.pure is None else self.pure // 2,
            rho=None if self.rho is None else self.rho // 4,
            delta_keys=self.delta_keys // 2,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Guarantee:
    """(epsilon, delta) for the people of one population.

    delta is split once: `delta_keys` for thresholds, the rest for converting rho and the losses at Rényi orders.
    """

    epsilon: Fraction
    delta: Fraction = Fraction(0)
    delta_keys: Fraction | None = None
    accounting: Accounting = "renyi"

    def __post_init__(self) -> None:
        if not 0 < self.epsilon <= MAX_BUDGET_EPSILON:
            raise UsageError(
                f"a budget's epsilon must be above 0 and at most {exact.show(MAX_BUDGET_EPSILON)}, "
                f"got {exact.show(self.epsilon)}"
            )
        exact.probability(self.delta, name="delta")
        if self.accounting not in get_args(Accounting):
            raise UsageError(f"accounting must be 'renyi', 'either', 'pure' or 'zcdp', got {self.accounting!r}")
        if self.accounting == "zcdp" and self.delta_rho == 0:
            raise UsageError("accounting = 'zcdp' needs a delta above 0 to convert rho")
        if not 0 <= self.keys <= self.delta:
            raise UsageError("delta_keys must be between 0 and delta")
        if 0 < self.delta_rho < exact.MIN_DELTA / 10**3:
            raise UsageError("delta_keys leaves too little delta for converting rho to epsilon")

    @property
    def keys(self) -> Fraction:
        """The delta set aside for thresholds."""
        if self.delta_keys is not None:
            return self.delta_keys
        return self.delta if self.accounting == "pure" else self.delta / 2

    @property
    def delta_noise(self) -> Fraction:
        """The delta that is not for thresholds."""
        return self.delta - self.keys

    @property
    def delta_rho(self) -> Fraction:
        """The delta set aside for converting rho."""
        return self.delta_noise * (ZCDP_SHARE if self.accounting == "renyi" else 1)

    @property
    def delta_order(self) -> Fraction:
        """The delta set aside for each Rényi order."""
        return self.delta_noise * (ORDER_SHARE if self.accounting == "renyi" else 0)

    @property
    def limits(self) -> FilterLimits:
        """The integer limits of all arms.

        >>> Guarantee(epsilon=Fraction(3)).limits
        FilterLimits(pure=3000000000, rho=None, delta_keys=0, orders=(None, None, None, None))
        """
        return _limits_of(self)

    def implied_epsilon(self, *, pure: int, rho: int, orders: tuple[int, ...] | None = None) -> Fraction | None:
        """The smallest epsilon that some arm implies, given bounds on the sums of all arms; None: no arm implies any.

        Because: min over arms of the maximum bounds the maximum of the minimum.
        """
        return _implied_epsilon(self, pure, rho, orders)

    def to_data(self) -> dict[str, str]:
        """The guarantee as JSON data."""
        return {
            "epsilon": exact.write(self.epsilon),
            "delta": exact.write(self.delta),
            "delta_keys": exact.write(self.keys),
            "accounting": self.accounting,
        }

    @staticmethod
    def from_data(data: dict[str, str]) -> Guarantee:
        """The guarantee that `to_data` wrote."""
        return Guarantee(
            epsilon=exact.read(data["epsilon"]),
            delta=exact.read(data["delta"]),
            delta_keys=exact.read(data["delta_keys"]),
            accounting=data["accounting"],  # type: ignore[arg-type]
        )


@lru_cache(maxsize=256)
def _limits_of(guarantee: Guarantee) -> FilterLimits:
    """The limits of a guarantee, which are needed several times for each price."""
    wants_rho = guarantee.accounting != "pure" and guarantee.delta_rho > 0
    rho = rho_from_epsilon(guarantee.epsilon, guarantee.delta_rho) if wants_rho else None
    return FilterLimits(
        pure=None if guarantee.accounting == "zcdp" else _limit(guarantee.epsilon, EPSILON_UNITS),
        rho=None if rho is None else _limit(rho, RHO_UNITS),
        delta_keys=exact.units_down(guarantee.keys, DELTA_UNITS),
        orders=tuple(_order_limit(guarantee, order) for order in ORDERS),
    )


def _order_limit(guarantee: Guarantee, order: int) -> int | None:
    """The largest loss at an order, in whole units, that implies (epsilon, its share of delta)-DP."""
    if not guarantee.delta_order:
        return None
    most = guarantee.epsilon - conversion_cost(order, guarantee.delta_order)
    return _limit(most, RHO_UNITS) if most > 0 else None


def _limit(most: Fraction, units: int) -> int:
    """A limit in whole units. A sum that has stopped at UNBOUNDED is within none."""
    return min(exact.units_down(most, units), exact.UNBOUNDED - 1)


@lru_cache(maxsize=4096)
def _implied_epsilon(guarantee: Guarantee, pure: int, rho: int, orders: tuple[int, ...] | None) -> Fraction | None:
    bounds = []
    if guarantee.accounting != "zcdp" and pure < exact.UNBOUNDED:
        bounds.append(Fraction(pure, EPSILON_UNITS))
    if guarantee.accounting != "pure" and guarantee.delta_rho > 0:
        bounds.append(epsilon_from_rho(Fraction(rho, RHO_UNITS), guarantee.delta_rho))
    if guarantee.delta_order and orders is not None:
        for order, loss in zip(ORDERS, orders, strict=True):
            extra = conversion_cost(order, guarantee.delta_order)
            bounds.append(max(Fraction(0), Fraction(loss, RHO_UNITS) + extra) if loss else Fraction(0))
    return min(bounds, default=None)
