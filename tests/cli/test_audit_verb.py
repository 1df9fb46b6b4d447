"""`discreet audit`."""

import json
from fractions import Fraction

import pytest

from discreet.cli.main import call
from discreet.mechanisms.laplace import DiscreteLaplace


def say(capsys, *words):
    code = call(["audit", *words])
    told = capsys.readouterr()
    return code, told.out, told.err


SURE = ("--confidence", "0.9999999", "--quick")


def test_one_mechanism(capsys, tmp_path):
    picture = tmp_path / "audit.svg"
    code, told, _ = say(capsys, "laplace", *SURE, "--plot", str(picture), "--project", str(tmp_path))
    assert code == 0 and "laplace: one cell" in told and "stands" in told and "0 do not hold" in told
    assert picture.read_text().startswith("<svg")


def test_as_json(capsys):
    code, told, _ = say(capsys, "laplace: one cell", *SURE, "--json", "--samples", "2000")
    data = json.loads(told)
    (line,) = data["details"]["targets"]
    assert code == 0 and data["attack"] == "audit" and data["success"] == 0 and data["n"] == 1
    assert line["verdict"] == "stands" and line["claimed"] == {"epsilon": 1.0, "delta": 0.0} and line["n"] == 4000
    assert 0.2 < line["lower_bound"] <= 1


def test_a_broken_one_is_exit_code_1(capsys, monkeypatch):
    known = DiscreteLaplace.draw
    thin = DiscreteLaplace(scale=Fraction(1, 3))
    monkeypatch.setattr(DiscreteLaplace, "draw", lambda self, size, *, bits: known(thin, size, bits=bits))
    code, told, _ = say(capsys, "laplace: one cell", *SURE, "--json")
    data = json.loads(told)
    assert code == 1 and data["details"]["caught"] == ["laplace: one cell"] and data["success"] == 1
    code, told, _ = say(capsys, "laplace: one cell", *SURE)
    assert code == 1 and "caught: epsilon is larger" in told


def test_what_cannot_be_measured_is_exit_code_1(capsys, monkeypatch):
    def draw(self, size, *, bits):
        raise ValueError("out of order")

    monkeypatch.setattr(DiscreteLaplace, "draw", draw)
    names = "laplace: one cell", "laplace: its law", *SURE
    code, told, _ = say(capsys, *names, "--json")
    data = json.loads(told)
    assert code == 1 and data["details"]["unmeasured"] == ["laplace: one cell"] and not data["details"]["caught"]
    assert [each["verdict"] for each in data["details"]["targets"]] == ["unmeasured", "stands"]
    code, told, _ = say(capsys, *names)
    assert code == 1 and "could not be measured" in told and "out of order" in told and "0 do not hold" in told


def test_the_list(capsys):
    code, told, _ = say(capsys, "--list", "--json")
    kinds = {each["kind"] for each in json.loads(told)["targets"]}
    assert code == 0 and kinds == {"mechanisms", "sql", "local", "synth"}
    assert "synth mst: rows" in say(capsys, "--list")[1]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("nothing",), "no audit target"),
        (("--samples", "1"), "samples"),
        (("--confidence", "2"), "confidence"),
        (("--confidence", "0.9999999999999999"), "confidence"),
        (("--confidence", "nan"), "confidence"),
    ],
)
def test_wrong_usage(capsys, words, told):
    code, _, error = say(capsys, *words)
    assert code == 2 and told in error
