"""Fits to marginals over groups of cells."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.inference.axes import sum_to
from discreet.inference.fit import FitSearch, MeasuredMarginal, fit, restore_fit
from discreet.inference.fit_inputs import coarse_cells, sum_groups

SIZES = (6, 5, 4)
FIRST = (np.array([0, 0, 1, 1, 2, 2]), np.array([0, 0, 1, 1, 1]))
SECOND = (np.array([0, 1, 1, 0, 0]), np.array([0, 1, 1, 2]))
EXACT = FitSearch(iterations=3000, tolerance=1e-7, centres=20)


def table():
    return np.random.default_rng(3).dirichlet(np.full(120, 0.5)).reshape(SIZES) * 1000


def singles(counts):
    return [
        MeasuredMarginal(attributes=(place,), values=sum_to(counts, (0, 1, 2), (place,)), variance=1.0)
        for place in range(3)
    ]


def over_groups(counts, axes, groups, *, variance=1.0):
    values = sum_groups(sum_to(counts, (0, 1, 2), axes), groups)
    return MeasuredMarginal(attributes=axes, values=values, variance=variance, groups=groups)


def test_what_was_measured_over_groups_is_met_there():
    counts = table()
    turned = over_groups(counts, (1, 0), FIRST[::-1])  # axes in another order
    model = fit(SIZES, [*singles(counts), turned, over_groups(counts, (1, 2), SECOND)], 1000.0, search=EXACT)
    for axes, groups in (((0, 1), FIRST), ((1, 2), SECOND)):
        made = sum_groups(model.calibrated.project(axes), groups)
        assert np.allclose(made, sum_groups(sum_to(counts, (0, 1, 2), axes), groups), atol=1e-3)
    for place in range(3):
        assert np.allclose(model.calibrated.project((place,)), sum_to(counts, (0, 1, 2), (place,)), atol=1e-3)


def test_within_groups_columns_are_independent():
    """The most even model: in each block of groups the cells are the product of what rows and columns have."""
    counts = table()
    model = fit(SIZES, [*singles(counts), over_groups(counts, (0, 1), FIRST)], 1000.0, search=EXACT)
    made = model.calibrated.project((0, 1))
    block = made[:2, 2:]
    assert np.allclose(block, block.sum(1, keepdims=True) * block.sum(0, keepdims=True) / block.sum(), atol=1e-3)
    assert np.abs(made - made.sum(1, keepdims=True) * made.sum(0, keepdims=True) / 1000).sum() > 10


def test_a_fit_over_single_cells_is_the_plain_one():
    counts = table()
    own = (np.arange(6), np.arange(5))
    plain = MeasuredMarginal(attributes=(0, 1), values=sum_to(counts, (0, 1, 2), (0, 1)), variance=1.0)
    one = fit(SIZES, [*singles(counts), plain], 1000.0, search=EXACT)
    other = fit(SIZES, [*singles(counts), over_groups(counts, (0, 1), own)], 1000.0, search=EXACT)
    assert np.allclose(one.calibrated.project((0, 1)), other.calibrated.project((0, 1)), atol=1e-3)


def test_the_same_groups_measured_twice_are_one_by_inverse_variance():
    counts = table()
    near, far = over_groups(counts, (0, 1), FIRST, variance=1.0), over_groups(counts / 2, (0, 1), FIRST, variance=3.0)
    mean = MeasuredMarginal(attributes=(0, 1), values=(3 * near.values + far.values) / 4, variance=0.75, groups=FIRST)
    both = fit(SIZES, [*singles(counts), near, far], 1000.0, search=EXACT)
    assert np.allclose(
        both.calibrated.project((0, 1)),
        fit(SIZES, [*singles(counts), mean], 1000.0, search=EXACT).calibrated.project((0, 1)),
        atol=1e-2,
    )


def test_potentials_bring_the_model_back_and_start_the_next_fit():
    counts = table()
    fixed = {(0, 1): np.outer(np.linspace(-1, 1, 6), np.linspace(-1, 1, 5))}
    measured = [
        *singles(counts),
        over_groups(counts, (0, 1), FIRST),
        over_groups(counts, (0, 1), (FIRST[0], SECOND[0])),
    ]
    model = fit(SIZES, measured, 1000.0, fixed=fixed)
    restored = restore_fit(SIZES, 1000.0, model.potentials)
    assert np.allclose(restored.calibrated.project((0, 1, 2)), model.calibrated.project((0, 1, 2)), atol=1e-6)
    assert fit(SIZES, measured[:-1], 1000.0, start=fit(SIZES, measured[:-1], 1000.0)).iterations <= 3


def test_fixed_potentials_shape_what_is_left_free():
    """Within the only block nothing is measured but single columns: the fixed product is the whole dependence."""
    counts = table()
    fixed = {(0, 1): 0.7 * np.outer(np.linspace(-1, 1, 6), np.linspace(-1, 1, 5))}
    whole = (np.zeros(6, dtype=int), np.zeros(5, dtype=int))
    model = fit(SIZES, [*singles(counts), over_groups(counts, (0, 1), whole)], 1000.0, search=EXACT, fixed=fixed)
    made = model.calibrated.project((0, 1))
    odds = np.log(made[0, 0] * made[5, 4] / (made[0, 4] * made[5, 0]))
    assert odds == pytest.approx(4 * 0.7, abs=1e-6)


@pytest.mark.parametrize("groups", [(FIRST[0], np.array([0, 1])), (FIRST[0], np.array([0, 0, 2, 2, 2]))])
def test_groups_that_do_not_match_are_refused(groups):
    with pytest.raises(ValueError, match="groups"):
        fit(SIZES, [MeasuredMarginal(attributes=(0, 1), values=np.ones((3, 2)), variance=1.0, groups=groups)], 6.0)


def test_cells_of_groups_are_row_major():
    assert coarse_cells([np.array([0, 1]), np.array([0, 0, 1])]).tolist() == [0, 0, 1, 2, 2, 3]
