"""Sessions, snapshots and deadlines; what is said when a server fails after a charge: nothing."""

import logging
import multiprocessing
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import psycopg
import pytest

from discreet.accounting.region import Region
from discreet.engines.engine import EngineFailure
from discreet.engines.postgres import declared_table as declare_module
from discreet.engines.postgres import session as session_module
from discreet.engines.postgres.cell_queries import _PostgresTableNames
from discreet.engines.postgres.postgres_engine import PostgresEngine
from discreet.engines.postgres.session import PostgresSessionPool
from discreet.errors import UsageError
from discreet.sql.sql_writer import SqlWriter
from engines.postgres.people import CELLS, total, words
from engines.postgres.server import NOWHERE, execute, load, lying, new_name


def query(monkeypatch, sql):
    """Whatever is counted, this is what is asked instead."""
    monkeypatch.setattr(SqlWriter, "count", lambda self, cells, region: (self.names.scan(cells.plan), sql)[1])


FAILING = {
    "a cell that is no number": "SELECT note::integer AS cell, 1 AS s0 FROM {}",
    "a division": "SELECT age / 0 AS cell, 1 AS s0 FROM {}",
    "a pattern": "SELECT count(*) AS cell, 1 AS s0 FROM {} WHERE note LIKE 'stripe\\'",
    "a cell that is none": "SELECT 11 AS cell, count(*) AS s0 FROM {}",
    "a text for a number": "SELECT note AS cell, 1 AS s0 FROM {}",
    "NULL for a number": "SELECT NULL::bigint AS cell, 1 AS s0 FROM {}",
    "no such column": "SELECT stripe AS cell FROM {}",
    "no SQL": "stripe {}",
}


@pytest.mark.parametrize("what", FAILING)
def test_after_the_charge_a_failure_tells_nothing(engine, made, monkeypatch, caplog, capfd, what):
    _, place = made
    tables = lying(CELLS.plan, place)
    with monkeypatch.context() as patch, caplog.at_level(logging.DEBUG):
        query(patch, FAILING[what].format(f'discreet."{place.name}"'))
        with pytest.raises(EngineFailure) as told:
            engine.count(CELLS, Region.whole(), tables=tables)
    said = words(told.value) + caplog.text + "".join(capfd.readouterr())
    assert str(told.value) == "the declared table could not be counted"
    assert "stripe" not in said and "918" not in said
    assert total(engine, place) == 30, "the next question works"


def test_a_deadline(made, postgres_address, monkeypatch):
    _, place = made
    engine = PostgresEngine(postgres_address, deadline_s=0.3)
    with monkeypatch.context() as patch:
        query(patch, "SELECT 0 AS cell, pg_sleep(20)::text AS s0")
        begun = time.monotonic()
        with pytest.raises(EngineFailure) as told:
            engine.count(CELLS, Region.whole(), tables=lying(CELLS.plan, place))
    assert time.monotonic() - begun < 10
    assert str(told.value.__cause__) == "57014"
    engine._deadline_s = 60  # for however busy a machine
    assert total(engine, place) == 30
    engine.close()


def test_a_server_that_does_not_keep_its_deadline_is_cut_off(made, postgres_address, monkeypatch):
    _, place = made
    engine = PostgresEngine(postgres_address, deadline_s=0.3)
    with monkeypatch.context() as patch:
        patch.setattr(session_module, "GRACE_S", 0.2)
        query(patch, "SELECT set_config('statement_timeout', '0', true), pg_sleep(20)")
        begun = time.monotonic()
        with pytest.raises(EngineFailure):
            engine.count(CELLS, Region.whole(), tables=lying(CELLS.plan, place))
    assert time.monotonic() - begun < 10
    engine._deadline_s = 60
    assert total(engine, place) == 30
    engine.close()


def test_a_killed_backend(made, engine, postgres_address, monkeypatch):
    """In the middle of a question, and while it was waiting for one."""
    _, place = made
    kill = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'discreet' AND query LIKE '%{}%'"
    with monkeypatch.context() as patch:
        query(patch, "SELECT 0 AS cell, 1 AS s0, pg_sleep(21)::text AS t")

        def killer():
            for _ in range(200):
                if execute(postgres_address, kill.format("pg_sleep(21)")):
                    return
                time.sleep(0.05)

        thread = threading.Thread(target=killer)
        thread.start()
        with pytest.raises(EngineFailure) as told:
            engine.count(CELLS, Region.whole(), tables=lying(CELLS.plan, place))
        thread.join()
    assert str(told.value.__cause__) in ("57P01", "08006")
    assert total(engine, place) == 30, "the next question works"
    killed = execute(
        postgres_address,
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'discreet'",
    )
    assert killed
    assert total(engine, place) == 30, "a connection that died while nobody used it is replaced"


def test_one_snapshot(made, engine, postgres_address, monkeypatch):
    """Rows that another session inserts between two statements of a transaction are not seen."""
    table, _ = made
    name = load(postgres_address, [{"age": 1, "note": "a"}])
    source = replace(table, source=name)
    place = engine.place(new_name("made"), folder=NOWHERE)

    def late(*given, act=declare_module._code):
        execute(postgres_address, f"INSERT INTO {name} VALUES (2, 'late')")
        act(*given)
        execute(postgres_address, f"INSERT INTO {name} VALUES (3, 'later')")

    monkeypatch.setattr(declare_module, "_code", late)
    assert engine.declare(source, folder=NOWHERE, target=place).exact_rows == 1


