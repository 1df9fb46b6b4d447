"""Exact numbers: read as written, rounded outward, strange ones refused."""

import math
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet import exact
from discreet.errors import UsageError

positive = st.fractions(min_value=Fraction(1, 10**12), max_value=10**12)


@pytest.mark.parametrize(
    ("written", "meant"),
    [("0.1", Fraction(1, 10)), (0.1, Fraction(1, 10)), ("1e-6", Fraction(1, 10**6)), (3, Fraction(3)), (" 2. ", Fraction(2)),
     (".5", Fraction(1, 2)), (Decimal("0.25"), Fraction(1, 4)), (1e-09, Fraction(1, 10**9))],
)  # fmt: skip
def test_numbers_are_read_as_written(written, meant):
    assert exact.number(written, name="epsilon") == meant


@pytest.mark.parametrize(
    "strange",
    ["nan", float("nan"), "inf", float("inf"), float("-inf"), "1e999999", True, False, None, "", "abc", "1/2", "٣", "1_0", "0x10", [], "1" * 100],
)  # fmt: skip
def test_strange_numbers_are_refused(strange):
    with pytest.raises(UsageError):
        exact.number(strange, name="epsilon")


@pytest.mark.parametrize("bad", [0, -1, "-0.5", "0.0", "1e-400", 10**9, "-0"])
def test_a_cost_is_above_zero_and_not_absurd(bad):
    with pytest.raises(UsageError):
        exact.positive(bad, name="epsilon", most=Fraction(1000))


@given(positive, st.integers(1, 12))
def test_shown_numbers_are_rounded_to_the_safe_side(value, digits):
    down, up = (Fraction(exact.show(value, digits=digits, up=up)) for up in (False, True))
    assert down <= value <= up
    assert up - down <= value / 10 ** (digits - 1)


@given(st.fractions(), st.integers(1, 12), st.booleans())
def test_numbers_are_shown_with_the_digits_wanted(value, digits, up):
    """As in plain Fractions; and a sum is the sum."""
    if value:
        size = len(str(abs(value.numerator))) - len(str(value.denominator))
        scale = Fraction(10) ** (digits - 1 - size + (abs(value) < Fraction(10) ** size))
        whole = math.ceil(value * scale) if up else math.floor(value * scale)
        assert Fraction(exact.show(value, digits=digits, up=up)) == whole / scale
    assert exact.total([value, Fraction(1, digits), value]) == 2 * value + Fraction(1, digits)


@given(positive)
def test_logarithm_exponential_and_root_are_bracketed(value):
    low, high = exact.ln(value, up=False), exact.ln(value, up=True)
    assert low < high
    assert high - low < Fraction(1, 10**40)
    small = min(value, Fraction(100))
    assert exact.exp(exact.ln(small, up=False), up=False) <= small <= exact.exp(exact.ln(small, up=True), up=True)
    assert exact.sqrt(value, up=False) ** 2 <= value <= exact.sqrt(value, up=True) ** 2


@given(st.fractions())
def test_stored_ratios_are_read_back(value):
    assert exact.read(exact.write(value)) == value


@pytest.mark.parametrize("bad", ["0.5", "1/", "a/b", 1, None, "1/0 "])
def test_a_stored_ratio_is_nothing_else(bad):
    with pytest.raises(ValueError):
        exact.read(bad)
