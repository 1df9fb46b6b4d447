"""The law of persons, exactly: one person taken out of the source takes their rows out of the declared table and
changes nobody else's; and a person's rows, alone and in any order, are stored as they were among the others.

Then bugs that would break it, planted one by one on the real engines: each is caught.
"""

import random

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings

from discreet.engines import duckdb as duckdb_engine
from discreet.engines import duckdb_person_table as making
from discreet.engines import keyed_hashes, memory_person_table
from discreet.engines.duckdb import DuckDBEngine
from discreet.engines.memory import MemoryEngine
from discreet.schema.column import CategoryColumn, NumberColumn, TextColumn
from discreet.schema.privacy_unit import PrivacyUnit
from discreet.schema.schema import Schema
from engines.persons_tables import File, Persons, Rewriting, check_unit, declared, of, persons
from tiers import fuzzed, size

DUCKDB = DuckDBEngine(threads=1)
MEMORY = MemoryEngine()


@pytest.fixture(scope="module", autouse=True)
def _closed(quick_files):
    yield
    DUCKDB.close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("laws")


def check(engine, folder, people, keys) -> None:
    """Both laws, for each of these keys."""
    rows, counts = declared(engine, people.write(folder), folder)[1:]
    check_unit(rows, people.schema)
    for key in keys:
        tag = people.tag(key)
        left, others = declared(engine, people.without(key).write(folder), folder)[1:]
        assert left == rows - of(rows, tag), "nobody else's rows change"
        assert others == {mark: count for mark, count in counts.items() if mark != tag}
        alone = people.alone(key)
        shuffled = alone.with_rows(random.Random(str(key)).sample(alone.source.rows, len(alone.source.rows)))
        assert declared(engine, shuffled.write(folder), folder)[1] == of(rows, tag), "their rows are theirs alone"


@pytest.mark.parametrize("engine", [MEMORY, DUCKDB], ids=["memory", "duckdb"])
@given(people=persons())
@settings(max_examples=size(4, 30), deadline=None, suppress_health_check=list(HealthCheck))
def test_a_person_taken_out_takes_their_rows_alone(engine, folder, people):
    check(engine, folder, people, people.keys()[:2])


@pytest.mark.fuzz
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("engine", [MEMORY, DUCKDB], ids=["memory", "duckdb"])
@given(people=persons())
@settings(max_examples=fuzzed(2500), deadline=None, suppress_health_check=list(HealthCheck))
def test_a_person_taken_out_takes_their_rows_alone_at_length(engine, folder, people):
    check(engine, folder, people, people.keys()[:2])


SCHEMA = Schema(
    table="people",
    columns=(
        NumberColumn(name="age", type="integer", low=0, high=120),
        CategoryColumn(name="sex", values=("F", "M"), constant=True),
        TextColumn(name="note"),
    ),
    unit=PrivacyUnit(person=("id", "place"), rows=2),
)
#: Persons who are alike but for capitals, blanks, or where one part of the id ends; some with too many rows or two
#: sexes, some with equal rows, some with a note where the other has none; and rows of nobody.
ROWS = [
    *[("a", "bc", str(age), "F", "x") for age in (1, 2, 3, 4)],
    *[("a", "c", str(age), "M", "x") for age in (1, 2)],
    *[("ab", "c", str(age), "M", None) for age in (1, 2, 3, 4)],
    *[("A", "bc", str(age), "FM"[age % 2], "x") for age in (5, 6)],
    *[(" a", "bc", "7", "M", note) for note in ("x", "x", "x", "y")],
    *[(str(number), "z", str(age), sex, note) for number in range(6) for age, sex, note in [(1, "F", "n"), (2, "M", "n"), (3, None, "n")]],
    *[("one", "none", str(age), sex, "n") for age, sex in ((1, "F"), (2, None))],
    *[(None, "bc", str(age), "F", "x") for age in (1, 2, 3)],
    *[("b", None, "9", "F", "x")] * 3,
]  # fmt: skip
PEOPLE = Persons(schema=SCHEMA, source=File(names=("id", "place", "age", "sex", "note"), rows=tuple(ROWS)))
EQUAL = [
    *[(f"equal {number}", "z", age, "F", "n") for number in range(40) for age in ("1", "1", "1", "2")],
    *[(f"more {number}", "z", age, "F", "n") for number in range(40) for age in "1233334444"],
    *[(f"both {number}", "z", age, sex, "n") for number in range(40) for age, sex in ("1F", "1F", "1M", "2M")],
]
TYPED = Persons(
    schema=SCHEMA,
    source=File(names=PEOPLE.source.names, rows=(*ROWS, *EQUAL), types=(pa.string(),) * len(PEOPLE.source.names)),
)


@pytest.fixture
def laws(folder):
    def run(engine=DUCKDB):
        check(engine, folder, PEOPLE, PEOPLE.keys()[:6])

    return run


@pytest.fixture
def reference(folder):
    """What the owner is told and every row, as the reference engine has them, which is left as it is."""
    expected = declared(MEMORY, TYPED.write(folder), folder, forgotten=[TYPED.tag(("0", "z"))])

    def run(engine=DUCKDB):
        assert declared(engine, TYPED.write(folder), folder, forgotten=[TYPED.tag(("0", "z"))]) == expected

    return run


#: What was seen to stand: once is enough for all bugs.
_stands = set()


