"""A question that Spark counts, and a table that it makes, are stopped from another thread, and its jobs with them."""

import threading
import time
from pathlib import Path

import pyarrow as pa
import pytest

from discreet.engines.engine import EngineFailure
from discreet.engines.spark import declared_table
from discreet.engines.spark import spark_engine as module
from discreet.engines.stop_signal import Stopped, StopSignal, stoppable_by
from discreet.schema.privacy_unit import PrivacyUnit
from discreet.schema.schema import Schema, Table
from engines.asking import asked, counted
from engines.spark.server import load, spark_tests
from engines.spark.test_failures import AGE, LONG, place

__all__ = ["place"]

pytestmark = spark_tests


def test_a_pulled_stop_ends_the_job(spark_engine, place, monkeypatch):
    stop = StopSignal()

    def count(self, cells, region):
        threading.Timer(1.0, stop.request).start()
        return f"SELECT 0 AS cell, count(*) AS s0 FROM {LONG}"

    with monkeypatch.context() as patch:
        patch.setattr(module.SqlWriter, "count", count)
        begun = time.monotonic()
        with pytest.raises(EngineFailure), stoppable_by(stop):
            counted(spark_engine, asked(), place)
    assert time.monotonic() - begun < 100, "its deadline is later"
    [[rows]] = counted(spark_engine, asked(), place)
    assert rows == 100
    assert not spark_engine.session().sparkContext.statusTracker().getActiveJobsIds()


def test_a_table_that_is_made_is_stopped_and_leaves_nothing(spark_engine, tmp_path, monkeypatch):
    schema = Schema(table="people", columns=(AGE,), unit=PrivacyUnit())
    source = load(pa.table({"age": list(range(100))}), tmp_path)
    table = Table(schema=schema, source=source, population="people", budget=None)
    target, stop = spark_engine.place("stopped.lake", folder=tmp_path), StopSignal()
    write = declared_table.write

    def endless(frame, *given, **how):
        threading.Timer(1.0, stop.request).start()
        write(spark_engine.session().sql(f"SELECT id AS stored_0 FROM {LONG}"), *given, **how)

    with monkeypatch.context() as patch:
        patch.setattr(declared_table, "write", endless)
        with stoppable_by(stop), pytest.raises(Stopped):
            spark_engine.declare(table, folder=tmp_path, target=target)
    assert not Path(target.folder).exists()
    assert not spark_engine.session().sparkContext.statusTracker().getActiveJobsIds()
    assert spark_engine.declare(table, folder=tmp_path, target=target).exact_rows == 100
