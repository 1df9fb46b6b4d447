"""Coordinates that suit several groupings of cells."""

import numpy as np
import pytest

from discreet.inference.linear.eigenbasis import GroupingsDoNotCommute, common_basis

SHAPE = (2, 3, 4)


def marginal(axes):
    places, number = np.indices(SHAPE), np.zeros(SHAPE, dtype=np.int64)
    for axis in axes:
        number = number * SHAPE[axis] + places[axis]
    return np.unique(number.ravel(), return_inverse=True)[1].ravel()


def check(groupings, basis):
    assert basis.vectors is not None
    np.testing.assert_allclose(basis.vectors.T @ basis.vectors, np.eye(basis.cells), atol=1e-9)
    for grouping, strengths in zip(groupings, basis.eigenvalues, strict=True):
        same = np.equal.outer(grouping, grouping).astype(float)
        np.testing.assert_allclose(basis.vectors.T @ same @ basis.vectors, np.diag(strengths), atol=1e-8)


def test_marginals_have_common_coordinates():
    groupings = [marginal(axes) for axes in [(0, 1, 2), (0,), (0, 1), (2,), (), (0,)]]
    basis = common_basis(groupings)
    check(groupings, basis)
    place = basis.place_of(4)
    np.testing.assert_allclose(np.abs(basis.vectors[:, place]), 24**-0.5)
    classes = np.arange(24)
    values = np.random.default_rng(1).uniform(1, 2, size=24)
    covariance = basis.vectors @ np.diag(values) @ basis.vectors.T
    np.testing.assert_allclose(basis.weights(classes) @ values, np.diag(covariance))
    np.testing.assert_allclose(basis.total_weights(classes) @ values, covariance.sum())
    cells = np.arange(48.0).reshape(24, 2)
    np.testing.assert_allclose(basis.values(basis.coordinates(cells)), cells, atol=1e-9)


def test_groups_of_different_sizes_disturb_the_total_and_not_the_cells():
    uneven, total, cells = np.array([0, 0, 0, 1]), np.zeros(4, dtype=int), np.arange(4)
    check([cells, uneven], common_basis([cells, uneven]))
    check([cells, total], common_basis([cells, total]))
    with pytest.raises(GroupingsDoNotCommute) as problem:
        common_basis([cells, uneven, total])
    assert (problem.value.one, problem.value.other) == (1, 2)


def test_cells_alone_need_no_other_coordinates():
    basis = common_basis([np.arange(5), np.arange(5)])
    assert basis.vectors is None
    np.testing.assert_allclose(basis.weights(np.zeros(5, dtype=int)), np.ones((5, 1)))
    np.testing.assert_allclose(basis.total_weights(np.zeros(5, dtype=int)), [5.0])
    with pytest.raises(ValueError, match="too many cells"):
        common_basis([np.zeros(2000, dtype=int)])
