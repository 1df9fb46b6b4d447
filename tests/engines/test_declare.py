"""Making the declared table: row by row, whole or not at all, for its owner's eyes."""

import csv
import gzip
import os
import stat
from dataclasses import replace
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow.csv import write_csv

from discreet.engines import duckdb_declared_table as making
from discreet.engines.duckdb import DuckDBEngine
from discreet.engines.duckdb_conversion import decimal_form
from discreet.engines.memory import MemoryEngine
from discreet.engines.table_file import duckdb_type
from discreet.errors import SchemaError, UsageError
from discreet.schema.column import BooleanColumn, CategoryColumn, MomentColumn, NumberColumn, TextColumn
from discreet.schema.privacy_unit import PrivacyUnit
from discreet.schema.schema import Schema, Table
from engines.tables import STEPS, Rows, tables
from tiers import size

AGE = NumberColumn(name="age", type="integer", low=0, high=120)
SEX = CategoryColumn(name="sex", values=("F", "M"))


@pytest.fixture(scope="module")
def engine(quick_files):
    engine = DuckDBEngine(threads=1)
    yield engine
    engine.close()


def table(source, *columns, unit=PrivacyUnit()):
    schema = Schema(table="people", columns=columns or (AGE, SEX), unit=unit)
    return Table(schema=schema, source=source, population="people", budget=None)


def made(engine, declaration, folder):
    target = folder / "made" / "t.parquet"
    engine.declare(declaration, folder=folder, target=target)
    return pq.read_table(target).to_pylist()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("rows")


@given(table=tables(least=2), chance=st.randoms(use_true_random=False))
@settings(max_examples=size(3, 30), deadline=None, suppress_health_check=list(HealthCheck))
def test_a_row_is_stored_by_itself(engine, folder, table, chance):
    """Shuffled, doubled, thinned out or alone: the same source row is always stored the same."""
    places = list(range(len(table.rows)))
    stored = made(engine, table.write(folder), folder)
    for chosen in (chance.sample(places, len(places)), places * 2, places[1:], [chance.choice(places)]):
        part = Rows(schema=table.schema, types=table.types, rows=tuple(table.rows[place] for place in chosen))
        assert made(engine, part.write(folder), folder) == [stored[place] for place in chosen]


def test_a_row_is_stored_the_same_from_csv_and_parquet(engine, tmp_path):
    cost = NumberColumn(name="cost", type="decimal", step=Fraction("0.01"), low=0, high=10**6)
    columns = (AGE, cost, SEX, BooleanColumn(name="flag"), TextColumn(name="note"))
    (tmp_path / "s.csv").write_text("age,cost,sex,flag,note\n12,0.285,F,true, x\n200,1e22,m,no,é\n,,,,\n")
    typed = {
        "age": pa.array([12, 200, None]),
        "cost": pa.array([0.285, 1e22, None]),
        "sex": pa.array(["F", "m", None]).dictionary_encode(),
        "flag": pa.array([True, False, None]),
        "note": pa.array([" x", "é", None], pa.large_string()),
    }
    pq.write_table(pa.table(typed), tmp_path / "s.parquet")
    found = [made(engine, table(source, *columns), tmp_path) for source in ("s.csv", "s.parquet")]
    assert found[0] == found[1]
    assert found[0][0] == {"age": 12, "cost": 29, "sex": 0, "flag": 1, "note": " x"}


