"""The file: private, durable, whole; safe for threads, processes and forks."""

import os
import sqlite3
import stat
import subprocess
import sys
import threading

import pytest

from discreet.console.people.people import People
from discreet.console.people.people_store import PeopleStore
from discreet.console.people.store_connection import CONSOLE_FILE
from discreet.console.people.store_schema import _FIRST, SCHEMA, UPGRADES, VERSION
from discreet.errors import StoreFault
from discreet.storage.sqlite_file import make_file

OWNER, BODY = b"o" * 32, b"b" * 32


def test_everything_is_readable_by_its_owner_only(people, tmp_path, ada):
    found = sorted((tmp_path / ".discreet").glob("console.db*"))
    assert len(found) == 3
    assert {stat.S_IMODE(path.stat().st_mode) for path in found} == {0o600}
    assert stat.S_IMODE((tmp_path / ".discreet").stat().st_mode) == 0o700
    assert (tmp_path / ".discreet" / ".gitignore").read_text() == "*\n"


def test_a_commit_survives_a_power_cut(people):
    for using in (people.store.reading, people.store.writing):
        with using() as connection:
            assert connection.execute("PRAGMA synchronous").fetchone() == (3,)
            assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
            assert connection.execute("PRAGMA foreign_keys").fetchone() == (1,)


@pytest.mark.parametrize("version", [99, 0, -1])  # 0: an empty file
def test_another_version_is_refused(people, tmp_path, version):
    people.close()
    path = tmp_path / ".discreet" / "console.db"
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA user_version = {version}")
    connection.close()
    with pytest.raises(StoreFault, match="another version"):
        PeopleStore(path)


def test_what_is_no_database_is_told_in_a_sentence(tmp_path):
    (tmp_path / "console.db").write_bytes(b"nothing of the kind" * 100)
    with pytest.raises(StoreFault, match="cannot be used"):
        PeopleStore(tmp_path / "console.db")


def test_a_transaction_that_fails_leaves_nothing(people, ada):
    def fail(connection):
        connection.execute("UPDATE people SET name = 'Eve'")
        raise RuntimeError

    with pytest.raises(RuntimeError), people.store.writing() as connection:
        fail(connection)
    assert people.roster.all() == [ada]


def test_many_threads(people):
    wrong = []

    def work(number):
        try:
            for each in range(20):
                people.keys.begin(OWNER, f"{number}-{each}", BODY)
                people.roster.all()
        except Exception as problem:
            wrong.append(problem)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert not wrong
    assert people.keys.forget(before=2**40) == 160


RACE = """
import sys
from pathlib import Path
from discreet.console.people.idempotency_keys import IdempotencyKeys
from discreet.console.people.people_store import PeopleStore
sys.stdin.readline()
keys = IdempotencyKeys(PeopleStore(Path(sys.argv[1])), lambda: 0)
print(sum(keys.begin(b"o" * 32, str(each), b"b" * 32).fresh for each in range(100)))
"""


