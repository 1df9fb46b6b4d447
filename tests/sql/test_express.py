"""Scalar SQL means here what it means to DuckDB, which computes the original text over the values themselves."""

from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from discreet.errors import Refused
from discreet.plan.evaluate import holds_for_each, values
from discreet.plan.real_functions import EXPONENTIAL_ERROR
from discreet.sql.typed_expression import BooleanKind, NumericKind
from sql import patients
from sql.patients import condition, connect, records, sample_expression, scalar, shown
from sql.samples import INSTEAD, ROUNDED, SAMPLES
from tiers import examples

ROWS = records(120, seed=7)


@pytest.fixture(scope="module")
def connection():
    with connect() as connection:
        connection.register("given", patients.given(ROWS))
        yield connection


def same(mine, theirs, step):
    """Whether two values agree: numbers up to DuckDB's own rounding, and the grid's where it is one of a quotient."""
    if mine is None or theirs is None or isinstance(mine, bool | str):
        return mine == theirs and type(mine) is type(theirs)
    if isinstance(mine, Fraction):
        exact = Fraction(theirs) if isinstance(theirs, int | Decimal) else Fraction(float(theirs))
        return abs(mine - exact) <= step + abs(exact) / 10**12
    if isinstance(theirs, datetime) and not isinstance(mine, datetime):
        return datetime(mine.year, mine.month, mine.day) == theirs
    return mine == theirs and isinstance(theirs, date)


@pytest.mark.thin(40)
@pytest.mark.parametrize("text", SAMPLES)
def test_it_means_what_it_means_to_duckdb(connection, text):
    found = scalar(text)
    theirs = [
        row[0] for row in connection.execute(f"SELECT {INSTEAD.get(text, text)} FROM given ORDER BY row").fetchall()
    ]
    step = found.kind.step if isinstance(found.kind, NumericKind) and "/" in text else 0
    if isinstance(found.kind, NumericKind) and any(word in text for word in ROUNDED):
        # tests/plan/test_real_functions.py says how near they come.
        step = 2 * found.kind.step + 2 * EXPONENTIAL_ERROR * max(abs(shown(found, found.expression.high) or 0), 1)
    for row, code, value in zip(ROWS, values(found.expression, ROWS), theirs, strict=True):
        assert same(shown(found, code), value, step), (shown(found, code), value, row)


def test_the_samples_say_something(connection):
    """Nearly every sample has several values over the rows: it could be computed wrongly."""
    several = 0
    for text in SAMPLES:
        expression = scalar(text).expression
        several += len(set(values(expression, ROWS))) > 1
    assert several > 0.92 * len(SAMPLES)
    assert len(SAMPLES) == len(set(SAMPLES)) > 400


@pytest.mark.thin(40)
@pytest.mark.parametrize("text", [text for text in SAMPLES if isinstance(sample_expression(text).kind, BooleanKind)])
def test_conditions_are_true_false_and_null_where_duckdb_says_so(connection, text):
    answers = connection.execute(f"SELECT {INSTEAD.get(text, text)} FROM given ORDER BY row").fetchall()
    assert holds_for_each(condition(text), ROWS) == [answer is True for (answer,) in answers]
    assert holds_for_each(condition(text, wanted=False), ROWS) == [answer is False for (answer,) in answers]


atoms = st.sampled_from(
    ["n > 1", "n <= m", "m = 3", "n <> m", "m between n and 2", "n in (0, 2, null)", "m not in (1, 2)", "n is null",
     "smoker", "smoker = alive", "m > null", "null", "true", "n % 3 = 1", "n // 2 > m", "abs(m) < 2", "-n < m + 1",
     "case when n > 0 then smoker else m > 1 end", "coalesce(n, m) > 0", "nullif(m, 2) is null", "sign(n) = sign(m)",
     "least(n, m) = n", "disease = 'flu'", "lower(disease) < 'g'", "disease like '%l%'", "note like 'a%'", "note = ''",
     "length(note) > 1", "born < died", "year(born) = 1970", "smoker is not true", "n is distinct from m"],
)  # fmt: skip
conditions = st.recursive(
    atoms,
    lambda inner: st.one_of(
        st.builds("({} and {})".format, inner, inner),
        st.builds("({} or {})".format, inner, inner),
        st.builds("(not {})".format, inner),
        st.builds("(({}) is not true)".format, inner),
        st.builds("(({}) is null)".format, inner),
        st.builds("(({}) = ({}))".format, inner, inner),
        st.builds("(case when {} then {} else {} end)".format, inner, inner, inner),
        st.builds("coalesce({}, {})".format, inner, inner),
    ),
    max_leaves=6,
)


@settings(max_examples=examples(150))
@given(text=conditions)
def test_three_valued_logic_is_that_of_duckdb(connection, text):
    answers = connection.execute(f"SELECT {text} FROM given ORDER BY row").fetchall()
    try:
        read, found = condition(text), scalar(text)
    except Refused as problem:  # nested comparisons of truths grow fast
        assume("too complex" not in str(problem))
        raise
    assert holds_for_each(read, ROWS) == [answer is True for (answer,) in answers]
    assert holds_for_each(condition(text, wanted=False), ROWS) == [answer is False for (answer,) in answers]
    assert [shown(found, code) for code in values(found.expression, ROWS)] == [answer for (answer,) in answers]
