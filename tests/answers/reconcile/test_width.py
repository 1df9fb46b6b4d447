"""Half widths of sums of many noises hold, and are not much too wide."""

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.answers.reconcile import width as module
from discreet.answers.reconcile.width import half_width, signature
from discreet.mechanisms.gaussian import DiscreteGaussian
from discreet.mechanisms.laplace import DiscreteLaplace
from noise.source import FixedBits

LAWS = [
    DiscreteLaplace(scale=Fraction(10)),
    DiscreteLaplace(scale=Fraction(1)),
    DiscreteLaplace(scale=Fraction(1, 2)),
    DiscreteGaussian(sigma2=Fraction(100)),
    DiscreteGaussian(sigma2=Fraction(3)),
    DiscreteGaussian(sigma2=Fraction(1, 2)),
]


def exact_width(law, times, confidence):
    """The least whole width that a sum of equal parts stays within, by convolving its law with itself."""
    size = 1 << int(200 * math.sqrt(times * float(law.variance())) + 200).bit_length()
    x = np.arange(-(size // 2), size // 2)
    if isinstance(law, DiscreteLaplace):
        masses = np.exp(-np.abs(x) / float(law.scale))
    else:
        masses = np.exp(-(x**2) / (2 * float(law.sigma2)))
    law_of_sum = np.fft.irfft(np.fft.rfft(np.fft.ifftshift(masses / masses.sum())) ** times, size)
    missed, width = 1 - law_of_sum[0], 0
    while missed > 1 - float(confidence) + 1e-12:
        width += 1
        missed -= law_of_sum[width] + law_of_sum[-width]
    return width


def wrong(found):
    """Where a width does not hold, or is more than two hundredths and one step too wide."""
    bad = []
    for law in LAWS:
        for times in (4, 30, 300):
            for confidence in (Fraction(1, 2), Fraction(95, 100), Fraction(999, 1000)):
                least = exact_width(law, times, confidence)
                told = found([(1.0, law)] * times, confidence)
                if not least <= told <= 1.02 * (least + 1):
                    bad.append((law, times, confidence, told, least))
    return bad


def test_widths_of_equal_parts_are_those_of_the_exact_law():
    assert wrong(half_width) == []


@pytest.mark.parametrize("factor", [0.97, 1.06])
def test_near_misses_are_caught(factor):
    assert wrong(lambda parts, confidence: factor * half_width(parts, confidence))


@pytest.mark.parametrize(
    "weights", [np.linspace(0.1, 1, 12), np.geomspace(0.01, 1, 7), np.array([1, -1, 0.5, -0.5, 1 / 3, 1 / 3])]
)
def test_widths_of_uneven_parts_cover(weights):
    laws = [DiscreteLaplace(scale=Fraction(3 + place)) for place in range(len(weights) - 2)]
    laws += [DiscreteGaussian(sigma2=Fraction(90)), DiscreteGaussian(sigma2=Fraction(7))]
    size = 40_000
    drawn = sum(
        weight * law.draw(size, bits=FixedBits(place))
        for place, (weight, law) in enumerate(zip(weights, laws, strict=True))
    )
    told = half_width(zip(weights.tolist(), laws, strict=True), Fraction(95, 100))
    assert 0.944 < np.mean(np.abs(drawn) <= told) < 0.959


def test_both_ways_agree():
    """A few parts are convolved on a grid, many wound around a circle."""
    parts = [(0.5, LAWS[0]), (0.25, LAWS[1]), (1.0, LAWS[3])]
    grid = half_width(parts, Fraction(95, 100))
    assert module._wound(signature(parts), 0.05) == pytest.approx(grid, rel=0.02)


@pytest.mark.parametrize("law", [DiscreteLaplace(scale=Fraction(1, 1000)), DiscreteLaplace(scale=Fraction(1, 20))])
def test_hardly_any_noise_is_quick_and_narrow(law):
    assert half_width([(1.0, law)] * 50, Fraction(95, 100)) < 1
    assert half_width([(1.0, law)] * 50, 1 - Fraction(1, 10**10)) < 3


def test_a_doubt_beyond_floats_is_met():
    law = DiscreteLaplace(scale=Fraction(10))
    widths = [half_width([(1.0, law)] * 20, 1 - Fraction(1, 10**digits)) for digits in (2, 4, 6, 8, 12, 15)]
    assert widths == sorted(widths) and widths[-1] < 12 * math.sqrt(20 * 200)


def test_no_part_is_no_noise_and_signs_do_not_matter():
    assert half_width([], Fraction(95, 100)) == 0 == half_width([(0.0, LAWS[0])], Fraction(95, 100))
    plus, minus = [(1.0, LAWS[0])] * 5, [(-1.0, LAWS[0])] * 5
    assert half_width(plus, Fraction(9, 10)) == half_width(minus, Fraction(9, 10))
    assert signature(plus) == signature(minus) == ((1.0, LAWS[0], 5),)
