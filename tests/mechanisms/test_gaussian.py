"""Discrete Gaussian: what it says about itself, certified, and what it does to integers."""

import math
import time
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import erfc

from discreet import exact
from discreet.accounting import events
from discreet.errors import UsageError
from discreet.mechanisms import gaussian_law
from discreet.mechanisms.gaussian import DiscreteGaussian
from noise.source import FixedBits

SIGMAS = [
    Fraction(1, 1000),
    Fraction(1, 2),
    Fraction(1),
    Fraction(79, 10),
    Fraction(8),
    Fraction(1000),
    Fraction(10**12),
]
NARROW = Fraction(1, 10**30)


@pytest.mark.thin(3)
@pytest.mark.parametrize("sigma", SIGMAS[:5], ids=str)
def test_masses_add_up_to_one(sigma):
    law = DiscreteGaussian(sigma2=sigma**2)
    reach = math.ceil(16 * sigma) + 1
    low = sum(law.mass_bounds(k)[0] for k in range(-reach, reach + 1))
    high = sum(law.mass_bounds(k)[1] for k in range(-reach, reach + 1))
    assert low <= 1 <= high + law.tail(reach)
    assert high - low < NARROW
    assert law.variance() == pytest.approx(
        float(sum(k * k * law.mass_bounds(k)[0] for k in range(-reach, reach + 1))), rel=1e-12
    )


def test_the_two_ways_to_sum_agree():
    """Directly, and by Poisson summation: the same normaliser on both sides of sigma = 1."""
    for sigma2 in (Fraction(99, 100), Fraction(1), Fraction(3, 2)):
        by_sum = gaussian_law._summed_normaliser(sigma2)
        low, high = gaussian_law.excess(sigma2)
        poisson = (
            low * exact.sqrt(2 * gaussian_law._PI_LOW * sigma2, up=False),
            high * exact.sqrt(2 * gaussian_law._PI_HIGH * sigma2, up=True),
        )
        assert by_sum[0] <= poisson[1]
        assert poisson[0] <= by_sum[1]
        assert by_sum[1] - by_sum[0] < NARROW
        assert poisson[1] - poisson[0] < NARROW


@pytest.mark.thin(4)
@pytest.mark.parametrize(
    "sigma",
    [Fraction(1, 2), Fraction(3), Fraction(79, 10), Fraction(8), pytest.param(Fraction(12), marks=pytest.mark.deep)],
    ids=str,
)
def test_tails_are_above_the_truth_and_close_to_it(sigma):
    law = DiscreteGaussian(sigma2=sigma**2)
    masses = [law.mass_bounds(k) for k in range(math.ceil(16 * sigma) + 2)]
    for q in (0, 1, int(sigma / 2), int(sigma), int(sigma) + 1, int(3 * sigma), int(9 * sigma)):
        least = 2 * sum(low for low, _ in masses[q + 1 :])
        assert least <= law.tail(q)
        # Summed below sigma = 8; from there an integral, off by z^2 / (24 sigma^2) of the mass there.
        room = NARROW if sigma < 8 else 2 * masses[q][1]
        assert law.tail(q) - least <= room * Fraction(1, 2)


@pytest.mark.parametrize(
    "square", [Fraction(1, 10**6), Fraction(1, 2), Fraction(3), Fraction(59), Fraction(61), Fraction(200)]
)
def test_erfc(square):
    found = gaussian_law._erfc_up(square)
    assert float(found) == pytest.approx(float(erfc(math.sqrt(square))), rel=1e-12)


def test_the_two_erfc_meet():
    """The series and the asymptotic one, where one gives way to the other."""
    gap = gaussian_law._erfc_up(Fraction(60)) / gaussian_law._erfc_up(60 + Fraction(1, 10**30)) - 1
    assert abs(gap) < Fraction(1, 10**15)


@pytest.mark.parametrize("sigma", SIGMAS, ids=lambda sigma: f"{float(sigma):g}")
@pytest.mark.parametrize("confidence", [Fraction(1, 100), Fraction(1, 2), Fraction(95, 100), 1 - Fraction(1, 10**50)])
def test_half_width_is_the_smallest_certified(sigma, confidence):
    law = DiscreteGaussian(sigma2=sigma**2)
    width = law.half_width(confidence)
    assert law.tail(width) <= 1 - confidence < law.tail(width - 1)


@pytest.mark.parametrize(
    "sigma", [Fraction(3), Fraction(8), pytest.param(Fraction(20), marks=pytest.mark.deep)], ids=str
)
def test_half_width_against_the_sum(sigma):
    law = DiscreteGaussian(sigma2=sigma**2)
    masses = [law.mass(k) for k in range(math.ceil(12 * sigma))]
    inside = 2 * np.cumsum(masses) - masses[0]
    for percent in (5, 31, 50, 68, 90, 95, 99):
        assert law.half_width(Fraction(percent, 100)) == int(np.argmax(inside >= percent / 100))


@pytest.mark.parametrize("sigma", SIGMAS, ids=lambda sigma: f"{float(sigma):g}")
def test_the_law_is_quick_at_every_scale(sigma):
    law = DiscreteGaussian(sigma2=sigma**2)
    start = time.process_time()
    for k in (0, 1, 10**6, 10**15, 10**40):
        assert law.mass_bounds(k)[0] <= law.mass_bounds(k)[1] <= 1
        assert 0 < law.tail(k) <= 1
        assert law.mass(k) >= 0
    law.half_width(Fraction(95, 100))
    law.variance()
    assert time.process_time() - start < 0.5


def test_release_returns_noisy_integers_and_their_price():
    law = DiscreteGaussian(sigma2=Fraction(100))
    counts = np.arange(12).reshape(3, 4)
    noisy, event = law.add_noise(counts, l2_squared=2, bits=FixedBits(1))
    assert event == law.event(l2_squared=2) == events.GaussianEvent(sigma2=Fraction(100), l2_squared=2)
    assert noisy.shape == (3, 4)
    assert np.array_equal(noisy.ravel() - counts.ravel(), law.draw(12, bits=FixedBits(1)))


def test_release_never_wraps():
    law = DiscreteGaussian(sigma2=Fraction(10**6))
    noise = law.draw(100, bits=FixedBits(1)).tolist()
    noisy, _ = law.add_noise(np.full(100, 2**63 - 1), l2_squared=1, bits=FixedBits(1))
    assert noisy.tolist() == [2**63 - 1 + part for part in noise]


def test_draws_fill_any_size():
    law = DiscreteGaussian(sigma2=Fraction(9))
    for size in (0, 1, 2, 50, 40_000):
        assert law.draw(size, bits=FixedBits(2)).shape == (size,)


@pytest.mark.parametrize("sigma2", [Fraction(0), Fraction(-1), Fraction(1, 10**7), Fraction(10**25)])
def test_what_is_refused(sigma2):
    with pytest.raises(UsageError, match="variance"):
        DiscreteGaussian(sigma2=sigma2)
    with pytest.raises(TypeError):
        DiscreteGaussian(sigma2=1.0)
