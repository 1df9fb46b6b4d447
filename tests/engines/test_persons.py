"""Persons with many rows: whose a row is, which rows are kept, what is told, what is left on the disk.

One suite for every engine, first by example, then on generated tables, where they must keep the very same rows.
"""

import hashlib
import hmac
import os
import random
import stat
from collections import Counter

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings

from discreet.engines import duckdb as duckdb_engine
from discreet.engines import duckdb_declared_table
from discreet.engines.duckdb import DuckDBEngine
from discreet.engines.keyed_hashes import person_secret, person_tag, row_digest
from discreet.engines.memory import MemoryEngine
from discreet.engines.missing_values import MISSING
from discreet.engines.table_file import PERSON, persons_file
from discreet.errors import SchemaError, UsageError
from discreet.schema.column import BooleanColumn, CategoryColumn, NumberColumn, TextColumn
from discreet.schema.privacy_unit import PrivacyUnit
from discreet.schema.schema import Schema, Table
from engines.persons_tables import IDS, KEY, TAG_KEY, File, Persons, check_unit, declared, persons
from tiers import fuzzed, size

DUCKDB = DuckDBEngine(threads=1)
MEMORY = MemoryEngine()
every_engine = pytest.mark.parametrize("engine", [MEMORY, DUCKDB], ids=["memory", "duckdb"])
AGE = NumberColumn(name="age", type="integer", low=0, high=120)
SEX = CategoryColumn(name="sex", values=("F", "M"), constant=True)
NOTE = TextColumn(name="note")


@pytest.fixture(scope="module", autouse=True)
def _closed(quick_files):
    yield
    DUCKDB.close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("persons")


def table(source, *columns, person=("id",), rows=2):
    schema = Schema(table="people", columns=columns or (AGE,), unit=PrivacyUnit(person=person, rows=rows))
    return Table(schema=schema, source=source, population="people", budget=None)


def tag(*values):
    return person_tag(values, TAG_KEY)


def ages(rows, *values):
    return sorted(codes[0] for (mark, codes), count in rows.items() for _ in range(count) if mark == tag(*values))


@every_engine
def test_a_persons_rows_are_kept_up_to_the_limit_and_the_owner_is_told(engine, tmp_path):
    (tmp_path / "s.csv").write_text("id,age\na,1\nb,2\na,3\n,4\na,500\nb,x\nc,7\na,9\n,-5\n")
    told, rows, counts = declared(engine, table("s.csv"), tmp_path)
    assert counts == {tag("a"): 4, tag("b"): 2, tag("c"): 1}
    assert len(ages(rows, "a")) == 2 and set(ages(rows, "a")) < {1, 3, 120, 9}
    assert (len(ages(rows, "c")), rows[tag("b"), (None,)], rows[tag("b"), (2,)]) == (1, 1, 1)
    assert (told.exact_rows, told.exact_truncated, told.exact_without_person, told.exact_persons) == (
        5,
        2,
        2,
        3,
    )
    assert told.exact_nulled == {"age": 1}
    assert told.exact_clamped == {"age": 2}


@every_engine
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_ids_are_compared_byte_for_byte(engine, kind, tmp_path):
    wanted = [name for name in IDS if name not in MISSING]
    types = None if kind == "csv" else (pa.string(), pa.string())
    people = Persons(
        schema=table("", rows=1).schema,
        source=File(names=("id", "age"), rows=tuple((name, "7") for name in IDS * 2), types=types),
    )
    told, rows, counts = declared(engine, people.write(tmp_path), tmp_path)
    assert told.exact_persons == len(set(wanted)) == len(wanted) > 25
    assert counts == {tag(name): 2 for name in wanted}
    assert rows == Counter({(tag(name), (7,)): 1 for name in wanted})


