"""A question that reads while another process sweeps; what Spark leaves in /tmp for others; a folder with brackets."""

import os
import secrets
import stat

import pyarrow as pa
import pyarrow.parquet as pq

from discreet.engines.engine import EngineFailure
from discreet.engines.spark.lake import Table as LakeTable
from discreet.schema.column import Number
from discreet.schema.schema import Schema, Table
from discreet.schema.unit import PrivacyUnit
from engines.asking import asked, counted
from engines.persons_tables import KEY, TAG_KEY
from engines.spark.server import load, spark_engine, spark_tests

__all__ = ["spark_engine"]
pytestmark = spark_tests

CANARY = secrets.token_hex(8)
WHO = [f"{CANARY}-{number}" for number in range(200)]
ROWS = pa.table({"who": [who for who in WHO for _ in range(3)] + ["few"], "age": [7] * 600 + [50]})


def table(rows=2):
    columns = (Number(name="age", type="integer", low=0, high=99),)
    schema = Schema(table="people", columns=columns, unit=PrivacyUnit(person=("who",), rows=rows))
    return Table(schema=schema, source="source", population="people", budget=None)


def make(engine, folder):
    load(ROWS, folder)
    place = engine.place("people.lake", folder=folder)
    engine.declare(table(), folder=folder, target=place, key=KEY, tag_key=TAG_KEY)
    return place


def test_half_a_table_is_not_counted(spark_engine, tmp_path, monkeypatch):
    """Between a look at the manifest and the listing of the folder, another process takes the old parts away."""
    place, whole = make(spark_engine, tmp_path), LakeTable.whole
    [[before]] = counted(spark_engine, asked(), place)
    assert before == 401

    def swept(self):
        found = whole(self)
        folder = f"{self.folder}/{found.rows.folder}"
        for name, _ in found.rows.files:
            if os.path.exists(f"{folder}/{name}") and 50 in pq.read_table(f"{folder}/{name}").column("c0").to_pylist():
                os.unlink(f"{folder}/{name}")  # the first file that rmtree came to
        return found

    monkeypatch.setattr(LakeTable, "whole", swept)
    try:
        [[after]] = counted(spark_engine, asked(), place)
    except EngineFailure:
        return
    assert after == 401, f"{after} of 401 rows were counted, charged, stored and answered"


def test_scratch_files_are_for_their_owner_only(spark_engine):
    """Shuffles hold ids and rows; without a folder of our own they lie in /tmp/blockmgr-* (0755), files 0644."""
    folder = spark_engine.session().conf.get("spark.local.dir", None)
    assert folder is not None and stat.S_IMODE(os.stat(folder).st_mode) == 0o700


def test_persons_in_a_folder_with_brackets(spark_engine, tmp_path):
    """As spark-matrix.md says of rows: a folder called a{b}[c]*? was read and written."""
    folder = tmp_path / "a{b}[c]*?"
    folder.mkdir()
    make(spark_engine, folder)
