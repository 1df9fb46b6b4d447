"""MST: its tree, its options, and what every fitted model has in common with it."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from discreet.engines.memory import MemoryEngine
from discreet.engines.public_table_loader import load_public_table
from discreet.errors import UsageError
from discreet.kernel.binned_table import BinnedTable
from discreet.kernel.project_session import open_session
from discreet.synth import first_histograms as first_file
from discreet.synth import mst as mst_file
from discreet.synth.fit_request import FitRequest
from discreet.synth.noisy_histogram import NoisyHistogram
from synth.model_tables import KINDS, PERSON, PURE, RHO, ROW, apart, letters, planted, spent
from synth.worlds import fit, open_project

DEPENDENT = ("privbayes", "mst", "aim")


@pytest.mark.thin(3)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("budget", "table"), [(RHO, ROW), (PURE, ROW), (RHO, PERSON), (PURE, PERSON)])
def test_a_fit_spends_its_reservation_to_the_last_digit(tmp_path, kind, budget, table):
    project = planted(tmp_path, rows=900, budget=budget, table=table)
    assert spent(project, fit(project, kind=kind, epsilon="0.7")) == 1


@pytest.mark.thin(2)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("sizes", "cells"), [((6,), 1000), ((3, 4), 1000), ((5, 4, 3), 8)])
def test_few_or_large_columns_waste_nothing(tmp_path, kind, sizes, cells):
    """One column; one possible pair; pairs that no model has room for."""
    project = planted(tmp_path, sizes=sizes, rows=1500)
    model = fit(project, kind=kind, epsilon="20", model_mb=Fraction(8 * cells, 2**20))
    assert spent(project, model) == 1
    assert model.calibrated.sizes == sizes
    assert model.calibrated.cells <= max(cells, sum(sizes))
    assert model.sample(50).num_rows == 50


@pytest.mark.noisy
@pytest.mark.thin(2)
@pytest.mark.parametrize("kind", DEPENDENT)
def test_a_planted_dependency_is_found_and_none_is_made_up(tmp_path, kind):
    """At epsilon 20 the noise is a few rows of 4,000: 0.05 is beyond ten of its standard deviations."""
    model = fit(planted(tmp_path), kind=kind, epsilon="20")
    assert apart(model, "c0", "c1") > 0.7
    assert apart(model, "c0", "c2") < 0.1
    assert apart(fit(planted_again(tmp_path), kind="independent", epsilon="20"), "c0", "c1") < 1e-6


def planted_again(tmp_path):
    (tmp_path / "other").mkdir()
    return planted(tmp_path / "other")


@pytest.mark.noisy
def test_three_columns_are_known_together_where_noise_allows(tmp_path):
    """The last column follows the sum of two others, which no tree of pairs can say."""
    (tmp_path / "tree").mkdir()
    (tmp_path / "more").mkdir()
    tree = fit(planted(tmp_path / "tree"), kind="mst", epsilon="20", adjacent=False)
    more = fit(planted(tmp_path / "more"), kind="mst", epsilon="20")
    assert {len(each.attributes) for each in tree.measured} == {1, 2}
    assert 3 in {len(each.attributes) for each in more.measured}


@pytest.mark.thin(1)
@pytest.mark.parametrize("kind", ["mst", "aim"])
def test_what_an_expert_names_is_measured(tmp_path, kind):
    project = planted(tmp_path)
    model = fit(project, kind=kind, epsilon="2", marginals=(("C2", "c3"), ("c0", "c1", "c2")))
    measured = {each.attributes for each in model.measured}
    assert {(2, 3), (0, 1, 2)} <= measured
    assert spent(project, model) == 1
    if kind == "mst":  # they join all columns: the tree needs no edge more, and neighbours are those alone
        assert measured <= {(0,), (1,), (2,), (3,), (2, 3), (0, 1, 2)}


def test_weights_are_shares(tmp_path):
    """The weighty pair is measured with less noise than another of as many cells."""
    project = planted(tmp_path, sizes=(3, 3, 3))
    weights = ((("c0", "c1"), 50),)
    model = fit(project, kind="mst", epsilon="2", marginals=(("c0", "c1"), ("c1", "c2")), weights=weights)
    variances = {each.attributes: each.variance for each in model.measured if len(each.attributes) == 2}
    assert 2 * variances[0, 1] < variances[1, 2]


def test_names_are_looked_at_before_anything_is_paid(tmp_path):
    project = planted(tmp_path, rows=50)
    before = project.ledger.state.seq
    for more in (
        {"marginals": (("c0", "nobody"),)},
        {"weights": ((("nobody",), 2),)},
        {"weights": ((("c0",), 0),)},
        {"weights": ((("c0",), 2.5),)},
        {"marginals": ((),)},
        {"public": "nothing"},
    ):
        with pytest.raises(UsageError):
            fit(project, kind="mst", **more)
    with pytest.raises(UsageError, match="works only with mst and aim"):
        fit(project, kind="privbayes", marginals=(("c0", "c1"),))
    for kind in ("auto", "aim"):  # auto took it, never used it, and charged a second time
        with pytest.raises(UsageError, match="degree works only with privbayes"):
            fit(project, kind=kind, degree=2)
    assert project.ledger.state.seq == before


PUBLIC = '[tables.known]\nsource = "people.csv"\npublic = true\n'


def test_a_tree_found_in_public_rows_costs_no_choice(tmp_path):
    """The same rows, said to be public: the tree is theirs, and every step is a measurement."""
    project = planted(tmp_path, sizes=(4, 3, 5, 2))
    columns = "".join(f"[tables.known.columns.c{place}]\n{letters(size)}\n" for place, size in enumerate((4, 3, 5, 2)))
    with (tmp_path / "discreet.toml").open("a") as stream:
        stream.write(PUBLIC + columns)
    import discreet

    project = discreet.open(tmp_path)
    public = load_public_table(project.table("known"), folder=tmp_path, engine=MemoryEngine())
    wanted = FitRequest(epsilon=Fraction(5), kind="mst", public="known", adjacent=False)
    model = synthesized(project, wanted, public)
    assert model.card.steps == 2  # the histograms, and the pairs
    pairs = {each.attributes for each in model.measured if len(each.attributes) == 2}
    assert len(pairs) == 3
    assert (0, 1) in pairs and pairs & {(0, 3), (1, 3)}
    assert spent(project, model) == 1
    with pytest.raises(UsageError, match="has no column 'c3'"):
        synthesized(project, wanted, narrowed(public))


def narrowed(public):
    from dataclasses import replace

    return replace(public, columns=public.columns[:3])


def synthesized(project, wanted, public):
    from discreet.synth.synthesis import synthesize

    return synthesize(
        wanted,
        open_session(project, "people", project.asker(None)),
        public=public,
    )


@pytest.mark.deep
def test_forty_columns_of_two_values(tmp_path):
    project = planted(tmp_path, sizes=(2,) * 40, rows=1500)
    model = fit(project, kind="mst", epsilon="30", adjacent=False)
    assert spent(project, model) == 1
    assert sum(len(each.attributes) == 2 for each in model.measured) == 39
    assert apart(model, "c0", "c1") > 0.5


def test_a_column_of_five_thousand_values(tmp_path):
    project = open_project(
        tmp_path, {"word": letters(5000), "two": letters(2)}, [f"v{n * n % 40},v{n % 2}" for n in range(2000)]
    )
    model = fit(project, kind="mst", epsilon="5")
    assert spent(project, model) == 1
    assert model.calibrated.sizes[0] < 100  # values that were not seen share a cell


@pytest.mark.parametrize("kind", DEPENDENT)
def test_constraints_reach_the_model(tmp_path, kind):
    rules = {"zeros": [{"c0": "v0", "c1": "v1"}], "totals": [{"column": "c3", "counts": {"v0": 1000, "v1": 3000}}]}
    model = fit(planted(tmp_path), kind=kind, epsilon="1", constraints=rules)
    assert model.project(["c0", "c1"]).counts[0, 1] == 0
    assert np.allclose(model.project(["c3"]).counts, [1000, 3000])


# -- what enters a choice ----------------------------------------------------------------------


def scores_of(monkeypatch, tmp_path, kind, **more):
    """Every (weight allowed, candidate) that a fit's choices compare exact counts with."""
    seen = []
    plain = BinnedTable._score

    def look(self, own, candidate, most_weight):
        seen.append((own, candidate, most_weight, plain(self, own, candidate, most_weight)))
        return seen[-1][-1]

    monkeypatch.setattr(BinnedTable, "_score", look)
    project = planted(tmp_path, **more.pop("table", {}))
    fit(project, kind=kind, epsilon="1", **more)
    return seen, project