@every_engine
def test_a_composite_id_is_a_tuple(engine, tmp_path):
    """Written one after the other these are alike; as tuples no two are."""
    pairs = [
        ("ab", "c"),
        ("a", "bc"),
        ("abc", "+"),
        ("1:a", "b"),
        ("1", "1:ab"),
        ("1:", "2:ab"),
        ("2:1:", "ab"),
        ("c", "ab"),
    ]
    people = Persons(
        schema=table("", person=("id", "place"), rows=1).schema,
        source=File(names=("id", "place", "age"), rows=tuple((*pair, "7") for pair in pairs) + (("x", None, "7"),) * 3),
    )
    told, rows, _ = declared(engine, people.write(tmp_path), tmp_path)
    assert rows == Counter({(tag(*pair), (7,)): 1 for pair in pairs})
    assert (told.exact_persons, told.exact_without_person) == (len(pairs), 3)


@every_engine
def test_constants_come_from_one_row_and_before_truncation(engine, tmp_path):
    """Two columns that disagree together must not be mixed, and NULL is a value like another."""
    smoker = BooleanColumn(name="smoker", constant=True)
    lines = ["id,age,sex,smoker"]
    for number in range(40):
        lines += [f"p{number},{age},{sex},{flag}" for age, sex, flag in [(1, "F", "yes"), (2, "M", "no"), (3, "", "")]]
    (tmp_path / "s.csv").write_text("\n".join([*lines, "q,1,F,no", "q,2,F,no"]) + "\n")
    _, rows, _ = declared(engine, table("s.csv", AGE, SEX, smoker), tmp_path)
    seen = Counter(codes[1:] for mark, codes in rows if mark != tag("q"))
    assert set(seen) == {(0, 1), (1, 0), (None, None)}
    check_unit(rows, table("s.csv", AGE, SEX, smoker).schema)
    assert {codes for mark, codes in rows if mark == tag("q")} == {(1, 0, 0), (2, 0, 0)}
    # A person whose first row is dropped would show constants that none of the kept rows had: with one row kept, none is.
    _, few, _ = declared(engine, table("s.csv", AGE, SEX, smoker, rows=1), tmp_path)
    assert {codes for _, codes in few} <= {(1, 0, 1), (2, 1, 0), (3, None, None), (1, 0, 0), (2, 0, 0)}


@every_engine
def test_which_rows_are_kept(engine, tmp_path):
    """By the definition at the head of `keyed`, written out here once more and frozen."""
    (tmp_path / "s.csv").write_text(
        "id,age,note\n" + "".join(f"né,{age},{note}\n" for age in range(5) for note in ["", "é", "é"])
    )
    secret = person_secret(["né"], KEY)
    digests = {}
    for age in range(5):
        for note, occurrence in [(None, 1), ("é", 1), ("é", 2)]:
            message = f"{secret}:{occurrence}:{age}:{'' if note is None else '2:é'}"
            digests[hashlib.sha256(message.encode()).hexdigest()[:32], age, note] = (age, note)
            assert row_digest(secret, [age, note], occurrence) == hashlib.sha256(message.encode()).hexdigest()[:32]
    first = [content for _, content in sorted(digests.items())[:6]]
    _, rows, _ = declared(engine, table("s.csv", AGE, NOTE, rows=6), tmp_path)
    assert rows == Counter((tag("né"), content) for content in first)


def test_the_hashes_never_change():
    """Tags and picks outlive this program: tombstones, joins and refreshes need them to mean the same for ever."""
    assert tag("né", "7") == hmac.digest(TAG_KEY, "person 3:né1:7".encode(), "sha256")[:16]
    assert tag("né", "7").hex() == "9097b29a282960f385c9317011afeb9e"
    assert person_secret(["né", "7"], KEY) == "3gA2DdNuTCzWvfpO5NB4XQ=="
    assert row_digest("secret", [1, None, "a:b", -2], 3) == "d24beaae73240dc26652203256c97221"


