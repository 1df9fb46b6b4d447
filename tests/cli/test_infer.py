"""`discreet infer` from the command line: files in, tables and rows out, nothing charged and no project needed."""

from __future__ import annotations

import csv
import json

import pytest

from discreet.cli.main import call

TABLES = """\
noise = "gaussian"

[[tables]]
columns = ["sex", "work"]
standard_error = 20
cells = [["M", "N", 120.5], ["M", "Y", 260], ["F", "N", 300], ["F", "Y", -21]]

[[tables]]
columns = ["work", "school"]
file = "work.csv"
value = "count"
standard_error = "error"
"""
WORK = 'work,school,count,error\nN,N,290,20\nN,Y,150,20\nY,N,"240",20\nY,Y,-4,25\n'


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "tables.toml").write_text(TABLES)
    (tmp_path / "work.csv").write_text(WORK)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_tables_are_shown_and_agree(folder, capsys):
    assert call(["infer", "tables.toml"]) == 0
    shown = capsys.readouterr().out
    assert "consistent" in shown
    assert "Nothing was charged." in shown
    assert call(["infer", "tables.toml", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    left, right = (table["cells"] for table in told["tables"])
    at_work = [
        sum(each["count"] for each in cells if "Y" in each["values"][place]) for cells, place in ((left, 1), (right, 0))
    ]
    assert at_work[0] == pytest.approx(at_work[1], abs=1e-3)
    assert right[3]["noisy_error"] == 25
    assert not (folder / "discreet.toml").exists()


def test_rows_and_tables_are_written(folder, capsys):
    assert call(["infer", "tables.toml", "--rows", "50", "-o", "rows.csv", "--seed", "1"]) == 0
    rows = list(csv.DictReader((folder / "rows.csv").read_text().splitlines()))
    assert len(rows) == 50
    assert set(rows[0]) == {"sex", "work", "school"}
    assert call(["infer", "tables.toml", "-o", "cells.csv"]) == 0
    cells = list(csv.DictReader((folder / "cells.csv").read_text().splitlines()))
    assert len(cells) == 8
    assert cells[0]["cell"] == "sex=M;work=N"
    assert call(["infer", "tables.toml", "--rows", "3", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out.splitlines()[-1])["rows"]) == 3


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["infer", "none.toml"], "there is no file"),
        (["infer", "tables.toml", "--rows", "5"], "--rows needs a file to write"),
        (["infer", "tables.toml", "--seed", "5"], "--seed is a whole number"),
        (["infer", "tables.toml", "--rows", "-1", "-o", "rows.csv"], "cannot have -1 rows"),
        (["infer", "tables.toml", "-o", "tables.toml", "--format", "csv"], "is the input file"),
        (["infer", "work.csv"], "is not valid TOML"),
    ],
)
def test_slips(folder, capsys, words, reason):
    assert call(words) == 2
    assert reason in capsys.readouterr().err


def test_a_file_that_is_not_as_said(folder, capsys):
    for text, reason in (
        (WORK.replace("count", "n"), "must have one column 'count'"),
        (WORK + "Y,Y\n", "line 6 has 2 cells"),
        (WORK.replace("240", "many"), "line 4 must be a plain finite number"),
    ):
        (folder / "work.csv").write_text(text)
        assert call(["infer", "tables.toml"]) == 2
        assert reason in capsys.readouterr().err
