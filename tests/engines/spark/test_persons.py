"""Persons with many rows on Spark: the very rows that the reference keeps; erasing; what is never shown."""

import os
import random
import threading
from collections import Counter
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.engines.keyed_hashes import person_tag
from discreet.engines.memory import MemoryEngine
from discreet.engines.spark import declared_table as declare_module
from discreet.engines.spark import person_table as persons_module
from discreet.engines.spark.lake import LakeTable as LakeTable
from discreet.engines.spark.lake_erasure import erase
from discreet.engines.spark.lake_store import DiskStore
from discreet.engines.table_file import PERSON
from discreet.errors import LedgerFault, SchemaError
from discreet.schema.column import BooleanColumn, CategoryColumn, NumberColumn, TextColumn
from discreet.schema.privacy_unit import PrivacyUnit
from discreet.schema.schema import Schema, Table
from engines.persons_tables import IDS, KEY, TAG_KEY, check_unit, declared
from engines.spark.server import load, side, spark_tests, stored

pytestmark = spark_tests
MEMORY = MemoryEngine()
CHANCE = random.Random(3)

COLUMNS = (
    NumberColumn(name="age", type="integer", low=0, high=120),
    CategoryColumn(name="sex", values=("F", "M"), constant=True),
    TextColumn(name="note"),
    NumberColumn(name="pay", type="decimal", step=Fraction("0.01"), low=0, high=10**7),
    BooleanColumn(name="smoker", constant=True),
)


def table(source, unit, name="people", columns=COLUMNS):
    return Table(schema=Schema(table=name, columns=columns, unit=unit), source=source, population="p", budget=None)


def visits(**ids):
    """300 rows with few different contents, so that persons have many and equal ones."""
    contents = {
        "age": pa.array([CHANCE.choice([1, 1, 2, 500, None]) for _ in range(300)], pa.int16()),
        "sex": pa.array([CHANCE.choice(["F", "F", "M", "x", None]) for _ in range(300)]),
        "note": pa.array([CHANCE.choice(["", "é", "a:b", None, "1:"]) for _ in range(300)]),
        "pay": pa.array([CHANCE.choice([1.005, 2.5, None, float("nan")]) for _ in range(300)]),
        "smoker": pa.array([CHANCE.choice([True, None]) for _ in range(300)]),
    }
    return pa.table({name: pa.array([CHANCE.choice(values) for _ in range(300)], type_) for name, (type_, values) in ids.items()} | contents)  # fmt: skip


#: Persons on each edge, with a limit of two rows: id, age, sex, note, pay, smoker.
EDGES = [
    *[("kept", 1, "F", "a", 1.0, True)] * 2,
    *[("one too many", age, "F", "a", 1.0, True) for age in (1, 2, 3)],
    *[("forgotten, and kept", age, "F", "a", 1.0, True) for age in (1, 2)],
    *[("forgotten, and ranked", age, "F", "a", 1.0, True) for age in (1, 2, 3)],
    *[("a NULL among values", 1, "F", "a", 1.0, truth) for truth in (True, None)],
    *[("values that differ", 1, sex, "a", 1.0, True) for sex in "FM"],
    *[("all NULL", age, None, None, None, None) for age in (1, 2)],
    *[(b"damaged \xff", age, "F", "a", 1.0, True) for age in (1, 2)],
    (b"damaged \xfe", 3, "F", "a", 1.0, True),
]


def edges():
    """Those persons' rows. An id says that it is a text, whatever its bytes are."""
    ids, ages, *others = zip(*EDGES, strict=True)
    words = [each if isinstance(each, bytes) else each.encode() for each in ids]
    ends = np.cumsum([0, *map(len, words)]).astype(np.int32)
    texts = pa.StringArray.from_buffers(len(words), pa.py_buffer(ends), pa.py_buffer(b"".join(words)))
    return pa.table([texts, pa.array(ages, pa.int16()), *map(pa.array, others)], names=["id", "age", "sex", "note", "pay", "smoker"])  # fmt: skip


def contents(place):
    """Rows under their persons' tags, and everybody's number of rows."""
    tags = {row["number"]: row["tag"] for row in side(place)}
    assert len(set(tags.values())) == len(tags) == len(side(place)), "one number, one tag"
    rows = Counter((tags[row.pop(PERSON)], tuple(row.values())) for row in stored(place))
    return rows, {row["tag"]: row["rows"] for row in side(place)}


