"""Half widths: never too narrow by the exact law, at most one part in a hundred too wide."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from discreet.mechanisms.gaussian import DiscreteGaussian
from discreet.mechanisms.laplace import DiscreteLaplace
from discreet.tables.stream import width
from discreet.tables.stream.tree import best_tree
from discreet.tables.stream.width import deviation, half_width

LAWS = [DiscreteLaplace(scale=Fraction(60)), DiscreteGaussian(sigma2=Fraction(3600))]
CONFIDENCES = [Fraction(1, 2), Fraction(9, 10), Fraction(95, 100), Fraction(999, 1000)]
#: Whole-number weights, so that the exact law of the sum lies on whole numbers.
READINGS = [(1,), (3, 1), (1, 1, 1), (5, -2, 2, 1), (1,) * 12, (7, -3, 3, 3, 1, 1)]


def exact_law(weights, law):
    """P(Z = k) by convolution, on -m .. m; and m."""
    far = law.half_width(1 - Fraction(1, 10**12))
    one = np.array([law.mass(k) for k in range(-far, far + 1)])
    found, reach = np.ones(1), 0
    for weight in map(abs, weights):
        spread = np.zeros(2 * far * weight + 1)
        spread[::weight] = one
        found, reach = np.convolve(found, spread), reach + far * weight
    return found, reach


@pytest.mark.parametrize("law", LAWS, ids=lambda law: type(law).__name__)
@pytest.mark.parametrize("weights", READINGS, ids=str)
def test_against_the_exact_law(law, weights):
    masses, reach = exact_law(weights, law)
    distance = np.abs(np.arange(-reach, reach + 1))
    reading = np.array(weights, dtype=float)
    for confidence in CONFIDENCES:
        found = half_width(reading, law, confidence)
        assert masses[distance <= found].sum() >= float(confidence) - 1e-9
        within = 0.99 * (found - np.abs(reading).sum())  # the last term is what whole numbers may cost
        assert masses[distance <= within - 1].sum() < float(confidence)
    assert deviation(reading, law) == pytest.approx(np.sqrt(masses @ distance.astype(float) ** 2), rel=1e-6)


def test_on_the_scale_of_a_stream_whole_numbers_cost_a_thousandth():
    tree = best_tree(1024)
    law = DiscreteLaplace(scale=Fraction(tree.strategy.moves(1).l1))
    for first, last in ((0, 0), (0, 700), (300, 900), (7, 7)):
        reading = tree.reading(first, last)
        assert np.abs(reading).sum() < 1e-3 * half_width(reading, law, Fraction(95, 100))


@pytest.mark.parametrize("size", [1, 2, 40])
def test_scaling_noise_and_weights(size):
    reading = np.linspace(1.0, 2.0, size)
    law, wide = DiscreteLaplace(scale=Fraction(10**6)), DiscreteLaplace(scale=Fraction(10**7))
    ratio = half_width(reading, wide, Fraction(9, 10)) / half_width(reading, law, Fraction(9, 10))
    assert ratio == pytest.approx(10, rel=1e-4)


def test_mutants_are_caught(monkeypatch):
    """A characteristic function of half the noise, and no blur at all: the first is seen, the second cannot be inverted."""
    law = LAWS[0]
    masses, reach = exact_law((3, 1), law)
    distance = np.abs(np.arange(-reach, reach + 1))

    def too_narrow():
        found = half_width(np.array([3.0, 1.0]), law, Fraction(95, 100))
        return masses[distance <= found].sum() < 0.95 - 1e-9

    assert not too_narrow()
    real = width._laplace_quantile
    monkeypatch.setattr(
        width, "_laplace_quantile", lambda weights, times, confidence: 0.97 * real(weights, times, confidence)
    )
    assert too_narrow()


def test_noise_too_narrow_to_be_near_a_gaussian_is_refused():
    with pytest.raises(ValueError):
        half_width(np.ones(1), DiscreteGaussian(sigma2=Fraction(3)), Fraction(95, 100))
