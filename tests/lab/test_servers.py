"""The three servers answer the same questions, and Discreet's refuses when its budget is gone."""

import os
from fractions import Fraction

import numpy as np
import pytest

from discreet.lab.attacks.contest import ServerOutcome
from discreet.lab.attacks.servers import CountQuestion, ExactServer, NoisyServer, discreet_server
from discreet.lab.evidence import best_under
from discreet.lab.worlds.target_places import TargetPlaces, classes, clinics

EXACT = Fraction(100)  # noise of scale 0.01 on whole numbers is none, but once in e^100


@pytest.mark.parametrize("whom", ["everybody", "all but the target", "the target"])
def test_discreet_counts_what_the_exact_server_counts(whom):
    people = clinics(8)
    with discreet_server(people, budget=2 * EXACT, epsilon=EXACT) as ours:
        for until in (99, 40):
            asked = CountQuestion(whom=whom, until=until)
            assert np.array_equal(ours.ask(asked), ExactServer(people=people).ask(asked))


def test_a_server_is_broken_only_where_that_is_sure():
    """8 of 10 is above a bound of 73%, and luck does that; 800 of 1,000 is not luck."""
    few, many = (ServerOutcome(server="exact", right=8 * times, n=10 * times, answered=1) for times in (1, 100))
    assert few.share == many.share > best_under(1.0)
    assert not few.to_data(best_under(1.0))["breaks"] and many.to_data(best_under(1.0))["breaks"]


def test_targets_that_leave_are_gone_everywhere():
    people = classes(5)
    exact, noisy = ExactServer(people=people), NoisyServer(exact=ExactServer(people=people), epsilon=EXACT)
    with discreet_server(people, budget=4 * EXACT, epsilon=EXACT) as ours:
        for server in (exact, noisy, ours):
            before = server.ask(CountQuestion(whom="everybody"))
            server.leave()
            assert np.array_equal(before - server.ask(CountQuestion(whom="everybody")), people.secrets)


def test_the_budget_refuses_and_repeats_are_stored():
    people = clinics(3)
    with discreet_server(people, budget=Fraction(1), epsilon=Fraction(1, 2)) as ours:
        first = ours.ask(CountQuestion(whom="everybody"))
        assert np.array_equal(ours.ask(CountQuestion(whom="everybody")), first)
        assert ours.cached == 1
        assert ours.ask(CountQuestion(whom="all but the target")) is not None
        assert ours.ask(CountQuestion(whom="everybody", until=50)) is None
        assert ours.ask(CountQuestion(whom="everybody"), fresh=True) is None
        assert (ours.answered, ours.refused) == (3, 2)


def test_the_direct_question_reaches_the_bound_and_no_more():
    """One count of the target at the whole budget is the best attack there is: its noise is one step of e^epsilon."""
    people = clinics(4_000)
    with discreet_server(people, budget=Fraction(1), epsilon=Fraction(1)) as ours:
        right = np.mean((ours.ask(CountQuestion(whom="the target")) >= 1) == people.secrets)
    deviation = np.sqrt(0.25 / people.count)
    assert abs(right - best_under(1.0)) < 5.5 * deviation


def test_nothing_is_left_behind():
    before = os.environ["DISCREET_STATE"]
    with discreet_server(clinics(2), budget=Fraction(1), epsilon=Fraction(1)) as ours:
        folder = ours.project.folder
        assert os.environ["DISCREET_STATE"] != before
    assert os.environ["DISCREET_STATE"] == before
    assert not folder.exists() and not folder.parent.exists()


def test_a_noisy_server_keeps_its_noise_only_when_it_is_wise():
    people, asked = clinics(50), CountQuestion(whom="everybody")
    wise, careless = (
        NoisyServer(exact=ExactServer(people=people), epsilon=Fraction(1, 100), reuses_noise=sticky)
        for sticky in (True, False)
    )
    assert np.array_equal(wise.ask(asked), wise.ask(asked))
    assert not np.array_equal(careless.ask(asked), careless.ask(asked))


def test_a_place_without_a_target_is_no_world():
    flags = np.array([True, False])
    with pytest.raises(ValueError, match="one target"):
        TargetPlaces(place=np.array([0, 1]), target=flags, trait=flags, day=np.array([0, 0]))
