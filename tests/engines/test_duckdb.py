"""The DuckDB engine's connection: what it cannot reach, and how it fails."""

import os
import pickle
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.accounting.region import ValueSet
from discreet.engines import duckdb as duckdb_engine
from discreet.engines.dense_cells import dense_cells
from discreet.engines.duckdb import DuckDBEngine
from discreet.engines.engine import EngineFailure, TableLocations
from discreet.plan.predicate import TRUE, Member
from discreet.schema.column import CategoryColumn, NumberColumn
from discreet.sql.group_keys import declared_axis
from discreet.sql.sql_writer import SqlWriter
from engines.asking import asked, counted, region

AGE = NumberColumn(name="age", type="integer", low=0, high=9)
FIVE = declared_axis(CategoryColumn(name="five", values=("a", "b", "c", "d", "e"), closed=True))


def total(engine, file, where=TRUE):
    """One exact number."""
    (found,) = counted(engine, asked(where=where), file)
    return found.tolist()


@pytest.fixture
def engine():
    engine = DuckDBEngine(threads=1)
    yield engine
    engine.close()


@pytest.fixture
def file(tmp_path):
    folder = tmp_path / "made"
    folder.mkdir()
    pq.write_table(pa.table({"age": pa.array([1, 2, 2, None], pa.int8())}), folder / "t.parquet")
    return folder / "t.parquet"


@pytest.fixture
def cursor(engine, file):
    with engine._cursor({file.parent}) as cursor:
        yield cursor


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM read_csv('{outside}')",
        "SELECT * FROM '{outside}'",
        "SELECT * FROM read_text('/etc/hostname')",
        "SELECT * FROM glob('/etc/*')",
        "COPY (SELECT 1) TO '{outside}'",
        "ATTACH '{outside}.db'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET threads = 4",
        "SET enable_external_access = true",
        "SET allowed_directories = ['/']",
        "SET lock_configuration = false",
        "SET TimeZone = 'Asia/Tokyo'",
        "SELECT * FROM local_variable",
        "SELECT * FROM read_parquet('{folder}/../outside.parquet')",
    ],
)
def test_the_connection_reaches_nothing_else(cursor, file, tmp_path, sql):
    outside = tmp_path / "outside.parquet"
    pq.write_table(pa.table({"x": [1]}), outside)
    local_variable = pa.table({"x": [1]})
    with pytest.raises(duckdb.Error):
        cursor.execute(sql.format(outside=outside, folder=file.parent))
    assert local_variable.num_rows == 1
    assert pq.read_table(outside).to_pylist() == [{"x": 1}]


def test_settings(cursor):
    names = ("TimeZone", "threads", "autoload_known_extensions", "autoinstall_known_extensions", "temp_directory")
    found = [cursor.execute(f"SELECT current_setting('{name}')").fetchone()[0] for name in names]
    assert found[0] in ("UTC", "Etc/UTC")
    assert found[1:] == [1, False, False, ""]


def test_a_wider_database_stays_apart(engine, file, tmp_path):
    """Folders opened for one table are not open for another."""
    other = tmp_path / "other"
    other.mkdir()
    pq.write_table(pa.table({"age": pa.array([1], pa.int8())}), other / "t.parquet")
    assert total(engine, other / "t.parquet") == [1]
    with engine._cursor({file.parent}) as cursor, pytest.raises(duckdb.Error):
        cursor.execute(f"SELECT * FROM read_parquet('{other}/t.parquet')")


def test_failures_are_one_constant_sentence(engine, file, tmp_path):
    (tmp_path / "made" / "broken.parquet").write_bytes(b"PAR1 secret")
    problems = [
        (TRUE, tmp_path / "made" / "missing.parquet"),
        (TRUE, tmp_path / "made" / "broken.parquet"),
        (Member("weight", ValueSet.of([1])), file),
    ]
    for where, place in problems:
        with pytest.raises(EngineFailure) as caught:
            total(engine, place, where)
        assert str(caught.value) == "the declared table could not be counted"
        assert caught.value.__cause__ is not None


