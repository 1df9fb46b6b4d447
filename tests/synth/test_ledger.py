"""What a fit costs is what was asked, exactly; what it holds follows from its steps alone; a broken-off one goes on."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from discreet.accounting.zcdp_conversion import rho_from_epsilon
from discreet.errors import BudgetExceeded, UsageError
from discreet.kernel.program import Program
from discreet.synth.model_file import save
from synth.worlds import AGE, CLINIC, SEX, clinic_lines, fit, open_project

COLUMNS = {
    "age": AGE,
    "sex": SEX,
    "kind": 'type = "category"\nvalues = ["a", "b", "c"]',
    "word": 'type = "text"',
    "cost": 'type = "decimal"',
}


def lines(count=600):
    return [f"{n % 60},{'FM'[n % 2]},{'abc'[n % 3]},{'yes' if n % 4 else 'no'},{n % 37}" for n in range(count)]


def sums(project, model):
    steps = project.ledger.reservation(model.card.release).steps
    return (
        sum((step.loss.epsilon or Fraction(0) for step in steps), Fraction(0)),
        sum((step.loss.rho for step in steps), Fraction(0)),
        sum((step.loss.delta for step in steps), Fraction(0)),
        steps,
    )


@pytest.mark.parametrize("kind", ["independent", "mst"])
def test_pure_steps_sum_to_all_that_was_asked(tmp_path, kind):
    project = open_project(tmp_path, COLUMNS, lines(), budget="{ epsilon = 90 }")
    model = fit(project, kind=kind, epsilon="1.3")
    epsilon, _, delta, steps = sums(project, model)
    assert epsilon == Fraction("1.3") and delta == 0
    assert len(steps) == model.card.steps and model.card.rho is None
    assert project.budget("people").spent.epsilon == Fraction("1.3")


@pytest.mark.parametrize("kind", ["independent", "mst"])
def test_steps_in_rho_sum_to_all_that_was_asked(tmp_path, kind):
    """The inverse conversion of (epsilon, delta): a twentieth of delta is for keys where text is to be found."""
    delta = Fraction(1, 10**6)
    for name, columns, keys in (("words", COLUMNS, delta / 20), ("none", {**COLUMNS, "word": None, "cost": None}, 0)):
        folder = tmp_path / name
        folder.mkdir()
        project = open_project(folder, columns, lines(), budget="{ epsilon = 90, delta = 1e-4 }")
        model = fit(project, kind=kind, epsilon="1.3", delta=delta)
        _, rho, spent_delta, _ = sums(project, model)
        assert model.card.rho == rho_from_epsilon(Fraction("1.3"), delta - keys)
        assert rho == model.card.rho  # to the last digit: the last step takes what roots left
        assert keys * 9 / 10 <= spent_delta <= keys  # thresholds are whole numbers


def test_a_budget_that_is_too_small_is_refused_before_any_step(tmp_path):
    project = open_project(tmp_path, {"age": AGE, "sex": SEX}, ["5,F"], budget="{ epsilon = 1 }")
    seq = project.ledger.state.seq
    with pytest.raises(BudgetExceeded):
        fit(project, epsilon="1.001")
    assert project.ledger.state.seq == seq
    fit(project, epsilon="1")


def test_the_same_fit_is_free_and_the_same(tmp_path):
    project = open_project(tmp_path, {"age": AGE, "sex": SEX}, [f"{n % 50},F" for n in range(300)])
    one = fit(project, kind="mst")
    spent, seq = project.budget("people").spent, project.ledger.state.seq
    again = fit(project, kind="mst")
    assert (project.budget("people").spent, project.ledger.state.seq) == (spent, seq)
    assert written(one, tmp_path) == written(again, tmp_path)
    assert one.sample(500, seed=1).equals(again.sample(500, seed=1))
    other = fit(project, kind="mst", fresh=True)
    assert other.card.release != one.card.release
    assert [each.values.tolist() for each in other.measured] != [each.values.tolist() for each in one.measured]


def written(model, folder):
    """A model as its file, but for the name of its release."""
    path = folder / "written.json"
    path.unlink(missing_ok=True)
    save(model, path)
    data = json.loads(path.read_text())
    data["card"].pop("release")
    return data


# ---- a model follows from what its steps drew, and from nothing else


def replayed(folder, kind, one, other, columns, *, monkeypatch):
    """Fit a table; then fit another one whose steps are told the first one's draws. Both models, as data.

    A program that looked at its table in any other way, or asked something that depends on it, is seen here.
    """
    real, told, asked = Program.step, [], []

    def record(self, of, event, draw, **named):
        found = real(self, of, event, draw, **named)
        told.append((json.dumps(of, sort_keys=True), event, found))
        return found

    def replay(self, of, event, draw, **named):
        question, known, found = told[len(asked)]
        assert (json.dumps(of, sort_keys=True), event) == (question, known), "a step that depends on data"
        asked.append(question)
        return real(self, of, event, lambda curator: (found, event), **named)

    models = []
    for number, (rows, step) in enumerate(((one, record), (other, replay))):
        place = folder / str(number)
        place.mkdir()
        project = open_project(place, columns, rows)
        with monkeypatch.context() as patched:
            patched.setattr(Program, "step", step)
            models.append(written(fit(project, kind=kind, epsilon="60"), place))  # enough for adaptive bins
    assert len(asked) == len(told) > 0
    return models


@pytest.mark.parametrize("kind", ["independent", "mst"])
def test_a_model_follows_from_its_steps_alone(tmp_path, kind, monkeypatch):
    """The other table has other rows, other words, wider numbers, NULLs and another number of rows."""
    others = [f"{n % 7},M,,w{n % 11},{n * 1000}" for n in range(41)]
    one, other = replayed(tmp_path, kind, lines(), others, COLUMNS, monkeypatch=monkeypatch)
    assert one == other


# ---- kill -9

CHILD = """
import os, signal, sys
from pathlib import Path
import discreet
from discreet.ledger.ledger import Ledger
from synth.worlds import fit

