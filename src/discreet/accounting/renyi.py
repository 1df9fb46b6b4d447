"""Rényi divergences of certain orders: what a mechanism costs there, and what such a loss implies.

D_a(P || Q) = ln(E_Q[(P / Q)^a]) / (a - 1) for an order a > 1; a mechanism has the loss t at order a if D_a of its
outputs on any two neighbours, either way round, is at most t. Losses of steps that are chosen as one goes add up.

The orders are fixed for good, because a ledger keeps its sums in them. Four, each three times the one before, serve
mixed histories as well as six did, within a tenth of a percent (benchmarks/RESULTS.md, accounting).

Every number that leaves is a proved bound, rounded to the safe side.
"""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise

from discreet import exact

#: The orders in which a ledger keeps sums.
ORDERS = (8, 24, 72, 216)

#: Fifty digits, every sum, product and quotient rounded to one side. (Decimals, because a ledger has many events.)
_UP, _DOWN = (Context(prec=50, rounding=side, Emin=-(10**6), Emax=10**6) for side in (ROUND_CEILING, ROUND_FLOOR))
_TINY = Decimal("1e-86")  # more than e^-200


@lru_cache(maxsize=4096)
def pure_loss(epsilon: Fraction, order: int) -> Fraction:
    """What any epsilon-DP mechanism costs at an order, rounded up: epsilon - (ln(1 + e^-epsilon) -
    ln(1 + e^-(2 order - 1) epsilon)) / (order - 1).

    Because: two laws whose densities differ by at most e^epsilon are both made out of one randomized response, which
        says the truth with probability e^epsilon / (1 + e^epsilon), by a map that does not look at the data (Kairouz,
        Oh and Viswanath 2015); and no map makes a divergence larger. For that response E_Q[(P / Q)^a] is
        cosh((a - 1/2) epsilon) / cosh(epsilon / 2).

    >>> exact.show(pure_loss(Fraction(1), 8), up=True)
    '0.955249'
    """
    far = _UP.add(1, _power(-(2 * order - 1) * epsilon, up=True))
    near = _DOWN.add(1, _power(-epsilon, up=False))
    fall = _UP.divide(_UP.subtract(_ln(far, up=True), _ln(near, up=False)), order - 1)
    return min(epsilon, epsilon + Fraction(fall))


@lru_cache(maxsize=4096)
def laplace_loss(scale: Fraction, l1: int, order: int) -> Fraction:
    """What discrete Laplace noise of `scale` on integers at l1 distance at most `l1` costs at an order, rounded up.

    Because: with q = e^(-1/scale) and r = q^(2a - 1), summing q^(a |k| + (1 - a) |k - d|) over k gives for one number
        that moves by d

            E_Q[(P / Q)^a] = A e^((a - 1) d / scale) + (1 - A) e^(-a d / scale),
            A = (1 + (1 - q) r / (1 - r)) / (1 + q).

        Its logarithm is convex in d (a sum of exponentials), 0 at d = 0 and nowhere below 0. So it never falls, and the
        sum over several numbers is at most that of one number that moves by all of their distances together.

    One step on whole numbers (l1 = 1) is randomized response itself; many small steps come near to continuous noise.

    >>> laplace_loss(Fraction(2), 1, 8) - pure_loss(Fraction(1, 2), 8) < Fraction(1, 10**40)
    True
    >>> exact.show(laplace_loss(Fraction(1000), 1000, 8), up=True)
    '0.910199'
    """
    odd, epsilon = 2 * order - 1, Fraction(l1) / scale
    if l1 == 1:
        return pure_loss(epsilon, order)
    low, inner = _power(-1 / scale, up=False), _power(-odd / scale, up=True)
    if inner >= 1:
        return pure_loss(epsilon, order)
    beyond = _UP.divide(_UP.multiply(_UP.subtract(1, low), inner), _DOWN.subtract(1, inner))
    share = min(Decimal(1), _UP.divide(_UP.add(1, beyond), _DOWN.add(1, low)))
    rest = _UP.multiply(_UP.subtract(1, share), _power(-odd * epsilon, up=True))
    fall = _UP.divide(_ln(_UP.add(share, rest), up=True), order - 1)
    return min(pure_loss(epsilon, order), epsilon + Fraction(fall))


