"""Discrete Laplace: what it says about itself, and what it does to integers."""

import math
import time
from fractions import Fraction

import numpy as np
import pytest

from discreet.accounting import events
from discreet.errors import UsageError
from discreet.mechanisms.laplace import DiscreteLaplace
from noise.source import FixedBits

SCALES = [Fraction(1, 1000), Fraction(1, 2), Fraction(10**9, 123456789), Fraction(1000), Fraction(10**12)]


@pytest.mark.parametrize("scale", SCALES[1:3], ids=str)
def test_masses_add_up_to_one_and_tails_to_the_rest(scale):
    law = DiscreteLaplace(scale=scale)
    reach = math.ceil(60 * scale)
    low = sum(law.mass_bounds(k)[0] for k in range(-reach, reach + 1))
    high = sum(law.mass_bounds(k)[1] for k in range(-reach, reach + 1))
    assert low <= 1 <= high + law.tail(reach)
    assert high - low < Fraction(1, 10**40)
    for q in (-1, 0, 1, 5, 20):
        beyond = 1 - sum(law.mass_bounds(k)[0] for k in range(-q, q + 1))
        assert beyond - Fraction(1, 10**24) < law.tail(q) <= beyond + Fraction(1, 10**40)
    for k in (0, 1, -7):
        assert law.mass(k) == pytest.approx(float(law.mass_bounds(k)[0]), rel=1e-12)
    assert law.variance() == pytest.approx(sum(k * k * law.mass(k) for k in range(-reach, reach + 1)), rel=1e-12)


@pytest.mark.parametrize("scale", SCALES, ids=lambda scale: f"{float(scale):g}")
@pytest.mark.parametrize("confidence", [Fraction(1, 100), Fraction(1, 2), Fraction(95, 100), 1 - Fraction(1, 10**50)])
def test_half_width_is_the_smallest(scale, confidence):
    law = DiscreteLaplace(scale=scale)
    width = law.half_width(confidence)
    assert law.tail(width) <= 1 - confidence < law.tail(width - 1)


def test_half_width_by_hand():
    """P(|X| <= q) = 1 - 2 r^(q+1) / (1 + r): at scale 1, 0.8 at q = 1 is 0.802, at q = 0 is 0.462."""
    law = DiscreteLaplace(scale=Fraction(1))
    assert [law.half_width(Fraction(c, 100)) for c in (46, 47, 80, 81)] == [0, 1, 1, 2]


@pytest.mark.parametrize("scale", SCALES, ids=lambda scale: f"{float(scale):g}")
def test_the_law_is_quick_at_every_scale(scale):
    law = DiscreteLaplace(scale=scale)
    start = time.process_time()
    for k in (0, 1, 10**6, 10**15, 10**40):
        assert law.mass_bounds(k)[0] <= law.mass_bounds(k)[1] <= 1
        assert 0 < law.tail(k) <= 1
        assert law.mass(k) >= 0
    law.half_width(Fraction(95, 100))
    law.variance()
    assert time.process_time() - start < 0.5


def test_release_returns_noisy_integers_and_their_price():
    law = DiscreteLaplace(scale=Fraction(10))
    exact = np.arange(12).reshape(3, 4)
    noisy, event = law.add_noise(exact, l1=2, bits=FixedBits(1))
    assert event == law.event(l1=2) == events.LaplaceEvent(scale=Fraction(10), l1=2)
    assert noisy.shape == (3, 4)
    assert noisy.dtype == np.int64
    assert np.array_equal(noisy.ravel() - exact.ravel(), law.draw(12, bits=FixedBits(1)))
    assert np.array_equal(exact, np.arange(12).reshape(3, 4))


@pytest.mark.parametrize("shape", [0, (0, 3), (), 1])
def test_release_keeps_shapes(shape):
    exact = np.zeros(shape, dtype=np.int64)
    assert DiscreteLaplace(scale=Fraction(10)).add_noise(exact, l1=1, bits=FixedBits(1))[0].shape == exact.shape


def test_release_never_wraps():
    law = DiscreteLaplace(scale=Fraction(1000))
    noise = law.draw(100, bits=FixedBits(1)).tolist()
    for edge in (2**63 - 1, -(2**63)):
        noisy, _ = law.add_noise(np.full(100, edge), l1=1, bits=FixedBits(1))
        assert noisy.dtype == object
        assert noisy.tolist() == [edge + part for part in noise]
    wide = np.array([10**40, np.int64(2**63 - 1), -5] * 10, dtype=object)
    noisy, _ = law.add_noise(wide, l1=1, bits=FixedBits(1))
    assert noisy.dtype == object
    assert noisy.tolist() == [int(value) + part for value, part in zip(wide.tolist(), noise[:30], strict=True)]
    assert all(type(value) is int for value in noisy.tolist())


def test_narrow_integers_are_widened():
    noisy, _ = DiscreteLaplace(scale=Fraction(1000)).add_noise(np.zeros(99, np.int8), l1=1, bits=FixedBits(1))
    assert noisy.dtype == np.int64
    assert np.abs(noisy).max() > 127


@pytest.mark.parametrize("exact", [np.zeros(2), np.zeros(2, np.uint64), np.array(["1"]), np.array([True])])
def test_only_integers_take_noise(exact):
    with pytest.raises(TypeError):
        DiscreteLaplace(scale=Fraction(10)).add_noise(exact, l1=1, bits=FixedBits(1))


def test_floats_in_disguise_take_no_noise():
    with pytest.raises(TypeError):
        DiscreteLaplace(scale=Fraction(10)).add_noise(np.array([1.5], dtype=object), l1=1, bits=FixedBits(1))


def test_a_wrong_sensitivity_draws_nothing():
    bits = FixedBits(1)
    with pytest.raises(ValueError):
        DiscreteLaplace(scale=Fraction(10)).add_noise(np.zeros(2, np.int64), l1=0, bits=bits)
    assert bits.taken == 0


@pytest.mark.parametrize("scale", [Fraction(0), Fraction(-1), Fraction(1, 1001), Fraction(10**12 + 1)])
def test_scales_that_are_refused(scale):
    with pytest.raises(UsageError, match="scale"):
        DiscreteLaplace(scale=scale)


def test_a_float_is_no_scale():
    with pytest.raises(TypeError):
        DiscreteLaplace(scale=10.0)


@pytest.mark.parametrize("confidence", [Fraction(0), Fraction(1), Fraction(2), 1 - Fraction(1, 10**200)])
def test_confidences_that_are_refused(confidence):
    with pytest.raises(UsageError, match="confidence"):
        DiscreteLaplace(scale=Fraction(10)).half_width(confidence)
