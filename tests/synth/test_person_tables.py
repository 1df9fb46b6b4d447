"""Several tables that share persons: one charge, ids that join, rows that depend on what they refer to."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import discreet
from clinic import run
from discreet.bundle import bundle_files, noise_check
from discreet.bundle.program_replay import ReplayMismatch
from discreet.bundle.verification import verify
from discreet.cli.synth import _fit_output
from discreet.errors import UsageError
from discreet.kernel.version import Version
from discreet.schema.column import TextColumn
from discreet.schema.privacy_unit import PrivacyUnit
from discreet.schema.schema import Schema
from discreet.synth.inspect import inspect_any
from discreet.synth.inspect.model_evidence import NoisyMarginal
from discreet.synth.inspect.person_questions import PersonQuestion
from discreet.synth.inspect.tables_report import _with_rows
from discreet.synth.persons.table_links import link_tables
from discreet.synth.persons.tables_model import PersonTablesModel
from synth.worlds import elsewhere

DECLARED = """
[populations.people]
budget = { epsilon = 200, delta = 1e-6 }
[tables.patients]
source = "patients.csv"
population = "people"
person = "id"
rows_per_person = 1
[tables.patients.columns.sex]
type = "category"
values = ["F", "M"]
closed = true
[tables.patients.columns.note]
type = "text"
[tables.visits]
source = "visits.csv"
population = "people"
person = "id"
rows_per_person = 4
[tables.visits.columns.visit]
type = "integer"
low = 0
high = 9999
[tables.visits.columns.day]
type = "date"
low = 2024-01-01
high = 2025-12-31
[tables.visits.columns.kind]
type = "category"
values = ["a", "b"]
closed = true
[tables.visits.columns.sex]
type = "category"
values = ["F", "M"]
closed = true
[tables.prescriptions]
source = "prescriptions.csv"
population = "people"
person = { through = "visits", on = "visit" }
rows_per_person = 12
[tables.prescriptions.columns.visit]
type = "integer"
low = 0
high = 9999
[tables.prescriptions.columns.drug]
type = "category"
values = ["x", "y", "z"]
closed = true
[tables.prescriptions.columns.begins]
type = "date"
low = 2024-01-01
high = 2026-01-31
[tables.rows]
source = "rows.csv"
budget = { epsilon = 1 }
[tables.rows.columns.kind]
type = "category"
values = ["a", "b"]
"""


def write_world(folder, persons=500):
    """Half of the women never come; `a` follows `a`; a visit `a` has two prescriptions of x or y, `b` one of z or none."""
    chance = np.random.default_rng(3)
    patients, visits, prescriptions = ["id,sex,note"], ["id,visit,day,kind,sex"], ["visit,drug,begins"]
    for person in range(persons):
        sex = "FM"[person % 2]
        patients.append(f"p{person},{sex},something")
        number = 0 if sex == "F" and chance.random() < 0.5 else int(chance.integers(1, 3 if sex == "F" else 5))
        day, kind = int(chance.integers(300)), int(chance.integers(2))
        for turn in range(number):
            if turn:
                day, kind = day + int(chance.integers(1, 60)), kind if chance.random() < 0.9 else 1 - kind
            date = np.datetime64("2024-01-01") + day
            visit = len(visits)
            visits.append(f"p{person},{visit},{date},{'ab'[kind]},{sex}")
            drugs = list(chance.choice(["x", "y"], 2)) if kind == 0 else ["z"][: int(chance.integers(2))]
            prescriptions += [f"{visit},{drug},{date + int(chance.integers(3))}" for drug in drugs]
    (folder / "rows.csv").write_text("kind\na\n")
    for name, lines in (("patients", patients), ("visits", visits), ("prescriptions", prescriptions)):
        (folder / f"{name}.csv").write_text("\n".join(lines) + "\n")
    (folder / "discreet.toml").write_text(DECLARED)
    discreet.init(folder)
    return discreet.open(folder)


TABLES = ["visits", "prescriptions", "patients"]  # in any order


@pytest.fixture(scope="module")
def world():
    with elsewhere() as folder:
        project = write_world(folder)
        model = project.synthesize(TABLES, epsilon=60)
        rows = {name: table.to_pylist() for name, table in model.sample(2000, seed=5).items()}
        state = os.environ["DISCREET_STATE"]
        yield SimpleNamespace(folder=folder, state=state, project=project, model=model, rows=rows)


def test_one_charge_for_all_tables(world):
    assert isinstance(world.model, PersonTablesModel) and world.model.tables == ("patients", "visits", "prescriptions")
    assert 59 < float(world.project.budget("visits").spent.epsilon) <= 60
    again = world.project.synthesize(TABLES, epsilon=60)
    assert again.card.repeat and again.card.release == world.model.card.release
    assert again.sample(50, seed=1) == world.model.sample(50, seed=1)
    assert float(world.project.budget("prescriptions").spent.epsilon) <= 60
    assert abs(world.model.total - 500) < 30


def test_a_number_without_bounds_is_refused_by_name_before_anything_is_paid(tmp_path):
    """It came out as the text of a placeholder."""
    project = write_world(tmp_path, persons=20)
    bounds = "low = 2024-01-01\nhigh = 2025-12-31\n"
    (tmp_path / "discreet.toml").write_text(DECLARED.replace(bounds, "", 1))
    project = discreet.open(tmp_path)
    notes, rows = [], project.ledger.refresh().seq
    with pytest.raises(UsageError, match=r"needs low and high for visits\.day") as refused:
        project.synthesize(TABLES, epsilon=3, announce=notes.append)
    assert "bounds visits" in str(refused.value.hint)
    assert not notes and not project.ledger.refresh().charges and project.ledger.refresh().seq > rows  # versions only


def test_the_bundle_names_every_table(world, tmp_path):
    """For both checkers; a table that the fit did not read, or another version, is a lie that they see."""
    files = bundle_files.make_bundle(world.project, world.model.card.release)
    plan = json.loads(files["plan.json"])
    assert set(plan["schemas"]) == {"patients", "visits", "prescriptions"}
    assert b"synthetic data of patients, visits, prescriptions" in files["plan.json"]
    assert b"prescriptions" in files["card.yaml"] and b"prescriptions" in files["card.html"]
    bundle_files.write(files, tmp_path / "out")
    assert (report := verify(tmp_path / "out")).sound, report
    checker = Path(__file__).parents[2] / "verify" / "check_bundle.py"
    done = subprocess.run([sys.executable, checker, tmp_path / "out"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    for lie in ({"patients": plan["schemas"]["patients"]}, plan["schemas"] | {"others": plan["schemas"]["visits"]}):
        with pytest.raises(ReplayMismatch, match="declares a table"):
            noise_check._check_program(plan | {"schemas": lie})
    other = plan["schemas"] | {"visits": plan["schemas"]["visits"] | {"version": 9}}
    with pytest.raises(ReplayMismatch, match="another version"):
        noise_check._check_program(plan | {"schemas": other})


def test_ids_join_and_columns_are_those_of_the_tables(world):
    patients, visits, prescriptions = (world.rows[name] for name in world.model.tables)
    assert list(patients[0]) == ["id", "sex", "note"] and list(visits[0]) == ["id", "visit", "day", "kind", "sex"]
    assert list(prescriptions[0]) == ["visit", "drug", "begins"]
    assert [row["id"] for row in patients] == list(range(1, 2001))
    assert {row["id"] for row in visits} <= {row["id"] for row in patients}
    assert [row["visit"] for row in visits] == list(range(1, len(visits) + 1))
    assert {row["visit"] for row in prescriptions} <= {row["visit"] for row in visits}
    assert any("patients.note" in warning for warning in world.model.card.warnings)
    assert {row["note"] for row in patients[:3]} == {patients[0]["note"], patients[1]["note"], patients[2]["note"]}


def test_what_is_repeated_from_the_person_is_the_same(world):
    sex = {row["id"]: row["sex"] for row in world.rows["patients"]}
    assert all(row["sex"] == sex[row["id"]] for row in world.rows["visits"])


@pytest.mark.noisy
def test_dates_are_in_order_and_begin_with_the_visit(world):
    last = {}
    for row in world.rows["visits"]:
        if row["day"] is not None:
            assert row["day"] >= last.get(row["id"], row["day"])
            last[row["id"]] = row["day"]
    day = {row["visit"]: row["day"] for row in world.rows["visits"]}
    waits = [
        (row["begins"] - day[row["visit"]]).days
        for row in world.rows["prescriptions"]
        if row["begins"] is not None and day[row["visit"]] is not None
    ]
    assert np.mean([0 <= wait <= 3 for wait in waits]) > 0.9


@pytest.mark.noisy
def test_rows_depend_on_the_person_on_the_row_before_and_on_what_they_refer_to(world):
    sex = {row["id"]: row["sex"] for row in world.rows["patients"]}
    came = {row["id"] for row in world.rows["visits"]}
    women = [id_ for id_, own in sex.items() if own == "F"]
    assert abs(np.mean([id_ in came for id_ in women]) - 0.5) < 0.12
    assert np.mean([id_ in came for id_, own in sex.items() if own == "M"]) > 0.9
    pairs = [
        one["kind"] == two["kind"]
        for one, two in zip(world.rows["visits"], world.rows["visits"][1:], strict=False)
        if one["id"] == two["id"]
    ]
    assert abs(np.mean(pairs) - 0.9) < 0.1
    kind = {row["visit"]: row["kind"] for row in world.rows["visits"]}
    drugs = [(kind[row["visit"]], row["drug"]) for row in world.rows["prescriptions"]]
    assert np.mean([(own == "b") == (drug == "z") for own, drug in drugs]) > 0.9
    a = sum(own == "a" for own in kind.values())
    assert abs(sum(own == "a" for own, _ in drugs) / a - 2) < 0.3


def test_what_is_given_is_kept(world):
    rows = world.model.sample(200, given={"sex": "M"}, seed=1)
    assert set(rows["patients"]["sex"].to_pylist()) == {"M"} == set(rows["visits"]["sex"].to_pylist())


def test_a_saved_model_is_the_same(world, tmp_path):
    for name in ("model.npz", "model.json"):
        world.model.save(tmp_path / name)
        loaded = discreet.load(tmp_path / name)
        assert isinstance(loaded, PersonTablesModel) and loaded.sample(60, seed=2) == world.model.sample(60, seed=2)
    document = json.loads((tmp_path / "model.json").read_text())
    assert document["version"] == 3
    document["linked"][0]["number"] = "sex of nobody"
    (tmp_path / "bad.json").write_text(json.dumps(document))
    with pytest.raises(UsageError, match="tables do not match"):
        discreet.load(tmp_path / "bad.json")
    document["linked"][0]["referring"] = [{}]
    (tmp_path / "bad.json").write_text(json.dumps(document))
    with pytest.raises(UsageError, match="is not a model"):
        discreet.load(tmp_path / "bad.json")


@pytest.mark.noisy
def test_what_a_linked_table_declares_as_constant_is_so_in_every_sample(tmp_path):
    """It is no trait of the main table: sampling ended with a KeyError, and a saved model could not be read."""
    write_world(tmp_path, persons=60)
    constant = 'values = ["a", "b"]\nclosed = true\nconstant = true\n'
    (tmp_path / "discreet.toml").write_text(DECLARED.replace('values = ["a", "b"]\nclosed = true\n', constant, 1))
    model = discreet.open(tmp_path).synthesize(TABLES, epsilon=60)
    sampled = model.sample(300, seed=3)
    kinds = {}
    for row in sampled["visits"].to_pylist():
        kinds.setdefault(row["id"], set()).add(row["kind"])
    assert set().union(*kinds.values()) == {"a", "b"} and all(len(own) == 1 for own in kinds.values())
    assert len(sampled["visits"]) > 2 * len(kinds)
    model.save(tmp_path / "model.json")
    assert discreet.load(tmp_path / "model.json").sample(300, seed=3) == sampled


def test_inspect_judges_questions_about_persons(world):
    report = inspect_any(world.model)
    data = report.to_data()
    json.dumps(data)
    questions = {each["question"]: each for each in data["tables"][0]["person_questions"]}
    came = questions["persons with a row"]
    assert abs(came["share"] - 0.75) < 0.05 and came["verdict"] == "good" and came["plus_minus"] < 0.03
    assert {"persons with at least 3 rows", "the next row within 30 days"} <= set(questions)
    assert "the first row has a row in prescriptions" in questions
    page = report.page()
    assert "Questions about persons, visits" in page and "<svg" in page
    assert any("within 30 days" in line for line in report.lines())


def test_none_and_some_in_one_cell_are_not_called_measured():
    """Nobody is without a row, so that their cell was merged: what it holds is no answer of 0% that is sure."""
    values = NoisyMarginal(values=np.array([90.0]), variances=np.array([4.0]))
    number = SimpleNamespace(size=1, groups=np.array([0, 0, 0]), weights=np.array([0.5, 0.5, 0.0]))
    contents = SimpleNamespace(place=lambda name: 0, attributes=[number])
    evidence = SimpleNamespace(model=contents, noisy_marginal=lambda own: values, total=90.0, total_sd=2.0, widths=1.96)
    linked, sampled = SimpleNamespace(number="rows", name="visits"), SimpleNamespace(traits={"rows": np.array([0, 1])})
    question = _with_rows(linked, evidence, sampled)
    assert (question.share, question.measured, question.plus_minus, question.verdict) == (1.0, None, None, "unknown")
    number.size, number.groups = 2, np.array([0, 0, 1])
    values = NoisyMarginal(values=np.array([90.0, 0.0]), variances=np.array([4.0, 4.0]))
    assert _with_rows(linked, evidence, sampled).measured == 1.0
    values = NoisyMarginal(values=np.array([90.0, 0.0]), variances=np.array([1e6, 1e6]))
    question = _with_rows(linked, evidence, sampled)
    assert (question.plus_minus, question.verdict) == (1.0, "uncertain")


def test_what_was_said_before_paying_is_not_said_again(world):
    made = replace(world.model, card=replace(world.model.card, warnings=("one", "two")))
    data, lines = _fit_output(made, Path("m.npz"), world.project, announced=["one"])
    assert [line for line in lines if line.startswith("note")] == ["note: two"] and data["warnings"] == ["one", "two"]


def test_a_question_is_good_only_within_its_points():
    question = {"table": "t", "question": "q", "of": "persons", "share": 0.5}
    assert PersonQuestion(**question, measured=0.49, plus_minus=0.02).verdict == "good"
    assert PersonQuestion(**question, measured=0.4, plus_minus=0.02).verdict == "poor"
    assert PersonQuestion(**question, measured=0.5, plus_minus=0.05).verdict == "uncertain"
    assert PersonQuestion(**question, measured=0.4, plus_minus=0.09).verdict == "uncertain"
    assert PersonQuestion(**question, measured=None, plus_minus=None).verdict == "unknown"


@pytest.mark.parametrize(
    ("tables", "options", "words"),
    [
        (["visits", "prescriptions"], {}, "one row a person"),
        (["patients", "rows"], {}, "has no person"),
        (["patients", "patients"], {}, "named twice"),
        (["patients", "visits"], {"columns": ["sex"]}, "cannot be given for several tables"),
        (["patients", "visits"], {"model": "aim"}, "not aim"),
        ([], {}, "no table"),
    ],
)
def test_what_does_not_hang_together_is_refused_before_paying(world, tables, options, words):
    before = world.project.budget("patients").spent.epsilon
    with pytest.raises(UsageError, match=words):
        world.project.synthesize(tables, epsilon=1, **options)
    assert world.project.budget("patients").spent.epsilon == before


def test_an_id_of_text_is_refused():
    unit = PrivacyUnit(person=("id",), rows=1)
    schemas = [
        Schema(table="patients", columns=(TextColumn(name="note"),), unit=unit),
        Schema(table="visits", columns=(TextColumn(name="visit"),), unit=PrivacyUnit(person=("id",), rows=3)),
        Schema(
            table="items",
            columns=(TextColumn(name="visit"),),
            unit=PrivacyUnit(through="visits", on=("visit",), rows=9),
        ),
    ]
    versions = [Version(table=each.table, number=1, population="p", schema=each, file="") for each in schemas]
    with pytest.raises(UsageError, match="whole numbers"):
        link_tables(versions)


@pytest.mark.deep
def test_two_tables_are_enough(world):
    model = world.project.synthesize(["patients", "visits"], epsilon=20)
    assert model.tables == ("patients", "visits") and not model.linked[0].referring


def test_command_line(world, capsys, tmp_path, monkeypatch):
    """Fit, sample to a folder, inspect."""
    monkeypatch.setenv("DISCREET_STATE", world.state)
    code, told, _ = run(capsys, world.folder, "synth", "fit", *TABLES, "--epsilon", "60")
    assert code == 0 and told["repeat"] and told["tables"] == list(world.model.tables)
    assert told["persons"] == round(world.model.total)
    folder = tmp_path / "out"
    words = ("synth", "sample", "-o", str(folder))
    code, told, _ = run(capsys, world.folder, *words, "--persons", "30", "--seed", "1")
    assert code == 0 and told["persons"] == 30
    assert [each["table"] for each in told["files"]] == list(world.model.tables)
    with (folder / "visits.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == told["files"][1]["rows"] and {int(row["id"]) for row in rows} <= set(range(1, 31))
    code, told, _ = run(capsys, world.folder, *words)
    assert code == 2 and "exists already" in str(told)
    code, told, _ = run(capsys, world.folder, *words, "--format", "parquet")
    assert code == 0 and (folder / "visits.parquet").exists()
    code, told, _ = run(capsys, world.folder, "synth", "sample")
    assert code == 2 and "need a folder" in str(told)
    code, told, _ = run(capsys, world.folder, "synth", "sample", "-o", str(world.folder), "--overwrite")
    assert code == 2 and "belongs to the project" in str(told)
    page = tmp_path / "page.html"
    code, told, _ = run(capsys, world.folder, "synth", "inspect", "-o", str(page))
    assert code == 0 and told["tables"][0]["person_questions"]
    assert page.read_text().lower().startswith("<!doctype html>")
    code, told, _ = run(capsys, world.folder, "synth", "inspect", "--epsilon", "1")
    assert code == 2 and "cannot be compared" in str(told)
