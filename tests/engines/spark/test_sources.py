"""What a source on Spark may be, what is read of it and what is refused. Most of it starts no Java."""

import json
import os

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.engines.spark.engine import SparkEngine
from discreet.engines.spark.source import find
from discreet.errors import SchemaError, UsageError

ROWS = pa.table({"id": pa.array([1, 2], pa.int8()), "Name": ["a", "b"], "t": pa.array([1, 2], pa.timestamp("ns"))})


def never():
    raise AssertionError("Spark is not needed for it")


@pytest.fixture
def engine():
    """One that is never started."""
    found = SparkEngine("spark://local")
    found.session = never
    return found


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "lake" / "year=2020").mkdir(parents=True)
    (tmp_path / "lake" / "_temporary").mkdir()
    pq.write_table(ROWS, tmp_path / "lake" / "one.parquet")
    pq.write_table(ROWS, tmp_path / "lake" / "year=2020" / "two.parquet")
    pq.write_table(ROWS, tmp_path / "lake" / "_temporary" / "no.parquet")
    pq.write_table(ROWS, tmp_path / "lake" / ".no.parquet")
    return tmp_path


@pytest.mark.parametrize(
    ("source", "files"), [("lake", 2), ("lake/one.parquet", 1), ("lake/*.parquet", 1), ("lake/**/t*.parquet", 1)]
)
def test_files_a_glob_a_folder(engine, folder, source, files):
    assert engine.header(source, folder=folder).names == ("id", "Name", "t")
    assert engine.columns(source, folder=folder) == {"id": "integer", "Name": "text", "t": "timestamp"}
    trace = engine.trace(source, folder=folder)
    assert len(trace.same) == len(trace.files) == files


def test_public_rows_come_without_spark(engine, folder):
    found = list(engine.rows("lake", ["name", "ID"], folder=folder))
    assert found == [["a", 1], ["b", 2]] * 2


def test_csv_is_refused(engine, folder):
    (folder / "rows.csv").write_text("a,b\n1,2\n")
    with pytest.raises(UsageError, match="not a Parquet file") as caught:
        engine.header("rows.csv", folder=folder)
    assert "no CSV" in caught.value.hint


@pytest.mark.parametrize("source", ["none.parquet", "none/*.parquet", "../x/y", "no such"])
def test_a_file_that_is_not_there(engine, folder, source):
    with pytest.raises(UsageError, match="there is no file"):
        engine.header(source, folder=folder)


def test_files_that_differ(engine, folder):
    """Spark alone would make NULL of the column that one of them lacks."""
    pq.write_table(ROWS.drop_columns(["Name"]), folder / "lake" / "zero.parquet")
    with pytest.raises(SchemaError, match="do not have the same columns and types"):
        engine.header("lake", folder=folder)


def test_an_empty_folder(engine, folder):
    (folder / "empty").mkdir()
    with pytest.raises(UsageError, match="holds no Parquet file"):
        engine.header("empty", folder=folder)


def test_a_change_is_seen(engine, folder):
    source = find("lake", folder=folder, session=never)
    source.check_unchanged()
    os.utime(folder / "lake" / "one.parquet", ns=(1, 1))
    with pytest.raises(UsageError, match="changed while it was read"):
        source.check_unchanged()


def test_where_declared_tables_lie(folder):
    assert SparkEngine("spark://local").place("t.lake", folder=folder).folder == str(folder / "t.lake")
    lake = SparkEngine("spark://host:7077?declared=s3a://bucket/private/")
    assert lake.place("t.lake", folder=folder).folder == "s3a://bucket/private/t.lake"


class Delta:
    """A Delta table, written by hand: two files, of which one was removed, and a third in a checkpoint."""

    def __init__(self, folder):
        self.folder, self.log = folder / "delta", folder / "delta" / "_delta_log"
        self.log.mkdir(parents=True)
        for name in ("old", "kept", "new file"):
            pq.write_table(ROWS, self.folder / f"{name}.parquet")

    def commit(self, number, *actions):
        (self.log / f"{number:020d}.json").write_text("".join(json.dumps(action) + "\n" for action in actions))

    def make(self, *, protocol=None, table=None, **added):
        start = [{"protocol": {"minReaderVersion": 1} | (protocol or {})}]
        start += [{"metaData": {"partitionColumns": [], "configuration": {}} | (table or {})}]
        self.commit(0, *start, {"add": {"path": "old.parquet"}}, {"add": {"path": "kept.parquet"} | added})
        self.commit(1, {"remove": {"path": "old.parquet"}}, {"add": {"path": "new%20file.parquet"}})


@pytest.fixture
def delta(tmp_path):
    return Delta(tmp_path)


def names(engine, folder):
    return [file.name for file in engine.trace("delta", folder=folder).files]


def test_a_delta_table_is_read_by_its_log(engine, delta, tmp_path):
    """The removed file lies there still."""
    delta.make()
    assert names(engine, tmp_path) == ["kept.parquet", "new file.parquet"]
    delta.commit(2, {"remove": {"path": "kept.parquet"}}, {"commitInfo": {"operation": "DELETE"}})
    assert names(engine, tmp_path) == ["new file.parquet"]


def test_a_delta_table_from_its_checkpoint(engine, delta, tmp_path):
    delta.make()
    action = pa.struct([("path", pa.string()), ("deletionVector", pa.string())])
    settings = pa.struct(
        [("partitionColumns", pa.list_(pa.string())), ("configuration", pa.map_(pa.string(), pa.string()))]
    )
    rows = {
        "add": pa.array([{"path": "kept.parquet"}, None, None, None], action),
        "remove": pa.array([None, {"path": "old.parquet"}, None, None], action),
        "protocol": pa.array(
            [None, None, {"minReaderVersion": 1}, None], pa.struct([("minReaderVersion", pa.int32())])
        ),
        "metaData": pa.array([None, None, None, {"partitionColumns": [], "configuration": []}], settings),
    }
    pq.write_table(pa.table(rows), delta.log / f"{1:020d}.checkpoint.parquet")
    for number in (0, 1):
        (delta.log / f"{number:020d}.json").unlink()
    assert names(engine, tmp_path) == ["kept.parquet"]
    delta.commit(2, {"add": {"path": "new%20file.parquet"}})
    assert names(engine, tmp_path) == ["kept.parquet", "new file.parquet"]
    delta.commit(4, {"add": {"path": "old.parquet"}})
    with pytest.raises(UsageError, match="lacks version 3"):
        names(engine, tmp_path)


@pytest.mark.parametrize(
    ("how", "sentence"),
    [
        ({"deletionVector": {"storageType": "u"}}, "marks deleted rows in vectors"),
        ({"table": {"configuration": {"delta.columnMapping.mode": "name"}}}, "calls its columns otherwise"),
        ({"table": {"partitionColumns": ["year"]}}, "keeps columns in the names of folders"),
        ({"protocol": {"minReaderVersion": 3, "readerFeatures": ["rowsInTheSky"]}}, "asks more of its readers"),
        ({"protocol": {"minReaderVersion": 4}}, "asks more of its readers"),
    ],
)
def test_delta_tables_that_are_refused(engine, delta, tmp_path, how, sentence):
    delta.make(**how)
    with pytest.raises(UsageError, match=sentence):
        engine.header("delta", folder=tmp_path)


def test_a_delta_tables_file_that_is_gone(engine, delta, tmp_path):
    delta.make()
    (delta.folder / "kept.parquet").unlink()
    with pytest.raises(UsageError, match="that the table's log names is not there"):
        engine.header("delta", folder=tmp_path)