def test_two_processes_make_it_at_once_and_share_it(tmp_path):
    path = tmp_path / ".discreet" / "console.db"
    racing = [
        subprocess.Popen(
            [sys.executable, "-c", RACE, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    for each in racing:
        each.stdin.write("\n")
        each.stdin.flush()
    counts = [int(each.communicate()[0]) for each in racing]
    assert sum(counts) == 100
    assert [left.name for left in path.parent.iterdir() if left.name.endswith(".new")] == []


def test_a_fork_loses_nothing_and_shares_no_connection(people, ada):
    with people.store.reading() as connection:
        before = connection
    child = os.fork()
    if child == 0:
        code = 1
        try:
            people.keys.begin(OWNER, "child", BODY)
            code = 0
        finally:
            os._exit(code)
    for each in range(50):
        people.keys.begin(OWNER, f"parent-{each}", BODY)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert people.keys.find(OWNER, "child") is not None
    with people.store.reading() as connection:
        assert connection is not before
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_a_fork_waits_for_a_transaction_of_another_thread(people, ada):
    begun, forked = threading.Event(), []

    def work():
        with people.store.writing() as connection:
            connection.execute("UPDATE people SET analyst = 'half'")
            begun.set()
            threading.Event().wait(0.2)
            forked.append(len(forked))
            connection.execute("UPDATE people SET analyst = 'whole'")

    thread = threading.Thread(target=work)
    thread.start()
    begun.wait()
    child = os.fork()
    if child == 0:
        os._exit(0 if forked and people.roster.get("ada").analyst == "whole" else 1)
    thread.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_nobody_who_reads_waits_for_one_who_writes(people, ada):
    """A login waits for the disk; those who are in need not."""
    begun, done = threading.Event(), threading.Event()

    def write():
        with people.store.writing() as connection:
            connection.execute("UPDATE people SET analyst = 'changed'")
            assert people.roster.get("ada").analyst == "changed"  # one's own transaction is seen by oneself
            begun.set()
            done.wait(30)

    thread = threading.Thread(target=write)
    thread.start()
    assert begun.wait(30)
    assert people.roster.get("ada").analyst == "Ada"  # what is not yet written is seen by nobody else
    done.set()
    thread.join()
    assert people.roster.get("ada").analyst == "changed"


@pytest.mark.deep
def test_many_forks_of_many_threads(people, ada):
    """Each thread forks and writes; none finds another's locks."""
    wrong = []

    def work(number):
        try:
            for each in range(3):
                if (child := os.fork()) == 0:
                    os._exit(0 if people.roster.find("ada") else 1)
                people.keys.begin(OWNER, f"{number}-{each}", BODY)
                if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):
                    wrong.append(number)
        except Exception as problem:
            wrong.append(problem)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert not wrong


def test_a_file_put_in_its_place_is_seen(people, tmp_path, ada):
    path = tmp_path / ".discreet" / "console.db"
    with people.store.reading() as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    path.rename(path.with_name("kept"))
    assert people.roster.all() == []
    path.with_name("kept").rename(path)
    assert people.roster.all() == [ada]


def test_no_secret_is_in_the_file(people, tmp_path, ada, ben):
    cookie = people.log_in("ada", "correct horse battery", address="127.0.0.1")
    token, _ = people.tokens.make(ben, label="nightly")
    people.close()
    content = (tmp_path / ".discreet" / "console.db").read_bytes()
    assert b"nightly" in content
    for secret in (cookie, token, token.removeprefix("dsc_"), "correct horse"):
        assert secret.encode() not in content


def test_every_table_is_strict():
    assert all("STRICT" in statement for statement in SCHEMA if statement.startswith("CREATE TABLE"))


def test_a_file_of_the_first_version_is_upgraded_once(tmp_path):
    path = tmp_path / "console.db"
    make_file(path, CONSOLE_FILE, version=1, schema=_FIRST)
    connection = sqlite3.connect(path)
    connection.execute(
        "INSERT INTO people (name, folded, role, analyst, password, created) VALUES ('Ada', 'ada', 'owner', 'Ada', 'x', 1)"
    )
    connection.commit()
    connection.close()
    people = [People(path), People(path)]
    assert [each.roster.get("ada").temporary for each in people] == [False, False]
    fresh = People(tmp_path / "new.db")
    with people[0].store.reading() as old, fresh.store.reading() as new:
        tables = "SELECT name, sql FROM sqlite_master ORDER BY name"
        assert old.execute(tables).fetchall() == new.execute(tables).fetchall()
        assert old.execute("PRAGMA user_version").fetchone() == (VERSION,)
    for each in (*people, fresh):
        each.close()


def test_an_upgrade_that_fails_leaves_the_file_as_it_was(tmp_path, monkeypatch):
    path = tmp_path / "console.db"
    make_file(path, CONSOLE_FILE, version=1, schema=_FIRST)
    monkeypatch.setitem(UPGRADES, 2, (UPGRADES[2][0], "CREATE TABLE people (x)"))
    with pytest.raises(StoreFault):
        PeopleStore(path)
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA user_version").fetchone() == (1,)
    assert "temporary" not in connection.execute("SELECT sql FROM sqlite_master WHERE name = 'people'").fetchone()[0]
    connection.close()
