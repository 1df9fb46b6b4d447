"""The largest question that a budget holds whoever it asks about, by plain addition."""

from __future__ import annotations

import math
from fractions import Fraction

from discreet import exact
from discreet.accounting.renyi import ORDERS, pure_loss
from discreet.ledger.account import RemainingByArm


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
