"""`discreet marginals`, end to end."""

from __future__ import annotations

import csv
import json

import pytest

import discreet
from clinic import run, say

TOML = """
[tables.visits]
source = "visits.csv"
budget = { epsilon = 20, delta = 1e-6 }
[tables.visits.columns.sex]
type = "category"
values = ["F", "M"]
closed = true
[tables.visits.columns.ward]
type = "category"
values = ["cardio", "maternity", "surgery"]
closed = true
[tables.visits.columns.age]
type = "integer"
low = 0
high = 99
bins = 10
"""
WORDS = ("marginals", "visits", "sex", "ward", "age")


@pytest.fixture
def project(tmp_path):
    lines = ["sex,ward,age"]
    lines += [f"{'FM'[n % 2]},{('cardio', 'maternity', 'surgery')[n % 3]},{n % 100}" for n in range(1200)]
    (tmp_path / "visits.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "discreet.toml").write_text(TOML)
    return discreet.init(tmp_path)


@pytest.mark.thin(1)
@pytest.mark.parametrize("delta", [(), ("--delta", "1e-6")])
def test_tables_come_with_intervals_and_agree(project, tmp_path, capsys, delta):
    code, told, _ = run(capsys, tmp_path, *WORDS, "--epsilon", "5", *delta)
    assert code == 0
    assert [each["columns"] for each in told["marginals"]] == [
        ["sex"], ["ward"], ["age"], ["sex", "ward"], ["sex", "age"], ["ward", "age"],
    ]  # fmt: skip
    sex, pair = told["marginals"][0]["rows"], told["marginals"][3]["rows"]
    assert [row[:2] for row in pair[:2]] == [["F", "cardio"], ["F", "maternity"]]
    assert sum(row[2] for row in pair[:3]) == pytest.approx(sex[0][1], abs=1e-9)
    low, high = sex[0][2]
    assert (low + high) / 2 == pytest.approx(sex[0][1]) and abs(sex[0][1] - 600) < 100
    assert told["strategy"].startswith("Gaussian" if delta else "Laplace")
    assert 0 < told["expected_rmse"] < 30
    assert (told["cost"]["epsilon"] is None) == bool(delta)
    spent = project.budget("visits").spent
    code, again, _ = run(capsys, tmp_path, *WORDS, "--epsilon", "5", *delta)
    assert again["cached"] and again["marginals"] == told["marginals"] and project.budget("visits").spent == spent


def test_a_plan_is_free(project, tmp_path, capsys):
    code, told, _ = run(capsys, tmp_path, *WORDS, "--epsilon", "1", "--plan", "--order", "3")
    assert code == 0 and len(told["marginals"]) == 7 and told["cells"] == 2 + 3 + 11 + 6 + 22 + 33 + 66
    code, text, _ = say(capsys, tmp_path, *WORDS, "--epsilon", "1", "--plan")
    assert code == 0 and "charged nothing" in text
    assert project.budget("visits").spent.epsilon == 0


def test_whole_tables_and_files(project, tmp_path, capsys):
    words = (*WORDS, "--epsilon", "1", "--whole", "--csv", str(tmp_path / "out"))
    code, told, _ = run(capsys, tmp_path, *words)
    assert code == 0
    files = sorted((tmp_path / "out").iterdir())
    assert [file.name for file in files][:4] == ["001-sex.csv", "002-ward.csv", "003-age.csv", "004-sex-ward.csv"]
    for file, table in zip(files, told["marginals"], strict=True):
        rows = list(csv.DictReader(file.read_text().splitlines()))
        assert list(rows[0]) == [*table["columns"], "value", "low", "high"]
        values = [int(row["value"]) for row in rows]
        assert min(values) >= 0 and sum(values) == told["total"] and values == [row[-2] for row in table["rows"]]
    code, told, _ = run(capsys, tmp_path, *words)
    assert code == 2 and "not empty" in told["reason"]


def test_files_have_no_digits_that_mean_nothing(project, tmp_path, capsys):
    words = ("marginals", "visits", "sex", "--epsilon", "0.3", "--csv", str(tmp_path / "out"))
    _, told, _ = run(capsys, tmp_path, *words)
    (file,) = (tmp_path / "out").iterdir()
    for row, (_, value, (low, high)) in zip(
        csv.DictReader(file.read_text().splitlines()), told["marginals"][0]["rows"], strict=True
    ):
        assert high - low > 2  # a half width of at least 1: two digits behind the point are enough
        assert all(len(row[name].partition(".")[2]) <= 2 for name in ("value", "low", "high"))
        assert float(row["low"]) <= low < float(row["value"]) < high <= float(row["high"])
        assert float(row["value"]) == pytest.approx(value, abs=(high - low) / 100)


def test_a_folder_in_no_folder_is_refused(project, tmp_path, capsys):
    words = ("marginals", "visits", "sex", "--epsilon", "1", "--csv", str(tmp_path / "none" / "out"))
    code, told, _ = run(capsys, tmp_path, *words)
    assert code == 2 and "no folder 'none'" in told["reason"]
    assert not (tmp_path / "none").exists() and project.budget("visits").spent.epsilon == 0


def test_people_see_tables(project, tmp_path, capsys):
    code, text, _ = say(capsys, tmp_path, "marginals", "visits", "--epsilon", "1", "--order", "2")
    assert code == 0 and "maternity" in text and "±" in text and "Release r-" in text and "more" in text
    code, text, _ = say(capsys, tmp_path, "marginals", "visits", "--epsilon", "1", "--weight", "sex,ward=3")
    assert code == 0 and "age" not in text.partition("Release r-")[0]  # letters of an id may be these
    code, text, _ = say(capsys, tmp_path, "marginals", "visits", "sex", "--epsilon", "2")
    assert "on 1 table:" in text and "spent of 20" in text
    code, text, _ = say(capsys, tmp_path, "marginals", "visits", "sex", "--epsilon", "3", "--plan")
    assert text.startswith("1 table with 2 cells\n")


@pytest.mark.thin(5)
@pytest.mark.parametrize(
    ("words", "told", "exit_code"),
    [
        (("visits", "sex"), "how much", 2),
        (("visits", "sx", "--epsilon", "1"), "sex", 2),
        (("visit", "sex", "--epsilon", "1"), "visits", 2),
        (("visits", "sex", "sex", "--epsilon", "1"), "twice", 2),
        (("visits", "sex", "--order", "2", "--epsilon", "1"), "order", 2),
        (("visits", "sex", "--order", "0", "--epsilon", "1"), "order", 2),
        (("visits", "sex", "--weight", "sex=none", "--epsilon", "1"), "weight", 2),
        (("visits", "sex", "--objective", "best", "--epsilon", "1"), "mean or max", 2),
        (("visits", "sex", "--csv", "visits.csv", "--epsilon", "1"), "cannot be written to", 2),
        (("visits", "sex", "--epsilon", "21"), "remaining", 4),
    ],
)
def test_wrong_usage_says_what_and_costs_nothing(project, tmp_path, capsys, words, told, exit_code, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, data, _ = run(capsys, tmp_path, "marginals", *words)
    assert code == exit_code
    assert told in json.dumps(data)
    assert project.budget("visits").spent.epsilon == 0
