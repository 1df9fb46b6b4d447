"""Half widths against the exact law of the weighted sum, summed up term by term, and against real draws."""

from __future__ import annotations

from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.inference.linear.half_widths import half_widths
from discreet.inference.linear.solvers import solver_for
from discreet.inference.linear.weight_profile import weight_profile
from discreet.mechanisms.bits import system
from discreet.mechanisms.gaussian import DiscreteGaussian
from discreet.mechanisms.laplace import DiscreteLaplace
from discreet.mechanisms.strategy.strategy import (
    DiagonalStrategy,
    IdentityStrategy,
    MatrixStrategy,
    ProductStrategy,
    StackStrategy,
)
from discreet.mechanisms.strategy.tree_levels import LevelStrategy
from tiers import size

LAWS = (
    DiscreteLaplace(scale=Fraction(1, 2)),
    DiscreteLaplace(scale=Fraction(2)),
    DiscreteGaussian(sigma2=Fraction(1, 5)),
    DiscreteGaussian(sigma2=Fraction(16)),
)


@cache
def masses(law) -> np.ndarray:
    """P(X = k) for k from -reach to reach, beyond which lies less than 1e-7."""
    reach = law.half_width(1 - Fraction(1, 10**7))
    return np.array([law.mass(k) for k in range(-reach, reach + 1)])


@cache
def exact_law(weights: tuple[float, ...], law) -> tuple[np.ndarray, np.ndarray]:
    """The sizes of the sum of w X, largest first, and the chance of as large a one."""
    one = masses(law)
    places = np.arange(len(one)) - len(one) // 2
    values, chances = np.zeros(1), np.ones(1)
    for weight in weights:
        values = np.add.outer(values, weight * places).reshape(-1)
        chances = np.multiply.outer(chances, one).reshape(-1)
    order = np.argsort(-np.abs(values))
    return np.abs(values)[order], np.cumsum(chances[order])


def least_width(weights: tuple[float, ...], law, doubt: float) -> float:
    """The smallest width that |sum of w X| leaves with at most this chance."""
    sizes, outside = exact_law(weights, law)
    return float(sizes[np.searchsorted(outside, doubt, side="right")])


def right(width: float, weights: tuple[float, ...], law, doubt: float) -> bool:
    least = least_width(weights, law, doubt)
    # Values that are equal but for rounding are one atom.
    return least * (1 - 1e-9) <= width <= 1.02 * least + 0.015 * np.linalg.norm(weights) * np.sqrt(law.variance())


@pytest.mark.thin(10)
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("weights", [(1.0,), (1.0, 1.0), (1.0, -0.3), (0.7, 0.5, -0.2), (3.0, 0.01, 0.01)])
def test_widths_are_those_of_the_exact_law(law, weights):
    for doubt in (Fraction(1, 5), Fraction(1, 20), Fraction(1, 100)):
        (width,) = half_widths(weight_profile(np.array([weights])), law, 1 - doubt)
        assert right(width, weights, law, float(doubt))


def test_widths_that_are_not_right_are_caught():
    weights, law, doubt = (0.7, 0.5, -0.2), LAWS[1], 0.05
    (width,) = half_widths(weight_profile(np.array([weights])), law, Fraction(95, 100))
    normal = 1.96 * np.linalg.norm(weights) * np.sqrt(law.variance())
    assert right(width, weights, law, doubt)
    for wrong in (normal, 0.97 * width, 1.05 * width):
        assert not right(wrong, weights, law, doubt)


@pytest.mark.parametrize("law", LAWS)
def test_sums_of_many_equal_noises_are_those_of_the_exact_law(law):
    one = masses(law)
    found = solver_for(IdentityStrategy(40))
    for cells in (7, 40):
        whole = one
        for _ in range(cells - 1):
            whole = np.convolve(whole, one)
        middle = len(whole) // 2
        inside = np.cumsum(np.concatenate([[whole[middle]], 2 * whole[middle + 1 :]]))
        least = int(np.searchsorted(inside, 0.95))
        (width,) = found.half_widths(np.array([0]), np.array([cells - 1]), law, Fraction(95, 100))
        assert least <= width <= 1.01 * least + 0.02


WIDE = StackStrategy(
    (
        DiagonalStrategy(np.full(64, 300)),
        MatrixStrategy(np.maximum(0, 200 - 25 * np.abs(np.arange(64) - np.arange(4, 64, 8)[:, None])).astype(np.int64)),
    )
)


