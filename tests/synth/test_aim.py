"""AIM: its rounds, its room and its workload."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import LedgerFault
from discreet.inference.junction_tree import model_cells
from discreet.synth import aim as aim_file
from synth.model_tables import PURE, RHO, letters, planted, spent
from synth.worlds import fit, open_project


@pytest.mark.noisy
def test_a_model_of_three_together_is_found(tmp_path):
    """The last column follows the sum of two others: 9 of 10 rows, which is 0.95 with chance; 4 sd of sampling."""
    model = fit(planted(tmp_path), kind="aim", epsilon="20")
    counts = model.project(["c0", "c1", "c3"]).counts
    follows = sum(counts[one, two, (one + two) % 2] for one in range(4) for two in range(3))
    assert follows / counts.sum() > 0.93


@pytest.mark.thin(1)
@pytest.mark.parametrize("large", [10**9, 0])
def test_the_model_stays_within_its_room(tmp_path, monkeypatch, large):
    """Whether marginals without room are left out before they are compared, or when they were drawn."""
    monkeypatch.setattr(aim_file, "LARGE", large)
    project = planted(tmp_path, sizes=(8, 6, 9, 7, 5), rows=3000)
    model = fit(project, kind="aim", epsilon="20", model_mb=Fraction(500 * 8, 2**20))
    assert model.calibrated.cells <= 500
    assert model.calibrated.cells == model_cells(model.calibrated.sizes, [each.attributes for each in model.measured])
    assert spent(project, model) == 1


@pytest.mark.parametrize(("epsilon", "order"), [("0.1", 2), ("30", 3)])
def test_the_workload_follows_the_noise(tmp_path, monkeypatch, epsilon, order):
    asked, plain = [], aim_file.workload

    def workload(task, told, *, order):
        asked.append(order)
        return plain(task, told, order=order)

    monkeypatch.setattr(aim_file, "workload", workload)
    fit(planted(tmp_path, rows=500), kind="aim", epsilon=epsilon)
    assert asked == [order]


def test_with_little_epsilon_histograms_are_looked_at_twice(tmp_path):
    project = planted(tmp_path, rows=500)
    model = fit(project, kind="aim", epsilon="0.1")
    held = project.ledger.reservation(model.card.release)
    assert held.steps[1].loss.epsilon is None  # the second step measures, too
    assert spent(project, model) == 1


@pytest.mark.noisy
def test_a_quiet_round_makes_the_next_ones_larger(tmp_path):
    """Every combination as often as every other: only noise moves the model, and fewer rounds than planned are taken."""
    lines = [",".join(f"v{code}" for code in row) for row in np.ndindex(4, 4, 4, 4, 4)] * 2
    project = open_project(tmp_path, {f"c{place}": letters(4) for place in range(5)}, lines)
    model = fit(project, kind="aim", epsilon="20")
    assert len(model.measured) - 5 <= 8  # 0.7 of the guarantee is ten rounds of a fifteenth
    assert spent(project, model) == 1


def test_the_workload_has_no_large_tables(tmp_path):
    class Told:
        sizes = (200, 200, 3)

    class Task:
        cells = 10**6

    wanted = aim_file.workload(Task(), Told(), order=3)
    assert (0,) in wanted and (0, 2) in wanted and (0, 1) not in wanted and (0, 1, 2) not in wanted
    assert all(math.prod(Told.sizes[place] for place in own) <= aim_file.MOST_TABLE for own in wanted)


def test_what_is_out_of_reach_is_neither_compared_nor_chosen(tmp_path, monkeypatch):
    """No noise at all is within reach: after the first round single columns alone are compared, and one is chosen."""
    seen, plain = [], aim_file.candidates

    def candidates(model, wanted, law, *, weight):
        seen.append(len(wanted))
        return plain(model, wanted, law, weight=weight)

    monkeypatch.setattr(aim_file, "candidates", candidates)
    monkeypatch.setattr(aim_file, "REACH", 1e-9)
    project = planted(tmp_path, sizes=(8, 6, 9, 7, 5), rows=3000)
    model = fit(project, kind="aim", epsilon="8", delta=Fraction(1, 10**7))  # by Gaussian noise
    assert seen[0] >= 25  # 5 columns, 10 pairs, 10 triples, and some of them over groups of their cells
    assert seen[1:] == [5] * (len(seen) - 1)
    assert all(len(each.attributes) == 1 for each in model.measured[6:])
    assert spent(project, model) == 1


def test_of_a_pure_epsilon_a_quiet_round_is_the_last(tmp_path, monkeypatch):
    """All that is left measures every column once more, in one step."""
    monkeypatch.setattr(aim_file, "_is_quiet", lambda *given: True)
    monkeypatch.setattr(aim_file, "STANDS_OUT", -1e6)  # something is chosen
    project = planted(tmp_path, rows=800, budget=PURE)
    model = fit(project, kind="aim", epsilon="1")
    assert [each.attributes for each in model.measured[-4:]] == [(0,), (1,), (2,), (3,)]
    assert len(model.measured) == 4 + 1 + 4 and spent(project, model) == 1


@pytest.mark.parametrize("turned", [True, False])
@pytest.mark.parametrize(("budget", "epsilon"), [(RHO, "5"), (PURE, "1")])
def test_a_fit_goes_on_whatever_another_machine_holds_for_quiet(tmp_path, monkeypatch, turned, budget, epsilon):
    """A comparison of floats may come out otherwise when a fit is repeated: the ledger says how it went."""
    project = planted(tmp_path, rows=800, budget=budget)
    model = fit(project, kind="aim", epsilon=epsilon)
    plain = aim_file._is_quiet
    monkeypatch.setattr(aim_file, "_is_quiet", lambda *given: plain(*given) != turned)
    again = fit(project, kind="aim", epsilon=epsilon)
    assert again.card.release == model.card.release and again.card.steps == model.card.steps
    assert [each.attributes for each in again.measured] == [each.attributes for each in model.measured]


def test_another_fault_of_the_ledger_is_told_as_it_was(tmp_path, monkeypatch):
    faults = iter([LedgerFault("the first"), LedgerFault("the second")])

    def faulty(*given, **more):
        raise next(faults)

    monkeypatch.setattr(aim_file, "_choose_marginal_after", faulty)
    with pytest.raises(LedgerFault, match="the first"):
        fit(planted(tmp_path, rows=500), kind="aim", epsilon="5")
