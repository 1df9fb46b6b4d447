"""What noisy counts of many groups say together: nearer than clipping, whole, never negative, with the total kept."""

from fractions import Fraction

import numpy as np
import pytest

from discreet.inference import likely_counts as module
from discreet.inference.likely_counts import LikelyCounts, likely_counts, nearest_with_totals, round_with_totals
from discreet.mechanisms.gaussian import DiscreteGaussian
from discreet.mechanisms.laplace import DiscreteLaplace
from discreet.mechanisms.noise_combination import CombinedNoise

LAPLACE = DiscreteLaplace(scale=Fraction(10))
GAUSSIAN = DiscreteGaussian(sigma2=Fraction(200))
SMALLER = DiscreteLaplace(scale=Fraction(1))
BOTH = CombinedNoise(parts=((Fraction(1, 2), LAPLACE), (Fraction(1, 2), GAUSSIAN)))


def noise(law, size, seed):
    generator = np.random.default_rng(seed)
    if law is LAPLACE:
        chance = -np.expm1(-0.1)
        return generator.geometric(chance, size) - generator.geometric(chance, size)
    return np.rint(generator.normal(0, float(law.variance()) ** 0.5, size))


def best(noisy, law):
    everything, total = np.zeros(noisy.size, dtype=np.int64), max(0, round(noisy.sum()))
    near = nearest_with_totals(likely_counts(noisy, law, least=0), everything, np.array([float(total)]))
    return round_with_totals(near, everything, np.array([total]))


def error(numbers, truth):
    return float(np.sqrt(np.mean((numbers - truth) ** 2)))


def sparse(generator):
    return generator.geometric(0.05, 4000) * (generator.random(4000) < 0.05)


@pytest.mark.parametrize("law", [LAPLACE, GAUSSIAN, BOTH])
@pytest.mark.parametrize(
    ("shape", "least_gain"),
    [
        (sparse, 1.7),
        (lambda generator: np.zeros(4000), 5.0),
        (lambda generator: generator.poisson(2, 4000), 4.0),
        (lambda generator: np.floor(generator.pareto(1.2, 4000) * 3), 1.1),
    ],
)
def test_groups_below_the_noise_are_nearer_than_clipped_at_zero_and_the_total_is_kept(law, shape, least_gain):
    truth = shape(np.random.default_rng(1)).astype(np.float64)
    noisy = truth + noise(law, truth.size, seed=2)
    numbers = best(noisy, law)
    assert error(np.maximum(noisy, 0), truth) > least_gain * error(numbers, truth)
    assert numbers.min() >= 0 and numbers.sum() == max(0, noisy.sum())


def test_numbers_that_are_alike_are_shrunk_to_each_other_wherever_they_are():
    truth = np.full(500, 300.0)
    noisy = truth + noise(LAPLACE, 500, seed=3)
    assert error(best(noisy, LAPLACE), truth) < error(noisy, truth) / 4


def test_numbers_far_above_the_noise_stay_as_they_are():
    noisy = np.array([1e6, 5e7, 3e5, 2e9])
    assert np.abs(best(noisy, LAPLACE) - noisy).max() <= 1


def test_one_group_and_no_noise_and_no_group():
    assert best(np.array([-40.0]), LAPLACE).tolist() == [0]
    assert best(np.array([7.0]), LAPLACE).tolist() == [7]
    exact = DiscreteLaplace(scale=Fraction(1, 1000))
    assert best(np.array([3.0, 0.0, 5.0]), exact).tolist() == [3, 0, 5]
    assert likely_counts(np.array([]), LAPLACE, least=0).means.size == 0


def test_numbers_that_may_be_negative_may_stay_negative():
    truth = np.full(1000, -50.0)
    noisy = truth + noise(LAPLACE, 1000, seed=4)
    likely = likely_counts(noisy, LAPLACE, least=None)
    assert error(likely.means, truth) < 3 and abs(likely.means.mean() - noisy.mean()) < 1


def test_a_mean_lies_between_what_is_possible_and_its_variance_is_no_more_than_the_noise():
    noisy = sparse(np.random.default_rng(5)) + noise(LAPLACE, 4000, seed=6)
    likely = likely_counts(noisy.astype(float), LAPLACE, least=0)
    assert likely.means.min() >= 0 and likely.variances.min() >= 0
    assert likely.variances.max() <= LAPLACE.variance() * (1 + 1e-9)


def test_against_the_posterior_written_out():
    """Few exact numbers are possible, and how often each occurs is known: sum over all of them."""
    generator = np.random.default_rng(8)
    truth = generator.choice([0, 40, 100], size=20_000, p=[0.6, 0.3, 0.1]).astype(float)
    noisy = truth + noise(LAPLACE, truth.size, seed=9)
    chances = np.array([0.6, 0.3, 0.1]) * np.exp(-np.abs(noisy[:, None] - np.array([0, 40, 100])) / 10)
    exact = (chances * np.array([0, 40, 100])).sum(axis=1) / chances.sum(axis=1)
    likely = likely_counts(noisy, LAPLACE, least=0)
    assert error(likely.means, truth) < 1.1 * error(exact, truth)


@pytest.mark.parametrize("least", [0, None])
def test_segments_sum_to_their_totals(least):
    generator = np.random.default_rng(10)
    segments = generator.integers(0, 7, 300)
    totals = np.array([0, 5, 100, 1000, 3, 0, 77])
    likely = LikelyCounts(means=generator.normal(3, 4, 300).clip(0), variances=generator.random(300) * 9)
    near = nearest_with_totals(likely, segments, totals.astype(float), least=least)
    whole = round_with_totals(near, segments, totals)
    assert np.allclose(np.bincount(segments, weights=near), totals)
    assert np.bincount(segments, weights=whole).tolist() == totals.tolist()
    assert np.abs(whole - near).max() < 1 + 1e-6
    if least == 0:
        assert near.min() >= 0 and whole.min() >= 0


def test_rounding_is_the_nearest_of_all_with_that_total():
    values, everything = np.array([0.2, 0.9, 1.4, 0.5]), np.zeros(4, dtype=np.int64)
    whole = round_with_totals(values, everything, np.array([3]))
    others = np.array([each for each in np.ndindex(4, 4, 4, 4) if sum(each) == 3])
    assert ((whole - values) ** 2).sum() == pytest.approx(((others - values) ** 2).sum(axis=1).min())


def test_a_wrong_law_is_seen(monkeypatch):
    """The planted bug: noise taken for ten times smaller. Groups below the noise are then taken at their word."""
    truth = np.random.default_rng(1).poisson(2, 4000).astype(np.float64)
    noisy = truth + noise(LAPLACE, truth.size, seed=2)
    masses = module._masses
    monkeypatch.setattr(module, "_masses", lambda law, step, reach: masses(SMALLER, step, reach))
    assert error(np.maximum(noisy, 0), truth) < 4.0 * error(best(noisy, LAPLACE), truth)