def test_rows_keep_to_themselves_with_many_threads(tmp_path):
    """Enough rows for several batches, and two threads at work on them."""
    count = 260_000
    ages = np.random.default_rng().permutation(count)
    write_csv(pa.table({"age": ages, "sex": np.array(["F", "M", "x"])[ages % 3]}), tmp_path / "s.csv")
    wide = NumberColumn(name="age", type="integer", low=0, high=count)
    parallel = DuckDBEngine(threads=2)
    target = tmp_path / "t.parquet"
    told = parallel.declare(table("s.csv", wide, SEX), folder=tmp_path, target=target)
    parallel.close()
    stored = pq.read_table(target)
    found, sexes = stored["age"].to_numpy(), stored["sex"].fill_null(2).to_numpy()
    assert (np.sort(found) == np.arange(count)).all()
    assert (sexes == found % 3).all(), "what is neither F nor M is NULL"
    assert told.exact_rows == count
    assert told.exact_nulled == {"age": 0, "sex": int((ages % 3 == 2).sum())}


def test_thousands_of_categories(engine, tmp_path):
    values = tuple(f"place {number}" for number in range(5000))
    (tmp_path / "s.csv").write_text("x\n" + "\n".join([*reversed(values), "nowhere"]) + "\n")
    stored = made(engine, table("s.csv", CategoryColumn(name="x", values=values)), tmp_path)
    assert [row["x"] for row in stored] == [*range(4999, -1, -1), None]


def test_only_declared_columns_are_kept_as_codes(engine, tmp_path):
    (tmp_path / "s.csv").write_text("secret,age,sex\nx,1,F\n")
    made(engine, table("s.csv"), tmp_path)
    schema = pq.read_schema(tmp_path / "made" / "t.parquet")
    assert schema == pa.schema([("age", pa.int32()), ("sex", pa.int32())])
    assert b"secret" not in (tmp_path / "made" / "t.parquet").read_bytes()
    assert duckdb_type(NumberColumn(name="x", type="integer", low=-(2**31), high=0)) == "INTEGER"
    assert duckdb_type(NumberColumn(name="x", type="integer", low=0, high=2**31)) == "BIGINT"
    assert duckdb_type(NumberColumn(name="x", type="integer", low=0)) == "BIGINT"


def test_the_file_is_its_owners_alone_and_nothing_else_is_left(engine, tmp_path):
    (tmp_path / "s.csv").write_text("age,sex\n1,F\n")
    before = os.umask(0)
    try:
        made(engine, table("s.csv"), tmp_path)
    finally:
        os.umask(before)
    folder = tmp_path / "made"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((folder / "t.parquet").stat().st_mode) == 0o600
    assert [file.name for file in folder.iterdir()] == ["t.parquet"]


def test_the_file_is_on_disk_before_it_has_its_name(engine, tmp_path, monkeypatch):
    (tmp_path / "s.csv").write_text("age,sex\n1,F\n")
    acts = []
    monkeypatch.setattr(
        os, "fsync", lambda handle: acts.append("folder" if stat.S_ISDIR(os.fstat(handle).st_mode) else "file")
    )
    monkeypatch.setattr(os, "replace", lambda old, new, replace=os.replace: (acts.append("name"), replace(old, new)))
    made(engine, table("s.csv"), tmp_path)
    assert acts == ["file", "name", "folder"]


def test_a_failed_making_leaves_the_old_table(engine, tmp_path):
    (tmp_path / "s.csv").write_text("age,sex\n1,F\n")
    made(engine, table("s.csv"), tmp_path)
    old = (tmp_path / "made" / "t.parquet").read_bytes()
    (tmp_path / "s.csv").write_text("age,sex\n2,F\n3\n")
    with pytest.raises(UsageError):
        made(engine, table("s.csv"), tmp_path)
    assert (tmp_path / "made" / "t.parquet").read_bytes() == old
    assert [file.name for file in (tmp_path / "made").iterdir()] == ["t.parquet"]


def test_a_source_that_changes_while_it_is_read_is_refused(engine, tmp_path, monkeypatch):
    (tmp_path / "s.csv").write_text("age,sex\n1,F\n")

    def late(schema, values, kinds, *, source, select=making.select_sql, **more):
        with (tmp_path / "s.csv").open("a") as stream:
            stream.write("2,M\n")
        return select(schema, values, kinds, source=source, **more)

    monkeypatch.setattr(making, "select_sql", late)
    with pytest.raises(UsageError, match="changed while it was read"):
        made(engine, table("s.csv"), tmp_path)
    assert not (tmp_path / "made" / "t.parquet").exists()