def agree(engine, given, source, folder, **how):
    """Make a table on both engines; what Spark made is what the reference did."""
    wanted, rows, counts = declared(MEMORY, given("whole.parquet"), folder, **how)
    place = engine.place(f"{len(os.listdir(folder))}.lake", folder=folder)
    keys = {"key": KEY, "tag_key": TAG_KEY} | how
    assert engine.declare(given(source), folder=folder, target=place, **keys) == wanted
    assert contents(place) == (rows, counts)
    return place


def test_the_rows_that_the_reference_keeps_and_then_an_erasure(spark_engine, tmp_path, monkeypatch):
    folder = tmp_path / "a{b}[c]*?"
    folder.mkdir()
    rows = pa.concat_tables([visits(id=(pa.string(), [*IDS, None])), edges()])
    unit, given = PrivacyUnit(person=("id",), rows=2), lambda source: table(source, unit)
    source, forgotten = load(rows, folder, files=3), ("1", "forgotten, and kept", "forgotten, and ranked")
    pq.write_table(rows, folder / "whole.parquet")
    place = agree(spark_engine, given, source, folder, forgotten=[person_tag([who], TAG_KEY) for who in forgotten])
    before, counts = contents(place)
    check_unit(before, given(source).schema)
    assert sorted(name.split("-")[0] for name in os.listdir(place.folder)) == ["manifest.json", "persons", "rows"]
    gone = [person_tag(["01"], TAG_KEY), person_tag(["É"], TAG_KEY), b"x" * 16]
    check_broken_off(spark_engine, place, gone, monkeypatch)
    check_at_once(spark_engine, place, gone, monkeypatch)
    after = Counter({row: count for row, count in before.items() if row[0] not in gone})
    assert contents(place) == (after, {tag: count for tag, count in counts.items() if tag not in gone})
    assert sorted(name.split("-")[0] for name in os.listdir(place.folder)) == ["manifest.json", "persons", "rows"]
    known = spark_engine.persons(place)
    assert dict(zip(known.exact_tags.to_pylist(), known.exact_rows.tolist(), strict=True)) == contents(place)[1]
    check_left_behind(spark_engine, place, gone)
    check_damaged(spark_engine, place, gone)


def check_at_once(engine, place, gone, monkeypatch):
    """Two erasures, of which the second begins before the first has ended: neither undoes the other."""
    lake, become, found = LakeTable(store=DiskStore(), folder=place.folder), LakeTable.commit, []
    other = threading.Thread(target=lambda: found.append(erase(engine.session, lake, gone[1:])))

    def late(self, manifest, **more):
        if not other.ident:
            other.start()
            other.join(1.0)
        become(self, manifest, **more)

    with monkeypatch.context() as patched:
        patched.setattr(LakeTable, "commit", late)
        assert erase(engine.session, lake, gone[:1]) == 1
        other.join()
    assert found == [1]


def check_damaged(engine, place, gone):
    """A table that lacks a file is not made whole by an erasure."""
    part = max(file.path for file in LakeTable(store=DiskStore(), folder=place.folder).store.files(place.folder) if "/rows-" in file.path)  # fmt: skip
    os.unlink(part)
    with pytest.raises(LedgerFault, match="complete in the lake"):
        engine.erase(place, gone)
    with pytest.raises(LedgerFault, match="complete in the lake"):
        engine.persons(place)


def check_broken_off(engine, place, gone, monkeypatch):
    """Before the manifest is replaced: nothing has happened, and nothing is left."""
    before = contents(place)

    def broken(self, manifest, **more):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(LakeTable, "commit", broken)
        with pytest.raises(KeyboardInterrupt):
            engine.erase(place, gone)
    assert contents(place) == before
    assert len(os.listdir(place.folder)) == 3


def check_left_behind(engine, place, gone):
    """After it, before the old parts are gone: a second run, which finds nobody, takes them away."""
    os.mkdir(f"{place.folder}/rows-0123456789abcdef")
    assert engine.erase(place, gone) == 0
    assert len(os.listdir(place.folder)) == 3


