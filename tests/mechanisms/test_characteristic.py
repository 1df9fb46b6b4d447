"""Characteristic functions are the laws' own, and what they are said to be at most from some time on."""

from __future__ import annotations

from fractions import Fraction
from unittest import mock

import numpy as np
import pytest

from discreet.mechanisms import characteristic_function
from discreet.mechanisms.characteristic_function import WeightedDraws
from discreet.mechanisms.gaussian import DiscreteGaussian
from discreet.mechanisms.laplace import DiscreteLaplace
from mechanisms.lattice import masses
from tiers import size

LAWS = [
    DiscreteLaplace(scale=Fraction(3, 10)),
    DiscreteLaplace(scale=Fraction(7)),
    *(DiscreteGaussian(sigma2=Fraction(text)) for text in ("0.1", "1", "3.99", "4", "25")),
]
TIMES = np.linspace(0.01, 20, 300)


def lines(law, weights, counts):
    return WeightedDraws(law=law, weights=np.array(weights), counts=np.array(counts, dtype=float))


def direct(law, weights, counts, times):
    """By adding up the masses times the cosine."""
    own = masses(law)
    places = np.arange(len(own)) - len(own) // 2
    each = [
        (np.cos(np.multiply.outer(weight * times, places)) @ own) ** count for weight, count in zip(weights, counts)
    ]
    return np.prod(each, axis=0)


@pytest.mark.parametrize("law", LAWS, ids=str)
@pytest.mark.parametrize("upto", [2, 300])
def test_they_are_the_laws_own(law, upto):
    """Up to a time at which all draws are light, some are, and none is."""
    weights, counts, times = [0.01, 0.3, 1.1], [5, 2, 1], TIMES[:upto]
    found = np.exp(characteristic_function.log([lines(law, weights, counts)], times))
    assert np.allclose(found, direct(law, weights, counts, times), atol=1e-13)


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_numbers_at_a_time_do_not_matter(law):
    line = lines(law, [0.01, 0.3, 1.1], [5, 2, 1])
    whole = line.log(TIMES)
    with mock.patch.object(characteristic_function, "_CHUNK", 10):
        assert np.allclose(line.log(TIMES), whole, atol=1e-12)


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_from_a_time_to_twice_of_it_they_are_at_most_what_is_said(law):
    weights, counts = [0.01, 0.3, 1.1], [5, 2, 1]
    most = np.exp(characteristic_function.log_falling([lines(law, weights, counts)], TIMES)) + 1e-13
    for share in np.linspace(1, 2, size(11, 41)):
        assert (direct(law, weights, counts, share * TIMES) <= most).all()
    # It is no wider than it must be: while all fall, it is the function itself.
    light = np.pi / 2 / 1.1 >= TIMES
    assert np.allclose(most[light], direct(law, weights, counts, TIMES[light]), atol=1e-12)


@pytest.mark.parametrize("law", [LAWS[1], LAWS[-1]], ids=str)
def test_a_function_that_is_thought_to_fall_for_ever_is_seen(law):
    """Draws on a lattice have a characteristic function that comes back."""
    with mock.patch.object(WeightedDraws, "log_falling", WeightedDraws.log), pytest.raises(AssertionError):
        test_from_a_time_to_twice_of_it_they_are_at_most_what_is_said(law)


def test_several_laws_multiply():
    some = [lines(law, [0.5], [2]) for law in LAWS]
    together = np.prod([direct(law, [0.5], [2], TIMES) for law in LAWS], axis=0)
    assert np.allclose(np.exp(characteristic_function.log(some, TIMES)), together, atol=1e-13)
