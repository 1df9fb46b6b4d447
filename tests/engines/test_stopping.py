"""A question that runs is stopped from another thread, and the next one is not."""

import threading
import time
from contextlib import contextmanager
from fractions import Fraction

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from clinic import make
from discreet.engines.duckdb import DuckDBEngine
from discreet.engines.engine import EngineFailure
from discreet.engines.stop_signal import Stopped, StopSignal, check_stop, interrupting, is_stop_requested, stoppable_by
from discreet.errors import QueryFailed
from discreet.sql.sql_writer import SqlWriter
from engines.asking import asked, counted
from kernel.test_program import BUDGET, LINES, cut_of, start
from synth.worlds import PEOPLE, open_project

SLOW = "SELECT 0 AS cell, count(*) AS s0 FROM range(100000000000) WHERE range % 7 = 3"
COUNT = "select count(*) from patients"


@contextmanager
def slow(stop):
    """Whatever is counted, it takes minutes; and a moment after it begins, the stop is pulled."""
    timers = []

    def count(self, cells, region):
        timers.append(threading.Timer(0.3, stop.request))
        timers[0].start()
        return SLOW

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SqlWriter, "count", count)
        yield
    timers[0].join()


@pytest.fixture
def file(tmp_path):
    pq.write_table(pa.table({"age": pa.array([1, 2, 2, None], pa.int8())}), tmp_path / "t.parquet")
    return tmp_path / "t.parquet"


def test_a_pulled_stop_interrupts_duckdb(file):
    engine, stop = DuckDBEngine(threads=1), StopSignal()
    begun = time.monotonic()
    with slow(stop), pytest.raises(EngineFailure), stoppable_by(stop):
        counted(engine, asked(), file)
    assert 0.25 < time.monotonic() - begun < 20
    assert counted(engine, asked(), file)[0].tolist() == [4], "another question on the same database"
    engine.close()


def test_one_that_was_pulled_before_stops_the_engine_before_it_starts(file, monkeypatch):
    engine, stop = DuckDBEngine(threads=1), StopSignal()
    stop.request()
    monkeypatch.setattr(SqlWriter, "count", lambda self, cells, region: pytest.fail("it was asked"))
    with pytest.raises(EngineFailure) as told, stoppable_by(stop):
        counted(engine, asked(), file)
    assert isinstance(told.value.__cause__, Stopped)
    engine.close()


def test_an_interrupt_that_the_engine_forgets_is_repeated():
    stop, heard = StopSignal(), []
    with stoppable_by(stop), interrupting(lambda: heard.append(len(heard))):
        stop.request()
        until = time.monotonic() + 10
        while len(heard) < 3 and time.monotonic() < until:
            time.sleep(0.01)
    assert len(heard) >= 3
    known = len(heard)
    time.sleep(0.2)
    assert len(heard) == known, "after its end nothing is interrupted: the connection is another's"


def test_one_that_raises_hides_no_other():
    stop, heard = StopSignal(), threading.Event()

    def broken():
        raise OSError

    with stop.interrupting(broken), stop.interrupting(heard.set):
        stop.request()
        assert heard.wait(10)


def test_a_thread_carries_its_own():
    one, other = StopSignal(), StopSignal()
    assert not is_stop_requested()
    check_stop()
    with stoppable_by(one):
        with stoppable_by(other):
            other.request()
            assert is_stop_requested()
            with pytest.raises(Stopped, match="before anything was charged"):
                check_stop()
        assert not is_stop_requested()
        seen = []
        thread = threading.Thread(target=lambda: seen.append(is_stop_requested()))
        thread.start()
        thread.join()
        assert seen == [False]
    with interrupting(pytest.fail):
        pass


def kinds(project):
    return [entry.kind for entry in project.ledger.entries()]


def test_before_the_charge_it_is_free(tmp_path):
    project, stop = make(tmp_path), StopSignal()
    project.version("patients")
    stop.request()
    with stoppable_by(stop), pytest.raises(Stopped):
        project.sql(COUNT).ask(epsilon="0.1")
    assert "charge" not in kinds(project)
    assert project.sql(COUNT).ask(epsilon="0.1").cost.epsilon > 0


def test_after_the_charge_it_stays_and_locks_nobody_out(tmp_path):
    project = make(tmp_path)
    project.version("patients")
    for turn in range(4):
        stop = StopSignal()
        with slow(stop), stoppable_by(stop), pytest.raises(QueryFailed) as told:
            project.sql(COUNT).ask(epsilon="0.1", fresh=True)
        assert str(told.value) == str(QueryFailed())
        assert kinds(project).count("charge") == turn + 1
    assert kinds(project)[-2:] == ["charge", "failure"]
    assert project.budget("patients").spent.epsilon == pytest.approx(0.4)
    assert not project.ledger.is_locked("patients")
    assert len(project.sql(COUNT).ask(epsilon="0.1")) == 1
    assert project.verify().sound


def test_a_failure_without_a_stop_still_counts(tmp_path, monkeypatch):
    project = make(tmp_path)
    project.version("patients")
    monkeypatch.setattr(SqlWriter, "count", lambda self, cells, region: "no SQL")
    for _ in range(3):
        with stoppable_by(StopSignal()), pytest.raises(QueryFailed):
            project.sql(COUNT).ask(epsilon="0.1", fresh=True)
    assert project.ledger.is_locked("patients")


def test_a_stopped_step_of_a_program_is_taken_again_and_paid_once(tmp_path):
    """Like one whose process died: nobody saw its draw, so the reservation goes on, and the table is not locked."""
    project = open_project(tmp_path, PEOPLE, LINES, budget=BUDGET)
    program = start(project)
    for _ in range(4):
        stop = StopSignal()
        stop.request()
        with stoppable_by(stop), pytest.raises(QueryFailed):
            cut_of(program).measure([(0,)], [program.law(Fraction(1, 4))])
    assert kinds(project).count("charge") == 1 and not project.ledger.is_locked("people")
    again = start(project)
    assert again.id == program.id
    first = cut_of(again).measure([(0,)], [again.law(Fraction(1, 4))])
    assert len(project.ledger.reservation(again.id).steps) == 1
    repeated = cut_of(start(project)).measure([(0,)], [again.law(Fraction(1, 4))])
    assert first[0].tolist() == repeated[0].tolist()
