"""A question that a PostgreSQL server counts is stopped there, and the next session is another."""

import threading
import time

import psycopg
import pytest

from discreet.accounting.region import Region
from discreet.engines.engine import EngineFailure
from discreet.engines.postgres.postgres_engine import PostgresEngine
from discreet.engines.stop_signal import StopSignal, stoppable_by
from engines.postgres.people import CELLS, total
from engines.postgres.server import lying
from engines.postgres.test_sessions import query

MARK = "SELECT 0 AS cell, pg_sleep(57)::text AS s0"


def test_the_server_stops_too(made, postgres_address, monkeypatch):
    _, place = made
    engine, stop = PostgresEngine(postgres_address, deadline_s=60), StopSignal()
    assert total(engine, place) == 30, "a session is kept"
    timer = threading.Timer(0.3, stop.request)
    with monkeypatch.context() as patch:
        query(patch, MARK)
        timer.start()
        begun = time.monotonic()
        with pytest.raises(EngineFailure) as told, stoppable_by(stop):
            engine.count(CELLS, Region.whole(), tables=lying(CELLS.plan, place))
    assert time.monotonic() - begun < 20
    assert str(told.value) == "the declared table could not be counted"
    timer.join()
    assert [total(engine, place) for _ in range(5)] == [30] * 5
    with psycopg.connect(postgres_address) as raw:
        until = time.monotonic() + 10
        while time.monotonic() < until:
            still = "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%%pg_sleep(57)%%'"
            (running,) = raw.execute(still + " AND pid <> pg_backend_pid()").fetchone()
            if not running:
                break
        assert not running
    engine.close()
