"""A connection to the console's file, under a lock; closed while the process forks.

SQLite keeps its locks for a process and does not notice a fork: a child would believe that it holds locks which it
does not. So no connection is open while a process forks; parent and child open their own when they next need one.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from weakref import WeakSet

from discreet.console.people.store_schema import OLDEST, UPGRADES, VERSION
from discreet.errors import StoreFault
from discreet.storage.sqlite_file import SqliteUse, connect

#: How long a writer waits for another process.
WAIT_S = 30.0
CONSOLE_FILE = SqliteUse(
    name="the console's file",
    error=StoreFault,
    loss="what people did in the console could be lost",
    failed="the console's file cannot be used right now ({code})",
    unusable="the console's file cannot be used ({code})",
    settings=(("secure_delete", "ON", 1),),  # what is deleted is overwritten: drafts are their author's alone
)


class StoreConnection:
    """One connection. Whoever uses it holds its lock."""

    def __init__(self, path: Path, make: Callable[[Path], None]) -> None:
        self.lock = threading.RLock()
        self._path = path
        self._make = make
        self._connection: sqlite3.Connection | None = None
        self._file = (0, 0)
        _CONNECTIONS.add(self)

    def open(self) -> sqlite3.Connection:
        """The connection to the file that has this name now: one that was put back in its place is seen."""
        if self._connection is not None and self._connection.in_transaction:
            return self._connection
        if self._connection is None or _identity(self._path) != self._file:
            self.close()
            self._make(self._path)
            self._connection, self._file = _connect(self._path), _identity(self._path)
        return self._connection

    def close(self) -> None:
        """Let go of the file. The next use opens it again."""
        with self.lock:
            if self._connection is not None:
                with suppress(sqlite3.Error):
                    self._connection.close()
            self._connection = None


def _identity(path: Path) -> tuple[int, int]:
    try:
        file_stat = path.stat()
    except FileNotFoundError:
        return (0, 0)
    return file_stat.st_dev, file_stat.st_ino


def _connect(path: Path) -> sqlite3.Connection:
    connection = connect(path, CONSOLE_FILE, wait_s=WAIT_S)
    if OLDEST <= _version(connection) < VERSION:
        _upgrade(connection)
    if _version(connection) != VERSION:
        connection.close()
        raise StoreFault("the console's file was written by another version of Discreet", hint="upgrade")
    return connection


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _upgrade(connection: sqlite3.Connection) -> None:
    """Bring a file of an older version to this one, whole or not at all; of two processes the second finds it done."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        for version in range(_version(connection) + 1, VERSION + 1):
            for statement in UPGRADES[version]:
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {version}")
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


_CONNECTIONS: WeakSet[StoreConnection] = WeakSet()
_fork_lock = threading.Lock()
_locked_connections: list[StoreConnection] = []


def _before_fork() -> None:
    _fork_lock.acquire()
    for line in list(_CONNECTIONS):
        line.lock.acquire()
        _locked_connections.append(line)
        line.close()


def _after_fork_in_parent() -> None:
    while _locked_connections:
        _locked_connections.pop().lock.release()
    _fork_lock.release()


def _after_fork_in_child() -> None:
    while _locked_connections:
        _locked_connections.pop().lock = threading.RLock()  # whoever held it is not here
    _fork_lock.release()


os.register_at_fork(before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child)