@every_engine
def test_a_tag_is_of_the_text_whatever_the_file(engine, tmp_path):
    """7 in a CSV, as a number of any width, as a decimal without places and as text is one person."""
    (tmp_path / "s.csv").write_text("id,age\n7,1\n")
    assert set(declared(engine, table("s.csv"), tmp_path)[2]) == {tag("7")}
    values = [(pa.int64(), 7), (pa.uint8(), 7), (pa.decimal128(9, 0), 7), (pa.string(), "7"), (pa.large_string(), "7")]
    values += [(pa.dictionary(pa.int8(), pa.string()), "7")]
    for type_, value in values:
        pq.write_table(pa.table({"id": pa.array([value], type_), "age": [1]}), tmp_path / "s.parquet")
        assert set(declared(engine, table("s.parquet"), tmp_path)[2]) == {tag("7")}
    others = [
        (pa.bool_(), True, "true"),
        (pa.date32(), 1, "1970-01-02"),
        (pa.string(), "007", "007"),
    ]
    others += [(pa.uuid(), b"\xab" * 16, "abababab-abab-abab-abab-abababababab")]
    for type_, value, shown in others:
        array = pa.array([value], pa.binary(16)).cast(type_) if type_ == pa.uuid() else pa.array([value], type_)
        pq.write_table(pa.table({"id": array, "age": [1]}), tmp_path / "s.parquet")
        assert set(declared(engine, table("s.parquet"), tmp_path)[2]) == {tag(shown)}


@every_engine
def test_a_date_in_no_calendar_names_nobody(engine, tmp_path):
    days = [-719_162, -719_163, 2_932_896, 2_932_897, 2**31 - 1, -(2**31) + 1, None]
    pq.write_table(pa.table({"id": pa.array(days, pa.date32()), "age": [1] * len(days)}), tmp_path / "s.parquet")
    told, _, counts = declared(engine, table("s.parquet"), tmp_path)
    assert counts == {tag("0001-01-01"): 1, tag("9999-12-31"): 1}
    assert told.exact_without_person == 5


@every_engine
@pytest.mark.parametrize("type_", [pa.float64(), pa.float32(), pa.decimal128(9, 1), pa.timestamp("us"), pa.binary()])
def test_what_cannot_tell_people_apart_exactly_is_refused(engine, type_, tmp_path):
    pq.write_table(pa.table({"id": pa.array([None], type_), "age": [1]}), tmp_path / "s.parquet")
    with pytest.raises(SchemaError, match="does not identify people exactly"):
        declared(engine, table("s.parquet"), tmp_path)


@every_engine
def test_the_files(engine, tmp_path):
    (tmp_path / "s.csv").write_text("id,age\nSECRET,1\nb,2\nSECRET,3\n")
    before = os.umask(0)
    try:
        engine.declare(
            table("s.csv"), folder=tmp_path, target=tmp_path / "made" / "t.parquet", key=KEY, tag_key=TAG_KEY
        )
    finally:
        os.umask(before)
    made = tmp_path / "made"
    assert persons_file(made / "t.parquet") == made / "t.persons.parquet"
    assert sorted(file.name for file in made.iterdir()) == ["t.parquet", "t.persons.parquet"]
    assert stat.S_IMODE(made.stat().st_mode) == 0o700
    assert {stat.S_IMODE(file.stat().st_mode) for file in made.iterdir()} == {0o600}
    assert not any(b"SECRET" in file.read_bytes() for file in made.iterdir())
    assert pq.read_schema(made / "t.parquet") == pa.schema([("age", pa.int32()), (PERSON, pa.int32())])
    beside = pq.read_table(made / "t.persons.parquet")
    assert beside.schema == pa.schema([("number", pa.int32()), ("tag", pa.binary(16)), ("rows", pa.int64())])
    assert sorted(beside.column("number").to_pylist()) == [0, 1]


@every_engine
def test_the_table_has_its_name_last(engine, tmp_path, monkeypatch):
    """Where a declared table is, its side file is."""
    (tmp_path / "s.csv").write_text("id,age\na,1\n")
    acts = []
    monkeypatch.setattr(os, "replace", lambda old, new, replace=os.replace: (acts.append(new.name), replace(old, new)))
    declared(engine, table("s.csv"), tmp_path)
    assert acts == ["made.persons.parquet", "made.parquet"]

    def broken(old, new, replace=os.replace):
        if new.name == "t.parquet":
            raise OSError(28, "No space left on device")
        replace(old, new)

    monkeypatch.setattr(os, "replace", broken)
    with pytest.raises(UsageError, match="cannot be written"):
        engine.declare(
            table("s.csv"), folder=tmp_path, target=tmp_path / "made" / "t.parquet", key=KEY, tag_key=TAG_KEY
        )
    assert not list((tmp_path / "made").iterdir())


