"""The SQL that engines run: what a reader of `explain` sees, and what no text can break out of."""

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.accounting.region import ANYTHING, NOT_NULL, NOTHING, ONLY_NULL, Box, Region, ValueSet
from discreet.plan.cells import Axis
from discreet.plan.expressions import Code, Plus
from discreet.plan.predicate import FALSE, TRUE, Member, every, some
from discreet.schema.column import CategoryColumn, NumberColumn, TextColumn
from discreet.sql.dialect import DuckDBDialect, identifier, text_literal
from discreet.sql.emitter import Emitter
from discreet.sql.group_keys import declared_axis
from discreet.sql.sql_writer import SqlTableNames, SqlWriter
from discreet.sql.sql_writer import display_names as own_names
from engines.asking import asked as cells_of
from engines.asking import region, width_axis
from tiers import examples

AGE = NumberColumn(name="age", type="integer", low=0, high=119)
SEX = CategoryColumn(name="sex", values=("F", "M"), closed=True)
NOTE = TextColumn(name="note")
NAME = '"x"'
EMITTER = Emitter(dialect=DuckDBDialect())
X = Code("x", None, None, null=True)
COST = NumberColumn(name="cost", type="integer", low=-5, high=94, edges=(-5, 0, 50, 95))
SPANS = {column.name: ANYTHING for column in (AGE, SEX, NOTE, COST)}


def asked(where, *axes):
    return cells_of("patients", where, axes)


def shown(cells):
    return SqlWriter(emitter=EMITTER, names=own_names(DuckDBDialect())).count(cells, region(cells))


@pytest.fixture(scope="module")
def connection():
    with duckdb.connect() as connection:
        yield connection


def test_what_a_reader_sees():
    cells = asked(
        every([Member("age", ValueSet.interval(20, 30)), Member("sex", ValueSet.of([1]))]),
        declared_axis(AGE),
        declared_axis(SEX),
    )
    assert shown(cells).splitlines() == [
        'SELECT coalesce(CAST("age" AS BIGINT), 120) * 2 + CAST("sex" AS BIGINT) AS cell, count(*) AS s0',
        'FROM "patients"',
        'WHERE "age" BETWEEN 20 AND 29',
        '  AND "sex" = 1',
        '  AND ("age" BETWEEN 0 AND 119 OR "age" IS NULL)',
        '  AND "sex" BETWEEN 0 AND 1',
        "GROUP BY 1",
    ]
    assert shown(asked(TRUE)) == 'SELECT 0 AS cell, count(*) AS s0\nFROM "patients"'


def test_the_region_is_always_part_of_it():
    either = some([Member("sex", ValueSet.of([0])), Member("note", ValueSet.of(["x"]))], SPANS)
    text = shown(asked(every([either, Member("age", ValueSet.interval(None, 30))])))
    assert '\nWHERE (("age" <= 29 AND ' in text
    assert text.count('"age" <= 29') == 3
    assert shown(asked(FALSE)).endswith("WHERE FALSE")


SETS = [
    (NOTHING, "FALSE"),
    (NOT_NULL, '"x" IS NOT NULL'),
    (ONLY_NULL, '"x" IS NULL'),
    (ANYTHING, '("x" IS NOT NULL OR "x" IS NULL)'),
    (ValueSet.of([5]), '"x" = 5'),
    (ValueSet.of([5, 7, -9]), '"x" IN (-9, 5, 7)'),
    (ValueSet.interval(1, 9) | ONLY_NULL, '("x" BETWEEN 1 AND 8 OR "x" IS NULL)'),
    (ValueSet.interval(1, None), '"x" >= 1'),
    (ValueSet.interval(None, 1), '"x" <= 0'),
    (ValueSet.interval(-(10**30), 10**30), '"x" IS NOT NULL'),
    (ValueSet.interval(10**30, None), "FALSE"),
    (ValueSet.interval(None, -(10**30)), "FALSE"),
    (ValueSet.of([10**30]), "FALSE"),
    (ValueSet.of([2**63 - 1]), '"x" = 9223372036854775807'),
    (ValueSet.of(["it's"]), "\"x\" = 'it''s'"),
    (ValueSet.of(["b", "a"]), "\"x\" IN ('a', 'b')"),
    (ValueSet.interval("a", "b"), "(\"x\" >= 'a' AND \"x\" < 'b')"),
    (ValueSet.interval("a\0", "b\0"), "(\"x\" > 'a' AND \"x\" <= 'b')"),
    (ValueSet.interval("a\0", None), "\"x\" > 'a'"),
    (ValueSet.interval(None, "b\0"), "\"x\" <= 'b'"),
    (ValueSet.of([""]), "\"x\" = ''"),
    (ValueSet.of(["a\0"]), "\"x\" = ('a' || chr(0) || '')"),
]


@pytest.mark.parametrize(("allowed", "sql"), SETS)
def test_sets_of_values(allowed, sql):
    assert EMITTER.allowed('"x"', allowed) == sql
    assert "\0" not in sql


INTEGERS = [None, -(2**63), -(2**63) + 1, -10, -9, 0, 1, 5, 8, 9, 2**63 - 2, 2**63 - 1]
TEXTS = [None, "", "a", "a\0", "a\0b", "aa", "b", "b\0", "é", "\U0001f600", "it's", "A", "\x7f"]


@pytest.mark.parametrize("number", range(len(SETS)))
def test_sets_mean_in_sql_what_they_mean(connection, number):
    allowed, sql = SETS[number]
    texts = any(isinstance(end, str) for run in allowed.runs for end in run)
    for value in TEXTS if texts else INTEGERS:
        kind = "VARCHAR" if texts else "BIGINT"
        found = connection.execute(f"SELECT {sql} FROM (SELECT $1::{kind} AS x)", [value]).fetchone()[0]
        assert bool(found) == (value in allowed), value