folder, name, when, turn = Path(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4])
act, calls = getattr(Ledger, name), []

def deadly(self, *arguments, **named):
    calls.append(1)
    if len(calls) == turn and when == "before":
        os.kill(os.getpid(), signal.SIGKILL)
    found = act(self, *arguments, **named)
    if len(calls) == turn and when == "after":
        os.kill(os.getpid(), signal.SIGKILL)
    return found

setattr(Ledger, name, deadly)
fit(discreet.open(folder), kind="mst", epsilon="2")
print("lived")
"""


@pytest.mark.thin(1)
@pytest.mark.parametrize(
    ("name", "when", "turn", "stored"),
    [("step", "after", 2, 1), ("store", "before", 2, 1), ("store", "after", 2, 2)],
)  # fmt: skip
def test_a_fit_that_was_killed_goes_on_without_drawing_anew(tmp_path, name, when, turn, stored):
    columns = {"age": AGE, "sex": SEX, "kind": COLUMNS["kind"]}
    project = open_project(tmp_path, columns, [f"{n % 60},{'FM'[n % 2]},{'abc'[n % 3]}" for n in range(600)])
    project.ledger.close()
    paths = [str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))}
    child = subprocess.run(
        [sys.executable, "-c", CHILD, str(tmp_path), name, when, str(turn)],
        env=environment,
        capture_output=True,
        timeout=300,
    )
    assert child.returncode == -signal.SIGKILL, child.stderr.decode()[-500:]
    import discreet

    project = discreet.open(tmp_path)
    (held,) = project.ledger.state.reservations.values()
    spent = project.budget("people").spent
    kept = {step.id: project.ledger.answer(step.id) for step in held.steps if step.id in project.ledger.state.answers}
    assert len(kept) == stored
    model = fit(project, kind="mst", epsilon="2")
    assert model.card.release == held.id and list(project.ledger.state.reservations) == [held.id]
    assert project.budget("people").spent == spent  # charged once, before the kill
    for id_, answer in kept.items():
        assert project.ledger.answer(id_) == answer
    epsilon, _, _, steps = sums(project, model)
    assert epsilon == model.card.epsilon == 2 and len(steps) == model.card.steps  # of two columns: Laplace noise
    assert project.ledger.verify().sound


# ---- persons


def test_persons_are_protected_with_all_their_rows(tmp_path):
    """A person of 50 rows, 4 of them kept: noise for 4 rows; a table without anybody gives a model, too."""
    people = [f"p{n},{n % 60},{'FM'[n % 2]}" for n in range(500)] + ["whale,99,M"] * 50
    table = 'person = "who"\nrows_per_person = 4'
    project = open_project(tmp_path, {"who": None, "age": AGE, "sex": SEX}, people, table=table)
    model = fit(project, kind="mst", epsilon="5", delta=Fraction("1e-6"))
    assert model.card.unit == "person, at most 4 rows"
    _, rho, _, _steps = sums(project, model)
    assert rho == model.card.rho
    assert model.total == pytest.approx(504, abs=12 * model.total_sd)
    assert set(model.sample(50, seed=1).column_names) == {"age", "sex"}


def test_epsilon_refused_before_spending(tmp_path):
    project = open_project(tmp_path, {"age": AGE, "sex": SEX}, ["5,F"])
    seq = project.ledger.state.seq
    for epsilon in ("0", "-1", "1/1000000000000", "1001"):
        with pytest.raises(UsageError, match="epsilon"):
            fit(project, epsilon=epsilon)
    assert project.ledger.state.seq == seq


def test_constraints_make_another_fit(tmp_path):
    """Another constraint is another fit; the same one, written otherwise, is the same."""
    project = open_project(tmp_path, CLINIC, clinic_lines(300))
    one = fit(project, constraints={"zeros": [{"age": "0 to 15", "marital": ["married", "divorced"]}]})
    same = fit(project, constraints={"zeros": [{"AGE": {"from": 0, "to": 15}, "marital": ["divorced", "married"]}]})
    other = fit(project, constraints={"zeros": [{"age": "0 to 14", "marital": ["married", "divorced"]}]})
    assert one.card.release == same.card.release != other.card.release
    assert np.allclose(one.calibrated.project([0]), same.calibrated.project([0]))
