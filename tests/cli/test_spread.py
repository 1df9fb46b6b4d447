"""`discreet graph synth` and `discreet graph spread` at the command line: files, words, JSON, refusals."""

import csv
import json
import math

import pytest

from discreet.cli.main import call
from graph.friends import NODES, make


@pytest.fixture
def folder(tmp_path, monkeypatch):
    make(tmp_path / "p")
    monkeypatch.chdir(tmp_path / "p")
    return tmp_path


def said(capsys, *words, code=0):
    assert call(["graph", *words]) == code, capsys.readouterr()
    found = capsys.readouterr()
    return found.out if code == 0 else found.out + found.err


def data(capsys, *words, code=0):
    return json.loads(said(capsys, *words, "--json", code=code))


def test_from_edges_to_a_rumour(folder, capsys):
    words = ("synth", "friends", "--epsilon", "30", "--nodes", "people", "--by", "colour")
    files = ("-o", str(folder / "edges.csv"), "--model", str(folder / "model.json"))
    found = data(capsys, *words, *files, "--seed", "1")
    assert found["nodes"] == len(NODES) and found["blocks"] == 2 and found["by"] == "colour"
    assert found["cost"]["epsilon"] == 30 and not found["cached"] and found["unit"] == "edge"
    with (folder / "edges.csv").open() as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["from", "to", "from_colour", "to_colour"] and len(rows) - 1 == found["rows"]
    told = data(capsys, "spread", str(folder / "model.json"), "--seeds", "3", "--rate", "0.3", "--seed", "1")
    low, high = told["interval"]  # without an end where noise may part the network
    assert told["release"] == found["release"] and told["time"] > 0 and low <= (math.inf if high is None else high)
    assert told["confidence"] == 0.904 and "with 90.4% confidence" in told["sentence"]
    assert told == data(capsys, "spread", found["release"], "--seeds", "3", "--rate", "0.3", "--seed", "1")
    parquet = ("-o", str(folder / "edges.parquet"))
    again = data(capsys, *words, *parquet)
    assert again["cached"] and again["release"] == found["release"] and (folder / "edges.parquet").exists()


def test_words_for_people(folder, capsys):
    text = said(capsys, "synth", "friends", "--epsilon", "30", "-o", str(folder / "edges.csv"))
    assert "model of about" in text and "synthetic edges" in text and "cost epsilon 30" in text
    release = next(word for word in text.split() if word.startswith("r-")).rstrip(",")
    assert f"next: discreet graph spread {release}" in text
    told = said(capsys, "spread", release, "--seeds", "3", "--runs", "4")
    assert "step  share of nodes that know" in told and "A rumour reaches 50% of" in told and "Free." in told
    assert "stored model: free" in said(capsys, "synth", "friends", "--epsilon", "30")
    never = said(capsys, "spread", release, "--rate", "0", "--runs", "2", "--seeds", "1")
    assert "at rate 0 no edge passes it on" in never


@pytest.mark.thin(6)
@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("synth", "friends"), "say how much to spend"),
        (("synth", "friends", "--epsilon", "1", "-o", "edges.txt"), "'edges.txt' is neither .csv nor .parquet"),
        (("synth", "friends", "--epsilon", "1", "-o", "friends.csv"), "belongs to the project"),
        (("synth", "friends", "--epsilon", "1", "-o", "no/where.csv"), "there is no folder"),
        (("synth", "friends", "--epsilon", "1", "--model", "discreet.toml"), "belongs to the project"),
        (("synth", "friends", "--epsilon", "1", "-o", "../x.csv", "--model", "../x.csv"), "need different files"),
        (("synth", "friends", "--epsilon", "1", "--by", "colour"), "--nodes"),
        (("synth", "friends", "--epsilon", "1", "--seed", "-1"), "the seed must be a whole number"),
        (("synth", "nobody", "--epsilon", "1"), "nobody"),
        (("spread", "nothing.json"), "there is no file"),
        (("spread", "r-nothing"), "no release 'r-nothing'"),
        (("spread", "friends.csv"), "friends.csv"),
        (("spread", "discreet.toml", "--seeds", "0"), "discreet.toml"),
    ],
)
def test_nonsense_costs_nothing(folder, capsys, words, told):
    assert told in said(capsys, *words, code=2)
    assert json.loads(said(capsys, *words, "--json", code=2))["accepted"] is False
    assert call(["ledger", "show", "--json"]) == 0
    assert "charge" not in {entry["kind"] for entry in json.loads(capsys.readouterr().out)["entries"]}


def test_a_file_that_is_no_model_is_not_lost(folder, capsys):
    mine = folder / "mine.json"
    mine.write_text("[]")
    text = said(capsys, "synth", "friends", "--epsilon", "1", "--model", str(mine), code=2)
    assert "measured, charged and stored as release" in text and mine.read_text() == "[]"
    assert "stored model: free" in said(capsys, "synth", "friends", "--epsilon", "1")


def test_a_hostile_file_commands_no_terminal(folder, capsys):
    path = folder / "model.json"
    said(capsys, "synth", "friends", "--epsilon", "30", "--model", str(path))
    whole = json.loads(path.read_text())
    for name, text in (("warnings", ["\x1b]0;owned\x07\x1b[2J hello"]), ("table", "a\x9b31m"), ("release", "r\u202e")):
        path.write_text(json.dumps(whole | {"card": whole["card"] | {name: text}}))
        told = said(capsys, "spread", str(path), "--runs", "2", code=2)
        assert "a text value contains control characters" in told and not set("\x1b\x07\x9b\u202e") & set(told)
    path.write_text(json.dumps(whole | {"card": whole["card"] | {"warnings": ["see [/b] [red]"]}}))
    assert "note: see [/b] [red]" in said(capsys, "spread", str(path), "--runs", "2")


def test_a_model_of_nobody_is_told(folder, capsys):
    path = folder / "model.json"
    said(capsys, "synth", "friends", "--epsilon", "30", "--model", str(path))
    whole = json.loads(path.read_text())
    for part in ("degrees", "edges"):
        whole["noisy"][part]["values"] = [0] * len(whole["noisy"][part]["values"])
    path.write_text(json.dumps(whole))
    told = said(capsys, "spread", str(path), "--seeds", "1", code=2)
    assert "the model has no nodes" in told and "fewer" not in told
