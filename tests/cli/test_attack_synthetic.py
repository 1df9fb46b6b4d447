"""`discreet attack synthetic` on files."""

import json

import pytest
from pyarrow import csv, parquet

from clinic import run, say
from discreet.lab.worlds.town import town

EVIDENCE = {"attack", "success", "chance", "bound", "breaks", "confidence_interval", "n", "seconds", "details"}


@pytest.fixture
def files(tmp_path):
    everybody = town(300)
    csv.write_csv(everybody.slice(0, 150), tmp_path / "original.csv")
    parquet.write_table(everybody.slice(0, 150), tmp_path / "synthetic.parquet")
    csv.write_csv(everybody.slice(150), tmp_path / "control.csv")
    return tmp_path


def test_files_are_attacked_and_drawn(files, capsys):
    words = ["original.csv", "synthetic.parquet", "--control", "control.csv", "--secret", "illness"]
    paths = [str(files / word) if "." in word else word for word in words]
    drawn = files / "picture.svg"
    code, told, _ = run(capsys, files, "attack", "synthetic", *paths, "--known", "age,income", "--plot", str(drawn))
    assert code == 0
    assert set(told) == EVIDENCE
    assert told["attack"] == "synthetic" and told["success"] > 0.9
    assert "membership inference" in told["details"]["leaks"]
    assert list(told["details"]["attacks"]["attribute inference"]["details"]["by_column"]) == ["illness"]
    assert drawn.read_text().startswith("<svg")


def test_a_claim_is_judged(files, capsys):
    tables = [str(files / name) for name in ("original.csv", "synthetic.parquet")]
    control = ("--control", str(files / "control.csv"))
    code, told, _ = run(capsys, files, "attack", "synthetic", *tables, *control, "--epsilon", "1", "--delta", "1e-6")
    assert code == 0
    assert told["bound"] == pytest.approx(0.731, abs=0.001)
    assert told["confidence_interval"][0] > told["bound"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["original.csv"], "name the synthetic table"),
        (["--secret", "age"], "name the original"),
        (["original.csv", "missing.csv"], "no file"),
        (["original.csv", "synthetic.parquet", "--secret", "nobody"], "do not share a column"),
        (["original.csv", "synthetic.parquet", "--delta", "1e-6"], "needs --epsilon"),
        (["original.csv", "synthetic.parquet", "--epsilon", "-1"], "epsilon"),
        (["original.csv", "synthetic.parquet", "--plot", "picture.png"], "not an .svg"),
    ],
)
def test_wrong_words_are_told(files, capsys, words, said):
    paths = [str(files / word) if word.endswith((".csv", ".parquet")) else word for word in words]
    code, told, _ = run(capsys, files, "attack", "synthetic", *paths)
    assert code == 2
    assert said in json.dumps(told)


def test_a_control_that_is_the_original_is_refused(files, capsys):
    tables = [str(files / name) for name in ("original.csv", "synthetic.parquet")]
    backwards = csv.read_csv(files / "original.csv").take(list(range(149, -1, -1)))
    csv.write_csv(backwards, files / "same.csv")
    code, told, _ = run(capsys, files, "attack", "synthetic", *tables, "--control", str(files / "same.csv"))
    assert code == 2 and "same rows as the original" in json.dumps(told)


def test_a_control_that_overlaps_is_told_and_so_is_what_was_compared(files, capsys):
    tables = [str(files / name) for name in ("original.csv", "synthetic.parquet")]
    csv.write_csv(town(300).slice(75, 150), files / "half.csv")
    code, out, _ = say(capsys, files, "attack", "synthetic", *tables, "--control", str(files / "half.csv"))
    assert code == 0 and "If these are the same people, the control is not valid" in out
    assert "Compared on: " in out and "age" in out
    code, out, _ = say(capsys, files, "attack", "synthetic", *tables)
    assert "These attacks could not run on these tables: membership inference" in out
