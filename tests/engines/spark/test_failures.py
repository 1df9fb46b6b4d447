"""What goes wrong after the charge is one sentence; the next question works; and no cell is ever written anywhere."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pyarrow as pa
import pytest

from discreet.accounting.region import Region
from discreet.engines import deadline
from discreet.engines.engine import EngineFailure, TableLocations
from discreet.engines.spark import lake
from discreet.engines.spark import spark_engine as module
from discreet.engines.spark.spark_engine import SparkEngine
from discreet.plan.relation import Scan
from discreet.schema.column import NumberColumn, TextColumn
from discreet.schema.privacy_unit import PrivacyUnit
from discreet.schema.schema import Schema, Table
from engines.asking import asked, counted
from engines.spark.server import ADDRESS, load, log, spark_tests, start

pytestmark = spark_tests

#: Rows that take hours to count; a task that counts them looks up from time to time, and sees that it shall end.
LONG = "range(100000000000000) WHERE id % 7 = id % 5"

CANARY = "a-cell-that-nobody-may-see"
AGE, NOTE = NumberColumn(name="age", type="integer", low=0, high=120), TextColumn(name="note")


@pytest.fixture
def place(spark_engine, tmp_path):
    rows = pa.table({"age": list(range(100)), "note": [f"{CANARY} {number}" for number in range(100)]})
    schema = Schema(table="people", columns=(AGE, NOTE), unit=PrivacyUnit())
    given = Table(schema=schema, source=load(rows, tmp_path), population="people", budget=None)
    found = spark_engine.place("people.lake", folder=tmp_path)
    spark_engine.declare(given, folder=tmp_path, target=found)
    return found


def failing(self, cells, region):
    """SQL that fails on every row, and quotes it."""
    scan = self.names.scan(cells.plan)
    return f"SELECT CAST(note AS INT) AS cell, count(*) AS s0 FROM {scan} GROUP BY 1"


def test_a_failure_tells_nothing(spark_engine, place, monkeypatch, capfd):
    """Its cause does, to the owner: the test's own question must be able to fail."""
    monkeypatch.setattr(module.SqlWriter, "count", failing)
    with pytest.raises(EngineFailure, match="the declared table could not be counted") as caught:
        counted(spark_engine, asked(), place)
    assert CANARY in str(caught.value.__cause__) and CANARY not in str(caught.value)
    monkeypatch.undo()
    [[rows]] = counted(spark_engine, asked(), place)
    assert rows == 100
    told = capfd.readouterr()
    assert CANARY not in told.out + told.err + log().read_text()


def test_nothing_but_whole_numbers_leaves(spark_engine, place, monkeypatch):
    monkeypatch.setattr(module.SqlWriter, "count", lambda self, cells, region: f"SELECT note AS cell FROM {self.names.scan(cells.plan)}")  # fmt: skip
    with pytest.raises(EngineFailure) as caught:
        counted(spark_engine, asked(), place)
    assert "not whole numbers" in str(caught.value.__cause__)


def test_a_result_with_a_gap_is_none():
    assert list(module._numbers_of(pa.table({"cell": [0, 1]}))["cell"]) == [0, 1]
    with pytest.raises(ValueError, match="not whole numbers"):
        module._numbers_of(pa.table({"cell": [0, None]}))


def test_a_question_has_a_deadline(spark_engine, place, monkeypatch):
    """A question of many hours ends, and so does its job."""
    sql = f"SELECT 0 AS cell, count(*) AS s0 FROM {LONG}"
    monkeypatch.setattr(module.SqlWriter, "count", lambda self, cells, region: sql)
    monkeypatch.setattr(spark_engine, "_deadline_s", 2.0)
    begun = time.monotonic()
    with deadline.watch_deadline() as kept, pytest.raises(EngineFailure):
        counted(spark_engine, asked(), place)
    assert time.monotonic() - begun < 100 and kept.passed, "the curator knows that it was the deadline"
    monkeypatch.undo()
    [[rows]] = counted(spark_engine, asked(), place)
    assert rows == 100
    assert not spark_engine.session().sparkContext.statusTracker().getActiveJobsIds()


