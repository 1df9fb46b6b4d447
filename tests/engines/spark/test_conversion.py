"""Source values as codes, on Spark and in plain Python: the same, and no value is an error. Many in one job."""

import math
import random
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from discreet.engines.missing_values import is_missing
from discreet.engines.source_values import _given, _word, code_of
from discreet.engines.spark.conversion import raw_sql, word_sql
from discreet.engines.spark.value_kinds import SparkKind
from discreet.engines.table_file import code_bounds
from discreet.schema.column import BooleanColumn, CategoryColumn, MomentColumn, NumberColumn, TextColumn
from engines.spark.server import spark_tests
from engines.tables import _FLAGS, _MOMENTS, _NUMBERS, STEPS, WORDS, decimal

pytestmark = spark_tests

INTEGER, AGE = NumberColumn(name="x", type="integer"), NumberColumn(name="x", type="integer", low=-5, high=120)
GRIDS = [NumberColumn(name="x", type="decimal", step=Fraction(step)) for step in STEPS]
TENTHS = NumberColumn(name="x", type="decimal", step=Fraction("0.1"), low=-50, high=50)
MICROS = NumberColumn(name="x", type="decimal", step=Fraction("0.000001"), low=-(2**60), high=2**60)
DAY, STAMP = MomentColumn(name="x", type="date"), MomentColumn(name="x", type="timestamp")
FLAG, TEXT, WORD = BooleanColumn(name="x"), TextColumn(name="x"), CategoryColumn(name="x", values=("a",))
CHANCE = random.Random(8)


def check(engine, columns, kind, array, given):
    """Every value's code in every column, and its word, in one job."""
    session = engine.session()
    rows = pa.table({"i": pa.array(range(len(array)), pa.int64()), "n": array})  # n is also what lambdas call theirs
    session.createDataFrame(rows).repartition(2).createOrReplaceTempView("given_values")
    listed = ", ".join(
        f"{word_sql('n', kind) if column is WORD else raw_sql(column, 'n', kind)} AS r{place}"
        for place, column in enumerate(columns)
    )
    found = session.sql(f"SELECT i, {listed} FROM given_values").toArrow().sort_by("i")
    for place, column in enumerate(columns):
        got = [clamped(column, raw) for raw in found.column(f"r{place}").to_pylist()]
        wanted = [meant(column, value) for value in given]
        differing = [
            (value, here, there) for value, here, there in zip(given, got, wanted, strict=True) if here != there
        ]
        assert not differing, (column, differing[:5])


def meant(column, value):
    if column is WORD:
        return None if value is None else _word(value)
    if isinstance(column, TextColumn) and is_missing(value):
        return None
    return clamped(column, code_of(column, value))


def clamped(column, raw):
    if raw is None or isinstance(raw, str) or code_bounds(column) is None:
        return raw
    assert raw == int(raw)
    return min(max(int(raw), code_bounds(column)[0]), code_bounds(column)[1])


def sizes(many, least, most):
    return [CHANCE.uniform(-1, 1) * 10.0 ** CHANCE.randint(least, most) for _ in range(many)]


def numbers():
    """Numbers as they are written, and what only looks like one."""
    odd = [
        " 12",
        "\t7\n",
        "\u00a07",
        "- 5",
        "1 2",
        "\v3\f",
        "7\0",
        "9" * 60,
        "-" + "9" * 60,
        "0." + "0" * 50 + "1",
        "",
        None,
    ]
    ends = ["9" * 4000, "0." + "4" * 400, "0.00" + "5" * 400, "1" + "0" * 400 + "e-400", "0e9999", "4.9e-324", "1e400"]
    exact = ["1.005e0", "1.5e-2", "5e-3", "1e23", "9007199254740993e0", "2.5e0", "-2.5e0", "5e-13", "1.5e-12", "1e-24"]
    halves = [Fraction(2 * CHANCE.randint(-(10**6), 10**6) + 1, 2) * Fraction(step) for step in STEPS for _ in range(6)]
    written = [f"{Decimal(CHANCE.randint(-(10**22), 10**22)).scaleb(-CHANCE.randint(0, 22)):f}" for _ in range(100)]
    return [
        *_NUMBERS.split(), *odd, *ends, *exact, *written, *_FLAGS.split(), *WORDS,
        *map(repr, sizes(150, -30, 30)), *(f"{size:.17e}" for size in sizes(150, -26, 26)),
        *map(decimal, halves), *(repr(float(half)) for half in halves),
    ]  # fmt: skip


