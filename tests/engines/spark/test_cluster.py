"""A cluster that is one: a master and three workers, each a process; executors that die, hang, or do the work twice.

Nothing here has a Python of its own, nothing runs in the driver, and speculation is on in every test: a task that takes
longer than others runs a second time. A question brings the exact totals of the reference, or it fails; never others.
"""

import itertools
import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.engines.engine import EngineFailure, TableLocations
from discreet.engines.spark import cluster_executors, session
from discreet.engines.spark import spark_engine as module
from discreet.engines.spark.lake import LakeTable
from discreet.engines.spark.lake_store import DiskStore
from discreet.engines.spark.spark_engine import SparkEngine
from discreet.engines.spark.spark_source import SparkSource
from discreet.errors import UsageError
from discreet.plan.relation import Scan
from discreet.schema.column import NumberColumn, TextColumn
from discreet.schema.privacy_unit import PrivacyUnit
from discreet.schema.schema import Schema, Table
from engines.asking import asked, counted, width_axis
from engines.conformance.fixtures import reference
from engines.conformance.grounds import Shore
from engines.conformance.test_questions import CORE, FEW, MANY, answered, asking
from engines.spark import server as spark
from engines.spark.server import load, spark_tests
from engines.spark.standalone_cluster import DEFAULTS, running_cluster, slow, wait
from engines.spark.test_failures import LONG
from engines.spark.test_persons import agree, edges, table, visits
from laws.neighbours import Law
from laws.test_neighbours_packed import packed

__all__ = ["reference"]

pytestmark = spark_tests

CANARY = "a-cell-that-nobody-may-see"
AGE, NOTE = NumberColumn(name="age", type="integer", low=0, high=120), TextColumn(name="note")

#: A second attempt of every task that takes longer than the first ones that are done.
TWICE = {
    "spark.speculation": "true",
    "spark.speculation.interval": "100ms",
    "spark.speculation.quantile": "0.3",
    "spark.speculation.multiplier": "1.1",
    "spark.speculation.minTaskRuntime": "200ms",
    "spark.sql.files.minPartitionNum": "6",
    "spark.ui.retainedStages": "100000",  # of which `killed_tasks` asks
    "spark.ui.liveUpdate.period": "0",  # else `done_tasks` may learn of a task when its stage is over
}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    with running_cluster(tmp_path_factory.mktemp("cluster")) as found:
        yield found


@pytest.fixture(scope="module")
def driver(cluster):
    """The engine, its driver in this process. The Spark that other tests have here ends before."""
    if spark.engine.cache_info().currsize:
        spark.engine().close()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", "/nowhere/python")
        patch.setattr(session, "DRIVER", {**session.DRIVER, **DEFAULTS, **TWICE})
        found = SparkEngine(cluster.address, deadline_s=120.0, memory_mb=1024)
        yield found
        found.close()


@pytest.fixture
def engine(driver, cluster):
    """The same, with three executors."""
    while len(cluster.workers) < 3:
        cluster.add_worker()
    if not session.is_alive(driver.session()):
        driver.session()
    wait(lambda: driver.session().sparkContext._jsc.sc().getExecutorMemoryStatus().size() == 4)
    return driver


@pytest.fixture
def place(engine, tmp_path):
    """Sixty rows in six files."""
    rows = pa.table({"age": list(range(60)), "note": [f"{CANARY} {number}" for number in range(60)]})
    schema = Schema(table="people", columns=(AGE, NOTE), unit=PrivacyUnit())
    given = Table(schema=schema, source=load(rows, tmp_path, files=6), population="people", budget=None)
    found = engine.place("people.lake", folder=tmp_path)
    engine.declare(given, folder=tmp_path, target=found)
    return found


BY_AGE = asked(axes=(width_axis(AGE, 10),))


@pytest.fixture
def slowly(monkeypatch):
    """Declared tables, and sources, whose rows come slowly."""
    rows, frame = LakeTable.rows, SparkSource.frame
    monkeypatch.setattr(LakeTable, "rows", lambda self, *given: slow(rows(self, *given), 400))
    monkeypatch.setattr(SparkSource, "frame", lambda self, *given: slow(frame(self, *given), 300))


def active_stages(engine):
    """The stages at work."""
    tracker = engine.session().sparkContext.statusTracker()
    return list(filter(None, (tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds())))


def done_tasks(engine):
    """How many tasks of the stages at work are done."""
    return sum(stage.numCompletedTasks for stage in active_stages(engine))


def running_tasks(engine):
    """How many tasks run."""
    return sum(stage.numActiveTasks for stage in active_stages(engine))