@given(text=st.text(st.characters(codec="utf-8")))
@settings(max_examples=examples(200), deadline=None)
def test_no_text_breaks_out_of_its_quotes(connection, text):
    found = connection.execute(f"SELECT {text_literal(text)}, 1 AS {identifier(text.replace(chr(0), '') or 'x')}")
    assert found.fetchall() == [(text, 1)]


@given(low=st.text(st.characters(codec="utf-8"), max_size=3), high=st.text(max_size=3), value=st.text(max_size=3))
@settings(max_examples=examples(200), deadline=None)
def test_text_is_compared_byte_by_byte(connection, low, high, value):
    if any(0xD800 <= ord(letter) < 0xE000 for letter in high + value):
        return
    allowed = ValueSet.interval(min(low, high), max(low, high) + "\0")
    found = connection.execute(f"SELECT {EMITTER.allowed(NAME, allowed)} FROM (SELECT $1 AS x)", [value]).fetchone()[0]
    assert found == (value in allowed)
    assert (value in allowed) == (min(low, high).encode() <= value.encode() <= max(low, high).encode())


def places(connection, found: Axis, codes):
    """The cell of each code, or None where it has none."""
    out = []
    for code in codes:
        cells = cells_of("t", axes=(found,))
        names = SqlTableNames(scan=lambda _: "(SELECT $1::BIGINT AS x)", persons=str, public=str)
        sql = SqlWriter(emitter=EMITTER, names=names).count(cells, region(cells))
        rows = connection.execute(sql, [code]).fetchall()
        out.append(rows[0][0] if rows else None)
    return out


@given(data=st.data())
@settings(max_examples=examples(60), deadline=None)
def test_cells_are_found_for_every_kind_of_edges(connection, data):
    low = data.draw(st.one_of(st.integers(-50, 50), st.sampled_from([-(2**60), 2**60 - 200])))
    size = data.draw(st.integers(1, 150))
    column = NumberColumn(name="x", type="integer", low=low, high=low + size - 1)
    bins = data.draw(st.integers(1, size))
    inner = data.draw(st.sets(st.integers(low + 1, low + size - 1), max_size=8)) if size > 1 else set()
    even = tuple(low + place * size // bins for place in range(bins + 1))
    choices = [declared_axis(column)]
    choices += [Axis(of=X, edges=edges, null=True, labels=()) for edges in (even, (low, *sorted(inner), low + size))]
    found = data.draw(st.sampled_from(choices))
    codes = data.draw(st.lists(st.integers(found.edges[0] - 2, found.edges[-1] + 1), max_size=6))
    codes += [None, found.edges[0], found.edges[-1] - 1, found.edges[-1], -(2**63), 2**63 - 1]
    expected = [
        found.size - 1
        if code is None
        else next((place for place, edge in enumerate(found.edges[1:]) if found.edges[0] <= code < edge), None)
        for code in codes
    ]
    assert places(connection, found, codes) == expected


def test_wide_bins_do_not_overflow(connection):
    """Where the one-division formula would leave 64 bits, the cells are searched for."""
    low, high = -(2**60), 2**60
    bins = tuple(low + place * (high - low + 1) // 7 for place in range(8))
    found = Axis(of=X, edges=bins, null=True, labels=())
    codes = [code for edge in found.edges[:-1] for code in (edge, edge + 1, edge + 2**57)]
    expected = [place for place in range(len(found.edges) - 1) for _ in range(3)]
    assert places(connection, found, [min(code, high) for code in codes]) == expected[: len(codes)]


def test_multiples_of_a_width_are_counted_as_the_numbers_they_are_multiples_of(connection):
    found = width_axis(NumberColumn(name="x", type="integer", low=-(2**60), high=2**60), 2**58)
    codes = [-(2**60), -(2**60) + 5, -1, 0, 2**58 - 1, 2**58, 2**60, None]
    assert places(connection, found, codes) == [0, 0, 3, 4, 4, 5, 8, 9]


def test_a_computed_value_is_written_once_however_many_cells_are_searched(connection):
    """The squares as edges; of both columns together, of the second alone, and of what the condition leaves."""
    low, high = (Code(name, 0, 120, null=True) for name in ("low", "high"))
    edges = tuple(place**2 for place in range(16))
    added = Axis(of=Plus(low, high), edges=edges, null=True, labels=())
    alone = Axis(of=high, edges=(0, 5, 120), null=True, labels=())
    cells = cells_of("t", Member("low", ValueSet.interval(0, 100)), axes=(added, alone))
    values = "SELECT * FROM (VALUES (1, 2), (4, 5), (99, 119), (100, 1), (3, NULL), (7, 0)) AS t(low, high)"
    names = SqlTableNames(scan=lambda _: f"({values})", persons=str, public=str)
    text = SqlWriter(emitter=EMITTER, names=names).places(cells.plan, cells.axes, region(cells))
    assert text.count(EMITTER.expression(added.of)) == 1
    found = set(connection.execute(text).fetchall())
    assert found == {(1, 0), (3, 1), (14, 1), (15, 2), (2, 0)}


def test_conditions_without_parts():
    assert EMITTER.predicate(TRUE) == "TRUE"
    assert EMITTER.predicate(FALSE) == "FALSE"
    assert EMITTER.region(Region.whole()) == "TRUE"
    assert EMITTER.region(Region((Box({"x": ValueSet.of([1])}), Box({"y": ONLY_NULL})))) == '("x" = 1 OR "y" IS NULL)'
