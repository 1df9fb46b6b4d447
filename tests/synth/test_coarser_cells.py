"""Coarser cells: few enough, of about equal numbers of rows, and what lies within them as the noisy counts say."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.schema.column import NumberColumn
from discreet.synth.attribute import attribute_of
from discreet.synth.coarser_cells import (
    _fine_counts,
    _groups,
    common_groups,
    even_groups,
    rising_steps,
    shrink,
    tail,
)
from discreet.synth.first_histograms import HistogramPair, NoisyHistogram
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


def test_rising_steps_add_no_rows_where_there_are_none():
    """Clamping at 0 would find more than half of the rows in the empty half."""
    random = np.random.default_rng(2)
    exact = np.concatenate([np.full(100, 40.0), np.zeros(100)])
    noisy = exact + random.laplace(0, 40, 200)
    steps = rising_steps(noisy, 4000.0)
    assert steps.min() >= 0 and steps.sum() == pytest.approx(4000)
    assert steps[100:].sum() < 900 < np.maximum(noisy, 0)[100:].sum()


def test_what_noise_explains_is_evened_out_and_what_it_does_not_is_kept():
    random = np.random.default_rng(3)
    flat = shrink(100 + random.normal(0, 30, 200), np.full(200, 100.0), 900.0)
    assert flat.std() < 15
    spike = np.where(np.arange(200) == 7, 20_000.0, 100.0) + random.normal(0, 30, 200)
    assert shrink(spike, np.full(200, spike.mean()), 900.0)[7] == pytest.approx(20_000, rel=0.01)


def test_a_long_tail_falls_and_a_heavy_end_does_not():
    """Of 121 rows beyond where 20 lie in each cell, most are near; a spike at an end is no tail."""
    falling = tail(121.0, 165, 20.0)
    assert falling.sum() == pytest.approx(121)
    assert (np.diff(falling) < 0).all()
    assert falling[:30].sum() > 100
    assert tail(121.0, 5, 20.0) == pytest.approx(np.full(5, 24.2))
    assert tail(0.0, 5, 20.0).tolist() == [0, 0, 0, 0, 0]


@pytest.mark.parametrize(("null", "drawn"), [(-30.0, 0), (15.0, 0), (60.0, 60)])
def test_a_null_below_its_noise_is_never_drawn(null, drawn):
    """Its weight is 0, and it needs no cell of its own; noise of this table has the standard deviation 10."""
    attribute = attribute_of(NumberColumn(name="n", type="integer", low=0, high=99))
    counts = NoisyHistogram(values=np.append(np.full(attribute.fine - 1, 30.0), null), variance=200.0)
    pair = HistogramPair(deciding=counts, counting=counts)
    values, weights = _fine_counts(attribute, pair, 3000.0)
    assert weights[-1] == drawn
    groups = _groups(attribute, values, weights, 6)
    assert (groups[-1] > groups[-2]) == (drawn > 0)
    assert groups.max() + 1 == 6


def test_nulls_that_many_have_come_out(tmp_path):
    lines = [f"{number % 97},{'' if number % 3 == 0 else number % 89}" for number in range(3000)]
    told = 'type = "integer"\nlow = 0\nhigh = 99'
    project = open_project(tmp_path, {"whole": told, "holes": told}, lines, budget=PURE)
    rows = fit(project, kind="privbayes", epsilon="2").sample(3000, seed=1).to_pandas()
    assert rows["holes"].isna().mean() == pytest.approx(1 / 3, abs=0.1)
