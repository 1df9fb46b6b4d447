"""Coarser cells: few enough, of about equal numbers of rows, and what lies within them as the noisy counts say."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.schema.column import NumberColumn
from discreet.synth.attribute import attribute_of
from discreet.synth.coarser_cells import _groups, common_groups, even_groups
from synth.model_tables import PURE
from synth.worlds import fit, open_project


@pytest.mark.parametrize("most", [1, 2, 5, 40])
def test_groups_are_few_adjoin_and_are_even(most):
    counts = np.random.default_rng(1).gamma(1.0, 10.0, 300)
    groups = even_groups(counts, most)
    assert groups.max() + 1 <= most
    assert (np.diff(groups) >= 0).all() and (np.diff(groups) <= 1).all()
    sums = np.bincount(groups, weights=counts)
    assert sums.max() <= counts.sum() / most + 2 * counts.max()
    common = common_groups(counts, most)
    assert common.max() + 1 <= most
    alone = [value for value in range(300) if (common == common[value]).sum() == 1]
    assert not alone or most == 1 or min(counts[alone]) >= np.sort(counts)[-most]


def test_no_cell_is_made_of_values_that_nobody_has():
    """Its noise would be rows of such values, drawn evenly."""
    attribute = attribute_of(NumberColumn(name="n", type="integer", low=-40, high=59))
    weights = np.where(np.arange(attribute.fine) >= 41, 100.0, 0.0)
    weights[-1] = 0
    groups = _groups(attribute.with_groups(attribute.groups, weights), 6)
    assert groups.max() + 1 == 6
    assert (np.bincount(groups, weights=weights) > 0).all()


@pytest.mark.noisy
def test_nulls_that_many_have_come_out(tmp_path):
    lines = [f"{number % 97},{'' if number % 3 == 0 else number % 89}" for number in range(3000)]
    told = 'type = "integer"\nlow = 0\nhigh = 99'
    project = open_project(tmp_path, {"whole": told, "holes": told}, lines, budget=PURE)
    rows = fit(project, kind="privbayes", epsilon="2").sample(3000, seed=1).to_pandas()
    assert rows["holes"].isna().mean() == pytest.approx(1 / 3, abs=0.1)
