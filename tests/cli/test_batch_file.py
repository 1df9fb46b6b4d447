"""`explain -f` and `query -f`: the errors of a batch before it is paid, one price, and titles."""

import pytest

from clinic import make, run, say
from discreet.answers.workload import batch_quote

BATCH = """
-- Everybody
select count(*) as n from patients;
-- weight: 4
select count(*) as n from patients where age < 30;
select count(*) as n from patients where age < 60;
select disease, count(*) as n from patients group by disease
"""


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.setattr(batch_quote, "_SECONDS", 0.05)
    make(tmp_path)
    path = tmp_path / "batch.sql"
    path.write_text(BATCH)
    return str(path)


def test_what_is_explained_is_charged_once(file, tmp_path, capsys):
    code, explained, _ = run(capsys, tmp_path, "explain", "-f", file, "--epsilon", "0.5")
    assert code == 0 and explained["together"] and explained["cost"]["epsilon"] == 0.5
    assert [each["weight"] for each in explained["statements"]] == [1, 4, 1, 1]
    assert all(each["plus_minus"] < each["apart"] for each in explained["statements"][1:])
    code, answered, _ = run(capsys, tmp_path, "query", "-f", file, "--epsilon", "0.5")
    assert code == 0 and len({each["release"] for each in answered["answers"]}) == 1
    assert answered["statements"] == answered["answers"] and answered["together"]
    assert answered["cost"]["epsilon"] == answered["spent"]["epsilon"] == explained["spent"]["epsilon"] == 0.5
    assert sum(each["cost"]["epsilon"] for each in answered["answers"]) == 0.5
    assert answered["strategy"] == explained["strategy"]


def test_people_read_titles_and_one_price(file, tmp_path, capsys):
    _, text, _ = say(capsys, tmp_path, "explain", "-f", file, "--epsilon", "0.5")
    assert "1. Everybody: within" in text and "asked apart" in text and "weight 4" in text
    _, text, _ = say(capsys, tmp_path, "query", "-f", file, "--epsilon", "0.5")
    assert "1. Everybody" in text and text.count("cost epsilon 0.5 in total") == text.count("Release r-") == 1


@pytest.mark.parametrize("weight", ["1,2", "x", "1,1,1,-1"])
def test_wrong_weights_are_refused_before_anything_is_charged(file, tmp_path, capsys, weight):
    code, _, _ = say(capsys, tmp_path, "query", "-f", file, "--epsilon", "0.5", "--weight", weight)
    assert code == 2
    _, budget, _ = run(capsys, tmp_path, "budget")
    assert all(table["spent"]["epsilon"] == 0 for table in budget["tables"].values())


def test_a_weight_is_for_a_file(tmp_path, capsys):
    make(tmp_path)
    for verb in ("query", "explain"):
        code, _, _ = say(capsys, tmp_path, verb, "select count(*) from patients", "--epsilon", "1", "--weight", "2")
        assert code == 2


def test_a_batch_that_is_split_says_why_and_prints_its_total(tmp_path, capsys):
    make(tmp_path)
    file = tmp_path / "apart.sql"
    file.write_text("/* Mean */ select avg(age) as a from patients;\n-- weight: 3\nselect median(age) from patients")
    _, explained, _ = run(capsys, tmp_path, "explain", "-f", str(file), "--epsilon", "0.5")
    assert not explained["together"] and "weights have no effect" in explained["because"]
    _, text, _ = say(capsys, tmp_path, "query", "-f", str(file), "--epsilon", "0.5", "--best")
    assert text.startswith("1. Mean\n") and "All 2 statements: cost epsilon 0.5 in total." in text
    assert "best: whole numbers" not in text and "there are no others" in text
    _, answered, _ = run(capsys, tmp_path, "query", "-f", str(file), "--epsilon", "0.5")
    assert [each["title"] for each in answered["answers"]] == ["Mean", "select median(age) from patients"]
    _, text, _ = say(capsys, tmp_path, "explain", "-f", str(file), "--epsilon", "0.5")
    assert "measures  nothing: earlier releases answer every statement" in text


def test_a_message_about_weights_names_as_many_as_there_are_statements(file, tmp_path, capsys):
    _, _, error = say(capsys, tmp_path, "explain", "-f", file, "--epsilon", "0.5", "--weight", "2")
    assert "4 statements, but 1 weight was given" in error and "--weight 1,1,1,1" in error
