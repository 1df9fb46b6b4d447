"""Mironov's attack: outputs that only one of two neighbours could have produced."""

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.mechanisms.gaussian import DiscreteGaussian
from discreet.mechanisms.laplace import DiscreteLaplace
from noise.checks import distinguisher
from noise.source import FixedBits
from tiers import size

PAIRS = [(0, 1, 10), (0, 1, 1000), (1000, 1001, 1000)]
N = 200_000


@pytest.mark.parametrize(("left", "right", "scale"), PAIRS)
def test_laplace_keeps_neighbours_apart_no_better_than_epsilon_allows(left, right, scale):
    law, bits = DiscreteLaplace(scale=Fraction(scale)), FixedBits(21)
    outputs = [law.add_noise(np.full(N, value), l1=1, bits=bits)[0] for value in (left, right)]
    for drawn in outputs:
        assert drawn.dtype == np.int64
    assert distinguisher(*outputs, 1 / scale) == []


@pytest.mark.parametrize(("left", "right", "scale"), PAIRS)
def test_no_output_names_its_input(left, right, scale):
    """Every output of one neighbour has a mass under the other, within e^epsilon of its own."""
    law = DiscreteLaplace(scale=Fraction(scale))
    bits = FixedBits(22)
    for here, there in ((left, right), (right, left)):
        drawn = law.add_noise(np.full(size(500, 2000), here), l1=1, bits=bits)[0]
        for output in np.unique(drawn).tolist():
            assert law.mass_bounds(output - there)[0] > 0
            assert law.mass(output - here) <= law.mass(output - there) * np.exp(1 / scale) * (1 + 1e-9)


def in_float_support(output, value, scale):
    """Whether value + Laplace noise, made as numpy makes it, can be exactly `output`.

    numpy takes the logarithm of a multiple of 2^-52. Going back from an output there are but a few
    multiples that could have led to it; often none does, and then `value` is ruled out.
    """
    distance = output - value
    near = round(math.exp(-abs(distance) / scale) * 2**52)
    for multiple in range(max(1, near - 3), near + 4):
        if value - math.copysign(scale, distance) * math.log(multiple * 2.0**-52) == output:
            return True
    return False


def ruled_out(outputs, values, scale):
    """For each output, whether exactly one of two values could have produced it; and which."""
    possible = [[in_float_support(output, value, scale) for value in values] for output in outputs.tolist()]
    named = [pair.index(True) for pair in possible if sum(pair) == 1]
    return len(named) / len(possible), named


@pytest.mark.parametrize(("left", "right", "scale"), PAIRS)
def test_the_attack_names_the_inputs_of_float_noise(left, right, scale):
    """It can find what it looks for: two outputs in three name an input, nine in ten of them the right one."""
    generator = np.random.default_rng(1)
    for side, value in enumerate((left, right)):
        share, named = ruled_out(value + generator.laplace(0, scale, 2000), (left, right), scale)
        assert share > 0.4
        assert named.count(side) > 0.8 * len(named)


@pytest.mark.parametrize(("left", "right", "scale"), PAIRS)
def test_the_attack_learns_nothing_from_discrete_noise(left, right, scale):
    law, bits = DiscreteLaplace(scale=Fraction(scale)), FixedBits(25)
    guesses = right_guesses = 0
    for side, value in enumerate((left, right)):
        drawn = law.add_noise(np.full(2000, value), l1=1, bits=bits)[0].astype(float)
        _, named = ruled_out(drawn, (left, right), scale)
        guesses, right_guesses = guesses + len(named), right_guesses + named.count(side)
    most = 1 / (1 + math.exp(-1 / scale))
    assert right_guesses <= most * guesses + 6.5 * math.sqrt(max(1, guesses) / 4)


@pytest.mark.parametrize("scale", [10, 1000])
def test_gaussian_neighbours(scale):
    """The best guess between Gaussians at distance d is right with probability Phi(d / (2 sigma))."""
    law, bits = DiscreteGaussian(sigma2=Fraction(scale) ** 2), FixedBits(23)
    outputs = [law.add_noise(np.full(N, value), l2_squared=1, bits=bits)[0] for value in (0, 1)]
    assert distinguisher(*outputs, 1.6 / scale) == []


def test_large_values_keep_their_lowest_bits():
    """No float between the exact value and the noise: 2^60 and 2^60 + 1 stay different integers."""
    law, bits = DiscreteLaplace(scale=Fraction(1000)), FixedBits(24)
    outputs = [law.add_noise(np.full(N, value), l1=1, bits=bits)[0] for value in (2**60, 2**60 + 1)]
    assert distinguisher(*outputs, 1 / 1000) == []
    assert np.unique(outputs[0] % 256).size == 256
