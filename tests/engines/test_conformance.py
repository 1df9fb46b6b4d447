"""One suite for every engine: what the declared table holds and what a count is.

First by example, from the table at the head of `conversion`; then on generated tables, where every
engine must agree with the reference exactly.
"""

import csv
from fractions import Fraction

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from engines.tables import questions, tables
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from discreet.accounting.region import Allowed
from discreet.engines.duckdb import DuckDBEngine
from discreet.engines.memory import MemoryEngine
from discreet.plan.cells import Cells, Filter, Scan, axis
from discreet.plan.predicate import TRUE, Member
from discreet.schema.column import Boolean, Category, Moment, Number, Text
from discreet.schema.schema import Schema, Table
from discreet.schema.unit import PrivacyUnit

DUCKDB = DuckDBEngine(threads=1)
MEMORY = MemoryEngine()
every_engine = pytest.mark.parametrize("engine", [MEMORY, DUCKDB], ids=["memory", "duckdb"])


@pytest.fixture(scope="module", autouse=True)
def _closed():
    yield
    DUCKDB.close()


MOST = 2**63 - 2
DAY = 86_400_000_000

INTEGER = Number(name="x", type="integer", low=-10, high=120)
CENTS = Number(name="x", type="decimal", step=Fraction("0.01"), low=0, high=2_000_000)
EVEN = Number(name="x", type="decimal", step=Fraction("0.02"), low=-1000, high=1000)
FIVES = Number(name="x", type="decimal", step=Fraction("0.05"), low=-1000, high=1000)
THOUSANDS = Number(name="x", type="decimal", step=Fraction(1000), low=0, high=50)
DATE = Moment(name="x", type="date")
TIME = Moment(name="x", type="timestamp")
SEX = Category(name="x", values=("F", "M"))
CLOSED = Category(name="x", values=("F", "M"), closed=True)
OTHER = Category(name="x", values=("F", "M", "else"), other="else")
CLOSED_OTHER = Category(name="x", values=("F", "M", "else"), other="else", closed=True)

