"""SQLite's own: durable settings, a private file, rules that hold against any hand, one file for two makers."""

from __future__ import annotations

import os
import sqlite3
import stat
from concurrent.futures import ThreadPoolExecutor

import pytest

import discreet
from discreet.errors import StoreFault, UsageError
from discreet.surveys.collector import sqlite_surveys
from discreet.surveys.collector.store_location import open_survey_store
from discreet.surveys.collector.survey_store import AcceptedBatch, all_reports
from surveys.collector.asked import batch, sent, survey


def test_a_commit_is_on_disk(file_store):
    writer = file_store._writer
    assert writer.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert writer.execute("PRAGMA synchronous").fetchone() == (3,)


def test_only_its_owner_can_read_it(file_store, tmp_path):
    assert file_store.path == tmp_path / ".discreet" / "surveys.sqlite"
    assert stat.S_IMODE(file_store.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(file_store.path.parent.stat().st_mode) == 0o700
    assert sorted(each for each in os.listdir(tmp_path / ".discreet") if "-" not in each) == [
        ".gitignore",
        "surveys.sqlite",
    ]


def test_nothing_is_made_by_looking(tmp_path):
    with pytest.raises(UsageError, match="no surveys here"):
        open_survey_store(None, tmp_path)
    assert os.listdir(tmp_path) == []


def test_it_is_found_from_below_and_beside_a_project(file_store, tmp_path):
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    assert sqlite_surveys.survey_file_of(below) == file_store.path
    project = tmp_path / "a"
    discreet.init(project)
    assert sqlite_surveys.survey_file_of(below) == project / ".discreet" / "surveys.sqlite"


def test_a_project_can_be_made_where_surveys_are(file_store, tmp_path):
    asked = survey(file_store)
    discreet.init(tmp_path, epsilon=1)
    assert discreet.open(tmp_path).folder == tmp_path
    assert open_survey_store(None, tmp_path).survey(asked.id).question == asked.question


def test_ten_makers_make_one_file(tmp_path):
    def make(number: int) -> str:
        made = open_survey_store(None, tmp_path, make=True)
        asked = survey(made)
        made.close()
        return asked.id

    with ThreadPoolExecutor(10) as pool:
        ids = set(pool.map(make, range(10)))
    assert sorted(os.listdir(tmp_path / ".discreet"))[:2] == [".gitignore", "surveys.sqlite"]
    store = open_survey_store(None, tmp_path)
    assert {each.id for each in store.surveys()} == ids
    store.close()


def test_the_database_itself_keeps_a_closed_survey_closed(file_store):
    asked = survey(file_store)
    file_store.end(asked.id)
    raw = sqlite3.connect(file_store.path, isolation_level=None)
    for statement in (
        "UPDATE surveys SET closed = 0",
        "INSERT INTO reports VALUES (1, 1, zeroblob(16), x'00')",
        "INSERT INTO reports VALUES (1, 1, zeroblob(15), x'00')",
    ):
        with pytest.raises(sqlite3.IntegrityError):
            raw.execute(statement)
    raw.close()


def test_no_time_address_or_token_lies_beside_a_report(file_store):
    raw = sqlite3.connect(file_store.path)
    columns = {name: [row[1] for row in raw.execute(f"PRAGMA table_info({name})")] for name in ("reports", "tokens")}
    raw.close()
    assert columns == {"reports": ["survey", "place", "id", "report"], "tokens": ["survey", "hash", "used"]}


def test_a_report_of_another_length_in_the_file_is_seen(file_store):
    asked = survey(file_store)
    file_store.add([batch(asked)])
    raw = sqlite3.connect(file_store.path, isolation_level=None)
    raw.execute("UPDATE reports SET report = x'0000'")
    raw.close()
    with pytest.raises(StoreFault, match="another program"):
        all_reports(file_store, asked)


def test_a_store_from_before_anybody_was_named_goes_on(file_store, tmp_path):
    """A column was added later. Whoever reads a store without it adds it; whoever does not know it writes as before."""
    named = survey(file_store, asker="The city clinic")
    file_store.close()
    raw = sqlite3.connect(file_store.path, isolation_level=None)
    raw.execute("ALTER TABLE surveys DROP COLUMN asker")
    raw.close()
    for _ in range(2):
        store = open_survey_store(None, tmp_path)
        assert store.survey(named.id).asker == ""
        another = survey(store, asker="The city clinic")
        assert store.survey(another.id).asker == "The city clinic"
        store.close()


def test_another_version_is_refused(file_store, tmp_path):
    raw = sqlite3.connect(file_store.path, isolation_level=None)
    raw.execute("PRAGMA user_version = 2")
    raw.close()
    with pytest.raises(StoreFault, match="another version"):
        open_survey_store(None, tmp_path)


def test_a_file_that_is_no_store(tmp_path):
    path = tmp_path / "x.sqlite"
    path.write_bytes(b"nothing of the kind" * 100)
    with pytest.raises(StoreFault, match="not available"):
        open_survey_store(str(path), tmp_path)


def test_a_locked_store_is_a_fault_and_then_goes_on(file_store, tmp_path, monkeypatch):
    asked = survey(file_store)
    monkeypatch.setattr(sqlite_surveys, "WAIT_S", 0.1)
    other = open_survey_store(None, tmp_path)
    raw = sqlite3.connect(file_store.path, isolation_level=None)
    raw.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreFault, match="SQLITE_BUSY"):
        other.add([batch(asked, sent())])
    raw.execute("ROLLBACK")
    raw.close()
    assert other.add([batch(asked, sent())]) == [AcceptedBatch(1, 0)]
    other.close()


def test_ids_are_looked_up_by_their_index(file_store):
    plan = file_store._writer.execute(
        "EXPLAIN QUERY PLAN SELECT id FROM reports WHERE survey = 1 AND id IN (?, ?)", (b"", b"")
    )
    assert "(survey=? AND id=?)" in plan.fetchone()[3]
