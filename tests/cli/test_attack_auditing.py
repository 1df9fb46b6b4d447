"""`discreet attack auditing`."""

import pytest

from clinic import run, say
from tiers import size


@pytest.mark.deep
def test_it_runs_on_generated_secrets(tmp_path, capsys, monkeypatch):
    many = size(20, 50)
    monkeypatch.setattr("discreet.lab.query_auditing.auditor_attack.SIZES", size((6, 8), (8, 12)))
    plot = tmp_path / "picture.svg"
    words = ("attack", "auditing", "--n", str(many), "--queries", "80", "--plot", str(plot))
    code, told, _ = run(capsys, tmp_path, *words)
    assert code == 0 and told["success"] > 0.95 and told["details"]["sums"]["verdicts"].count("answer") == many - 1
    assert plot.read_text().startswith("<svg")


def test_it_runs_on_a_users_questions(tmp_path, capsys):
    file = tmp_path / "questions.txt"
    file.write_text("anna, ben = 1\nanna, ben, carla = 2\n")
    code, told, _ = run(capsys, tmp_path, "attack", "auditing", str(file))
    assert code == 0 and told["details"]["told"] == ["carla"]
    assert [each["verdict"] for each in told["details"]["verdicts"]] == ["answer", "deny"]
    code, out, _ = say(capsys, tmp_path, "attack", "auditing", str(file), "--kind", "boolean")
    assert code == 0 and "1 of 3 people" in out


def test_wrong_usage(tmp_path, capsys):
    file = tmp_path / "questions.txt"
    file.write_text("anna, ben = 1\nanna, ben = 2\n")
    code, _, told = say(capsys, tmp_path, "attack", "auditing", str(file), "--kind", "boolean")
    assert code == 2 and "lines 1, 2 contradict" in told
    for words in (
        ["missing.txt"],
        ["--kind", "sum"],
        ["--n", "0"],
        [str(file), "--n", "3"],
        [str(file), "--kind", "x"],
    ):
        assert run(capsys, tmp_path, "attack", "auditing", *words)[0] == 2
