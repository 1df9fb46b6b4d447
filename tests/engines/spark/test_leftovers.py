"""What a killed making left in a lake: forgetting reaches it, and what is old goes."""

import os
import shutil
from pathlib import Path
from types import MappingProxyType

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.engines.keyed_hashes import person_tag
from discreet.engines.spark.lake import LakeTable
from discreet.kernel.version import new_version_name
from discreet.project.orphaned_tables import drop_orphaned_tables
from discreet.schema.column import NumberColumn
from discreet.schema.privacy_unit import PrivacyUnit
from discreet.schema.schema import Schema, Table
from engines.persons_tables import KEY, TAG_KEY
from engines.spark.server import side, spark_tests
from killed import aged

pytestmark = spark_tests
LEDGER, OTHER = "abcdefghijklmnop", "ponmlkjihgfedcba"


class Named:
    """A ledger that names no version."""

    id = LEDGER
    versions = MappingProxyType({})

    def refresh(self):
        return self


@pytest.mark.parametrize("when", ["before it is listed", "after it is made"])
def test_a_task_that_lost_and_still_writes_changes_no_table(spark_engine, tmp_path, monkeypatch, when):
    """Its file has the name of the one that was taken over, and lies in a folder that the job had removed."""
    rows = {"id": ["p1", "p2", "p2"], "age": [1, 2, 3]}
    pq.write_table(pa.table(rows), tmp_path / "people.parquet")
    schema = Schema(table="visits", columns=(NumberColumn(name="age", type="integer", low=0, high=9),), unit=PrivacyUnit(person=("id",), rows=2))  # fmt: skip
    table = Table(schema=schema, source="people.parquet", population="p", budget=None)
    place, listed = spark_engine.place("visits.lake", folder=tmp_path), LakeTable.part

    def losing(self, folder):
        [first, *_] = Path(self.folder, folder).glob("part-*.parquet")
        late = Path(self.folder, folder, "_temporary/0/_temporary/attempt_202611190000_0001_m_000000_1") / first.name
        late.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(first, late)
        return listed(self, folder)

    with monkeypatch.context() as patch:
        if when == "before it is listed":
            patch.setattr(LakeTable, "part", losing)
        spark_engine.declare(table, folder=tmp_path, target=place, key=KEY, tag_key=TAG_KEY)
    made = spark_engine._table(place)
    if when == "after it is made":
        for folder in (made.manifest().rows.folder, made.manifest().persons.folder):
            losing(made, folder)
    assert made.rows(spark_engine.session(), made.whole_manifest()).count() == 3
    assert sorted(spark_engine.persons(place).exact_rows.tolist()) == [1, 2]


def test_what_was_left_is_reached_and_goes_when_it_is_old(spark_engine, tmp_path):
    pq.write_table(pa.table({"id": ["p1", "p2"], "age": [1, 2]}), tmp_path / "people.parquet")
    schema = Schema(table="visits", columns=(NumberColumn(name="age", type="integer", low=0, high=9),), unit=PrivacyUnit(person=("id",), rows=1))  # fmt: skip
    table = Table(schema=schema, source="people.parquet", population="p", budget=None)
    name = new_version_name("visits", ledger=LEDGER, ending=spark_engine.ending)
    place = spark_engine.place(name, folder=tmp_path)
    spark_engine.declare(table, folder=tmp_path, target=place, key=KEY, tag_key=TAG_KEY)
    others, begun = (
        aged(name, days=9).replace(LEDGER, OTHER),
        aged(new_version_name("v", ledger=LEDGER, ending=".lake"), days=9),
    )
    shutil.copytree(place.folder, tmp_path / others)  # another project's
    (tmp_path / begun).mkdir()  # one that never got its manifest

    def swept():
        gone = [person_tag(["p1"], TAG_KEY)]
        at = {"ledger": Named(), "engine": spark_engine, "folder": tmp_path}
        assert (
            drop_orphaned_tables(
                ["spark://local"], **at, forgotten=lambda name: gone if name.startswith("visits-") else []
            )
            == ()
        )
        return {path for path in os.listdir(tmp_path) if path.endswith(".lake")}

    assert swept() == {name, others}
    assert [row["tag"] for row in side(place)] == [person_tag(["p2"], TAG_KEY)]
    Path(place.folder).rename(tmp_path / aged(name, days=8))
    assert swept() == {others}
