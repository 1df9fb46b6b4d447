"""Slips that cannot be undone: asked about, refused before anything is charged, or told how to go on."""

import shutil
import sys

import pytest

from clinic import COLUMNS, make, rows_of_ledger, run, say
from discreet.cli import confirmation, flags

COUNT = "select count(*) from patients"
PERSONS = COLUMNS.partition("[tables.patients.columns.note]")[0]


@pytest.fixture
def at_a_terminal(monkeypatch):
    """A person at a terminal who gives one answer; what they were asked is kept."""
    questions = []

    def sit_down(answer):
        monkeypatch.setattr(sys, "stdin", type("Terminal", (), {"isatty": staticmethod(lambda: True)})())
        monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
        monkeypatch.setattr(confirmation.typer, "confirm", lambda text, err: questions.append(text) or answer)
        return questions

    return sit_down


@pytest.mark.parametrize(("epsilon", "code"), [("1.5", 0), ("2", 0), ("9", 0), ("300", 2)])
def test_a_script_grants_ordinary_amounts_and_not_hundreds(tmp_path, capsys, epsilon, code):
    make(tmp_path)
    before = rows_of_ledger(tmp_path)
    assert run(capsys, tmp_path, "budget", "grant", "patients", "--epsilon", epsilon)[0] == code
    if code:
        assert rows_of_ledger(tmp_path) == before
        assert (
            "try: add --yes to confirm" in say(capsys, tmp_path, "budget", "grant", "patients", "--epsilon", epsilon)[2]
        )
        assert run(capsys, tmp_path, "budget", "grant", "patients", "--epsilon", epsilon, "--yes")[0] == 0


def test_a_person_is_asked_before_a_large_grant_and_before_erasing(tmp_path, capsys, at_a_terminal):
    make(tmp_path, extra='person = "note"', columns=PERSONS).refresh("patients")
    questions = at_a_terminal(False)
    assert run(capsys, tmp_path, "budget", "grant", "patients", "--epsilon", "1.5")[0] == 0 and not questions
    assert run(capsys, tmp_path, "budget", "grant", "patients", "--epsilon", "4")[0] == 2
    assert "from epsilon 1.5 to 4; once an answer is released, a limit can only be raised" in questions[0]
    assert run(capsys, tmp_path, "budget")[1]["tables"]["patients"]["limit"]["epsilon"] == 1.5
    assert run(capsys, tmp_path, "forget", "patients", "n")[0] == 2 and "for good" in questions[1]
    at_a_terminal(True)
    assert run(capsys, tmp_path, "budget", "grant", "patients", "--epsilon", "4")[0] == 0


def test_a_script_erases_nobody_without_yes(tmp_path, capsys):
    make(tmp_path, extra='person = "note"', columns=PERSONS).refresh("patients")
    before = rows_of_ledger(tmp_path)
    code, _, text = say(capsys, tmp_path, "forget", "patients", "n")
    assert code == 2 and "Nothing was changed" in text and "try: add --yes to confirm" in text
    assert rows_of_ledger(tmp_path) == before
    assert run(capsys, tmp_path, "forget", "patients", "n", "--yes")[0] == 0


def test_what_is_refused_in_any_case_is_refused_before_yes_is_offered(tmp_path, capsys):
    make(tmp_path)
    for words, why in (
        (("remove", "nosuch"), "there is no"),
        (("budget", "grant", "patients", "--epsilon", "1e9"), "at most 1000000"),
        (("forget", "patients", "7"), "protects rows, not persons"),
    ):
        code, _, text = say(capsys, tmp_path, *words)
        assert code == 2 and why in text and "--yes" not in text, text
    assert run(capsys, tmp_path, "query", COUNT, "--epsilon", "0.1")[0] == 0
    code, _, text = say(capsys, tmp_path, "remove", "patients")
    assert code == 2 and "cannot be removed" in text and "--yes" not in text


def test_a_file_that_exists_is_kept_and_nothing_is_charged(tmp_path, capsys):
    make(tmp_path)
    target = tmp_path / "out.csv"
    target.write_text("mine")
    before = rows_of_ledger(tmp_path)
    words = ("query", COUNT, "--epsilon", "0.1", "-o", str(target))
    code, _, text = say(capsys, tmp_path, *words)
    assert code == 2 and "exists already" in text and "add --overwrite" in text
    assert target.read_text() == "mine" and rows_of_ledger(tmp_path) == before
    assert run(capsys, tmp_path, *words, "--overwrite")[0] == 0 and target.read_text() != "mine"
    target.write_text("")  # as tempfile makes it
    assert run(capsys, tmp_path, *words)[0] == 0


