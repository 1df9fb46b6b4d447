"""Residuals against least squares by dense algebra: values, variances, weights; additivity; and mutants."""

from __future__ import annotations

from fractions import Fraction
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.inference.linear.residual_fit import ResidualPrecision, Residuals
from discreet.inference.linear.residual_law import MarginalErrors
from discreet.inference.linear.residual_part import ResidualPart, subsets
from discreet.mechanisms.gaussian import DiscreteGaussian
from discreet.mechanisms.laplace import DiscreteLaplace
from inference.linear.residual_cases import cases, expanded, marginal, rows, solution
from tiers import examples


@given(cases(), st.integers(0, 2**32))
@settings(max_examples=examples(150))
def test_values_and_variances_are_those_of_dense_least_squares(case, seed):
    check(case, seed)


def check(case, seed):
    sizes, parts, variances, axes = case
    noisy = [
        np.random.default_rng([seed, place]).integers(-50, 50, len(rows(sizes, part)))
        for place, part in enumerate(parts)
    ]
    precision = ResidualPrecision.from_parts(sizes, parts, variances)
    solving, covariance = solution(sizes, parts, variances)
    reading = marginal(sizes, axes)
    table = Residuals.fit(precision, noisy).table(axes)
    assert np.allclose(table.ravel(), reading @ solving @ np.concatenate(noisy), atol=1e-8)
    assert np.allclose(precision.variance(axes), np.diag(reading @ covariance @ reading.T), rtol=1e-8)


@pytest.mark.parametrize("factor", [0.5, 2.0])
def test_a_wrong_information_is_seen(factor):
    known = ResidualPart.information

    def wrong(self, subset, sizes):
        return known(self, subset, sizes) * (factor if len(subset) == 1 and len(self.axes) == 2 else 1)

    parts = [ResidualPart(axes=(0,)), ResidualPart(axes=(0, 1)), ResidualPart(axes=(1,), centred=(1,))]
    case = (3, 2), parts, [1.0, 2.0, 3.0], (0, 1)
    check(case, 1)
    with mock.patch.object(ResidualPart, "information", wrong), pytest.raises(AssertionError):
        check(case, 1)


@given(cases())
@settings(max_examples=examples(150))
def test_the_law_of_a_cell_is_that_of_its_row_of_weights(case):
    check_law(case)


def check_law(case):
    sizes, parts, variances, axes = case
    laws = [
        DiscreteGaussian(sigma2=Fraction(variance) * 100) if place % 2 else DiscreteLaplace(scale=Fraction(variance))
        for place, variance in enumerate(variances)
    ]
    drawn = [law.variance() for law in laws]
    precision = ResidualPrecision.from_parts(sizes, parts, drawn)
    solving, _ = solution(sizes, parts, drawn)
    deviations = np.concatenate(
        [np.full(len(rows(sizes, part)), law.variance() ** 0.5) for part, law in zip(parts, laws, strict=True)]
    )
    found = expanded(MarginalErrors.of(precision, laws).cell(axes))
    for line in np.abs(marginal(sizes, axes) @ solving) * deviations:
        weights = sorted(line.tolist(), reverse=True)
        assert np.allclose(weights[: len(found)], found, atol=1e-8)
        assert np.allclose(weights[len(found) :], 0, atol=1e-8)
    assert np.isclose(sum(np.square(found)), precision.variance(axes))


def test_a_contrast_that_forgets_its_inverse_is_seen():
    case = (3, 4), [ResidualPart(axes=()), ResidualPart(axes=(0,), centred=(0,))], [1.0, 2.0], (0,)
    check_law(case)
    with (
        mock.patch("discreet.inference.linear.residual_law._inverse", return_value=1.0),
        pytest.raises(AssertionError),
    ):
        check_law(case)


def test_marginals_agree_with_each_other():
    """To the last digits, on counts of a size that tables have, whatever the parts."""
    sizes, generator = (7, 2, 11, 1, 5), np.random.default_rng(3)
    parts = [ResidualPart(axes=(0, 1, 2)), ResidualPart(axes=(2, 4)), ResidualPart(axes=(1, 4), centred=(1,))]
    parts += [ResidualPart(axes=own, centred=own) for own in subsets((0, 1, 2, 4)) if len(own) <= 4]
    noisy = [generator.integers(-(10**9), 10**9, len(rows(sizes, part))) for part in parts]
    residuals = Residuals.fit(ResidualPrecision.from_parts(sizes, parts, [1.0 + n for n in range(len(parts))]), noisy)
    for axes in subsets(range(5)):
        table = residuals.table(axes)
        for place, axis in enumerate(axes):
            rest = tuple(each for each in axes if each != axis)
            assert np.allclose(table.sum(axis=place), residuals.table(rest), rtol=0, atol=1e-9 * np.abs(table).max())


def test_parts_know_their_norms():
    for sizes in ((2, 3, 5), (2, 2, 2), (4, 2, 3)):
        for axes in subsets(range(3)):
            for centred in subsets(axes):
                part = ResidualPart(axes=axes, centred=centred)
                moves = part.strategy(sizes).sensitivity(1)
                assert part.norms(sizes) == (moves.l1, moves.l2_squared)
                assert len(rows(sizes, part)) == np.prod(part.shape(sizes))


def test_strange_parts_are_refused():
    for axes, centred in (((1, 0), ()), ((0, 0), ()), ((0,), (1,)), ((0, 1), (1, 0))):
        with pytest.raises(ValueError, match="must be a marginal"):
            ResidualPart(axes=axes, centred=centred)
