"""Half widths against the exact law, which for small sums is a convolution on a lattice; and mutants."""

from __future__ import annotations

import math
from fractions import Fraction
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.inference.linear import residual_width
from discreet.inference.linear.residual_characteristic import Characteristic
from discreet.inference.linear.residual_width import half_width
from discreet.mechanisms.gaussian import DiscreteGaussian
from discreet.mechanisms.laplace import DiscreteLaplace

#: Weights are multiples of one over this, so that sums lie on a lattice.
LATTICE = 12

laws = st.one_of(
    st.sampled_from(["0.3", "1", "2.5", "6"]).map(lambda scale: DiscreteLaplace(scale=Fraction(scale))),
    st.sampled_from(["0.2", "1", "3.9", "4.1", "30"]).map(lambda sigma2: DiscreteGaussian(sigma2=Fraction(sigma2))),
)
sums = st.lists(st.tuples(st.integers(1, LATTICE), st.integers(1, 5), laws), min_size=1, max_size=4)


def masses(law):
    """P(X = k) for k from -reach to reach, beyond which lies less than 1e-17."""
    spread = float(law.scale) if isinstance(law, DiscreteLaplace) else math.sqrt(law.sigma2)
    reach = math.ceil((42 if isinstance(law, DiscreteLaplace) else 9) * spread) + 2
    places = np.arange(-reach, reach + 1)
    if isinstance(law, DiscreteLaplace):
        found = np.exp(-np.abs(places) / float(law.scale))
    else:
        found = np.exp(-(places**2) / (2 * float(law.sigma2)))
    return found / found.sum()


def tails(terms):
    """P(|sum| > k / LATTICE) for k = 0, 1, 2 ..., by convolution."""
    law = np.ones(1)
    for units, count, noise in terms:
        own = masses(noise)
        spaced = np.zeros((len(own) - 1) * units + 1)
        spaced[::units] = own
        for _ in range(count):
            law = np.convolve(law, spaced)
    middle = len(law) // 2
    return np.cumsum(law[middle + 1 :][::-1])[::-1] * 2


def check(terms, confidence):
    exact_tails = np.append(tails(terms), 0.0)
    weighted = tuple((units / LATTICE, count, law) for units, count, law in terms)
    found = half_width(weighted, confidence)
    doubt = float(1 - confidence)
    place = min(math.floor(found * LATTICE * (1 + 1e-12)), len(exact_tails) - 1)
    assert exact_tails[place] <= doubt + 1e-13
    # Where the law itself jumps over the doubt, one that is a hair smaller is met a step further.
    least = int(np.flatnonzero(exact_tails <= doubt * (1 - 5e-3))[0]) / LATTICE
    deviation = math.sqrt(sum(count * weight**2 * law.variance() for weight, count, law in weighted))
    assert found <= least * 1.005 + 0.005 * deviation


@given(sums, st.sampled_from(["0.5", "0.9", "0.95", "0.999", "0.999999"]))
@settings(max_examples=60)
def test_widths_hold_and_are_near_the_least(terms, confidence):
    check(terms, Fraction(confidence))


def test_wrong_laws_are_seen():
    terms = [(12, 1, DiscreteLaplace(scale=Fraction(5, 2))), (3, 5, DiscreteGaussian(sigma2=Fraction(30)))]
    check(terms, Fraction(95, 100))
    known = Characteristic.of

    def once(given):
        return known([(weight, 1, law) for weight, _, law in given])

    def wide(given):
        return known([(1.1 * weight, count, law) for weight, count, law in given])

    for mutant in (once, wide):
        half_width.cache_clear()
        with mock.patch.object(Characteristic, "of", mutant), pytest.raises(AssertionError):
            check(terms, Fraction(95, 100))
    half_width.cache_clear()


@given(sums, st.sampled_from([32, 64, 500]))
@settings(max_examples=60)
def test_what_the_series_leaves_out_is_bounded(terms, last):
    check_rest(terms, last)


def check_rest(terms, last):
    weighted = [(units / LATTICE, count, law) for units, count, law in terms]
    deviation = math.sqrt(sum(count * weight**2 * law.variance() for weight, count, law in weighted))
    smoothing, length, law = 0.01 * deviation, 30 * deviation, Characteristic.of(weighted)
    numbers = np.arange(last + 1.0, 40_000.0)
    times = numbers * (2 * math.pi / length)
    smooth = np.abs(np.sin(times * smoothing / 8) / (times * smoothing / 8)) ** 8
    left = float((2 / (math.pi * numbers) * np.exp(law.log(times)) * smooth).sum())
    assert left <= residual_width._rest(law, smoothing, length, last)


def test_a_function_that_is_thought_to_fall_for_ever_is_seen():
    """Draws on a lattice have a characteristic function that comes back; whoever forgets it leaves out too much."""
    terms, known = [(12, 1, DiscreteGaussian(sigma2=Fraction(30)))], Characteristic.log
    check_rest(terms, 64)

    def log(self, times, *, falling_to=None):
        return known(self, times) if falling_to is None else np.minimum.accumulate(known(self, times))

    with mock.patch.object(Characteristic, "log", log), pytest.raises(AssertionError):
        check_rest(terms, 64)


def test_many_draws_are_like_one_gaussian():
    terms = ((1e-3, 200_000, DiscreteLaplace(scale=Fraction(5))), (1e-2, 10_000, DiscreteLaplace(scale=Fraction(50))))
    deviation = math.sqrt(sum(count * weight**2 * law.variance() for weight, count, law in terms))
    assert 1.9599 < half_width(terms, Fraction(95, 100)) / deviation < 1.9599 * 1.01


def test_one_draw_has_its_own_width():
    law = DiscreteLaplace(scale=Fraction(10))
    assert half_width(((0.5, 1, law),), Fraction(95, 100)) == pytest.approx(law.half_width(Fraction(95, 100)) / 2)


def test_hardly_any_doubt_is_met_by_a_wider_bound():
    law = DiscreteLaplace(scale=Fraction(1))
    found = half_width(((1.0, 2, law),), 1 - Fraction(1, 10**12))
    assert law.half_width(1 - Fraction(1, 10**12)) < found < 40


def test_characteristic_functions_are_the_laws_own():
    times = np.linspace(0.01, 20, 300)
    for law in (
        DiscreteLaplace(scale=Fraction(3, 10)),
        DiscreteLaplace(scale=Fraction(7)),
        *(DiscreteGaussian(sigma2=Fraction(text)) for text in ("0.1", "1", "3.99", "4", "25")),
    ):
        own = masses(law)
        places = np.arange(len(own)) - len(own) // 2
        direct = np.cos(np.multiply.outer(0.3 * times, places)) @ own
        found = np.exp(Characteristic.of([(0.3, 2, law)]).log(times))
        assert np.allclose(found, direct**2, atol=1e-13)
