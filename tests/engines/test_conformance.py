"""One suite for every engine: what the declared table holds and what a count is.

First by example, from the table at the head of `conversion`; then on generated tables, where every
engine must agree with the reference exactly.
"""

import csv
from fractions import Fraction

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from discreet.accounting.region import Allowed
from discreet.engines.duckdb import DuckDBEngine
from discreet.engines.memory import MemoryEngine
from discreet.plan.predicate import Member
from discreet.schema.column import Boolean, Category, Moment, Number, Text
from discreet.schema.schema import Schema, Table
from discreet.schema.unit import PrivacyUnit
from discreet.sql.keys import declared_axis
from engines.asking import asked, counted
from engines.tables import STEPS, Rows, decimal, questions, tables

DUCKDB = DuckDBEngine(threads=1)
MEMORY = MemoryEngine()
every_engine = pytest.mark.parametrize("engine", [MEMORY, DUCKDB], ids=["memory", "duckdb"])


@pytest.fixture(scope="module", autouse=True)
def _closed(quick_files):
    yield
    DUCKDB.close()


MOST = 2**63 - 2
DAY = 86_400_000_000
NAN, INFINITY = float("nan"), float("inf")

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

#: For each column: texts that fit and their codes, texts that are clamped, and texts that do not fit.
EXAMPLES = [
    (
        INTEGER,
        {"12": 12, " 12\t": 12, "12.0": 12, "12.": 12, "+5": 5, "-0": 0, "007": 7, "1.2e1": 12, "": None},
        {"121": 120, "-11": -10, "9" * 50: 120, "-" + "9" * 50: -10, "1e400": 120, "-1e400": -10},
        ["12.5", "125e-1", "abc", "1_0", "0x10", "１２", "nan", "inf", "-Infinity", "true", "\u00a012", "1e99999", "."],
    ),
    (
        Number(name="x", type="integer"),
        {str(MOST): MOST, str(-MOST): -MOST, "0e5": 0},
        {str(2**63 - 1): MOST, str(-(2**63)): -MOST, "1e19": MOST},
        ["5e-324"],
    ),
    (Number(name="x", type="integer", low=0), {str(2**62): 2**62}, {"-5": 0, "1e300": MOST}, []),
    (
        CENTS,
        {"12.34": 1234, "0.285": 29, "0.28499999999999999": 28, "0.285e0": 28, "-0.004": 0, "20000.004": 2_000_000},
        {"-0.005": 0, "20000.005": 2_000_000, "1e300": 2_000_000, "-1e300": 0, "9" * 50: 2_000_000},
        ["nan", "-inf", "inf", "1,5", "$5", "1e"],
    ),
    (EVEN, {"0.01": 1, "-0.01": -1, "0.0099": 0, "0.03": 2, "1e-300": 0}, {"20.01": 1000}, ["x"]),
    (FIVES, {"0.025": 1, "0.0249999999999": 0, "-0.075": -2}, {"-50.025": -1000}, []),
    (THOUSANDS, {"1500": 2, "1499.999": 1, "50499": 50}, {"50500": 50}, []),
    (
        DATE,
        {
            "1970-01-02": 1, " 1969-12-31 ": -1, "1969-12-31 23:59:59": -1, "2020-01-01T00:30:00+01:00": 18261,
            "0000-01-01": -719528,
        },
        {},
        ["2020-02-30", "01/02/2020", "20200101", "epoch", "infinity", "12020-01-01"],
    ),
    (Moment(name="x", type="date", low=0, high=10), {"1970-01-11": 10}, {"1970-01-12": 10, "1960-01-01": 0}, ["x"]),
    (
        TIME,
        {
            "1970-01-01": 0, "1970-01-01 00:00": 0, "1970-01-01T00:00:01.5Z": 1_500_000, "1970-01-01 02:00:00+02:00": 0,
            "1970-01-01 02:00:00+02": 0, "1970-01-01 00:00:00.0000019": 1, "1969-12-31 23:59:59.9999999": -1,
        },
        {},
        ["1970-01-02 24:00:00", "12:00", "1970-01-01 00:00:00 Europe/Berlin", "1970-01-01 00:00:60"],
    ),
    (Boolean(name="x"), {"true": 1, " NO ": 0, "1.0": 1, "T": 1, "": None}, {}, ["2", "ye\u017f", "on", "1.00"]),
    (Category(name="x", values=("é", "e\u0301", "a", "A")), {"e\u0301": 1, "é": 0, "A": 3, "a": 2}, {}, ["E\u0301"]),
    (SEX, {"M": 1, "F": 0, "": None}, {}, ["m", "M ", " M", "FM"]),
    (OTHER, {"x": 2, "else": 2, "f": 2, "": None}, {}, []),
    (CLOSED_OTHER, {"x": 2, "": 0, "M": 1}, {}, []),
    (Text(name="x"), {" as it is ": " as it is ", "a\nb\"c'": "a\nb\"c'", "": None}, {}, []),
]  # fmt: skip


