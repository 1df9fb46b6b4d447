"""The card of a survey: what it says of the loss is what the devices' rules give, for every protocol."""

from __future__ import annotations

from fractions import Fraction

import pytest

from discreet.bundle import card_yaml
from discreet.bundle.about import NOT_STATED, About
from discreet.surveys.collector.survey_card import card_of_survey
from discreet.surveys.protocols.collection_periods import COINS, FRESH, CollectionPeriods
from discreet.surveys.protocols.grid_numbers import Duchi
from discreet.surveys.protocols.randomized_response import RandomizedResponse, TwoCoins
from discreet.surveys.protocols.rappor import BasicRappor, Rappor
from discreet.surveys.protocols.sketch import HadamardSketch
from surveys.collector.asked import survey

START = 20_410 * 86_400
CHOICES = [str(each) for each in range(30)]


def card(randomizer, *, every=None, donations=2, periods=28, coins=FRESH, **more):
    again = every and CollectionPeriods(
        every=every, donations=donations, periods=periods, coins=coins, start=START // 604_800 * 604_800 + 345_600
    )
    about = About(name="Sleep", justification="ours")
    return card_of_survey(
        survey(None, randomizer=randomizer, periods=again or None, **more),
        product=about.product(data_product_type="Summary statistics", day="2026-11-18"),
        resources=about.resources,
        justification=about.justification,
    )


def loss(shown):
    return shown["deployment"]["privacy_loss"]


@pytest.mark.parametrize(
    "randomizer",
    [
        TwoCoins(["yes", "no"]),
        RandomizedResponse(CHOICES, epsilon=1),
        BasicRappor(["a", "b"], epsilon=3),
        Rappor(epsilon=3),
        HadamardSketch(epsilon=2),
        Duchi(low=0, high=10, step="0.5", epsilon=1),
    ],
    ids=lambda each: each.protocol,
)
def test_a_card_says_what_one_answer_costs_and_is_read_back_as_written(randomizer):
    shown = card(randomizer, token=True)
    assert loss(shown)["privacy_parameters"] == {"epsilon": pytest.approx(float(randomizer.epsilon))}
    assert Fraction(loss(shown)["privacy_parameters"]["epsilon"]) >= randomizer.epsilon
    assert shown["deployment"]["model"]["model_name"] == "Local"
    assert "enrolment token" in shown["deployment"]["dp_flavor"]["unprotected_quantities"]
    assert card_yaml.read(card_yaml.write(shown)) == shown
    assert shown["deployment"]["product"]["name"] == "Sleep"
    assert shown["deployment"]["resources"]["sources"] == NOT_STATED
    assert shown["deployment"]["implementation"]["justification"] == "ours"


@pytest.mark.parametrize("every", ["hour", "day", "week"])
def test_fresh_coins_add_up_over_donations_and_periods(every):
    parameters = loss(card(RandomizedResponse(["a", "b"], epsilon=1), every=every))["privacy_parameters"]
    assert parameters == {
        "epsilon": pytest.approx(56, rel=1e-6),
        "epsilon_per_donation": pytest.approx(1, rel=1e-6),
        f"epsilon_per_{every}": pytest.approx(2, rel=1e-6),
        "epsilon_if_the_answer_never_changes": pytest.approx(56, rel=1e-6),
    }


def test_memoized_coins_cost_each_different_answer_once():
    shown = card(RandomizedResponse(["a", "b", "c"], epsilon=1), every="day", coins="memoized")
    parameters = loss(shown)["privacy_parameters"]
    assert parameters["epsilon"] == pytest.approx(3) and parameters["epsilon_per_day"] == pytest.approx(2)
    assert parameters["epsilon_if_the_answer_never_changes"] == pytest.approx(1)
    assert "repeat an earlier answer" in loss(shown)["privacy_unit_description"]
    assert "that an answer is another than before" in shown["deployment"]["dp_flavor"]["unprotected_quantities"]
    assert "permanent" not in str(shown) and "report is used" in shown["deployment"]["accounting"]["composition"]


@pytest.mark.parametrize("coins", COINS)
def test_what_a_card_says_is_never_less_than_the_loss(coins):
    randomizer = TwoCoins(["yes", "no"])
    periods = CollectionPeriods(every="day", donations=3, periods=7, coins=coins, start=START)
    total = periods.loss(randomizer).survey
    shown = card(randomizer, every="day", donations=3, periods=7, coins=coins)
    assert total <= Fraction(loss(shown)["privacy_parameters"]["epsilon"]) <= total * Fraction(1_000_001, 1_000_000)


def test_the_domain_is_in_words():
    assert "One of 30 declared choices." in str(card(RandomizedResponse(CHOICES, epsilon=1)))
    assert "One of 2 choices: yes, no." in str(card(TwoCoins(["yes", "no"])))
    assert "A number from 0 to 10, rounded to steps of 0.5." in str(card(Duchi(low=0, high=10, step="0.5", epsilon=1)))
    assert "Any word." in str(card(HadamardSketch(epsilon=2)))
