"""Refinements: the larger noise is the smaller one and a rest, and the smaller one is drawn exactly given the larger."""

from collections import Counter
from fractions import Fraction
from math import exp

import numpy as np
import pytest
from scipy.stats import chi2

from discreet.accounting.events import RefinedEvent
from discreet.mechanisms.bits import system
from discreet.mechanisms.laplace import DiscreteLaplace
from discreet.mechanisms.refinement import Refinement
from tiers import size

SCALES = [(Fraction(5), Fraction(2)), (Fraction(3), Fraction(29, 10)), (Fraction(1, 2), Fraction(1, 5))]


def mass(q, k):
    return (1 - q) / (1 + q) * q ** abs(k)


def rest_mass(q1, q2, k):
    weight = (1 - q1) ** 2 * q2 / ((1 - q2) ** 2 * q1)
    return (weight if k == 0 else 0) + (1 - weight) * mass(q1, k)


@pytest.mark.parametrize(("q1", "q2"), [(Fraction(1, 2), Fraction(1, 3)), (Fraction(2, 5), Fraction(1, 100))])
def test_the_larger_noise_is_the_smaller_one_and_a_rest(q1, q2):
    """By summation over both draws, in Fractions; what is cut off is below 2^-190."""
    far = range(-200, 201)
    for total in (-7, -1, 0, 1, 2, 12):
        summed = sum(mass(q2, z) * rest_mass(q1, q2, total - z) for z in far)
        assert abs(summed - mass(q1, total)) < Fraction(1, 2**180)


@pytest.mark.parametrize(("q1", "q2"), [(Fraction(1, 2), Fraction(1, 3)), (Fraction(9, 10), Fraction(8, 10))])
@pytest.mark.parametrize("n", [0, 1, 5])
def test_the_four_families_weigh_what_they_should(q1, q2, n):
    """What `draw` proposes and keeps, as it says there, against the law of the second noise given the first."""
    v, u = q2 / q1, q1 * q2

    def kept(z):
        between = v**z if 0 <= z <= n else 0
        below = u**-z if z < 0 else 0  # v^k q1^(2k)
        above = v**n * u ** (z - n) if z > n else 0
        same = v**n * (v - u) / (1 - u) / (1 - v) if z == n else 0  # whatever k is
        return between + below + above + same

    ratios = {kept(z) / (mass(q2, z) * rest_mass(q1, q2, n - z)) for z in range(-30, 31)}
    assert len(ratios) == 1


@pytest.mark.thin(3)
@pytest.mark.parametrize(
    ("earlier", "scale"), [*SCALES, (Fraction(60), Fraction(5)), *size((), ((Fraction(120), Fraction(10)),))]
)
def test_noise_given_the_earlier_one_goes_no_farther_than_said(earlier, scale):
    """Whatever the earlier noise was: by summation; and for most of them it goes as far."""
    refinement = Refinement(earlier=DiscreteLaplace(scale=earlier), law=DiscreteLaplace(scale=scale))
    far = int(40 * scale) + 60
    values = np.arange(-far, far + 1)
    laws = [law_given(float(earlier), float(scale), n, values) for n in range(far)]
    for width in (0, 1, int(3 * scale), int(5 * scale)):
        beyond = [law[np.abs(values) > width].sum() for law in laws]
        assert max(beyond) == pytest.approx(refinement.most_beyond(width), rel=1e-6)
        assert beyond[width + 1] == pytest.approx(max(beyond), rel=1e-6)


def test_an_aim_of_twelve_looks_misses_at_most_one_in_nineteen():
    """What docs/proofs/precision.md says of an aim that refines its look, and of its top-ups."""
    look, misses = Fraction(1200), []
    for growth, level in [(12, 0.05), *((12 * 2.5 ** (n + 1), 0.05 / 16 / 2**n) for n in range(6))]:
        law = DiscreteLaplace(scale=look / Fraction(growth))
        width = law.half_width(1 - Fraction(level))
        misses.append(Refinement(earlier=DiscreteLaplace(scale=look), law=law).most_beyond(width))
    assert misses[0] < 0.0527 and sum(misses) < 0.06


def law_given(earlier, scale, n, values):
    q1, q2 = exp(-1 / earlier), exp(-1 / scale)
    weights = np.array([mass(q2, int(z)) * rest_mass(q1, q2, n - int(z)) for z in values])
    return weights / weights.sum()


