"""Persons who are grouped and ranked part by part, as those of large tables are: the table is the one that is made at once.

Every table here is cut into three parts, or as many as are said. Bugs that would break it are planted: each is caught.
"""

from contextlib import contextmanager
from dataclasses import replace

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings

from discreet.engines import duckdb as duckdb_engine
from discreet.engines import duckdb_person_table as making
from discreet.engines.duckdb import DuckDBEngine
from discreet.engines.memory import MemoryEngine
from discreet.errors import UsageError
from discreet.schema.column import CategoryColumn, NumberColumn
from discreet.schema.privacy_unit import PrivacyUnit
from discreet.schema.schema import Schema, Table
from engines.persons_tables import File, Persons, Rewriting, check_unit, declared, of, persons
from tiers import fuzzed, size

DUCKDB = DuckDBEngine(threads=1)
MEMORY = MemoryEngine()


@pytest.fixture(scope="module", autouse=True)
def _closed(quick_files):
    yield
    DUCKDB.close()


@contextmanager
def parts(persons=1, values=1, most=3):
    """So many persons and values at once, and parts; yields how many parts were made."""
    numbers = []

    def within(owned, part, number, within=making._DuckDBPersonTable._within_sql):
        numbers.append(number)
        return within(owned, part, number)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(making, "PERSONS_AT_ONCE", persons)
        patch.setattr(making, "VALUES_AT_ONCE", values)
        patch.setattr(making, "MOST_PARTS", most)
        patch.setattr(making._DuckDBPersonTable, "_within_sql", within)
        yield numbers


def as_parquet(people: Persons) -> Persons:
    """The same persons, typed: text is not cut into parts."""
    types = people.source.types or tuple(pa.string() for _ in people.source.names)
    return replace(people, source=replace(people.source, types=types))


def check(folder, people) -> None:
    table, tags = people.write(folder), [people.tag(key) for key in people.keys()[:1]]
    for forgotten in ([], tags):
        expected = declared(MEMORY, table, folder, forgotten=forgotten)
        with parts() as numbers:
            assert declared(DUCKDB, table, folder, forgotten=forgotten) == expected
    assert set(numbers) == {3} or len(people.keys()) < 3


@given(people=persons())
@settings(max_examples=size(5, 100), deadline=None, suppress_health_check=list(HealthCheck))
def test_parts_make_the_same_table(tmp_path_factory, people):
    check(tmp_path_factory.mktemp("parts"), as_parquet(people))


@pytest.mark.fuzz
@pytest.mark.timeout(3600)
@given(people=persons())
@settings(max_examples=fuzzed(2000), deadline=None, suppress_health_check=list(HealthCheck))
def test_parts_make_the_same_table_at_length(tmp_path_factory, people):
    check(tmp_path_factory.mktemp("parts"), as_parquet(people))


SCHEMA = Schema(
    table="people",
    columns=(
        NumberColumn(name="age", type="integer", low=0, high=120),
        CategoryColumn(name="sex", values=("F", "M"), constant=True),
    ),
    unit=PrivacyUnit(person=("id", "place"), rows=2),
)
#: Enough for each part: persons with too many rows, with equal ones, with two sexes, and alike but for one half of the
#: id; one with far more rows than others; and rows of nobody.
ROWS = [
    *[(f"many {number}", place, str(age), "F") for number in range(20) for place in "ab" for age in (1, 2, 3, 4)],
    *[(f"equal {number}", "a", age, "M") for number in range(20) for age in "1112"],
    *[(f"torn {number}", "a", "7", sex) for number in range(20) for sex in ("F", "M", None)],
    *[(f"one {number}", "a", "200", "F") for number in range(20)],
    *[("unknown", "a", str(age), "F") for age in range(2000)],
    *[(None, "a", "1", "F")] * 3,
    *[("nobody", None, "1", "F")] * 2,
]
PEOPLE = Persons(
    schema=SCHEMA, source=File(names=("id", "place", "age", "sex"), rows=tuple(ROWS), types=(pa.string(),) * 4)
)


def test_every_part_adds_to_what_the_owner_is_told(tmp_path):
    check(tmp_path, PEOPLE)
    with parts():
        outcome = declared(DUCKDB, PEOPLE.write(tmp_path), tmp_path)[0]
    assert (outcome.exact_without_person, outcome.exact_persons) == (5, 101)
    assert outcome.exact_dominant is not None and outcome.exact_dominant.exact_person == ("unknown", "a")
    assert outcome.exact_clamped == {"age": 20 + 2000 - 121}


@pytest.mark.parametrize("key", [("many 3", "a"), ("torn 3", "a"), ("unknown", "a")])
def test_a_person_taken_out_of_a_part_takes_their_rows_alone(tmp_path, key):
    """Also where the table then has another number of parts."""
    with parts(most=4) as before:
        rows, counts = declared(DUCKDB, PEOPLE.write(tmp_path), tmp_path)[1:]
    with parts(most=3) as after:
        left, others = declared(DUCKDB, PEOPLE.without(key).write(tmp_path), tmp_path)[1:]
    assert (set(before), set(after)) == ({4}, {3})
    check_unit(rows, SCHEMA)
    tag = PEOPLE.tag(key)
    assert left == rows - of(rows, tag), "nobody else's rows change"
    assert others == {mark: count for mark, count in counts.items() if mark != tag}


def test_text_is_read_for_all_at_once(tmp_path):
    text = replace(PEOPLE, source=replace(PEOPLE.source, types=None))
    with parts() as numbers:
        declared(DUCKDB, text.write(tmp_path), tmp_path)
    assert numbers == [1]