@pytest.mark.parametrize("part", [0, 1])
def test_numbers_as_texts(spark_engine, part):
    texts = numbers()
    columns = [[INTEGER, AGE, FLAG, GRIDS[0], GRIDS[2]], [TENTHS, MICROS, GRIDS[5], GRIDS[10], GRIDS[12]]][part]
    check(spark_engine, columns, SparkKind(family="text"), pa.array(texts, pa.string()), texts)


def test_doubles(spark_engine):
    known = [0.285, 1.005, 0.5, -2.5, 12.0, 1e22, 5e-5, math.nan, math.inf, -math.inf, 0.0, -0.0, 1e16, 1e-4, 9.999e-5]
    known += [2.0**63, -(2.0**63), 2.0**53 + 2, 9999999999999998.0, 1.7e308, 1e20, 1e-7, 5e-324, None]
    array = pa.array([*known, *sizes(200, -30, 30), *map(float, range(-30, 30))], pa.float64())
    columns = [INTEGER, AGE, FLAG, TENTHS, GRIDS[0], GRIDS[7], GRIDS[10]]
    check(spark_engine, columns, SparkKind(family="double"), array, _given(array))


def test_floats_of_32_bits(spark_engine):
    known = [
        0.285,
        1.005,
        0.5,
        math.nan,
        math.inf,
        1e22,
        5e-5,
        1e-4,
        999999.0,
        1e6,
        2.0**33,
        16777216.0,
        -2724644.25,
        2724644.75,
        1000000.25,
        9999999.5,
        0.0,
        -0.0,
        None,
    ]
    array = pa.array([None if x is None else np.float32(x) for x in [*known, *sizes(200, -25, 25)]], pa.float32())
    check(
        spark_engine,
        [INTEGER, AGE, FLAG, TEXT, WORD, TENTHS, GRIDS[0]],
        SparkKind(family="float"),
        array,
        _given(array),
    )


def test_words_of_doubles(spark_engine):
    """Where Java's digits are the shortest: between 1e-6 and 1e16. Beyond, two of 60,000 were not."""
    array = pa.array([0.1, 1.0, -0.0, 1e-4, 123456.789, 1e7, 12345678.9, 1e20, 1e-7, math.inf, *sizes(100, -3, 15)])
    check(spark_engine, [TEXT, WORD], SparkKind(family="double"), array, _given(array))


def test_whole_numbers_and_truths(spark_engine):
    near = [CHANCE.randint(-(2**63), 2**63 - 1) for _ in range(40)]
    array = pa.array([0, 1, -1, 2, 2**63 - 1, -(2**63), 1 - 2**63, 10**18, None, *near, *range(-60, 60, 7)], pa.int64())
    check(
        spark_engine,
        [INTEGER, AGE, FLAG, TEXT, WORD, TENTHS, *GRIDS],
        SparkKind(family="integer"),
        array,
        _given(array),
    )
    array = pa.array([True, False, None])
    check(spark_engine, [INTEGER, AGE, FLAG, TEXT, WORD, GRIDS[0]], SparkKind(family="boolean"), array, _given(array))


@pytest.mark.parametrize(("digits", "scale"), [(20, 3), (38, 0), (38, 18), (5, 2), (9, 2), (34, 0), (30, 6)])
def test_decimals(spark_engine, digits, scale):
    sized = [CHANCE.randint(-(10**size) + 1, 10**size - 1) for size in range(1, digits + 1) for _ in range(3)]
    values = [None, *(Decimal(value).scaleb(-scale) for value in sized), Decimal(7), Decimal(1), Decimal(0)]
    array = pa.array(values, pa.decimal128(digits, scale))
    columns = [INTEGER, AGE, FLAG, TEXT, WORD, TENTHS, MICROS, *GRIDS[:4]]
    check(spark_engine, columns, SparkKind(family="decimal", precision=digits, scale=scale), array, _given(array))