def test_what_several_threads_cannot_read_is_begun_anew(engine, tmp_path, monkeypatch):
    """One row is written, then the reading breaks off; with one thread it does not, and no row is there twice."""
    (tmp_path / "s.csv").write_text("age,sex\n1,F\n2,M\n")
    broken = "(SELECT CASE WHEN i > 200000 THEN error('x') ELSE '7' END AS c0, 'F' AS c1 FROM range(300000) AS r(i))"

    def failing(source, *, parallel=True, source_sql=making.source_sql):
        return broken if parallel else source_sql(source, parallel=parallel)

    monkeypatch.setattr(making, "source_sql", failing)
    assert made(engine, table("s.csv"), tmp_path) == [{"age": 1, "sex": 0}, {"age": 2, "sex": 1}]


def test_a_folder_that_cannot_be_written(engine, tmp_path):
    (tmp_path / "s.csv").write_text("age,sex\n1,F\n")
    with pytest.raises(UsageError, match="cannot be written"):
        engine.declare(table("s.csv"), folder=tmp_path, target=tmp_path / "s.csv" / "t.parquet")


def test_a_name_of_ours_is_not_declared(engine, tmp_path):
    (tmp_path / "s.csv").write_text("discreet:person\n1\n")
    with pytest.raises(SchemaError, match="a column cannot be called 'discreet:person'"):
        made(engine, table("s.csv", TextColumn(name="discreet:person")), tmp_path)


def test_a_table_needs_a_column(engine, tmp_path):
    (tmp_path / "s.csv").write_text("age,sex\n1,F\n")
    schema = Schema(table="people", columns=(), unit=PrivacyUnit())
    with pytest.raises(SchemaError, match="declares no column"):
        made(engine, Table(schema=schema, source="s.csv", population="people", budget=None), tmp_path)


#: What is wrong with a CSV, and the sentence its owner gets: a line, never a cell.
BROKEN = {
    b"age,sex\n1,F\nSECRET\n": "line 3 of s.csv has 1 fields, but the header has 2",
    b"age,sex\n1,F\nSECRET,b,c\n": "line 3 of s.csv has 3 fields, but the header has 2",
    b'age,sex\n1,F\n2,"SECRET\n': "line 3 of s.csv has a quote that is not closed",
    b"age,sex\n1,SECRET\r\n2,F\n3,F\r\n": "line 2 of s.csv ends with CR LF, but the header ends with LF",
    b"": "s.csv does not start with the names of its columns",
    b"\n\nage,sex\n1,F\n": "s.csv does not start with the names of its columns",
    b"\xff\xfea\0g\0e\0": "s.csv begins with the mark of UTF-16",
    b'"age\n",sex\n1,F\n': "the header of s.csv does not end on its first line",
}  # fmt: skip


@pytest.mark.parametrize("content", BROKEN, ids=range(len(BROKEN)))
def test_a_broken_csv_is_one_sentence_without_cells(engine, tmp_path, content):
    (tmp_path / "s.csv").write_bytes(content)
    with pytest.raises(UsageError) as caught:
        made(engine, table("s.csv"), tmp_path)
    assert BROKEN[content] in str(caught.value)
    assert "SECRET" not in str(caught.value)
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


def test_a_csv_that_breaks_far_down(engine, tmp_path):
    """By then rows have been written; nothing of them stays."""
    with (tmp_path / "s.csv").open("w") as stream:
        stream.write("age,sex\n" + "1,F\n" * 300_000 + "SECRET\n")
    with pytest.raises(UsageError) as caught:
        made(engine, table("s.csv"), tmp_path)
    assert caught.value.reason == "line 300002 of s.csv has 1 fields, but the header has 2"
    assert not list((tmp_path / "made").iterdir())