def check_nothing_runs(engine):
    """No job, and no executor with a task."""
    context = engine.session().sparkContext
    assert not context.statusTracker().getActiveJobsIds()
    executors = lambda: context._jsc.sc().statusTracker().getExecutorInfos()  # noqa: E731
    wait(lambda: not any(executor.numRunningTasks() for executor in executors()))


@contextmanager
def meanwhile(act):
    """Something is done while another thread acts."""
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(act)
        yield future
        future.result()


# What it brings, without any accident


def test_the_references_cells(engine, reference, tmp_path):
    """Every second question; all 52 were asked once by hand."""
    answered(asking(reference, Shore(name="spark", engine=engine, folder=tmp_path), "full"), (*FEW, *CORE, *MANY)[::2])


def test_neighbours(engine, tmp_path):
    law = Law(weigh=False)
    assert packed(tmp_path, Shore(name="spark", engine=engine, folder=tmp_path), questions=8, number=0, law=law)
    assert any(law.seen.values()), law.seen


def test_a_failure_is_in_no_log_of_an_executor(engine, place, cluster, monkeypatch):
    """It was, on three workers: what a driver closes in its own Java stays open in theirs."""
    sql = "SELECT CAST(note AS INT) AS cell, count(*) AS s0 FROM {} GROUP BY 1"
    monkeypatch.setattr(module.SqlWriter, "count", lambda self, cells, region: sql.format(self.names.scan(cells.plan)))
    with pytest.raises(EngineFailure) as caught:
        counted(engine, asked(), place)
    assert CANARY in str(caught.value.__cause__)
    logs = cluster.written()
    assert "CoarseGrainedExecutorBackend" in logs and CANARY not in logs


def test_small_tables_need_no_python(engine):
    """An empty one did: pyspark makes it of a list."""
    from discreet.engines.spark.broadcast_table import broadcast_frame

    for rows in ([], [1, 2]):
        frame = broadcast_frame(engine.session(), pa.table({"code": pa.array(rows, pa.int64())}))
        assert frame.toArrow().column("code").to_pylist() == rows


# Accidents in the middle of a question


def test_a_worker_dies(engine, place, cluster, slowly):
    """What it had counted is counted again."""
    with meanwhile(lambda: counted(engine, BY_AGE, place)) as future:
        wait(lambda: future.done() or done_tasks(engine) >= 2)
        assert not future.done()
        cluster.kill(cluster.workers[0])
    [rows] = future.result()
    assert rows.tolist()[:6] == [10] * 6 and sum(rows) == 60


def test_an_executor_dies_between_two_stages(engine, place, cluster, monkeypatch):
    """Its half of a shuffle is gone, and is made again."""
    # The second stage waits, so that the first one is over when the executors die.
    late = "coalesce(java_method('java.lang.Thread', 'sleep', 1500L), '') <> 'never'"
    count = module.SqlWriter.count
    monkeypatch.setattr(
        module.SqlWriter, "count", lambda self, *given: f"SELECT * FROM ({count(self, *given)}) WHERE {late}"
    )
    with meanwhile(lambda: counted(engine, BY_AGE, place)) as future:
        wait(lambda: engine.session().sparkContext.statusTracker().getActiveJobsIds())
        time.sleep(1.0)
        for pid in cluster.running_executors()[:2]:
            os.kill(pid, signal.SIGKILL)
    [rows] = future.result()
    assert rows.tolist()[:6] == [10] * 6 and sum(rows) == 60


def has_twins(engine, since=0):
    """Whether a task of a stage with such a number ran twice: one attempt was killed, since the other had succeeded."""
    return any("another attempt succeeded" in reason for _, reason in killed_tasks(engine, since))


def killed_tasks(engine, since=0):
    """The stages from a number on, and why tasks of theirs were killed. Not every number is one's: a few are tried."""
    store = engine.session().sparkContext._jsc.sc().statusStore()
    last = since
    for stage in itertools.takewhile(lambda number: number < last + 50, itertools.count(since)):
        with suppress(Exception):  # there is no such stage
            yield stage, str(store.lastStageAttempt(stage).killedTasksSummary())
            last = stage


