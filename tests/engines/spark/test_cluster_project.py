"""A project whose tables are counted by a cluster: every verb once, a driver that dies, and Spark Connect in front."""

import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet
from discreet.engines.spark import session
from discreet.engines.spark.lake import LakeTable
from discreet.errors import UsageError
from engines.spark import server as spark
from engines.spark.connect_server import serving
from engines.spark.server import spark_tests
from engines.spark.standalone_cluster import DEFAULTS, defaults_folder, is_running_java, running_cluster, slow, wait
from graph.friends import NODES, edges

pytestmark = spark_tests

CANARY = "a-cell-that-nobody-may-see"

DECLARED = """
[tables.visits]
source = "visits"
engine = "{engine}"
budget = {{ epsilon = 1000000, delta = 1e-6 }}
person = "pid"
rows_per_person = 2
[tables.visits.columns]
ward = {{ type = "category", values = ["cardio", "surgery"] }}
age = {{ type = "integer", low = 0, high = 120 }}
note = {{ type = "text" }}
[populations.all]
budget = {{ epsilon = 9000, delta = 1e-6 }}
[tables.ties]
source = "ties.parquet"
engine = "{engine}"
ends = ["from", "to"]
rows_per_person = 8
population = "all"
[tables.members]
source = "members.parquet"
engine = "{engine}"
person = "id"
population = "all"
[tables.members.columns.colour]
type = "category"
values = ["red", "blue"]
"""

#: A driver that asks, and whose rows come so slowly that it is killed before they are all there.
ASKER = """
import discreet, sys
from discreet.engines.spark.lake import LakeTable
from engines.spark.standalone_cluster import slow
rows = LakeTable.rows
LakeTable.rows = lambda self, *given: slow(rows(self, *given), 2000)
discreet.open(sys.argv[1]).sql(sys.argv[2]).ask(epsilon=1000)
"""

BY_WARD = "SELECT ward, count(*) AS n FROM visits GROUP BY ward"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    with running_cluster(tmp_path_factory.mktemp("cluster")) as found:
        yield found


@pytest.fixture(scope="module", autouse=True)
def _settings():
    """What `spark-defaults.conf` says of this cluster. The Spark that other tests have here ends before."""
    if spark.engine.cache_info().currsize:
        spark.engine().close()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", "/nowhere/python")
        patch.setattr(session, "DRIVER", {**session.DRIVER, **DEFAULTS})
        yield


