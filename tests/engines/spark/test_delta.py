"""Delta tables, written by hand: read by their log, so that deleted people stay deleted, or refused. No Java."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.engines.spark.spark_engine import SparkEngine
from discreet.errors import UsageError

ROWS = pa.table({"id": [1, 2]})


@pytest.fixture
def engine():
    """One that is never started."""
    found = SparkEngine("spark://local")
    found.session = None
    return found


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


ACTION = pa.struct([("path", pa.string()), ("deletionVector", pa.string())])
SETTINGS = pa.struct(
    [("partitionColumns", pa.list_(pa.string())), ("configuration", pa.map_(pa.string(), pa.string()))]
)
CHECKPOINT = pa.table(
    {
        "add": pa.array([{"path": "kept.parquet"}, None, None, None], ACTION),
        "remove": pa.array([None, {"path": "old.parquet"}, None, None], ACTION),
        "protocol": pa.array(
            [None, None, {"minReaderVersion": 1}, None], pa.struct([("minReaderVersion", pa.int32())])
        ),
        "metaData": pa.array([None, None, None, {"partitionColumns": [], "configuration": []}], SETTINGS),
    }
)


def test_a_delta_table_from_its_checkpoint(engine, delta, tmp_path):
    delta.make()
    pq.write_table(CHECKPOINT, delta.log / f"{1:020d}.checkpoint.parquet")
    for number in (0, 1):
        (delta.log / f"{number:020d}.json").unlink()
    assert names(engine, tmp_path) == ["kept.parquet"]
    delta.commit(2, {"add": {"path": "new%20file.parquet"}})
    assert names(engine, tmp_path) == ["kept.parquet", "new file.parquet"]
    delta.commit(4, {"add": {"path": "old.parquet"}})
    with pytest.raises(UsageError, match="version 3 is missing"):
        names(engine, tmp_path)


@pytest.mark.parametrize("after", [False, True])
def test_a_checkpoint_of_which_a_part_is_missing(engine, delta, tmp_path, after):
    """What it says besides would be a table with fewer people, or with more."""
    delta.make()
    for number in (0, 1):
        (delta.log / f"{number:020d}.json").unlink()
    if after:
        delta.commit(2, {"commitInfo": {}})
    parts = [delta.log / f"{1:020d}.checkpoint.{part:010d}.{2:010d}.parquet" for part in (1, 2)]
    pq.write_table(CHECKPOINT.slice(1), parts[0])
    pq.write_table(CHECKPOINT.slice(0, 1), parts[1])
    assert names(engine, tmp_path) == ["kept.parquet"]
    parts[1].unlink()
    with pytest.raises(UsageError, match="version 0 is missing" if after else "checkpoint 1 is missing"):
        names(engine, tmp_path)


def test_a_version_before_a_broken_checkpoint_is_not_the_last(engine, delta, tmp_path):
    delta.make()
    pq.write_table(CHECKPOINT, delta.log / f"{3:020d}.checkpoint.{1:010d}.{2:010d}.parquet")
    with pytest.raises(UsageError, match="checkpoint 3 is missing"):
        names(engine, tmp_path)


@pytest.mark.parametrize("source", [".", "delta/*.parquet", "d*/old.parquet", "delta/old.parquet", "delta/_delta_log"])
def test_removed_files_do_not_come_back_by_another_name(engine, delta, tmp_path, source):
    delta.make()
    pq.write_table(CHECKPOINT, delta.log / f"{1:020d}.checkpoint.parquet")
    with pytest.raises(UsageError, match="whose log says which of them are current"):
        engine.trace(source, folder=tmp_path)


def test_a_delta_table_inside_another(engine, delta, tmp_path):
    delta.make()
    (tmp_path / "_delta_log").mkdir()
    with pytest.raises(UsageError, match="whose log says which of them are current"):
        names(engine, tmp_path)


@pytest.mark.parametrize("turn", [1, -1])
def test_a_deletion_vector_is_seen_whatever_the_order_of_a_commit(engine, delta, tmp_path, turn):
    """DELETE with vectors removes a file and adds the same path with a vector; the order in a commit is free."""
    delta.make(protocol={"minReaderVersion": 3, "readerFeatures": ["deletionVectors"]})
    vector = {"storageType": "u", "pathOrInlineDv": "x"}
    both = [{"remove": {"path": "kept.parquet"}}, {"add": {"path": "kept.parquet", "deletionVector": vector}}]
    delta.commit(2, *both[::turn])
    with pytest.raises(UsageError, match="uses deletion vectors"):
        names(engine, tmp_path)
    delta.commit(3, {"remove": {"path": "kept.parquet", "deletionVector": vector | {"offset": None}}})
    assert names(engine, tmp_path) == ["new file.parquet"]


@pytest.mark.parametrize(
    ("how", "sentence"),
    [
        ({"deletionVector": {"storageType": "u"}}, "uses deletion vectors"),
        ({"table": {"configuration": {"delta.columnMapping.mode": "name"}}}, "uses column mapping"),
        ({"table": {"partitionColumns": ["year"]}}, "stores partition columns in folder names"),
        ({"protocol": {"minReaderVersion": 3, "readerFeatures": ["rowsInTheSky"]}}, "needs a reader feature"),
        ({"protocol": {"minReaderVersion": 4}}, "needs a reader feature"),
    ],
)
def test_delta_tables_that_are_refused(engine, delta, tmp_path, how, sentence):
    delta.make(**how)
    with pytest.raises(UsageError, match=sentence):
        engine.header("delta", folder=tmp_path)


def test_a_delta_tables_file_that_is_gone(engine, delta, tmp_path):
    delta.make()
    (delta.folder / "kept.parquet").unlink()
    with pytest.raises(UsageError, match="that the table's log lists is missing"):
        engine.header("delta", folder=tmp_path)
