"""Source values as codes, in PostgreSQL and in plain Python: the same, and no value is an error."""

import math
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction

import numpy as np
import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.engines.memory_values import stored_code
from discreet.engines.postgres.conversion import MOST_BYTES, raw_sql, word_sql
from discreet.engines.source_values import SourceMoment
from discreet.engines.table_file import code_bounds
from discreet.schema.column import BooleanColumn, CategoryColumn, MomentColumn, NumberColumn, TextColumn
from discreet.sql.postgres_dialect import SESSION
from engines.tables import STEPS, cells_of_text, columns
from tiers import examples

INTEGER, DAY, STAMP = (
    NumberColumn(name="x", type="integer"),
    MomentColumn(name="x", type="date"),
    MomentColumn(name="x", type="timestamp"),
)
CENTS = NumberColumn(name="x", type="decimal", step=Fraction("0.01"))
TENTHS = NumberColumn(name="x", type="decimal", step=Fraction("0.1"), low=-50, high=50)


@pytest.fixture(scope="module")
def cursor(postgres_address):
    with psycopg.connect(postgres_address, autocommit=True) as connection:
        for name, value in SESSION.items():
            connection.execute("SELECT set_config(%s, %s, false)", [name, value])
        yield psycopg.RawCursor(connection)


def coded(cursor, column, kind, array, values):
    """What a declared table would store for values of an array's type."""
    sql = f"SELECT {raw_sql(column, 'v', kind)} FROM unnest($1::{array}[]) WITH ORDINALITY AS s (v, n) ORDER BY n"
    return [clamped(column, raw) for (raw,) in cursor.execute(sql, [values]).fetchall()]


def clamped(column, raw):
    if raw is None or isinstance(raw, str):
        return raw
    assert raw == int(raw)
    low, high = code_bounds(column)
    return min(max(int(raw), low), high)


def wanted(column, values):
    return [stored_code(column, value) for value in values]


def texts_of(column):
    return st.lists(cells_of_text(column), min_size=1, max_size=12)


@st.composite
def written(draw):
    column = draw(columns("x").filter(lambda column: not isinstance(column, CategoryColumn) and not _closed(column)))
    cells = draw(texts_of(column))
    return column, [None if cell is None else cell.replace("\0", "") for cell in cells]


def _closed(column):
    return isinstance(column, BooleanColumn) and column.closed


@settings(max_examples=examples(300), deadline=None)
@given(found=written())
def test_texts(cursor, found):
    column, cells = found
    assert coded(cursor, column, "text", "text", cells) == wanted(column, cells)


@settings(max_examples=examples(120), deadline=None)
@given(
    values=st.lists(st.one_of(st.floats(), st.integers(-(10**18), 10**18).map(float)), min_size=1, max_size=12),
    step=st.sampled_from(STEPS),
)
def test_doubles(cursor, values, step):
    grid = NumberColumn(name="x", type="decimal", step=Fraction(step))
    for column in (grid, INTEGER):
        assert coded(cursor, column, "float", "float8", values) == wanted(column, map(repr, values))


@settings(max_examples=examples(60), deadline=None)
@given(values=st.lists(st.floats(width=32), min_size=1, max_size=12), step=st.sampled_from(STEPS))
def test_floats(cursor, values, step):
    grid = NumberColumn(name="x", type="decimal", step=Fraction(step))
    for column in (grid, INTEGER):
        shown = [str(np.float32(value)) for value in values]
        assert coded(cursor, column, "float", "float4", values) == wanted(column, shown)


@settings(max_examples=examples(60), deadline=None)
@given(values=st.lists(st.decimals(allow_nan=False, allow_infinity=False), min_size=1, max_size=12))
def test_numerics(cursor, values):
    values = [value for value in values if abs(value.adjusted()) < 5000]
    for column in (INTEGER, CENTS, TENTHS):
        assert coded(cursor, column, "numeric", "numeric", values) == wanted(column, [f"{value:f}" for value in values])


@settings(max_examples=examples(60), deadline=None)
@given(mantissa=st.integers(0, 10**20), places=st.integers(0, 25), exponent=st.integers(-345, 330), sign=st.booleans())
def test_exponents(cursor, mantissa, places, exponent, sign):
    text = f"{'-' if sign else ''}{Decimal(mantissa).scaleb(-places):f}e{exponent}"
    for column in (INTEGER, CENTS, NumberColumn(name="x", type="decimal", step=Fraction(1, 10**12))):
        assert coded(cursor, column, "text", "text", [text]) == wanted(column, [text])


