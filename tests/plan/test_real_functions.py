"""Roots, logarithms and powers of e by whole numbers: how near they come, and that they have a value on every row."""

import math
import random
from decimal import Decimal, localcontext
from fractions import Fraction

import pytest

from discreet.accounting.region import ValueSet
from discreet.errors import Refused
from discreet.plan.evaluate import values
from discreet.plan.expressions import MOST_COUNTED, MOST_SQUARE, BitLength, Code, Root, Whole
from discreet.plan.preimage import peel_expression
from discreet.plan.real_functions import (
    EXPONENTIAL_ERROR,
    LOGARITHM_ERROR,
    LOGARITHM_STEP,
    exponential,
    logarithm,
    square_root,
)
from tiers import size

#: Bounds of codes, and steps: small and large, around 0 and above it, grids of all kinds.
DOMAINS = [
    (0, 120, Fraction(1)),
    (0, 20_000_000, Fraction(1, 100)),
    (1, 200_000, Fraction(1)),
    (-5, 2**40, Fraction(1, 1000)),
    (3, 2**53, Fraction(1)),
    (1000, 2000, Fraction(1, 7)),
    (-300, 900, Fraction(3)),
    (1, 10**9, Fraction(10**6, 3)),
]
EXPONENTS = [
    (0, 20, Fraction(1)),
    (-3000, 3000, Fraction(1, 1000)),
    (-(10**6), 10**6, Fraction(1, 10**5)),
    (0, 34_000, Fraction(1, 1000)),
    (-(10**9), 5 * 10**8, Fraction(1, 10**8)),
    (-(10**5), 0, Fraction(1, 100)),
]


def codes(low, high, least):
    """Codes of a domain from `least` on: its ends, what is near powers of two, and others of all sizes."""
    draw = random.Random(1)
    start = max(low, least)
    wished = [low, low + 1, high - 1, high, start, start + 1, *range(start, start + 40)]
    wished += [power + near for bits in range(2, 60) for power in [2**bits] for near in (-1, 0, 1)]
    wished += [int(max(start, 1) * (high / max(start, 1)) ** draw.random()) for _ in range(size(1_500, 30_000))]
    wished += [draw.randint(start, high) for _ in range(size(500, 10_000))]
    return sorted({code for code in wished if low <= code <= high})


def exact(number, function):
    with localcontext() as context:
        context.prec = 50
        return Fraction(function(Decimal(number.numerator) / Decimal(number.denominator)))


@pytest.mark.thin(10)
@pytest.mark.parametrize("domain", DOMAINS, ids=str)
@pytest.mark.parametrize("base", [None, 2, 10])
def test_a_logarithm_is_within_its_error(domain, base):
    low, high, step = domain
    expression = logarithm(Code("x", low, high, null=True), step, base)
    chosen = codes(low, high, 1)
    worst = Fraction(0)
    for code, found in zip(chosen, values(expression, [{"x": code} for code in chosen]), strict=True):
        if code < 1:
            continue
        divisor = 1 if base is None else exact(Fraction(base), Decimal.ln)
        worst = max(worst, abs(found * LOGARITHM_STEP - exact(code * step, Decimal.ln) / divisor))
        assert expression.low <= found <= expression.high
    assert worst <= LOGARITHM_ERROR
    assert expression.high * LOGARITHM_STEP - exact(high * step, Decimal.ln) / divisor <= LOGARITHM_ERROR


@pytest.mark.parametrize("domain", DOMAINS, ids=str)
def test_a_root_is_rounded_down_to_its_grid(domain):
    low, high, step = domain
    expression, grid = square_root(Code("x", low, high, null=False), step)
    chosen = codes(low, high, 0)
    for code, found in zip(chosen, values(expression, [{"x": code} for code in chosen]), strict=True):
        ratio = max(code, 0) * step / grid**2
        assert found == math.isqrt(ratio.numerator // ratio.denominator)
    assert expression.high >= 4_000_000  # seven digits


@pytest.mark.parametrize("domain", EXPONENTS, ids=str)
def test_a_power_of_e_is_within_its_error(domain):
    low, high, step = domain
    expression, grid = exponential(Code("x", low, high, null=False), step)
    draw = random.Random(2)
    chosen = [low, low + 1, high - 1, high, *(draw.randint(low, high) for _ in range(size(1_500, 30_000)))]
    largest = max(exact(high * step, Decimal.exp), grid)
    for code, found in zip(chosen, values(expression, [{"x": code} for code in chosen]), strict=True):
        assert abs(found * grid - exact(code * step, Decimal.exp)) <= EXPONENTIAL_ERROR * largest + grid
        assert expression.low <= found <= expression.high


def test_a_float_root_rounded_down_is_the_whole_root():
    """What every engine computes, and `Root` promises: next to squares, where it is nearest to going wrong."""
    draw = random.Random(3)
    roots = [1, 2, 3, 2**26 - 1, *(draw.randint(1, 2**26 - 1) for _ in range(20_000))]
    for square in (root**2 + near for root in roots for near in (-1, 0, 1)):
        assert square >= MOST_SQUARE or math.floor(math.sqrt(float(square))) == math.isqrt(square)


def test_beyond_2_to_52_it_would_not_be():
    """The limit of `Root` is needed: the float next to (2^27)^2 - 1 has the root 2^27."""
    assert math.floor(math.sqrt(float(2**54 - 1))) != math.isqrt(2**54 - 1)


def test_what_is_no_root_and_no_length():
    for make in (
        lambda: Root(Code("x", -1, 5, null=False)),
        lambda: Root(Whole(MOST_SQUARE)),
        lambda: BitLength(Code("x", 0, 5, null=False)),
        lambda: BitLength(Whole(2**62)),
    ):
        with pytest.raises(ValueError):
            make()
    assert exponential(Code("x", -(10**9), -200, null=False), Fraction(1)) == (Whole(0), 1)
    with pytest.raises(Refused, match="exceed 15 digits"):
        exponential(Code("x", 0, 35, null=False), Fraction(1))
    with pytest.raises(Refused, match="too large"):
        logarithm(Code("x", 0, 2**55, null=False), Fraction(1), None)


@pytest.mark.parametrize("least", [0, 1, 5, 62, 63, 64, 2**80])
def test_numbers_of_so_many_digits(least):
    """A condition on more digits than any number has was a shift by as many, and out of memory."""
    column = Code("x", 1, MOST_COUNTED - 1, null=False)
    of, allowed = peel_expression(BitLength(column), ValueSet.interval(least, None))
    assert of == column
    for number in (1, 15, 16, 2**61 - 1, 2**61, MOST_COUNTED - 1):
        assert (number in allowed) == (number.bit_length() >= least)
