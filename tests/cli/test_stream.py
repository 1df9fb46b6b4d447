"""`discreet stream`, by the function that its verbs call: what people and programs read."""

from __future__ import annotations

import csv
import json

import pytest
from pyarrow import parquet

import discreet
from clinic import run, say
from discreet.cli import stream as cli
from discreet.cli.row_file import row_files
from discreet.errors import UsageError
from discreet.tables.stream import project_streams
from tables.stream.visits import grow, make

MANY = {f"p{number}": 1 + number % 4 for number in range(40)}
TERMS = {"epsilon": "2", "delta": "1e-6", "horizon": "30", "contributions": "2"}


@pytest.fixture
def project(tmp_path):
    return make(tmp_path, MANY)


def said(capsys, project, *words, **more):
    capsys.readouterr()
    cli.run_stream(project, "visits", "daily", *words, **more)
    return capsys.readouterr().out


def data(capsys, project, **more):
    return json.loads(said(capsys, project, as_json=True, **more))


def test_from_the_plan_to_the_third_day(project, capsys, tmp_path):
    planned = data(capsys, project, plan=True, **TERMS)
    assert planned["cost"]["epsilon"] is None and 0.08 < planned["cost"]["rho"] < 0.09
    assert planned["guarantee"].startswith("epsilon 2, delta 1e-06 (rho 0.08")
    assert not project.ledger.refresh().charges
    begun = data(capsys, project, **TERMS)
    assert begun["expected_rmse"] == planned["expected_rmse"]
    assert (begun["steps"], begun["rows"], begun["horizon"]) == (0, [], 30)
    first = data(capsys, project, step=True, label="2026-03-01")
    assert [row["label"] for row in first["rows"]] == ["2026-03-01"]
    again = data(capsys, project, step=True, label="2026-03-01")
    assert again["rows"] == first["rows"]
    assert "taken before" in again["warnings"][0]
    grow(project, {**MANY, "new": 1})
    (limit,) = data(capsys, project, step=True)["warnings"]
    assert limit.startswith("each person is counted at most 2 times in total")
    assert planned["warnings"] == [limit]
    third = data(capsys, project, step=True, label="2026-03-03")
    assert "no step was taken, because step 2 already counted version 2, the newest one" in third["warnings"][0]
    assert third["steps"] == 2
    third = data(capsys, project, step=True, force=True)
    assert "step 2 already counted version 2" in third["warnings"][0] and third["steps"] == 3
    shown = data(capsys, project, between=[("2026-03-01", "2"), ("", ""), ("3", "3")])
    assert shown["rows"][:1] == first["rows"]
    low, high, value, interval = shown["intervals"][1]
    assert (low, high, value) == ("", "", pytest.approx(shown["rows"][-1]["total"]))
    assert interval[0] < value < interval[1]
    assert shown["intervals"][2][2] == pytest.approx(shown["rows"][2]["count"])


def test_for_people(project, capsys):
    assert "at most 2 times in total" in said(capsys, project, plan=True, **TERMS)
    text = said(capsys, project, **TERMS)
    assert text.startswith("charged once, for all steps\n") and "then discreet stream next visits daily" in text
    assert " spent of 10" in text and "note: each person is counted at most 2 times in total" in text
    assert "this stream already exists: free" in said(capsys, project, **TERMS)
    text = said(capsys, project, step=True, label="monday", between=[("1", "")])
    assert "1 monday" in text and "±" in text and "steps 1 to now" in text
    assert "1 of 30 steps taken" in text
    cli.run_stream(project, "visits", "pure", epsilon="1", delta="0", horizon="3")
    assert "in all; steps and reading are free" in capsys.readouterr().out
    cli.list_streams(project, "visits")
    assert capsys.readouterr().out == "daily: 1 of 30 steps\npure: 0 of 3 steps\n"
    cli.list_streams(project, "visits", as_json=True)
    assert [each["stream"] for each in json.loads(capsys.readouterr().out)["streams"]] == ["daily", "pure"]