def test_a_truncated_table_is_not_seen_as_empty(made, engine, postgres_address, monkeypatch):
    """A TRUNCATE waits until the making is over, because the source is locked first."""
    table, _ = made
    name = load(postgres_address, [{"age": 1, "note": "a"}])
    place = engine.place(new_name("made"), folder=NOWHERE)
    waited = []

    def late(*given, act=declare_module._code):
        try:
            execute(postgres_address, "SET lock_timeout = '200ms'", f"TRUNCATE {name}")
        except psycopg.errors.LockNotAvailable:
            waited.append(True)
        act(*given)

    def truncated(problem):
        with monkeypatch.context() as patch:
            patch.setattr(declare_module, "_code", late)
            problem(patch)
            return engine.declare(replace(table, source=name), folder=NOWHERE, target=place).exact_rows

    assert truncated(lambda patch: None) == 1 and waited
    engine.drop(place)
    # The bug that it is for: without the lock the table is empty, though the snapshot is older.
    assert (
        truncated(lambda patch: patch.setattr("discreet.engines.postgres.postgres_engine._locks", lambda chain: []))
        == 0
    )


def snapshots(address, name, **bug):
    """What the two statements of a transaction count, with a row inserted between them."""
    sessions = PostgresSessionPool(address)
    with sessions.session() as session, session.transaction(read_only=True, deadline_s=5, **bug):
        found = [session.connection.execute(f"SELECT count(*) FROM public.{name}").fetchone()[0]]
        execute(address, f"INSERT INTO public.{name} VALUES (1)")
        found.append(session.connection.execute(f"SELECT count(*) FROM public.{name}").fetchone()[0])
    sessions.close()
    return found


def test_locks_come_before_the_snapshot(postgres_address):
    """What others commit after BEGIN, SET and LOCK, and before the first SELECT, is seen."""
    name = load(postgres_address, [{"age": 1}])
    sessions = PostgresSessionPool(postgres_address)
    with sessions.session() as session, session.transaction(read_only=True, deadline_s=5, locks=[f"public.{name}"]):
        execute(postgres_address, f"INSERT INTO public.{name} VALUES (1)")
        assert session.connection.execute(f"SELECT count(*) FROM public.{name}").fetchone() == (2,)
        with pytest.raises(psycopg.errors.LockNotAvailable):
            execute(postgres_address, "SET lock_timeout = '100ms'", f"TRUNCATE public.{name}")
    sessions.close()


def test_questions_read_one_snapshot_and_write_nothing(postgres_address, monkeypatch):
    name = load(postgres_address, [{"age": 1}])
    assert snapshots(postgres_address, name) == [1, 1]
    execute_ = psycopg.Connection.execute
    loose = lambda self, sql, *more: execute_(self, sql.replace("REPEATABLE READ", "READ COMMITTED"), *more)  # noqa: E731
    with monkeypatch.context() as patch:
        patch.setattr(psycopg.Connection, "execute", loose)
        assert snapshots(postgres_address, name) == [2, 3], "the bug that it is for"
    sessions = PostgresSessionPool(postgres_address)
    with sessions.session() as session:
        for write in ("CREATE TABLE public.never (x int)", f"DELETE FROM public.{name}"):
            with (
                pytest.raises(psycopg.errors.ReadOnlySqlTransaction),
                session.transaction(read_only=True, deadline_s=5),
            ):
                session.connection.execute(write)
    sessions.close()


def test_the_tables_of_a_question_are_locked_before_its_snapshot(made, engine, postgres_address, monkeypatch):
    """Dropped between the lock and the SELECT: it waits."""
    _, place = made
    began = []

    def late(self, session, sql, deadline_s, *, act=_PostgresTableNames.execute):
        began.append(self.locks)
        return act(self, session, sql, deadline_s)

    monkeypatch.setattr(_PostgresTableNames, "execute", late)
    assert total(engine, place) == 30
    assert began == [[f'"discreet"."{place.name}"']]


def test_eight_threads(made, engine, postgres_address):
    _, place = made
    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(lambda _: total(engine, place), range(64))) == {30}
    kept = len(engine._sessions._kept)
    assert 1 <= kept <= 8


def _child(address, place, engine, results):
    """In another process: the parent's connections are not its own."""
    results.put(total(engine, place))
    results.put(len(session_module._ABANDONED))


def test_after_a_fork_the_child_opens_its_own(made, engine, postgres_address):
    _, place = made
    assert total(engine, place) == 30
    fork = multiprocessing.get_context("fork")
    results = fork.Queue()
    child = fork.Process(target=_child, args=(postgres_address, place, engine, results))
    child.start()
    assert results.get(timeout=30) == 30
    assert results.get(timeout=30) == 1
    child.join(30)
    assert child.exitcode == 0
    assert total(engine, place) == 30, "the parent's session lives on"


def test_a_making_that_is_cut_off_leaves_nothing(made, engine, postgres_address, monkeypatch):
    """In its middle, and when it is committed and nobody hears of it."""
    table, _ = made
    kill = "SELECT pg_terminate_backend({})"
    commit = psycopg.Connection.execute

    def late(session, *given, act=declare_module._conversion_counts):
        execute(postgres_address, kill.format(session.connection.info.backend_pid))
        return act(session, *given)

    def unheard(self, sql, *more, **how):
        found = commit(self, sql, *more, **how)
        if sql == "COMMIT":
            self.pgconn.finish()
            raise psycopg.OperationalError
        return found

    for name, owner, bug in (("_conversion_counts", declare_module, late), ("execute", psycopg.Connection, unheard)):
        place = engine.place(new_name("made"), folder=NOWHERE)
        with monkeypatch.context() as patch:
            patch.setattr(owner, name, bug)
            with pytest.raises(UsageError, match="connection to the PostgreSQL server was lost"):
                engine.declare(table, folder=NOWHERE, target=place)
        assert execute(postgres_address, f"SELECT to_regclass('discreet.{place.name}')") == [(None,)]
    assert engine.declare(table, folder=NOWHERE, target=place).exact_rows == 30
