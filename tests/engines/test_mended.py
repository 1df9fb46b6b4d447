"""Cells that no engine can read: they become NULL, for the owner to know; the table is made all the same."""

import gzip
import random

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.engines import duckdb_declared_table, repaired_sources
from discreet.engines.duckdb import DuckDBEngine
from discreet.engines.memory import MemoryEngine
from discreet.engines.table_file import persons_file
from discreet.errors import UsageError
from discreet.schema.column import CategoryColumn, MomentColumn, NumberColumn, TextColumn
from discreet.schema.privacy_unit import PrivacyUnit
from discreet.schema.schema import Schema, Table
from engines.asking import typed

AGE = NumberColumn(name="age", type="integer", low=0, high=120)
SEX = CategoryColumn(name="sex", values=("F", "é"))
NOTE = TextColumn(name="note")
DAY = MomentColumn(name="day", type="timestamp", low=0, high=10**18)
KEYS = {"key": b"k" * 32, "tag_key": b"t" * 32}

#: Bytes that are not UTF-8: alone, cut short, too long for their number, surrogates, beyond the last letter.
DAMAGE = [
    b"\xff",
    b"\xc3",
    b"\x80",
    b"\xe1\x80",
    b"\xc0\x80",
    b"\xf0\x80\x80\x80",
    b"\xed\xa0\x80",
    b"\xf4\x90\x80\x80",
]


@pytest.fixture(scope="module", params=["duckdb", "memory"])
def engine(request, quick_files):
    engine = DuckDBEngine(threads=1) if request.param == "duckdb" else MemoryEngine()
    yield engine
    if request.param == "duckdb":
        engine.close()


def table(source, *columns, unit=PrivacyUnit()):
    schema = Schema(table="people", columns=columns, unit=unit)
    return Table(schema=schema, source=source, population="people", budget=None)


def made(engine, declaration, folder):
    target = folder / "made" / "t.parquet"
    keys = {} if declaration.schema.unit.is_row else KEYS
    told = engine.declare(declaration, folder=folder, target=target, **keys)
    assert {file.name for file in target.parent.iterdir()} <= {target.name, persons_file(target).name}
    return pq.read_table(target).to_pylist(), told


def texts(values):
    """A column of Parquet that says it is text, whatever its bytes are."""
    ends = np.cumsum([0, *map(len, values)]).astype(np.int32)
    return pa.StringArray.from_buffers(len(values), pa.py_buffer(ends), pa.py_buffer(b"".join(values)))


@pytest.mark.thin(4)
@pytest.mark.parametrize(
    ("damage", "packed"),
    [
        *((damage, False) for damage in DAMAGE),
        (DAMAGE[0], True),
        *(pytest.param(damage, True, marks=pytest.mark.deep) for damage in DAMAGE[1:]),
    ],
)
def test_a_csv_with_a_damaged_row(engine, tmp_path, damage, packed):
    text = b"age,sex,note\n7,F,x\n" + damage + b"," + damage + b"," + b"h" + damage + b'\n8,\xc3\xa9,"a' + damage
    text += b'\nb"\n9,\xc3\xa9,\xc3\xa9\n'
    (tmp_path / "s.csv.gz" if packed else tmp_path / "s.csv").write_bytes(gzip.compress(text) if packed else text)
    stored, told = made(engine, table("s.csv.gz" if packed else "s.csv", AGE, SEX, NOTE), tmp_path)
    assert stored == [
        {"age": 7, "sex": 0, "note": "x"},
        {"age": None, "sex": None, "note": None},
        {"age": 8, "sex": 1, "note": None},
        {"age": 9, "sex": 1, "note": "é"},
    ]
    assert told.exact_nulled == {"age": 1, "sex": 1, "note": 2}


@pytest.mark.thin(4)  # half of them on each engine
@pytest.mark.parametrize("damage", DAMAGE)
def test_a_parquet_with_a_damaged_row(engine, tmp_path, damage):
    notes = texts([b"x", b"h" + damage, b"", b"\xc3\xa9"])
    sexes = texts([b"F", damage, b"\xc3\xa9", b"\xc3\xa9"])
    columns = {"age": pa.array([7, 200, None, 9]), "sex": sexes, "note": notes}
    pq.write_table(pa.table(columns), tmp_path / "s.parquet")
    stored, told = made(engine, table("s.parquet", AGE, SEX, NOTE), tmp_path)
    assert stored == [
        {"age": 7, "sex": 0, "note": "x"},
        {"age": 120, "sex": None, "note": None},
        {"age": None, "sex": 1, "note": None},
        {"age": 9, "sex": 1, "note": "é"},
    ]
    assert told.exact_nulled == {"age": 0, "sex": 1, "note": 1}
    assert told.exact_clamped == {"age": 1}


