"""A table that grew is what it would be if it were made anew from all files: every row, every person, every count.

Bugs that would break it are planted in the SQL of the real engine: each is caught.
"""

from dataclasses import replace
from itertools import pairwise

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from discreet.engines import duckdb as duckdb_engine
from discreet.engines import duckdb_table_growth
from discreet.engines.duckdb import DuckDBEngine
from discreet.engines.earlier_version import EarlierVersion
from discreet.engines.file_source import stamp_of
from discreet.engines.table_file import PERSON, persons_file
from discreet.lab.neighbours.engine_site import KEY, TAG_KEY, read_parquet
from discreet.schema.column import CategoryColumn, NumberColumn, TextColumn
from discreet.schema.privacy_unit import PrivacyUnit
from discreet.schema.schema import Schema, Table
from engines.persons_tables import File, Persons, Rewriting, contents, declared, persons
from tiers import size

DUCKDB = DuckDBEngine(threads=1)
KEYS = {"key": KEY, "tag_key": TAG_KEY}


@pytest.fixture(scope="module", autouse=True)
def _closed(quick_files):
    yield
    DUCKDB.close()


def write(people: Persons, folder, parts) -> Table:
    """Rows in files one after another: a source that is a glob."""
    for file in folder.glob("source*"):
        file.unlink()
    names = [people.with_rows(rows).source.write(folder, f"source{place}") for place, rows in enumerate(parts)]
    source = f"source*.{names[0].partition('.')[2]}"
    return Table(schema=people.schema, source=source, population="people", budget=None)


def added_rows(people: Persons, rows, forgotten) -> int:
    """The rows of those who are not forgotten, and of nobody."""
    keys = [row[: people.parts] for row in rows]
    return sum(None in people.texts(key) or people.tag(key) not in forgotten for key in keys)


def grown(people: Persons, folder, parts, *, forgotten=()):
    """What is made of the first files and then, file by file, of those that are added: an outcome, rows and persons."""
    for file in folder.glob("grown*"):
        file.unlink()
    table = write(people, folder, parts[:1])
    place = folder / "grown0.parquet"
    making = DUCKDB.declare(table, folder=folder, target=place, **KEYS)
    for step in range(1, len(parts)):
        files = tuple(sorted(folder.glob("source*")))
        earlier = EarlierVersion(place=place, files=files, stamps=stamp_of(files))
        people.with_rows(parts[step]).source.write(folder, f"source{step}")
        place = folder / f"grown{step}.parquet"
        making = DUCKDB.extend(table, folder=folder, target=place, earlier=earlier, forgotten=forgotten, **KEYS)
        assert making is not None and making.exact_added == added_rows(people, parts[step], forgotten)
    return making, *contents(place)


def check(people: Persons, folder, parts, **forgotten) -> None:
    grew, rows, counts = grown(people, folder, parts, **forgotten)
    table = write(people, folder, parts)
    whole, all_rows, all_counts = declared(DUCKDB, table, folder, forgotten=forgotten.get("forgotten", ()))
    assert (rows, counts) == (all_rows, all_counts)
    for name in ("exact_rows", "exact_truncated", "exact_persons"):
        assert getattr(grew, name) == getattr(whole, name), name


@st.composite
def growing(draw):
    """Persons, whose rows come in two to four files; and somebody who is forgotten before the last."""
    people = draw(persons(most=16))
    cuts = sorted(draw(st.lists(st.integers(0, len(people.source.rows)), min_size=1, max_size=3)))
    edges = [0, *cuts, len(people.source.rows)]
    parts = [people.source.rows[low:high] for low, high in pairwise(edges)]
    keys = people.keys()
    return people, parts, [people.tag(key) for key in keys[: draw(st.integers(0, 1))]]


@given(case=growing())
@settings(max_examples=size(10, 300), deadline=None, suppress_health_check=list(HealthCheck))
def test_a_table_of_persons_that_grew_is_the_one_made_anew(tmp_path_factory, case):
    people, parts, tags = case
    check(people, tmp_path_factory.mktemp("grown"), parts, forgotten=tags)


