"""Conversion between rho and (epsilon, delta): tight, outward, and never below an exact accountant."""

import json
import math
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.accounting.events import GaussianEvent, LaplaceEvent, loss
from discreet.accounting.zcdp_conversion import epsilon_from_rho, rho_from_epsilon
from discreet.exact import RHO_UNITS

CASES = json.loads((Path(__file__).parent / "fixtures" / "pld.json").read_text())
deltas = st.sampled_from([Fraction(1, 10**power) for power in (2, 4, 6, 9, 15)])
rhos = st.fractions(min_value=Fraction(1, 10**9), max_value=100, max_denominator=10**9)


def gaussian_delta(epsilon: float, mu: float) -> float:
    """The exact delta of a continuous Gaussian of sensitivity mu and sd 1."""

    def below(x: float) -> float:
        return 0.5 * math.erfc(-x / math.sqrt(2))

    return below(-epsilon / mu + mu / 2) - math.exp(epsilon) * below(-epsilon / mu - mu / 2)


@given(rho=rhos, delta=deltas)
def test_the_converted_pair_covers_a_gaussian_exactly(rho, delta):
    """A Gaussian of mu = sqrt(2 rho) is rho-zCDP, so its exact delta at our epsilon is at most delta."""
    epsilon = float(epsilon_from_rho(rho, delta))
    if epsilon < 500:
        assert gaussian_delta(epsilon, math.sqrt(2 * rho)) <= float(delta) * (1 + 1e-6)


@given(rho=rhos, delta=deltas)
def test_it_is_tight_enough_to_be_useful(rho, delta):
    """Never above the simple bound rho + 2 sqrt(rho ln(1/delta))."""
    simple = float(rho) + 2 * math.sqrt(float(rho) * math.log(1 / float(delta)))
    assert float(epsilon_from_rho(rho, delta)) <= simple * (1 + 1e-9)


@given(epsilon=st.fractions(min_value=Fraction(1, 1000), max_value=50, max_denominator=1000), delta=deltas)
def test_the_inverse_is_the_largest_on_the_grid(epsilon, delta):
    rho = rho_from_epsilon(epsilon, delta)
    assert epsilon_from_rho(rho, delta) <= epsilon
    if rho < epsilon:
        assert epsilon_from_rho(rho + Fraction(1, RHO_UNITS) + rho / 10**12, delta) > epsilon


def test_known_values():
    assert float(epsilon_from_rho(Fraction(1, 2), Fraction(1, 10**6))) == pytest.approx(5.222, abs=5e-4)
    assert float(epsilon_from_rho(Fraction(1000, 2 * 100**2), Fraction(1, 10**6))) == pytest.approx(1.472, abs=5e-4)
    assert epsilon_from_rho(Fraction(0), Fraction(1, 10)) == 0


@pytest.mark.thin(60)
@pytest.mark.parametrize("case", CASES)
def test_never_below_the_pld_accountant(case):
    """200 random event lists; the fixture is made by `./do bench accounting` with dp_accounting 0.6.0."""
    assert ours(case) >= case["pld_low"]


def test_the_comparison_can_fail():
    """A planted error of half the rho falls below the PLD accountant somewhere."""
    assert any(ours(case, rho_factor=Fraction(1, 2)) < case["pld_low"] for case in CASES)


def ours(case, rho_factor=Fraction(1)) -> float:
    losses = []
    for kind, scale, times in case["events"]:
        size = Fraction(repr(scale))
        event = LaplaceEvent(scale=size, l1=1) if kind == "laplace" else GaussianEvent(sigma2=size**2, l2_squared=1)
        losses += [loss(event)] * times
    delta = Fraction(repr(case["delta"]))
    bounds = [epsilon_from_rho(rho_factor * sum(part.rho for part in losses), delta)]
    if all(part.epsilon is not None for part in losses):
        bounds.append(sum(part.epsilon for part in losses))
    return float(min(bounds))


@pytest.mark.parametrize(
    ("rho", "delta"), [(Fraction(-1), Fraction(1, 2)), (Fraction(1), Fraction(0)), (Fraction(1), Fraction(1))]
)
def test_nonsense_is_refused(rho, delta):
    with pytest.raises(ValueError, match="conversion"):
        epsilon_from_rho(rho, delta)
