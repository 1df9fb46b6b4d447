"""The DuckDB engine. It runs only SQL that we wrote, on a connection that can reach only the folders it needs.

DuckDB is no sandbox and need not be one: the analyst's text never comes here. What is switched off
is what could let a mistake of ours grow: other files, Python variables as tables, extensions,
further settings, files on the side.
"""

from __future__ import annotations

import ctypes
import glob
import os
import threading
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import duckdb
import numpy as np
from numpy.typing import NDArray

from discreet.engines import source as sources
from discreet.engines.engine import EngineFailure, Exact, Making
from discreet.plan.cells import Cells
from discreet.schema.schema import Schema, Table
from discreet.sql.write import count_sql, text_literal

#: A declared table is one file of ours: its folder's name must not add columns to it.
_DECLARED = "read_parquet(?, hive_partitioning = false)"

#: Open databases kept, each for one set of folders.
_MOST_OPEN = 8

_Databases = dict[tuple[str, ...], duckdb.DuckDBPyConnection]


class DuckDBEngine:
    """Makes declared tables as Parquet files and counts in them."""

    def __init__(self, *, threads: int | None = None, memory_mb: int = 2048, deadline_s: float = 60.0) -> None:
        """`deadline_s` bounds one question; `threads` is as many as this process may use, unless given."""
        self._threads = threads or _usable_processors()
        self._memory_mb = memory_mb
        self._deadline_s = deadline_s
        self._lock = threading.Lock()
        self._process = os.getpid()
        self._open: _Databases = {}
        weakref.finalize(self, _close, self._open, os.getpid())

    def columns(self, source: Path) -> Mapping[str, str]:
        """The names of a source's columns and the types proposed for them, for `discreet add`."""
        from discreet.engines.propose import propose

        found = sources.find(str(source), folder=Path())
        with self._cursor({file.parent for file in found.files}) as cursor:
            return propose(cursor, found)

    def declare(self, table: Table, *, folder: Path, target: Path) -> Making:
        """Make the declared table at `target`: see `discreet.engines.declare`."""
        from discreet.engines.declare import declare

        found = sources.find(table.source, folder=folder)
        with self._cursor({file.parent for file in found.files}) as cursor:
            return declare(cursor, table.schema, found, target=target)

    def count(self, cells: Cells, schema: Schema, *, file: Path) -> Exact:
        """The exact cells over the declared table in `file`. Fails only as EngineFailure."""
        try:
            file = file.absolute()
            with self._cursor({file.parent}) as cursor, self._deadline(cursor):
                sql = count_sql(cells, schema, source=_DECLARED)
                found = cursor.execute(sql, [glob.escape(str(file))]).fetchnumpy()
            return Exact(_dense(np.asanyarray(found["cell"]), np.asarray(found["rows"]), size=cells.size))
        except Exception as problem:  # Whatever it is, the question was charged, and the cause may hold a cell.
            raise EngineFailure("the declared table could not be counted") from problem

    def close(self) -> None:
        """Close every open database."""
        with self._lock:
            _close(self._open, self._process)

    @contextmanager
    def _cursor(self, folders: set[Path]) -> Iterator[duckdb.DuckDBPyConnection]:
        """A connection of its own to a database that reaches only `folders`."""
        key = tuple(sorted(str(folder) for folder in folders))
        with self._lock:
            if self._process != os.getpid():
                _abandon(self._open)
                self._process = os.getpid()
            if key not in self._open:
                while len(self._open) >= _MOST_OPEN:
                    self._open.pop(next(iter(self._open)))
                self._open[key] = _connect(key, threads=self._threads, memory_mb=self._memory_mb)
            cursor = self._open[key].cursor()
        try:
            yield cursor
        except BaseException:
            self._drop_if_dead(key)
            raise
        finally:
            cursor.close()

    def _drop_if_dead(self, key: tuple[str, ...]) -> None:
        """After an internal error DuckDB answers nothing more on a database; the next call opens another."""
        with self._lock:
            try:
                if key in self._open:
                    self._open[key].execute("SELECT 1")
            except duckdb.Error:
                self._open.pop(key, None)

    @contextmanager
    def _deadline(self, cursor: duckdb.DuckDBPyConnection) -> Iterator[None]:
        def interrupt() -> None:
            with suppress(duckdb.Error):  # it may have ended, and been closed, this very moment
                cursor.interrupt()

        timer = threading.Timer(self._deadline_s, interrupt)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()


def _usable_processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _connect(folders: tuple[str, ...], *, threads: int, memory_mb: int) -> duckdb.DuckDBPyConnection:
    """A database in memory that can read these folders and nothing else, for good."""
    # A path is read as a glob, so it is asked for in its escaped spelling and opened in its own.
    reached = dict.fromkeys([*folders, *(glob.escape(folder) for folder in folders)])
    connection = duckdb.connect(
        ":memory:",
        config={
            "threads": threads,
            "memory_limit": f"{memory_mb}MB",
            "temp_directory": "",
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            "allow_community_extensions": False,
            "allow_persistent_secrets": False,
            "python_enable_replacements": False,
        },
    )
    for statement in (
        "SET TimeZone = 'UTC'",
        "SET enable_external_file_cache = false",  # a file may be replaced under the same name
        # A CSV's size is guessed too small, and the source must not become the side held in memory.
        "SET disabled_optimizers = 'join_order,build_side_probe_side'",
        f"SET allowed_directories = [{', '.join(text_literal(folder) for folder in reached)}]",
        "SET enable_external_access = false",
        "SET lock_configuration = true",
    ):
        connection.execute(statement)
    return connection


def _close(databases: _Databases, process: int) -> None:
    """Close databases of this process."""
    if process == os.getpid():
        for connection in databases.values():
            connection.close()
        databases.clear()


def _abandon(databases: _Databases) -> None:
    """Forget the databases of a parent process. Their threads did not live through the fork, so that closing
    one crashes, even when the interpreter ends: each keeps one reference for ever."""
    for connection in databases.values():
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))
    databases.clear()


def _dense(cells: NDArray[np.int64], rows: NDArray[np.int64], *, size: int) -> NDArray[np.int64]:
    """Every cell, those without rows too."""
    exact_values = np.zeros(size, dtype=np.int64)
    if np.ma.isMaskedArray(cells) or (len(cells) and not 0 <= cells.min() <= cells.max() < size):
        raise ValueError("a row in a cell that does not exist")
    exact_values[cells] = rows
    return exact_values
