"""Every engine computes what `plan.evaluate` says, on every row whatever, and a row's value is its own."""

from contextlib import suppress

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.accounting.region import ValueSet
from discreet.errors import Refused
from discreet.plan import algebra
from discreet.plan.evaluate import holds_for_each, value, values
from discreet.plan.expressions import (
    Absolute,
    Choose,
    Code,
    First,
    Least,
    Over,
    Part,
    Plus,
    Remainder,
    Start,
    Times,
    Whole,
)
from discreet.plan.predicate import within
from discreet.schema.column import TextColumn, nullable
from discreet.sql.dialect import DuckDBDialect
from discreet.sql.emitter import Emitter
from plan.trees import NUMBERS, Trees
from sql.patients import SCHEMA, TEXTS, ends, scalar
from sql.samples import SAMPLES
from tiers import examples, fuzzed, size

EMITTER = Emitter(dialect=DuckDBDialect())


@pytest.fixture(scope="module")
def connection():
    with duckdb.connect(config={"threads": 1}) as connection:
        yield connection


def table(rows):
    """Records as a declared table holds them; what is wider than 64 bits comes of a person's sums."""
    columns = {"row": pa.array(range(len(rows)), pa.int32())}
    for name in rows[0]:
        type_ = pa.string() if name in ("text", "note") else pa.decimal128(38, 0) if name == "huge" else _stored(name)
        columns[name] = pa.array([row[name] for row in rows], type_)
    return pa.table(columns)


def _stored(name):
    """The smallest type that holds a column, as in a declared table: that is where sums and products overflow."""
    column = SCHEMA.column(name)
    low, high = ends(column) if column is not None else next((c.low, c.high) for c in NUMBERS if c.column == name)
    if low is None or not -(2**31) <= low <= high < 2**31:
        return pa.int64()
    return pa.int8() if -(2**7) <= low <= high < 2**7 else pa.int16() if -(2**15) <= low <= high < 2**15 else pa.int32()


def run(connection, rows, sqls):
    """The value of each SQL text on each row."""
    coded = table(rows)
    names = ", ".join(
        'CAST("huge" AS HUGEINT) AS "huge"' if name == "huge" else f'"{name}"' for name in coded.column_names
    )
    listed = ", ".join(sqls)
    found = connection.execute(f"SELECT {listed} FROM (SELECT {names} FROM coded) ORDER BY row").fetchall()
    return [list(column) for column in zip(*found, strict=True)]


seeds = st.integers(0, 2**32)


def agree(connection, seed):
    """Random expressions and predicates on random rows, in DuckDB and in Python."""
    trees = Trees(seed)
    rows = [trees.record() for _ in range(8)]
    expressions = [*(trees.number() for _ in range(6)), trees.words()]
    conditions = [trees.predicate() for _ in range(2)]
    sqls = [*map(EMITTER.expression, expressions), *map(EMITTER.predicate, conditions)]
    found = run(connection, rows, sqls)
    for expression, column in zip(expressions, found, strict=False):
        assert column == list(values(expression, rows)), expression
    for predicate, column in zip(conditions, found[len(expressions) :], strict=True):
        assert [each is True for each in column] == holds_for_each(predicate, rows), predicate


@settings(max_examples=size(25, 250))
@given(seed=seeds)
def test_duckdb_computes_what_python_says(connection, seed):
    agree(connection, seed)


@pytest.mark.fuzz
@pytest.mark.timeout(3600)
@settings(max_examples=fuzzed(20_000), database=None)
@given(seed=seeds)
def test_duckdb_computes_what_python_says_at_length(connection, seed):
    agree(connection, seed)


@settings(max_examples=examples(40))
@given(seed=seeds)
def test_the_value_of_a_row_is_its_own(connection, seed):
    """Alone, among others, or twice: a row's value does not change, in Python or in DuckDB."""
    trees = Trees(seed)
    rows = [trees.record() for _ in range(4)]
    expressions = [trees.number(), trees.words()]
    sqls = [*map(EMITTER.expression, expressions), EMITTER.predicate(trees.predicate())]
    together = run(connection, rows, sqls)
    doubled = run(connection, [*rows, *reversed(rows)], sqls)
    alone = [run(connection, [row], sqls) for row in rows]
    for place, column in enumerate(together):
        assert doubled[place] == [*column, *reversed(column)]
        assert [found[place] for found in alone] == [[each] for each in column]
    for expression, column in zip(expressions, together, strict=False):
        assert [value(expression, row) for row in rows] == column