def test_broken_parquet_is_one_sentence(engine, tmp_path):
    pq.write_table(pa.table({"age": [1], "sex": ["F"]}), tmp_path / "s.parquet")
    whole = (tmp_path / "s.parquet").read_bytes()
    (tmp_path / "s.parquet").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(UsageError, match=r"s\.parquet cannot be read as Parquet"):
        made(engine, table("s.parquet"), tmp_path)
    (tmp_path / "s.parquet").write_bytes(b"age,sex\n")
    with pytest.raises(UsageError, match="not a Parquet file"):
        made(engine, table("s.parquet"), tmp_path)


def test_wrong_types_in_parquet_are_told(engine, tmp_path):
    pq.write_table(pa.table({"age": [[1]], "sex": pa.array([1], pa.date32())}), tmp_path / "s.parquet")
    with pytest.raises(SchemaError, match=r"column 'age' is declared integer, but it is .* in s\.parquet"):
        made(engine, table("s.parquet"), tmp_path)
    with pytest.raises(SchemaError, match=r"column 'sex' is declared decimal, but it is DATE in s\.parquet"):
        made(engine, table("s.parquet", NumberColumn(name="sex", type="decimal")), tmp_path)


def test_missing_files_and_columns(engine, tmp_path):
    with pytest.raises(UsageError, match=r"there is no file nowhere\.csv"):
        made(engine, table("nowhere.csv"), tmp_path)
    with pytest.raises(UsageError, match=r"there is no file \*\.csv"):
        made(engine, table("*.csv"), tmp_path)
    with pytest.raises(UsageError, match="is a folder"):
        made(engine, table("."), tmp_path)
    (tmp_path / "s.csv").write_text("agge,sex\n1,F\n")
    with pytest.raises(SchemaError, match=r"(?s)s\.csv has no column 'age'.*did you mean 'agge'"):
        made(engine, table("s.csv"), tmp_path)


def test_names_differ_by_more_than_capitals(engine, tmp_path):
    (tmp_path / "s.csv").write_text("Age,age,SEX\n1,2,F\n")
    assert made(engine, table("s.csv"), tmp_path) == [{"age": 2, "sex": 0}]
    with pytest.raises(SchemaError, match="2 columns that match 'AGE'"):
        made(engine, table("s.csv", NumberColumn(name="AGE", type="integer")), tmp_path)
    with pytest.raises(SchemaError, match="'Age' and 'age' have the same name"):
        engine.columns("s.csv", folder=tmp_path)
    pq.write_table(pa.table({"Age": [1], "age": [2], "sex": ["F"]}), tmp_path / "s.parquet")
    assert made(engine, table("s.parquet"), tmp_path) == [{"age": 2, "sex": 0}]


ODD = [
    "a b",
    'the "x"',
    "it's",
    "naïve",
    "select",
    "1",
    "x;y",
    "a,b",
    "%s",
    " padded ",
    "c5",
    "s",
    "\U0001f600",
    "a" * 200,
]


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_odd_names(engine, tmp_path, kind):
    if kind == "csv":
        with (tmp_path / "s.csv").open("w", encoding="utf-8", newline="") as stream:
            csv.writer(stream).writerows([["", *ODD], range(len(ODD) + 1)])
    else:
        pq.write_table(pa.table([[number] for number in range(len(ODD) + 1)], names=["", *ODD]), tmp_path / "s.parquet")
    assert engine.columns(f"s.{kind}", folder=tmp_path) == {name: {"type": "integer"} for name in ODD}
    stored = made(engine, table(f"s.{kind}", *(NumberColumn(name=name, type="integer") for name in ODD)), tmp_path)
    assert stored == [{name: number for number, name in enumerate(ODD, start=1)}]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_header_alone_tells_the_delimiter(engine, tmp_path, delimiter):
    """Rows full of other delimiters change nothing."""
    text = f'age{delimiter}note\r\n1{delimiter}"a;b;c,d|e\tf"\r\n'.encode()
    (tmp_path / "s.csv").write_bytes(b"\xef\xbb\xbf" + text)
    with gzip.open(tmp_path / "s.csv.gz", "wb") as stream:
        stream.write(text)
    for source in ("s.csv", "s.csv.gz"):
        assert made(engine, table(source, AGE, TextColumn(name="note")), tmp_path) == [
            {"age": 1, "note": "a;b;c,d|e\tf"}
        ]


