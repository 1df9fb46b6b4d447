"""A question that Spark counts is stopped from another thread, and its job with it."""

import threading
import time

import pytest

from discreet.engines.engine import EngineFailure
from discreet.engines.spark import spark_engine as module
from discreet.engines.stop_signal import StopSignal, stoppable_by
from engines.asking import asked, counted
from engines.spark.server import spark_tests
from engines.spark.test_failures import LONG, place

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
