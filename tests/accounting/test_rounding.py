"""Every rounding goes to the safe side: costs up, limits down, conversions up. Each was planted the other way once."""

from decimal import Context, Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet import exact
from discreet.accounting.events import Loss
from discreet.accounting.filter import Cost
from discreet.accounting.guarantee import Guarantee
from discreet.accounting.zcdp_conversion import _best_order, epsilon_from_rho
from discreet.errors import UsageError
from discreet.release import Spending

THIRD = Fraction(1, 3)
TINY = Fraction(1, 10**19)


def test_costs_are_rounded_up():
    cost = Cost.of(Loss(epsilon=THIRD, rho=THIRD, delta=TINY))
    assert (cost.pure, cost.rho, cost.delta) == (333333334, 333333333334, 1)


def test_limits_are_rounded_down():
    limits = Guarantee(epsilon=THIRD, delta=Fraction(3, 10**15), delta_keys=Fraction(15, 10**19)).limits
    assert limits.pure == 333333333
    assert limits.delta_keys == 1


@given(
    rho=st.fractions(min_value=Fraction(1, 10**6), max_value=50, max_denominator=10**6),
    power=st.integers(2, 15),
)
def test_the_conversion_is_never_below_its_formula(rho, power):
    """The same order alpha, in 80 digits."""
    many = Context(prec=80)
    delta = Fraction(1, 10**power)
    alpha = Fraction(_best_order(float(rho), float(delta)))

    def ln(value):
        return Fraction(many.divide(Decimal(value.numerator), Decimal(value.denominator)).ln(many))

    true = alpha * rho + (ln(1 / delta) + alpha * ln(1 - 1 / alpha) - ln(alpha - 1)) / (alpha - 1)
    found = epsilon_from_rho(rho, delta)
    assert max(true, 0) <= found + Fraction(1, 10**70)
    assert found - max(true, 0) < Fraction(1, 10**20)
    if true > 0:
        assert found > true


def test_what_people_read_is_rounded_to_the_safe_side():
    spending = Spending(epsilon=THIRD, rho=THIRD, delta=Fraction(2, 3 * 10**6))
    up, down = spending.to_data(up=True), spending.to_data(up=False)
    assert Fraction(up["epsilon"]) > THIRD > Fraction(down["epsilon"])
    assert Fraction(up["rho"]) > THIRD > Fraction(down["rho"])
    assert Fraction(up["delta"]) > spending.delta > Fraction(down["delta"])


def test_a_cost_of_nothing_is_one_without_delta():
    """What is spent of a delta adds up whomever a query is about."""
    zero, delta = Fraction(0), Fraction(1, 10**7)
    assert str(Spending(epsilon=THIRD, delta=zero, budget=zero)) == "nothing: other people have been queried more"
    assert str(Spending(epsilon=THIRD, delta=delta, budget=zero)) == "epsilon 0, delta 1e-07"


@pytest.mark.parametrize("delta", ["1e-400", "1e-30", "-1e-9", "1", "nan"])
def test_deltas_that_no_unit_holds_are_refused(delta):
    with pytest.raises(UsageError):
        exact.probability(delta, name="delta")
    if delta.startswith("1e-"):
        with pytest.raises(UsageError):
            Guarantee(epsilon=Fraction(1), delta=Fraction(delta))
