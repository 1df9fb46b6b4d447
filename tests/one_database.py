"""One database in memory for all projects of a process, where the engine is not what is tested.

A new one takes 40 ms. A cursor is a connection of its own. That a database reaches its own folders and nothing else is
tested in tests/engines; this one reaches the folder of temporary files, and other folders get one of their own.
"""

import os
import tempfile
from pathlib import Path

import duckdb
import pytest

from discreet.engines import duckdb as engine

#: By process, threads and memory: after a fork it is made anew, and a parent's is never closed.
_databases: dict[tuple[int, int, int], duckdb.DuckDBPyConnection] = {}
_connect = engine._connect


def connect(folders, *, threads, memory_mb, spill=None):
    """Stands for `_connect` of the engine."""
    root = Path(tempfile.gettempdir())
    if spill is not None or not all(Path(folder).is_relative_to(root) for folder in folders):
        return _connect(folders, threads=threads, memory_mb=memory_mb, spill=spill)
    key = (os.getpid(), threads, memory_mb)
    if any(process != os.getpid() for process, _, _ in _databases):
        engine._abandon(_databases)
    try:
        return _alive(_databases[key])
    except (KeyError, duckdb.Error):
        _databases[key] = _connect((str(root),), threads=threads, memory_mb=memory_mb)
        return _alive(_databases[key])


def _alive(database):
    cursor = database.cursor()
    cursor.execute("SELECT 1")
    return cursor


@pytest.fixture(scope="module", autouse=True)
def _one_database():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "_connect", connect)
        yield
