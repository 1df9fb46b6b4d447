"""The console's file: SQLite in WAL mode with synchronous=FULL, readable by its owner only.

A process has two connections, each under its lock: one writes, and waits for the disk; the other reads, and waits for
nobody, so that a visit need not wait for another's login. A second process (the command line beside a running console)
has its own, and each sees at once what another has written.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from discreet.console.people.store_connection import StoreConnection
from discreet.console.people.store_schema import SCHEMA, VERSION
from discreet.errors import StoreFault
from discreet.ledger.filesystem import network_filesystem
from discreet.storage import sqlite_file

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
        with self._reader.lock, _faults():
            yield self._reader.open()

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """A transaction that holds the write lock from its beginning, and is on disk at its end."""
        with self._writer.lock, _faults():
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

    def close(self) -> None:
        """Let go of the file. The next use opens it again."""
        self._reader.close()
        self._writer.close()


def _make(path: Path) -> None:
    """The file, where there is none and its disk can be trusted."""
    if kind := network_filesystem(path.parent):
        raise StoreFault(
            f"the console's file is on a network filesystem ({kind}), where file locks are not reliable",
            hint="keep the project on a local disk",
        )
    if not path.is_file():
        sqlite_file.make_sqlite_file(path, version=VERSION, schema=SCHEMA)


@contextmanager
def _faults() -> Iterator[None]:
    """SQLite's and the system's errors, in one sentence each."""
    try:
        yield
    except sqlite3.Error as fault:
        name = str(getattr(fault, "sqlite_errorname", "") or type(fault).__name__)
        raise StoreFault(f"the console's file cannot be used right now ({name})") from fault
    except OSError as fault:
        raise StoreFault(f"the console's file cannot be used ({os.strerror(fault.errno or 0).lower()})") from fault