@every_engine
def test_a_failed_making_leaves_nothing(engine, tmp_path):
    (tmp_path / "s.csv").write_text("id,age\na,1\nSECRET\n")
    with pytest.raises(UsageError, match=r"line 3 of s\.csv has 1 fields, but the header has 2"):
        engine.declare(
            table("s.csv"), folder=tmp_path, target=tmp_path / "made" / "t.parquet", key=KEY, tag_key=TAG_KEY
        )
    assert not list((tmp_path / "made").iterdir())
    with pytest.raises(UsageError, match="cannot be written"):
        engine.declare(table("s.csv"), folder=tmp_path, target=tmp_path / "s.csv" / "t", key=KEY, tag_key=TAG_KEY)


@every_engine
def test_what_is_not_made(engine, tmp_path):
    (tmp_path / "s.csv").write_text("id,age\na,1\n")
    for keys in ({"key": None}, {"tag_key": None}, {"key": b"short"}):
        with pytest.raises(ValueError, match="two keys of 32 bytes"):
            declared(engine, table("s.csv"), tmp_path, **keys)
    with pytest.raises(SchemaError, match=r"s\.csv has no column 'name'"):
        declared(engine, table("s.csv", person=("name",)), tmp_path)
    with pytest.raises(SchemaError, match="'ID' is the person"):
        declared(engine, table("s.csv", AGE, TextColumn(name="ID")), tmp_path)
    with pytest.raises(SchemaError, match="a column cannot be called"):
        declared(engine, table("s.csv", AGE, TextColumn(name="Discreet:person")), tmp_path)
    declared(engine, table("s.csv"), tmp_path)
    with pytest.raises(ValueError, match="a new name"):
        engine.declare(table("s.csv"), folder=tmp_path, target=tmp_path / "made.parquet", key=KEY, tag_key=TAG_KEY)


@every_engine
def test_an_empty_table_of_persons(engine, tmp_path):
    (tmp_path / "s.csv").write_text("id,age\n,1\n")
    told, rows, counts = declared(engine, table("s.csv"), tmp_path)
    assert (rows, counts, told.exact_persons, told.exact_without_person) == (Counter(), {}, 0, 1)


@every_engine
def test_the_forgotten_are_left_out_and_counted_nowhere(engine, tmp_path):
    (tmp_path / "s.csv").write_text("id,age\na,500\nb,2\na,x\na,3\n,4\n")
    told, rows, counts = declared(engine, table("s.csv"), tmp_path, forgotten=[tag("a"), tag("nobody")])
    assert (rows, counts) == (Counter({(tag("b"), (2,)): 1}), {tag("b"): 1})
    assert (told.exact_rows, told.exact_truncated, told.exact_without_person, told.exact_persons) == (
        1,
        0,
        1,
        1,
    )
    assert told.exact_nulled == {"age": 0}
    assert told.exact_clamped == {"age": 0}


def test_equal_persons_need_not_keep_equal_rows(tmp_path):
    """Else truncation would favour one kind of row in the whole table: 64 persons, each with both kinds."""
    (tmp_path / "s.csv").write_text(
        "id,age\n" + "".join(f"p{number},{age}\n" for number in range(64) for age in (1, 2))
    )
    _, rows, _ = declared(DUCKDB, table("s.csv", rows=1), tmp_path)
    kept = Counter(codes[0] for _, codes in rows)
    assert 16 < kept[1] < 48


@given(people=persons())
@settings(max_examples=size(6, 50), deadline=None, suppress_health_check=list(HealthCheck))
def test_engines_keep_the_same_rows(folder, people):
    agree(folder, people)


@pytest.mark.fuzz
@pytest.mark.timeout(1800)
@given(people=persons())
@settings(max_examples=fuzzed(5000), deadline=None, suppress_health_check=list(HealthCheck))
def test_engines_keep_the_same_rows_at_length(folder, people):
    agree(folder, people)


def agree(folder, people):
    written = people.write(folder)
    forgotten = [people.tag(key) for key in people.keys()[3:]]
    expected, found = (declared(engine, written, folder, forgotten=forgotten) for engine in (MEMORY, DUCKDB))
    assert expected == found
    check_unit(found[1], people.schema)
    assert set(found[2]) == {people.tag(key) for key in people.keys()[:3]}


