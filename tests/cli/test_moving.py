"""A ledger in PostgreSQL from the command line: made, moved to, and not there."""

from __future__ import annotations

import secrets
from pathlib import Path

import psycopg
import pytest

import discreet
from clinic import make, run, say
from discreet.ledger import postgres_ledger as stores
from discreet.project import folder
from surveys.collector.database import server


@pytest.fixture(scope="module")
def postgres():
    with server() as address:
        yield address


@pytest.fixture
def url(postgres: str) -> str:
    name = f"test_{secrets.token_hex(6)}"
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {name}")
    return f"{postgres}{'&' if '?' in postgres else '?'}options=-csearch_path%3D{name}"


COUNT = "select count(*) from patients"
BY_SEX = "select sex, count(*) n from patients group by sex"


def test_a_project_with_its_ledger_in_postgres(tmp_path: Path, url: str, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "project").mkdir()
    toml = tmp_path / "project" / "discreet.toml"
    toml.write_text(f'[project]\nledger = "{url}"\n')
    assert run(capsys, toml.parent, "init")[0] == 0
    assert [each.name for each in (toml.parent / ".discreet").iterdir()] == [".gitignore"]
    make(tmp_path / "other")
    (tmp_path / "other" / "patients.csv").rename(toml.parent / "patients.csv")
    _, _, tables = (tmp_path / "other" / "discreet.toml").read_text().partition("[tables.patients]")
    toml.write_text(f"{toml.read_text()}[tables.patients]{tables}")
    assert run(capsys, toml.parent, "query", COUNT, "--epsilon", "0.75")[0] == 0
    assert run(capsys, toml.parent, "query", BY_SEX, "--epsilon", "0.5")[0] == 4
    assert run(capsys, toml.parent, "ledger", "verify")[0] == 0
    assert run(capsys, toml.parent, "init")[0] == 2


def test_a_ledger_moves_and_its_budget_with_it(tmp_path: Path, url: str, capsys: pytest.CaptureFixture[str]):
    make(tmp_path)
    before = run(capsys, tmp_path, "query", COUNT, "--epsilon", "0.75")[1]
    with discreet.open(tmp_path).ledger as ledger:
        rows = ledger.state.seq
    code, out, _ = say(capsys, tmp_path, "ledger", "move", url)
    assert code == 0 and f"with {rows + 1} entries" in out and "note:" not in out
    assert f'ledger = "{url}"' in (tmp_path / "discreet.toml").read_text()
    assert not {"ledger.db", "ledger.db-wal"} & {each.name for each in (tmp_path / ".discreet").iterdir()}
    assert (tmp_path / ".discreet" / "ledger.db.moved").exists()
    assert run(capsys, tmp_path, "query", BY_SEX, "--epsilon", "0.5")[0] == 4
    code, after, _ = run(capsys, tmp_path, "query", COUNT, "--epsilon", "0.75")
    assert (code, after["release"], after["rows"]) == (0, before["release"], before["rows"])  # stored, and free
    code, told, _ = run(capsys, tmp_path, "ledger", "move", url)
    assert code == 2 and "already in PostgreSQL" in told["reason"]