SCHEMA = Schema(
    table="people",
    columns=(
        NumberColumn(name="age", type="integer", low=0, high=120),
        CategoryColumn(name="sex", values=("F", "M"), constant=True),
        TextColumn(name="note"),
    ),
    unit=PrivacyUnit(person=("id",), rows=3),
)
#: Equal rows of many persons who had too many before, or have so now; persons who disagree before, now, or between; who
#: come once, only before or only now; NULLs and nobody's rows.
BEFORE = [
    *[(f"too many {number}", age, "F", "x") for number in range(20) for age in ("1", "1", "1", "1", "2")],
    *[(f"enough {number}", "1", "F", "x") for number in range(10) for _ in range(2)],
    *[(f"torn {number}", "1", sex, "x") for number in range(10) for sex in "FM"],
    *[(f"one {number}", "1", "F", None) for number in range(5)],
    *[("only before", str(age), "F", "x") for age in range(5)],
    *[(None, "1", "F", "x")] * 2,
]
ADDED = [
    *[(f"too many {number}", "1", "F", "x") for number in range(20)],
    *[(f"enough {number}", "1", "F", "x") for number in range(10) for _ in range(2)],
    *[(f"torn {number}", "2", "F", "x") for number in range(10)],
    *[(f"one {number}", "1", "M", None) for number in range(5)],
    *[("only now", "200", None, None)] * 4,
    (None, "1", "F", "x"),
]
PEOPLE = Persons(schema=SCHEMA, source=File(names=("id", "age", "sex", "note"), rows=()))
PLAIN = replace(PEOPLE, schema=replace(SCHEMA, columns=(SCHEMA.columns[0], SCHEMA.columns[2])))
PLAIN = replace(PLAIN, source=File(names=("id", "age", "note"), rows=()))
FORGOTTEN = [PEOPLE.tag(("too many 0",)), PEOPLE.tag(("only before",)), PEOPLE.tag(("enough 1",))]


def without_sex(rows):
    return tuple((*row[:2], row[3]) for row in rows)


@pytest.mark.parametrize("types", [None, (pa.string(),) * 4], ids=["csv", "parquet"])
def test_each_kind_of_person(tmp_path, types):
    people = replace(PEOPLE, source=replace(PEOPLE.source, types=types))
    check(people, tmp_path, [tuple(BEFORE), tuple(ADDED)], forgotten=FORGOTTEN)
    check(people, tmp_path, [tuple(BEFORE), tuple(ADDED), tuple(ADDED)])


def test_the_source_of_before_is_read_for_those_alone_who_had_too_many(tmp_path, monkeypatch):
    """And for nobody where kept rows are enough."""
    read = []

    def listen(source, act):
        read.extend(file.name for file in source.files)
        return retry(source, act)

    retry = duckdb_table_growth.retry_single_threaded
    monkeypatch.setattr(duckdb_table_growth, "retry_single_threaded", listen)
    few = [row for row in without_sex(BEFORE) if not str(row[0]).startswith("too many")]
    check(PLAIN, tmp_path, [tuple(few), without_sex(ADDED)])
    assert set(read) == {"source1.csv"}
    check(PLAIN, tmp_path, [without_sex(BEFORE), without_sex(ADDED)])
    assert set(read) == {"source0.csv", "source1.csv"}


#: Words that stand in no SQL of a full making.
GROWING = ("earlier", "gathered", "gone")


def bugs(tmp_path, monkeypatch, old, new, people, parts, **forgotten):
    check(people, tmp_path, parts, **forgotten)
    connect = duckdb_engine._connect

    class Planted(Rewriting):
        def _rewritten(self, sql):
            return super()._rewritten(sql) if any(word in sql for word in GROWING) else sql

        def close(self):
            self._met = True
            super().close()

    monkeypatch.setattr(duckdb_engine, "_connect", lambda folders, **how: Planted(connect(folders, **how), old, new))
    with pytest.raises(AssertionError):
        check(people, tmp_path, parts, **forgotten)


#: What stands in the SQL, and what a mistake would put in its place.
PLANTED = {
    "who may have disagreed is taken from the kept rows": ("OR coalesce(earlier.rows, 0) > 1", ""),
    "those who come again are copied as well": ("ANTI JOIN changed ON", "ANTI JOIN gone AS changed ON"),
    "the forgotten are copied": ("UNION ALL FROM gone", ""),
    "everybody who comes is new": ("LEFT JOIN earlier USING (tag)", "LEFT JOIN (FROM earlier LIMIT 0) AS earlier USING (tag)"),
    "rows of before are not counted": ("tag, earlier_rows + added_rows", "tag, added_rows"),
    "the limit is for new rows alone": ("HAVING count(*) > 3", "HAVING false"),
}  # fmt: skip


@pytest.mark.parametrize("bug", PLANTED)
def test_planted_bugs_are_caught(tmp_path, monkeypatch, bug):
    bugs(tmp_path, monkeypatch, *PLANTED[bug], PEOPLE, [tuple(BEFORE), tuple(ADDED)], forgotten=FORGOTTEN)


def test_kept_rows_of_whoever_had_too_many_are_not_enough(tmp_path, monkeypatch):
    enough = ("coalesce(earlier.rows, 0) > 3", "coalesce(earlier.rows, 0) > 99")
    bugs(tmp_path, monkeypatch, *enough, PLAIN, [without_sex(BEFORE), without_sex(ADDED)])


