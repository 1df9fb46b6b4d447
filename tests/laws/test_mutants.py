"""Bugs that would break the guarantee or the meaning of a count, planted one by one: each is caught.

The same check passes without the bug, so it is the bug that is seen.
"""

from collections.abc import Callable

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.accounting.region import Allowed, Box, Region
from discreet.engines import conversion, declare
from discreet.engines.duckdb import DuckDBEngine
from discreet.engines.engine import EngineFailure
from discreet.engines.memory import MemoryEngine
from discreet.plan.cells import Cells, Filter, Scan, axis
from discreet.plan.predicate import TRUE, Member, region
from discreet.schema.column import Category, Number
from discreet.schema.schema import Schema
from discreet.schema.unit import PrivacyUnit
from discreet.sql import write
from engines.tables import Rows
from laws.neighbours import Law

AGE = Number(name="age", type="integer", low=0, high=100)
WORD = Category(name="word", values=("a", "A", "b"))
SCHEMA = Schema(table="people", columns=(AGE, WORD), unit=PrivacyUnit())
CSV = Rows(
    schema=SCHEMA,
    types=None,
    rows=(("30", "a"), ("31", "A"), ("200", "b"), ("-5", None), (None, "x"), ("40", "a")),
)
FLOATS = Rows(schema=SCHEMA, types=(pa.float64(), pa.string()), rows=((30.0, "a"), (float("nan"), "b"), (50.0, "A")))


def asked(where=TRUE, *columns):
    axes = tuple(axis(column) for column in columns)
    return Cells(plan=Filter(source=Scan(table="people"), where=where), axes=axes)


QUESTIONS = [
    asked(),
    asked(TRUE, AGE),
    asked(TRUE, WORD),
    asked(Member("age", Allowed.interval(30, 41)), WORD),
    asked(Member("word", Allowed.of([0])), AGE),
]


@pytest.fixture
def engine(quick_files):
    engine = DuckDBEngine(threads=1)
    yield engine
    engine.close()


@pytest.fixture
def neighbours(tmp_path, engine) -> Callable[[], None]:
    return lambda: Law(tmp_path, engine).check(CSV, list(range(len(CSV.rows))), QUESTIONS)


@pytest.fixture
def reference(tmp_path, engine) -> Callable[[], None]:
    """The stored rows and every cell, as the reference engine has them."""

    def check():
        for table in (CSV, FLOATS):
            declaration = table.write(tmp_path)
            file, other = tmp_path / "declared.parquet", tmp_path / "reference.parquet"
            engine.declare(declaration, folder=tmp_path, target=file)
            MemoryEngine().declare(declaration, folder=tmp_path, target=other)
            assert pq.read_table(file).to_pylist() == pq.read_table(other).to_pylist()
            for cells in QUESTIONS:
                found = engine.count(cells, SCHEMA, file=file).exact_values
                assert found.tolist() == MemoryEngine().count(cells, SCHEMA, file=other).exact_values.tolist()

    return check


def caught(check, plant, *, by=AssertionError):
    check()
    plant()
    with pytest.raises(by):
        check()


def test_a_join_that_doubles_rows(neighbours, monkeypatch):
    def twice(cursor, schema, lists=declare._lists):
        lists(cursor, schema)
        cursor.execute("INSERT INTO list_1 FROM list_1")

    caught(neighbours, lambda: monkeypatch.setattr(declare, "_lists", twice))


def test_categories_matched_by_a_collation(neighbours, monkeypatch):
    """'a' meets both 'a' and 'A': one row becomes two."""

    def blind(value, kind):
        return f"{value} COLLATE NOCASE"

    caught(neighbours, lambda: monkeypatch.setattr(declare, "word_sql", blind))


def test_a_conversion_that_looks_at_other_rows(neighbours, monkeypatch):
    def normalised(value, kind):
        return f"CAST(100 * TRY_CAST({value} AS BIGINT) // max(TRY_CAST({value} AS BIGINT)) OVER () AS BIGINT)"

    caught(neighbours, lambda: monkeypatch.setattr(conversion, "_integer", normalised))


def narrower(cells):
    """The region of a question without the last of its values."""
    boxes = region(cells.plan.where).boxes
    sides = [
        {name: Allowed.interval(kept.runs[0][0], kept.runs[-1][1] - 1) for name, kept in box.sides.items()}
        for box in boxes
    ]
    return Region(tuple(Box(side) for side in sides))


def test_a_region_narrower_than_its_question(neighbours, monkeypatch):
    def plant():
        monkeypatch.setattr(Cells, "region", property(narrower))
        monkeypatch.setattr(write, "_sides", lambda region: [])

    caught(neighbours, plant)


def test_a_region_too_narrow_still_holds_what_is_counted(neighbours, reference, monkeypatch):
    """The region is ANDed to what is counted, so that mistake alone costs an answer, not a person."""
    monkeypatch.setattr(Cells, "region", property(narrower))
    neighbours()
    with pytest.raises(AssertionError):
        reference()


def test_nan_passed_through(reference, monkeypatch):
    """least(greatest(NaN, 0), 100) is 100 in the engine, and NULL becomes 0."""

    def clamp(value, kind):
        return f"CAST(least(greatest(TRY_CAST({value} AS DOUBLE), 0), 100) AS BIGINT)"

    caught(reference, lambda: monkeypatch.setattr(conversion, "_integer", clamp))


def plant_no_clamp(monkeypatch):
    monkeypatch.setattr(declare, "_filled", lambda column, place: f"raw_{place}")
    wide = pa.schema([("age", pa.int64()), ("word", pa.int64())])
    monkeypatch.setattr(declare, "arrow_schema", lambda schema: wide)
    monkeypatch.setattr(declare, "storage", lambda column: "BIGINT")


def test_a_clamp_left_out(neighbours, monkeypatch):
    """A row outside the bounds has no cell: it is not counted where it should be."""
    caught(neighbours, lambda: plant_no_clamp(monkeypatch))


def test_a_clamp_left_out_and_its_guard_as_well(neighbours, monkeypatch):
    """Then a number points outside the cells, and the engine notices."""

    def plant():
        plant_no_clamp(monkeypatch)
        monkeypatch.setattr(write, "_within", lambda axis: "TRUE")

    caught(neighbours, plant, by=(EngineFailure, AssertionError))


def test_null_counted_in_the_first_cell(reference, monkeypatch):
    def first(axis, place=write._place):
        return place(axis).replace(f", {axis.size - 1})", ", 0)")

    caught(reference, lambda: monkeypatch.setattr(write, "_place", first))


def test_null_turned_into_a_bound(reference, monkeypatch):
    def filled(column, place, filled=declare._filled):
        return f"least(greatest(raw_{place}, 0), 100)" if column == AGE else filled(column, place)

    caught(reference, lambda: monkeypatch.setattr(declare, "_filled", filled))


def test_rows_counted_twice_by_the_question(neighbours, monkeypatch):
    def doubled(cells, schema, *, source, count_sql=write.count_sql):
        return count_sql(cells, schema, source=f"(FROM {source} UNION ALL FROM {source.replace('?', '$1')})")

    from discreet.engines import duckdb

    def plant():
        monkeypatch.setattr(duckdb, "_DECLARED", "read_parquet($1, hive_partitioning = false)")
        monkeypatch.setattr(duckdb, "count_sql", doubled)

    caught(neighbours, plant)
