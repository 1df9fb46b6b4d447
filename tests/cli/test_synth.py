"""`discreet synth`, end to end."""

from __future__ import annotations

import csv
import json
import random

import pytest

import discreet
from clinic import run, say

TOML = """
[tables.visits]
source = "visits.csv"
budget = { epsilon = 20, delta = 1e-8 }
[tables.visits.columns.sex]
type = "category"
values = ["F", "M"]
closed = true
[tables.visits.columns.ward]
type = "category"
values = ["cardio", "maternity", "surgery"]
[tables.visits.columns.age]
type = "integer"
low = 0
high = 99
bins = 10
[tables.visits.columns.note]
type = "text"
"""


@pytest.fixture
def project(tmp_path):
    generator = random.Random(1)
    lines = ["sex,ward,age,note"]
    for number in range(2000):
        sex = generator.choice("FM")
        ward = generator.choice(["cardio", "surgery", "maternity"] if sex == "F" else ["cardio", "surgery", ""])
        lines.append(f"{sex},{ward},{generator.randrange(100)},patient number {number}")
    (tmp_path / "visits.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "discreet.toml").write_text(TOML)
    return discreet.init(tmp_path)


def test_a_model_that_is_mostly_noise_says_so(project, tmp_path, capsys):
    """Whatever the table has, at this epsilon the model only shows noise."""
    words = ("synth", "fit", "visits", "--epsilon", "0.001", "--columns", "sex,ward", "--model", "independent")
    code, data, _ = run(capsys, tmp_path, *words)
    assert code == 0 and any("this model is mostly noise" in warning for warning in data["warnings"])
    status = run(capsys, tmp_path, "budget")[1]["tables"]["visits"]
    assert (data["spent"], data["remaining"]) == (status["spent"], status["remaining"])
    words = ("synth", "fit", "visits", "--epsilon", "5", "--columns", "sex,ward", "--model", "independent")
    assert not any("mostly noise" in warning for warning in run(capsys, tmp_path, *words)[1]["warnings"])


def test_fit_and_sample_are_all_that_most_owners_type(project, tmp_path, capsys):
    code, told, _ = run(capsys, tmp_path, "synth", "fit", "visits", "--epsilon", "2")
    assert code == 0
    assert told["kind"] == "aim"
    assert abs(told["rows"] - 2000) < 500  # noisy: sd below 20
    assert sum(told["shares"].values()) == pytest.approx(1)
    spent = project.budget("visits").spent
    assert 0 < spent.epsilon <= 2
    target = tmp_path / "out.csv"
    code, told, _ = run(capsys, tmp_path, "synth", "sample", "-n", "3000", "-o", str(target))
    assert code == 0 and told["rows"] == 3000
    rows = list(csv.DictReader(target.read_text().splitlines()))
    assert list(rows[0]) == ["sex", "ward", "age", "note"]  # as declared
    assert len(rows) == 3000
    assert {row["sex"] for row in rows} == {"F", "M"}
    assert {row["ward"] for row in rows} <= {"cardio", "maternity", "surgery", ""}
    assert all(0 <= int(row["age"]) <= 99 for row in rows if row["age"])
    assert not any("patient number" in row["note"] for row in rows)
    men = [row["ward"] for row in rows if row["sex"] == "M"]
    women = [row["ward"] for row in rows if row["sex"] == "F"]
    assert men.count("maternity") / len(men) < 0.15 < women.count("maternity") / len(women)
    assert project.budget("visits").spent == spent  # sampling is free


def test_the_same_fit_again_is_free_and_fresh_is_not(project, tmp_path, capsys):
    words = ("synth", "fit", "visits", "--epsilon", "1", "--model", "mst")
    _, first, _ = run(capsys, tmp_path, *words)
    spent = project.budget("visits").spent.epsilon
    _, second, _ = run(capsys, tmp_path, *words)
    assert second["release"] == first["release"]
    assert project.budget("visits").spent.epsilon == spent
    _, third, _ = run(capsys, tmp_path, *words, "--fresh")
    assert third["release"] != first["release"]
    assert project.budget("visits").spent.epsilon > spent


def test_random_costs_nothing(project, tmp_path, capsys):
    code, told, _ = run(capsys, tmp_path, "synth", "fit", "visits", "--model", "random")
    assert code == 0 and told["cost"]["epsilon"] is None
    assert project.budget("visits").spent.epsilon == 0
    code, text, _ = say(capsys, tmp_path, "synth", "sample", "-n", "5")
    assert code == 0 and len(text.splitlines()) == 6


@pytest.mark.deep
def test_given_seed_and_formats(project, tmp_path, capsys):
    model = tmp_path / "model.json"
    run(capsys, tmp_path, "synth", "fit", "visits", "--epsilon", "1", "--model", "mst", "-o", str(model))
    told = []
    for name in ("a.csv", "b.csv"):
        words = ("synth", "sample", str(model), "-n", "500", "--given", "sex=F", "--given", "ward=", "--seed", "7")
        assert run(capsys, tmp_path, *words, "-o", str(tmp_path / name))[0] == 0
        told.append((tmp_path / name).read_text())
    assert told[0] == told[1]
    rows = list(csv.DictReader(told[0].splitlines()))
    assert {row["sex"] for row in rows} == {"F"} and {row["ward"] for row in rows} == {""}
    assert run(capsys, tmp_path, "synth", "sample", str(model), "-o", str(tmp_path / "rows.parquet"))[0] == 0
    import pyarrow.parquet as pq

    assert pq.read_table(tmp_path / "rows.parquet").column_names == ["sex", "ward", "age", "note"]
    assert discreet.load(model).project(["sex"]).labels == (("F", "M"),)


@pytest.mark.thin(7)
@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("synth", "fit", "visits"), "epsilon"),
        (("synth", "fit", "visits", "--epsilon", "0"), "epsilon"),
        (("synth", "fit", "visits", "--epsilon", "nan"), "epsilon"),
        (("synth", "fit", "visits", "--epsilon", "1", "--model", "mts"), "mst"),
        (("synth", "fit", "visit", "--epsilon", "1"), "visits"),
        (("synth", "fit", "visits", "--epsilon", "1", "--columns", "sx"), "sex"),
        (("synth", "fit", "visits", "--epsilon", "1", "--degree", "1.5"), "degree"),
        (("synth", "fit", "visits", "--epsilon", "1", "-o", "no/such/folder/m.json"), "folder"),
        (("synth", "fit", "visits", "--epsilon", "1", "-o", "/proc/m.json"), "cannot be written"),
        (("synth", "fit", "visits", "--epsilon", "1", "--columns", "sex,ward,Sex"), "twice"),
        (("synth", "fit", "visits", "--epsilon", "1", "--model", "mst", "--degree", "2"), "privbayes"),
        (("synth", "sample", "-n", "5"), "fit"),
        (("synth", "sample", "nothing.json"), "nothing.json"),
    ],
)
def test_wrong_usage_says_what_and_costs_nothing(project, tmp_path, capsys, words, told):
    code, data, _ = run(capsys, tmp_path, *words)
    assert code == 2
    assert told in json.dumps(data)
    assert project.budget("visits").spent.epsilon == 0