#: (column, text in a CSV, stored, what the owner is told)
EXAMPLES = [
    (INTEGER, "12", 12, ""), (INTEGER, " 12\t", 12, ""), (INTEGER, "12.0", 12, ""), (INTEGER, "12.", 12, ""),
    (INTEGER, "+5", 5, ""), (INTEGER, "-0", 0, ""), (INTEGER, "007", 7, ""), (INTEGER, "1.2e1", 12, ""),
    (INTEGER, "12.5", None, "nulled"), (INTEGER, "125e-1", None, "nulled"), (INTEGER, "abc", None, "nulled"),
    (INTEGER, "1_0", None, "nulled"), (INTEGER, "0x10", None, "nulled"), (INTEGER, "１２", None, "nulled"),
    (INTEGER, "nan", None, "nulled"), (INTEGER, "inf", None, "nulled"), (INTEGER, "-Infinity", None, "nulled"),
    (INTEGER, "true", None, "nulled"), (INTEGER, "\u00a012", None, "nulled"), (INTEGER, "", None, ""),
    (INTEGER, "121", 120, "clamped"), (INTEGER, "-11", -10, "clamped"), (INTEGER, "9" * 50, 120, "clamped"),
    (INTEGER, "-" + "9" * 50, -10, "clamped"), (INTEGER, "1e400", 120, "clamped"), (INTEGER, "-1e400", -10, "clamped"),
    (Number(name="x", type="integer"), "9223372036854775806", MOST, ""),
    (Number(name="x", type="integer"), "9223372036854775807", MOST, "clamped"),
    (Number(name="x", type="integer"), "-9223372036854775808", -MOST, "clamped"),
    (Number(name="x", type="integer", low=0), "-5", 0, "clamped"),
    (Number(name="x", type="integer", low=0), str(2**62), 2**62, ""),
    (CENTS, "12.34", 1234, ""), (CENTS, "0.285", 29, ""), (CENTS, "0.2849999999999999999999", 28, ""),
    (CENTS, "0.285e0", 28, ""), (CENTS, "-0.004", 0, ""), (CENTS, "-0.005", 0, "clamped"), (CENTS, "20000.004", 2_000_000, ""),
    (CENTS, "20000.005", 2_000_000, "clamped"), (CENTS, "1e300", 2_000_000, "clamped"), (CENTS, "1e-300", 0, ""),
    (CENTS, "-1e300", 0, "clamped"), (CENTS, "nan", None, "nulled"), (CENTS, "-inf", None, "nulled"),
    (EVEN, "0.01", 1, ""), (EVEN, "-0.01", -1, ""), (EVEN, "0.0099", 0, ""), (EVEN, "0.03", 2, ""),
    (FIVES, "0.025", 1, ""), (FIVES, "0.0249999999999", 0, ""), (FIVES, "-0.075", -2, ""),
    (THOUSANDS, "1500", 2, ""), (THOUSANDS, "1499.999", 1, ""), (THOUSANDS, "50499", 50, ""), (THOUSANDS, "50500", 50, "clamped"),
    (DATE, "1970-01-02", 1, ""), (DATE, " 1969-12-31 ", -1, ""), (DATE, "2020-02-30", None, "nulled"),
    (DATE, "1969-12-31 23:59:59", -1, ""), (DATE, "2020-01-01T00:30:00+01:00", 18261, ""), (DATE, "0000-01-01", -719528, ""),
    (DATE, "01/02/2020", None, "nulled"), (DATE, "20200101", None, "nulled"), (DATE, "epoch", None, "nulled"),
    (DATE, "infinity", None, "nulled"), (DATE, "12020-01-01", None, "nulled"),
    (Moment(name="x", type="date", low=0, high=10), "1970-02-01", 10, "clamped"),
    (TIME, "1970-01-01", 0, ""), (TIME, "1970-01-01 00:00", 0, ""), (TIME, "1970-01-01T00:00:01.5Z", 1_500_000, ""),
    (TIME, "1970-01-01 02:00:00+02:00", 0, ""), (TIME, "1970-01-01 02:00:00+02", 0, ""), (TIME, "1970-01-01 00:00:00.0000019", 1, ""),
    (TIME, "1969-12-31 23:59:59.9999999", -1, ""), (TIME, "1970-01-02 24:00:00", None, "nulled"), (TIME, "12:00", None, "nulled"),
    (TIME, "1970-01-01 00:00:00 Europe/Berlin", None, "nulled"), (TIME, "1970-01-01 00:00:60", None, "nulled"),
    (Boolean(name="x"), "true", 1, ""), (Boolean(name="x"), " NO ", 0, ""), (Boolean(name="x"), "1.0", 1, ""),
    (Boolean(name="x"), "2", None, "nulled"), (Boolean(name="x"), "ye\u017f", None, "nulled"),
    (Boolean(name="x", closed=True), "", 0, ""), (Boolean(name="x", closed=True), "maybe", 0, "nulled"),
    (SEX, "M", 1, ""), (SEX, "m", None, "nulled"), (SEX, "M ", None, "nulled"), (SEX, " M", None, "nulled"), (SEX, "", None, ""),
    (CLOSED, "", 0, ""), (CLOSED, "x", 0, "nulled"), (OTHER, "x", 2, ""), (OTHER, "", None, ""), (OTHER, "else", 2, ""),
    (CLOSED_OTHER, "x", 2, ""), (CLOSED_OTHER, "", 0, ""),
    (Category(name="x", values=("é", "e\u0301")), "e\u0301", 1, ""), (Category(name="x", values=("a", "A")), "A", 1, ""),
    (Text(name="x"), " as it is ", " as it is ", ""), (Text(name="x"), "a\nb\"c'", "a\nb\"c'", ""), (Text(name="x"), "", None, ""),
]  # fmt: skip


def one_column(column, source):
    schema = Schema(table="people", columns=(column,), unit=PrivacyUnit())
    return Table(schema=schema, source=source, population="people", budget=None)


def declared(engine, table, folder):
    """The stored rows, and the making."""
    making = engine.declare(table, folder=folder, target=folder / "made" / "table.parquet")
    return pq.read_table(folder / "made" / "table.parquet").to_pylist(), making


