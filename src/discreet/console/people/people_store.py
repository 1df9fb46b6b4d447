"""The console's file: SQLite, opened durably by storage/, readable by its owner only.

A process has two connections, each under its lock: one writes, and waits for the disk; the other reads, and waits for
nobody, so that a visit need not wait for another's login. A second process (the command line beside a running console)
has its own, and each sees at once what another has written.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from discreet.console.people.store_connection import CONSOLE_FILE, WAIT_S, StoreConnection
from discreet.console.people.store_schema import SCHEMA, VERSION
from discreet.storage.sqlite_file import make_file, refuse_network, sqlite_faults

NAME = "console.db"


class PeopleStore:
    """The file under a project's .discreet; made where there is none."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._writer = StoreConnection(path, _make)
        self._reader = StoreConnection(path, _make)
        self._own = threading.local()
        with self.reading():
            pass

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A connection, for statements that stand alone; inside a transaction of this thread, the transaction's."""
        if (inside := getattr(self._own, "connection", None)) is not None:
            yield inside
            return
        with self._reader.lock, sqlite_faults(CONSOLE_FILE):
            yield self._reader.open()

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """A transaction that holds the write lock from its beginning, and is on disk at its end."""
        with self._writer.lock, sqlite_faults(CONSOLE_FILE):
            connection = self._writer.open()
            connection.execute("BEGIN IMMEDIATE")
            self._own.connection = connection
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise
            finally:
                self._own.connection = None

    @contextmanager
    def forgetting(self) -> Iterator[sqlite3.Connection]:
        """The same for what a person deletes: after it the file and its log hold nothing of it.

        Where another process reads at this moment, its log goes when SQLite next writes it anew.
        """
        with self.writing() as connection:
            yield connection
        with self._writer.lock, sqlite_faults(CONSOLE_FILE):
            connection = self._writer.open()
            connection.execute("PRAGMA busy_timeout = 0")  # whoever deletes does not wait for who reads
            try:
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            finally:
                connection.execute(f"PRAGMA busy_timeout = {int(WAIT_S * 1000)}")

    def close(self) -> None:
        """Let go of the file. The next use opens it again."""
        self._reader.close()
        self._writer.close()


def _make(path: Path) -> None:
    """The file, where there is none and its disk can be trusted."""
    refuse_network(path, CONSOLE_FILE)
    if not path.is_file():
        make_file(path, CONSOLE_FILE, version=VERSION, schema=SCHEMA)