def test_more_than_the_budget_is_refused(project, tmp_path, capsys):
    code, data, _ = run(capsys, tmp_path, "synth", "fit", "visits", "--epsilon", "21")
    assert code == 4 and "needed" in data
    assert project.budget("visits").spent.epsilon == 0


def test_inspect_is_free_and_a_comparison_is_charged(project, tmp_path, capsys):
    run(capsys, tmp_path, "synth", "fit", "visits", "--epsilon", "1", "--model", "mst")
    spent = project.budget("visits").spent.epsilon
    page = tmp_path / "page.html"
    code, told, _ = run(capsys, tmp_path, "synth", "inspect", "--html", str(page))
    assert code == 0 and told and page.read_text().lstrip().lower().startswith("<!doctype html>")
    assert project.budget("visits").spent.epsilon == spent
    assert run(capsys, tmp_path, "synth", "inspect", "--epsilon", "1")[0] == 0
    assert project.budget("visits").spent.epsilon > spent


def test_two_models_are_inspected_together_and_drawn(project, tmp_path, capsys):
    models = [tmp_path / "one.npz", tmp_path / "two.npz"]
    for degree, model in enumerate(models, start=1):
        words = ("--epsilon", "1", "--model", "privbayes", "--degree", str(degree), "-o", str(model))
        assert run(capsys, tmp_path, "synth", "fit", "visits", *words)[0] == 0
    spent = project.budget("visits").spent.epsilon
    page, graph = tmp_path / "page.html", tmp_path / "net.svg"
    both = [str(model) for model in models]
    code, told, _ = run(capsys, tmp_path, "synth", "inspect", *both, "-o", str(page), "--graph", str(graph))
    assert code == 0 and [each["name"] for each in told["models"]] == ["one.npz", "two.npz"]
    assert "Two models of visits" in page.read_text() and graph.read_text().startswith("<svg ")
    assert project.budget("visits").spent.epsilon == spent
    code, told, _ = run(capsys, tmp_path, "synth", "inspect", both[0], "--graph", str(tmp_path / "alone.svg"))
    assert code == 0 and told["graph"]["arrows"] and (tmp_path / "alone.svg").exists()
    for wrong, reason in (
        ((*both, both[0]), "at most two models"),
        ((both[0], "--graph", both[0]), "overwrite the model"),
        ((*both, "--graph", both[1], "--overwrite"), "overwrite the model"),
        ((both[0], "--graph", str(graph)), "exists"),
        ((both[0], "--graph", "x.svg", "-o", "x.svg"), "need two files"),
        ((both[0], "--graph", str(tmp_path / "discreet.toml"), "--overwrite"), "discreet.toml"),
    ):
        code, told, _ = run(capsys, tmp_path, "synth", "inspect", *wrong)
        assert code == 2 and reason in json.dumps(told), wrong
    assert run(capsys, tmp_path, "synth", "inspect", *both, "--epsilon", "0.5")[0] == 0
    assert project.budget("visits").spent.epsilon > spent


