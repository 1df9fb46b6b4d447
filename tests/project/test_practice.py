"""A practice project says so everywhere, may be started again, and never becomes a real one; a real one is kept."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import discreet
from clinic import COLUMNS, ROWS, run, say, write_rows
from discreet.bundle import bundle_files as bundles
from discreet.bundle import guarantee_check
from discreet.bundle.verification import verify
from discreet.console.responses import Page
from discreet.errors import LedgerFault, ProjectError, UsageError
from discreet.ledger import repair
from discreet.ledger.ledger import Ledger

COUNT = "SELECT count(*) AS n FROM patients"
CHECKER = Path(__file__).parents[2] / "verify" / "check_bundle.py"
MARK = "practice = true"


def declare(folder, *, practice=True):
    discreet.init(folder, epsilon=1, practice=practice)
    write_rows(folder / "patients.csv", ROWS)
    path = folder / "discreet.toml"
    path.write_text(path.read_text() + f'\n[tables.patients]\nsource = "patients.csv"\n{COLUMNS}')
    return discreet.open(folder)


def edit(folder, old, new):
    path = folder / "discreet.toml"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))


def test_every_answer_says_so_also_a_stored_one(tmp_path, capsys):
    declare(tmp_path)
    for cached in (False, True):
        code, data, _ = run(capsys, tmp_path, "query", COUNT, "--epsilon", "0.5")
        assert code == 0 and data["cached"] is cached and data["practice"] is True
        assert any("practice project" in warning for warning in data["warnings"])
    assert "note: this is a practice project" in say(capsys, tmp_path, "query", COUNT, "--epsilon", "0.5")[1]
    assert "practice project" in say(capsys, tmp_path, "budget")[1]
    for words in (["tables"], ["budget"], ["histogram", "patients", "disease", "--epsilon", "0.1"]):
        assert run(capsys, tmp_path, *words)[1]["practice"] is True


def test_a_real_project_says_nothing_of_it(tmp_path, capsys):
    declare(tmp_path, practice=False)
    _, data, _ = run(capsys, tmp_path, "query", COUNT, "--epsilon", "0.5")
    assert "practice" not in data and not any("practice" in warning for warning in data["warnings"])


def test_it_starts_again_as_often_as_it_likes(tmp_path, capsys):
    declare(tmp_path)
    declared = (tmp_path / "discreet.toml").read_text()
    for _ in range(2):
        assert run(capsys, tmp_path, "query", COUNT, "--epsilon", "1")[0] == 0
        assert run(capsys, tmp_path, "query", f"{COUNT} WHERE age > 3", "--epsilon", "1")[0] == 4
        assert run(capsys, tmp_path, "init", "--practice", "--again")[1]["made"] == ["ledger"]
        assert not list((tmp_path / ".discreet" / "tables").glob("*"))
    assert (tmp_path / "discreet.toml").read_text() == declared and (tmp_path / "patients.csv").exists()
    assert run(capsys, tmp_path, "init", "--again")[0] == 2


def test_a_real_one_never_does(tmp_path, capsys):
    declare(tmp_path, practice=False)
    assert run(capsys, tmp_path, "query", COUNT, "--epsilon", "0.5")[0] == 0
    for file_says_practice in (False, True):
        if file_says_practice:
            edit(tmp_path, "[project]", f"[project]\n{MARK}")
        code, told, _ = run(capsys, tmp_path, "init", "--practice", "--again")
        assert code == 2 and "this is a real project: its ledger is permanent" in told["reason"]
        assert list((tmp_path / ".discreet" / "tables").glob("patients-*"))
    with pytest.raises(ProjectError, match="made for a real project, and that cannot change"):
        discreet.open(tmp_path).sql(COUNT)
    (tmp_path / ".discreet" / "ledger.db").unlink()  # nor by taking its ledger away
    with pytest.raises(LedgerFault, match="a ledger with charges was here and is gone"):
        discreet.init(tmp_path, practice=True)
    assert run(capsys, tmp_path, "init", "--practice", "--again")[0] == 5
    assert list((tmp_path / ".discreet" / "tables").glob("patients-*"))


def test_it_never_becomes_a_real_one(tmp_path, capsys):
    declare(tmp_path)
    assert run(capsys, tmp_path, "query", COUNT, "--epsilon", "0.5")[0] == 0
    edit(tmp_path, MARK, "practice = false")
    code, told, _ = run(capsys, tmp_path, "query", f"{COUNT} WHERE age > 3", "--epsilon", "0.1")
    assert code == 2 and "can never become a real project" in told["reason"]
    assert run(capsys, tmp_path, "init", "--practice", "--again")[0] == 2
    edit(tmp_path, "practice = false", MARK)
    assert run(capsys, tmp_path, "init", "--practice", "--again")[0] == 0
    edit(tmp_path, MARK, "practice = false")
    (tmp_path / ".discreet" / "ledger.db").unlink()
    assert run(capsys, tmp_path, "init")[0] == 5  # answers were released here, of whatever data


def test_copies_and_adoptions_keep_the_mark(tmp_path, capsys, monkeypatch):
    declare(tmp_path / "here")
    assert run(capsys, tmp_path / "here", "query", COUNT, "--epsilon", "0.5")[0] == 0
    assert run(capsys, tmp_path / "here", "ledger", "backup", "-o", str(tmp_path / "copy.db"))[0] == 0
    shutil.copytree(tmp_path / "here", tmp_path / "there")
    monkeypatch.setenv("DISCREET_STATE", str(tmp_path / "other"))
    assert run(capsys, tmp_path / "there", "ledger", "adopt", "--yes")[0] == 0
    with Ledger.open(tmp_path / "there" / ".discreet" / "ledger.db") as ledger:
        assert ledger.state.practice
    edit(tmp_path / "there", f"{MARK} ", "")
    with pytest.raises(ProjectError, match="can never become a real project"):
        discreet.open(tmp_path / "there").budget("patients")


def bundle(project, folder):
    release = project.sql(COUNT).ask(epsilon=0.5)
    bundles.write(bundles.make_bundle(project, release.id), folder)
    checked = subprocess.run(
        [sys.executable, str(CHECKER), str(folder), "--json"], capture_output=True, text=True, env={**os.environ}
    )
    return verify(folder), checked.returncode, json.loads(checked.stdout)


def test_no_checker_calls_its_bundle_proved(tmp_path):
    report, code, told = bundle(declare(tmp_path / "here"), tmp_path / "out")
    (limit,) = [check for check in report.checks if check.name == "limit"]
    assert limit.holds is None and "practice project" in limit.words
    assert code == 1 and "practice project" in json.dumps(told)
    assert "practice project" in (tmp_path / "out" / "card.html").read_text()
    report, code, told = bundle(declare(tmp_path / "real", practice=False), tmp_path / "real_out")
    assert code == 0 and "practice" not in json.dumps(told)


def test_a_bundle_without_the_mark_would_be_called_proved(tmp_path, monkeypatch):
    """The mutant: what names the ledger forgets the mark."""
    monkeypatch.setattr("discreet.bundle.content.PRACTICE_MARK", "")
    assert guarantee_check.PRACTICE_MARK
    assert bundle(declare(tmp_path / "here"), tmp_path / "out")[1] == 0


def test_every_page_of_the_console_says_so():
    from discreet.console import render
    from discreet.console.visitor import Visitor

    page = Page(template="learn.html", data={"lessons": [], "attacks": []})
    assert "Practice project." in render.html(page, Visitor(), path="/learn", practice=True)
    assert "Practice project." not in render.html(page, Visitor(), path="/learn")


def test_a_damaged_ledger_is_not_deleted(tmp_path):
    declare(tmp_path)
    ledger = tmp_path / ".discreet" / "ledger.db"
    ledger.write_bytes(b"not a ledger")
    with pytest.raises((LedgerFault, UsageError)):
        repair.delete_practice_ledger(ledger)
    assert ledger.exists()


def test_the_tables_of_a_real_ledger_stay_where_the_file_names_a_new_one(tmp_path, capsys):
    project = declare(tmp_path, practice=False)
    project.refresh("patients")
    project.ledger.close()
    stored = list((tmp_path / ".discreet" / "tables").glob("patients-*"))
    edit(tmp_path, "ledger.db", "other.db")
    path = tmp_path / "discreet.toml"
    path.write_text(path.read_text().replace("[project]", f"[project]\n{MARK}", 1))
    run(capsys, tmp_path, "init", "--practice", "--again")
    assert stored and all(file.exists() for file in stored)