@every_engine
def test_each_type_takes_what_it_says(engine, tmp_path):
    by_column = {}
    for column, text, stored, told in EXAMPLES:
        by_column.setdefault(column, []).append((text, stored, told))
    for column, examples in by_column.items():
        with (tmp_path / "s.csv").open("w", encoding="utf-8", newline="") as stream:
            csv.writer(stream).writerows([["x", "rest"], *([text, "r"] for text, _, _ in examples)])
        rows, making = declared(engine, one_column(column, "s.csv"), tmp_path)
        assert [row["x"] for row in rows] == [stored for _, stored, _ in examples], column
        told = [word for _, _, word in examples]
        assert making.exact_rows == len(examples)
        assert making.exact_nulled == {"x": told.count("nulled")}
        assert making.exact_clamped == ({"x": told.count("clamped")} if isinstance(column, Number | Moment) else {})


PARQUET = [
    (INTEGER, pa.int64(), [5, -(2**63), 2**63 - 1, None], [5, -10, 120, None]),
    (INTEGER, pa.uint64(), [2**64 - 1], [120]),
    (INTEGER, pa.float64(), [12.0, 12.5, float("nan"), float("inf"), float("-inf"), 1e300], [12, None, None, None, None, 120]),
    (INTEGER, pa.bool_(), [True, False], [1, 0]),
    (INTEGER, pa.string(), ["12.0", ""], [12, None]),
    (CENTS, pa.float64(), [0.285, 12.34, float("nan"), float("-inf"), 1e22, -1e22, 5e-5], [29, 1234, None, None, 2_000_000, 0, 0]),
    (CENTS, pa.float32(), [0.1, 1e30], [10, 2_000_000]),
    (CENTS, pa.int32(), [3, -3], [300, 0]),
    (CENTS, pa.decimal128(10, 4), ["1.2350", "1.2349"], [124, 123]),
    (DATE, pa.date32(), [1, -1, 2**31 - 1], [1, -1, None]),
    (DATE, pa.timestamp("us"), [-1, DAY], [-1, 1]),
    (DATE, pa.timestamp("ns", "UTC"), [-1, 0], [-1, 0]),
    (TIME, pa.date32(), [1, -1], [DAY, -DAY]),
    (TIME, pa.timestamp("ns"), [1999, -1, -1001], [1, -1, -2]),
    (TIME, pa.timestamp("us", "America/New_York"), [0, 2**63 - 1], [0, None]),
    (TIME, pa.timestamp("ms"), [-1], [-1000]),
    (Boolean(name="x"), pa.bool_(), [True, None], [1, None]),
    (Boolean(name="x"), pa.int64(), [1, 0, 2], [1, 0, None]),
    (Category(name="x", values=("1", "true", "1.0", "2020-01-02")), pa.int64(), [1, 2], [0, None]),
    (Category(name="x", values=("1", "true", "1.0", "2020-01-02")), pa.bool_(), [True, False], [1, None]),
    (Category(name="x", values=("1", "true", "1.0", "2020-01-02")), pa.float64(), [1.0], [2]),
    (Category(name="x", values=("1", "true", "1.0", "2020-01-02")), pa.date32(), [18263], [3]),
    (SEX, pa.dictionary(pa.int8(), pa.string()), ["F", "x"], [0, None]),
    (Text(name="x"), pa.string(), ["", "a\0b", None], ["", "a\0b", None]),
    (Text(name="x"), pa.timestamp("us"), [1_500_000], ["1970-01-01 00:00:01.5"]),
]  # fmt: skip


@every_engine
@pytest.mark.parametrize("number", range(len(PARQUET)))
def test_typed_sources(engine, number, tmp_path):
    column, type_, given_values, stored = PARQUET[number]
    if pa.types.is_decimal(type_):
        array = pa.array(given_values).cast(type_)
    elif pa.types.is_temporal(type_):
        array = pa.array(given_values, pa.int32() if pa.types.is_date(type_) else pa.int64()).cast(type_)
    else:
        array = pa.array(given_values, type_)
    pq.write_table(pa.table({"x": array}), tmp_path / "s.parquet")
    rows, _ = declared(engine, one_column(column, "s.parquet"), tmp_path)
    assert [row["x"] for row in rows] == stored


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """One folder for all generated tables: files are written over, and no engine may remember the old ones."""
    return tmp_path_factory.mktemp("tables")


@given(data=st.data(), table=tables())
@settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
def test_engines_agree_with_the_reference(folder, data, table):
    """The stored rows, what the owner is told, and every cell of every question."""
    agree(folder, table, [data.draw(questions(table.schema)) for _ in range(4)])


