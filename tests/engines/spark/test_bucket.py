"""Files that this machine does not see, as in a bucket: another name of a folder, which Java alone knows (`viewfs`).

What a store of objects does otherwise was tried by hand: docs/engines/spark.md.
"""

import os
from unittest.mock import MagicMock

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet
from discreet.engines.spark import spark_source
from discreet.engines.spark.lake import LakeTable
from discreet.engines.spark.lake_store import HadoopStore
from discreet.engines.spark.spark_engine import SparkEngine
from discreet.errors import LedgerFault, UsageError
from engines.spark.server import load, spark_tests

pytestmark = spark_tests

ADDRESS = "spark://local?declared=viewfs://lake/private"

DECLARED = f"""
[tables.visits]
source = "viewfs://lake/visits"
engine = "{ADDRESS}"
budget = {{ epsilon = 1000000, delta = 1e-6 }}
person = "pid"
rows_per_person = 2
[tables.visits.columns]
age = {{ type = "integer", low = 0, high = 120 }}
"""


@pytest.fixture
def lake(spark_engine, tmp_path):
    """A folder that Spark has as viewfs://lake: twelve persons, the first with three visits, in three files."""
    folder = tmp_path / "lake"
    ages = [0, 0, *range(12)]
    load(pa.table({"pid": [f"p{age}" for age in ages], "age": ages}), folder, "visits", files=3)
    settings = spark_engine.session().sparkContext._jsc.hadoopConfiguration()
    settings.set("fs.viewfs.impl.disable.cache", "true")
    for name in ("visits", "private", "mixed"):
        (folder / name).mkdir(exist_ok=True)
        settings.set(f"fs.viewfs.mounttable.lake.link./{name}", (folder / name).as_uri())
    return folder


@pytest.fixture
def project(lake, tmp_path, monkeypatch):
    monkeypatch.setenv("DISCREET_STATE", str(tmp_path / "state"))
    folder = tmp_path / "project"
    discreet.init(folder)
    with (folder / "discreet.toml").open("a") as stream:
        stream.write(DECLARED)
    return discreet.open(folder)


def count(project, below):
    [row] = project.sql(f"SELECT count(*) AS n FROM visits WHERE age < {below}").ask(epsilon=1000).rows
    return round(float(row[-1]))


def test_the_whole_path(project, lake):
    """Made, asked, a file lost and restored, somebody forgotten, made again."""
    making = project.refresh("visits")[1]
    assert (making.exact_rows, making.exact_persons, making.exact_truncated) == (13, 12, 1)
    [table] = os.listdir(lake / "private")
    assert sorted(name.partition("-")[0] for name in os.listdir(lake / "private" / table) if name[0] != ".") == [
        "manifest.json",
        "persons",
        "rows",
    ]
    assert count(project, 3) == 4
    lost = next((lake / "private" / table).glob("rows-*/part-*.parquet"))
    lost.rename(lake / "lost")
    charges = set(project.ledger.refresh().charges)
    with pytest.raises(LedgerFault, match="no longer complete"):
        count(project, 4)
    with pytest.raises(LedgerFault, match="no longer complete"):
        project.forget("visits", ["p1"])
    assert set(project.ledger.refresh().charges) == charges
    (lake / "lost").rename(lost)
    assert project.forget("visits", ["p1"]).exact_versions == 1
    assert count(project, 5) == 5
    assert project.refresh("visits")[1].exact_persons == 11
    assert project.verify().sound


def test_what_a_killed_erasure_left_goes_with_the_next(project, lake, monkeypatch):
    project.refresh("visits")
    [table] = os.listdir(lake / "private")
    with monkeypatch.context() as patch:
        patch.setattr(LakeTable, "commit", MagicMock(side_effect=KeyboardInterrupt))
        patch.setattr(LakeTable, "drop_orphans", lambda self: None)
        with pytest.raises(KeyboardInterrupt):
            project.forget("visits", ["p1"])
    assert len(list((lake / "private" / table).glob("rows-*"))) == 2
    project.forget("visits", ["p1"])
    assert len(list((lake / "private" / table).glob("rows-*"))) == 1
    assert count(project, 120) == 12