def test_kept_rows_of_whoever_had_too_many_give_other_rows(tmp_path, monkeypatch):
    """The same without the count that sees it first: kept rows do not tell which number a new equal row gets."""
    enough = ("coalesce(earlier.rows, 0) > 3", "coalesce(earlier.rows, 0) > 99")
    monkeypatch.setattr(duckdb_table_growth, "COUNTED", "false")
    bugs(tmp_path, monkeypatch, *enough, PLAIN, [without_sex(BEFORE), without_sex(ADDED)])


def test_occurrences_that_start_again_are_caught(tmp_path, monkeypatch):
    """Equal rows of before and of now would have the same numbers, and the same place in the order."""
    numbered = "row_number() OVER ranked - rank() OVER ranked + 1 AS occurrence"
    again = "1 + (row_number() OVER ranked - rank() OVER ranked) % 2 AS occurrence"
    before = tuple((f"p{number}", "1", note) for number in range(40) for note in "xxx")
    added = tuple((f"p{number}", "1", note) for number in range(40) for note in "xy")
    bugs(tmp_path, monkeypatch, numbered, again, PLAIN, [before, added])


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_rows_are_appended(tmp_path, kind):
    schema = replace(
        SCHEMA, columns=tuple(replace(each, constant=False) for each in SCHEMA.columns), unit=PrivacyUnit()
    )
    types = (pa.string(),) * 4 if kind == "parquet" else None
    people = Persons(schema=schema, source=File(names=("id", "age", "sex", "note"), rows=(), types=types))
    table = write(people, tmp_path, [tuple(BEFORE)])
    old, new, whole = (tmp_path / f"{name}.parquet" for name in ("old", "new", "whole"))
    DUCKDB.declare(table, folder=tmp_path, target=old)
    files = tuple(tmp_path.glob("source*"))
    earlier = EarlierVersion(place=old, files=files, stamps=stamp_of(files))
    people.with_rows(ADDED).source.write(tmp_path, "source1")
    grew = DUCKDB.extend(table, folder=tmp_path, target=new, earlier=earlier)
    full = DUCKDB.declare(table, folder=tmp_path, target=whole)
    assert grew.exact_rows == full.exact_rows == len(BEFORE) + len(ADDED) and grew.exact_added == len(ADDED)
    assert grew.exact_clamped == {"age": 4}
    assert read_parquet(new) == read_parquet(whole)
    assert new.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("change", ["touched", "gone", "unreadable", "side file", "none added"])
def test_it_is_made_anew_where_anything_else_changed(tmp_path, change):
    table = write(PEOPLE, tmp_path, [tuple(BEFORE)])
    old, new = tmp_path / "old.parquet", tmp_path / "new.parquet"
    DUCKDB.declare(table, folder=tmp_path, target=old, **KEYS)
    [file] = tmp_path.glob("source*")
    earlier = EarlierVersion(place=old, files=(file,), stamps=stamp_of([file]))
    if change != "none added":
        PEOPLE.with_rows(ADDED).source.write(tmp_path, "source1")
    if change == "touched":
        file.write_bytes(file.read_bytes() + b"someone,1,F,x\r\n")
    if change == "gone":
        file.rename(tmp_path / "source2.csv")
    if change == "unreadable":
        (tmp_path / "source1.csv").write_bytes(b"id,age,sex,note\nno\xfftext,1,F,x\n")
    if change == "side file":
        persons_file(old).unlink()
    assert DUCKDB.extend(table, folder=tmp_path, target=new, earlier=earlier, **KEYS) is None
    assert not new.exists() and not persons_file(new).exists()


def test_a_damaged_earlier_version_is_not_gone_on_from(tmp_path):
    """A row that is missing there is seen: the rows of each person are counted."""
    table = write(PEOPLE, tmp_path, [tuple(BEFORE)])
    old, other = tmp_path / "old.parquet", tmp_path / "other.parquet"
    DUCKDB.declare(table, folder=tmp_path, target=old, **KEYS)
    smaller = write(PEOPLE, tmp_path, [tuple(row for row in BEFORE if row[0] != "one 1")])
    DUCKDB.declare(smaller, folder=tmp_path, target=other, **KEYS)
    other.replace(old)
    write(PEOPLE, tmp_path, [tuple(BEFORE), tuple(ADDED)])
    files = (tmp_path / "source0.csv",)
    earlier = EarlierVersion(place=old, files=files, stamps=stamp_of(files))
    assert DUCKDB.extend(table, folder=tmp_path, target=tmp_path / "new.parquet", earlier=earlier, **KEYS) is None
    assert PERSON in read_parquet(old)[0]
    for file in (old, persons_file(old)):
        content = file.read_bytes()
        file.write_bytes(content[: len(content) // 2])
        assert DUCKDB.extend(table, folder=tmp_path, target=tmp_path / "new.parquet", earlier=earlier, **KEYS) is None
        file.write_bytes(content)
