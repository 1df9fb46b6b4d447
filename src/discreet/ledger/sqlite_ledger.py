"""The ledger in SQLite: strict tables and append-only triggers, in a file that storage/ opens durably.

The CHECKs repeat what the types say already: a cost is a positive whole number of units, nobody goes over a limit,
a balance never falls.
"""

from __future__ import annotations

import functools
import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any
from weakref import WeakSet

from discreet.errors import Command, LedgerFault, Message
from discreet.ledger.chain import GENESIS, KINDS, LedgerEntry
from discreet.ledger.summary_tables import ChargeRow, SummaryRows
from discreet.storage.sqlite_file import SqliteUse, connect, refuse_network, sqlite_faults

#: The version of the tables below. Another one needs a migration, never a silent change.
VERSION = 1

_RESTORE_HINT = Message("run ", Command("ledger restore", "FILE"), " to replace it with a backup")
_SENTENCES = {
    sqlite3.SQLITE_BUSY: ("another process has locked the ledger and does not release it", "wait and repeat"),
    sqlite3.SQLITE_FULL: (
        "the disk is full, so nothing can be charged",
        "free disk space, then open the ledger again",
    ),
    sqlite3.SQLITE_READONLY: ("the ledger cannot be written: it is read-only", "make it writable"),
    sqlite3.SQLITE_IOERR: ("the disk failed while the ledger was in use", "check the disk, then open the ledger again"),
    sqlite3.SQLITE_CANTOPEN: ("the ledger cannot be opened", "check that its folder is there and writable"),
    sqlite3.SQLITE_CORRUPT: (
        "the ledger's file is damaged",
        _RESTORE_HINT,
    ),
    sqlite3.SQLITE_NOTADB: (
        "the ledger's file is not a ledger",
        _RESTORE_HINT,
    ),
    sqlite3.SQLITE_CONSTRAINT: ("the database refused the entry: it breaks a rule of the ledger", ""),
}
LEDGER_FILE = SqliteUse(
    name="the ledger",
    error=LedgerFault,
    loss="a charge might be lost",
    failed="the ledger's database failed",
    unusable="the ledger cannot be written ({code})",
    sentences=_SENTENCES,
)

#: How long a writer waits for another before it gives up.
WAIT_S = 60

#: The least number that a row can have. A row below 1 is not ours, and must be seen.
_LEAST_SEQ = -(2**63)

_KINDS = ", ".join(f"'{kind}'" for kind in sorted(KINDS))
_BALANCES = ["pure", "rho", "pure_sum", "rho_sum"]

