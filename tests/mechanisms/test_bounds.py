"""Intervals hold the true value and are as narrow as was asked for."""

from decimal import Context, Decimal
from fractions import Fraction

import pytest

from discreet.mechanisms import enclosure

FINE = Context(prec=400)


@pytest.mark.parametrize("digits", [20, 31, 50, 200])
@pytest.mark.parametrize("value", [Fraction(1, 10**9), Fraction(1, 3), Fraction(1), Fraction(355, 113), Fraction(40)])
def test_exp_minus(value, digits):
    low, high = enclosure.exp_minus(value, digits=digits)
    exponent = FINE.divide(Decimal(value.numerator), Decimal(value.denominator)).copy_negate()
    assert low < Fraction(exponent.exp(FINE)) < high or value == 0
    assert high - low <= Fraction(1, 10**digits)


def test_exp_minus_at_its_ends():
    assert enclosure.exp_minus(Fraction(0), digits=30) == (1, 1)
    for value in (Fraction(70), Fraction(10**9), Fraction(10**40)):
        low, high = enclosure.exp_minus(value, digits=30)
        assert low == 0
        assert high == Fraction(1, 10**30)


@pytest.mark.parametrize("digits", [20, 50, 200])
def test_ln(digits):
    for value in (2, 3, 10**15 + 37):
        low, high = enclosure.ln_of_whole(value, digits=digits)
        assert low < Fraction(Decimal(value).ln(FINE)) < high
        assert high - low < Fraction(1000, 10**digits)
    for value in (Fraction(1), Fraction(2, 3), Fraction(10**9, 123456789)):
        low, high = enclosure.ln((value, value), digits=digits)
        near = FINE.divide(Decimal(value.numerator), Decimal(value.denominator)).ln(FINE)
        assert low < Fraction(near) < high or value == 1
        assert low <= Fraction(near) <= high
        assert high - low < Fraction(1000, 10**digits)