def test_the_deadline_interrupts(file, monkeypatch):
    slow = "SELECT 0 AS cell, count(*) AS s0 FROM range(100000000000) WHERE range % 7 = 3"
    monkeypatch.setattr(SqlWriter, "count", lambda self, cells, region: slow)
    engine = DuckDBEngine(threads=1, deadline_s=0.2)
    start = time.monotonic()
    with pytest.raises(EngineFailure):
        total(engine, file)
    assert time.monotonic() - start < 20
    monkeypatch.undo()
    engine._deadline_s = 60
    assert total(engine, file) == [4]
    engine.close()


def test_too_little_memory_is_a_folder_that_vanishes(file, monkeypatch, tmp_path):
    greedy = "SELECT 0 AS cell, count(*) AS s0 FROM (SELECT DISTINCT range FROM range(2000000))"
    monkeypatch.setattr(SqlWriter, "count", lambda self, cells, region: greedy)
    monkeypatch.chdir(tmp_path)
    seen = []
    connect = duckdb_engine._connect

    def connected(folders, **how):
        spill = how.get("spill")
        seen.append(None if spill is None else (spill.parent, stat.S_IMODE(spill.stat().st_mode)))
        return connect(folders, **how)

    monkeypatch.setattr(duckdb_engine, "_connect", connected)
    engine = DuckDBEngine(threads=1, memory_mb=32)
    assert total(engine, file) == [2_000_000]
    assert seen == [None, (file.parent, 0o700)]  # it did not fit, and then it did
    engine.close()
    assert [path.name for path in tmp_path.iterdir()] == ["made"]
    assert [path.name for path in file.parent.iterdir()] == [file.name]


def test_what_no_folder_can_hold_is_a_failure(file, monkeypatch, tmp_path):
    greedy = "SELECT 0 AS cell, count(*) AS s0 FROM (SELECT DISTINCT range FROM range(2000000))"
    monkeypatch.setattr(SqlWriter, "count", lambda self, cells, region: greedy)
    connect = duckdb_engine._connect
    monkeypatch.setattr(duckdb_engine, "_connect", lambda folders, **how: connect(folders, **how | {"spill": None}))
    engine = DuckDBEngine(threads=1, memory_mb=32)
    with pytest.raises(EngineFailure):
        total(engine, file)
    engine.close()
    assert [path.name for path in file.parent.iterdir()] == [file.name]


@pytest.mark.parametrize("cells", [[0, 5], [-1], [None, 1]])
def test_a_cell_that_does_not_exist_is_noticed(cells):
    found = np.ma.masked_invalid([np.nan, 1]) if None in cells else np.array(cells)
    with pytest.raises(ValueError, match="does not exist"):
        dense_cells({"cell": found, "s0": np.ones(len(cells), np.int64)}, asked(axes=(FIVE,)))


def test_exact_cells_cannot_be_printed_or_sent(engine, file):
    cells = asked(axes=(declared_axis(AGE),))
    exact_cells = engine.count(cells, region(cells), tables=TableLocations(files={cells.plan: file}))
    assert "2" not in repr(exact_cells)
    with pytest.raises(TypeError):
        pickle.dumps(exact_cells)


def test_a_replaced_file_is_read_anew(engine, file):
    assert total(engine, file) == [4]
    before = file.stat()
    pq.write_table(pa.table({"age": pa.array([1, 2, 3, None], pa.int8())}), file)
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert total(engine, file, Member("age", ValueSet.of([2]))) == [1]


def test_many_threads_share_an_engine(engine, file):
    found = []
    threads = [threading.Thread(target=lambda: found.append(total(engine, file))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [[4]] * 8


def test_open_databases_are_few(engine, file, tmp_path):
    for number in range(12):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "t.parquet").write_bytes(file.read_bytes())
        assert total(engine, folder / "t.parquet") == [4]
    assert len(engine._open) == 8


FORK = """
import os, sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from engines.test_duckdb import total
from discreet.engines.duckdb import DuckDBEngine

engine, file = DuckDBEngine(threads=2), Path(sys.argv[1])
total(engine, file)
child = os.fork()
found = total(engine, file)
assert found == [4]
if child:
    _, status = os.waitpid(child, 0)
    assert status == 0, status
    print("both counted")
"""


def test_an_engine_outlives_a_fork(file):
    """In a process of its own: a crash would take the tests with it."""
    tests = Path(__file__).parent.parent
    done = subprocess.run([sys.executable, "-c", FORK, file, tests], capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout) == (0, "both counted\n"), done.stderr