SCHEMA = (
    f"""CREATE TABLE entries (
        seq INTEGER PRIMARY KEY CHECK (seq > 0),
        time TEXT NOT NULL,
        kind TEXT NOT NULL CHECK (kind IN ({_KINDS})),
        body TEXT NOT NULL,
        previous TEXT NOT NULL CHECK (length(previous) = 64),
        digest TEXT NOT NULL CHECK (length(digest) = 64),
        mac TEXT NOT NULL CHECK (length(mac) = 64)
    ) STRICT""",
    """CREATE TABLE populations (
        name TEXT PRIMARY KEY,
        epsilon TEXT NOT NULL,
        delta TEXT NOT NULL,
        delta_limit INTEGER NOT NULL CHECK (delta_limit BETWEEN 0 AND 1000000000000000000),
        delta_spent INTEGER NOT NULL CHECK (delta_spent BETWEEN 0 AND delta_limit),
        used INTEGER NOT NULL CHECK (used BETWEEN 0 AND 1000000000000),
        charges INTEGER NOT NULL CHECK (charges >= 0),
        seq INTEGER NOT NULL REFERENCES entries (seq)
    ) STRICT""",
    """CREATE TABLE segments (
        population TEXT NOT NULL REFERENCES populations (name),
        table_name TEXT NOT NULL,
        version INTEGER NOT NULL CHECK (version > 0),
        pure INTEGER NOT NULL CHECK (pure BETWEEN 1 AND pure_sum),
        rho INTEGER NOT NULL CHECK (rho BETWEEN 1 AND rho_sum),
        pure_sum INTEGER NOT NULL CHECK (pure_sum <= 1000000000000000000),
        rho_sum INTEGER NOT NULL CHECK (rho_sum <= 1000000000000000000),
        seq INTEGER NOT NULL REFERENCES entries (seq),
        PRIMARY KEY (population, table_name, version)
    ) STRICT""",
    """CREATE TABLE charges (
        seq INTEGER PRIMARY KEY REFERENCES entries (seq),
        id TEXT NOT NULL UNIQUE CHECK (id GLOB 'r-????????????*'),
        population TEXT NOT NULL REFERENCES populations (name),
        table_name TEXT NOT NULL,
        version INTEGER NOT NULL CHECK (version > 0),
        analyst TEXT,
        question TEXT NOT NULL,
        price TEXT NOT NULL,
        pure INTEGER NOT NULL CHECK (pure BETWEEN 1 AND 1000000000000 OR pure = 1000000000000000000),
        rho INTEGER NOT NULL CHECK (rho BETWEEN 1 AND 500000000000000000),
        delta INTEGER NOT NULL CHECK (delta BETWEEN 0 AND 999999999999999999)
    ) STRICT""",
    """CREATE TABLE answers (
        id TEXT PRIMARY KEY,
        sha256 TEXT NOT NULL CHECK (length(sha256) = 64),
        payload TEXT NOT NULL
    ) STRICT""",
    *(
        f"""CREATE TRIGGER {table}_{act.lower()} BEFORE {act} ON {table}
        BEGIN SELECT RAISE(ABORT, '{table} are append-only'); END"""
        for table in ("entries", "charges", "answers")
        for act in ("UPDATE", "DELETE")
    ),
    f"""CREATE TRIGGER entries_insert BEFORE INSERT ON entries
        WHEN NEW.seq IS NOT (SELECT coalesce(max(seq), 0) + 1 FROM entries)
            OR NEW.previous IS NOT coalesce((SELECT digest FROM entries WHERE seq = NEW.seq - 1), '{GENESIS}')
        BEGIN SELECT RAISE(ABORT, 'entries follow one another'); END""",
    *(  # without these, INSERT OR REPLACE would delete in silence
        f"""CREATE TRIGGER {table}_insert BEFORE INSERT ON {table}
        WHEN EXISTS (SELECT 1 FROM {table} WHERE id = NEW.id)
        BEGIN SELECT RAISE(ABORT, '{table} are append-only'); END"""
        for table in ("charges", "answers")
    ),
    """CREATE TRIGGER answers_charge BEFORE INSERT ON answers
        WHEN NOT EXISTS (SELECT 1 FROM charges WHERE id = substr(NEW.id, 1, instr(NEW.id || '.', '.') - 1))
            AND NOT EXISTS (SELECT 1 FROM entries WHERE kind = 'invariant' AND instr(body, '"id":"' || NEW.id || '"'))
        BEGIN SELECT RAISE(ABORT, 'an answer belongs to a charge, to a step of it, or to an invariant'); END""",
    f"""CREATE TRIGGER segments_fall BEFORE UPDATE ON segments
        WHEN {" OR ".join(f"NEW.{name} < OLD.{name}" for name in _BALANCES)}
        BEGIN SELECT RAISE(ABORT, 'a balance never falls'); END""",
)

#: The connections that are open. SQLite keeps its locks for each process and does not notice a fork: in a child
#: of a process that had one open, even a new connection would believe that it holds locks which it does not.
_OPEN: WeakSet[SqliteLedgerStore] = WeakSet()


