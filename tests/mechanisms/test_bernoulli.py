"""Coins: their bias, their ends, and wide gaps."""

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.mechanisms import bernoulli, reference_sampler, uniform
from noise.source import FixedBits, Script
from tiers import size

N = 200_000


def fits(heads, chance, n=N):
    return abs(heads - n * chance) <= 6.5 * math.sqrt(n * chance * (1 - chance)) + 1e-9


@pytest.mark.parametrize("chance", [Fraction(0), Fraction(1, 10**6), Fraction(1, 3), Fraction(999, 1000), Fraction(1)])
def test_computable(chance):
    assert fits(bernoulli.bernoulli(lambda digits: (chance, chance), N, bits=FixedBits(1)).sum(), float(chance))


@pytest.mark.parametrize("kind", [np.int64, object])
def test_exp_minus_lane_by_lane(kind):
    gaps = np.tile(np.array([0, 1, 3, 10**9], dtype=kind), N // 4)
    found = bernoulli.exp_minus(gaps, Fraction(3, 10), bits=FixedBits(3))
    for gap in (0, 1, 3, 10**9):
        assert fits(found[gaps == gap].sum(), math.exp(-0.3 * gap), N // 4)


def test_gaps_beyond_int64():
    gaps = np.array([0, 10**30, 10**300, 10**3000], dtype=object)
    assert bernoulli.exp_minus(gaps, Fraction(1, 10**3), bits=FixedBits(4)).tolist() == [True, False, False, False]
    assert bernoulli.exp_minus(gaps, Fraction(0), bits=FixedBits(4)).all()
    slow = Fraction(1, 10**30)
    heads = sum(bernoulli.exp_minus(gaps, slow, bits=FixedBits(seed))[1] for seed in range(2000))
    assert fits(heads, math.exp(-1), 2000)


def test_a_hopeless_coin_is_not_impossible():
    """exp(-50) is below 2^-64: sixty-four zero bits leave it open, and the next word decides."""
    gap = np.array([50])
    assert bernoulli.exp_minus(gap, Fraction(1), bits=Script(0, 0))[0]
    assert not bernoulli.exp_minus(gap, Fraction(1), bits=Script(0, 2**63))[0]
    assert not bernoulli.exp_minus(gap, Fraction(1), bits=Script(1))[0]


@pytest.mark.parametrize(
    "call",
    [
        lambda: bernoulli.exp_minus(np.array([-1]), Fraction(1), bits=Script()),
        lambda: bernoulli.exp_minus(np.array([1]), Fraction(-1), bits=Script()),
        lambda: uniform.whole_below(0, 1, bits=Script()),
    ],
)
def test_what_is_no_probability(call):
    with pytest.raises(ValueError):
        call()


@pytest.mark.parametrize("limit", [1, 2, 3, 5, 64, 1000, 2**62])
def test_whole_below(limit):
    drawn = uniform.whole_below(limit, 60_000, bits=FixedBits(5))
    assert drawn.min() >= 0
    assert drawn.max() < limit
    cells = min(limit, 5)
    counts = np.bincount((drawn.astype(object) * cells // limit).astype(int), minlength=cells)
    for cell, count in enumerate(counts):
        chance = (-(-(cell + 1) * limit // cells) - -(-cell * limit // cells)) / limit
        assert fits(count, chance, 60_000)


@pytest.mark.parametrize("x", [Fraction(0), Fraction(1, 3), Fraction(1), Fraction(5, 2)])
def test_the_reference_coin(x):
    bits = FixedBits(6)
    heads = sum(reference_sampler.bernoulli_exp(x, bits=bits) for _ in range(size(5_000, 20_000)))
    assert fits(heads, math.exp(-x), size(5_000, 20_000))


def test_the_reference_draws_wide_numbers():
    limit = 10**30
    drawn = [reference_sampler.uniform(limit, bits=FixedBits(seed)) for seed in range(2000)]
    assert max(drawn) < limit
    assert fits(sum(number < limit // 2 for number in drawn), 0.5, 2000)
