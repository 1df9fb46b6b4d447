"""Choices: frequencies against the exact law, wide gaps, many candidates."""

import time
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import chdtrc

from discreet.accounting import events
from discreet.mechanisms.bits import system
from discreet.mechanisms.exponential import ExponentialMechanism, PermuteAndFlipMechanism
from noise.source import FixedBits
from tiers import size

KINDS = [ExponentialMechanism, PermuteAndFlipMechanism]
N = size(4_000, 12_000)


def p_value(mechanism, scores, law, bits):
    counts = np.bincount([mechanism.choose(scores, bits=bits)[0] for _ in range(N)], minlength=len(scores))
    expected = N * np.array([float(low + high) / 2 for low, high in law])
    return chdtrc(len(scores) - 1, ((counts - expected) ** 2 / expected).sum())


@pytest.mark.thin(2)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scores", [[3, 3, 3], [0, 4, 5, 2, 5]], ids=str)
def test_frequencies(kind, scores):
    mechanism = kind(epsilon=Fraction(3, 2), sensitivity=2)
    scores = np.array(scores)
    assert p_value(mechanism, scores, mechanism.probabilities(scores), FixedBits(1)) > 1e-8
    other = kind(epsilon=Fraction(2), sensitivity=2)
    if np.ptp(scores):
        assert p_value(other, scores, mechanism.probabilities(scores), FixedBits(2)) < 1e-8


def test_the_two_laws_differ():
    """Permute-and-flip is not the exponential mechanism under another name: it picks the best more often."""
    scores = np.array([2, 0, 0, 0])
    best = [kind(epsilon=Fraction(1), sensitivity=1).probabilities(scores)[0][0] for kind in KINDS]
    assert best[1] > best[0] + Fraction(1, 50)


@pytest.mark.parametrize("kind", KINDS)
def test_wide_gaps_neither_underflow_nor_fail(kind):
    mechanism = kind(epsilon=Fraction(1), sensitivity=1)
    for scores in (
        np.array([0, 10**9, -(10**9)]),
        np.array([-(2**63), 2**63 - 1, 0]),
        np.array([0, 10**400, -(10**400)], dtype=object),
    ):
        assert mechanism.choose(scores, bits=FixedBits(3)) == (1, mechanism.event())
        law = mechanism.probabilities(scores)
        assert law[1][1] == 1
        assert law[1][0] > 1 - Fraction(1, 10**50)


@pytest.mark.parametrize("kind", KINDS)
def test_python_integers_and_int64_choose_alike(kind):
    scores = np.array([5, 4, 3, 5, 1])
    mechanism = kind(epsilon=Fraction(1), sensitivity=1)
    for seed in range(50):
        wide = mechanism.choose(scores.astype(object), bits=FixedBits(seed))
        assert mechanism.choose(scores, bits=FixedBits(seed)) == wide


@pytest.mark.parametrize("kind", KINDS)
def test_shifting_all_scores_changes_nothing(kind):
    mechanism = kind(epsilon=Fraction(1), sensitivity=3)
    assert mechanism.probabilities(np.array([1, 2, 9])) == mechanism.probabilities(np.array([101, 102, 109]))


@pytest.mark.parametrize("kind", KINDS)
def test_one_candidate_is_chosen(kind):
    mechanism = kind(epsilon=Fraction(1), sensitivity=1)
    assert mechanism.choose(np.array([-7]), bits=FixedBits(1))[0] == 0


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scores", [np.arange(100_000), np.r_[10**9, np.zeros(99_999, np.int64)]], ids=["line", "peak"])
def test_a_hundred_thousand_candidates(kind, scores):
    mechanism = kind(epsilon=Fraction(1), sensitivity=1)
    start = time.process_time()
    mechanism.choose(scores, bits=system())
    assert time.process_time() - start < 0.5


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scores", [np.array([], np.int64), np.zeros((2, 2), np.int64)])
def test_scores_that_are_refused(kind, scores):
    with pytest.raises(ValueError):
        kind(epsilon=Fraction(1), sensitivity=1).choose(scores, bits=FixedBits(1))


@pytest.mark.parametrize("kind", KINDS)
def test_floats_are_no_scores(kind):
    mechanism = kind(epsilon=Fraction(1), sensitivity=1)
    for scores in (np.array([0.5, 1.0]), np.array([0.5, 1], dtype=object)):
        with pytest.raises(TypeError):
            mechanism.choose(scores, bits=FixedBits(1))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("epsilon", "sensitivity"), [(Fraction(0), 1), (Fraction(1), 0), (Fraction(-1), 1), (1.0, 1)])
def test_what_is_no_choice(kind, epsilon, sensitivity):
    with pytest.raises(ValueError):
        kind(epsilon=epsilon, sensitivity=sensitivity)


def test_prices():
    assert ExponentialMechanism(epsilon=Fraction(1), sensitivity=7).event() == events.ExponentialEvent(
        epsilon=Fraction(1)
    )
    assert PermuteAndFlipMechanism(epsilon=Fraction(1), sensitivity=7).event() == events.PermuteAndFlipEvent(
        epsilon=Fraction(1)
    )