def test_ids_of_every_type(spark_engine, tmp_path):
    """A composite one: whole numbers, dates inside and outside the calendar, decimals, truths."""
    days = [0, -719_162, -719_163, 2_932_896, 2_932_897, 2**31 - 1]
    rows = visits(
        a=(pa.int64(), [0, -2, 2**63 - 1, -(2**63), None]),
        b=(pa.date32(), days),
        c=(pa.decimal128(20, 0), [0, -5]),
        d=(pa.bool_(), [True, False]),
        e=(pa.uint64(), [0, 2**64 - 1]),
    )
    unit = PrivacyUnit(person=("a", "b", "c", "d", "e"), rows=1)
    source = load(rows, tmp_path)
    pq.write_table(rows, tmp_path / "whole.parquet")
    agree(spark_engine, lambda source: table(source, unit, columns=COLUMNS[:3]), source, tmp_path)


def test_through_two_other_tables(spark_engine, tmp_path):
    """A test belongs to a visit, a visit to a patient; ids are numbers here and texts there."""
    results = visits(visit=(pa.string(), ["1", "2", "3", "4", "5", "x", None]))
    stays = pa.table(
        {
            "visit": pa.array([1, 2, 2, 3, 4, None, 6, 6], pa.int32()),
            "patient": ["a", "a", "b", "c", None, "d", "f", "f"],
        }
    )
    patients = pa.table(
        {"patient": ["a", "b", "c", "c", "d", "f", "f"], "person": ["A", "B", "C", "D", None, "F", "F"]}
    )
    once = pa.table(
        {"visit": ["6"], "age": pa.array([1], pa.int16()), "sex": ["F"], "note": ["a"], "pay": [1.0], "smoker": [True]}
    )
    results = pa.concat_tables([results, once])  # F has one row, however often the way to them is written down
    for name, rows in (("stays", stays), ("patients", patients)):
        pq.write_table(rows, tmp_path / f"{name}.parquet")
    pq.write_table(results, tmp_path / "whole.parquet")
    source = load(results, tmp_path)
    step = PrivacyUnit(through="stays", on=("visit",), rows=2)
    key = TextColumn(name="patient")
    way = (
        table("stays.parquet", PrivacyUnit(through="patients", on=("patient",), rows=2), "stays", (key,)),
        table("patients.parquet", PrivacyUnit(person=("person",), rows=2), "patients", (key,)),
    )
    agree(spark_engine, lambda source: table(source, step), source, tmp_path, path=way)


def test_an_id_that_is_not_exact(spark_engine, tmp_path):
    source = load(visits(id=(pa.float64(), [1.0])), tmp_path)
    with pytest.raises(SchemaError, match="holds double, which does not identify people exactly"):
        spark_engine.declare(
            table(source, PrivacyUnit(person=("id",), rows=2)),
            folder=tmp_path,
            target=spark_engine.place("t.lake", folder=tmp_path),
            key=KEY,
            tag_key=TAG_KEY,
        )


def test_no_plan_shows_a_key(spark_engine, tmp_path, monkeypatch):
    """And the source, which is larger, is never the side that goes everywhere."""
    source = load(visits(id=(pa.string(), ["a", "b"])), tmp_path)
    plans = []

    def looked(session, frames, named=declare_module.temporary_views):
        if persons_module._PERSONS in frames:
            java = session.sql(grouping[0])._jdf.queryExecution()
            plans.append(java.toString() + java.logical().toJSON())
        return named(session, frames)

    grouping = []
    sql = persons_module._SparkPersonTable._group_sql
    monkeypatch.setattr(
        persons_module._SparkPersonTable, "_group_sql", lambda self: grouping.append(sql(self)) or grouping[-1]
    )
    monkeypatch.setattr(persons_module, "temporary_views", looked)
    spark_engine.declare(
        table(source, PrivacyUnit(person=("id",), rows=2)),
        folder=tmp_path,
        target=spark_engine.place("t.lake", folder=tmp_path),
        key=KEY,
        tag_key=TAG_KEY,
    )
    [plan] = plans
    assert "hmac" in plan.lower() and "BroadcastNestedLoopJoin" in plan
    for key in (KEY, TAG_KEY):
        for shown in (key.hex(), ", ".join(map(str, key)), " ".join(f"{byte:02X}" for byte in key)):
            assert shown.lower() not in plan.lower()
