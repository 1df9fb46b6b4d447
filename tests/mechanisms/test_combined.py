"""Weighted sums of noise: bounds on their tails against summation, closed forms and simulation; weights; speed."""

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import UsageError
from discreet.mechanisms import noise_combination
from discreet.mechanisms.bits import system
from discreet.mechanisms.gaussian import DiscreteGaussian
from discreet.mechanisms.laplace import DiscreteLaplace
from discreet.mechanisms.noise_combination import CombinedNoise, half_widths, inverse_variance_weights, upper_tail

SURE = Fraction(95, 100)


def laplace(scale):
    return DiscreteLaplace(scale=Fraction(scale))


def gaussian(sigma):
    return DiscreteGaussian(sigma2=Fraction(sigma) ** 2)


def summed(*parts):
    """The law of a weighted sum by summing all of it: values and masses, for laws of small scale."""
    values, masses = np.zeros(1), np.ones(1)
    for weight, law in parts:
        support = np.arange(-120, 121)
        mass = np.array([law.mass(int(k)) for k in support])
        values = (values[:, None] + float(weight) * support).ravel()
        masses = (masses[:, None] * mass).ravel()
        kept = masses > 1e-18
        values, masses = values[kept], masses[kept]
    return values, masses


SMALL = [
    ((Fraction(1), laplace(1)), (Fraction(1), laplace(1))),
    ((Fraction(1, 2), laplace("1/2")), (Fraction(1, 2), laplace("1/3"))),
    ((Fraction(4, 5), laplace(2)), (Fraction(-1, 5), laplace(4))),
    ((Fraction(1), gaussian(1)), (Fraction(7, 3), gaussian(2))),
    ((Fraction(1), gaussian(3)), (Fraction(-2), laplace(1))),
    ((Fraction(1, 3), laplace(2)), (Fraction(1, 3), laplace(2)), (Fraction(1, 3), laplace(3))),
]


@pytest.mark.thin(4)
@pytest.mark.parametrize("parts", SMALL, ids=range(len(SMALL)))
def test_bounds_on_small_laws(parts):
    """Never below the truth; and a width is at most a hundredth, or a grid step of three, above the least one."""
    law = CombinedNoise(parts=parts)
    values, masses = summed(*parts)
    for width in (0, 0.3, 1, 2.5, 4, 7, 11):
        true = float(masses[np.abs(values) > width * (1 + 1e-9)].sum())
        assert float(law.tail(width)) >= true * (1 - 1e-9)
    for confidence in (Fraction(1, 2), Fraction(9, 10), SURE, Fraction(999, 1000)):
        found = law.half_width(confidence)
        assert masses[np.abs(values) > found].sum() <= float(1 - confidence)
        order = np.argsort(np.abs(values))
        reached = np.searchsorted(np.cumsum(masses[order]), float(confidence) * (1 - 1e-12))
        least = np.abs(values[order])[reached]
        spread = sum(abs(float(weight)) * noise_combination._spread(noise) for weight, noise in parts)
        assert found <= least * 1.01 + 0.04 * spread


def test_two_wide_laplaces_by_the_closed_form():
    """P(|X + Y| > t) = (s^2 exp(-t/s) - r^2 exp(-t/r)) / (s^2 - r^2) for continuous noise of scales s and r."""
    s, r = 30_000, 50_000
    law = CombinedNoise(parts=((Fraction(1), laplace(s)), (Fraction(1), laplace(r))))
    for t in (10_000, 100_000, 300_000, 600_000):
        true = (s**2 * math.exp(-t / s) - r**2 * math.exp(-t / r)) / (s**2 - r**2)
        assert true * 0.9999 <= float(law.tail(t)) <= true * 1.05
    width = law.half_width(SURE)
    assert law.tail(width) <= 1 - SURE
    assert 0.05 >= (s**2 * math.exp(-width / s) - r**2 * math.exp(-width / r)) / (s**2 - r**2) >= 0.049


@pytest.mark.parametrize("sigma", [50, 3000, 5000, 10**9])
def test_two_gaussians_are_one(sigma):
    law = CombinedNoise(parts=((Fraction(3), gaussian(sigma)), (Fraction(-4), gaussian(sigma))))
    true = 1.959964 * 5 * sigma
    assert true < law.half_width(SURE) < true * 1.01
    assert law.variance() == pytest.approx(25 * sigma**2)


@pytest.mark.parametrize(
    "law",
    [
        laplace("1/3"),
        laplace(7),
        laplace(10**12),
        gaussian("1/2"),
        gaussian(20),
        gaussian(3999),
        gaussian(4001),
        gaussian(10**6),
    ],
    ids=str,
)
def test_tails_of_one_law(law):
    """Against sums of the whole law, or where it is too wide against its own bounds; on either side of zero."""
    spread = noise_combination._spread(law)
    places = [0, 1, 2, *(int(part * spread) for part in (0.1, 0.9, 1.1, 2.5, 5, 8))]
    for place in places:
        true = true_tail(law, place)
        above = float(upper_tail(law, np.array([float(place)]))[0])
        below = float(upper_tail(law, np.array([float(-place - 1)]))[0])
        assert true * (1 - 1e-12) <= above <= true * 1.02 + 1e-20
        assert 1 - true * (1 + 1e-12) - 1e-16 <= below <= 1 - true * 0.98 + 1e-8


