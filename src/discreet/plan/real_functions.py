"""Square roots, logarithms and powers of e of whole codes, by whole numbers alone.

Each takes the codes of a number on a grid (value = code * step) and gives codes on another grid. Each is one more
arrangement of the operators that every engine has: total, with bounds from birth, and the same to the last digit on
all of them. Where a function has no value (the logarithm of what is not above 0) it is NULL.

    square root     rounded down to its grid, which is so fine that the largest root has seven digits or more
    logarithm       within LOGARITHM_ERROR, on a grid of a millionth
    exponential     within EXPONENTIAL_ERROR of the largest value that the bounds allow

Because (logarithm): let c be the middle of the numbers with the same leading binary digits. Then (x - c) / (x + c) = z
    with |z| <= 1/128, ln x = ln c + 2 z but for 2/3 |z|^3 < 4e-7, and 2 z = 4 x / (x + c) - 2. Two table entries and a
    quotient are rounded.
Because (exponential): e^x = 2^(n + q / 256 + t) with |t| <= 1/512, and 2^t = 1 + t ln 2 but for (t ln 2)^2 / 2 < 1e-6.
tests/plan/test_real_functions.py measures both against exact arithmetic.
"""

from __future__ import annotations

import math
from decimal import ROUND_HALF_EVEN, Context, Decimal, localcontext
from fractions import Fraction

from discreet.errors import Refused
from discreet.plan import algebra
from discreet.plan.expressions import (
    MOST_COUNTED,
    BitLength,
    Lookup,
    Null,
    Number,
    Over,
    Remainder,
    Root,
    Whole,
    required_bounds,
)

#: A function of at most so many codes is a table of its values, rounded to the nearest: no approximation at all.
MOST_TABLE = 512

#: The grid of logarithms, and how far one may be from the exact one.
LOGARITHM_STEP = Fraction(1, 10**6)
LOGARITHM_ERROR = Fraction(2, 10**6)

#: How far a power of e may be from the exact one, as a share of the largest.
EXPONENTIAL_ERROR = Fraction(1, 5 * 10**5)

#: No power of e may be larger; one that is e^100 times smaller than 1, or than the largest, counts as 0.
_MOST_EXPONENTIAL = 10**15
_MOST_BELOW = 100

#: Digits of the decimal arithmetic in which tables are computed: correctly rounded, and the same everywhere.
_DECIMALS = Context(prec=60, rounding=ROUND_HALF_EVEN)

#: A logarithm is taken by the seven leading binary digits of a code, which must be below this.
_LEADING_BITS = 7
_MOST_LOGARITHM = MOST_COUNTED >> (_LEADING_BITS + 1)

_HALF = Decimal("0.5")

#: A power of two is split into a whole power, 256ths and what is left, in units of 2^-24.
_POWER_BITS, _ENTRY_BITS = 24, 8


