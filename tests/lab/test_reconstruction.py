"""Reconstruction: what each method finds, and that nothing is found under a small epsilon."""

import sys
from fractions import Fraction

import numpy as np
import pytest
import scipy.linalg

from discreet.errors import UsageError
from discreet.lab.attacks import reconstruction
from discreet.lab.attacks.reconstruction import AnswerNoise, exhaustive, hadamard, least_squares, reconstruct
from discreet.lab.attacks.reconstruction.answer_noise import random_subsets
from discreet.lab.evidence import best_under


def accuracy(people, method="squares", *, queries=None, seed=1, **noise):
    chance = np.random.default_rng(seed)
    secret = chance.random(people) < 0.5
    found = reconstruct(secret, queries=queries, noise=AnswerNoise(**noise), method=method, chance=chance)
    return np.mean(found.bits == secret)


def test_squares_find_nearly_everybody():
    assert accuracy(500, multiple=0.0) == 1.0
    assert accuracy(1_000, multiple=0.25) >= 0.999
    assert accuracy(500, multiple=0.5) > 0.9
    assert 0.55 < accuracy(500, multiple=2.0) < 0.75


def test_the_box_rescues_few_questions():
    """As many questions as people: the plain normal equations are hopeless, the box is not."""
    chance = np.random.default_rng(1)
    secret = chance.random(400) < 0.5
    asked = random_subsets(400, 400, chance)
    answers = AnswerNoise(multiple=0.1).perturb((asked @ secret.astype(np.float32)).astype(float), 400, chance)
    plain = np.linalg.solve(asked.astype(float), answers) > 0.5
    boxed = least_squares.round_to_bits(asked, answers, least_squares.estimate(asked, answers))
    assert np.mean(plain == secret) < 0.8
    assert np.mean(boxed == secret) > 0.97


def test_flips_improve_on_rounding():
    chance = np.random.default_rng(3)
    secret = chance.random(300) < 0.5
    asked = random_subsets(300, 1_200, chance)
    answers = (asked @ secret.astype(np.float32)).astype(float)
    spoiled = np.where(chance.random(300) < 0.05, 1.0 - secret, secret)
    assert np.array_equal(least_squares.round_to_bits(asked, answers, spoiled), secret)


@pytest.mark.parametrize("people", [1, 2, 3, 100, 128])
def test_hadamard_counts_are_those_of_the_matrix(people):
    bits = np.random.default_rng(people).random(people) < 0.5
    padded = np.zeros(hadamard.size(people))
    padded[:people] = bits
    matrix = scipy.linalg.hadamard(len(padded))
    assert np.array_equal(hadamard.counts(bits), (matrix == 1) @ padded)
    assert np.array_equal(hadamard.estimate(hadamard.counts(bits), people), bits)


def test_hadamard_at_the_noise_of_the_notes():
    assert accuracy(2_048, "hadamard", multiple=0.1) > 0.99
    assert 0.94 < accuracy(2_048, "hadamard", multiple=0.25) < 0.98
    assert 0.63 < accuracy(2_048, "hadamard", multiple=1.0) < 0.72


@pytest.mark.parametrize("seed", range(20))
def test_exhaustive_search_keeps_its_promise(seed):
    chance = np.random.default_rng(seed)
    people, bound = int(chance.integers(1, 13)), float(chance.uniform(0, 2))
    secret = chance.random(people) < 0.5
    answers = exhaustive.counts(secret) + chance.uniform(-bound, bound, 1 << people)
    wrong = np.count_nonzero(exhaustive.consistent_bits(answers, people, bound) != secret)
    assert wrong <= 4 * bound


def test_four_times_the_bound_is_needed():
    """Noise that stands midway between two tables: both fit, and they differ in 4 E places."""
    one, other = (np.array([bit == "1" for bit in text]) for text in ("11000110", "00110110"))
    midway = (exhaustive.counts(one) + exhaustive.counts(other)) / 2
    found = exhaustive.consistent_bits(midway, 8, 1.0)
    assert max(np.count_nonzero(found != one), np.count_nonzero(found != other)) <= 4
    assert np.abs(midway - exhaustive.counts(one)).max() == 1.0
    with pytest.raises(UsageError, match="no table fits"):
        exhaustive.consistent_bits(midway + np.arange(256) % 2 * 9, 8, 1.0)


def test_a_linear_program_beats_squares_at_large_bounded_noise():
    assert accuracy(100, "lp", multiple=0.5) > accuracy(100, "squares", multiple=0.5)
    assert accuracy(60, "lp", epsilon=Fraction(10**5)) == 1.0


@pytest.mark.parametrize("method", ["squares", "hadamard"])
def test_epsilon_one_gives_chance(method):
    found = reconstruction.attack(people=1_000, epsilon=1, method=method, curve=False)
    assert found.bound == best_under(1.0) and not found.breaks
    assert abs(found.success - 0.5) < 0.1  # 6 standard deviations
    assert accuracy(500, method, epsilon=Fraction(10**5)) > 0.99  # and the same answers with no noise to speak of fall


def test_own_bits_are_weighed_against_the_commoner_one():
    bits = np.arange(400) % 10 == 0
    found = reconstruction.attack(bits, curve=False, epsilon="0.1")
    assert found.chance == pytest.approx(0.9) and found.bound == pytest.approx(0.9)
    assert reconstruction.attack(bits, people=100, curve=False).n == 100


def test_evidence_tells_the_curve():
    found = reconstruction.attack(people=16, method="exhaustive", noise=0.2)
    assert found.details["queries"] == 65_536 and found.details["wrong"] <= found.details["promised_wrong"] == 3
    curve = found.details["curve"]
    assert curve["squares"][0] == 1.0 and curve["squares"][-1] < 0.68
    assert all(abs(share - 0.5) < 0.085 for share in curve["epsilon_1"])
    assert found.picture().startswith("<svg")


@pytest.mark.parametrize(
    ("wish", "message"),
    [
        ({"people": 21, "method": "exhaustive"}, "at most 20 people"),
        ({"people": 2_000, "method": "lp"}, "takes minutes"),
        ({"people": 0}, "at least 1 person"),
        ({"people": 10**6, "queries": 10**4}, "too many"),
        ({"people": 10**7, "method": "hadamard"}, "at most"),
        ({"queries": 0}, "at least 1 query"),
        ({"queries": 5, "method": "hadamard"}, "itself"),
        ({"noise": -1.0}, "0 or more"),
        ({"noise": 1.0, "epsilon": 1}, "determines the noise"),
        ({"method": "exhaustive", "epsilon": 1}, "bound"),
        ({"method": "magic"}, "no method"),
        ({"bits": []}, "no bits"),
    ],
)
def test_wrong_wishes(wish, message):
    with pytest.raises(UsageError, match=message):
        reconstruction.attack(**wish)


def test_without_scipy_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy.optimize", None)
    with pytest.raises(UsageError, match="needs scipy"):
        reconstruction.attack(people=10, method="lp", curve=False)


def test_the_picture_says_whose_curve_it_is():
    found = reconstruction.attack([True, False, True, True] * 10)
    assert "generated people" in found.picture() and "your file" in found.picture()
    assert found.details["curve"]["generated"] is True
