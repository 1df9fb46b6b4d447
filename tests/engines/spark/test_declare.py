"""Declared tables on Spark: what they hold, what the owner is told, what lies in the folder. Cells as memory's."""

import os
import stat
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.accounting.region import ValueSet
from discreet.engines.engine import TableLocations
from discreet.engines.memory import MemoryEngine
from discreet.errors import LedgerFault, SchemaError, UsageError
from discreet.plan.cell_statistics import DistinctCount, RowCount, Sum
from discreet.plan.predicate import member
from discreet.plan.relation import Scan
from discreet.schema.column import BooleanColumn, CategoryColumn, MomentColumn, NumberColumn, TextColumn
from discreet.schema.privacy_unit import PrivacyUnit
from discreet.schema.schema import Schema, Table
from discreet.sql.group_keys import declared_axis
from discreet.sql.typed_expression import column_expression
from engines.asking import asked, counted
from engines.spark.server import load, spark_tests, stored
from engines.tables import NAMES, WORDS

pytestmark = spark_tests
MEMORY = MemoryEngine()

#: A column of each type, under names that need quoting.
AGE = NumberColumn(name=NAMES[7], type="integer", low=0, high=120)
PAY = NumberColumn(name="%s", type="decimal", step=Fraction("0.01"), low=0, high=10**7)
DAY = MomentColumn(name="list_0.code", type="date", low=-1000, high=20000)
STAMP = MomentColumn(name="select", type="timestamp")
FLAG = BooleanColumn(name="it's", closed=True)
WORD = CategoryColumn(name="naïve", values=tuple(WORDS), other="b")
PLACE = CategoryColumn(name="a`b", values=("x", "y"), closed=True)
NOTE = TextColumn(name="a b")
COLUMNS = (AGE, PAY, DAY, STAMP, FLAG, WORD, PLACE, NOTE)


def table(source, columns=COLUMNS):
    schema = Schema(table="people", columns=columns, unit=PrivacyUnit())
    return Table(schema=schema, source=source, population="people", budget=None)


def people():
    """240 rows with something wrong in every column."""
    turns = range(240)
    picked = lambda values, kind: pa.array([values[turn * 7 % len(values)] for turn in turns], kind)  # noqa: E731
    return pa.table(
        {
            AGE.name: picked([1, 2, 500, -3, None, 120, 2**63 - 1], pa.int64()),
            PAY.name: picked([1.005, 2.5, None, float("nan"), 1e300, 0.285], pa.float64()),
            DAY.name: picked(["2020-01-05", "2020-02-30", None, "x", " 1971-01-01 "], pa.string()),
            STAMP.name: picked([0, -1, 2**62, None, 2**63 - 1], pa.timestamp("ms", "UTC")),
            FLAG.name: picked(["yes", "no", "maybe", None, "1.0"], pa.string()),
            WORD.name: picked([*WORDS, "zz", None], pa.string()),
            PLACE.name: picked(["x", "y", "z", None], pa.string()),
            NOTE.name: picked(["", "é", None, "x" * 2000, "a\ufffd"], pa.string()),
            "who cares": picked([b"1", b"2"], pa.binary()),
        }
    )


def test_as_the_reference_makes_it(spark_engine, tmp_path):
    rows, odd = people(), tmp_path / "a{b}[c]*?, d=e %20"
    odd.mkdir()
    source = load(rows, odd, files=3)
    pq.write_table(rows, odd / "whole.parquet")
    wanted = MEMORY.declare(table("whole.parquet"), folder=odd, target=odd / "memory.parquet")
    place = spark_engine.place("people.lake", folder=odd)
    assert spark_engine.declare(table(source), folder=odd, target=place) == wanted
    assert sorted(map(repr, stored(place))) == sorted(map(repr, pq.read_table(odd / "memory.parquet").to_pylist()))
    check_folder(place)
    check_questions(spark_engine, place, odd / "memory.parquet")
    check_ready(spark_engine, place)


def check_folder(place):
    """For its owner only, with nothing beside the table."""
    assert stat.S_IMODE(os.stat(place.folder).st_mode) == 0o700
    assert sorted(name.split("-")[0] for name in os.listdir(place.folder)) == ["manifest.json", "rows"]