def test_moments_as_texts(spark_engine):
    days = [
        f"{CHANCE.randint(0, 9999):04d}-{CHANCE.randint(0, 13):02d}-{CHANCE.randint(0, 32):02d}" for _ in range(150)
    ]
    zones = ["", "Z", "+0130", "-03:45", "+23", "-23:59", "+24:00"]
    clocks = [f"{day} {turn % 24:02d}:{turn % 60:02d}:59.{turn**5}{zones[turn % 7]}" for turn, day in enumerate(days)]
    odd = [
        " 2020-01-05 ",
        "2020-01-05 10:00:00 +02:30",
        "2020-01-05Z",
        "2020-01-05+02",
        "1900-02-29",
        "2020-01-05T10:00-05",
    ]
    texts = [*_MOMENTS.split(), *days, *clocks, *odd, "2000-02-29\n", "2020-01-05T10:00:00.1234567891", None]
    check(spark_engine, [DAY, STAMP], SparkKind(family="text"), pa.array(texts, pa.string()), texts)


def test_days_and_moments_of_files(spark_engine):
    days = [0, -1, 2**31 - 1, 1 - 2**31, -(2**31), 2**31 - 2, -719_162, -719_163, 2_932_896, 2_932_897, None, 18_000]
    given = _given(pa.array(days, pa.date32()))
    check(spark_engine, [DAY, STAMP, TEXT, WORD], SparkKind(family="days"), pa.array(days, pa.int32()), given)
    ends = [0, -1, 1, 2**63 - 1, 2**63 - 2, -(2**63), 1 - 2**63, 9223372036854775, -9223372036854776, 999, -1001, None]
    ends += [CHANCE.randint(-(10**size), 10**size) for size in range(3, 19) for _ in range(3)]
    for unit, size in (("ms", 10**6), ("us", 1000), ("ns", 1)):
        years = [] if size == 1 else [-62135596800 * 10**9 // size, 253402300800 * 10**9 // size]
        for zone in (None, "UTC"):
            values = [*ends, *years]
            given = _given(pa.array(values, pa.timestamp(unit, zone)))
            kind = SparkKind(family="moment", unit_ns=size, zoned=zone is not None)
            check(spark_engine, [DAY, STAMP, TEXT, WORD], kind, pa.array(values, pa.int64()), given)


def test_truths_and_texts(spark_engine):
    texts = [
        *_FLAGS.split(),
        *WORDS,
        " true ",
        "\ttrue",
        "y es",
        "ＴＲＵＥ",
        "x" * 3000,
        "é" * 1200,
        "a\ufffdb",
        "",
        None,
    ]
    check(spark_engine, [FLAG, TEXT, WORD], SparkKind(family="text"), pa.array(texts, pa.string()), texts)


def test_texts_that_are_not_utf8(spark_engine, tmp_path):
    """As bytes in a file that calls them text: each reads as Python's decoder mends it, and as text it is NULL."""
    import pyarrow.parquet as pq

    damaged = [b"ok", b"\xff", b"a\xe2\x28\xa1", b"\xc3\x28z", b"\xf0\x9f\x98", b"12", b"12\xff", b"\xed\xa0\x80", None]
    array = _as_text(damaged)
    pq.write_table(pa.table({"n": array}), tmp_path / "damaged.parquet")
    session = spark_engine.session()
    session.read.parquet(str(tmp_path / "damaged.parquet")).createOrReplaceTempView("damaged")
    kind = SparkKind(family="text")
    sql = f"SELECT {word_sql('n', kind)} AS w, {raw_sql(TEXT, 'n', kind)} AS t, {raw_sql(INTEGER, 'n', kind)} AS i FROM damaged"
    found = session.sql(sql).toArrow()
    words = [None if text is None else text.decode(errors="replace") for text in damaged]
    assert found.column("w").to_pylist() == words
    assert found.column("t").to_pylist() == [code_of(TEXT, word) for word in words]
    assert found.column("i").to_pylist() == [code_of(INTEGER, word) for word in words]


def _as_text(values):
    """Bytes under the type of text, unchecked."""
    array = pa.array(values, pa.binary())
    return pa.Array.from_buffers(pa.string(), len(array), array.buffers())


def test_a_uuid(spark_engine):
    import uuid

    one = uuid.UUID("0f0e0d0c-0b0a-0908-0706-050403020100")
    check(
        spark_engine, [TEXT, WORD], SparkKind(family="uuid"), pa.array([one.bytes, None], pa.binary()), [str(one), None]
    )
