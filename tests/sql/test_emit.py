"""The SQL of expressions: what a reader of `explain` sees, how wide its numbers are, and that it is one value."""

import duckdb
import pytest

from discreet.accounting.region import ONLY_NULL, ValueSet
from discreet.plan.expressions import (
    Code,
    Like,
    Lookup,
    Member,
    Null,
    Over,
    Plus,
    Substr,
    Test,
    TextCode,
    Times,
    Trim,
    Whole,
)
from discreet.plan.interval import quotient
from discreet.sql.dialect import DuckDBDialect
from discreet.sql.emitter import Emitter
from sql.patients import condition, scalar

EMITTER = Emitter(dialect=DuckDBDialect())

SHOWN = {
    "age": 'CAST("age" AS BIGINT)',
    "floor(age / 10) * 10": '(CAST("age" AS BIGINT) // 10)',
    "floor(n / 10)": '((CAST("n" AS BIGINT) + 50) // 10 - 5)',
    "n - m": '(CAST("n" AS BIGINT) - CAST("m" AS BIGINT))',
    "-n": '(-CAST("n" AS BIGINT))',
    "n - 3": '(CAST("n" AS BIGINT) - 3)',
    "n * m": '(CAST("m" AS BIGINT) * CAST("n" AS BIGINT))',
    "n % m": '(CAST("n" AS BIGINT) % nullif(CAST("m" AS BIGINT), 0))',
    "n // m": '(CAST("n" AS BIGINT) // nullif(CAST("m" AS BIGINT), 0))',
    "age / (age + 1)": '((CAST("age" AS BIGINT) * 10000000) // (CAST("age" AS BIGINT) + 1))',
    "wide * n": '(CAST("n" AS HUGEINT) * CAST("wide" AS HUGEINT))',
    "least(n, 3)": 'CAST(least("n", 3) AS BIGINT)',
    "coalesce(n, m)": 'CAST(coalesce("n", "m") AS BIGINT)',
    "case when n > 3 then m else -1 end": 'CAST(CASE WHEN "n" BETWEEN 4 AND 50 THEN "m" ELSE (-1) END AS BIGINT)',
    "case when smoker then 1 else 0 end": 'CAST(CASE WHEN "smoker" = 1 THEN 1 ELSE 0 END AS BIGINT)',
    "length(disease)": 'CAST(list_extract([5, 3, 7, 3, 0], CAST("disease" AS BIGINT) + 1) AS BIGINT)',
    "lower(trim(note, 'x'))": "lower(trim(\"note\", 'x'))",
    "year(born)": "date_part('year', DATE '1970-01-01' + CAST(\"born\" AS INTEGER))",
    "hour(seen)": '((((CAST("seen" AS BIGINT) + 31870800000000) // 3600000000 - 8853) + 8856) % 24)',
    "null + 1": "CAST(NULL AS BIGINT)",
    "3": "CAST(3 AS BIGINT)",
}


@pytest.mark.parametrize("text", SHOWN)
def test_what_a_reader_sees(text):
    assert EMITTER.expression(scalar(text).expression) == SHOWN[text]


CONDITIONS = {
    "n + m > 3": '(CAST("m" AS BIGINT) + CAST("n" AS BIGINT)) BETWEEN 4 AND 54',
    "n = m": '(CAST("m" AS BIGINT) - CAST("n" AS BIGINT)) = 0',
    "note like 'a%'": "(\"note\" LIKE 'a%')",
    "note not like 'a\\'": "(\"note\" NOT LIKE 'a\\\\' ESCAPE '\\')",
    "lower(note) = 'it''s'": "lower(\"note\") = 'it''s'",
    "length(note) > 3": 'length("note") >= 4',
    "floor(age / 10) = 3": '"age" BETWEEN 30 AND 39',
}


@pytest.mark.parametrize("text", CONDITIONS)
def test_what_a_reader_sees_of_a_condition(text):
    assert EMITTER.predicate(condition(text)) == CONDITIONS[text]


@pytest.fixture(scope="module")
def connection():
    with duckdb.connect() as connection:
        connection.execute(
            "CREATE TABLE t AS SELECT 0::TINYINT AS z, 7::TINYINT AS s, 'a\\' AS x, (2::HUGEINT ** 80)::HUGEINT AS h"
        )
        yield connection


def one(connection, sql):
    return connection.execute(f"SELECT {sql} FROM t").fetchone()[0]


ZERO, SEVEN = Code("z", 0, 0, null=False), Code("s", 0, 100, null=True)
HUGE = Code("h", 0, 2**90, null=False)


def test_constants_that_an_engine_takes_together_do_not_overflow(connection):
    """DuckDB makes (x * c) * (y * c) into x * y * (c * c), and computes c * c first."""
    factor = Times(ZERO, Whole(2**40))
    assert one(connection, EMITTER.expression(Times(factor, factor))) == 0
    with pytest.raises(duckdb.OutOfRangeException):
        one(connection, f"(CAST(z AS BIGINT) * {2**40}) * (CAST(z AS BIGINT) * {2**40})")
    far = Plus(Plus(SEVEN, Whole(2**62)), Plus(ZERO, Whole(2**62)))
    assert one(connection, EMITTER.expression(far)) == 7 + 2**63


@pytest.mark.parametrize("power", [30, 31, 32, 60, 61, 62, 63, 64, 90])
def test_sums_and_products_are_as_wide_as_they_need_to_be(connection, power):
    for number in (2**power, 2**power - 1, -(2**power)):
        assert one(connection, EMITTER.expression(Plus(SEVEN, Whole(number)))) == 7 + number
        assert one(connection, EMITTER.expression(Times(SEVEN, Whole(number)))) == 7 * number
        assert one(connection, EMITTER.expression(Times(Whole(number), SEVEN))) == 7 * number
        assert one(connection, EMITTER.expression(Whole(number))) == number
        assert one(connection, EMITTER.expression(Plus(Whole(number), Whole(number)))) == 2 * number
        table = Lookup(Code("z", 0, 1, null=False), (number, None), 0)
        assert one(connection, EMITTER.expression(table)) == number
        rounded = Over(Plus(SEVEN, Whole(number)), Whole(3), "nearest")
        assert one(connection, EMITTER.expression(rounded)) == quotient(7 + number, 3, "nearest")
        test = Test(Plus(HUGE, Whole(number)), ValueSet.of([2**80 + number]))
        assert one(connection, EMITTER.predicate(test)) is True


def test_columns_wider_than_64_bits_are_compared_as_they_are(connection):
    """What is computed for each person can be so wide."""
    for allowed, holds in (
        (ValueSet.interval(2**80, 2**85), True),
        (ValueSet.interval(2**80 + 1, None), False),
        (ValueSet.of([2**80]), True),
        (ValueSet.interval(None, 2**80), False),
        (ONLY_NULL, False),
    ):
        assert one(connection, EMITTER.predicate(Member("h", allowed))) is holds


def test_texts_stay_in_their_quotes(connection):
    text = TextCode("x")
    assert one(connection, EMITTER.expression(Like(text, "a\\\\"))) == 1
    assert one(connection, EMITTER.expression(Trim(text, "trailing", "\\'"))) == "a"
    assert one(connection, EMITTER.expression(Substr(text, 2))) == "\\"
    assert one(connection, EMITTER.expression(Null())) is None
