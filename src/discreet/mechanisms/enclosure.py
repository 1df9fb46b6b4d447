"""Logarithm and exponential between two Fractions, as close together as is asked for.

`discreet.exact` gives one bound at 50 digits, which is plenty for a price. Sampling must be able
to ask for more, without end: a comparison that stays undecided at some precision would otherwise
have to be decided by guessing.

`decimal` rounds ln and exp correctly, so the neighbours of its result enclose the true value.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import MAX_EMAX, MIN_EMIN, ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from functools import lru_cache

#: low <= the true value <= high.
Interval = tuple[Fraction, Fraction]
#: A number known as closely as is wished: at `digits` the interval is about 10^-digits wide.
Computable = Callable[[int], Interval]


@lru_cache(maxsize=64)
def _context(digits: int) -> Context:
    return Context(prec=digits, rounding=ROUND_HALF_EVEN, Emin=MIN_EMIN, Emax=MAX_EMAX)


def _enclose(value: Decimal, context: Context) -> Interval:
    return Fraction(context.next_minus(value)), Fraction(context.next_plus(value))


def ln_of_whole(value: int, *, digits: int) -> Interval:
    """The natural logarithm of a whole number of at most `digits` digits."""
    context = _context(digits)
    return _enclose(Decimal(value).ln(context), context)


@lru_cache(maxsize=64)
def ln_of_two(digits: int) -> Interval:
    return ln_of_whole(2, digits=digits)


def ln(value: Interval, *, digits: int) -> Interval:
    """The natural logarithm of a number between two positive Fractions."""
    context = _context(digits)
    low, high = (context.divide(Decimal(end.numerator), Decimal(end.denominator)) for end in value)
    # The quotient is off by at most half a step; one step outward makes it a bound.
    low, high = context.next_minus(low), context.next_plus(high)
    return Fraction(context.next_minus(low.ln(context))), Fraction(context.next_plus(high.ln(context)))


def exp_minus(value: Fraction, *, digits: int) -> Interval:
    """e to the minus `value` >= 0, to an absolute 10^-digits.

    Absolute, because then nothing ever underflows: what lies below 10^-digits is between 0 and it.
    """
    if value == 0:
        return Fraction(1), Fraction(1)
    if value > Fraction(231, 100) * digits:  # ln 10 < 2.31, so exp(-value) < 10^-digits
        return Fraction(0), Fraction(1, 10**digits)
    context = _context(digits + 10)
    near = context.divide(Decimal(value.numerator), Decimal(value.denominator))
    # copy_negate and not a minus sign: that would round to the thread's own context.
    low = context.next_minus(context.next_plus(near).copy_negate().exp(context))
    high = context.next_plus(context.next_minus(near).copy_negate().exp(context))
    return max(Fraction(0), Fraction(low)), min(Fraction(1), Fraction(high))


def digits_for(length: int) -> int:
    """Digits enough to tell apart numbers that are known to `length` bits."""
    return 12 + math.ceil(length * 0.302)