def test_every_verb_that_writes_rows_can_overwrite(tmp_path, capsys):
    make(tmp_path)
    target = tmp_path / "out.csv"
    assert run(capsys, tmp_path, "query", COUNT, "--epsilon", "0.1")[0] == 0
    target.write_text("mine")
    for words in (
        ("ranges", "patients", "age", "--epsilon", "0.1", "--between", "3..9"),
        ("histogram", "patients", "sex", "--epsilon", "0.1"),
        ("reconcile",),
    ):
        assert run(capsys, tmp_path, *words, "-o", str(target))[0] == 2, words
        assert target.read_text() == "mine"
        assert run(capsys, tmp_path, *words, "-o", str(target), "--overwrite")[0] == 0, words
        target.write_text("mine")


def test_a_name_and_a_format_that_contradict_are_refused(tmp_path, capsys):
    make(tmp_path)
    words = ("query", COUNT, "--epsilon", "0.1", "-o", str(tmp_path / "x.parquet"), "--format", "csv")
    code, _, text = say(capsys, tmp_path, *words)
    assert code == 2 and "'x.parquet' is named .parquet, but the format is csv" in text


def test_a_deleted_project_file_is_explained(tmp_path, capsys):
    make(tmp_path)
    assert run(capsys, tmp_path, "query", COUNT, "--epsilon", "0.4")[0] == 0
    text = (tmp_path / "discreet.toml").read_text()
    (tmp_path / "discreet.toml").unlink()
    for words in (("budget",), ("query", COUNT, "--epsilon", "1"), ("init",)):
        code, _, error = say(capsys, tmp_path, *words)
        assert code == 2 and "there is a ledger in" in error and "but no discreet.toml" in error, words
        assert "discreet add FILE --name TABLE" in error
    # What it says works.
    (tmp_path / "discreet.toml").write_text('[project]\nledger = "sqlite:///.discreet/ledger.db"\n')
    words = ("add", str(tmp_path / "patients.csv"), "--name", "patients")
    code, out, _ = say(capsys, tmp_path, *words)
    assert code == 0 and "also write it to discreet.toml:  budget = { epsilon = 1, delta = 0 }" in out
    (table,) = run(capsys, tmp_path, "tables")[1]["tables"]
    assert (table["spent"], table["limit"]) == (0.4, 1)
    assert run(capsys, tmp_path, "budget")[1]["tables"]["patients"]["spent"]["epsilon"] == 0.4
    assert "[tables.patients]" in text


def test_a_table_without_a_budget_is_named(tmp_path, capsys):
    make(tmp_path)
    assert run(capsys, tmp_path, "init", "--practice")[0] == 2
    file = tmp_path / "discreet.toml"
    file.write_text(file.read_text().replace("budget = { epsilon = 1.0 }", ""))
    code, out, _ = say(capsys, tmp_path, "budget")
    assert code == 0 and "patients: no budget yet; add budget = {" in out and "no private table" not in out


def test_a_deleted_project_file_of_a_practice_project_needs_a_line_more(tmp_path, capsys):

    assert run(capsys, tmp_path, "init", "--practice", "--epsilon", "1")[0] == 0
    file = tmp_path / "discreet.toml"
    file.unlink()
    _, _, error = say(capsys, tmp_path, "budget")
    lines = 'the lines [project], ledger = "sqlite:///.discreet/ledger.db" and practice = true'
    assert lines in error
    file.write_text('[project]\nledger = "sqlite:///.discreet/ledger.db"\n')
    _, _, error = say(capsys, tmp_path, "init", "--practice", "--again")
    assert "was made for practice" in error and "write practice = true below [project]" in error
    file.write_text('[project]\nledger = "sqlite:///.discreet/ledger.db"\npractice = true\n')
    assert run(capsys, tmp_path, "init", "--practice", "--again")[0] == 0


def test_starting_again_where_there_is_nothing_offers_a_practice_project(tmp_path, capsys):
    for words in (("init", "--again"), ("init", "--practice", "--again")):
        code, _, error = say(capsys, tmp_path, *words)
        assert code == 2 and "nothing to start again" in error and "try: discreet init --practice\n" in error
    make(tmp_path)
    code, _, error = say(capsys, tmp_path, "init", "--again")
    assert code == 2 and "this is a real project" in error, "and no --practice --again is offered"


def test_a_budget_that_was_edited_too_late_is_said_by_refresh(tmp_path, capsys):
    make(tmp_path, budget="{ epsilon = 15 }")
    assert run(capsys, tmp_path, "query", COUNT, "--epsilon", "0.4")[0] == 0
    file = tmp_path / "discreet.toml"
    file.write_text(file.read_text().replace("epsilon = 15", "epsilon = 1.5"))
    code, out, err = say(capsys, tmp_path, "refresh", "patients")
    assert code == 0 and "its declaration is the same" not in out
    assert "the limit of 'patients' is the one in the ledger: epsilon 15 (discreet.toml says 1.5)" in err


