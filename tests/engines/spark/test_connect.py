"""Spark Connect: a real server, every verb of an owner over it once, and what it cannot do, told before any charge."""

import os
import signal
import socket
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet
from discreet.engines.engine import EngineFailure, TableLocations
from discreet.engines.spark import lake, person_table, shared_folder_check, spark_connect
from discreet.engines.spark import spark_engine as module
from discreet.engines.spark.lake_store import DiskStore
from discreet.engines.spark.session import PINNED, check_reachable, open_session
from discreet.engines.spark.spark_engine import SparkEngine
from discreet.errors import UsageError
from engines.persons_tables import KEY, TAG_KEY
from engines.spark.connect_server import serving
from engines.spark.server import side, spark_tests, stored
from engines.spark.test_failures import LONG

pytestmark = spark_tests

CANARY = "a-cell-that-nobody-may-see"

DECLARED = """
[tables.visits]
source = "visits.parquet"
engine = "{engine}"
budget = {{ epsilon = 1000000, delta = 1e-6 }}
person = "pid"
rows_per_person = 2
[tables.visits.columns]
ward = {{ type = "category", values = ["cardio", "surgery"] }}
age = {{ type = "integer", low = 0, high = 120 }}
note = {{ type = "text" }}
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("connect")) as found:
        yield found


@pytest.fixture
def engine(server):
    found = SparkEngine(server.address, deadline_s=60.0)
    yield found
    found.close()


@pytest.fixture(scope="module")
def made(server, tmp_path_factory):
    """A project and its state folder. Forty patients; the first of them has three visits, of which two count."""
    folder, state = tmp_path_factory.mktemp("project"), tmp_path_factory.mktemp("state")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DISCREET_STATE", str(state))
        discreet.init(folder)
    people = [0, 0, *range(40)]
    wards = [["cardio", "surgery"][person % 2] for person in people]
    rows = {"pid": [f"p{person}" for person in people], "ward": wards, "age": people, "note": [CANARY] * len(people)}
    pq.write_table(pa.table(rows), folder / "visits.parquet")
    with (folder / "discreet.toml").open("a") as stream:
        stream.write(DECLARED.format(engine=server.address))
    return folder, state


@pytest.fixture
def project(made, server, monkeypatch):
    monkeypatch.setenv("DISCREET_STATE", str(made[1]))
    found = discreet.open(made[0])
    yield found
    found.curator.engine.at(server.address).close()


def answer(project, text, **how):
    return [round(float(row[-1])) for row in project.sql(text).ask(epsilon=1000, **how).rows]


# In this order: later tests ask about what earlier ones have made.


def test_the_whole_path(project):
    """Made, asked, somebody forgotten, made again."""
    version, making = project.refresh("visits")
    assert (version, making.exact_rows, making.exact_persons, making.exact_truncated) == (1, 41, 40, 1)
    assert answer(project, "SELECT ward, count(*) AS n FROM visits GROUP BY ward") == [21, 20, 0]
    assert answer(project, "SELECT count(DISTINCT pid) AS n FROM visits") == [40]
    assert answer(project, "SELECT note, count(*) AS n FROM visits GROUP BY note", delta="1e-9") == [41]
    assert project.forget("visits", ["p1"]).tables == ("visits",)
    assert answer(project, "SELECT count(*) AS n FROM visits WHERE age < 3") == [3]
    assert project.refresh("visits")[1].exact_persons == 39
    assert project.verify().sound


# What is refused before anything is charged


def lakes(project):
    """The folders of declared tables."""
    tables = Path(project.folder) / ".discreet" / "tables"
    return sorted(str(path) for path in tables.glob("*.lake"))


def charges(project):
    return len(project.ledger.refresh().charges)


def test_a_server_that_does_not_see_the_tables(project, monkeypatch):
    """A making is refused and leaves nothing; a question is refused and costs nothing."""
    if not lakes(project):
        project.refresh("visits")
    write, lying = DiskStore.write, lakes(project)
    with monkeypatch.context() as patch:
        patch.setattr(DiskStore, "write", lambda self, path, content: write(self, path, content[::-1]))
        with pytest.raises(UsageError, match="does not see the folder of declared tables"):
            project.refresh("visits")
    assert lakes(project) == lying
    before, read = charges(project), lake.read_files

    def elsewhere(session, files, fields):
        return read(session, [f"/elsewhere{file}" for file in files], fields)

    with monkeypatch.context() as patch:
        patch.setattr(lake, "read_files", elsewhere)
        with pytest.raises(UsageError, match="does not see the folder of declared tables"):
            answer(project, "SELECT count(*) AS n FROM visits")
    assert charges(project) == before
    assert answer(project, "SELECT count(*) AS n FROM visits") == [40]


def test_a_folder_that_is_another_one_there(engine, tmp_path):
    class Elsewhere(DiskStore):
        def write(self, path, content):
            """On another disk."""

    with pytest.raises(UsageError, match="does not see"):
        shared_folder_check.check_folder_shared(engine.session(), Elsewhere(), str(tmp_path))
    shared_folder_check.check_folder_shared(engine.session(), DiskStore(), str(tmp_path))
    assert not os.listdir(tmp_path)


def test_a_server_with_a_shallow_stack(engine, server, monkeypatch):
    """Its stack ends at some 300 brackets, if nobody asks for another. (This server's does not: it is told so.)"""
    spark_connect.check_deep(engine.session())
    kind = type(engine.session())
    sql = kind.sql

    def shallow(self, text, *given, **how):
        if text.count("(") > 300:
            raise RuntimeError("StackOverflowError")
        return sql(self, text, *given, **how)

    monkeypatch.setattr(kind, "sql", shallow)
    with pytest.raises(UsageError, match="queries with many parentheses"):
        open_session(server.address)


def test_what_only_java_reaches(server):
    engine = SparkEngine(f"{server.address}?declared=s3a://bucket/private")
    with pytest.raises(UsageError, match="does not let a client list or replace files"):
        engine.table_names("any", folder=Path("/"))
    with pytest.raises(UsageError, match="does not let a client list or replace files"):
        engine.header("s3a://bucket/visits", folder=Path("/"))
    engine.close()


def test_what_listens_is_no_spark(monkeypatch):
    monkeypatch.setattr(spark_connect, "PATIENCE_S", 2.0)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"sc://127.0.0.1:{taken.getsockname()[1]}"
        check_reachable(address)
        with pytest.raises(UsageError, match="is not Spark Connect"):
            open_session(address)


def test_a_server_that_does_not_let_us_in(server, monkeypatch):
    from pyspark.sql.connect.conf import RuntimeConf

    def refused(self, key):
        raise RuntimeError("UNAUTHENTICATED: no token")

    monkeypatch.setattr(RuntimeConf, "get", refused)
    with pytest.raises(UsageError, match="refused the login"):
        open_session(server.address)


# Sessions


def test_a_failure_tells_nothing(engine, project, server, capfd):
    """Its cause does, to the owner. With the loggers that docs/engines/spark.md asks for, nor does the server."""

    def failing(session, names):
        return session.read.parquet(f"{lakes(project)[0]}/rows-*").selectExpr("CAST(c2 AS INT)").collect()

    if not lakes(project):
        project.refresh("visits")
    with pytest.raises(EngineFailure) as caught:
        engine._run_query(TableLocations(files={}), failing, "it could not be counted")
    assert CANARY in str(caught.value.__cause__) and CANARY not in str(caught.value)
    told = capfd.readouterr()
    assert CANARY not in told.out + told.err + server.voice.read_text()


def test_no_process_is_marked_and_what_is_pinned_is_so(engine):
    found = engine.session()
    assert {name: found.conf.get(name) for name in PINNED} == dict(PINNED)
    assert "SPARK_CONNECT_MODE_ENABLED" not in os.environ, "no other Spark could be started in this process"


def test_a_child_does_not_end_its_parents_session(engine):
    found, engine._process = engine.session(), os.getppid()
    engine.close()
    assert spark_connect.is_answering(found)
    spark_connect.release(found)
    assert not spark_connect.is_answering(found)


def test_no_plan_shows_a_key(engine, project, monkeypatch, tmp_path):
    plans, sql = [], person_table._SparkPersonTable._group_sql

    def looked(self):
        plans.append(self.session.sql(sql(self))._explain_string("extended"))
        return sql(self)

    monkeypatch.setattr(person_table._SparkPersonTable, "_group_sql", looked)
    table, place = project.table("visits"), engine.place("t.lake", folder=project.folder)
    engine.declare(table, folder=project.folder, target=place, key=KEY, tag_key=TAG_KEY)
    assert len(side(place)) == 40 and len(stored(place)) == 41
    assert all("hmac" in plan.lower() for plan in plans) and plans
    for key in (KEY, TAG_KEY):
        for shown in (key.hex(), ", ".join(map(str, key)), " ".join(f"{byte:02X}" for byte in key)):
            assert shown.lower() not in plans[0].lower()


# Servers that do not answer


def test_a_deadline_and_a_server_that_fell_silent(engine, server, monkeypatch):
    """A long question is cancelled there. A server that does not even hear that is let go of; then it is back."""

    def of(text):
        return lambda session, names: session.sql(text).collect()

    nothing, first = TableLocations(files={}), engine.session()
    monkeypatch.setattr(engine, "_deadline_s", 1.0)
    with pytest.raises(EngineFailure):
        engine._run_query(nothing, of(f"SELECT count(*) FROM {LONG}"), "it could not be counted")
    assert engine.session() is first
    server.process.send_signal(signal.SIGSTOP)
    try:
        begun = time.monotonic()
        with monkeypatch.context() as patch:
            patch.setattr(module, "is_alive", lambda session: True)  # it falls silent right after it answered
            patch.setattr(module, "_GRACE_S", 1.0)
            with pytest.raises(EngineFailure):
                engine._run_query(nothing, of("SELECT 1"), "it could not be counted")
        with monkeypatch.context() as patch:
            patch.setattr(spark_connect, "PATIENCE_S", 2.0)
            with pytest.raises(UsageError, match="is not Spark Connect"):
                engine.session()
        assert time.monotonic() - begun < 60
    finally:
        server.process.send_signal(signal.SIGCONT)
    assert engine.session() is not first


def test_a_server_that_has_forgotten_the_session_and_one_that_is_gone(engine, project, server):
    """The first gets a new session. Of the second nobody can ask, which is told at once, and costs nothing."""
    first = engine.session()
    spark_connect.release(first)
    found = engine.session()
    assert found is not first and found.conf.get("spark.sql.ansi.doubleQuotedIdentifiers") == "true"
    server.kill()
    before, begun = charges(project), time.monotonic()
    with pytest.raises(UsageError, match="there is no Spark at"):
        answer(project, "SELECT count(*) AS n FROM visits WHERE age > 4")
    with pytest.raises(UsageError, match="there is no Spark at"):
        engine.session()  # which had an answer a moment ago
    assert charges(project) == before and time.monotonic() - begun < 120