class SqliteLedgerStore:
    """One connection, shared by the threads of one process under the journal's lock."""

    shared = False
    exposed = False

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._connection = connection
        self._file = _file_identity(path)
        self._pid = os.getpid()
        _OPEN.add(self)

    @staticmethod
    def create(path: Path) -> SqliteLedgerStore:
        """A new, empty store, readable by its owner only."""
        refuse_network(path, LEDGER_FILE)
        with sqlite_faults(LEDGER_FILE):
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            connection = _connect(path)
            connection.execute(f"PRAGMA user_version = {VERSION}")
            connection.execute("BEGIN IMMEDIATE")
            for statement in SCHEMA:
                connection.execute(statement)
            connection.execute("COMMIT")
            return SqliteLedgerStore(path, connection)

    @staticmethod
    def open(path: Path) -> SqliteLedgerStore:
        """A store that exists; refused where its tables, checks and triggers are not the ones we made."""
        refuse_network(path, LEDGER_FILE)
        _refuse_forked(_OPEN)
        if not path.is_file():
            raise LedgerFault(
                f"there is no ledger at {path.name!r}",
                hint=Message(
                    "run ",
                    Command("ledger restore", "FILE"),
                    " to restore a backup; if there never was one, run ",
                    Command("init"),
                ),
            )
        with sqlite_faults(LEDGER_FILE):
            connection = _connect(path)
            if connection.execute("PRAGMA user_version").fetchone()[0] > VERSION:
                connection.close()
                raise LedgerFault("a newer version of Discreet wrote this ledger", hint="upgrade")
            if _schema(connection) != _expected_schema():
                connection.close()
                raise LedgerFault("the ledger's tables, checks or triggers are not the ones that Discreet made")
            return SqliteLedgerStore(path, connection)

    def begin(self) -> None:
        _refuse_forked([self])
        with sqlite_faults(LEDGER_FILE):
            if _file_identity(self.path) != self._file:
                raise LedgerFault("the ledger's file was replaced while it was open", hint="open it again")
            self._connection.execute("BEGIN IMMEDIATE")

    def snapshot(self) -> None:
        with sqlite_faults(LEDGER_FILE):
            self._connection.execute("BEGIN")

    def commit(self) -> None:
        with sqlite_faults(LEDGER_FILE):
            self._connection.execute("COMMIT")

    def rollback(self) -> None:
        with suppress(sqlite3.Error):
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")

    def entries(self, *, after: int | None = None) -> Iterator[LedgerEntry]:
        least = _LEAST_SEQ if after is None else after + 1
        with sqlite_faults(LEDGER_FILE):
            yield from map(_entry, self._connection.execute(f"{_ENTRIES} WHERE seq >= ? ORDER BY seq", (least,)))

    def span(self, first: int, last: int) -> list[LedgerEntry]:
        with sqlite_faults(LEDGER_FILE):
            rows = self._connection.execute(f"{_ENTRIES} WHERE seq BETWEEN ? AND ? ORDER BY seq", (first, last))
            return [_entry(row) for row in rows]

    def append(self, entry: LedgerEntry, rows: SummaryRows, *, payload: tuple[str, str, str] | None = None) -> None:
        with sqlite_faults(LEDGER_FILE):
            self._insert(
                "entries",
                (entry.seq, entry.time, entry.kind, entry.body, entry.previous, entry.digest, entry.mac),
            )
            if rows.replace:
                self._connection.execute("PRAGMA defer_foreign_keys = ON")  # populations are referred to
                self._connection.execute("DELETE FROM segments")
                self._connection.execute("DELETE FROM populations")
            for population in rows.populations:
                self._upsert("populations", population, key="name")
            for segment in rows.segments:
                self._upsert("segments", segment, key="population, table_name, version")
            for charge in rows.charges:
                self._insert("charges", charge)
            if payload is not None:
                self._insert("answers", payload)

    def rows(self) -> SummaryRows:
        return replace(self.balances(), charges=tuple(self.charge_rows()))

    def charge_rows(self, *, after: int = 0) -> Iterator[ChargeRow]:
        with sqlite_faults(LEDGER_FILE):
            least = after + 1 if after else _LEAST_SEQ
            rows = self._connection.execute("SELECT * FROM charges WHERE seq >= ? ORDER BY seq", (least,))
            yield from (row for row in rows)  # whoever stops early closes this, perhaps after the connection

    def balances(self) -> SummaryRows:
        with sqlite_faults(LEDGER_FILE):
            return SummaryRows(
                populations=tuple(self._connection.execute("SELECT * FROM populations ORDER BY name")),
                segments=tuple(
                    self._connection.execute("SELECT * FROM segments ORDER BY population, table_name, version")
                ),
            )

    def payload(self, id_: str) -> str | None:
        with sqlite_faults(LEDGER_FILE):
            payload_row = self._connection.execute("SELECT payload FROM answers WHERE id = ?", (id_,)).fetchone()
            return None if payload_row is None else payload_row[0]

    def payloads(self) -> Iterator[tuple[str, str, str]]:
        with sqlite_faults(LEDGER_FILE):
            yield from self._connection.execute("SELECT id, sha256, payload FROM answers")

    def integrity(self) -> str:
        with sqlite_faults(LEDGER_FILE):
            messages = [row[0] for row in self._connection.execute("PRAGMA integrity_check(1)")]
            return "" if messages == ["ok"] else "SQLite reports that the ledger's file is damaged"

    def close(self) -> None:
        _OPEN.discard(self)
        with suppress(sqlite3.Error):
            self._connection.close()

    def _insert(self, table: str, row: tuple[Any, ...]) -> None:
        self._connection.execute(f"INSERT INTO {table} VALUES ({_placeholders(row)})", row)

    def _upsert(self, table: str, row: tuple[Any, ...], *, key: str) -> None:
        names = _COLUMNS[table]
        sets = ", ".join(f"{name} = excluded.{name}" for name in names if name not in key.split(", "))
        self._connection.execute(
            f"INSERT INTO {table} VALUES ({_placeholders(row)}) ON CONFLICT ({key}) DO UPDATE SET {sets}", row
        )


