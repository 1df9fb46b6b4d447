"""Laplace noise on the record: its epsilon from the mechanism's own law, and the heights of the lecture."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from discreet import exact
from discreet.accounting.events import LaplaceEvent
from discreet.errors import UsageError
from discreet.mechanisms.laplace import DiscreteLaplace
from discreet.surveys.protocols.choice_randomizer import bytes_to_numbers
from discreet.surveys.protocols.laplace_record import LaplaceRecord
from surveys.protocols.test_numbers import Counted


@pytest.mark.parametrize(("steps", "epsilon"), [(1, "0.5"), (3, "1"), (5, "4"), (2, "20")])
def test_the_epsilon_is_that_of_the_law_with_the_cut(steps: int, epsilon: str) -> None:
    """P(report | code) by the mechanism's mass, with the two ends' tails; the ratio is e^epsilon and attained."""
    made = LaplaceRecord(low=0, high=steps, step=1, epsilon=epsilon)
    bound_low, bound_high = (exact.exp(Fraction(epsilon), up=up) for up in (False, True))
    largest = Fraction(0)
    for first, second in product(range(steps + 1), repeat=2):
        for told in (-made.far, -1, 0, 1, steps, steps + 1, steps + made.far):
            ends = [_mass(made, told - code, told) for code in (first, second)]
            assert ends[0][0] <= bound_high * ends[1][1]  # the least it can be, against the most
            largest = max(largest, ends[0][1] / ends[1][0])
    assert largest >= bound_low
    assert made.epsilon == Fraction(epsilon) == made.noise.event(l1=steps).l1 / made.noise.scale
    assert made.noise.event(l1=steps) == LaplaceEvent(scale=steps / Fraction(epsilon), l1=steps)


def _mass(made: LaplaceRecord, noise: int, told: int) -> tuple[Fraction, Fraction]:
    """Bounds on the probability of this noise, or of all noise beyond where it is cut."""
    low, high = made.noise.mass_bounds(noise)
    if told in (-made.far, made.steps + made.far):
        # the geometric tail: mass(noise) / (1 - r)
        ratios = [exact.exp(-1 / made.noise.scale, up=up) for up in (False, True)]
        return low / (1 - ratios[0]), high / (1 - ratios[1])
    return low, high


def test_what_is_reported_is_the_code_plus_the_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every noise that matters and some beyond the cut, through the real code."""
    made = LaplaceRecord(low="1.50", high="2.10", step="0.01", epsilon=2)
    noise = np.arange(-made.far - 5, made.far + 6)
    monkeypatch.setattr(DiscreteLaplace, "draw", lambda self, size, *, bits: noise)
    for value, code in (("1.5", 0), ("1.83", 33), ("2.1", 60)):
        reports = made.draw_reports([value] * noise.size, bits=Counted(0))
        assert made.valid(reports).all()
        told = bytes_to_numbers(reports) - made.far
        assert np.array_equal(told, np.clip(code + noise, -made.far, 60 + made.far))
        assert np.array_equal(made.guesses(reports), told)


def test_the_cut_moves_no_mean() -> None:
    made = LaplaceRecord(low=0, high=100, step=1, epsilon=1)
    assert made.noise.tail(made.far) < Fraction(1, 10**17)
    assert made.variance_at(0) == made.variance_at(50) == pytest.approx(2 * 100**2, rel=1e-4)


def test_a_smaller_noise_is_caught() -> None:
    """A mutant: the scale of a sensitivity one step too small."""
    noise = DiscreteLaplace(scale=Fraction(9, 1))  # ten steps at epsilon 1 need 10
    low = noise.mass_bounds(0)[0] / noise.mass_bounds(10)[1]
    assert low > exact.exp(Fraction(1), up=True)
    assert LaplaceRecord(low=0, high=10, step=1, epsilon=1).noise.scale == 10


def test_heights() -> None:
    made = LaplaceRecord(low=50, high=250, step=1, epsilon=1)
    heights = np.random.default_rng(0).normal(172, 9, 100_000).round().clip(50, 250)
    found = made.estimate(made.randomize_all(heights, bits=Counted(3)))
    assert found.variance == pytest.approx(2 * 200**2 / 100_000, rel=1e-3)
    low, high = found.interval(0.99)
    assert low < heights.mean() < high


def test_noise_too_wide_to_be_told_in_seven_bytes_is_refused() -> None:
    with pytest.raises(UsageError):
        LaplaceRecord(low=0, high=1 << 20, step=1, epsilon="1e-9")
    assert LaplaceRecord(low=0, high=1 << 20, step=1, epsilon="2e-6").width <= 7