def long_note(age):
    return f"note number {age % 7} " * 20


@pytest.mark.deep
def test_many_rows_many_threads_little_memory(tmp_path, monkeypatch):
    """Several batches, two threads, and a database that has to use its folder: still the right rows."""
    chance = random.Random(5)
    count = 300_000
    whose = [int(chance.random() ** 3 * 2000) for _ in range(count)]
    content = [chance.randrange(50) for _ in range(count)]
    source = pa.table({"id": whose, "age": content, "note": [long_note(age) for age in content]})
    pq.write_table(source, tmp_path / "s.parquet")
    wanted = table("s.parquet", AGE, NOTE, rows=40)
    engine = DuckDBEngine(threads=2, memory_mb=100)
    found = declared(engine, wanted, tmp_path)
    engine.close()
    connect = duckdb_engine._connect
    monkeypatch.setattr(duckdb_engine, "_connect", lambda folders, **how: connect(folders, **how | {"spill": None}))
    with pytest.raises(UsageError, match="more memory than the engine may use"):
        declared(DuckDBEngine(threads=2, memory_mb=100), wanted, tmp_path)
    assert found[0].exact_rows + found[0].exact_truncated == count
    assert found[2] == {tag(str(number)): rows for number, rows in Counter(whose).items()}
    by_person = {}
    for number, age in zip(whose, content, strict=True):
        by_person.setdefault(number, []).append((age, long_note(age)))
    expected = Counter()
    for number, rows in by_person.items():
        mark = tag(str(number))
        expected.update((mark, codes) for codes in kept(number, rows))
    assert found[1] == expected


def kept(number, rows, limit=40):
    secret, seen, ranked = person_secret([str(number)], KEY), Counter(), []
    for codes in rows:
        seen[codes] += 1
        ranked.append((row_digest(secret, codes, seen[codes]), codes))
    return [codes for _, codes in sorted(ranked)[:limit]]


def test_the_folder_for_what_does_not_fit_is_the_owners_and_goes(tmp_path, monkeypatch):
    (tmp_path / "s.csv").write_text("id,age\na,1\n")
    seen = []

    def connect(folders, connect=duckdb_engine._connect, **how):
        seen.append((how["spill"].parent, stat.S_IMODE(how["spill"].stat().st_mode)))
        found = connect(folders, **how)
        assert found.execute("SELECT current_setting('temp_directory')").fetchall() == [(str(how["spill"]),)]
        return found

    monkeypatch.setattr(duckdb_engine, "_connect", connect)
    declared(DUCKDB, table("s.csv"), tmp_path)
    assert seen == [(tmp_path, 0o700)]
    assert sorted(file.name for file in tmp_path.iterdir()) == ["made.parquet", "made.persons.parquet", "s.csv"]


@pytest.mark.parametrize("step", ["the persons", "the rows"])
def test_a_quoted_field_of_many_lines_is_read_by_one_thread(tmp_path, monkeypatch, step):
    """What fails with several threads, at once or when half of it is written, is begun anew: no row is there twice."""
    (tmp_path / "s.csv").write_text("id,age\n" + "a,1\nb,2\na,3\n" * 3)
    tried = Counter()

    def reading(source, *, parallel=True, source_sql=duckdb_declared_table.source_sql):
        tried[parallel] += 1
        return "read_csv('nowhere')" if parallel and step == "the persons" else source_sql(source, parallel=parallel)

    def counting(tally, batch, count=duckdb_declared_table.DeclarationTally.count):
        count(tally, batch)
        if step == "the rows" and not tried[False]:
            raise duckdb.InvalidInputException("a quoted field")

    monkeypatch.setattr(duckdb_declared_table, "source_sql", reading)
    monkeypatch.setattr(duckdb_declared_table.DeclarationTally, "count", counting)
    told, rows, counts = declared(DUCKDB, table("s.csv"), tmp_path)
    assert tried[True] == tried[False] == 1
    assert (told.exact_rows, told.exact_truncated, counts) == (4, 5, {tag("a"): 6, tag("b"): 3})
    assert rows.total() == 4