_COLUMNS = {
    "populations": ["name", "epsilon", "delta", "delta_limit", "delta_spent", "used", "charges", "seq"],
    "segments": ["population", "table_name", "version", *_BALANCES, "seq"],
}


_ENTRIES = "SELECT seq, time, kind, body, previous, digest, mac FROM entries"


def _entry(row: tuple[Any, ...]) -> LedgerEntry:
    seq, time, kind, body, previous, digest, mac = row
    return LedgerEntry(seq=seq, time=time, kind=kind, body=body, previous=previous, digest=digest, mac=mac)


def _placeholders(row: tuple[Any, ...]) -> str:
    return ", ".join("?" * len(row))


def _connect(path: Path) -> sqlite3.Connection:
    connection = connect(path, LEDGER_FILE, wait_s=WAIT_S)
    connection.text_factory = _text
    return connection


def _text(raw: bytes) -> str:
    """Text as it stands: bytes that are no UTF-8 were not written by us, and must reach the digests."""
    return raw.decode("utf-8", "surrogateescape")


def _schema(connection: sqlite3.Connection) -> list[tuple[Any, ...]]:
    return list(connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name"))


@functools.cache
def _expected_schema() -> list[tuple[Any, ...]]:
    """What an untouched ledger's schema reads like: made by the same SQLite, in memory."""
    connection = sqlite3.connect(":memory:")
    try:
        for statement in SCHEMA:
            connection.execute(statement)
        return _schema(connection)
    finally:
        connection.close()


def _refuse_forked(stores: Iterable[SqliteLedgerStore]) -> None:
    if any(store._pid != os.getpid() for store in stores):
        raise LedgerFault(
            "this process was forked from one that was just using a ledger", hint="start it as a new process"
        )


def _file_identity(path: Path) -> tuple[int, int]:
    try:
        file_status = path.stat()
    except OSError as fault:
        raise LedgerFault("the ledger's file is gone", hint=_RESTORE_HINT) from fault
    return file_status.st_dev, file_status.st_ino
