"""What a person deletes is in no byte of the console's file, nor of its log."""

import sqlite3
from dataclasses import replace

import pytest

from discreet.console.people import store_connection
from discreet.console.people.people import People
from discreet.console.people.people_store import PeopleStore

#: No name, digest or statement of the file holds it.
MARK = "ZEBRA-7-OF-9-ZEBRA"


def bytes_of(folder):
    """Everything that lies in the console's files."""
    return b"".join(path.read_bytes() for path in folder.rglob("console.db*"))


def fill(people, person):
    """Drafts of one page and of many, with others' between them."""
    for number in range(6):
        people.drafts.keep(person, {"sql": f"SELECT {MARK} {number}"})
        people.drafts.keep(person, {"sql": f"SELECT {MARK} " * (600 + number)})
        people.refused.keep(person, text=f"SELECT {MARK} {number}", why="no", hint="")


def forget(people, person):
    people.drafts.forget(person)
    people.refused.forget(person)


def test_no_byte_of_a_deleted_draft_is_left(tmp_path, people, ada, ben):
    other = people.drafts.keep(ben, {"sql": "SELECT a horse"})
    fill(people, ada)
    assert MARK.encode() in bytes_of(tmp_path)
    forget(people, ada)
    assert MARK.encode() not in bytes_of(tmp_path)
    assert people.drafts.of(ada) == [] and people.drafts.find(other, ben) == {"sql": "SELECT a horse"}


def test_while_another_process_reads_the_file_holds_none_and_its_log_follows(tmp_path, people, ada):
    fill(people, ada)
    (path,) = tmp_path.rglob("console.db")
    with sqlite3.connect(path, isolation_level=None) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM people").fetchone()
        forget(people, ada)
        reader.execute("COMMIT")
    reader.close()
    forget(people, ada)
    assert MARK.encode() not in bytes_of(tmp_path)


@pytest.mark.parametrize("lacking", ["setting", "log"])
def test_planted_without_either_bytes_stay(tmp_path, monkeypatch, clock, lacking):
    """Some builds of SQLite have the setting on; none cuts the log."""
    if lacking == "setting":
        use = replace(store_connection.CONSOLE_FILE, settings=(("secure_delete", "OFF", 0),))
        monkeypatch.setattr(store_connection, "CONSOLE_FILE", use)
    else:
        monkeypatch.setattr(PeopleStore, "forgetting", PeopleStore.writing)
    people = People.of(tmp_path, clock=clock)
    try:
        person = people.add("Ada", role="owner", password="correct horse battery")
        fill(people, person)
        forget(people, person)
        assert MARK.encode() in bytes_of(tmp_path)
    finally:
        people.close()