@pytest.mark.thin(8)  # with a zone on the one engine, without one on the other
@pytest.mark.parametrize("zone", [None, "UTC"])
@pytest.mark.parametrize("far", [2**62, -(2**62), -(2**63), 2**63 // 1000 + 1])
def test_a_moment_in_no_calendar(engine, tmp_path, far, zone):
    days = pa.array([5, far, None, 2**63 - 1, 7], pa.timestamp("ms", zone))
    pq.write_table(pa.table({"day": days, "age": [1, 2, 3, 4, 5]}), tmp_path / "s.parquet")
    stored, told = made(engine, table("s.parquet", DAY, AGE), tmp_path)
    assert [row["day"] for row in stored] == [5000, None, None, None, 7000]
    assert [row["age"] for row in stored] == [1, 2, 3, 4, 5]
    assert told.exact_nulled == {"day": 2, "age": 0}


def test_a_time_outside_the_day(tmp_path):
    times = pa.array([0, -5, 86_399_000, 2**31 - 1], pa.int32()).view(pa.time32("ms"))
    pq.write_table(pa.table({"note": times}), tmp_path / "s.parquet")
    stored, _ = made(DuckDBEngine(threads=1), table("s.parquet", NOTE), tmp_path)
    assert [row["note"] for row in stored] == ["00:00:00", None, "23:59:59", None]


def test_damaged_ids_are_nobodys(engine, tmp_path):
    """As one person two of them would share a limit, and each decide which rows of the other are kept."""
    unit = PrivacyUnit(person=("id",), rows=2)
    rows = b"a,1\nb\xff,2\nb\xfe,3\na,4\nb\xff,5\nb,6\n"
    (tmp_path / "s.csv").write_bytes(b"id,age\n" + rows)
    ids, ages = zip(*(line.split(b",") for line in rows.split()), strict=True)
    pq.write_table(pa.table({"id": texts(ids), "age": list(map(int, ages))}), tmp_path / "s.parquet")
    for source in ("s.csv", "s.parquet"):
        stored, told = made(engine, table(source, AGE, unit=unit), tmp_path)
        for file in (tmp_path / "made").iterdir():
            file.unlink()
        assert sorted(row["age"] for row in stored) == [1, 4, 6]
        assert (told.exact_persons, told.exact_without_person, told.exact_truncated) == (2, 3, 0)


def test_damaged_links_reach_nobody(engine, tmp_path):
    (tmp_path / "orders.csv").write_bytes(b"order,id\n1,a\n2\xff,b\n3,c\xff\n")
    (tmp_path / "lines.csv").write_bytes(b"order,age\n1,10\n2\xff,20\n3,30\n1,40\n")
    orders = table("orders.csv", NOTE, unit=PrivacyUnit(person=("id",), rows=2))
    unit = PrivacyUnit(through="people", on=("order",), rows=2)
    lines = Table(
        schema=Schema(table="lines", columns=(AGE,), unit=unit), source="lines.csv", population="people", budget=None
    )
    target = tmp_path / "made" / "t.parquet"
    told = engine.declare(lines, folder=tmp_path, target=target, path=(orders,), **KEYS)
    assert sorted(row["age"] for row in pq.read_table(target).to_pylist()) == [10, 40]
    assert told.exact_without_person == 2


def test_other_rows_are_stored_as_without_the_damaged_one(tmp_path):
    """Row by row the same, in every form that a letter, a quote or a moment can have, and with several threads."""
    chance = random.Random(7)
    pieces = [
        "é",
        "a",
        '"',
        "\n",
        ",",
        "\r",
        "ÿ",
        "\0",
        "\ufeff",
        "😀",
        " ",
        "12",
        "\uffff",
        "\N{REPLACEMENT CHARACTER}",
    ]
    cells = ["".join(chance.choices(pieces, k=chance.randrange(6))) for _ in range(4000)]
    rows = ['{},"{}"\n'.format(number % 130, cell.replace('"', '""')).encode() for number, cell in enumerate(cells)]
    engine = DuckDBEngine(threads=2)
    (tmp_path / "s.csv").write_bytes(b"age,note\n" + b"".join(rows))
    whole, told = made(engine, table("s.csv", AGE, NOTE), tmp_path)
    rows.insert(2000, b"1,\xff\n")
    (tmp_path / "s.csv").write_bytes(b"age,note\n" + b"".join(rows))
    stored, told_more = made(engine, table("s.csv", AGE, NOTE), tmp_path)
    engine.close()
    assert stored[2000] == {"age": 1, "note": None}
    assert stored[:2000] + stored[2001:] == whole
    assert told_more.exact_nulled["note"] == told.exact_nulled["note"] + 1


def test_other_columns_of_parquet_are_the_same_in_a_copy(tmp_path):
    from datetime import date, datetime, time
    from decimal import Decimal
    from uuid import UUID

    columns = {
        "when": pa.array([datetime(1999, 1, 2, 3, 4, 5, 6000), None], pa.timestamp("ms")),
        "zoned": pa.array([datetime(1, 1, 1), datetime(9999, 1, 1)], pa.timestamp("us", "UTC")),
        "nanos": pa.array([-1, 1], pa.timestamp("ns")),
        "day": [date(1970, 1, 2), None],
        "hour": pa.array([time(1, 2, 3), None], pa.time32("ms")),
        "float": pa.array([0.285, float("nan")], pa.float32()),
        "cost": [Decimal("1.10"), None],
        "flag": [True, None],
        "word": pa.array(["x", "é"]).dictionary_encode(),
        "large": pa.array(["x", None], pa.large_string()),
        "id": pa.array([UUID(int=1).bytes, UUID(int=2).bytes], pa.uuid()),
        "big": pa.array([2**64 - 1, 0], pa.uint64()),
    }
    declared = [TextColumn(name=name) for name in columns]
    pq.write_table(pa.table(columns), tmp_path / "s.parquet")
    engine = DuckDBEngine(threads=1)
    whole, _ = made(engine, table("s.parquet", *declared), tmp_path)
    pq.write_table(pa.table({**columns, "damaged": texts([b"\xff", b"y"])}), tmp_path / "s.parquet")
    stored, _ = made(engine, table("s.parquet", *declared, TextColumn(name="damaged")), tmp_path)
    engine.close()
    assert [row.pop("damaged") for row in stored] == [None, "y"]
    assert stored == whole


def test_a_row_of_megabytes(tmp_path):
    (tmp_path / "s.csv").write_text("age,note\n1,x\n2," + "é" * 3_000_000 + "\n3,z\n")
    stored, _ = made(DuckDBEngine(threads=1), table("s.csv", AGE, NOTE), tmp_path)
    assert [row["age"] for row in stored] == [1, 2, 3]
    assert stored[1]["note"] == "é" * 1000


def test_a_copy_is_one_snapshot_and_its_owners_alone(tmp_path, monkeypatch):
    (tmp_path / "s.csv").write_bytes(b"age,note\n1,\xff\n")
    seen = []

    def late(file, target, copy=repaired_sources._copy_csv):
        copy(file, target)
        seen.append(target.parent.stat().st_mode & 0o777)
        with file.open("ab") as stream:
            stream.write(b"2,x\n")

    monkeypatch.setattr(repaired_sources, "_copy_csv", late)
    with pytest.raises(UsageError, match="changed while it was read"):
        made(DuckDBEngine(threads=1), table("s.csv", AGE, NOTE), tmp_path)
    assert seen == [0o700]
    assert list((tmp_path / "made").iterdir()) == []


def test_no_copy_is_made_where_every_cell_can_be_read(tmp_path, monkeypatch):
    monkeypatch.setattr(repaired_sources, "repair_sources", None)
    (tmp_path / "s.csv").write_text("age,note\n1,é\n")
    assert made(DuckDBEngine(threads=1), table("s.csv", AGE, NOTE), tmp_path)[0] == [{"age": 1, "note": "é"}]


def test_words_in_a_cell_do_not_make_it_damaged(tmp_path, monkeypatch):
    """An error may quote a line that speaks of utf-8: the copy is then read like any file, by one thread at last."""
    (tmp_path / "s.csv").write_text("age,note\n1,x\n")
    broken = "(SELECT error('Original Line: I love utf-8') AS c0, 'x' AS c1)"

    def failing(source, *, parallel=True, source_sql=duckdb_declared_table.source_sql):
        return broken if parallel else source_sql(source, parallel=parallel)

    monkeypatch.setattr(duckdb_declared_table, "source_sql", failing)
    assert made(DuckDBEngine(threads=1), table("s.csv", AGE, NOTE), tmp_path)[0] == [{"age": 1, "note": "x"}]


def test_a_damaged_file_can_be_proposed(engine, tmp_path):
    (tmp_path / "s.csv").write_bytes(b"a,b,c\n1,2.5,x\n2,\xff,\xff\n")
    assert engine.columns("s.csv", folder=tmp_path) == typed(a="integer", b="text", c="text")
    (tmp_path / "s.csv").write_bytes(b"a,b,c\n1,2.5,x\n2,\xff\n")
    with pytest.raises(UsageError):
        engine.columns("s.csv", folder=tmp_path)


def test_what_is_not_a_cell_is_still_refused(engine, tmp_path):
    (tmp_path / "s.csv").write_bytes(b"age,note\n1,\xff\nSECRET\n")
    with pytest.raises(UsageError, match=r"line 3 of s\.csv has 1 fields, but the header has 2") as caught:
        made(engine, table("s.csv", AGE, NOTE), tmp_path)
    assert not isinstance(caught.value, duckdb_declared_table.Unreadable)