@pytest.mark.thin(3)
@pytest.mark.parametrize("kind", DEPENDENT)
def test_scores_are_whole_and_one_row_moves_them_by_their_weight(monkeypatch, tmp_path, kind):
    """The neighbour's score is found from the candidate itself: estimates and penalties do not know the row."""
    seen, _ = scores_of(monkeypatch, tmp_path, kind)
    assert seen
    for _, candidate, most_weight, score in seen:
        assert candidate.estimate.dtype == np.int64
        assert {type(candidate.weight), type(candidate.penalty), type(score)} == {int}
        assert 1 <= candidate.weight <= most_weight == 1


def test_weights_enter_the_score_and_its_sensitivity(monkeypatch, tmp_path):
    """A weight of 7 multiplies distance, penalty and sensitivity alike: none of the three may be forgotten."""
    epsilons = []
    plain = BinnedTable.choose

    def choose(self, sets, candidates, *, epsilon, most_weight, fits=lambda place: True):
        epsilons.append((epsilon, most_weight))
        return plain(self, sets, candidates, epsilon=epsilon, most_weight=most_weight, fits=fits)

    monkeypatch.setattr(BinnedTable, "choose", choose)
    seen, _ = scores_of(monkeypatch, tmp_path, "aim", weights=((("c0", "c3"), 7),))
    assert {most for _, most in epsilons} == {7}
    for own, candidate, most_weight, _ in seen:
        assert most_weight == 7
        assert candidate.weight == (7 if {0, 3} <= set(own) else 1)
    by_set = {own: candidate for own, candidate, _, _ in seen[:14]}
    each_cell = by_set[0, 1].penalty / by_set[0, 1].estimate.size
    assert by_set[0, 3].penalty / by_set[0, 3].estimate.size == pytest.approx(7 * each_cell, rel=0.1)


