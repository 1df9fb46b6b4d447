"""`discreet anonymize`, `discreet check` and the attacks on what they make, end to end."""

import csv
import json

import pytest

from clinic import run, say
from discreet.cli.main import call
from lab.anonymity_tables import people

QUASI = "zip,age,sex"


@pytest.fixture
def folder(tmp_path):
    table = people(600, 30, 4)
    with (tmp_path / "people.csv").open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["name", *table.column_names])
        writer.writerows([f"person {place}", *row.values()] for place, row in enumerate(table.to_pylist()))
    return tmp_path


def test_check_has_the_keys_of_the_contract(folder, capsys):
    code, told, _ = run(capsys, folder, "check", str(folder / "people.csv"), "--quasi", QUASI, "--sensitive", "illness")
    assert code == 0
    assert {"k", "l", "t", "classes", "rows", "unique_share", "homogeneous_share"} <= set(told)
    assert (told["k"], told["rows"]) == (1, 600)
    assert told["witness"]["k"]["rows"] == 1


def test_check_writes_the_risk_of_every_row(folder, capsys):
    target = folder / "risk.csv"
    code, out, _ = say(capsys, folder, "check", str(folder / "people.csv"), "--quasi", QUASI, "-o", str(target))
    assert code == 0 and "k = 1" in out
    rows = list(csv.DictReader(target.read_text().splitlines()))
    assert len(rows) == 600 and set(rows[0]) == {"row", "class_size", "reidentification"}


def test_the_notes_patients_from_a_file(tmp_path, capsys):
    rows = ["Harry,Stone,34,Afr-am,flue", "John,Reyser,36,Cauc,mumps", "Beatrice,Stone,47,Afr-am,mumps"]
    file = tmp_path / "patients.csv"
    file.write_text("\n".join(["First,Last,Age,Race,Disease", *rows, "John,Ramos,22,Hisp,allergy"]))
    words = ["anonymize", str(file), "--quasi", "First,Last,Age,Race", "--sensitive", "Disease", "--k", "2"]
    words += ["--method", "suppression", "--keep-order", "-o", str(tmp_path / "out.csv")]
    code, out, _ = say(capsys, tmp_path, *words, "--labels", "round")
    assert code == 0 and "10 of 16 cells, which is proved to be the fewest possible" in out
    assert "in the order of your file" in out and "depend on single rows" in out
    assert (tmp_path / "out.csv").read_text().replace('"', "").splitlines()[1:] == [
        "*,Stone,30-50,Afr-am,flue",
        "John,R*,20-40,*,mumps",
        "*,Stone,30-50,Afr-am,mumps",
        "John,R*,20-40,*,allergy",
    ]
    code, out, _ = say(capsys, tmp_path, *words, "--labels", "tight")
    assert code == 0 and "100% of rows are the only one of their class with a value shown" in out
    code, told, _ = run(capsys, tmp_path, *words)
    assert told["suppression"] == {"stars": 10, "cells": 16, "fewest": 10, "optimal": True, "factor": 1.0}
    assert (told["labels"], told["keeps_order"], told["shown_alone"]) == ("stars", True, None)


@pytest.mark.parametrize("method", ["mondrian", "lattice"])
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_release_checks_as_it_was_told(folder, capsys, method, suffix):
    target = folder / f"out.{suffix}"
    words = ["--quasi", QUASI, "--sensitive", "illness"]
    code, made, _ = run(
        capsys,
        folder,
        "anonymize",
        str(folder / "people.csv"),
        *words,
        "--k",
        "5",
        "--l",
        "2",
        "--method",
        method,
        "-o",
        str(target),
    )
    assert code == 0 and made["columns_left_out"] == ["name", "wage", "weight"]
    code, told, _ = run(capsys, folder, "check", str(target), *words)
    assert told["k"] >= 5 and told["l"] >= 2
    assert {name: told[name] for name in ("k", "l", "classes", "rows")} == {
        name: made[name] for name in ("k", "l", "classes", "rows")
    }
    assert told["t"] == pytest.approx(made["t"])


