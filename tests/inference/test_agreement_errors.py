"""The errors of marginals that were made to agree: against the linear map itself, and against least squares."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from discreet.inference.agreement_errors import agreement_variances, degrees_of_disagreement
from discreet.inference.axes import shape_of
from discreet.inference.consistency import make_consistent

SIZES = (2, 3, 4, 2)
SETS = [[(0, 1), (1, 2)], [(0,), (0, 1, 3), (2, 3), (1, 2)], [(0, 1), (1, 2), (0, 2)], [(0, 1), (2, 3)]]


def agreed(noisy, variances, exact, total):
    """All agreed cells as one vector, the total estimated where none is public."""
    weight = {axes: 1 / each.sum() for axes, each in variances.items()}
    if total is None:
        total = sum(weight[axes] * noisy[axes].sum() for axes in noisy) / sum(weight.values())
    tables = make_consistent({axes: (noisy[axes], variances[axes].mean()) for axes in noisy}, exact, total)
    return np.concatenate([tables[axes].ravel() for axes in noisy])


def linear_map(variances, exact, total):
    """What each noisy cell counts for in each agreed one."""
    zero = {axes: np.zeros(each.shape) for axes, each in variances.items()}
    base = agreed(zero, variances, exact, total)
    columns = []
    for axes, each in variances.items():
        for place in np.ndindex(each.shape):
            unit = {name: table.copy() for name, table in zero.items()}
            unit[axes][place] = 1.0
            columns.append(agreed(unit, variances, exact, total) - base)
    return np.array(columns).T


@pytest.mark.parametrize("sets", SETS, ids=str)
@pytest.mark.parametrize("even", [True, False])
@pytest.mark.parametrize("known", ["nothing", "total", "a table"])
def test_every_variance_is_that_of_the_linear_map(sets, even, known):
    random = np.random.default_rng(1)
    variances = {
        axes: np.full(shape_of(SIZES, axes), random.uniform(1, 9))
        if even
        else random.uniform(1, 9, shape_of(SIZES, axes))
        for axes in sets
    }
    exact = {(1, 3): random.uniform(1, 9, shape_of(SIZES, (1, 3)))} if known == "a table" else {}
    total = None if known == "nothing" else 50.0
    made = agreement_variances(SIZES, variances, list(exact), total_is_exact=total is not None)
    flat = np.concatenate([variances[axes].ravel() for axes in sets])
    expected = linear_map(variances, exact, total) ** 2 @ flat
    assert np.concatenate([made[axes].ravel() for axes in sets]) == pytest.approx(expected)


@pytest.mark.parametrize("sets", SETS, ids=str)
def test_with_even_noise_no_unbiased_estimate_is_better(sets):
    """Gauss and Markov: the variances are those of weighted least squares over all joint tables."""
    rows, flat, chosen = [], [], np.random.default_rng(2)
    cells = list(itertools.product(*map(range, SIZES)))
    variances = {}
    for axes in sets:
        variances[axes] = np.full(shape_of(SIZES, axes), chosen.uniform(1, 9))
        for place in np.ndindex(variances[axes].shape):
            rows.append([float(tuple(cell[axis] for axis in axes) == place) for cell in cells])
            flat.append(variances[axes][place])
    design = np.array(rows) / np.sqrt(flat)[:, None]
    best = np.array(rows) @ np.linalg.pinv(design.T @ design) @ np.array(rows).T
    made = agreement_variances(SIZES, variances, (), total_is_exact=False)
    assert np.concatenate([made[axes].ravel() for axes in sets]) == pytest.approx(np.diag(best))
    free = np.linalg.matrix_rank(design)
    assert degrees_of_disagreement(SIZES, sets, (), total_is_exact=False) == len(rows) - free