@pytest.mark.parametrize(("kind", "most"), [("privbayes", "1/10"), ("mst", "1/4"), ("aim", "1/10")])
def test_choices_cost_what_the_shares_say(tmp_path, kind, most):
    """A choice of epsilon costs epsilon^2 / 8; twice the epsilon would be four times the loss."""
    project = planted(tmp_path)
    model = fit(project, kind=kind, epsilon="1")
    held = project.ledger.reservation(model.card.release)
    choices = [step.loss.rho for step in held.steps if step.loss.epsilon is not None]
    assert choices
    assert held.event.rho * Fraction(most) / 3 < sum(choices) <= held.event.rho * Fraction(most)


@pytest.mark.deep
def test_a_replayed_fit_takes_the_same_road(tmp_path, monkeypatch):
    """Nothing is drawn, read or charged again."""
    project = planted(tmp_path)
    models = [fit(project, kind=kind, epsilon="1") for kind in DEPENDENT]
    before = project.ledger.state.seq
    monkeypatch.setattr(BinnedTable, "_rows", lambda self: pytest.fail("data was read"))
    for kind, model in zip(DEPENDENT, models, strict=True):
        again = fit(project, kind=kind, epsilon="1")
        assert [each.attributes for each in again.measured] == [each.attributes for each in model.measured]
        assert all((one.values == two.values).all() for one, two in zip(again.measured, model.measured, strict=True))
    assert project.ledger.state.seq == before


def test_shares_of_histograms_are_exact_and_lean_to_the_larger(tmp_path):
    project = planted(tmp_path, rows=20)
    event = project.ledger.reservation(fit(project).card.release).event
    parts = first_file.split_share(event, [2, 16, 128], Fraction(3, 7))
    assert sum(parts) == Fraction(3, 7)
    assert [float(parts[place + 1] / parts[place]) for place in (0, 1)] == pytest.approx([4, 4], rel=1e-3)


def test_two_looks_are_averaged_by_inverse_variance():
    one = NoisyHistogram(values=np.array([10.0]), variance=1.0)
    other = NoisyHistogram(values=np.array([20.0]), variance=3.0)
    assert one.with_(other).values.tolist() == other.with_(one).values.tolist() == [12.5]
    assert one.with_(other).variance == 0.75


def test_dependence_is_that_of_a_table():
    assert mst_file.dependence(np.array([[5.0, 0.0], [0.0, 5.0]])) == pytest.approx(1)
    assert mst_file.dependence(np.outer([1.0, 3.0], [2.0, 2.0])) == pytest.approx(0)