def caught(run, plant, engine=DUCKDB, by=AssertionError):
    if (run.__qualname__, id(engine)) not in _stands:
        run(engine)
        _stands.add((run.__qualname__, id(engine)))
    plant()
    with pytest.raises(by):
        run(engine)


@pytest.fixture
def rewrite(monkeypatch):
    def plant(old, new):
        connect = duckdb_engine._connect
        monkeypatch.setattr(
            duckdb_engine, "_connect", lambda folders, **how: Rewriting(connect(folders, **how), old, new)
        )

    return plant


#: Planted in the SQL: what stands there, and what a mistake would put in its place.
AGAINST_THE_LAWS = {
    "constants come from anybody's row": (
        "first_value(stored_1) OVER ranked",
        "first_value(stored_1) OVER (ORDER BY digest)",
    ),
    "constants come from every row": ("first_value(stored_1) OVER ranked", "max(stored_1) OVER ()"),
    "constants stay as they were": (
        "first_value(stored_1) OVER ranked AS first_stored_1",
        "stored_1 AS first_stored_1",
    ),
    "nobody disagrees": ("min(stored_1) IS DISTINCT FROM max(stored_1)", "false"),
    "a NULL among values is no disagreement": ("OR count(stored_1) NOT IN (0, count(*))", ""),
    "the limit is for all together": ("PARTITION BY person ORDER BY", "ORDER BY"),
    "the limit is forgotten": ("OVER ranked <= 2", "OVER ranked <= 20"),
    "capitals are not told apart": ('s."c0"', 'lower(s."c0")'),
    "blanks are not told apart": ('s."c0"', 'trim(s."c0")'),
    "half of the id is enough": ('AND s."c1" = persons.key_1', ""),
}
AGAINST_THE_REFERENCE = {
    "equal rows are one": ("row_number() OVER ranked - rank() OVER ranked + 1", "1"),
    "equal rows are counted from two": ("rank() OVER ranked + 1", "rank() OVER ranked + 2"),
    "equal rows are not ranked again": ("FROM candidates WHERE occurrence > 1", "FROM candidates WHERE false"),
    "the second of equal rows is no candidate": ("OR row_number() OVER ranked > rank() OVER ranked", ""),
    "equal rows take places of others": ("dense_rank() OVER ranked <=", "rank() OVER ranked <="),
    "constants of equal rows stay": ("first_value(stored_1) OVER ranked AS stored_1", "stored_1"),
    "NULL is a person": ('s."id"', "coalesce(s.\"id\", 'x')"),
    "the forgotten come back": ("persons.forgotten IS NOT TRUE", "true"),
    "the forgotten come back, ranked": ("apart AND NOT forgotten", "apart"),
    "the forgotten keep their tags": ("FROM persons WHERE NOT forgotten", "FROM persons"),
    "rows are counted after truncation": ("tag, rows FROM persons", "tag, least(rows, 2) AS rows FROM persons"),
    "tags without a key": ("$inner::BLOB ||", "encode(substr(hex($inner::BLOB), 1, 0)) ||"),
}
BY = (AssertionError, ValueError)


@pytest.mark.parametrize("bug", AGAINST_THE_LAWS)
def test_bugs_that_break_the_laws(laws, rewrite, bug):
    caught(laws, lambda: rewrite(*AGAINST_THE_LAWS[bug]), by=BY)


@pytest.mark.parametrize("bug", AGAINST_THE_REFERENCE)
def test_bugs_that_change_what_is_kept(reference, rewrite, bug):
    caught(reference, lambda: rewrite(*AGAINST_THE_REFERENCE[bug]), by=BY)


@pytest.mark.parametrize("digest", ["lpad(CAST(row_number() OVER () AS VARCHAR), 9, '0')", "CAST(random() AS VARCHAR)"])
def test_rows_picked_in_the_order_they_come_or_by_chance(laws, monkeypatch, digest):
    caught(laws, lambda: monkeypatch.setattr(making, "digest_sql", lambda *parts: digest))


def test_an_id_whose_parts_run_together(laws, monkeypatch):
    caught(laws, lambda: monkeypatch.setattr(keyed_hashes, "wrapped_sql", lambda text: text))


def test_the_same_secret_for_everybody(reference, monkeypatch):
    caught(reference, lambda: monkeypatch.setattr(making, "secret_sql", lambda texts: "hex($inner || $outer)"))


def test_the_reference_with_rows_picked_in_order(laws, monkeypatch):
    numbers = iter(range(10**6))

    def arrived(secret, codes, occurrence):
        return f"{next(numbers):09}"

    caught(laws, lambda: monkeypatch.setattr(memory_person_table, "row_digest", arrived), MEMORY)


@pytest.mark.parametrize("change", [str.lower, str.strip], ids=["lower", "strip"])
def test_the_reference_with_careless_ids(laws, monkeypatch, change):
    def careless(value, marks, text=memory_person_table._text):
        found = text(value, marks)
        return None if found is None else change(found)

    caught(laws, lambda: monkeypatch.setattr(memory_person_table, "_text", careless), MEMORY)


def test_the_reference_with_constants_of_the_person_before(laws, monkeypatch):
    before = []

    def kept(person, coded, ownership, kept=memory_person_table._kept):
        found = kept(person, coded, ownership)
        before.append(found[0][1])
        return [(age, before[-2] if len(before) > 1 else sex, note) for age, sex, note in found]

    caught(laws, lambda: monkeypatch.setattr(memory_person_table, "_kept", kept), MEMORY)