EDGES = [
    *("1.7976931348623157e308", "1.7976931348623158e308", "1.7976931348623159e308", "1.8e308", "-1e309", "1e9999"),
    *("4.9e-324", "5e-324", "2.4703282292062327e-324", "2.4703282292062328e-324", "1e-400", "0e9999", "-0e-9999"),
    *("1e-320", "0.0000000000000000000000000000001e-9999", "1" + "0" * 400 + "e-400", "0." + "0" * 400 + "1e401"),
    *("1." + "0" * 900 + "1e3", "9007199254740993e0", "9007199254740992.5e0", "1.005e0", "1.5e-2", "5e-3", "1e23"),
    *("9" * 4000, "-" + "9" * 4000, "0." + "4" * 4000, "0.00" + "4" * 4000, "0.00" + "5" * 4000, "0.0" + "9" * 4000),
    *("0" * 4000 + "7", "7." + "0" * 4000, "." + "0" * 4000, "+.5", "5.", "1e+3", "1E-1", "1e 3", "e5", ".", ""),
]


@pytest.mark.parametrize("column", [INTEGER, CENTS, TENTHS], ids=["integer", "cents", "tenths"])
def test_where_numbers_end(cursor, column):
    assert coded(cursor, column, "text", "text", EDGES) == wanted(column, EDGES)


def test_numbers_of_more_digits_than_any_type_has(cursor):
    """Python's own Fraction refuses these, so that they are spelled out."""
    long = ["9" * 200_000, "-" + "9" * 200_000, "0." + "4" * 50_000, "0.00" + "5" * 20_000, "0" * 200_000 + "7"]
    low, high = code_bounds(CENTS)
    assert coded(cursor, CENTS, "text", "text", long) == [high, low, 44, 1, 700]
    assert coded(cursor, INTEGER, "text", "text", long) == [high, low, None, None, 7]
    exponents = ["9" * 200_000 + "e0", "9" * 200_000 + "e-9999", "0." + "0" * 200_000 + "5e0", "1" * 200_000 + "e-9"]
    assert coded(cursor, INTEGER, "text", "text", exponents) == [high, high, 0, high]  # the third vanishes as a double


def test_powers_of_two_are_exact(cursor):
    """What a double is taken apart by."""
    found = cursor.execute("SELECT trunc(power(CAST(2 AS NUMERIC), k)) FROM generate_series(0, 1100) AS k").fetchall()
    assert [int(power) for (power,) in found] == [2**k for k in range(1101)]


def test_words_of_moments_and_padded_texts(cursor):
    """As `values` shows moments; a CHAR without its padding; citext and the rest as they are."""
    moments = (
        "ARRAY['2020-01-05 10:00', '0001-01-01', '9999-12-31 23:59:59.5', '10000-01-01', 'infinity', '0044-03-15 BC']"
    )
    shown = ["2020-01-05 10:00:00", "0001-01-01 00:00:00", "9999-12-31 23:59:59.5", None, None, None]
    for type_, zone in (("timestamp", ""), ("timestamptz", "+00")):
        sql = f"SELECT {word_sql('v', 'timestamp')} FROM unnest({moments}::{type_}[]) AS s (v)"
        assert cursor.execute(sql).fetchall() == [(each and each + zone,) for each in shown]
    sql = f"SELECT {word_sql('v', 'date')} FROM unnest({moments}::date[]) AS s (v)"
    assert cursor.execute(sql).fetchall() == [(each and each[:10],) for each in shown]
    assert cursor.execute(f"SELECT {word_sql('v', 'text')} FROM (SELECT 'a'::char(5) AS v) AS s").fetchall() == [("a",)]


def test_every_day_and_every_day_that_is_none(cursor):
    """Each month and day of the years in which the calendar does something, and of the first and last."""
    cells = [
        f"{year:04}-{month:02}-{day:02}"
        for year in (0, 1, 3, 4, 100, 400, 1582, 1600, 1900, 1969, 1970, 2000, 2023, 2024, 9999)
        for month in range(14)
        for day in (0, 1, 27, 28, 29, 30, 31, 32)
    ]
    for column in (DAY, STAMP):
        assert coded(cursor, column, "text", "text", cells) == wanted(column, cells)