def made(folder, state, engine):
    """A project. Forty patients; the first of them has three visits, of which two count."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DISCREET_STATE", str(state))
        discreet.init(folder)
    people = [0, 0, *range(40)]
    wards = [["cardio", "surgery"][person % 2] for person in people]
    rows = {"pid": [f"p{person}" for person in people], "ward": wards, "age": people, "note": [CANARY] * len(people)}
    spark.load(pa.table(rows), folder, "visits", files=6)
    for name, columns, cells in (("ties", ("from", "to"), edges()), ("members", ("id", "colour"), NODES)):
        table = pa.table({column: [row[place] for row in cells] for place, column in enumerate(columns)})
        pq.write_table(table, folder / f"{name}.parquet")
    with (folder / "discreet.toml").open("a") as stream:
        stream.write(DECLARED.format(engine=engine))
    return folder, state


@pytest.fixture(scope="module")
def here(cluster, tmp_path_factory):
    return made(tmp_path_factory.mktemp("project"), tmp_path_factory.mktemp("state"), cluster.address)


@pytest.fixture
def project(here, cluster, monkeypatch):
    monkeypatch.setenv("DISCREET_STATE", str(here[1]))
    found = discreet.open(here[0])
    yield found
    found.curator.engine.at(cluster.address).close()


def answer(project, text, **how):
    return [round(float(row[-1])) for row in project.sql(text).ask(epsilon=1000, **how).rows]


# In this order: later tests ask about what earlier ones have made.


def test_the_whole_path(project, cluster):
    """Made, asked, somebody forgotten, made again; and a network."""
    version, making = project.refresh("visits")
    assert (version, making.exact_rows, making.exact_persons, making.exact_truncated) == (1, 41, 40, 1)
    assert answer(project, "SELECT ward, count(*) AS n FROM visits WHERE age > 1 GROUP BY ward") == [19, 19, 0]
    assert answer(project, "SELECT count(DISTINCT pid) AS n FROM visits") == [40]
    assert answer(project, "SELECT note, count(*) AS n FROM visits GROUP BY note", delta="1e-9") == [41]
    assert project.forget("visits", ["p1"]).tables == ("visits",)
    assert answer(project, "SELECT count(*) AS n FROM visits WHERE age < 3") == [3]
    assert project.refresh("visits")[1].exact_persons == 39
    making = project.refresh("ties")[1]
    assert making.exact_rows == 90
    numbers = project.graph("ties", nodes="members").stats(epsilon=1000, only="nodes,edges")
    assert (numbers.nodes.value, numbers.edges.value) == (31, 90)
    assert project.verify().sound
    assert CANARY not in cluster.written()


def charges(project):
    return set(project.ledger.refresh().charges)


def test_a_driver_that_is_killed_is_answered_under_its_charge(project, here, cluster, tmp_path):
    """No executor goes on for nobody; who asks again has the answer that was paid for."""
    before = charges(project)
    project.curator.engine.at(cluster.address).close()  # its executors are the cluster's only ones
    wait(lambda: not cluster.running_executors())
    tests = Path(__file__).parents[2]
    env = {"SPARK_CONF_DIR": str(defaults_folder(tmp_path / "conf")), "PYTHONPATH": str(tests)}
    words = [sys.executable, "-c", ASKER, str(here[0]), BY_WARD]
    asker = subprocess.Popen(words, env=os.environ | env, stdin=subprocess.DEVNULL)
    try:
        wait(lambda: charges(project) - before or asker.poll() is not None)
        assert asker.poll() is None and cluster.running_executors()
        children = (Path("/proc") / str(asker.pid) / "task").glob("*/children")
        java = [int(pid) for listed in children for pid in listed.read_text().split()]
    finally:
        asker.send_signal(signal.SIGKILL)
        asker.wait()
    [charged] = charges(project) - before
    assert charged not in project.ledger.refresh().answers
    assert java
    wait(lambda: not cluster.running_executors())
    wait(lambda: not any(is_running_java(pid) for pid in java))
    release = project.sql(BY_WARD).ask(epsilon=1000)
    assert [round(float(row[-1])) for row in release.rows] == [21, 19, 0]
    assert release.id == charged and any("charged earlier" in warning for warning in release.warnings)
    assert charges(project) - before == {charged} and project.verify().sound


@pytest.fixture(scope="module")
def server(cluster, tmp_path_factory):
    more = {**DEFAULTS, "spark.executor.defaultJavaOptions": session.DRIVER["spark.executor.defaultJavaOptions"]}
    with serving(tmp_path_factory.mktemp("connect"), master=cluster.address, more=more) as found:
        yield found


def test_connect_in_front_and_a_worker_that_dies(server, cluster, tmp_path, monkeypatch):
    """The server's executors are the workers'; one dies in the middle of a question, which brings the exact numbers."""
    folder, state = tmp_path / "project", tmp_path / "state"
    folder.mkdir()
    made(folder, state, server.address)
    monkeypatch.setenv("DISCREET_STATE", str(state))
    project = discreet.open(folder)
    try:
        assert project.refresh("visits")[1].exact_rows == 41
        wait(lambda: len(cluster.running_executors()) == 3)
        rows = LakeTable.rows
        monkeypatch.setattr(LakeTable, "rows", lambda self, *given: slow(rows(self, *given), 200))
        before = charges(project)
        with ThreadPoolExecutor(1) as pool:
            future = pool.submit(lambda: answer(project, BY_WARD))
            wait(lambda: charges(project) - before)
            cluster.kill(cluster.workers[0])
            assert future.result() == [21, 20, 0]
        monkeypatch.undo()
        monkeypatch.setenv("DISCREET_STATE", str(state))
        while cluster.workers:
            cluster.kill(cluster.workers[0])
        assert CANARY not in cluster.written() + server.voice.read_text()
        monkeypatch.setattr("discreet.engines.spark.cluster_executors.PATIENCE_S", 3.0)
        engine = project.curator.engine.at(server.address)
        engine.close()  # a new session is tried
        before = charges(project)
        with pytest.raises(UsageError, match="no executor of this Spark answers"):
            answer(project, "SELECT count(*) AS n FROM visits WHERE age > 7")
        assert charges(project) == before
    finally:
        project.curator.engine.at(server.address).close()
