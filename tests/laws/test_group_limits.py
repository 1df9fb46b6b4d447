"""Limits on the groups of a person, and weights over keys: bugs that would break the guarantee, each seen by the law.

The neighbour has nobody "a", whose tag comes first or last, so that everybody else has another number in it.
"""

import hashlib
import re
from dataclasses import replace

import pytest

from discreet.engines import memory_counter
from discreet.engines.duckdb import DuckDBEngine
from discreet.engines.keyed_hashes import limit_digest
from discreet.engines.memory_counter import MemoryCounter
from discreet.mechanisms import weighted_threshold
from discreet.plan import price as pricing
from discreet.plan import query_sensitivity
from discreet.plan.axis import Axis
from discreet.schema.column import MomentColumn, NumberColumn, TextColumn
from discreet.schema.privacy_unit import PrivacyUnit
from discreet.schema.schema import Schema
from discreet.sql import query_parser
from discreet.sql.sql_writer import SqlWriter
from laws.neighbours import Law, Pair
from laws.worlds import Source, World, table_of

TRIPS = Schema(
    table="trips",
    columns=(
        NumberColumn(name="month", type="integer", low=1, high=12, edges=(1, 4, 7, 10, 13)),
        NumberColumn(name="day", type="integer", low=1, high=7),
        NumberColumn(name="cost", type="integer", low=0, high=100),
        TextColumn(name="city"),
        MomentColumn(name="date", type="date", low=18_262, high=18_627),  # the days of 2020
    ),
    unit=PrivacyUnit(person=("pid",), rows=12),
)
#: Everybody has many rows in many groups; the first of them have equal rows, and NULL.
ROWS = [
    (
        person,
        1 + (turn * (3 + place)) % 12,
        1 + turn % 7,
        100 if turn % 4 else None,
        f"c{turn % 5}" if turn % 6 else None,
    )
    for place, person in enumerate(["a", "b", "c", "d", "e"])
    for turn in [*range(11), 1]
]
LOUD = [("a", 1 + turn, 1 + turn % 7, 100, f"d{turn}") for turn in range(12)]


def source(rows):
    names = ("pid", *(column.name for column in TRIPS.columns))
    dated = [(*row, f"2020-{row[1]:02d}-{row[2]:02d}") for row in rows]
    return Source(
        table=table_of(TRIPS), names=names, rows=tuple(tuple("" if x is None else x for x in row) for row in dated)
    )


OTHERS = [row for row in ROWS if row[0] != "a"]
WORLD = World(
    sources={"trips": source([*OTHERS[::2], *LOUD, *OTHERS[1::2]])},
    publics={},
    without={"trips": source([*reversed(OTHERS)]).rows},
    person=("a",),
)
QUESTIONS = [
    "-- groups per person: 2\nSELECT month, count(*), sum(cost), count(DISTINCT pid) FROM trips GROUP BY month",
    "-- groups per person: 2\n-- rows per person per group: 1\nSELECT city, count(*), sum(cost) FROM trips GROUP BY city",
    "-- rows per person per group: 2\nSELECT sum(cost), count(*) FILTER (WHERE day < 4), median(cost) FROM trips",
    "-- groups per person: 3\n-- rows per person per group: 1\nSELECT month, day, count(*), sum(cost) FROM trips GROUP BY CUBE (month, day)",
    "-- groups per person: 1\nSELECT city, count(DISTINCT pid) FROM trips GROUP BY city",
    "SELECT city, count(*) FROM trips GROUP BY city",
    "-- rows per person per group: 1\nSELECT date_trunc('year', date) y, date_trunc('month', date) m, count(*) FROM trips GROUP BY ROLLUP (y, m)",
]


@pytest.fixture(scope="module")
def pair(tmp_path_factory, quick_files):
    engine = DuckDBEngine(threads=1)
    yield Pair.make(WORLD, tmp_path_factory.mktemp("limits"), engine)
    engine.close()


@pytest.fixture
def asking(pair):
    def ask():
        law = Law()
        for text in QUESTIONS:
            for gaussian in (False, True):
                law.ask(pair, text, gaussian=gaussian)
        return law.seen

    return ask


def test_limits_hold_and_are_attained(asking):
    seen = asking()
    for norm in ("l0", "l1", "l2_squared", "linf"):
        assert seen[f"RowCount person {norm}"] and seen[f"Sum person {norm}"], seen
    assert seen["keys"] and seen["weighted keys"] and seen["quantile"], seen


def caught(asking, words="") -> None:
    with pytest.raises(AssertionError, match=words or None):
        asking()


def limiting(monkeypatch, change):
    """Change the SQL of every limited relation."""
    known = SqlWriter._limit_groups

    def changed(self, plan, region):
        found = known(self, plan, region)
        return replace(found, text=change(found.text))

    monkeypatch.setattr(SqlWriter, "_limit_groups", changed)


