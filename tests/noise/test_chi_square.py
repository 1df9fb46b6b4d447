"""A hundred thousand draws accept the true scale, and reject 0.9 and 1.1 times it."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.special import chdtrc

from discreet.mechanisms import reference_sampler
from discreet.mechanisms.gaussian import DiscreteGaussian
from discreet.mechanisms.laplace import DiscreteLaplace
from noise.checks import LEAST_P, N, gaussian_p, laplace_p
from noise.source import FixedBits
from tiers import size

SCALES = [Fraction(1, 2), Fraction(1), Fraction(3), Fraction(10), Fraction(1000), Fraction(10**6)]
#: Where the samplers change their ways, and scales that float64 cannot hold.
CORNERS = [Fraction(10**9, 123456789), Fraction(2**24), Fraction(2**24 + 1), Fraction(10**9), Fraction(10**12)]


@pytest.mark.thin(6)
@pytest.mark.parametrize("scale", SCALES + CORNERS, ids=lambda scale: f"{float(scale):g}")
def test_laplace(scale):
    drawn = DiscreteLaplace(scale=scale).draw(N, bits=FixedBits(1))
    assert laplace_p(drawn, float(scale)) > LEAST_P
    assert laplace_p(drawn, 0.9 * float(scale)) < LEAST_P
    assert laplace_p(drawn, 1.1 * float(scale)) < LEAST_P


@pytest.mark.thin(6)
@pytest.mark.parametrize("sigma", SCALES + CORNERS, ids=lambda sigma: f"{float(sigma):g}")
def test_gaussian(sigma):
    drawn = DiscreteGaussian(sigma2=sigma**2).draw(N, bits=FixedBits(2))
    assert gaussian_p(drawn, float(sigma)) > LEAST_P
    assert gaussian_p(drawn, 0.9 * float(sigma)) < LEAST_P
    assert gaussian_p(drawn, 1.1 * float(sigma)) < LEAST_P


@pytest.mark.parametrize(("scale", "shift"), [(2**24 + 1, 5), (10**9, 10), (10**12, 20)])
def test_wide_draws_fill_their_lowest_bits(scale, shift):
    """A wide magnitude is put together of a high part and a low part, which must be uniform (nearly)."""
    drawn = np.abs(DiscreteLaplace(scale=Fraction(scale)).draw(N, bits=FixedBits(8)))
    for lowest in range(max(0, shift - 8), shift + 3):
        counts = np.bincount((drawn >> lowest) & 15, minlength=16)
        assert chdtrc(15, ((counts - N / 16) ** 2 / (N / 16)).sum()) > LEAST_P


@pytest.mark.thin(1)
@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(10), Fraction(81, 10)], ids=str)
def test_the_reference_follows_the_same_laws(scale):
    bits = FixedBits(3)
    drawn = np.array([reference_sampler.laplace(scale, bits=bits) for _ in range(size(4_000, 15_000))])
    assert laplace_p(drawn, float(scale)) > LEAST_P
    assert laplace_p(drawn, 0.8 * float(scale)) < LEAST_P
    drawn = np.array([reference_sampler.gaussian(scale**2, bits=bits) for _ in range(size(2_000, 7_000))])
    assert gaussian_p(drawn, float(scale)) > LEAST_P
    assert gaussian_p(drawn, 0.8 * float(scale)) < LEAST_P


@pytest.mark.fuzz
@pytest.mark.parametrize("scale", [Fraction(3), Fraction(10), Fraction(10**6), Fraction(10**9)], ids=str)
def test_twenty_million_draws(scale):
    drawn = DiscreteLaplace(scale=scale).draw(20_000_000, bits=FixedBits(4))
    assert laplace_p(drawn, float(scale)) > LEAST_P
    drawn = DiscreteGaussian(sigma2=scale**2).draw(20_000_000, bits=FixedBits(5))
    assert gaussian_p(drawn, float(scale)) > LEAST_P
