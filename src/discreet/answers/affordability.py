"""What a budget still holds: hints for a question that is refused, and how many more counts there are."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache

from discreet import exact
from discreet.accounting import events
from discreet.accounting.events import LaplaceEvent, Loss
from discreet.accounting.filter import Cost
from discreet.accounting.guarantee import FilterLimits
from discreet.accounting.renyi import ORDERS, pure_loss
from discreet.answers.query_quote import QueryQuote, QueryWish, account_of, budget_cost, quote_with_law, width_of
from discreet.errors import BudgetExceeded, Flag, Message, UsageError
from discreet.ledger.account import RemainingByArm
from discreet.ledger.ledger import Ledger
from discreet.ledger.refusal import charge_refusal as exceeded
from discreet.mechanisms.gaussian import DiscreteGaussian
from discreet.mechanisms.laplace import DiscreteLaplace
from discreet.plan.price import Law, cheapest_epsilon

#: Where 5% of a Laplace law, and of a normal one, lie beyond: in scales. They only say where a search begins.
LOG_20, NORMAL_95 = math.log(20), 1.959964


def budget_refusal(quoted: QueryQuote, wish: QueryWish, ledger: Ledger) -> BudgetExceeded:
    """The refusal of a question that the budget does not hold, as a charge would give it."""
    account, cost = account_of(quoted, ledger), Cost.of(events.loss(quoted.price.event))
    error = exceeded(account, cost, quoted.decision, budget_cost(quoted, ledger))
    smaller_delta = Message("a smaller ", Flag("delta"))
    error.hint = smaller_delta if error.binding == "keys" else affordable_hint(quoted, wish, ledger)
    return error


def affordable_hint(quoted: QueryQuote, wish: QueryWish, ledger: Ledger) -> str:
    """A hint: what the same question could still get, if anything."""
    version = quoted.version
    left = ledger.remaining_by_arm(version.population, guarantee=quoted.guarantee)
    epsilon = largest_question(left)
    if epsilon <= 0:
        return "query a group that nobody has queried yet, or ask the owner to grant more"
    cheap = QueryWish(epsilon=epsilon, confidence=wish.confidence, delta=wish.delta)
    try:
        cheaper_price = quote_with_law(
            quoted.query, cheap, version, quoted.guarantee, ledger, gaussian=quoted.guarantee.accounting == "zcdp"
        ).price
        widths = [width_of(cheaper_price, output, wish.confidence) for output in quoted.query.outputs]
        width = max((each for each in widths if each is not None), default=None)
    except UsageError:
        width = None
    width_text = "" if width is None else f"; each number within ±{exact.show(width, up=True)}"
    return Message(
        Flag("epsilon", exact.show(epsilon)),
        f" (this fits the remaining budget for a query about everybody{width_text}), or query a group that nobody has "
        "queried yet",
    )


def largest_question(room: RemainingByArm) -> Fraction:
    """The largest epsilon of one more count of everybody, rounded down; 0 where the budget has no room.

    Guarantee: any question of this --epsilon whose delta for keys fits is accepted. (One above it may be, too: where it
        chooses, or measures several things, and so costs less; or where nobody has lost most in every arm.)
    Because: it costs at most epsilon in the pure arm, epsilon^2 / 2 in the zCDP one and `renyi.pure_loss` at an order,
        and one of them has that much room by plain addition.

    >>> largest_question(RemainingByArm(pure=exact.EPSILON_UNITS, rho=2 * exact.RHO_UNITS))  # rho 2 is epsilon^2 / 2
    Fraction(2, 1)
    """
    best = max(_by_pure(room), _by_rho(room))
    for order, left in zip(ORDERS, room.orders, strict=True):
        best = _by_order(order, left, best)
    return min(Fraction(best, 10**6), exact.MAX_QUESTION_EPSILON)


def _by_pure(room: RemainingByArm) -> int:
    """The epsilon that the pure filter holds, in millionths."""
    return room.pure * 10**6 // exact.EPSILON_UNITS


def _by_rho(room: RemainingByArm) -> int:
    """The epsilon that the zCDP filter holds, in millionths: the largest whose square is at most twice the rho."""
    return math.isqrt(2 * room.rho * 10**12 // exact.RHO_UNITS)


def _by_order(order: int, left: int, best: int) -> int:
    """The epsilon that an arm of this order holds, in millionths, if that is more than `best`."""

    def fits(millionths: int) -> bool:
        return exact.units_up(pure_loss(Fraction(millionths, 10**6), order), exact.RHO_UNITS) <= left

    # An order's loss is at most epsilon, and at least epsilon less ln(2) / (order - 1).
    low, high = best, (left * 10**6 // exact.RHO_UNITS) + 10**6 // (order - 1) + 1
    if high <= low or not fits(low + 1):
        return best
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return low


def counts_left(limits: FilterLimits, room: RemainingByArm, *, width: int, rows: int = 1) -> int:
    """How many more counts of everybody, each within `width` at 95%, the budget holds."""
    rooms = (room.pure, room.rho, *room.orders)
    numbers = [0]
    for gaussian in (False, True):
        if gaussian and limits.rho is None:
            continue
        epsilon = epsilon_of_a_count(rows, width, gaussian=gaussian)
        each = Cost.of(
            Loss(epsilon=None, rho=epsilon**2 / 2)
            if gaussian
            else events.loss(LaplaceEvent(scale=rows / epsilon, l1=rows))
        )
        numbers += [
            left // loss for limit, left, loss in zip(limits.arms, rooms, each.arms, strict=True) if limit is not None
        ]
    return max(numbers)


@cache
def epsilon_of_a_count(rows: int, width: int, *, gaussian: bool) -> Fraction:
    """The cheapest epsilon of a count that is within `width` at 95%, where a person has at most `rows` rows.

    >>> epsilon_of_a_count(1, 50, gaussian=False), epsilon_of_a_count(1, 50, gaussian=True)
    (Fraction(59313, 1000000), Fraction(9703, 250000))
    """

    def within(epsilon: Fraction) -> bool:
        try:
            law: Law = (
                DiscreteGaussian(sigma2=rows**2 / epsilon**2) if gaussian else DiscreteLaplace(scale=rows / epsilon)
            )
        except UsageError:
            return False
        return law.tail(width) <= Fraction(5, 100)

    # Of the continuous law, half a step farther out: ln 20 and the normal quantile.
    near = rows * (NORMAL_95 if gaussian else LOG_20) / (width + 0.5)
    return cheapest_epsilon(within, width=Fraction(width), near=near)