def true_tail(law, place):
    if isinstance(law, DiscreteLaplace) or law.sigma2 > 4000**2:
        return float(law.tail(place)) / 2 * (1 - 1e-9)  # an upper bound, by less than that beyond sigma 4000
    support = np.arange(-16 * math.ceil(law.sigma2**0.5) - 60, 16 * math.ceil(law.sigma2**0.5) + 60)
    masses = np.exp(-(support.astype(np.longdouble) ** 2) / (2 * np.longdouble(float(law.sigma2))))
    return float(masses[support > place].sum() / masses.sum())


def test_one_part_is_its_law():
    law = laplace(7)
    for weight in (Fraction(1), Fraction(-2, 3)):
        alone = CombinedNoise(parts=((weight, law), (Fraction(0), gaussian(10**6))))
        assert alone.half_width(SURE) == float(abs(weight) * law.half_width(SURE))
        assert alone.tail(abs(weight) * 5) == law.tail(5)
    assert alone.tail(-1) == 1


def test_lines_of_weights_are_computed_apart():
    laws = [laplace(5), gaussian(40)]
    weights = np.array([[1.0, 0.5], [0.0, 1.0], [2.0, 1e-7], [-1.0, -0.5]])
    found = half_widths(weights, laws, confidence=SURE)
    for line, width in zip(weights, found, strict=True):
        assert width == pytest.approx(half_widths(line[None], laws, confidence=SURE)[0])
    assert found[0] == found[3]
    assert half_widths(np.array([[0.0, 0.0], [1.0, 0.5]]), laws, confidence=SURE).tolist() == [0, found[0]]
    assert gaussian(40).half_width(SURE) <= found[1] <= gaussian(40).half_width(SURE) * 1.02
    assert 2 * laplace(5).half_width(SURE) <= found[2] <= 2 * laplace(5).half_width(SURE) * 1.02


def test_simulated():
    """Half a million sums: as many beyond the half width as the doubt allows, and not far fewer."""
    parts = ((Fraction(7, 10), laplace(100)), (Fraction(3, 10), laplace(230)))
    n = 500_000
    drawn = sum(float(weight) * law.draw(n, bits=system()) for weight, law in parts)
    share = np.mean(np.abs(drawn) > CombinedNoise(parts=parts).half_width(SURE))
    assert 0.048 - 6 * math.sqrt(0.05 / n) < share < 0.05 + 6 * math.sqrt(0.05 / n)


def test_great_confidence_adds_the_parts():
    laws = (laplace(5), laplace(5))
    law = CombinedNoise(parts=tuple((Fraction(1), part) for part in laws))
    doubt = Fraction(1, 10**20)
    assert law.half_width(1 - doubt) >= 2 * laws[0].half_width(1 - doubt / 2)
    with pytest.raises(UsageError):
        law.half_width(Fraction(1))


def test_a_bound_without_its_rounding_is_caught(monkeypatch):
    """Rounding parts down instead of up promises too much, and the summed law shows it."""
    parts = SMALL[2]
    values, masses = summed(*parts)
    monkeypatch.setattr(noise_combination, "upper_tail", lambda law, q: upper_tail(law, q + 1))
    found = float(half_widths(np.array([[0.8, 0.2]]), [law for _, law in parts], confidence=SURE)[0])
    assert masses[np.abs(values) > found].sum() > 0.05


def test_weights_are_by_inverse_variance():
    weights = inverse_variance_weights((laplace(10), laplace(20)))
    assert sum(weights) == 1
    assert abs(weights[0] - Fraction(4, 5)) < Fraction(1, 1000)
    assert all(10**6 % weight.denominator == 0 for weight in weights)
    both = CombinedNoise(parts=tuple(zip(weights, (laplace(10), laplace(20)), strict=True)))
    assert both.variance() < laplace(10).variance()
    for shift in (Fraction(1, 100), Fraction(-1, 100)):
        moved = (weights[0] + shift, weights[1] - shift)
        other = CombinedNoise(parts=tuple(zip(moved, (laplace(10), laplace(20)), strict=True)))
        assert other.variance() > both.variance()


def test_weights_of_many_and_of_extremes():
    assert inverse_variance_weights([laplace(3)] * 3) == (
        Fraction(333334, 10**6),
        Fraction(333333, 10**6),
        Fraction(333333, 10**6),
    )
    assert inverse_variance_weights([laplace(1), gaussian(10**9)]) == (1, 0)
    assert sum(inverse_variance_weights([laplace("1/1000"), gaussian("1/1000"), laplace(1)])) == 1
    assert sum(inverse_variance_weights([laplace(number) for number in range(1, 300)])) == 1
    both = CombinedNoise(parts=((Fraction(1, 2), laplace(10)), (Fraction(1, 2), laplace(10))))
    assert inverse_variance_weights([both, laplace(10)])[0] > Fraction(6, 10)


@pytest.mark.parametrize("parts", [(), ((Fraction(0), laplace(1)),), ((0.5, laplace(1)),)])
def test_what_is_no_combination(parts):
    with pytest.raises(ValueError):
        CombinedNoise(parts=parts)


def test_nothing_cannot_be_combined():
    with pytest.raises(ValueError):
        inverse_variance_weights(())
