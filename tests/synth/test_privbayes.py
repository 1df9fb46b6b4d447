"""PrivBayes: its network."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.errors import UsageError
from discreet.kernel.binned_table import BinnedTable
from discreet.synth import privbayes as privbayes_file
from synth.model_tables import PURE, RHO, apart, planted, spent
from synth.worlds import fit, open_project


def looks(model):
    """The tables of several columns, in the order in which they were first measured."""
    return list(dict.fromkeys(each.attributes for each in model.measured if len(each.attributes) > 1))


@pytest.mark.noisy
def test_every_table_brings_a_new_attribute_and_independent_ones_stay_alone(tmp_path):
    """The network begins with column 4, which depends on nothing: what does depend is joined all the same."""
    project = planted(tmp_path, sizes=(4, 3, 5, 2, 6, 2))
    model = fit(project, kind="privbayes", epsilon="10")
    joined = set()
    for family in looks(model):
        assert set(family) - joined
        joined |= set(family)
    assert {0, 1, 5} <= joined
    assert any({0, 1} <= set(family) for family in looks(model))
    assert apart(model, "c0", "c1") > 0.5
    assert apart(model, "c2", "c4") < 0.1
    assert spent(project, model) == 1


@pytest.mark.thin(1)
@pytest.mark.parametrize("degree", [1, 2])
def test_no_more_parents_than_asked(tmp_path, degree):
    model = fit(planted(tmp_path), kind="privbayes", epsilon="20", degree=degree)
    assert max(len(each.attributes) for each in model.measured) == degree + 1


def test_noise_leaves_one_parent(tmp_path):
    """At epsilon 0.05 no table of three with more than a few cells is useful, whatever was asked."""
    model = fit(planted(tmp_path, rows=400), kind="privbayes", epsilon="0.05", degree=3)
    for each in model.measured:
        sd = each.variance**0.5
        assert len(each.attributes) <= 2 or each.values.size <= model.total / (3.9 * sd) + 1


def test_the_name_of_another_tool_is_the_same_fit(tmp_path):
    """`correlated` is PrivBayes in DataSynthesizer: the same question, so that a repeat under either name is free."""
    project = planted(tmp_path, sizes=(3, 2), rows=200)
    first = fit(project, kind="correlated", epsilon="5", degree=1)
    assert first.card.kind == "privbayes"
    again = fit(project, kind="privbayes", epsilon="5", degree=1)
    assert again.card.repeat and again.card.release == first.card.release
    with pytest.raises(UsageError, match="unknown model 'corelated'") as refused:
        fit(project, kind="corelated")
    assert "correlated" in str(refused.value.hint)


@pytest.mark.thin(1)
@pytest.mark.noisy
@pytest.mark.parametrize("budget", [PURE, RHO])
def test_the_main_dependence_survives_on_a_small_table(tmp_path, budget):
    """7,000 rows at epsilon 1, numbers with hundreds of values: the correlation of the one dependent pair is kept.

    It stands behind columns that depend on nothing. A fit that is further than 0.25 off
    is no chance.
    """
    random = np.random.default_rng(11)
    noise = random.standard_normal((7000, 6))
    noise[:, 5] = -0.52 * noise[:, 4] + np.sqrt(1 - 0.52**2) * noise[:, 5]
    numbers = np.clip(200 + 60 * noise, 0, 400).astype(int)
    names = [f"n{place}" for place in range(6)]
    project = open_project(
        tmp_path,
        dict.fromkeys(names, 'type = "integer"\nlow = 0\nhigh = 400'),
        [",".join(map(str, row)) for row in numbers],
        budget=budget,
    )
    model = fit(project, kind="privbayes", epsilon="1")
    rows = model.sample(20_000, seed=1).to_pandas().astype(float)
    exact = np.corrcoef(numbers.T)[4, 5]
    assert abs(rows.corr().to_numpy()[4, 5] - exact) < 0.25
    assert abs(rows["n0"].mean() - numbers[:, 0].mean()) < 12
    assert rows.isna().to_numpy().mean() < 0.02


def test_cells_are_made_of_noisy_counts_alone(tmp_path, monkeypatch):
    """A fit that is read back from the ledger makes the same cells, and looks at no row. Exact cells are caught."""
    project = planted(tmp_path, sizes=(40, 3, 50), rows=400, budget=PURE)
    first = fit(project, kind="privbayes", epsilon="1")
    plain = BinnedTable._rows
    monkeypatch.setattr(BinnedTable, "_rows", lambda self: pytest.fail("data was read"))
    again = fit(project, kind="privbayes", epsilon="1")
    for one, two in zip(first.attributes, again.attributes, strict=True):
        assert (one.groups == two.groups).all() and (one.weights == two.weights).all()
    monkeypatch.setattr(BinnedTable, "_rows", plain)
    known = privbayes_file.coarsen

    def exact_groups(histograms, most):
        histograms.cut._count((0,))
        return known(histograms, most)

    monkeypatch.setattr(privbayes_file, "coarsen", exact_groups)
    monkeypatch.setattr(BinnedTable, "_rows", lambda self: pytest.fail("data was read"))
    with pytest.raises(pytest.fail.Exception, match="data was read"):
        fit(project, kind="privbayes", epsilon="1")
