"""zCDP to (epsilon, delta) and back, by Canonne, Kamath and Steinke (2020, proposition 12), rounded outward.

For every order alpha > 1 a rho-zCDP mechanism is (epsilon, delta)-DP with

    epsilon = alpha rho + (ln(1/delta) + alpha ln(1 - 1/alpha) - ln(alpha - 1)) / (alpha - 1).

Any alpha gives a valid pair, so alpha is found in floats and only the last evaluation is exact:
a poor alpha costs accuracy, never privacy.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

from discreet import exact
from discreet.exact import RHO_UNITS

#: A guess of rho is looked for within so many units.
_NEAR_UNITS = 32


@lru_cache(maxsize=4096)
def epsilon_from_rho(rho: Fraction, delta: Fraction) -> Fraction:
    """An epsilon that rho-zCDP implies at this delta, rounded up.

    Guarantee: rho-zCDP implies (result, delta)-DP.
    >>> exact.show(epsilon_from_rho(Fraction(1, 2), Fraction(1, 10**6)), digits=4, up=True)
    '5.222'
    """
    if rho < 0 or not 0 < delta < 1:
        raise ValueError("conversion needs rho of at least 0 and delta in (0, 1)")
    if rho == 0:
        return Fraction(0)
    order = Fraction(_best_order(float(rho), float(delta)))
    below = order - 1
    tail = _ln_inverse(delta) + order * exact.ln(below / order, up=True) - exact.ln(below, up=False)
    return max(Fraction(0), order * rho + tail / below)


@lru_cache(maxsize=256)
def _ln_inverse(delta: Fraction) -> Fraction:
    """ln(1/delta), rounded up."""
    return exact.ln(1 / delta, up=True)


@lru_cache(maxsize=4096)
def rho_from_epsilon(epsilon: Fraction, delta: Fraction) -> Fraction:
    """The largest rho, on the ledger's grid, that still implies (epsilon, delta)-DP.

    Guarantee: result-zCDP implies (epsilon, delta)-DP. Because: the last step checks it by `epsilon_from_rho`.
    """

    def holds(units: int) -> bool:
        return epsilon_from_rho.__wrapped__(Fraction(units, RHO_UNITS), delta) <= epsilon

    low, high = 0, exact.units_up(epsilon, RHO_UNITS)  # rho is below epsilon for every delta below 1/2
    # Both ends near the guess are checked as every other is: a wrong guess costs time.
    guess = int(_guess_rho(float(epsilon), float(delta)) * RHO_UNITS)
    near = _NEAR_UNITS + (guess >> 40)
    if low < guess - near < high and holds(guess - near):
        low = guess - near
    if low < guess + near < high and not holds(guess + near):
        high = guess + near - 1
    while low < high:
        middle = (low + high + 1) // 2
        if holds(middle):
            low = middle
        else:
            high = middle - 1
    return Fraction(low, RHO_UNITS)


def _guess_rho(epsilon: float, delta: float) -> float:
    """About the rho that implies this epsilon, by Newton's method: epsilon is concave in rho, its slope the order."""
    if not 0 < epsilon < math.inf or not 0 < delta < 1:
        return 0.0
    tail = -math.log(delta)
    rho = (math.sqrt(epsilon + tail) - math.sqrt(tail)) ** 2
    for _ in range(6):
        order = _best_order(rho, delta)
        below = order - 1
        implied = order * rho + (tail - order * math.log1p(1 / below) - math.log(below)) / below
        rho = max(rho - (implied - epsilon) / order, 0.0)
    return rho


def _best_order(rho: float, delta: float) -> float:
    """The alpha that minimises epsilon, by golden section on ln(alpha - 1)."""
    exp, log1p, tail, ratio = math.exp, math.log1p, -math.log(delta), (math.sqrt(5) - 1) / 2
    low, high = -20.0, 40.0
    for _ in range(80):  # written out: every charge waits for it
        left, right = high - ratio * (high - low), low + ratio * (high - low)
        below, above = exp(left), exp(right)
        one = (1 + below) * rho + (tail - (1 + below) * log1p(1 / below) - left) / below
        other = (1 + above) * rho + (tail - (1 + above) * log1p(1 / above) - right) / above
        if one < other:
            high = right
        else:
            low = left
    return 1 + math.exp((low + high) / 2)