#: A range of losses is cut into so many parts, each bounded by its ends.
_PARTS = 32


@lru_cache(maxsize=4096)
def refined_loss(earlier: Fraction, scale: Fraction, l1: int, order: int) -> Fraction:
    """What an answer with noise of `scale` costs at an order given the answer of scale `earlier` that it refines (see
    docs/proofs/instalments.md), on integers at l1 distance at most `l1`; rounded up.

    Because: given the first answer, whose log likelihood ratio is some (2 j - l1) / earlier, that of the second lies
        between -l1 / scale and l1 / scale, each less that of the first; and of all ratios in a range whose mean is 1,
        that at the two ends alone has the largest divergence, which grows with the range.

    >>> exact.show(refined_loss(Fraction(10), Fraction(5), 1, 8), up=True)
    '0.142444'
    """
    most = l1 / scale
    if l1 <= _PARTS:
        ends = [(place, place) for place in (Fraction(2 * j - l1) / earlier for j in range(l1 + 1))]
    else:
        edges = [Fraction(2 * part - _PARTS, _PARTS) * l1 / earlier for part in range(_PARTS + 1)]
        ends = list(pairwise(edges))
    return max(_two_point_loss(most + high, most - low, order) for low, high in ends)


def _two_point_loss(below: Fraction, above: Fraction, order: int) -> Fraction:
    """The divergence where a log likelihood ratio of mean 1 is -below or above, rounded up: above +
    ln((1 - e^-below + (1 - e^-above) e^-(order below + (order - 1) above)) / (1 - e^-(below + above))) / (order - 1).
    """
    rest = _UP.multiply(
        _UP.subtract(1, _power(-above, up=False)), _power(-(order * below + (order - 1) * above), up=True)
    )
    over = _UP.add(_UP.subtract(1, _power(-below, up=False)), rest)
    share = _UP.divide(over, _DOWN.subtract(1, _power(-(below + above), up=True)))
    return min(above, above + Fraction(_UP.divide(_ln(share, up=True), order - 1)))


@lru_cache(maxsize=4096)
def _power(value: Fraction, *, up: bool) -> Decimal:
    """A bound on e to the `value`, which is at most 0. What is smaller than e^-200 is between 0 and that.

    Because: `exp` is rounded to the nearest whatever the context says, so one step outward is a bound.
    """
    context = _UP if up else _DOWN
    if value < -200:
        return _TINY if up else Decimal(0)
    power = context.divide(Decimal(value.numerator), Decimal(value.denominator)).exp(context)
    return context.next_plus(power) if up else context.next_minus(power)


def _ln(value: Decimal, *, up: bool) -> Decimal:
    """A bound on the natural logarithm; that of 1 is exact."""
    context = _UP if up else _DOWN
    near = value.ln(context)
    return near if value == 1 else context.next_plus(near) if up else context.next_minus(near)


@lru_cache(maxsize=4096)
def conversion_cost(order: int, delta: Fraction) -> Fraction:
    """What is added to a loss at an order for an epsilon at this delta, rounded up (may be below 0).

    Guarantee: a loss t at `order` implies (t + result, delta)-DP.
    Because: Canonne, Kamath and Steinke 2020, proposition 12; for rho-zCDP see `zcdp_conversion`.

    >>> exact.show(conversion_cost(24, Fraction(1, 16 * 10**6)), up=True)
    '0.540486'
    """
    if not 0 < delta < 1:
        raise ValueError("conversion needs a delta in (0, 1)")
    below = Fraction(order - 1)
    tail = exact.ln(1 / delta, up=True) + order * exact.ln(below / order, up=True) - exact.ln(below, up=False)
    return tail / below