def test_globs_read_files_of_one_header_in_order(engine, tmp_path):
    (tmp_path / "part-1.csv").write_text("age,sex\n1,F\n")
    (tmp_path / "part-2.csv").write_text("age,sex\n2,M\n")
    assert [row["age"] for row in made(engine, table("part-*.csv"), tmp_path)] == [1, 2]
    (tmp_path / "part-3.csv").write_text("sex;extra;age\nF;x;3\n")
    assert [row["age"] for row in made(engine, table("part-*.csv"), tmp_path)] == [1, 2, 3]
    with pytest.raises(SchemaError, match=r"part-1\.csv and 1 more has no column 'extra', which other files have"):
        made(engine, table("part-*.csv", AGE, TextColumn(name="extra")), tmp_path)
    (tmp_path / "part-4.csv").write_text("a,b\nF,x\n")
    with pytest.raises(SchemaError, match=r"part-4\.csv and part-1\.csv do not have the same header"):
        made(engine, table("part-*.csv"), tmp_path)
    for number, kind in enumerate([pa.int64(), pa.int64(), pa.string()]):
        ages = pa.array([str(number)]).cast(kind)
        pq.write_table(pa.table({"age": ages, "sex": ["F"]}), tmp_path / f"p{number}.parquet")
    assert [row["age"] for row in made(engine, table("p[01].parquet"), tmp_path)] == [0, 1]
    with pytest.raises(SchemaError, match="same columns and types"):
        made(engine, table("p*.parquet"), tmp_path)
    with pytest.raises(UsageError, match="both CSV and Parquet"):
        made(engine, table("p*"), tmp_path)


def test_paths_are_names_not_patterns(engine, tmp_path):
    """[1] is part of a name where a file has it, and sex=F a folder, not a column."""
    folder = tmp_path / "[x] sex=M*"
    folder.mkdir()
    (folder / "s1.csv").write_text("age,sex\n1,F\n")
    (folder / "s[1].csv").write_text("age,sex\n2,F\n")
    pq.write_table(pa.table({"age": [3], "sex": ["F"]}), folder / "s[1].parquet")
    assert made(engine, table("s[1].csv"), folder) == [{"age": 2, "sex": 0}]
    assert made(engine, table("s[1].parquet"), folder) == [{"age": 3, "sex": 0}]


def test_decimals_fit_every_engine():
    """The product that turns a decimal into steps stays within 38 digits for every step and bound."""
    for step in (*STEPS, "0.000000099999", "1000000000000", "0.99998"):
        for limit in (None, 0, 2**60):
            low = None if limit is None else -limit
            column = NumberColumn(name="x", type="decimal", step=Fraction(step), low=low, high=limit)
            width, scale, divisor = decimal_form(column)
            assert width + scale + 1 <= 38
            assert Fraction(divisor, 10**scale) == column.step
            assert width >= 19 or width + scale + 1 <= 18


def test_moments_and_numbers_name_what_was_clamped(engine, tmp_path):
    (tmp_path / "s.csv").write_text("age,day\n-1,1960-01-01\n500,2020-01-01\n5,1970-01-05\nx,\n")
    told = engine.declare(
        table("s.csv", AGE, MomentColumn(name="day", type="date", low=0, high=9)),
        folder=tmp_path,
        target=tmp_path / "t.parquet",
    )
    assert told.exact_rows == 4
    assert told.exact_clamped == {"age": 2, "day": 2}
    assert told.exact_nulled == {"age": 1, "day": 0}