def one_column(column, source):
    schema = Schema(table="people", columns=(column,), unit=PrivacyUnit())
    return Table(schema=schema, source=source, population="people", budget=None)


def declared(engine, table, folder):
    """The stored rows, and the making."""
    making = engine.declare(table, folder=folder, target=folder / "made" / "table.parquet")
    return pq.read_table(folder / "made" / "table.parquet").to_pylist(), making


@every_engine
@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_each_type_takes_what_it_says(engine, number, tmp_path):
    column, kept, clamped, nulled = EXAMPLES[number]
    with (tmp_path / "s.csv").open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows([["x", "rest"], *([text, "r"] for text in (*kept, *clamped, *nulled))])
    rows, making = declared(engine, one_column(column, "s.csv"), tmp_path)
    assert [row["x"] for row in rows] == [*kept.values(), *clamped.values(), *(None for _ in nulled)]
    assert making.exact_rows == len(rows)
    assert making.exact_nulled == {"x": len(nulled)}
    assert making.exact_clamped == ({"x": len(clamped)} if isinstance(column, Number | Moment) else {})


@pytest.mark.parametrize("step", STEPS)
def test_numbers_of_every_size_on_every_grid(step, tmp_path):
    """Where a decimal type ends is where engines fail: as many nines as it takes, on both sides."""
    sizes = ["9" * size for size in range(1, 45)] + ["0." + "9" * size for size in range(1, 45)]
    sizes += [decimal(Fraction(step) * Fraction(2 * code + 1, 2)) for code in (0, 1, 7, 2**60)]
    for low, high in [(None, None), (0, 0), (-1, 1), (-(2**60), 2**60), (None, 5)]:
        column = Number(name="x", type="decimal", step=Fraction(step), low=low, high=high)
        table = Rows(
            schema=Schema(table="people", columns=(column,), unit=PrivacyUnit()),
            types=None,
            rows=tuple((sign + size,) for sign in ("", "-") for size in sizes),
        )
        agree(tmp_path, table, [])


@every_engine
@pytest.mark.parametrize("column", [CLOSED, Boolean(name="x", closed=True)], ids=["category", "boolean"])
def test_closed_takes_the_first_value_and_the_owner_hears_of_what_did_not_fit(engine, column, tmp_path):
    (tmp_path / "s.csv").write_text("x,rest\nperhaps,r\n,r\n")
    rows, making = declared(engine, one_column(column, "s.csv"), tmp_path)
    assert [row["x"] for row in rows] == [0, 0]
    assert making.exact_nulled == {"x": 1}


