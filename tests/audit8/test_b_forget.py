"""Where `forget` leaves a person's rows behind in a lake, or brings them back."""

import contextlib
import os
import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet
from discreet.engines.engine import Tables
from discreet.engines.engines import Engines
from discreet.engines.keyed import person_tag
from discreet.engines.spark.engine import SparkEngine
from discreet.engines.spark.erase import erase
from discreet.engines.spark.lake import Table as LakeTable
from discreet.engines.spark.store import Disk
from discreet.errors import DiscreetError, LedgerFault
from discreet.plan.relation import Scan
from discreet.schema.column import Number
from discreet.schema.schema import Schema, Table
from discreet.schema.unit import PrivacyUnit
from engines.persons_tables import KEY, TAG_KEY
from engines.spark.server import load, side, spark_engine, spark_tests, stored

__all__ = ["spark_engine"]
pytestmark = spark_tests

ROWS = pa.table({"who": ["ann", "ann", "bob", "cyd", "dan"], "age": [11, 12, 13, 14, 15]})
DECLARED = """
[tables.people]
source = "people.parquet"
{engine}
person = "who"
rows_per_person = 2
budget = {{ epsilon = 1 }}
[tables.people.columns]
age = {{ type = "integer", low = 0, high = 99 }}
"""


@pytest.fixture
def project(tmp_path, monkeypatch, spark_engine):
    """A project whose engine can change, with the suite's Spark behind every spark:// address."""
    monkeypatch.setenv("DISCREET_STATE", str(tmp_path / "state"))
    at, known = Engines.at, {}

    def chosen(self, address):
        if not address.startswith("spark:"):
            return at(self, address)
        if address not in known:
            known[address] = SparkEngine(address, deadline_s=120.0, threads=2, memory_mb=1024)
            known[address]._session = spark_engine.session()
        return known[address]

    monkeypatch.setattr(Engines, "at", chosen)
    folder = discreet.init(tmp_path / "project").folder
    pq.write_table(ROWS, folder / "people.parquet")
    start = (folder / "discreet.toml").read_text()

    def opened(engine):
        (folder / "discreet.toml").write_text(start + DECLARED.format(engine=engine))
        return discreet.open(folder)

    return opened


def lakes(folder):
    return sorted(str(place) for place in folder.rglob("*.lake"))


def ages(lake):
    """What any file of a folder holds, named by a manifest or not."""
    found = []
    for place, _, names in os.walk(lake):
        for name in names:
            if name.endswith(".parquet") and "rows-" in place:
                found += pq.read_table(f"{place}/{name}", partitioning=None).column("c0").to_pylist()
    return sorted(found)


def test_versions_of_another_engine_are_erased_from_too(project):
    there = project('engine = "spark://local"')
    there.refresh("people")
    here = project("")
    here.refresh("people")
    [lake] = lakes(here.folder.parent)
    assert {11, 12} <= set(ages(lake))
    try:
        here.forget("people", ["ann"])
    except DiscreetError:
        return  # said so: the owner knows
    assert not {11, 12} & set(ages(lake)), "ann was forgotten, and lies in version 1, in the lake"


def test_versions_of_duckdb_are_erased_from_after_a_move_to_spark(project):
    here = project("")
    here.refresh("people")
    there = project('engine = "spark://local"')
    there.refresh("people")
    files = [file for file in there.folder.parent.rglob("people-*.parquet") if "persons" not in file.name and ".lake" not in str(file)]  # fmt: skip
    [file] = files
    try:
        there.forget("people", ["ann"])
    except DiscreetError:
        return
    assert not {11, 12} & set(pq.read_table(file).column("age").to_pylist())