def test_dates_and_timestamps_of_the_server(cursor):
    """The first and the last that there are, which Python's calendar has not."""
    sql = """SELECT {}, {}, {}, {} FROM unnest(
        ARRAY['infinity', '-infinity', NULL, '4714-11-24 BC', '5874897-12-31', '1969-12-31']::date[],
        ARRAY['infinity', '-infinity', NULL, '4714-11-24 BC', '294276-12-31 23:59:59.999999',
              '1969-12-31 23:59:59.999999']::timestamp[]) AS s (d, t)"""
    forms = [
        raw_sql(column, name, kind) for name, kind in (("d", "date"), ("t", "timestamp")) for column in (DAY, STAMP)
    ]
    found = [[None if each is None else int(each) for each in row] for row in cursor.execute(sql.format(*forms))]
    *none, first, last, before = found
    micros = 86_400_000_000
    assert none == [[None] * 4] * 3
    assert first == [-2_440_588, -2_440_588 * micros] * 2
    years = (5_874_897 - 2097) // 400  # in fours of centuries, which are all of one length
    assert last[0] == (date(2097, 12, 31) - date(1970, 1, 1)).days + years * 146_097
    assert last[1] == last[0] * micros
    assert last[2] == last[3] // micros and last[3] > 2**63
    assert before == [-1, -micros, -1, -1]


@settings(max_examples=examples(40), deadline=None)
@given(moments=st.lists(st.datetimes(min_value=datetime(1, 1, 1)), min_size=1, max_size=8))
def test_moments_of_the_server(cursor, moments):
    nanos = [(moment - datetime(1970, 1, 1)) // timedelta(microseconds=1) * 1000 for moment in moments]
    given = [SourceMoment(each, "") for each in nanos]
    days = [SourceMoment((moment.date() - date(1970, 1, 1)).days * 86_400_000_000_000, "") for moment in moments]
    for column in (DAY, STAMP):
        assert coded(cursor, column, "timestamp", "timestamp", moments) == wanted(column, given)
        assert coded(cursor, column, "date", "date", [moment.date() for moment in moments]) == wanted(column, days)


def test_what_is_no_number(cursor):
    strange = [Decimal("NaN"), Decimal("Infinity"), Decimal("-Infinity"), Decimal(10) ** 100_000, Decimal(1)]
    for column in (INTEGER, CENTS):
        *none, far, one = coded(cursor, column, "numeric", "numeric", strange)
        assert none == [None] * 3
        assert far == code_bounds(column)[1]
        assert one == 1 / (column.step if column.type == "decimal" else 1)
        assert coded(cursor, column, "float", "float8", [math.nan, math.inf, -math.inf]) == [None] * 3


@pytest.mark.deep
def test_a_cell_of_140_megabytes_is_no_error(cursor):
    """The server fails to trim it; it is not asked to."""
    cell = f"(SELECT repeat('1', {140 * 2**20}) AS v OFFSET 0) AS s"
    with pytest.raises(psycopg.Error):
        cursor.execute(f"SELECT btrim(v) FROM {cell}")
    forms = [raw_sql(column, "v", "text") for column in (INTEGER, DAY, TextColumn(name="x"))]
    assert cursor.execute(f"SELECT {', '.join(forms)} FROM {cell}").fetchall() == [(None, None, "1" * 1000)]
    assert MOST_BYTES < 2**27


def test_a_planted_mistake_is_seen(cursor):
    """The server's own casts are errors, or other values."""
    for cast in (
        "'2020-02-30'::date",
        "'1e400'::float8",
        "'1e-400'::float8",
        "'abc'::integer",
        "'NaN'::numeric::bigint",
    ):
        with pytest.raises(psycopg.Error):
            cursor.execute(f"SELECT {cast}")
    assert cursor.execute("SELECT '1.5e-2'::float8::numeric").fetchall() == [(Decimal("0.015"),)]
    assert coded(cursor, CENTS, "text", "text", ["1.5e-2", "0.015"]) == [1, 2]