def test_groups_ordered_by_the_number_of_a_person(asking, monkeypatch):
    """Another person's going would change which groups everybody else keeps. The reference has the same bug."""
    limiting(monkeypatch, lambda text: text.replace('lower(hex("discreet:tag"))', 'CAST("discreet:person" AS VARCHAR)'))
    monkeypatch.setattr(MemoryCounter, "_tags", lambda self, scan: _Same())

    def digest(number, parts):
        texts = ["" if part is None else f"={part}" for part in parts]
        return hashlib.sha256(":".join([str(number), *texts]).encode()).hexdigest()

    monkeypatch.setattr(memory_counter, "limit_digest", digest)
    caught(asking, "above|keys, not")


class _Same:
    """A table of tags in which a person's is their number."""

    def __getitem__(self, number):
        return number


def test_places_among_all_rows_and_not_a_persons(asking, monkeypatch):
    limiting(monkeypatch, lambda text: text.replace('PARTITION BY "discreet:person" ORDER', "ORDER"))
    caught(asking)


def test_a_limit_that_is_not_applied(asking, monkeypatch):
    known = SqlWriter._limit_groups
    monkeypatch.setattr(
        SqlWriter, "_limit_groups", lambda self, plan, region: replace(known(self, plan, region), conditions=())
    )
    caught(asking)


def test_rows_taken_as_they_come(asking, monkeypatch):
    """By their order in the file, which others' rows change."""
    limiting(
        monkeypatch,
        lambda text: re.sub(
            r"ORDER BY sha256\(concat_ws\(':', [^)]*\)\)[^)]*occurrence.*?\) AS", "ORDER BY 1) AS", text
        ),
    )
    caught(asking)


def test_the_limit_of_all_keys_taken_for_that_of_some(asking, monkeypatch):
    """A limit on rows in each group by month and day is none on those by month."""
    monkeypatch.setattr(pricing, "reach_by_keys", lambda reach, keys: reach)
    caught(asking, "above")


def test_the_limit_of_a_month_taken_for_that_of_a_year(asking, monkeypatch):
    """Two axes may cut one column: a limit on rows in each group by its months is none on those by its years."""

    def by_columns(reach, parts):
        keys = {part.of if isinstance(part, Axis) else part for part in parts}
        bound = reach.bound
        return reach if bound is None or bound.keys <= keys else replace(reach, bound=replace(bound, rows=None))

    monkeypatch.setattr(pricing, "reach_by_keys", by_columns)
    caught(asking, "above")


def test_groups_taken_to_be_rows(asking, monkeypatch):
    """As if each of a person's groups had one row."""
    known = query_sensitivity._limit_groups

    def few(plan, inner):
        found = known(plan, inner)
        return found if plan.groups is None else replace(found, rows=min(found.rows, plan.groups))

    monkeypatch.setattr(query_sensitivity, "_limit_groups", few)
    caught(asking, "above|scores")


def test_rows_that_differ_taken_for_equal(asking, monkeypatch):
    """Told apart by nothing, rows of one person are chosen as they come."""
    monkeypatch.setattr(query_parser, "with_columns", lambda plan, *_: plan)
    caught(asking)


def test_weights_that_are_not_split(asking, monkeypatch):
    monkeypatch.setattr(
        weighted_threshold, "key_weights", lambda most: tuple((end, weighted_threshold.UNIT) for end in (1, most))
    )
    caught(asking, "long")


def test_weights_by_rows_and_not_by_keys(asking, monkeypatch):
    """A person with equal rows would count twice under a key."""
    rewrite_weights(monkeypatch, "SELECT DISTINCT", "SELECT")
    caught(asking)


def rewrite_weights(monkeypatch, old, new) -> None:
    """Change the SQL of all weighted keys."""
    for name in ("_weighted_keys", "_weighted_keys_by_parts"):
        known = getattr(SqlWriter, name)
        monkeypatch.setattr(SqlWriter, name, lambda *parts, known=known: known(*parts).replace(old, new))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"discreet:person" % 4', '"discreet:place" % 4'),
        ('AND "discreet:person" > "discreet:least"', ""),
        ("IS NOT DISTINCT FROM", "="),
    ],
    ids=["a person in several parts", "nobody has a key", "NULL is no key"],
)
def test_weights_of_parts_that_are_not_whole(asking, monkeypatch, old, new):
    rewrite_weights(monkeypatch, old, new)
    caught(asking)


def test_the_digest_tells_null_from_nothing():
    assert limit_digest(b"t", [None]) != limit_digest(b"t", [""]) != limit_digest(b"u", [""])
