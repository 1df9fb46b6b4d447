"""What is looked at before a cluster may count, without any Spark: executors, their logger, and the disk they see."""

import os
import re
import time
import zipfile
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import MagicMock

import pyarrow as pa
import pyspark
import pytest

from discreet.engines.spark import broadcast_table, cluster_executors, session, shared_folder_check
from discreet.engines.spark import spark_engine as module
from discreet.engines.spark.lake_store import DiskStore
from discreet.engines.spark.session_settings import DRIVER
from discreet.engines.spark.spark_engine import SparkEngine
from discreet.errors import UsageError

ROOT = Path(__file__).parents[3]


def test_the_logger_that_executors_are_started_with_is_one_that_writes_nothing():
    """By a name that Spark's own jars have; the owner of a Connect server is told the same."""
    option = DRIVER["spark.executor.defaultJavaOptions"]
    [name] = re.findall(r"-Dslf4j\.provider=(\S+)", option)
    [jar] = (Path(pyspark.__file__).parent / "jars").glob("slf4j-api-*.jar")
    assert f"{name.replace('.', '/')}.class" in zipfile.ZipFile(jar).namelist() and "NOP" in name
    assert option in (ROOT / "docs" / "engines" / "spark.md").read_text()


def running(**settings):
    """A Spark that somebody has started in this process."""
    java = {"spark.driver.extraJavaOptions": f"--add-opens=x {DRIVER['spark.driver.extraJavaOptions']}"}
    given = DRIVER | java | {name.replace("_", "."): value for name, value in settings.items()}
    return SimpleNamespace(getConf=lambda: SimpleNamespace(getAll=lambda: list(given.items())))


def test_a_spark_of_somebody_elses_needs_our_settings():
    session._check_settings(running())
    for name, value in {"spark_eventLog_enabled": "true", "spark_driver_maxResultSize": "1000m"}.items():
        with pytest.raises(UsageError, match=rf"a Spark in which {name.replace('_', '.')} is not"):
            session._check_settings(running(**{name: value}))


def test_a_process_that_others_made_a_client_of_theirs(monkeypatch):
    """What is started here is a driver all the same: a client's executors would be started by somebody else's settings."""
    for name in session._CONNECT_SETTINGS:
        monkeypatch.setenv(name, "sc://elsewhere")
    with session._silent_from_birth():
        assert not set(session._CONNECT_SETTINGS) & set(os.environ)
    assert os.environ["SPARK_REMOTE"] == "sc://elsewhere"


def test_a_small_table_without_rows_needs_no_python_on_executors():
    spark = MagicMock()
    broadcast_table.broadcast_frame(spark, pa.table({"a`b": pa.array([], pa.binary())}))
    assert not spark.createDataFrame.called
    spark.range.return_value.selectExpr.assert_called_once_with("CAST(NULL AS BINARY) AS `a``b`")


def cluster(executors, *, collect):
    """A session of a cluster, and the tags of what was cancelled."""
    spark, cancelled = MagicMock(), []
    context = spark.sparkContext
    context._jsc.sc.return_value.getExecutorMemoryStatus.return_value.size.return_value = executors + 1
    context.cancelJobsWithTag = cancelled.append
    spark.range.return_value.collect = lambda: collect(cancelled)
    return spark, cancelled


def waits(cancelled):
    """A job without an executor: it ends when it is cancelled."""
    while not cancelled:
        time.sleep(0.01)
    raise RuntimeError("cancelled")


def test_a_cluster_without_executors_is_refused(monkeypatch):
    monkeypatch.setattr(cluster_executors, "PATIENCE_S", 0.05)
    spark, cancelled = cluster(0, collect=waits)
    engine = SparkEngine("spark://host:7077")
    monkeypatch.setattr(engine, "session", lambda: spark)
    with pytest.raises(UsageError, match="no executor of this Spark answers"):
        engine.ready(module.TableLocations(files={}))
    assert cancelled[0].startswith("discreet-")


@pytest.mark.parametrize(("executors", "has_failed", "tries"), [(2, False, 0), (0, False, 1), (2, True, 1)])
def test_when_a_cluster_is_tried(executors, has_failed, tries, monkeypatch):
    """Where it has lost its executors, and after a question that failed; else nothing runs before a charge."""
    tried = []
    spark, _ = cluster(executors, collect=tried.append)
    engine = SparkEngine("spark://host:7077")
    monkeypatch.setattr(engine, "session", lambda: spark)
    engine._has_failed = has_failed
    engine.ready(module.TableLocations(files={}))
    assert len(tried) == tries and not engine._has_failed


class Disk:
    """What four executors read of the words that lie in a folder. One of them may see another disk."""

    def __init__(self, *, lost):
        self.lost = lost
        self.sparkContext = SimpleNamespace(defaultParallelism=4)
        self.read = self

    def format(self, kind):
        return self

    def option(self, name, value):
        assert (name, value) == ("ignoreMissingFiles", "true"), "else another executor would try again, and find it"
        return self

    def load(self, folder):
        words = [path.read_bytes() for path in sorted(Path(folder).iterdir())]
        table = pa.table({"content": pa.array(words[self.lost :], pa.binary())})
        return SimpleNamespace(select=lambda name: SimpleNamespace(toArrow=lambda: table))


@pytest.mark.parametrize("lost", [0, 1, 4])
def test_each_executor_must_see_the_folder(lost, tmp_path):
    if not lost:
        shared_folder_check.check_folder_shared(Disk(lost=0), DiskStore(), str(tmp_path))
    else:
        with pytest.raises(UsageError, match="does not see the folder of declared tables"):
            shared_folder_check.check_folder_shared(Disk(lost=lost), DiskStore(), str(tmp_path))
    assert not list(tmp_path.iterdir())