def extremes():
    """Rows that hold the ends of every column: all at once, and each column's among another's."""
    found = {}
    for column in SCHEMA.columns:
        if isinstance(column, TextColumn):
            found[column.name] = TEXTS
        else:
            low, high = ends(column)
            listed = [low, high, *(min(max(low, near), high) for near in (-1, 0, 1))]
            found[column.name] = [*listed, None] if nullable(column) else listed
    most = max(len(listed) for listed in found.values())
    for turn in range(3):
        for place in range(most):
            yield {
                name: listed[(place + turn * number) % len(listed)]
                for number, (name, listed) in enumerate(found.items())
            }


ROWS = list(extremes())


@pytest.mark.thin(7)
@pytest.mark.parametrize("start", range(0, len(SAMPLES), 40))
def test_nothing_that_is_known_fails_on_any_row(connection, start):
    """Each function of the allow-list on the worst rows there are: no error, and Python's values."""
    found = [scalar(text).expression for text in SAMPLES[start : start + 40]]
    columns = run(connection, ROWS, [EMITTER.expression(expression) for expression in found])
    for text, expression, column in zip(SAMPLES[start:], found, columns, strict=False):
        assert column == list(values(expression, ROWS)), text


B, NEAR = NUMBERS[1], NUMBERS[4]
GROWING = {
    "sum": lambda inner: Plus(inner, B),
    "difference": lambda inner: algebra.minus(B, inner),
    "product": lambda inner: Times(Remainder(inner, Whole(5)), B),
    "quotient": lambda inner: Over(inner, B),
    "floor": lambda inner: Over(inner, Whole(3)),
    "nearest": lambda inner: Plus(Over(inner, Whole(2), "nearest"), NEAR),
    "remainder": lambda inner: Remainder(Plus(inner, NEAR), B),
    "absolute": lambda inner: Plus(Absolute(inner), Whole(-3)),
    "least": lambda inner: Least((inner, B)),
    "first": lambda inner: First((inner, NUMBERS[0])),
    "case": lambda inner: Choose(((within(inner, ValueSet.of([-2, 2])), inner),), Plus(inner, B)),
    "case in case": lambda inner: Choose(((within(Times(inner, B), ValueSet.interval(1, 9)), B),), Whole(2)),
    "day": lambda inner: Plus(Part("doy", Start("month", inner)), NEAR),
}


@pytest.mark.thin(5)
@pytest.mark.parametrize("kind", GROWING)
def test_what_is_as_deep_and_as_large_as_allowed_still_runs(connection, kind):
    """Expressions grow until they are refused; the last one that was not is still one that DuckDB takes."""
    grown, steps = NEAR, 0
    with suppress(Refused):
        while steps < 500:
            grown, steps = GROWING[kind](grown), steps + 1
    assert 4 <= steps < 500
    row = dict.fromkeys(("a", "c", "day", "wide", "open", "text")) | {"b": 2, "near": 17, "huge": 0}
    assert run(connection, [row], [EMITTER.expression(grown)]) == [[value(grown, row)]]


@pytest.mark.parametrize("right", range(-4, 5))
def test_floor_division_of_sql_texts(connection, right):
    rows = [{"row": 0, "x": left, "y": right} for left in range(-9, 10)]
    coded = pa.table({"x": [row["x"] for row in rows], "y": [row["y"] for row in rows]})  # noqa: F841
    found = connection.execute(f"SELECT x, {EMITTER.floor('x', 'y', wide=False)} FROM coded").fetchall()
    assert found == [(left, None if right == 0 else left // right) for left in range(-9, 10)]


def test_a_planted_mistake_is_seen(connection):
    """The comparison can fail: cutting towards zero is not rounding down."""
    code = Code("c", -120, 100_000, null=True)
    row = {"c": -7}
    (found,) = run(connection, [row], [EMITTER.expression(Over(code, Whole(2), "zero"))])
    assert found != list(values(Over(code, Whole(2)), [row]))