@pytest.mark.deep
def test_what_a_fit_and_a_sample_tell(project, tmp_path, capsys):
    words = ("synth", "fit", "visits", "--epsilon", "1", "--model", "mst")
    _, told, _ = run(capsys, tmp_path, *words)
    assert not told["repeat"]
    assert any("note contains only placeholders" in warning for warning in told["warnings"])
    _, told, _ = run(capsys, tmp_path, *words)
    assert told["repeat"]
    code, text, _ = say(capsys, tmp_path, *words)
    assert code == 0 and "free now" in text
    code, told, _ = run(capsys, tmp_path, "synth", "sample", "-n", "3")
    assert code == 0 and told["columns"] == ["sex", "ward", "age", "note"] and len(told["rows"]) == 3
    run(capsys, tmp_path, "synth", "fit", "visits", "--model", "random")
    code, _, errors = say(capsys, tmp_path, "synth", "sample", "-n", "1")
    assert code == 0 and "says nothing about the data" in errors


@pytest.mark.deep
def test_what_an_expert_names_is_measured(project, tmp_path, capsys):
    words = ("synth", "fit", "visits", "--epsilon", "1", "--model", "mst")
    code, _, _ = run(capsys, tmp_path, *words, "--marginal", "sex, age", "-o", str(tmp_path / "m.json"))
    assert code == 0
    model = discreet.load(tmp_path / "m.json")
    wanted = {model.place("sex"), model.place("age")}
    assert any(wanted <= set(each.attributes) for each in model.measured)
    assert run(capsys, tmp_path, *words, "--marginal", "sex,agee")[0] == 2
    assert run(capsys, tmp_path, *words, "--weight", "sex,age")[0] == 2
    aim = ("synth", "fit", "visits", "--epsilon", "1", "--model", "aim")
    assert run(capsys, tmp_path, *aim, "--weight", "sex,age=5")[0] == 0


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--seed", "-1"), "seed"),
        (("--given", "sex=F", "--given", "SEX=M"), "twice"),
        (("-o", "/proc/x.csv"), "cannot be written"),
    ],
)
def test_a_sample_that_cannot_be_is_one_sentence(project, tmp_path, capsys, words, told):
    run(capsys, tmp_path, "synth", "fit", "visits", "--model", "random")
    code, data, _ = run(capsys, tmp_path, "synth", "sample", "-n", "5", *words)
    assert code == 2
    assert told in json.dumps(data)


