"""The resolution of a marginal: which groups, how many, and that dependence survives a small table."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.inference.fit_inputs import sum_groups
from discreet.kernel.binned_table import CoarseSet
from discreet.synth import aim as aim_file
from discreet.synth import mst as mst_file
from discreet.synth.attribute import attribute_of
from discreet.synth.cell_choice import halved_bins
from discreet.synth.inspect.model_evidence import ModelEvidence
from discreet.synth.model import Model
from discreet.synth.resolution import (
    CellScores,
    cell_locations,
    group_cells_of,
    share_out,
    smooth_potential,
    within_groups,
)
from synth.model_tables import PURE, RHO, spent
from synth.worlds import fit, open_project

NUMBER = 'type = "integer"\nlow = -5000\nhigh = 5000'


def normal(folder, *, rows=7000, budget=RHO, others=2):
    """Two columns of correlation -.5, and others that depend on nothing."""
    random = np.random.default_rng(11)
    one = random.normal(size=rows)
    other = -0.5 * one + np.sqrt(0.75) * random.normal(size=rows)
    columns = [1100 * one, 1100 * other, *(1100 * random.normal(size=rows) for _ in range(others))]
    values = [np.clip(np.rint(column), -5000, 5000).astype(int) for column in columns]
    names = {f"c{place}": NUMBER for place in range(len(values))}
    return open_project(folder, names, [",".join(map(str, row)) for row in zip(*values, strict=True)], budget=budget)


def correlation(model):
    rows = model.sample(20_000).to_pandas()
    return float(rows["c0"].corr(rows["c1"]))


@pytest.mark.thin(2)
@pytest.mark.noisy
@pytest.mark.parametrize("budget", [RHO, PURE])
@pytest.mark.parametrize("kind", ["mst", "aim"])
def test_a_pair_of_many_cells_survives_in_a_small_table(tmp_path, kind, budget):
    """33 x 33 cells and 7,000 rows: a fit that loses the pair is 0.5 off, one that keeps it seldom 0.05."""
    project = normal(tmp_path, budget=budget)
    model = fit(project, kind=kind, epsilon="4")
    assert any(each.groups is not None for each in model.measured)
    assert abs(correlation(model) + 0.5) < 0.2
    assert spent(project, model) == 1


@pytest.mark.noisy
def test_without_groups_the_pair_is_lost(tmp_path, monkeypatch):
    """The fault that this is there for, planted."""
    monkeypatch.setattr(aim_file, "NOISE_PARTS", ())
    monkeypatch.setattr(aim_file, "MOST_NOISE", 0.5)
    model = fit(normal(tmp_path), kind="aim", epsilon="0.5")
    assert abs(correlation(model) + 0.5) > 0.2


def test_a_model_over_groups_is_saved_and_read(tmp_path):
    model = fit(normal(tmp_path, rows=3000), kind="mst", epsilon="2")
    for name in ("model.json", "model.npz"):
        model.save(tmp_path / name)
        read = Model.load(tmp_path / name)
        assert np.allclose(read.project(["c0", "c1"]).counts, model.project(["c0", "c1"]).counts, atol=1e-6)
        for one, other in zip(model.measured, read.measured, strict=True):
            assert np.array_equal(one.values, other.values)
            assert (one.groups is None) == (other.groups is None)
            assert all(map(np.array_equal, one.groups or (), other.groups or ()))


def test_what_is_known_of_groups_bounds_their_cells(tmp_path):
    """No cell of a pair that was measured over groups may hold more than its group; nothing is claimed of it alone."""
    model = fit(normal(tmp_path, rows=3000), kind="mst", epsilon="2")
    own = next(each for each in model.measured if each.groups is not None)
    evidence = ModelEvidence(model)
    bounds = evidence.bounds(own.attributes)
    assert bounds.measured and evidence.noisy_marginal(own.attributes) is None
    blocks = sum_groups(bounds.model, own.groups)
    width = np.maximum(evidence.widths * own.variance**0.5, np.abs(blocks - own.values))
    assert (bounds.high <= np.maximum((blocks + width)[np.ix_(*own.groups)], bounds.model) + 1e-9).all()
    assert (bounds.low <= bounds.model).all()


def attribute(tmp_path, text):
    project = open_project(tmp_path, {"c": text}, ["1"])
    return attribute_of(project.version("people").schema.columns[0])


def test_neighbouring_cells_are_grouped_by_rows_and_spread(tmp_path):
    own = attribute(tmp_path, 'type = "integer"\nlow = 0\nhigh = 19')
    rows = np.append(np.full(20, 50.0), 0.0)  # the last cell is NULL
    groups = group_cells_of(own, rows, 4)
    assert (np.diff(groups[:20]) >= 0).all() and groups.max() == 3
    assert np.bincount(groups[:20]).tolist() == [3, 7, 7, 3]  # the ends have most of the spread
    assert groups[20] in groups[:20]
    assert group_cells_of(own, np.append(np.full(20, 50.0), 900.0), 4)[20] == 3  # as many NULLs: a group of their own
    assert np.isnan(cell_locations(own)[20]) and cell_locations(own)[7] == 7.5


def test_of_values_without_order_the_most_common_stay_alone(tmp_path):
    own = attribute(tmp_path, 'type = "category"\nvalues = ["1", "2", "3", "4", "5"]\nclosed = true')
    assert group_cells_of(own, np.array([5.0, 90, 1, 70, 2]), 3).tolist() == [2, 0, 2, 1, 2]


def test_groups_are_shared_out_evenly_and_never_beyond_the_cells():
    for sizes in ([2, 2], [5, 9], [33, 33], [2, 33, 7], [180, 3]):
        for cells in (4, 9, 50, 400, 10**6):
            counts = share_out(sizes, cells)
            if counts is not None:
                assert np.prod(counts) <= cells and all(c <= size for c, size in zip(counts, sizes, strict=True))
    assert share_out([33, 33], 40) == [6, 6] and share_out([2, 33], 40) == [2, 20]


def test_the_correlation_behind_groups_is_found_without_bias():
    """Cells of a normal pair, exact and with noise: the mean over draws is that of the exact table, within 4 sd."""
    random = np.random.default_rng(5)
    one = random.normal(size=400_000)
    other = 0.6 * one + 0.8 * random.normal(size=400_000)
    ends = np.linspace(-3, 3, 23)
    table = np.histogram2d(one, other, [[-9, *ends, 9]] * 2)[0]
    scores = []
    for shares in (table.sum(1) / table.sum(), table.sum(0) / table.sum()):
        middles = np.array([-3.2, *(ends[:-1] + ends[1:]) / 2, 3.2])
        middles = middles - shares @ middles
        scores.append(CellScores(shares=shares, scores=middles / np.sqrt(shares @ middles**2)))
    groups = [np.repeat([0, 1, 2, 3], 6)] * 2
    coarse = sum_groups(table, groups) / 50  # 8,000 rows
    exact, variance = within_groups(coarse, 400.0, tuple(scores), groups)
    assert exact == pytest.approx(0.6, abs=0.03)
    noisy = [
        within_groups(coarse + random.normal(size=(4, 4)) * 20, 400.0, tuple(scores), groups)[0] for _ in range(400)
    ]
    assert np.mean(noisy) == pytest.approx(exact, abs=4 * (variance / 400) ** 0.5 + 0.003)
    assert np.std(noisy) == pytest.approx(variance**0.5, rel=0.35)
    assert np.all(smooth_potential(0.1, 0.02, tuple(scores)) == 0)  # no more than noise would make


def test_bins_are_where_the_rows_are():
    values = np.zeros(256)
    values[100:116] = 400.0
    groups = halved_bins(values + np.random.default_rng(0).normal(size=256) * 30, 30.0)
    assert len(np.unique(groups[100:116])) >= 8
    assert len(np.unique(groups)) <= 32 and (np.diff(groups) >= 0).all()


def test_a_tree_measures_pairs_at_the_resolution_they_were_compared_at(tmp_path, monkeypatch):
    seen, plain = [], mst_file.measure_marginals

    def measure(task, histograms, sets, share):
        seen.extend(sets)
        return plain(task, histograms, sets, share)

    monkeypatch.setattr(mst_file, "measure_marginals", measure)
    fit(normal(tmp_path, rows=3000), kind="mst", epsilon="1")
    assert seen and all(isinstance(own, CoarseSet) for own in seen)