#: How a Parquet file holds exact numbers: digits in all and after the point, or a whole number's type.
EXACT = [pa.decimal128(*form) for form in ((4, 2), (9, 2), (9, 5), (18, 0), (18, 10), (19, 7), (38, 0), (38, 10))]


@pytest.mark.parametrize("type_", [*EXACT, pa.int64(), pa.int8(), pa.uint64(), pa.bool_()], ids=str)
def test_an_exact_number_has_the_code_of_its_text(engine, tmp_path, type_):
    """Numbers at and beside halves, bounds and the ends of their type: as the reference engine reads their texts."""
    places = type_.scale if pa.types.is_decimal(type_) else 0
    most = {pa.int64(): 2**63 - 1, pa.int8(): 127, pa.uint64(): 2**64 - 1, pa.bool_(): 1}
    end = 10**type_.precision - 1 if pa.types.is_decimal(type_) else most[type_]
    near = {
        round(Fraction(half, 1000) * 10**places) + away for half in (5, 15, 25, 500, 9995, 12345) for away in (-1, 0, 1)
    }
    digits = {0, 1, end, end - 1, *(each for each in (end // 3**power for power in range(30))), *near}
    signed = [sign * each for each in sorted(digits) if each <= end for sign in (1, -1)]
    least = {pa.uint64(): 0, pa.bool_(): 0}.get(type_, -end)
    numbers = [each for each in signed if each >= least]
    with localcontext(prec=50):
        exact = [Decimal(each).scaleb(-places) for each in numbers]
    values = (
        exact
        if places or pa.types.is_decimal(type_)
        else [bool(each) if type_ == pa.bool_() else each for each in numbers]
    )
    cells = pa.array([*values, None], type_)
    columns = [
        NumberColumn(name="whole", type="integer", low=-100, high=1000),
        NumberColumn(name="any", type="integer"),
        *(
            NumberColumn(name=f"in {step}", type="decimal", step=Fraction(step), low=-limit, high=limit)
            for step, limit in (("0.01", 1200), ("0.05", 300), ("0.5", 2**40), ("3", 7), ("0.000001", 10**13))
        ),
    ]
    pq.write_table(pa.table({column.name: cells for column in columns}), tmp_path / "s.parquet")
    source = table("s.parquet", *columns)
    outcomes = {}
    for name, each in (("duckdb", engine), ("memory", MemoryEngine())):
        outcomes[name] = each.declare(source, folder=tmp_path, target=tmp_path / f"{name}.parquet")
    assert (
        pq.read_table(tmp_path / "duckdb.parquet").to_pylist() == pq.read_table(tmp_path / "memory.parquet").to_pylist()
    )
    assert outcomes["duckdb"] == outcomes["memory"]


@pytest.mark.parametrize(
    ("old", "new", "type_"),
    [
        ("TRY_CAST(s.", "TRY_CAST(0.999 * s.", pa.decimal128(9, 5)),  # not the same number
        (" < 0 THEN -9223372036854775807", " < 0 THEN 9223372036854775807", pa.decimal128(38, 0)),  # the other end
        (" = trunc(s.", " >= trunc(s.", pa.decimal128(4, 2)),  # a fraction is a whole number
    ],
)
def test_exact_numbers_that_become_others_are_caught(engine, tmp_path, monkeypatch, old, new, type_):
    def rewritten(*arguments, write=making.FORMS.raw, **options):
        return write(*arguments, **options).replace(old, new)

    monkeypatch.setattr(making, "FORMS", replace(making.FORMS, raw=rewritten))
    with pytest.raises(AssertionError):
        test_an_exact_number_has_the_code_of_its_text(engine, tmp_path, type_)