def test_a_source_that_is_not_parquet_alone(spark_engine, lake):
    """One file of another kind, or a column of two types: the owner learns which of the reasons it may be."""
    pq.write_table(pa.table({"age": [1]}), lake / "mixed" / "a.parquet")
    assert spark_engine.header("viewfs://lake/mixed", folder=lake).names == ("age",)
    for name, content in (("b.parquet", {"age": ["x"]}), ("c.csv", None)):
        if content is None:
            (lake / "mixed" / name).write_text("age\n1\n")
        else:
            pq.write_table(pa.table(content), lake / "mixed" / name)
        with pytest.raises(UsageError, match="cannot read the columns of viewfs://lake/mixed"):
            spark_engine.header("viewfs://lake/mixed", folder=lake)
        (lake / "mixed" / name).unlink()


def test_a_store_that_does_not_answer(spark_engine, tmp_path):
    """One sentence: what Java says has pages, and names paths."""
    gone = SparkEngine(ADDRESS.replace("viewfs://", "nowhere://"), memory_mb=1024)
    place = gone.place("visits-x-1.lake", folder=tmp_path)
    for act in (
        lambda: gone.table_names("x", folder=tmp_path),
        lambda: gone.erase(place, [b"t" * 32]),
        lambda: gone.drop(place),
        lambda: gone.persons(place),
    ):
        with pytest.raises(UsageError, match="of the declared tables does not answer, or it refuses") as caught:
            act()
        assert "nowhere" not in str(caught.value) and caught.value.__suppress_context__
    with pytest.raises(UsageError, match="nowhere://lake/visits does not answer, or it refuses"):
        gone.header("nowhere://lake/visits", folder=tmp_path)


def test_a_query_of_a_store_that_is_gone_is_free(project, monkeypatch):
    project.refresh("visits")
    charges = set(project.ledger.refresh().charges)
    monkeypatch.setattr(HadoopStore, "_java", MagicMock(side_effect=RuntimeError("a path, and pages of Java")))
    with pytest.raises(UsageError, match="does not answer, or it refuses"):
        count(project, 120)
    assert set(project.ledger.refresh().charges) == charges


@pytest.mark.fast
@pytest.mark.parametrize("act", ["files", "folders", "entry", "read", "write", "make", "drop"])
def test_no_word_of_javas(act, monkeypatch):
    system = MagicMock()
    for name in ("exists", "create", "mkdirs"):
        getattr(system, name).side_effect = RuntimeError("a path, and pages of Java")
    monkeypatch.setattr(HadoopStore, "_java", lambda self, path: (system, path))
    with pytest.raises(UsageError, match="does not answer") as caught:
        getattr(HadoopStore(session=MagicMock()), act)("s3a://bucket/a", *([b""] if act == "write" else []))
    assert "Java" not in str(caught.value) and caught.value.__suppress_context__


@pytest.mark.fast
@pytest.mark.parametrize("source", ["s3a://bucket", "s3a://bucket/"])
def test_a_whole_bucket_is_a_source(source, tmp_path):
    """Java takes no bucket without a slash."""
    session = MagicMock()
    session._jvm.org.apache.hadoop.fs.Path.return_value.getFileSystem.return_value.exists.return_value = False
    load = session.read.format.return_value.option.return_value.load
    load.return_value.selectExpr.return_value.toArrow.return_value = pa.table({"path": pa.array([], pa.string())})
    with pytest.raises(UsageError, match="there is no Parquet file"):
        spark_source.find(source, folder=tmp_path, session=lambda: session)
    assert [call.args for call in load.call_args_list] == [(["s3a://bucket/"],)]