def test_a_state_folder_that_is_not_one_is_named(tmp_path, capsys, monkeypatch):
    make(tmp_path / "project")
    backup = tmp_path / "backup.db"
    assert run(capsys, tmp_path / "project", "ledger", "backup", "-o", str(backup))[0] == 0
    monkeypatch.setenv("DISCREET_STATE", str(tmp_path / "elsewhere"))
    for named, wrong in (("nowhere", "is not a folder"), ("project", "is not the state folder of this ledger")):
        for words in (("adopt",), ("restore", str(backup))):
            words = ("ledger", *words, "--state", str(tmp_path / named))
            code, _, error = say(capsys, tmp_path / "project", *words)
            assert code == 5 and f"{named}' {wrong}" in error and "~/.local/state/discreet" in error, error
    assert not list((tmp_path / "project" / ".discreet").glob("ledger.db.*")), "nothing was set aside"


def test_two_copies_of_a_project_are_told_to_become_one(tmp_path, capsys):
    make(tmp_path / "one")
    shutil.copytree(tmp_path / "one", tmp_path / "two")
    assert run(capsys, tmp_path / "two", "query", COUNT, "--epsilon", "0.1")[0] == 0
    code, _, error = say(capsys, tmp_path / "one", "query", COUNT, "--epsilon", "0.1")
    assert code == 5 and "discreet ledger acknowledge" in error and "keep only one of the two" in error


def test_a_first_answer_says_what_it_settles(tmp_path, capsys):
    make(tmp_path)
    words = "note: this made version 1 of 'patients' from its source; from now on its limit, epsilon 1, can only be"
    assert words in say(capsys, tmp_path, "query", COUNT, "--epsilon", "0.1")[2]
    assert words not in say(capsys, tmp_path, "query", COUNT, "--epsilon", "0.2")[2]


def test_a_first_answer_after_refresh_settles_nothing_unseen(tmp_path, capsys):
    make(tmp_path).refresh("patients")
    assert "version 1" not in say(capsys, tmp_path, "query", COUNT, "--epsilon", "0.1")[2]


def test_small_slips_of_words(tmp_path, capsys):
    make(tmp_path)
    assert "ledger OK: 1 entry verified" in say(capsys, tmp_path, "ledger", "verify")[1]
    target = tmp_path / "out.csv"
    assert f"wrote 1 row to {target}" in say(capsys, tmp_path, "query", COUNT, "--epsilon", "0.1", "-o", str(target))[1]
    _, _, text = say(
        capsys, tmp_path, "histogram", "patients", "sex", "--epsilon", "0.1", "-o", str(tmp_path / "h.csv")
    )
    assert not text
    file = tmp_path / "discreet.toml"
    declared = file.read_text()
    file.write_text(declared.replace("low = 0", "").replace("high = 99", ""))
    assert run(capsys, tmp_path, "refresh", "patients")[0] == 0
    _, _, text = say(capsys, tmp_path, "ranges", "patients", "age", "--epsilon", "0.1", "--between", "3..9")
    assert "discreet bounds patients age --epsilon 0.1" in text
    file.write_text(declared + "\n[oops")
    _, _, text = say(capsys, tmp_path, "budget")
    assert "is not valid TOML" in text and "try: correct that line" in text


def test_a_header_from_windows_names_the_encoding(tmp_path, capsys):
    make(tmp_path)
    (tmp_path / "orte.csv").write_bytes("Größe,Ort\n1,Köln\n".encode("cp1252"))
    code, _, text = say(capsys, tmp_path, "add", str(tmp_path / "orte.csv"), "--epsilon", "1")
    assert code == 0 and 'encoding = "cp1252"' in text
    file = tmp_path / "discreet.toml"
    file.write_text(file.read_text().replace('encoding = "cp1252"\n', ""))
    code, _, text = say(capsys, tmp_path, "refresh", "orte")
    assert code == 2 and 'often Windows-1252 (or Latin-1): --encoding cp1252, or encoding = "cp1252"' in " ".join(
        text.split()
    )


def test_planted_bugs_are_caught(tmp_path, capsys, monkeypatch):
    """A check that looks after the charge, or not at all, loses the file."""
    make(tmp_path)
    target = tmp_path / "out.csv"
    target.write_text("mine")
    monkeypatch.setattr("discreet.cli.row_file.refuse_overwriting", lambda path, overwrite: None)
    assert run(capsys, tmp_path, "query", COUNT, "--epsilon", "0.1", "-o", str(target))[0] == 0
    assert target.read_text() != "mine" and flags.refuse_overwriting is not None