def test_versions_that_are_not_found_are_told(project, tmp_path):
    """The place of declared tables moved in the address: the old folder keeps everybody."""
    old = project(f'engine = "spark://local?declared={tmp_path}/old"')
    old.refresh("people")
    new = project(f'engine = "spark://local?declared={tmp_path}/new"')
    new.refresh("people")
    try:
        told = new.forget("people", ["ann"])
    except DiscreetError:
        return
    [lake] = [place for place in lakes(tmp_path) if "/old/" in place]
    assert not {11, 12} & set(ages(lake)) or told.exact_versions != 1, "success is told, for one of two versions"


def table(source="source"):
    columns = (Number(name="age", type="integer", low=0, high=99),)
    schema = Schema(table="people", columns=columns, unit=PrivacyUnit(person=("who",), rows=2))
    return Table(schema=schema, source=source, population="people", budget=None)


@pytest.fixture
def place(spark_engine, tmp_path):
    load(ROWS, tmp_path)
    place = spark_engine.place("people.lake", folder=tmp_path)
    spark_engine.declare(table(), folder=tmp_path, target=place, key=KEY, tag_key=TAG_KEY)
    return place


def test_two_erasures_at_once_do_not_undo_each_other(spark_engine, place, monkeypatch):
    """Two processes (or two curators with one ledger): bob's erasure began before ann's, and ends after it."""
    become, turns = LakeTable.become, []
    ann, bob = (person_tag([who], TAG_KEY) for who in ("ann", "bob"))

    def late(self, manifest):
        """Bob's parts are written; ann's whole erasure comes now, but for its sweep, which comes last."""
        turns.append(1)
        if len(turns) == 1:
            with monkeypatch.context() as patched:
                patched.setattr(LakeTable, "sweep", lambda self: None)
                assert erase(spark_engine.session, LakeTable(store=Disk(), folder=place.folder), [ann]) == 1
        become(self, manifest)

    monkeypatch.setattr(LakeTable, "become", late)
    with contextlib.suppress(DiscreetError, OSError):
        spark_engine.erase(place, [bob])
    LakeTable(store=Disk(), folder=place.folder).sweep()  # ann's, at its end
    assert ann not in {row["tag"] for row in side(place)}, "ann was erased, and is back"
    assert not {11, 12} & {row["age"] for row in stored(place)}


def test_a_damaged_table_is_not_made_whole_by_an_erasure(spark_engine, place):
    tables = Tables(files={Scan(table="people", version=1): place})
    lost = max(row["age"] for row in stored(place))
    [rows] = [name for name in os.listdir(place.folder) if name.startswith("rows-")]
    for name in os.listdir(f"{place.folder}/{rows}"):
        if (
            name.endswith(".parquet")
            and lost in pq.read_table(f"{place.folder}/{rows}/{name}").column("c0").to_pylist()
        ):
            os.unlink(f"{place.folder}/{rows}/{name}")
    with pytest.raises(LedgerFault):
        spark_engine.ready(tables)
    try:
        spark_engine.erase(place, [person_tag(["ann"], TAG_KEY)])
    except (DiscreetError, OSError):
        return
    with pytest.raises(LedgerFault):
        spark_engine.ready(tables)


def test_what_a_kill_leaves_is_swept(project, monkeypatch):
    """What lies there when the process is killed just before the manifest: ids in plain text, for ever."""
    there = project('engine = "spark://local"')
    become = LakeTable.become
    killed = []

    def looked(self, manifest):
        if not killed:
            left = self.folder.replace("people-", "people-0")
            shutil.copytree(self.folder, left)
            killed.append(left)
        become(self, manifest)

    monkeypatch.setattr(LakeTable, "become", looked)
    there.refresh("people")
    [left] = killed
    work = [name for name in os.listdir(left) if name.startswith("work-")]
    ids = pq.read_table(f"{left}/{work[0]}").column("key_0").to_pylist() if work else []
    assert "ann" in ids  # in plain text, there and then
    there.refresh("people")
    there.forget("people", ["ann"])
    assert not os.path.exists(left), "after a refresh and a forget, ann's id and rows lie there still"
