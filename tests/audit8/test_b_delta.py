"""Delta tables that bring back deleted people, or lose rows, without a word. No Spark is started."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.engines.spark.engine import SparkEngine
from discreet.errors import DiscreetError

ROWS = pa.table({"id": [1, 2]})
START = [{"protocol": {"minReaderVersion": 1}}, {"metaData": {"partitionColumns": [], "configuration": {}}}]


@pytest.fixture
def lake(tmp_path):
    (tmp_path / "lake" / "visits" / "_delta_log").mkdir(parents=True)
    for name in ("old", "kept"):
        pq.write_table(ROWS, tmp_path / "lake" / "visits" / f"{name}.parquet")
    return tmp_path


def commit(lake, number, *actions):
    log = lake / "lake" / "visits" / "_delta_log" / f"{number:020d}.json"
    log.write_text("".join(json.dumps(action) + "\n" for action in actions))


def names(lake, source):
    """The files that would be read; None where the source is refused."""
    try:
        return [file.name for file in SparkEngine("spark://local").trace(source, folder=lake).files]
    except DiscreetError:
        return None


def test_deleted_people_do_not_come_back_by_a_folder_above_a_delta_table(lake):
    commit(lake, 0, *START, {"add": {"path": "old.parquet"}}, {"add": {"path": "kept.parquet"}})
    commit(lake, 1, {"remove": {"path": "old.parquet"}})
    assert names(lake, "lake/visits") == ["kept.parquet"]
    assert "old.parquet" not in (names(lake, "lake") or []), "the folder above reads what was removed"


def test_deleted_people_do_not_come_back_by_a_glob(lake):
    commit(lake, 0, *START, {"add": {"path": "old.parquet"}}, {"add": {"path": "kept.parquet"}})
    commit(lake, 1, {"remove": {"path": "old.parquet"}})
    assert "old.parquet" not in (names(lake, "lake/visits/*.parquet") or [])


def test_a_deletion_vector_is_seen_whatever_the_order_of_a_commit(lake):
    """DELETE with vectors removes a file and adds the same path with a vector; the order in a commit is free."""
    features = {"protocol": {"minReaderVersion": 3, "readerFeatures": ["deletionVectors"]}}
    commit(lake, 0, features, START[1], {"add": {"path": "old.parquet"}}, {"add": {"path": "kept.parquet"}})
    vector = {"storageType": "u", "pathOrInlineDv": "x"}
    commit(lake, 1, {"add": {"path": "old.parquet", "deletionVector": vector}}, {"remove": {"path": "old.parquet"}})
    assert names(lake, "lake/visits") is None, "a file with rows left in it is lost without a word"
