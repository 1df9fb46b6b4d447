"""A PostgreSQL server keeps the deadline itself, and the curator knows that it was that."""

import threading
import time

import psycopg
import pytest

from discreet.accounting.region import Region
from discreet.engines import deadline
from discreet.engines.engine import EngineFailure
from discreet.engines.postgres import session as session_module
from discreet.engines.postgres.postgres_engine import PostgresEngine
from engines.postgres.people import CELLS
from engines.postgres.server import lying
from engines.postgres.test_sessions import query


@pytest.mark.parametrize(
    ("sql", "deadline_s", "is_late"),
    [
        ("SELECT 0 AS cell, pg_sleep(47)::text AS s0", 0.5, True),
        ("SELECT 0 AS cell, 1 / 0 AS s0", 30, False),
    ],
)
def test_it_is_noted(made, postgres_address, monkeypatch, sql, deadline_s, is_late):
    _, place = made
    engine = PostgresEngine(postgres_address, deadline_s=deadline_s)
    query(monkeypatch, sql)
    with deadline.watch_deadline() as kept, pytest.raises(EngineFailure):
        engine.count(CELLS, Region.whole(), tables=lying(CELLS.plan, place))
    assert kept.passed is is_late
    engine.close()


def test_it_is_noted_where_the_server_does_not_keep_it(made, postgres_address, monkeypatch):
    """Then the connection is cut from here, and a cut alone would look like any other failure."""
    _, place = made
    engine = PostgresEngine(postgres_address, deadline_s=0.3)
    monkeypatch.setattr(session_module, "GRACE_S", 0.2)
    told = session_module._value  # a server that is told of no deadline keeps none
    monkeypatch.setattr(
        session_module, "_value", lambda name, value: "0" if name == "statement_timeout" else told(name, value)
    )
    query(monkeypatch, "SELECT 0 AS cell, pg_sleep(45)::text AS s0")
    with deadline.watch_deadline() as kept, pytest.raises(EngineFailure):
        engine.count(CELLS, Region.whole(), tables=lying(CELLS.plan, place))
    assert kept.passed
    engine.close()


def test_what_somebody_cancels_at_the_server_is_not_late(made, postgres_address, monkeypatch):
    _, place = made
    engine = PostgresEngine(postgres_address, deadline_s=60)
    query(monkeypatch, "SELECT 0 AS cell, pg_sleep(46)::text AS s0")

    def cancel():
        with psycopg.connect(postgres_address, autocommit=True) as raw:
            until = time.monotonic() + 20
            found = "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE query LIKE '%%pg_sleep(46)%%' "
            found += "AND state = 'active' AND pid <> pg_backend_pid()"
            while not raw.execute(found).fetchall() and time.monotonic() < until:
                time.sleep(0.05)

    thread = threading.Thread(target=cancel)
    thread.start()
    with deadline.watch_deadline() as kept, pytest.raises(EngineFailure):
        engine.count(CELLS, Region.whole(), tables=lying(CELLS.plan, place))
    thread.join()
    assert not kept.passed
    engine.close()