def check_questions(engine, place, file):
    axes = [declared_axis(column) for column in (FLAG, WORD, PLACE, AGE)]
    age, pay = column_expression(AGE).expression, column_expression(PAY).expression
    where = member(AGE.name, ValueSet.interval(1, 121), ValueSet.interval(0, 121))
    statistics = (RowCount(), RowCount(where=where), Sum(of=age, centre=60), Sum(of=pay), DistinctCount(of=pay))
    for cells in (
        asked(),
        asked(axes=axes[1:3]),
        asked(where=where, axes=axes[:2], statistics=statistics),
        asked(statistics=(RowCount(where=where), Sum(of=pay, centre=5 * 10**6))),
    ):
        for here, there in zip(counted(engine, cells, place), counted(MEMORY, cells, file), strict=True):
            assert np.array_equal(here, there)
    scan = Scan(table="people", version=1)
    coded = [
        asked_engine.coded(scan, tuple(axes), region(), tables=TableLocations(files={scan: where_it_lies}))
        for asked_engine, where_it_lies in ((engine, place), (MEMORY, file))
    ]
    for places in ((), (0,), (2, 1), (0, 1, 2, 3)):
        here, there = (each.count(places).tolist() for each in coded)
        assert here == there and sum(here) > 0
    assert coded[0].exact_columns == ()  # no row came


def region():
    from discreet.accounting.region import Region

    return Region.whole()


def check_ready(engine, place):
    """Before the charge: a file that is shorter, gone or too many is seen, and nothing is read."""
    tables = TableLocations(files={Scan(table="people", version=3): place})
    engine.ready(tables)
    [rows] = [name for name in os.listdir(place.folder) if name.startswith("rows-")]
    part = min(entry.path for entry in os.scandir(f"{place.folder}/{rows}") if entry.name.endswith(".parquet"))
    size = os.path.getsize(part)
    for change in (lambda: os.truncate(part, size - 1), lambda: os.unlink(part)):
        change()
        with pytest.raises(LedgerFault, match="version 3 of 'people' is no longer complete"):
            engine.ready(tables)
    engine.drop(place)
    assert not os.path.exists(place.folder)
    with pytest.raises(LedgerFault):
        engine.ready(tables)


def test_a_table_without_rows(spark_engine, tmp_path):
    source = load(people().slice(0, 0), tmp_path, files=1)
    place = spark_engine.place("none.lake", folder=tmp_path)
    told = spark_engine.declare(table(source), folder=tmp_path, target=place)
    assert (told.exact_rows, set(told.exact_nulled.values())) == (0, {0})
    [found] = counted(spark_engine, asked(axes=[declared_axis(FLAG)]), place)
    assert found.tolist() == [0] * declared_axis(FLAG).size


def test_a_column_that_is_gone_or_of_another_type(spark_engine, tmp_path):
    """Before any row is read; and nothing is left behind."""
    place = spark_engine.place("people.lake", folder=tmp_path)
    gone = load(people().drop_columns([AGE.name]), tmp_path, "gone")
    bytes_now = load(people().set_column(0, AGE.name, pa.array([b""] * 240)), tmp_path, "bytes")
    for source, sentence in ((gone, "has no column"), (bytes_now, "is declared integer, but it is binary in bytes")):
        with pytest.raises(SchemaError, match=sentence):
            spark_engine.declare(table(source), folder=tmp_path, target=place)
    assert not os.path.exists(place.folder)


def test_a_source_that_changes_while_it_is_read(spark_engine, tmp_path, monkeypatch):
    """A file that comes, or is written to: nothing is made."""
    from discreet.engines.spark import declared_table as module

    source, told = load(people(), tmp_path), module.count_for_owner
    place = spark_engine.place("people.lake", folder=tmp_path)

    def late(*given):
        pq.write_table(people(), tmp_path / source / "late.parquet")
        return told(*given)

    monkeypatch.setattr(module, "count_for_owner", late)
    with pytest.raises(UsageError, match="changed while it was read"):
        spark_engine.declare(table(source, columns=(AGE,)), folder=tmp_path, target=place)
    assert not os.path.exists(place.folder)


def test_a_damaged_file_is_a_sentence(spark_engine, tmp_path):
    source = load(people(), tmp_path)
    part = tmp_path / source / "part-1.parquet"
    content = bytearray(part.read_bytes())
    content[4:200] = b"\xff" * 196
    part.write_bytes(content)
    place = spark_engine.place("people.lake", folder=tmp_path)
    with pytest.raises(UsageError, match="could not make the declared table of source") as caught:
        spark_engine.declare(table(source), folder=tmp_path, target=place)
    assert caught.value.__cause__ is None
    assert not os.path.exists(place.folder)


def test_another_engines_place(spark_engine, tmp_path):
    with pytest.raises(SchemaError, match="another engine"):
        spark_engine.ready(TableLocations(files={Scan(table="people", version=1): tmp_path / "x.parquet"}))


def test_a_name_is_used_once(spark_engine, tmp_path):
    source = load(people(), tmp_path)
    place = spark_engine.place("people.lake", folder=tmp_path)
    small = table(source, columns=(replace(AGE, name="who cares"),))
    with pytest.raises(SchemaError):
        spark_engine.declare(small, folder=tmp_path, target=place)
    spark_engine.declare(table(source, columns=(AGE,)), folder=tmp_path, target=place)
    with pytest.raises(ValueError, match="a new name"):
        spark_engine.declare(table(source, columns=(AGE,)), folder=tmp_path, target=place)