def chi_square(drawn, values, law):
    """How unlikely such draws are; values that are expected rarely are taken together."""
    counts = Counter(drawn.tolist())
    expected, seen = law * len(drawn), np.array([counts.get(int(z), 0) for z in values])
    often = expected > 20
    rest = max(len(drawn) - expected[often].sum(), 1e-9), len(drawn) - seen[often].sum()
    terms = [*((seen[often] - expected[often]) ** 2 / expected[often])]
    if rest[0] > 20:
        terms.append((rest[1] - rest[0]) ** 2 / rest[0])
    return chi2.sf(sum(terms), max(1, len(terms) - 1))


@pytest.mark.thin(8)
@pytest.mark.parametrize(("earlier", "scale"), SCALES)
@pytest.mark.parametrize("n", [0, 1, -3, 7, 40])
def test_draws_follow_the_law_given_the_earlier_noise(earlier, scale, n):
    mechanism = Refinement(earlier=DiscreteLaplace(scale=earlier), law=DiscreteLaplace(scale=scale))
    drawn = mechanism.draw(np.full(50_000, n), bits=system())
    values = np.arange(min(0, n) - 80, max(0, n) + 81)
    assert chi_square(drawn, values, law_given(earlier, scale, n, values)) > 1e-8


def test_this_test_sees_a_wrong_draw(monkeypatch):
    """A mutant that never lets both noises be the same, and one that forgets the far side."""
    mechanism = Refinement(earlier=DiscreteLaplace(scale=Fraction(5)), law=DiscreteLaplace(scale=Fraction(2)))
    values = np.arange(-80, 84)
    law = law_given(5, 2, 3, values)
    right = Refinement._propose

    def never_the_same(self, size, bits):
        noise, kept = right(self, size, bits)
        return noise, kept & (noise != size)

    def never_beyond(self, size, bits):
        noise, kept = right(self, size, bits)
        return noise, kept & (noise <= size)

    for wrong in (never_the_same, never_beyond):
        monkeypatch.setattr(Refinement, "_propose", wrong)
        assert chi_square(mechanism.draw(np.full(50_000, 3), bits=system()), values, law) < 1e-8


@pytest.mark.parametrize(("earlier", "scale"), SCALES)
def test_refined_noise_is_laplace_noise_of_its_own_scale(earlier, scale):
    first = DiscreteLaplace(scale=earlier).draw(100_000, bits=system())
    law = DiscreteLaplace(scale=scale)
    second = Refinement(earlier=DiscreteLaplace(scale=earlier), law=law).draw(first, bits=system())
    values = np.arange(-100, 101)
    assert chi_square(second, values, np.array([law.mass(int(z)) for z in values])) > 1e-8
    # And the rest is independent of it: given that the second is 0, the first is the rest.
    q1, q2 = exp(-1 / earlier), exp(-1 / scale)
    rest = np.array([rest_mass(q1, q2, int(z)) for z in values])
    assert chi_square(first[second == 0], values, rest) > 1e-8


def test_exact_numbers_of_any_size_are_refined_cell_by_cell():
    mechanism = Refinement(earlier=DiscreteLaplace(scale=Fraction(50)), law=DiscreteLaplace(scale=Fraction(1, 100)))
    exact = np.array([10**30, -5, 0], dtype=object)
    noisy, event = mechanism.add_noise(exact, exact + 7, l1=2, bits=system())
    assert noisy.tolist() == exact.tolist()  # of such a scale noise is 0 but once in 10^43
    assert event == RefinedEvent(earlier=Fraction(50), scale=Fraction(1, 100), l1=2)
    with pytest.raises(ValueError, match="cell by cell"):
        mechanism.add_noise(exact, exact[:2], l1=2, bits=system())
    with pytest.raises(ValueError, match="not that of the answer"):
        mechanism.add_noise(exact, exact + 10**20, l1=2, bits=system())


def test_scales_that_one_logarithm_cannot_carry():
    mechanism = Refinement(earlier=DiscreteLaplace(scale=Fraction(10**11)), law=DiscreteLaplace(scale=Fraction(10**9)))
    drawn = mechanism.draw(np.full(2000, 10**10), bits=system())
    assert abs(float(np.median(np.abs(drawn))) / 10**9 - 0.7) < 0.2


def test_less_noise_only():
    with pytest.raises(ValueError, match="less noise"):
        Refinement(earlier=DiscreteLaplace(scale=Fraction(5)), law=DiscreteLaplace(scale=Fraction(5)))