def test_a_making_whose_tasks_run_twice_while_executors_hang_and_die(engine, cluster, tmp_path, slowly):
    """The very rows that the reference keeps: which ones are kept hangs on the data and the key, on no attempt."""
    rows = pa.concat_tables([visits(id=(pa.string(), ["a", "b", "c", "d", None])), edges()])
    pq.write_table(rows, tmp_path / "whole.parquet")
    source = load(rows, tmp_path, files=6)
    unit = PrivacyUnit(person=("id",), rows=2)
    ended, since = threading.Event(), max((stage for stage, _ in killed_tasks(engine)), default=0)

    def accidents():
        hanging, dying = cluster.running_executors()[:2]
        while not (ended.is_set() or has_twins(engine, since)):
            wait(lambda: ended.is_set() or running_tasks(engine) >= 3)  # one of them is on each executor
            os.kill(hanging, signal.SIGSTOP)
            time.sleep(12.0)
            os.kill(hanging, signal.SIGCONT)
            time.sleep(1.0)
        os.kill(dying, signal.SIGKILL)

    with meanwhile(accidents):
        found = agree(engine, lambda source: table(source, unit), source, tmp_path)
        ended.set()
    assert has_twins(engine, since), "a task ran twice"
    assert not [name for name in os.listdir(found.folder) if name.startswith("work-")]


def test_cancelled_questions_leave_nothing_running(engine, place, monkeypatch):
    sql = f"SELECT 0 AS cell, count(*) AS s0 FROM {LONG}"
    with monkeypatch.context() as patch:
        patch.setattr(module.SqlWriter, "count", lambda self, cells, region: sql)
        patch.setattr(engine, "_deadline_s", 3.0)
        with pytest.raises(EngineFailure):
            counted(engine, asked(), place)
    check_nothing_runs(engine)
    [[rows]] = counted(engine, asked(), place)
    assert rows == 60


# What an executor writes to a disk that nobody else sees


def test_what_an_executor_wrote_elsewhere_is_missed(engine, tmp_path, monkeypatch):
    """Of each part one file is not there, as if its executor had another disk: no table is made, and none replaced."""
    from discreet.engines.spark.lake_erasure import erase
    from engines.spark.test_persons import contents

    rows = visits(id=(pa.string(), [f"p{number}" for number in range(40)]))
    source, unit, part = load(rows, tmp_path, files=6), PrivacyUnit(person=("id",), rows=2), LakeTable.part
    given = table(source, unit)
    keys = {"key": b"k" * 32, "tag_key": b"t" * 32}

    def lost(kind):
        """Once for each part that is new."""

        def parted(self, folder):
            path = Path(self.folder) / folder
            files = sorted(path.glob("part-*.parquet"))
            if folder.startswith(kind) and folder not in old and (path / "_SUCCESS").exists():
                (path / "_SUCCESS").unlink()
                pq.write_table(pq.read_table(files[-1]).slice(1), files[-1])
                path.joinpath(f".{files[-1].name}.crc").unlink(missing_ok=True)
            return part(self, folder)

        return parted

    made = engine.place("made.lake", folder=tmp_path)
    engine.declare(given, folder=tmp_path, target=made, **keys)
    old = os.listdir(made.folder)
    before, tags = contents(made), [row["tag"] for row in spark.side(made)[:3]]
    for kind in ("rows", "persons"):
        with monkeypatch.context() as patch:
            patch.setattr(LakeTable, "part", lost(kind))
            place = engine.place(f"{kind}.lake", folder=tmp_path)
            with pytest.raises(UsageError):
                engine.declare(given, folder=tmp_path, target=place, **keys)
            assert not os.path.exists(place.folder)
            with pytest.raises(UsageError, match="could not write what is left"):
                erase(engine.session, engine._table(made), tags)
            assert contents(made) == before
    assert erase(engine.session, engine._table(made), tags) == 3


def test_one_executor_that_sees_another_disk(engine, tmp_path, monkeypatch):
    """Its word is missing, whoever else finds theirs."""
    write, made = DiskStore.write, []

    def elsewhere(self, path, content):
        write(self, path, content)
        made.append(path)
        if path.endswith("seen-1"):
            os.truncate(path, 0)

    monkeypatch.setattr(DiskStore, "write", elsewhere)
    with pytest.raises(UsageError, match="does not see the folder of declared tables"):
        module.check_folder_shared(engine.session(), DiskStore(), str(tmp_path))
    assert len(made) >= 3 and not os.listdir(tmp_path)


# Nobody is there


def test_a_cluster_without_executors_is_refused_before_a_charge(engine, place, cluster, monkeypatch):
    monkeypatch.setattr(cluster_executors, "PATIENCE_S", 3.0)
    tables = TableLocations(files={Scan(table="people", version=1): place})
    for worker in list(cluster.workers):
        cluster.kill(worker)
    wait(lambda: not cluster_executors.has_executors(engine.session()))
    with pytest.raises(UsageError, match="no executor of this Spark answers"):
        engine.ready(tables)
    monkeypatch.undo()
    cluster.add_worker()
    engine.ready(tables)
    [[rows]] = counted(engine, asked(), place)
    assert rows == 60
