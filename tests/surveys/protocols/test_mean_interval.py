"""Intervals of means that hold at any confidence: coverage by exact sums over the laws of the shipped randomizers."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet.surveys.protocols.estimate import Mean
from discreet.surveys.protocols.grid_numbers import Duchi
from discreet.surveys.protocols.laplace_record import LaplaceRecord
from discreet.surveys.protocols.mean_interval import _at_least, _end, tail_interval
from discreet.surveys.protocols.window_mechanism import Piecewise

ROUNDING = 1e-9
#: What the intervals of 30 and of 365 days, and of all the hours that a survey can have, may miss each.
DOUBTS = [0.05, 0.05 / 30, 0.05 / 365, 0.05 / 10_000]


def missed(masses: dict[float, float], means: dict[float, Mean], truth: float, interval: Any) -> float:
    """How likely a mean is one whose interval does not hold the truth."""
    total = 0.0
    for value, mass in masses.items():
        low, high = interval(means[value])
        assert low <= means[value].value <= high
        if not low - ROUNDING <= truth <= high + ROUNDING:
            total += mass
    return total


def bits_law(chances: list[float]) -> np.ndarray:
    masses = np.ones(1)
    for chance in chances:
        masses = np.convolve(masses, [1 - chance, chance])
    return masses


def bits_missed(made: Duchi, codes: list[int], interval: Any) -> float:
    zero, one = (float(end) for end in made.extent)
    n = len(codes)
    chances = (made.heads(np.array(codes)) / 256**made.planes).tolist()
    means = {float(ones): made.from_sum(one * ones + zero * (n - ones), n) for ones in range(n + 1)}
    masses = dict(zip(means, bits_law(chances).tolist(), strict=True))
    return missed(masses, means, float(np.mean(codes)), interval)


def answers(n: int, steps: int) -> list[list[int]]:
    """All at an end, at the middle, or a part of them elsewhere."""
    ends = [[0] * (n - up) + [steps] * up for up in sorted({0, 1, n // 10, n // 2, n})]
    return [*ends, [steps // 2] * n, [each % (steps + 1) for each in range(n)], [1] * (n - 1) + [steps]]


@pytest.mark.thin(24)
@pytest.mark.parametrize("doubt", DOUBTS)
@pytest.mark.parametrize("n", [1, 2, 5, 20, 50])
@pytest.mark.parametrize("epsilon", ["0.5", "1", "3", "8"])
def test_a_mean_of_bits_holds_at_any_confidence(epsilon: str, n: int, doubt: float) -> None:
    made = Duchi(low=0, high=10, step=1, epsilon=epsilon)
    for codes in answers(n, 10):
        assert bits_missed(made, codes, lambda mean: tail_interval(made, mean, 1 - doubt)) <= doubt, codes


def test_the_normal_law_s_interval_does_not() -> None:
    """Of 50 answers a day for a year: 0.81 in place of 0.95, if all days were independent and equally bad."""
    made, doubt = Duchi(low=0, high=10, step=1, epsilon=3), 0.05 / 365
    worst = max(bits_missed(made, codes, lambda mean: mean.interval(1 - doubt)) for codes in answers(50, 10))
    assert worst > 2 * doubt


def test_a_mean_of_bits_is_hardly_wider_than_the_normal_law_s() -> None:
    made = Duchi(low=0, high=10, step=1, epsilon=1)
    mean = made.from_sum(2_000 * 4.0, 2_000)
    ours, normal = tail_interval(made, mean, 0.999), mean.interval(0.999)
    assert ours[1] - ours[0] < 1.01 * (normal[1] - normal[0])


@pytest.mark.parametrize(("ones", "n"), [(1, 1), (3, 5), (5, 5), (20, 300), (299, 300), (400, 1_000)])
def test_a_tail_of_a_binomial_is_exact_and_rounded_up(ones: int, n: int) -> None:
    for part in (Fraction(1, 100), Fraction(1, 3), Fraction(9, 10), Fraction(99, 100)):
        chance = part * Fraction(ones, n)
        if n > 300:
            chance = Fraction(round(float(chance) * 2**10), 2**10)
        top, bottom = chance.numerator, chance.denominator
        exact = Fraction(
            sum(math.comb(n, k) * top**k * (bottom - top) ** (n - k) for k in range(ones, n + 1)), bottom**n
        )
        near = Fraction(_at_least(ones, n, float(chance)))
        assert near == pytest.approx(float(exact), rel=1e-8, abs=1e-300)
    assert _at_least(ones, n, _end(ones, n, 1e-4)) <= 1e-4


@pytest.mark.parametrize("doubt", DOUBTS)
@pytest.mark.parametrize("n", [2, 5, 20])
def test_a_mean_with_laplace_noise_holds_at_any_confidence(n: int, doubt: float) -> None:
    """Noise is the same whatever the answers, and here the bounds are far away: one sum is enough."""
    made = LaplaceRecord(low=0, high=400, step=1, epsilon=20)
    far, scale = 600, float(made.noise.scale)
    single = np.exp(-np.abs(np.arange(-far, far + 1)) / scale)
    masses = np.ones(1)
    for _ in range(n):
        masses = np.convolve(masses, single / single.sum())
    errors = np.abs(np.arange(masses.size) - far * n)

    def misses(interval: tuple[float, float]) -> float:
        reach = (interval[1] - interval[0]) / 2 * n
        assert interval[0] == pytest.approx(400 - interval[1])
        return float(masses[errors > reach + ROUNDING].sum())

    mean = made.from_sum(200.0 * n, n)
    ours = tail_interval(made, mean, 1 - doubt)
    assert misses(ours) <= doubt
    lost = 0.05 * (200 - ours[0])
    assert misses((ours[0] + lost, ours[1] - lost)) > doubt  # a twentieth less would miss too often
    if doubt <= 0.05 / 365 and n >= 5:
        assert misses(mean.interval(1 - doubt)) > doubt  # as a normal law's does


def test_a_mean_of_windows_keeps_the_normal_law_s() -> None:
    made = Piecewise(low=0, high=10, step=1, epsilon=2)
    mean = made.from_sum(4.0 * 50, 50)
    assert tail_interval(made, mean, 0.999) == mean.interval(0.999)


def test_an_interval_is_within_the_bounds_but_for_its_estimate() -> None:
    made = Duchi(low=0, high=10, step=1, epsilon=1)
    mean = made.from_sum(float(made.extent[1]) * 3, 3)
    low, high = tail_interval(made, mean, 0.95)
    assert mean.value > 10 and (low, high) == (pytest.approx(0, abs=5), mean.value)