PARQUET = [
    (INTEGER, pa.int64(), [5, -(2**63), 2**63 - 1, None], [5, -10, 120, None]),
    (INTEGER, pa.uint64(), [2**64 - 1], [120]),
    (INTEGER, pa.float64(), [12.0, 12.5, NAN, INFINITY, -INFINITY, 1e300], [12, None, None, None, None, 120]),
    (INTEGER, pa.bool_(), [True, False], [1, 0]),
    (INTEGER, pa.string(), ["12.0", ""], [12, None]),
    (CENTS, pa.float64(), [0.285, 12.34, NAN, -INFINITY, -1e22, 5e-5, 1e22], [29, 1234, None, None, 0, 0, 2_000_000]),
    (CENTS, pa.float32(), [0.1, 1e30], [10, 2_000_000]),
    (CENTS, pa.int32(), [3, -3], [300, 0]),
    (CENTS, pa.decimal128(10, 4), ["1.2350", "1.2349"], [124, 123]),
    (DATE, pa.date32(), [1, -1, 2**31 - 1], [1, -1, None]),
    (DATE, pa.timestamp("us"), [-1, DAY], [-1, 1]),
    (DATE, pa.timestamp("ns", "UTC"), [-1, 0], [-1, 0]),
    (TIME, pa.date32(), [1, -1], [DAY, -DAY]),
    (TIME, pa.timestamp("ns"), [1999, -1, -1001, -(2**63), 2**63 - 1], [1, -1, -2, -9223372036854776, None]),
    (TIME, pa.timestamp("us"), [-(2**63), 2**63 - 2, -(2**63) + 1], [-MOST, MOST, None]),
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


@pytest.mark.parametrize("part", range(3))
@given(data=st.data(), table=tables())
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
def test_engines_agree_with_the_reference(folder, part, data, table):
    """The stored rows, what the owner is told, and every cell of every question."""
    agree(folder, table, [data.draw(questions(table.schema)) for _ in range(4)])


@pytest.mark.fuzz
@pytest.mark.timeout(1800)
@given(data=st.data(), table=tables())
@settings(max_examples=5000, deadline=None, suppress_health_check=list(HealthCheck))
def test_engines_agree_with_the_reference_at_length(folder, data, table):
    agree(folder, table, [data.draw(questions(table.schema)) for _ in range(4)])


def agree(folder, table, questions_asked):
    declaration = table.write(folder)
    files = {engine: folder / f"{place}.parquet" for place, engine in enumerate([MEMORY, DUCKDB])}
    makings = [engine.declare(declaration, folder=folder, target=file) for engine, file in files.items()]
    assert makings[0] == makings[1]
    expected, stored = (pq.read_table(file) for file in files.values())
    assert expected.to_pylist() == stored.to_pylist()
    assert expected.schema.equals(stored.schema)
    for cells in questions_asked:
        vectors = [counted(engine, cells, files[MEMORY])[0] for engine in files]
        assert vectors[0].tolist() == vectors[1].tolist()


@every_engine
def test_cells_are_row_major_and_the_null_cell_is_last(engine, tmp_path):
    (tmp_path / "s.csv").write_text("sex,age\nF,0\nM,1\nM,1\n,1\nF,\n,\nM,2\n")
    sex = Category(name="sex", values=("F", "M"))
    age = Number(name="age", type="integer", low=0, high=2)
    schema = Schema(table="people", columns=(sex, age), unit=PrivacyUnit())
    table = Table(schema=schema, source="s.csv", population="people", budget=None)
    engine.declare(table, folder=tmp_path, target=tmp_path / "t.parquet")
    cells = asked(axes=(declared_axis(age), declared_axis(sex)))
    (exact_values,) = counted(engine, cells, tmp_path / "t.parquet")
    assert exact_values.reshape(cells.shape).tolist() == [[1, 0, 0], [0, 2, 1], [0, 1, 0], [1, 0, 1]]
    old = asked(where=Member("age", Allowed.interval(1, 3)))
    (total,) = counted(engine, old, tmp_path / "t.parquet")
    assert total.tolist() == [4]


@every_engine
def test_an_empty_table_has_empty_cells(engine, tmp_path):
    (tmp_path / "s.csv").write_text("x\n")
    table = one_column(SEX, "s.csv")
    rows, making = declared(engine, table, tmp_path)
    assert rows == []
    assert making.exact_rows == 0
    cells = asked(axes=(declared_axis(SEX),))
    (found,) = counted(engine, cells, tmp_path / "made" / "table.parquet")
    assert found.tolist() == [0, 0, 0]


@every_engine
def test_types_are_proposed_and_nothing_else(engine, tmp_path):
    (tmp_path / "s.csv").write_text(
        "whole,part,day,moment,flag,code,word,nothing,mixed\n"
        "1,1,2020-01-01,2020-01-01,true,007,x,,1\n"
        "-2,2.5,2020-01-02,2020-01-01 10:00,False,010,y,,x\n"
    )
    assert engine.columns("s.csv", folder=tmp_path) == {
        "whole": "integer", "part": "decimal", "day": "date", "moment": "timestamp", "flag": "boolean",
        "code": "text", "word": "text", "nothing": "text", "mixed": "text",
    }  # fmt: skip
    arrays = {
        "i": pa.array([1], pa.uint64()), "f": pa.array([1.5]), "d": pa.array([1], pa.date32()),
        "t": pa.array([1], pa.timestamp("ns")), "b": pa.array([True]), "s": pa.array(["1"]), "l": pa.array([[1]]),
        "n": pa.array([1], pa.decimal128(5, 0)), "m": pa.array([1], pa.decimal128(5, 1)),
    }  # fmt: skip
    pq.write_table(pa.table(arrays), tmp_path / "s.parquet")
    assert engine.columns("s.parquet", folder=tmp_path) == {
        "i": "integer", "f": "decimal", "d": "date", "t": "timestamp", "b": "boolean", "s": "text", "l": "text",
        "n": "integer", "m": "decimal",
    }  # fmt: skip
