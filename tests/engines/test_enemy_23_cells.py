"""One row more never decides what kind of file it is in, or whether the table can be made: each was a way to do so."""

import sqlite3
from datetime import date

import duckdb
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
import xlsxwriter

from discreet.engines.duckdb import DuckDBEngine
from discreet.engines.file_kind import file_kind
from discreet.engines.memory import MemoryEngine
from discreet.schema.column import MomentColumn, NumberColumn, TextColumn
from discreet.schema.privacy_unit import PrivacyUnit
from discreet.schema.schema import Schema, Table

COLUMNS = (TextColumn(name="n"), NumberColumn(name="v", type="integer", low=0, high=100))
MOMENT = (MomentColumn(name="v", type="timestamp", low=None, high=None),)
CLOCK = (TextColumn(name="v"),)


@pytest.fixture(scope="module", params=["memory", "duckdb"])
def engine(request, quick_files):
    engine = MemoryEngine() if request.param == "memory" else DuckDBEngine(threads=1)
    yield engine
    if isinstance(engine, DuckDBEngine):
        engine.close()


def rows_of(engine, folder, source, columns=COLUMNS):
    schema = Schema(table="t", columns=columns, unit=PrivacyUnit())
    target = folder / "made.parquet"
    target.unlink(missing_ok=True)
    engine.declare(Table(schema=schema, source=source, population="t", budget=None), folder=folder, target=target)
    return [tuple(row.values()) for row in pq.read_table(target).to_pylist()]


@pytest.mark.parametrize(
    ("name", "before", "row", "read"),
    [
        ("t.csv", "n,v\n1,2\n", "DUCK,1\n", ("DUCK", 1)),
        ("t.txt", "n,v\n1,2\n", "DUCK@\0\0\0\0\0\0\0,1\n", ("DUCK@\0\0\0\0\0\0\0", 1)),
        ("t.part", "n,v\n1,2\n", "DUCK,1\n", ("DUCK", 1)),
        ("t.jsonl", "", '{"m": "","n":"DUCK","v":1}\n', ("DUCK", 1)),
        ("t.jsonl", "", '{"mm": "DUCK","n":"x","v":1}\n', ("x", 1)),
        ("t.jsonl", "", '{"m": "DUCK","n":"x","v":1}\n'.replace('"m": ', '"m" :'), ("x", 1)),
        ("t.jsonl", "", '{"mmm":"DUCK","n":"x","v":1}\n', ("x", 1)),
    ],
)
def test_a_row_does_not_say_what_kind_of_file_it_is(engine, tmp_path, name, before, row, read):
    (tmp_path / name).write_text(before + row, newline="")
    assert rows_of(engine, tmp_path, name)[-1] == read


def test_databases_are_known_without_their_ending(tmp_path):
    for version in ("v1.0.0", "latest"):
        with duckdb.connect() as connection:
            connection.execute(f"ATTACH '{tmp_path}/{version}.db' AS x (STORAGE_VERSION '{version}')")
            connection.execute("CREATE TABLE x.t AS SELECT 1 AS n")
        assert file_kind(tmp_path / f"{version}.db") == "duckdb"
    sqlite3.connect(tmp_path / "s.db").execute("CREATE TABLE t (n)").connection.close()
    assert file_kind(tmp_path / "s.db") == "sqlite"


def workbook(file, cell, number_format=None, *, left=0):
    book = xlsxwriter.Workbook(file, {"constant_memory": True})  # which writes texts where the cells are
    sheet = book.add_worksheet("S")
    shown = book.add_format({"num_format": number_format}) if number_format else None
    for row, (first, second) in enumerate([("n", "v"), ("a", 1), (cell, 2), ("c", 3)]):
        write = sheet.write_string if isinstance(first, str) else sheet.write_number
        write(row, left, first, *([shown] if row == 2 else []))
        (sheet.write_string if row == 0 else sheet.write_number)(row, left + 1, second)
    book.close()