@pytest.mark.parametrize(
    ("strategy", "law"),
    [
        (WIDE, DiscreteLaplace(scale=Fraction(500))),
        (
            LevelStrategy(64, ((1, 1), (2, 1), (4, 1), (8, 1), (16, 1), (32, 1), (64, 1))),
            DiscreteLaplace(scale=Fraction(7)),
        ),
        (LevelStrategy(61, ((1, 9), (8, 8))), DiscreteLaplace(scale=Fraction(17, 100))),
        (LevelStrategy(61, ((1, 9), (8, 8))), DiscreteGaussian(sigma2=Fraction(145))),
    ],
)
def test_the_real_noise_stays_within_as_often_as_stated(strategy, law):
    """20,000 draws; a correct build is outside of 6 standard deviations less than once in 10^8 a figure."""
    draws, doubt = 20_000, 0.05
    lows = np.array([0, 3, 10, 0, 31, 5])
    highs = np.array([0, 60, 17, 60, 33, 40])
    place = np.arange(strategy.cells)
    queries = (place >= lows[:, None]) & (place <= highs[:, None])
    weights = queries @ np.linalg.pinv(strategy.matrix().astype(float))
    noise = law.draw(draws * strategy.rows, bits=system()).reshape(draws, -1)
    errors = np.abs(noise @ weights.T)
    widths = solver_for(strategy).half_widths(lows, highs, law, Fraction(95, 100))
    spread = 6 * np.sqrt(doubt * (1 - doubt) / draws)
    assert ((errors > widths * (1 + 1e-9)).mean(axis=0) <= doubt + spread).all()
    # An atom's worth below, a correct width is too narrow: these are not needlessly wide.
    step = 0.02 * widths + 1.01 * np.abs(weights).max(axis=1) * (law.variance() < 200**2)
    assert ((errors > widths - step).mean(axis=0) >= doubt - spread).all()


def test_boxes_are_within_as_often_as_stated():
    strategy = ProductStrategy((LevelStrategy(8, ((1, 9), (4, 8))), LevelStrategy(9, ((1, 3), (3, 2)))))
    law, draws, doubt = DiscreteLaplace(scale=Fraction(85)), 20_000, 0.05
    lows, highs = np.array([[0, 0], [2, 1], [3, 3]]), np.array([[7, 8], [5, 4], [3, 3]])
    inverse = np.linalg.pinv(strategy.matrix().astype(float))
    tables = np.zeros((3, 8, 9))
    for table, (a, c), (b, d) in zip(tables, lows, highs, strict=True):
        table[a : b + 1, c : d + 1] = 1
    weights = tables.reshape(3, -1) @ inverse
    errors = np.abs(law.draw(draws * strategy.rows, bits=system()).reshape(draws, -1) @ weights.T)
    widths = solver_for(strategy).half_widths(lows, highs, law, Fraction(95, 100))
    spread = 6 * np.sqrt(doubt * (1 - doubt) / draws)
    assert (np.abs((errors > widths).mean(axis=0) - doubt) <= spread + 0.002).all()


@given(st.lists(st.floats(0.001, 1), min_size=1, max_size=30), st.sampled_from(LAWS))
@settings(max_examples=size(2, 10), deadline=None)
def test_more_confidence_is_never_narrower_and_never_beyond_chernoff(weights, law):
    shape = weight_profile(np.array([weights]))
    confidences = [Fraction(1, 2), Fraction(9, 10), Fraction(99, 100), 1 - Fraction(1, 10**8), 1 - Fraction(1, 10**30)]
    widths = [float(half_widths(shape, law, confidence)[0]) for confidence in confidences]
    assert widths == sorted(widths) and widths[0] >= 0


@pytest.mark.thin(3)
@pytest.mark.parametrize("law", [*LAWS, DiscreteLaplace(scale=Fraction(900)), DiscreteGaussian(sigma2=Fraction(10**6))])
def test_small_doubts_are_met_closely(law):
    one = weight_profile(np.array([[1.0]]))
    for power, most in ((3, 1.01), (4, 1.01), (6, 1.06), (12, 1.25)):
        confidence = 1 - Fraction(1, 10**power)
        least = law.half_width(confidence)
        assert least <= half_widths(one, law, confidence)[0] <= most * least + 0.1
    many = half_widths(weight_profile(np.full((1, 400), 0.05)), law, 1 - Fraction(1, 10**12))[0]
    assert 7.13 <= many / np.sqrt(law.variance()) <= 9.5


@pytest.mark.parametrize(
    "law",
    [
        DiscreteLaplace(scale=Fraction(1, 1000)),
        DiscreteLaplace(scale=Fraction(1, 20)),
        DiscreteLaplace(scale=Fraction(1, 4)),
        DiscreteLaplace(scale=Fraction(10**12)),
        DiscreteGaussian(sigma2=Fraction(1, 10**6)),
        DiscreteGaussian(sigma2=Fraction(1, 20)),
        DiscreteGaussian(sigma2=Fraction(10**24)),
    ],
)
def test_noise_of_any_scale_has_widths(law):
    for confidence in (Fraction(95, 100), 1 - Fraction(1, 10**10)):
        width = half_widths(weight_profile(np.array([[1.0]])), law, confidence)[0]
        least = law.half_width(confidence)
        assert least <= max(width, np.floor(width)) <= 1.25 * least + 0.99


def test_no_ranges_have_no_widths():
    nothing = np.zeros(0, dtype=np.int64)
    assert solver_for(IdentityStrategy(3)).half_widths(nothing, nothing, LAWS[0], Fraction(1, 2)).shape == (0,)