def test_questions_at_once(spark_engine, place):
    found, threads = [], []
    for _ in range(4):
        threads.append(threading.Thread(target=lambda: found.append(counted(spark_engine, asked(), place)[0][0])))
        threads[-1].start()
    for thread in threads:
        thread.join()
    assert found == [100] * 4
    assert not [view.name for view in spark_engine.session().catalog.listTables() if view.name.startswith("discreet_")]


def test_a_table_that_is_replaced_while_it_is_read(spark_engine, place, monkeypatch):
    """As `erase` does it: the question is asked again, of the new one."""
    calls = []

    def swept(self, tables, act, once=SparkEngine._once):
        calls.append(None)
        if len(calls) == 1:
            manifest = Path(place.folder) / "manifest.json"
            [old] = [name for name in os.listdir(place.folder) if name.startswith("rows-")]
            os.rename(f"{place.folder}/{old}", f"{place.folder}/rows-new")
            manifest.write_text(manifest.read_text().replace(old, "rows-new"))
            raise OSError("a file is gone")
        return once(self, tables, act)

    monkeypatch.setattr(SparkEngine, "_once", swept)
    [[rows]] = counted(spark_engine, asked(), place)
    assert (rows, len(calls)) == (100, 2)
    monkeypatch.undo()
    check_half(spark_engine, place, monkeypatch)


def check_half(engine, place, monkeypatch):
    """A file that goes after a look at the manifest, before Spark lists them, or after: half a table is not counted."""
    part = max(entry.path for entry in os.scandir(f"{place.folder}/rows-new") if entry.name.endswith(".parquet"))
    content = Path(part).read_bytes()

    def listed(session, files, fields, read=lake.read_files):
        os.unlink(part)
        found = read(session, files, fields)
        Path(part).write_bytes(content)  # as if it had never been away
        return found

    with monkeypatch.context() as patched:
        patched.setattr(lake, "read_files", listed)
        with pytest.raises(EngineFailure):
            counted(engine, asked(), place)

    def gone(self, tables, act):
        os.unlink(part)

    with monkeypatch.context() as patched:
        patched.setattr(SparkEngine, "_once", gone)
        with pytest.raises(EngineFailure):
            counted(engine, asked(), place)


def test_a_spark_that_was_stopped_and_one_that_died(spark_engine, place):
    """Stopped, or its Java killed in the middle of a question: that question fails, the next one works."""
    spark_engine.session().sparkContext.stop()
    start(spark_engine)
    [[rows]] = counted(spark_engine, asked(), place)
    assert rows == 100
    java = spark_engine.session().sparkContext._gateway.proc.pid
    threading.Timer(3.0, lambda: os.kill(java, signal.SIGKILL)).start()
    forever = TableLocations(files={Scan(table="people", version=1): place})

    def long(session, names):
        session.sql(f"SELECT count(*) FROM {LONG}").collect()

    with pytest.raises(EngineFailure):
        spark_engine._run_query(forever, long, "the declared table could not be counted")
    start(spark_engine)
    spark_engine.ready(forever)
    [rows] = spark_engine.count(asked(), Region.whole(), tables=forever).exact_values
    assert rows.tolist() == [100]
    assert CANARY not in log().read_text()


def test_a_child_has_a_spark_of_its_own():
    """After a fork the parent's Java is the parent's: a child lets go of it and does not stop it."""
    script = f"""
import os
from discreet.engines.spark import session as module
from discreet.engines.spark.spark_engine import SparkEngine
context = __import__("pyspark").SparkContext
module._STARTED["process"] = os.getppid()
context._active_spark_context = object()
engine = SparkEngine({ADDRESS!r})
module._abandon_java()
assert context._active_spark_context is None and not module._STARTED
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)
