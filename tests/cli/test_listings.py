"""`discreet tables` and `discreet releases`: public facts, in the order of the ledger."""

import re

import pytest

from clinic import make, run, say
from kernel.test_resumed import killed

COUNT = "select count(*) from patients"


def test_tables_say_whom_they_protect_and_what_is_spent(tmp_path, capsys):
    make(tmp_path)
    assert run(capsys, tmp_path, "query", COUNT, "--epsilon", "0.25")[0] == 0
    code, data, _ = run(capsys, tmp_path, "tables")
    (patients,) = [each for each in data["tables"] if each["table"] == "patients"]
    assert code == 0
    assert (patients["protects"], patients["version"], patients["spent"], patients["limit"]) == (
        "one row",
        1,
        0.25,
        1.0,
    )
    code, text, _ = say(capsys, tmp_path, "tables")
    assert code == 0 and "patients" in text and "0.25" in text


def test_releases_add_up_and_name_who_asked_what(tmp_path, capsys):
    project = make(tmp_path)
    code, text, _ = say(capsys, tmp_path, "releases")
    assert code == 0 and "nothing was released yet" in text
    run(capsys, tmp_path, "query", f"{COUNT} where age > 3", "--epsilon", "0.25", "--analyst", "ann")
    run(capsys, tmp_path, "query", f"{COUNT} where age > 3", "--epsilon", "0.25")  # stored: nothing new
    run(capsys, tmp_path, "histogram", "patients", "disease", "--epsilon", "0.5")
    code, data, _ = run(capsys, tmp_path, "releases", "patients")
    first, second = data["releases"]
    assert (first["question"], first["analyst"], first["cost"]) == (f"{COUNT} where age > 3", "ann", 0.25)
    assert second["cost"] == 0.5 and second["time"].endswith("Z") and len(second["time"]) == 17
    spent = float(project.budget("patients").spent.epsilon)
    assert sum(each["cost"] for each in data["releases"]) == pytest.approx(spent, abs=1e-8)
    _, text, _ = say(capsys, tmp_path, "releases")
    assert text.index(first["release"]) < text.index(second["release"])
    assert run(capsys, tmp_path, "releases", "nothing")[0] == 2


def test_a_charge_that_was_killed_says_how_to_finish_it(tmp_path, capsys):
    project = make(tmp_path)
    project.version("patients")
    with killed():
        project.sql(COUNT).ask(epsilon="0.5")
    (release,) = project.ledger.refresh().charges
    _, data, _ = run(capsys, tmp_path, "releases")
    assert data["releases"][0]["question"] == "no answer is stored yet; the same command finishes it, free"
    _, text, _ = say(capsys, tmp_path, "releases")
    assert f"note: {release}: charged, but no answer is stored" in " ".join(text.split())
    code, text, _ = say(capsys, tmp_path, "query", COUNT, "--epsilon", "0.5")
    assert code == 0 and "cost epsilon 0;" in text
    assert "note:" not in say(capsys, tmp_path, "releases")[1]


def test_a_charge_that_was_stopped_is_not_said_to_be_free(tmp_path, capsys, monkeypatch):
    make(tmp_path)

    def stopped(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("discreet.kernel.curator.Curator.draw", stopped)
        assert say(capsys, tmp_path, "query", COUNT, "--epsilon", "0.25")[0] == 130
    text = say(capsys, tmp_path, "releases")[1]
    assert "no answer yet" in text and not re.search(r"\bfree\b", text)
    assert "cost epsilon 0.25;" in say(capsys, tmp_path, "query", COUNT, "--epsilon", "0.25")[1]


def test_the_ledger_shows_what_each_charge_cost_as_releases_do(tmp_path, capsys):
    make(tmp_path)
    first = run(capsys, tmp_path, "query", COUNT, "--epsilon", "0.25")[1]["release"]
    assert run(capsys, tmp_path, "again", first, "--epsilon", "0.125")[0] == 0
    listed = [row.split() for row in say(capsys, tmp_path, "ledger", "show")[1].splitlines()]
    assert [row[3] for row in listed if row[2:3] == ["charge"]] == ["0.25", "0.125"]
    code, _, text = say(capsys, tmp_path, "again", "r-nope", "--epsilon", "0.1")
    assert code == 2 and "try: discreet releases lists them" in text


def test_one_number_has_the_same_digits_everywhere(tmp_path, capsys):
    make(tmp_path)
    ask = (f"{COUNT} where age > 3", "--epsilon", "0.1234564")
    explained = say(capsys, tmp_path, "explain", *ask)[1]
    answered = say(capsys, tmp_path, "query", *ask)[1]
    listed, budget = (say(capsys, tmp_path, verb)[1] for verb in ("tables", "budget"))
    assert "costs     epsilon 0.123457; afterwards 0.123457 is spent and 0.876543 remains" in explained
    assert "cost epsilon 0.123457; epsilon 0.123457 spent of 1, 0.876543 remaining" in answered
    assert "0.123457" in listed and "epsilon 0.123457 spent" in budget


@pytest.mark.parametrize("spent", ["0", "0.75"])
def test_what_takes_no_width_offers_an_epsilon_that_fits(tmp_path, capsys, spent):
    make(tmp_path, budget="{ epsilon = 1, delta = 1e-6 }")
    if spent != "0":
        assert run(capsys, tmp_path, "query", COUNT, "--epsilon", spent)[0] == 0
    words = ("query", "select note, count(*) from patients group by note")  # its keys are discovered
    code, _, text = say(capsys, tmp_path, *words, "--within", "0.5")
    assert code == 2
    epsilon = re.search(r"try: --epsilon (\S+);", text)[1]
    assert epsilon == ("0.5" if spent == "0" else "0.25")
    assert run(capsys, tmp_path, *words, "--epsilon", epsilon)[0] == 0


def test_two_persons_at_once_are_pointed_to_one(tmp_path, capsys):
    make(tmp_path, extra='person = "note"', columns="")
    code, data, _ = run(capsys, tmp_path, "forget", "patients", "n", "m", "--yes")
    assert code == 2 and "of one person at a time" in data["reason"]
    assert data["hint"] == "discreet forget patients n"