def test_anonymize_says_what_still_leaks(folder, capsys):
    code, out, _ = say(
        capsys,
        folder,
        "anonymize",
        str(folder / "people.csv"),
        "--quasi",
        QUASI,
        "--sensitive",
        "illness",
        "--k",
        "3",
        "-o",
        str(folder / "out.csv"),
    )
    assert code == 0
    assert "labels show the cut points" in out
    assert "labels show the cut points" in out
    assert "what still leaks" in out and "one sensitive value" in out and "name" in out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--k", "3", "-o", "people.csv"], "would overwrite it"),
        (["--k", "3", "-o", "out.txt"], "neither .csv nor .parquet"),
        (["--k", "3", "-o", "nowhere/out.csv"], "no folder"),
        (["--k", "0", "-o", "out.csv"], "--k"),
        (["--k", "3", "--t", "2", "-o", "out.csv"], "between 0 and 1"),
        (["--k", "3", "--method", "suppression", "--labels", "cuts", "-o", "out.csv"], "no labels 'cuts'"),
        (
            ["--k", "3", "--method", "suppression", "--t", "0.5", "--sensitive", "illness", "-o", "out.csv"],
            "for k alone",
        ),
        (["--k", "3", "--hierarchies", "none.csv", "--method", "lattice", "-o", "out.csv"], "no hierarchy"),
    ],
)
def test_wrong_usage_is_told_before_the_work(folder, capsys, monkeypatch, words, said):
    monkeypatch.chdir(folder)
    code, _, err = say(capsys, folder, "anonymize", "people.csv", "--quasi", QUASI, *words)
    assert code == 2 and said in err
    assert not (folder / "out.csv").exists()


@pytest.mark.parametrize("attack", ["homogeneity", "background", "intersection", "minimality"])
def test_attacks_run_without_arguments_and_draw(tmp_path, capsys, attack):
    code, told, _ = run(capsys, tmp_path, "attack", attack, "--plot", str(tmp_path / "p.svg"))
    assert code == 0 and told["attack"] == attack and told["success"] > told["chance"]
    assert set(told) == {
        "attack",
        "success",
        "chance",
        "bound",
        "breaks",
        "confidence_interval",
        "n",
        "seconds",
        "details",
    }
    assert (tmp_path / "p.svg").read_text().startswith("<svg")


def test_attacks_take_the_users_files(folder, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    about = ["--quasi", QUASI, "--sensitive", "illness"]
    assert call(["anonymize", "people.csv", *about, "--k", "3", "-o", "a.csv"]) == 0
    lattice = ["--method", "lattice", "--suppress", "0"]
    assert call(["anonymize", "people.csv", *about, "--k", "2", *lattice, "-o", "b.csv"]) == 0
    _, one, _ = run(capsys, folder, "attack", "homogeneity", "a.csv", *about)
    _, same, _ = run(capsys, folder, "attack", "homogeneity", "people.csv", *about, "--k", "3")
    assert one["success"] == same["success"] > 0
    _, told, _ = run(capsys, folder, "attack", "background", "a.csv", *about, "--facts", "1")
    assert told["success"] > one["success"]
    code, told, _ = run(capsys, folder, "attack", "intersection", "a.csv", "b.csv", "--people", "people.csv", *about)
    assert code == 0 and told["n"] == 600 and told["success"] > told["chance"] >= one["success"]
    words = ["--quasi", "zip,sex", "--sensitive", "illness", "--protect", "angina", "--l", "2"]
    code, told, _ = run(capsys, folder, "attack", "minimality", "people.csv", *words)
    assert code == 0 and told["bound"] == 0.5


@pytest.mark.parametrize(
    "words",
    [
        ["homogeneity", "people.csv"],
        ["homogeneity", "--k", "3"],
        ["background", "people.csv", "--quasi", "zip"],
        ["background", "--facts", "3"],
        ["intersection", "people.csv"],
        ["intersection", "--quasi", "zip"],
        ["minimality", "people.csv"],
        ["minimality", "--protect", "flu"],
        ["homogeneity", "--plot", "p.png"],
        ["homogeneity", "none.csv", "--quasi", "a", "--sensitive", "b"],
    ],
    ids=" ".join,
)
def test_wrong_usage_of_attacks_exits_2(folder, capsys, monkeypatch, words):
    monkeypatch.chdir(folder)
    assert call(["attack", *words, "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["accepted"] is False