def test_a_file_of_all_rows(project, capsys, tmp_path):
    said(capsys, project, **TERMS)
    said(capsys, project, step=True, label="a", files=row_files(tmp_path / "out.csv", None, project))
    with (tmp_path / "out.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    assert [row["label"] for row in rows] == ["a"]
    assert float(rows[0]["total_low"]) < float(rows[0]["total"]) < float(rows[0]["total_high"])
    (row,) = project_streams.stream(project, "visits", "daily")[0].rows
    assert float(rows[0]["total"]) == pytest.approx(row.total.value, abs=row.total.plus_minus / 100)
    assert all(len(rows[0][name].partition(".")[2]) <= 1 for name in rows[0])  # a half width above 10
    assert row.total.plus_minus > 10
    assert float(rows[0]["total_low"]) <= row.total.interval[0] < row.total.interval[1] <= float(rows[0]["total_high"])
    with pytest.raises(UsageError, match="would be overwritten"):
        row_files(tmp_path / "visits.csv", None, project)
    with pytest.raises(UsageError, match="cannot be written"):
        row_files(tmp_path / "none" / "out.csv", None, project)


def test_the_verbs_are_what_ranges_did_before(project, capsys, tmp_path):
    """Each by its own words and by the old ones: the same stream, the same numbers, and one charge."""
    terms = ("--epsilon", "2", "--delta", "1e-6", "--horizon", "30", "--contributions", "2")
    old = ("ranges", "visits", "--stream", "daily")
    first = run(capsys, tmp_path, "stream", "start", "visits", "daily", *terms, "--plan")
    assert first == run(capsys, tmp_path, *old, *terms, "--plan") and first[0] == 0
    assert run(capsys, tmp_path, "stream", "start", "visits", "daily", *terms)[1]["steps"] == 0
    assert run(capsys, tmp_path, *old, *terms)[1]["steps"] == 0
    taken = run(capsys, tmp_path, "stream", "next", "visits", "daily", "monday")[1]
    assert taken["rows"] == run(capsys, tmp_path, *old, "--next", "monday")[1]["rows"]
    between = ("--between", "monday..", "--confidence", "0.9")
    shown = run(capsys, tmp_path, "stream", "show", "visits", "daily", *between)
    assert shown == run(capsys, tmp_path, *old, *between) and shown[1]["intervals"][0][0] == "monday"
    listed = run(capsys, tmp_path, "stream", "list", "visits")
    assert listed == run(capsys, tmp_path, "ranges", "visits", "--streams")
    assert [each["steps"] for each in listed[1]["streams"]] == [1]
    assert len(discreet.open(tmp_path).ledger.refresh().charges) == 1


def test_the_verbs_write_files(project, capsys, tmp_path):
    assert run(capsys, tmp_path, "stream", "start", "visits", "s", "--epsilon", "2", "--horizon", "3")[0] == 0
    words = ("visits", "s", "a", "-o", str(tmp_path / "out.csv"))
    assert run(capsys, tmp_path, "stream", "next", *words)[0] == 0
    assert run(capsys, tmp_path, "stream", "show", "visits", "s", "-o", str(tmp_path / "out.parquet"))[0] == 0
    with (tmp_path / "out.csv").open() as stream:
        (row,) = csv.DictReader(stream)
    (same,) = parquet.read_table(tmp_path / "out.parquet").to_pylist()
    assert row["label"] == same["label"] == "a" and float(row["total"]) == same["total"]
    code, out, err = say(capsys, tmp_path, "stream", "show", "visits", "s", "-o", "/dev/full", "--format", "csv")
    assert (code, out) == (2, "") and "try: discreet stream show visits s -o FILE" in err


@pytest.mark.thin(4)
@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("stream", "show", "visits", "a b"), "a name such as"),
        (("stream", "next", "visits", "s", "7"), "a label such as 2026-03-01"),
        (("stream", "show", "visits", "s", "--between", "1..2"), "discreet stream next visits s"),
        (("stream", "show", "visits", "s", "--between", "1"), "--between 30..45"),
        (("stream", "start", "visits", "s", "--epsilon", "1"), "discreet stream start --help"),
        (("ranges", "visits", "ward", "--next"), "discreet stream start"),
        (("ranges", "visits", "--stream", "s", "ward"), "discreet stream next visits s LABEL"),
    ],
)
def test_every_hint_is_a_command_that_there_is(project, capsys, tmp_path, words, hint):
    code, _, err = say(capsys, tmp_path, "stream", "show", "visits", "s")
    assert code == 2 and "try: start it: discreet stream start visits s --epsilon 1 --horizon 365" in err
    assert run(capsys, tmp_path, "stream", "start", "visits", "s", "--epsilon", "2", "--horizon", "3")[0] == 0
    code, _, err = say(capsys, tmp_path, *words)
    assert code == 2 and hint in err.partition("try: ")[2]


def test_where_analysts_have_quotas(project, capsys, tmp_path):
    file = tmp_path / "discreet.toml"
    file.write_text(file.read_text() + "\n[analysts.ana]\nepsilon = 5\n")
    project = discreet.open(tmp_path)
    said(capsys, project, **TERMS, analyst="ana")
    with pytest.raises(UsageError, match="no analyst was named"):
        said(capsys, project, step=True)
    assert "1 of 30 steps taken" in said(capsys, project, step=True, analyst="ana")


def test_one_is_said_as_one(tmp_path, capsys):
    project = make(tmp_path, {"a": 1}, budget="{ epsilon = 3 }")
    more = {"epsilon": "1", "horizon": "1", "contributions": "1"}
    text = said(capsys, project, plan=True, **more)
    assert "for 1 step\n" in text and "at most once in total" in text


def test_wrong_usage(project, capsys):
    with pytest.raises(UsageError, match="no stream"):
        said(capsys, project)
    with pytest.raises(UsageError, match="only be the label"):
        said(capsys, project, label="ward")
    with pytest.raises(UsageError, match="needs an epsilon"):
        said(capsys, project, horizon="3")
    with pytest.raises(UsageError, match="epsilon"):
        said(capsys, project, plan=True, horizon="3")
    with pytest.raises(UsageError, match="horizon"):
        said(capsys, project, epsilon="1")
    assert not project.ledger.refresh().charges


@pytest.mark.deep
def test_many_steps_are_cut_on_a_screen(tmp_path, capsys):
    project = make(tmp_path, {"a": 1}, budget="{ epsilon = 3 }")
    said(capsys, project, epsilon="1", horizon="70")
    stream = project_streams.stream(project, "visits", "daily")[0]
    for _ in range(63):
        stream.next()
    text = said(capsys, project)
    assert "3 earlier steps" in text
    assert len(data(capsys, project)["rows"]) == 63
    assert discreet.open(tmp_path).verify().sound
