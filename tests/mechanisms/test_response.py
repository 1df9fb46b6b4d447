"""Randomized response: frequencies against the law, for one true answer after another."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.special import chdtrc

from discreet.accounting import events
from discreet.mechanisms.response import RandomizedResponse, TwoCoins
from noise.source import FixedBits, Script

N = 100_000


def p_value(answers, chances):
    counts = np.bincount(answers, minlength=len(chances))
    expected = N * np.array(chances)
    return chdtrc(len(chances) - 1, ((counts - expected) ** 2 / expected).sum())


@pytest.mark.parametrize("choices", [2, 3, 17])
@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(11, 10), Fraction(4)], ids=str)
def test_frequencies(choices, epsilon):
    mechanism = RandomizedResponse(epsilon=epsilon, choices=choices)
    (truth, _), (lie, _) = mechanism.law()
    for code in (0, choices - 1):
        answers, event = mechanism.randomize(np.full(N, code), bits=FixedBits(1))
        assert event == events.Response(epsilon=epsilon, choices=choices)
        chances = [float(lie)] * choices
        chances[code] = float(truth)
        assert p_value(answers, chances) > 1e-8
        chances[code], chances[1 - min(code, 1)] = chances[1 - min(code, 1)], chances[code]
        assert epsilon < 1 or p_value(answers, chances) < 1e-8


def test_two_coins_by_their_bits():
    """Bit 0 set: the truth. Else bit 1 is the answer."""
    answers, event = TwoCoins().randomize(np.array([0, 1, 0, 1, 0, 1]), bits=Script(1, 1, 0, 0, 2, 2))
    assert answers.tolist() == [0, 1, 0, 0, 1, 1]
    assert event == TwoCoins().event()


@pytest.mark.parametrize("code", [0, 1])
def test_two_coins(code):
    answers, _ = TwoCoins().randomize(np.full(N, code), bits=FixedBits(2))
    assert p_value(answers, [0.75, 0.25] if code == 0 else [0.25, 0.75]) > 1e-8


def test_the_truth_probability_is_not_rounded():
    """A word at the 64-bit threshold is not decided by rounding: the next word decides."""
    mechanism = RandomizedResponse(epsilon=Fraction(1), choices=2)
    low, high = mechanism.lie_bounds(60)
    word = int(low * 2**64)
    after = int((low * 2**64 - word) * 2**64)
    assert int(high * 2**64) == word
    for following, answer in ((after - 1, 1), (after + 1, 0)):
        answers, _ = mechanism.randomize(np.array([0]), bits=Script(word, following, 0))
        assert answers.tolist() == [answer]


def test_an_enormous_epsilon_tells_the_truth():
    codes = np.arange(1000) % 7
    answers, _ = RandomizedResponse(epsilon=Fraction(1000), choices=7).randomize(codes, bits=FixedBits(3))
    assert np.array_equal(answers, codes)


def test_answers_do_not_change_what_was_given():
    codes = np.zeros(100, np.int64)
    RandomizedResponse(epsilon=Fraction(1, 10), choices=2).randomize(codes, bits=FixedBits(4))
    assert not codes.any()


@pytest.mark.parametrize("codes", [np.array([3]), np.array([-1])])
def test_codes_out_of_range(codes):
    with pytest.raises(ValueError):
        RandomizedResponse(epsilon=Fraction(1), choices=3).randomize(codes, bits=FixedBits(1))
    with pytest.raises(ValueError):
        TwoCoins().randomize(codes, bits=FixedBits(1))


def test_codes_of_a_wrong_kind():
    for codes in (np.array([0.0]), np.array([[0]]), np.array(["yes"])):
        with pytest.raises(TypeError):
            TwoCoins().randomize(codes, bits=FixedBits(1))


@pytest.mark.parametrize(("epsilon", "choices"), [(Fraction(0), 2), (Fraction(1), 1), (1.0, 2), (Fraction(-1), 2)])
def test_what_is_no_response(epsilon, choices):
    with pytest.raises(ValueError):
        RandomizedResponse(epsilon=epsilon, choices=choices)
