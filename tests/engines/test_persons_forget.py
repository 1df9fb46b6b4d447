"""Forgetting persons: their rows and tags go, everything else stays, and a crash is finished by a second run."""

import os
import stat

import pyarrow.parquet as pq
import pytest

from discreet.engines.duckdb import DuckDBEngine
from discreet.engines.keyed_hashes import person_tag
from discreet.engines.memory import MemoryEngine
from discreet.engines.person_erasure import erase
from discreet.engines.table_file import PERSON, persons_file
from discreet.errors import UsageError
from discreet.schema.column import CategoryColumn, NumberColumn
from discreet.schema.privacy_unit import PrivacyUnit
from discreet.schema.schema import Schema, Table
from engines.persons_tables import KEY, TAG_KEY, contents, declared, of

AGE = NumberColumn(name="age", type="integer", low=0, high=10**9)
SEX = CategoryColumn(name="sex", values=("F", "M"), constant=True)


@pytest.fixture(autouse=True)
def _quick(quick_files):
    pass


def tag(*values):
    return person_tag(values, TAG_KEY)


def table(rows=3):
    schema = Schema(table="people", columns=(AGE, SEX), unit=PrivacyUnit(person=("id",), rows=rows))
    return Table(schema=schema, source="s.csv", population="people", budget=None)


def write(folder, persons=5, each=4):
    lines = [f"p{number},{age},{'FM'[number % 2]}" for age in range(each) for number in range(persons)]
    (folder / "s.csv").write_text("id,age,sex\n" + "\n".join(lines) + "\n")


@pytest.fixture(params=[MemoryEngine, DuckDBEngine], ids=["memory", "duckdb"])
def file(request, tmp_path):
    write(tmp_path)
    folder = tmp_path / "made"
    request.param().declare(table(), folder=tmp_path, target=folder / "t.parquet", key=KEY, tag_key=TAG_KEY)
    return folder / "t.parquet"


def test_their_rows_go_and_nothing_else_changes(file):
    before, counts = contents(file)
    numbers = pq.read_table(file).column(PERSON).to_pylist()
    assert erase(file, [tag("p1"), tag("p3"), tag("nobody")]) == 2
    rows, left = contents(file)
    assert rows == before - of(before, tag("p1")) - of(before, tag("p3"))
    assert left == {mark: count for mark, count in counts.items() if mark not in (tag("p1"), tag("p3"))}
    # The others keep their numbers and their order.
    kept = pq.read_table(file).column(PERSON).to_pylist()
    assert kept == [number for number in numbers if number in set(kept)]
    assert sorted(path.name for path in file.parent.iterdir()) == ["t.parquet", "t.persons.parquet"]
    assert {stat.S_IMODE(path.stat().st_mode) for path in file.parent.iterdir()} == {0o600}
    assert not any(tag("p1") in path.read_bytes() for path in file.parent.iterdir())
    assert tag("p2") in persons_file(file).read_bytes()


def test_nobody_to_forget_touches_nothing(file):
    before = [(path, path.stat().st_ino, path.read_bytes()) for path in file.parent.iterdir()]
    assert erase(file, [tag("nobody")]) == erase(file, []) == 0
    assert before == [(path, path.stat().st_ino, path.read_bytes()) for path in file.parent.iterdir()]


def test_everybody_can_be_forgotten(file):
    assert erase(file, [tag(f"p{number}") for number in range(5)]) == 5
    assert contents(file)[0].total() == 0
    assert erase(file, [tag("p0")]) == 0


@pytest.mark.parametrize("last", [0, 1])
def test_broken_off_anywhere_both_files_are_whole_and_a_second_run_finishes(file, monkeypatch, last):
    """The disk gives out at the first or the second replacement."""
    before, counts = contents(file)
    done = []

    def replace(old, new, replace=os.replace):
        if len(done) == last:
            raise OSError(28, "No space left on device")
        done.append(new)
        replace(old, new)

    monkeypatch.setattr(os, "replace", replace)
    with pytest.raises(UsageError, match="cannot be written"):
        erase(file, [tag("p1")])
    monkeypatch.undo()
    beside = {row["tag"]: row["number"] for row in pq.read_table(persons_file(file)).to_pylist()}
    stored = pq.read_table(file).column(PERSON).to_pylist()
    assert set(beside) == set(counts), "the tag is the last to go"
    assert stored.count(beside[tag("p1")]) == (of(before, tag("p1")).total() if last == 0 else 0)
    assert all(stored.count(beside[mark]) == of(before, mark).total() for mark in counts if mark != tag("p1"))
    assert sorted(path.name for path in file.parent.iterdir()) == ["t.parquet", "t.persons.parquet"]
    assert erase(file, [tag("p1")]) == 1
    assert contents(file)[0] == before - of(before, tag("p1"))
    assert erase(file, [tag("p1")]) == 0


def test_erased_is_as_never_having_been_there(tmp_path):
    """Erasing from a version and leaving out at a refresh leave the same rows and the same file but for numbers."""
    write(tmp_path, persons=40, each=7)
    engine = DuckDBEngine(threads=1)
    marks = [tag("p7"), tag("p39")]
    _, refreshed, counts = declared(engine, table(), tmp_path, forgotten=marks)
    declared(engine, table(), tmp_path)
    erase(tmp_path / "made.parquet", marks)
    engine.close()
    assert contents(tmp_path / "made.parquet") == (refreshed, counts)


def test_columns_and_their_encoding_stay(tmp_path):
    write(tmp_path, persons=20)
    engine = DuckDBEngine(threads=1)
    declared(engine, table(), tmp_path)
    engine.close()
    made = tmp_path / "made.parquet"

    def encodings():
        group = pq.read_metadata(made).row_group(0)
        return {group.column(place).path_in_schema: group.column(place).encodings for place in range(group.num_columns)}

    before, schema = encodings(), pq.read_schema(made)
    assert erase(made, [tag("p1")]) == 1
    assert encodings() == before
    assert pq.read_schema(made) == schema


def test_a_side_file_that_is_gone(file):
    persons_file(file).unlink()
    with pytest.raises(UsageError, match="no longer on disk"):
        erase(file, [tag("p1")])