@pytest.mark.parametrize("cell", ['see r="ZZZ9999999" there', "> r='XFD9999999' <", '<c r="XFD9999999">'])
def test_a_text_is_not_the_place_of_a_cell(engine, tmp_path, cell):
    workbook(tmp_path / "t.xlsx", cell)
    assert rows_of(engine, tmp_path, "t.xlsx") == [("a", 1), (cell, 2), ("c", 3)]


@pytest.mark.parametrize(
    ("cell", "number_format"),
    [(1e10, "[h]:mm"), (-1e10, "[h]:mm"), (1e300, "[h]:mm"), (-1e300, "yyyy-mm-dd"), (-1e300, "h:mm")],
)
def test_a_date_or_a_length_beyond_the_calendar_is_one_row(engine, tmp_path, cell, number_format):
    workbook(tmp_path / "t.xlsx", cell, number_format)
    first, between, last = rows_of(engine, tmp_path, "t.xlsx")
    assert (first, last) == (("a", 1), ("c", 3)) and between in [(None, None), (None, 2), ("-1e+300", 2)]


def test_rows_of_a_sheet_begin_at_its_first_column(engine, tmp_path):
    workbook(tmp_path / "t.xlsx", "b", left=2)
    assert rows_of(engine, tmp_path, "t.xlsx") == [("a", 1), ("b", 2), ("c", 3)]


def test_moments_and_times_in_no_calendar_are_one_row(engine, tmp_path):
    day = (date(2026, 1, 1) - date(1970, 1, 1)).days
    for unit, far in (("s", 2**63 - 1), ("s", 2**62), ("s", -(2**62)), ("ms", 2**62)):
        column = pa.array([0, far], pa.int64()).cast(pa.timestamp(unit, "UTC"))
        pyarrow.feather.write_feather(pa.table({"v": column}), str(tmp_path / "t.feather"))
        assert rows_of(engine, tmp_path, "t.feather", MOMENT) == [(0,), (None,)], (unit, far)
    for millis, read in ((day * 86_400_000, day * 86_400_000_000), (7, None), (-1, None), (2**63 - 1, None)):
        column = pa.array([0, millis], pa.int64()).view(pa.date64())
        pyarrow.feather.write_feather(pa.table({"v": column}), str(tmp_path / "t.feather"))
        assert rows_of(engine, tmp_path, "t.feather", MOMENT) == [(0,), (read,)], millis
    for kind, far in ((pa.time32("s"), -1), (pa.time32("ms"), 2**31 - 1), (pa.time64("us"), 2**63 - 1)):
        column = pa.array([1, far], pa.int32() if kind.bit_width == 32 else pa.int64()).view(kind)
        pyarrow.feather.write_feather(pa.table({"v": column}), str(tmp_path / "t.feather"))
        (first,), second = rows_of(engine, tmp_path, "t.feather", CLOCK)
        assert first.startswith("00:00:0") and second == (None,), kind


def test_an_infinite_second_of_a_database_is_one_row(engine, tmp_path):
    with duckdb.connect(str(tmp_path / "t.duckdb")) as connection:
        connection.execute("CREATE TABLE t (v TIMESTAMP_S)")
        connection.execute("INSERT INTO t VALUES ('1970-01-02'), ('infinity'), (NULL)")
    assert rows_of(engine, tmp_path, "t.duckdb", MOMENT) == [(86_400_000_000,), (None,), (None,)]


def test_persons_of_128_bits_are_not_one(engine, tmp_path):
    """A key that is clamped makes one person of many, and then one of them moves the rows of the others."""
    with duckdb.connect(str(tmp_path / "t.duckdb")) as connection:
        connection.execute("CREATE TABLE t (id UHUGEINT, v INTEGER)")
        for number in range(3):
            connection.execute(f"INSERT INTO t VALUES ({3 * 10**38 + number}::UHUGEINT, 1)")
    schema = Schema(table="t", columns=COLUMNS[1:], unit=PrivacyUnit(person=("id",), rows=1))
    table = Table(schema=schema, source="t.duckdb", population="t", budget=None)
    made = engine.declare(table, folder=tmp_path, target=tmp_path / "p.parquet", key=b"k" * 32, tag_key=b"t" * 32)
    assert (made.exact_persons, made.exact_rows) == (3, 3)