def test_persons_reached_through_another_table(tmp_path):
    """A row of two persons may lie in two parts."""
    orders = [(f"p{order % 7}", str(order)) for order in range(30)] + [
        (f"p{order % 5}", str(order)) for order in range(30)
    ]
    items = [(str(order), str(amount)) for order in range(40) for amount in range(3)]
    amount = NumberColumn(name="amount", type="integer", low=0, high=99)
    through = PrivacyUnit(through="orders", on=("order",), rows=9)
    owners = Schema(table="orders", columns=(amount,), unit=PrivacyUnit(person=("id",), rows=1))
    own = Schema(table="items", columns=(amount,), unit=through)
    for name, names, rows in (("orders", ("id", "order"), orders), ("items", ("order", "amount"), items)):
        File(names=names, rows=tuple(rows), types=(pa.string(),) * 2).write(tmp_path, name)
    made = [
        Table(schema=schema, source=f"{schema.table}.parquet", population="people", budget=None)
        for schema in (own, owners)
    ]
    expected = declared(MEMORY, made[0], tmp_path, path=(made[1],))
    with parts() as numbers:
        assert declared(DUCKDB, made[0], tmp_path, path=(made[1],)) == expected
    assert set(numbers) == {3}


@pytest.mark.parametrize(
    "written", [ROWS[:50], [*ROWS[5:], ("new", "a", "3", "F")], None], ids=["fewer", "others", "none"]
)
@pytest.mark.parametrize("turn", [1, 2, 3])
def test_a_source_that_changes_between_two_readings_is_refused(tmp_path, monkeypatch, turn, written):
    """By its name, and not as a defect: its persons are counted in one reading, and its rows written in another."""
    table, turns, write = PEOPLE.write(tmp_path), [], making._DuckDBPersonTable._write_persons

    def changing(*given):
        turns.append(1)
        if len(turns) == turn:
            (tmp_path / table.source).unlink() if written is None else PEOPLE.with_rows(written).write(tmp_path)
        return write(*given)

    monkeypatch.setattr(making._DuckDBPersonTable, "_write_persons", changing)
    with parts(), pytest.raises(UsageError, match="changed while it was read"):
        declared(DUCKDB, table, tmp_path)
    assert len(turns) >= turn and not list(tmp_path.glob("made*"))


def fails(tmp_path) -> None:
    with pytest.raises((AssertionError, ValueError)):
        check(tmp_path, PEOPLE)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("(hash(", '(hash(s."age", '),  # rows of one person in many parts
        (") >> 30) % 3 = 1", ") >> 30) % 3 = 0"),  # one part twice, one not at all
        (") >> 30) % 3 = 1", ") >> 30) % 3 = 99"),
        (") >> 30) % 3 = 1", ") >> 30) % 3 = 1 AND s.\"id\" IS NOT NULL"),  # no row of nobody
        ("number % 3 = 1", "number % 3 = 0"),  # one turn of the ranking twice
        ("+ row_number() OVER () - 1", "+ 0"),  # everybody in a part has one number
    ],
)  # fmt: skip
def test_bugs_in_the_sql_are_caught(tmp_path, monkeypatch, old, new):
    planted = []

    class Planted(Rewriting):
        def close(self):
            planted.append(self._met)
            self._connection.close()

    connect = duckdb_engine._connect
    monkeypatch.setattr(duckdb_engine, "_connect", lambda folders, **how: Planted(connect(folders, **how), old, new))
    fails(tmp_path)
    assert any(planted), "the SQL that the bug is planted in is not there any more"


def test_persons_of_every_turn_are_ranked(tmp_path):
    """The rows of those who are ranked are cut once more, by their numbers."""
    with pytest.MonkeyPatch.context() as patch, parts(persons=10**9) as numbers:
        turns = []
        make = making.create_candidates
        patch.setattr(making, "create_candidates", lambda *rest: [turns.append(1), make(*rest)])
        assert declared(DUCKDB, PEOPLE.write(tmp_path), tmp_path) == declared(MEMORY, PEOPLE.write(tmp_path), tmp_path)
    assert (numbers, len(turns)) == ([1], 3)


def test_numbers_that_begin_anew_in_each_part_are_caught(tmp_path, monkeypatch):
    group = making._DuckDBPersonTable._group
    monkeypatch.setattr(
        making._DuckDBPersonTable, "_group", lambda owned, rows, within, *, first_number: group(owned, rows, within, first_number=0)
    )  # fmt: skip
    fails(tmp_path)


def test_rows_that_stay_from_the_part_before_are_caught(tmp_path, monkeypatch):
    monkeypatch.setattr(
        making, "create_candidates", lambda cursor, *rest, make=making.create_candidates: _once(cursor, make, rest)
    )
    fails(tmp_path)


def _once(cursor, make, rest):
    """Candidates are made of the first part alone."""
    made = cursor.execute("SELECT count(*) FROM duckdb_tables() WHERE table_name = 'candidates'").fetchall()
    if made == [(0,)]:
        make(cursor, *rest)


def test_the_dominant_person_of_the_last_part_alone_is_caught(tmp_path, monkeypatch):
    def add(totals, numbers, persons, kept, rows, first, add=making._Totals.add):
        add(totals, numbers, persons, kept, rows, first)
        totals.first = first

    monkeypatch.setattr(making._Totals, "add", add)
    fails(tmp_path)