@pytest.mark.fuzz
@pytest.mark.timeout(1800)
@given(data=st.data(), table=tables())
@settings(max_examples=5000, deadline=None, suppress_health_check=list(HealthCheck))
def test_engines_agree_with_the_reference_at_length(folder, data, table):
    agree(folder, table, [data.draw(questions(table.schema)) for _ in range(4)])


def agree(folder, table, asked):
    declaration = table.write(folder)
    files = {engine: folder / f"{place}.parquet" for place, engine in enumerate([MEMORY, DUCKDB])}
    makings = [engine.declare(declaration, folder=folder, target=file) for engine, file in files.items()]
    assert makings[0] == makings[1]
    expected, stored = (pq.read_table(file) for file in files.values())
    assert expected.to_pylist() == stored.to_pylist()
    assert expected.schema.equals(stored.schema)
    for cells in asked:
        vectors = [engine.count(cells, table.schema, file=files[MEMORY]).exact_values for engine in files]
        assert vectors[0].tolist() == vectors[1].tolist()


@every_engine
def test_cells_are_row_major_and_the_null_cell_is_last(engine, tmp_path):
    (tmp_path / "s.csv").write_text("sex,age\nF,0\nM,1\nM,1\n,1\nF,\n,\nM,2\n")
    sex = Category(name="sex", values=("F", "M"))
    age = Number(name="age", type="integer", low=0, high=2)
    schema = Schema(table="people", columns=(sex, age), unit=PrivacyUnit())
    table = Table(schema=schema, source="s.csv", population="people", budget=None)
    engine.declare(table, folder=tmp_path, target=tmp_path / "t.parquet")
    scan = Filter(source=Scan(table="people"), where=TRUE)
    cells = Cells(plan=scan, axes=(axis(age), axis(sex)))
    exact_values = engine.count(cells, schema, file=tmp_path / "t.parquet").exact_values
    assert exact_values.reshape(cells.shape).tolist() == [[1, 0, 0], [0, 2, 1], [0, 1, 0], [1, 0, 1]]
    old = Filter(source=Scan(table="people"), where=Member("age", Allowed.interval(1, 3)))
    total = engine.count(Cells(plan=old, axes=()), schema, file=tmp_path / "t.parquet").exact_values
    assert total.tolist() == [4]


@every_engine
def test_an_empty_table_has_empty_cells(engine, tmp_path):
    (tmp_path / "s.csv").write_text("x\n")
    table = one_column(SEX, "s.csv")
    rows, making = declared(engine, table, tmp_path)
    assert rows == [] and making.exact_rows == 0
    cells = Cells(plan=Filter(source=Scan(table="people"), where=TRUE), axes=(axis(SEX),))
    found = engine.count(cells, table.schema, file=tmp_path / "made" / "table.parquet").exact_values
    assert found.tolist() == [0, 0, 0]


@every_engine
def test_types_are_proposed_and_nothing_else(engine, tmp_path):
    (tmp_path / "s.csv").write_text(
        "whole,part,day,moment,flag,code,word,nothing,mixed\n"
        "1,1,2020-01-01,2020-01-01,true,007,x,,1\n"
        "-2,2.5,2020-01-02,2020-01-01 10:00,False,010,y,,x\n"
    )
    assert engine.columns(tmp_path / "s.csv") == {
        "whole": "integer", "part": "decimal", "day": "date", "moment": "timestamp", "flag": "boolean",
        "code": "text", "word": "text", "nothing": "text", "mixed": "text",
    }  # fmt: skip
    arrays = {
        "i": pa.array([1], pa.uint64()), "f": pa.array([1.5]), "d": pa.array([1], pa.date32()),
        "t": pa.array([1], pa.timestamp("ns")), "b": pa.array([True]), "s": pa.array(["1"]), "l": pa.array([[1]]),
        "n": pa.array([1], pa.decimal128(5, 0)), "m": pa.array([1], pa.decimal128(5, 1)),
    }  # fmt: skip
    pq.write_table(pa.table(arrays), tmp_path / "s.parquet")
    assert engine.columns(tmp_path / "s.parquet") == {
        "i": "integer", "f": "decimal", "d": "date", "t": "timestamp", "b": "boolean", "s": "text", "l": "text",
        "n": "integer", "m": "decimal",
    }  # fmt: skip