def test_a_move_that_broke_off_goes_on(
    tmp_path: Path, url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    """The ledger is there and discreet.toml does not say so: the old file answers nothing, and moving again ends it."""
    make(tmp_path)
    call = ("query", COUNT, "--epsilon", "0.75")
    before = run(capsys, tmp_path, *call)[1]

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    act = folder.set_ledger
    monkeypatch.setattr(folder, "set_ledger", die)
    assert run(capsys, tmp_path, "ledger", "move", url)[0] != 0
    monkeypatch.setattr(folder, "set_ledger", act)
    assert run(capsys, tmp_path, *call)[0] == 5
    code, told, _ = run(capsys, tmp_path, "ledger", "move", url)
    assert code == 0 and told["warnings"] == []
    assert run(capsys, tmp_path, *call)[1]["rows"] == before["rows"]
    assert run(capsys, tmp_path, "ledger", "verify")[1] == {
        "sound": True, "rows": told["rows"], "row": None, "problem": "", "warnings": [],
    }  # fmt: skip


def test_a_server_elsewhere_without_encryption_is_told(
    tmp_path: Path, url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    make(tmp_path)
    monkeypatch.setattr(stores, "is_remote", lambda _: True)
    code, out, _ = say(capsys, tmp_path, "ledger", "move", url)
    assert code == 0 and "not encrypted" in out and "sslmode=verify-full" in out
    assert "note: " in say(capsys, tmp_path, "ledger", "verify")[1]
    (warning,) = run(capsys, tmp_path, "ledger", "verify")[1]["warnings"]
    assert discreet.open(tmp_path).ledger.warnings == (warning,)


def test_a_machine_joins_with_a_state_folder_or_says_that_it_is_alone(
    tmp_path: Path, url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("DISCREET_STATE", str(tmp_path / "one"))
    make(tmp_path / "here")
    assert run(capsys, tmp_path / "here", "query", COUNT, "--epsilon", "0.25")[0] == 0
    assert run(capsys, tmp_path / "here", "ledger", "move", url)[0] == 0
    monkeypatch.setenv("DISCREET_STATE", str(tmp_path / "two"))
    code, told, _ = run(capsys, tmp_path / "here", "ledger", "adopt")
    assert code == 2 and "lock all of them out" in told["reason"] and "--alone" in told["hint"]
    code, out, _ = say(capsys, tmp_path / "here", "ledger", "adopt", "--state", str(tmp_path / "one"))
    assert code == 0 and "the other machines can continue" in out and "never use it again" not in out
    assert run(capsys, tmp_path / "here", "budget")[1]["tables"]["patients"]["spent"]["epsilon"] == 0.25
    monkeypatch.setenv("DISCREET_STATE", str(tmp_path / "three"))
    code, told, _ = run(capsys, tmp_path / "here", "ledger", "adopt", "--alone")
    assert code == 2 and "the whole budget of patients (epsilon 1) counts as spent" in told["reason"]
    assert told["hint"] == "discreet ledger adopt --alone --yes"
    code, out, _ = say(capsys, tmp_path / "here", "ledger", "adopt", "--alone", "--yes")
    assert code == 0 and "a new key" in out and "the whole budget counts as spent" in out
    assert "if exact totals were published after this copy was made" in out
    assert run(capsys, tmp_path / "here", "query", BY_SEX, "--epsilon", "0.1")[0] == 4


def test_a_password_does_not_go_into_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    make(tmp_path)
    code, told, _ = run(capsys, tmp_path, "ledger", "move", "postgresql://ann:secret@127.0.0.1:1/books")
    assert code == 2 and "contains a password" in told["reason"]
    assert "secret" not in (tmp_path / "discreet.toml").read_text()


def test_no_server_is_a_sentence_and_exit_code_5(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    make(tmp_path)
    code, told, _ = run(capsys, tmp_path, "ledger", "move", "postgresql://ann@127.0.0.1:1/books")
    assert code == 5 and "cannot be reached" in told["reason"]
    assert run(capsys, tmp_path, "query", COUNT, "--epsilon", "0.1")[0] == 0  # the file is still in use
    toml = tmp_path / "discreet.toml"
    toml.write_text(toml.read_text().replace("sqlite:///.discreet/ledger.db", "postgresql://a@127.0.0.1:1/b"))
    for words in (["query", COUNT, "--epsilon", "0.1"], ["budget"], ["ledger", "verify"], ["ledger", "acknowledge"]):
        code, out, told = say(capsys, tmp_path, *words)
        assert code == 5, words
        assert "the ledger's server cannot be reached" in out + told
        assert "Traceback" not in out + told


def test_no_password_in_a_hand_written_address(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    make(tmp_path)
    toml = tmp_path / "discreet.toml"
    toml.write_text(toml.read_text().replace("sqlite:///.discreet/ledger.db", "postgresql://a:secret@127.0.0.1:1/b"))
    for words in (
        ["query", COUNT, "--epsilon", "0.1"],
        ["budget"],
        ["ledger", "verify"],
        ["ledger", "move", "postgresql://ann@127.0.0.1:1/books"],
    ):
        code, out, told = say(capsys, tmp_path, *words)
        assert code == 2, words
        assert "[project] ledger contains a password, which discreet.toml must not" in out + told
        assert "secret" not in out + told
