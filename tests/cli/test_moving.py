"""A ledger in PostgreSQL from the command line: made, moved to, and not there."""

from __future__ import annotations

import secrets
from pathlib import Path

import psycopg
import pytest

import discreet
from clinic import make, run, say
from collect.database import server
from discreet.cli.moving import move
from discreet.errors import LedgerFault, UsageError


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
    move(url, project=tmp_path)
    assert f"with {rows + 1} rows" in capsys.readouterr().out
    assert f'ledger = "{url}"' in (tmp_path / "discreet.toml").read_text()
    assert not {"ledger.db", "ledger.db-wal"} & {each.name for each in (tmp_path / ".discreet").iterdir()}
    assert (tmp_path / ".discreet" / "ledger.db.moved").exists()
    assert run(capsys, tmp_path, "query", BY_SEX, "--epsilon", "0.5")[0] == 4
    code, after, _ = run(capsys, tmp_path, "query", COUNT, "--epsilon", "0.75")
    assert (code, after["release"], after["rows"]) == (0, before["release"], before["rows"])  # stored, and free
    with pytest.raises(UsageError, match="PostgreSQL already"):
        move(url, project=tmp_path)


def test_a_password_does_not_go_into_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    make(tmp_path)
    with pytest.raises(UsageError, match="holds a password"):
        move("postgresql://ann:secret@127.0.0.1:1/books", project=tmp_path)
    assert "secret" not in (tmp_path / "discreet.toml").read_text()


def test_no_server_is_a_sentence_and_exit_code_5(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    make(tmp_path)
    with pytest.raises(LedgerFault, match="cannot be reached"):
        move("postgresql://ann@127.0.0.1:1/books", project=tmp_path)
    assert run(capsys, tmp_path, "query", COUNT, "--epsilon", "0.1")[0] == 0  # the file is still in use
    toml = tmp_path / "discreet.toml"
    toml.write_text(toml.read_text().replace("sqlite:///.discreet/ledger.db", "postgresql://a:secret@127.0.0.1:1/b"))
    for words in (["query", COUNT, "--epsilon", "0.1"], ["budget"], ["ledger", "verify"], ["ledger", "acknowledge"]):
        code, out, told = say(capsys, tmp_path, *words)
        assert code == 5, words
        assert "the ledger's server cannot be reached" in out + told
        assert "secret" not in out + told
        assert "Traceback" not in out + told