def square_root(code: Number, step: Fraction) -> tuple[Number, Fraction]:
    """The square root of codes from 0 on, rounded down to a grid that is a power of ten; 0 where it is below 0."""
    ends = required_bounds(code)
    largest = max(ends.high, 1) * step
    with localcontext(_DECIMALS):
        grid = _power_of_ten_below(_decimal(largest).sqrt() / 2**22)
    ratio = step / grid**2
    if ratio.numerator * max(ends.high, 1) >= 2**90:  # a fraction of many digits: 40 binary ones are enough
        bits = 40 - ratio.numerator.bit_length() + ratio.denominator.bit_length()
        ratio = Fraction(ratio.numerator * 2**bits // ratio.denominator, 2**bits)
    operand = algebra.greatest([code, Whole(0)]) if ends.low < 0 else code
    scaled = algebra.over(algebra.times(operand, Whole(ratio.numerator)), Whole(ratio.denominator))
    return algebra.fold_constant(Root(scaled)), grid


def logarithm(code: Number, step: Fraction, base: int | None) -> Number:
    """The logarithm of codes from 1 on, in units of LOGARITHM_STEP; anything where the code is below 1.

    base: 2 or 10; None is e.
    """
    with localcontext(_DECIMALS):
        divisor = Decimal(1) if base is None else Decimal(base).ln()
        return _logarithm(code, _decimal(step).ln(), LOGARITHM_STEP.denominator / divisor)


def _logarithm(code: Number, shift: Decimal, unit: Decimal) -> Number:
    """(ln code + shift) * unit."""
    ends = required_bounds(code)
    low, high = max(ends.low, 1), ends.high
    if high < 1:
        return Null()
    if high - ends.low < MOST_TABLE:
        table = [
            None if number < 1 else _nearest((Decimal(number).ln() + shift) * unit)
            for number in range(ends.low, high + 1)
        ]
        return algebra.lookup(code, table, first=ends.low)
    if high >= _MOST_LOGARITHM:
        raise Refused("with the declared bounds, this is too large for a logarithm", hint="declare narrower bounds")
    operand = algebra.greatest([code, Whole(1)]) if ends.low < 1 else code
    moved, bit = algebra.times(operand, Whole(2**_LEADING_BITS)), Decimal(2).ln()
    length = BitLength(moved)
    lengths = range(required_bounds(length).low, required_bounds(length).high + 1)
    halves = Lookup(length, tuple(2 ** (bits - _LEADING_BITS) for bits in lengths), lengths.start)
    first, last = 2 ** (_LEADING_BITS - 2), 2 ** (_LEADING_BITS - 1) - 1
    leading = _clamped(algebra.over(moved, algebra.times(halves, Whole(2))), first, last)
    middles = algebra.times(algebra.plus(algebra.times(leading, Whole(2)), Whole(1)), halves)
    quotient = Over(algebra.times(moved, Whole(_nearest(4 * unit))), algebra.plus(moved, middles))
    of_length = [_nearest(((bits - 2 * _LEADING_BITS) * bit + shift) * unit) for bits in lengths]
    # A half more, because the quotient is rounded down.
    of_leading = [_nearest((Decimal(2 * number + 1).ln() - 2) * unit + _HALF) for number in range(first, last + 1)]
    tables = algebra.plus(Lookup(length, tuple(of_length), lengths.start), Lookup(leading, tuple(of_leading), first))
    bounds = [_nearest((Decimal(end).ln() + shift) * unit) for end in (low, high)]
    return _clamped(algebra.plus(tables, quotient), *bounds)


def exponential(code: Number, step: Fraction) -> tuple[Number, Fraction]:
    """e to the power of a number, on a grid that is a power of ten; of NULL, anything."""
    largest = required_bounds(code).high * step
    if largest < -_MOST_BELOW:
        return Whole(0), Fraction(1)
    with localcontext(_DECIMALS):
        if largest > 40 or _decimal(largest).exp() > _MOST_EXPONENTIAL:
            raise Refused(
                "with the declared bounds, exp could exceed 15 digits",
                hint="declare narrower bounds, or limit it with least(…)",
            )
        grid = _power_of_ten_below(_decimal(largest).exp() / 10**7)
        return _exponential(code, step, largest, grid), grid


def _exponential(code: Number, step: Fraction, largest: Fraction, grid: Fraction) -> Number:
    ends = required_bounds(code)
    smallest = largest - _MOST_BELOW

    def exact(number: int) -> int:
        return _nearest(_decimal(max(number * step, smallest)).exp() / _decimal(grid))

    if ends.high - ends.low < MOST_TABLE:
        table = [exact(number) for number in range(ends.low, ends.high + 1)]
        return algebra.lookup(code, table, first=ends.low)
    # In units of 2^-24 powers of two, from a whole one on.
    bit, least = Decimal(2).ln(), math.ceil(smallest / step)
    operand = algebra.greatest([code, Whole(least)]) if ends.low < least else code
    spare = max(abs(ends.high), abs(max(least, ends.low)), 1).bit_length() + 2
    rate = _nearest(_decimal(step) * 2 ** (_POWER_BITS + spare) / bit)
    powers = algebra.over(algebra.times(operand, Whole(rate)), Whole(2**spare))
    first = required_bounds(powers).low >> _POWER_BITS
    moved = algebra.plus(powers, Whole(-first << _POWER_BITS))
    whole = algebra.over(moved, Whole(1 << _POWER_BITS))
    entry_units = 1 << (_POWER_BITS - _ENTRY_BITS)
    entry = Over(Remainder(moved, Whole(1 << _POWER_BITS)), Whole(entry_units))
    rest = algebra.plus(Remainder(moved, Whole(entry_units)), Whole(-entry_units // 2))
    entries = [
        _nearest(2**23 * (bit * (2 * number + 1) / (2 << _ENTRY_BITS)).exp()) for number in range(1 << _ENTRY_BITS)
    ]
    factor = algebra.plus(algebra.times(rest, Whole(_nearest(bit * 2 ** (36 - _POWER_BITS)))), Whole(2**36))
    mantissa = Over(algebra.times(Lookup(entry, tuple(entries), 0), factor), Whole(2**36))
    last = required_bounds(whole).high
    sizes = [(bit * (first + number)).exp() / _decimal(grid) / 2**23 for number in range(last + 1)]
    shift = 2 ** (36 - math.ceil(sizes[-1].ln() / bit))
    scaled = algebra.times(mantissa, algebra.lookup(whole, [_nearest(size * shift) for size in sizes], first=0))
    value = Over(algebra.plus(scaled, Whole(shift // 2)), Whole(shift))
    return _clamped(value, exact(ends.low), exact(ends.high))


def _clamped(number: Number, low: int, high: int) -> Number:
    """A number moved into [low, high]; of NULL it makes one of these."""
    return algebra.greatest([algebra.least([number, Whole(high)]), Whole(low)])


def _nearest(number: Decimal) -> int:
    return int(number.to_integral_value(rounding=ROUND_HALF_EVEN))


def _decimal(number: Fraction) -> Decimal:
    return Decimal(number.numerator) / Decimal(number.denominator)


def _power_of_ten_below(most: Decimal) -> Fraction:
    return Fraction(10) ** most.adjusted()