def test_an_option_of_another_name_is_told_the_nearest(project):
    with pytest.raises(discreet.UsageError) as refused:
        project.synthesize("visits", epsilon=1, marginal=[("sex", "ward")])
    assert "marginals" in refused.value.hint
    model = project.synthesize("visits", epsilon=1, columns="sex")
    assert [column.name for column in model.columns] == ["sex"]


def test_what_is_public_is_known_exactly(project, tmp_path, capsys):
    facts = {"totals": [{"column": "sex", "counts": {"F": 1000, "M": 1000}}], "rows": 2000}
    facts["dependencies"] = [{"from": "sex", "to": "ward", "map": {"F": "maternity", "M": "surgery"}}]
    model = project.synthesize("visits", epsilon="0.05", columns=["sex", "ward", "age"], constraints=facts)
    from discreet.synth.inspect.model_evidence import ModelEvidence

    evidence = ModelEvidence(model)
    for names in (["sex"], ["ward"], ["sex", "ward"]):
        own = tuple(model.place(name) for name in names)
        bounds = evidence.bounds(own)
        assert (bounds.low == bounds.high).all() and bounds.model.sum() == pytest.approx(2000), names
    assert evidence.total_bounds().low == evidence.total_bounds().high
    age = evidence.bounds((model.place("age"),))
    assert (age.low < age.high).any()
    partial = {**facts, "dependencies": [{"from": "sex", "to": "ward", "map": {"F": "maternity"}}]}
    model = project.synthesize("visits", epsilon="0.05", columns=["sex", "ward", "age"], constraints=partial)
    assert not ModelEvidence(model).public((model.place("ward"),))


PERSONS = """
[tables.visits]
source = "visits.csv"
budget = { epsilon = 90, delta = 1e-6 }
person = "patient"
rows_per_person = 4
[tables.visits.columns.sex]
type = "category"
values = ["F", "M"]
constant = true
[tables.visits.columns.ward]
type = "category"
values = ["cardio", "surgery"]
"""


def test_persons_with_their_rows(tmp_path, capsys):
    """A table of persons gives persons, as a file with their numbers; --rows-only gives rows, as before."""
    lines = [f"p{n},{'FM'[n % 2]},{'cardio' if (n + turn) % 3 else 'surgery'}" for n in range(200) for turn in range(n % 4 + 1)]  # fmt: skip
    (tmp_path / "visits.csv").write_text("\n".join(["patient,sex,ward", *lines]) + "\n")
    (tmp_path / "discreet.toml").write_text(PERSONS)
    discreet.init(tmp_path)
    code, data, _ = run(capsys, tmp_path, "synth", "fit", "visits", "--epsilon", "20", "--constant", "sex")
    assert code == 0 and data["kind"] == "persons" and data["constant"] == ["sex"]
    assert abs(data["persons"] - 200) < 30 and abs(data["rows"] - 500) < 100
    file = tmp_path / "persons.csv"
    code, data, _ = run(capsys, tmp_path, "synth", "sample", "--persons", "40", "--seed", "1", "-o", str(file))
    with file.open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert (
        code == 0 and data["rows"] == len(rows) and {row["patient"] for row in rows} == {str(n) for n in range(1, 41)}
    )
    assert len({(row["patient"], row["sex"]) for row in rows}) == 40
    code, _, err = say(capsys, tmp_path, "synth", "sample", "-n", "5")
    assert code == 2 and "whole persons" in err and "--persons" in err
    code, data, _ = run(capsys, tmp_path, "synth", "fit", "visits", "--epsilon", "5", "--rows-only", "--model", "mst")
    assert code == 0 and data["kind"] == "mst" and "persons" not in data
    code, _, err = say(capsys, tmp_path, "synth", "sample", "--persons", "5")
    assert code == 2 and "model of rows" in err
