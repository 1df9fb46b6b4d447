"""Spark's dialect against `plan.evaluate`, on a live session. Many expressions in one job: planning is what costs."""

import random
from contextlib import suppress

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.accounting.region import ValueSet
from discreet.errors import Refused
from discreet.plan.evaluate import holds_for_each, lower, upper, values
from discreet.plan.expressions import (
    Absolute,
    Code,
    Like,
    Lower,
    Member,
    Over,
    Plus,
    Remainder,
    Start,
    Substr,
    Test,
    TextCode,
    Times,
    Trim,
    Upper,
    Whole,
)
from discreet.plan.like_pattern import normal_form, tokens
from discreet.sql.emitter import Emitter
from discreet.sql.spark_dialect import SparkDialect
from engines.spark.server import spark_engine, spark_tests  # noqa: F401
from engines.test_expressions import GROWING, extremes, table
from plan.trees import NUMBERS, Trees
from sql.patients import scalar
from sql.samples import SAMPLES
from tiers import fuzzed

pytestmark = spark_tests

SPARK = SparkDialect()
EMITTER = Emitter(dialect=SPARK)
TEXT = TextCode("text")
CHANCE = random.Random(8)


@pytest.fixture
def spark(spark_engine):  # noqa: F811
    return spark_engine.session()


def run(spark, folder, rows, sqls):
    """The value of each SQL text on each row, read from a file: what stands in the SQL is computed while planning."""
    rows = rows if isinstance(rows, pa.Table) else table(rows)
    place = folder / f"rows-{CHANCE.getrandbits(60)}.parquet"
    pq.write_table(rows, place)
    spark.read.parquet(str(place)).createOrReplaceTempView("coded")
    listed = ", ".join(f"{sql} AS r{number}" for number, sql in enumerate(sqls))
    found = spark.sql(f"SELECT `row` AS place, {listed} FROM coded").toArrow().sort_by("place")
    return [[_plain(each) for each in found.column(f"r{number}").to_pylist()] for number in range(len(sqls))]


def _plain(found):
    return found if found is None or isinstance(found, bool | str) else int(found)


def agree(spark, folder, rows, expressions, predicates=()):
    """Spark's values are Python's."""
    sqls = [*map(EMITTER.expression, expressions), *map(EMITTER.predicate, predicates)]
    found = run(spark, folder, rows, sqls)
    for expression, column in zip(expressions, found, strict=False):
        assert column == list(values(expression, rows)), expression
    for predicate, column in zip(predicates, found[len(expressions) :], strict=True):
        assert [each is True for each in column] == holds_for_each(predicate, rows), predicate


def drawn(seeds):
    """Rows, expressions and predicates of many seeds."""
    rows, expressions, predicates = [], [], []
    for seed in seeds:
        trees = Trees(seed)
        rows += [trees.record() for _ in range(4)]
        expressions += [*(trees.number() for _ in range(6)), trees.words()]
        predicates += [trees.predicate() for _ in range(2)]
    return rows, expressions, predicates


@pytest.mark.parametrize("start", [0, 12])
def test_spark_computes_what_python_says(spark, tmp_path, start):
    agree(spark, tmp_path, *drawn(range(start, start + 12)))


@pytest.mark.fuzz
@pytest.mark.timeout(7200)
def test_spark_computes_what_python_says_at_length(spark, tmp_path):
    for _ in range(fuzzed(100)):
        seeds = [random.SystemRandom().getrandbits(32) for _ in range(12)]
        try:
            agree(spark, tmp_path, *drawn(seeds))
        except Exception as problem:
            raise AssertionError(f"of {seeds}") from problem


@pytest.mark.parametrize("start", range(0, len(SAMPLES), 170))
def test_nothing_that_is_known_fails_on_any_row(spark, tmp_path, start):
    """Each function of the allow-list on the worst rows there are: no error, and Python's values."""
    agree(spark, tmp_path, list(extremes()), [scalar(text).expression for text in SAMPLES[start : start + 170]])


HUGE, DAY = NUMBERS[6], NUMBERS[3]
WIDE = {
    "start": lambda inner: Start("month", inner),
    "wide absolute": lambda inner: Absolute(Plus(inner, HUGE)),
    "wide negation": lambda inner: Times(Plus(inner, HUGE), Whole(-1)),
    "wide quotient": lambda inner: Over(Plus(inner, HUGE), NUMBERS[1], "zero"),
    "wide remainder": lambda inner: Remainder(Plus(inner, HUGE), Whole(2**80)),
}


def grown(grow, inner):
    """As deep and as large as allowed."""
    with suppress(Refused):
        while True:
            inner = grow(inner)
    return inner


@pytest.mark.fuzz  # a minute of planning
def test_what_is_as_deep_and_as_large_as_allowed_still_runs(spark, tmp_path):
    """Parser, analyzer and planner take the last one that is not refused, and in reasonable time."""
    largest = [grown(grow, NUMBERS[4]) for grow in GROWING.values()]
    largest += [grown(grow, DAY if kind == "start" else HUGE) for kind, grow in WIDE.items()]
    largest.append(grown(lambda inner: Upper(Lower(inner)), TEXT))
    rows = [Trees(seed).record() for seed in range(4)]
    rows.append(dict.fromkeys(("a", "c", "day", "wide", "open", "text")) | {"b": 2, "near": 17, "huge": 0})
    agree(spark, tmp_path, rows, largest)


def letters(spark, folder, codes):
    """Every one of these characters, 64 to a text."""
    known = [chr(code) for code in codes if not 0xD800 <= code <= 0xDFFF]
    texts = ["".join(known[start : start + 64]) for start in range(0, len(known), 64)]
    rows = pa.table({"row": pa.array(range(len(texts)), pa.int32()), "text": texts})
    small, capital = run(spark, folder, rows, [EMITTER.expression(Lower(TEXT)), EMITTER.expression(Upper(TEXT))])
    assert small == [lower(text) for text in texts]
    assert capital == [upper(text) for text in texts]


def test_letters_are_changed_as_python_changes_them(spark, tmp_path):
    """All that there are; above, Unicode has no letters of two forms, as the dialect's own table says."""
    letters(spark, tmp_path, range(0x20000))
    assert all(change(chr(code)) == chr(code) for change in (lower, upper) for code in range(0x20000, 0x110000))


STARTS = [-(2**31) + 1, -1000, -7, -5, -3, -1, 1, 2, 6, 1000, 2**31 - 1]
LENGTHS = [None, 0, 1, 6, 1000, 2**31 - 1]
SETS = ["", " ", "a", "\\", "'", "\0", "$", "é😀", "]-["]
PATTERNS = [
    "",
    "%",
    "_",
    "\\\\",
    "%\\\\",
    "\\%",
    "\\_",
    "a%b",
    "a_b",
    "É",
    "%a%a%a%a%a%b",
    "%%",
    "'",
    "%\0",
    "a\0%",
    "$%",
]
TEXTS = [
    *(
        "",
        "a",
        "añb😀cd",
        "\\",
        "a\\",
        "\\%",
        "%",
        "_",
        "a%b",
        "a\nb",
        "É",
        "é",
        "aaaaaaaab",
        "'",
        "a\0",
        "\0a",
        "a\0b",
    ),
    *("a\x01", "${env:HOME}", "$", "😀é", "]a[", "\uffee", "\U0001f600", None),
]


def test_texts_are_as_python_has_them(spark, tmp_path):
    rows = [{"text": text} for text in TEXTS]
    expressions = [Substr(TEXT, start, length) for start in STARTS for length in LENGTHS]
    expressions += [Trim(TEXT, sides, each) for each in SETS for sides in ("both", "leading", "trailing")]
    expressions += [Like(TEXT, each) for each in PATTERNS]
    sets = [ValueSet.of([text]) for text in TEXTS if text is not None]
    sets += [ValueSet.interval(text, None) for text in TEXTS if text is not None]
    sets += [ValueSet.interval(None, text) | ValueSet.of([text]) for text in TEXTS if text is not None]
    predicates = [Member("text", each) for each in sets]
    predicates += [Test(Trim(TEXT, "both", "x"), ValueSet.of(["a", "\\"]).complement())]
    predicates += [Test(Like(TEXT, each), ValueSet.of([wanted])) for each in PATTERNS for wanted in (0, 1)]
    agree(spark, tmp_path, rows, expressions, predicates)


def test_no_text_and_no_name_breaks_out_of_its_quotes(spark):
    """Variables of the process and settings are not put into a text, even where the session would."""
    texts = [
        "it's",
        "\\",
        "a\\'b",
        "\0",
        "\\0",
        "\\u0041",
        "${env:HOME}",
        "${spark.app.name}",
        "--",
        "/*",
        "\n",
        "%\\",
        "`",
    ]
    names = ["a`b", 'a"b', "a\\", "a'b", "a b", "a.b", "é", "--", "cell "]
    listed = [f"{SPARK.text(text)} AS t{place}" for place, text in enumerate(texts)]
    listed += [f"1 AS {SPARK.identifier(name)}" for name in names]
    spark.conf.set("spark.sql.variable.substitute", "true")
    try:
        found = spark.sql(f"SELECT {', '.join(listed)}").toArrow()
    finally:
        spark.conf.set("spark.sql.variable.substitute", "false")
    assert [column[0].as_py() for column in found.columns[: len(texts)]] == texts
    assert found.column_names[len(texts) :] == names


ENDS = [0, 1, -1, 2, -7, 2**31, -(2**31), 2**61, 2**62, 2**63 - 1, -(2**63), 2**64 + 1, 10**34 - 1, 10**34 + 1, 3**63]
ENDS += [2**99 + 1, -(2**100) + 1, 2**119 + 1, 1 - 2**120]


def pairs():
    """Wide numbers, the worst and any: left over right is below 2^100, as bounds are."""
    found = [(left, right) for left in ENDS for right in ENDS]
    for _ in range(400):
        left, right = (CHANCE.choice([-1, 1]) * CHANCE.getrandbits(CHANCE.randint(1, 120)) for _ in range(2))
        found.append((left, right))
    found += [(left * right, right) for left, right in found if abs(left * right) < 2**120 and abs(left) < 2**100]
    return [(left, right) for left, right in found if right == 0 or abs(left) // abs(right) < 2**100]


def cut(left, right):
    """The quotient, cut towards zero, and what it leaves."""
    if right == 0:
        return None, None
    whole = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
    return whole, left - whole * right


def wide_rows(given):
    return pa.table(
        {
            "row": pa.array(range(len(given)), pa.int32()),
            "x": pa.array([left for left, _ in given], pa.decimal128(38, 0)),
            "y": pa.array([right for _, right in given], pa.decimal128(38, 0)),
        }
    )


def test_wide_numbers_are_exact(spark, tmp_path):
    given = pairs()
    rows = wide_rows(given)
    divisor = "nullif(y, 0)"
    quotient, rest, negated, absolute, floor = run(
        spark,
        tmp_path,
        rows,
        [
            SPARK.quotient("x", divisor, wide=True),
            SPARK.remainder("x", divisor, wide=True),
            SPARK.negated("x", wide=True),
            SPARK.absolute("x", wide=True),
            EMITTER.floor("x", "y", wide=True),
        ],
    )
    assert quotient == [cut(left, right)[0] for left, right in given]
    assert rest == [cut(left, right)[1] for left, right in given]
    assert negated == [-left for left, _ in given]
    assert absolute == [abs(left) for left, _ in given]
    assert floor == [None if right == 0 else left // right for left, right in given]


def test_wide_sums_and_products_are_exact(spark, tmp_path):
    """What lies below 2^120."""
    lefts = [left for left, _ in pairs()]
    given = [
        (left, CHANCE.choice([-1, 1]) * CHANCE.getrandbits(119 - left.bit_length()))
        for left in lefts
        if abs(left) < 2**118
    ]
    plus, minus, times = run(spark, tmp_path, wide_rows(given), ["x + y", "x - y", "x * y"])
    assert plus == [left + right for left, right in given]
    assert minus == [left - right for left, right in given]
    assert times == [left * right for left, right in given]


def test_sums_are_exact_however_they_are_taken(spark, tmp_path):
    """Parts of 18 bits, wide ones, wide ones of small numbers, negative ones; NULL of nothing."""
    ends = {"few": 2**18 - 1, "some": 2**36 - 1, "many": 2**62, "open": 2**63 - 1}
    ends |= {"huge": 2**100, "huge_few": 2**18 - 1, "huge_some": 2**36 - 1}
    given = {
        name: [None, -end, end, -1, 1, 0, *(CHANCE.randint(-end, end) for _ in range(50)), -end, -end]
        for name, end in ends.items()
    }
    number = len(given["few"])
    columns = {
        name: pa.array(column, pa.decimal128(38, 0) if name.startswith("huge") else pa.int64())
        for name, column in given.items()
    }
    pq.write_table(pa.table({"row": pa.array(range(number), pa.int32()), **columns}), tmp_path / "summed.parquet")
    spark.read.parquet(str(tmp_path / "summed.parquet")).createOrReplaceTempView("summed")
    tolds = ["", " FILTER (WHERE `row` % 2 = 0)", " FILTER (WHERE `row` < 0)"]
    listed = ", ".join(
        f"{SPARK.total(name, told, most=end)} AS {name}_{place}"
        for name, end in ends.items()
        for place, told in enumerate(tolds)
    )
    found = spark.sql(f"SELECT {listed} FROM summed").toArrow()
    for name, column in given.items():
        known = [(place, each) for place, each in enumerate(column) if each is not None]
        wanted = [sum(each for _, each in known), sum(each for place, each in known if place % 2 == 0), None]
        assert [_plain(found.column(f"{name}_{place}")[0].as_py()) for place in range(3)] == wanted, name
        assert all(found.column(f"{name}_{place}").type == pa.decimal128(38, 0) for place in range(3))


def null_compared(spark, folder):
    """Columns of both widths, with NULL, and literals of any."""
    known = (None, 0, 5, -(2**63) + 1, 2**63 - 1)
    rows = [{"a": small, "c": small, "open": each, "huge": each} for each, small in zip(known, (None, 0, 5, 1, 2))]
    ends = [2**7, 2**31, -(2**31) - 1, 2**63 - 1, 2**63, 2**64 + 1, 2**100, -(2**63), -(2**64) - 1, -(2**100)]
    sets = [
        each
        for end in ends
        for each in (ValueSet.interval(end, None), ValueSet.interval(None, end), ValueSet.of([end]))
    ]
    sets += [ValueSet.interval(-(2**100), 2**100), ValueSet.interval(-(2**100), 5), ValueSet.of([2**100]).complement()]
    predicates = [Member(name, each) for name in rows[0] for each in sets]
    agree(spark, folder, rows, [Code("open", None, None, null=True)], predicates)


def test_literals_beyond_64_bits_leave_null_alone(spark, tmp_path):
    null_compared(spark, tmp_path)


def test_what_does_not_fit_is_no_error(spark, tmp_path):
    numbers = [-(2**100), -1, 0, 5, 2**63, 2**100]
    (found,) = run(
        spark, tmp_path, [{"huge": number} for number in numbers], [SPARK.fitting("`huge`", 0, 5, wide=False)]
    )
    assert found == [None, -1, 0, 5, None, None]


# Mistakes that must be seen


def test_a_quotient_that_wraps_is_seen(spark, tmp_path, monkeypatch):
    monkeypatch.setattr(SparkDialect, "quotient", lambda self, left, right, *, wide: f"{left} DIV {right}")
    with pytest.raises(AssertionError):
        test_wide_numbers_are_exact(spark, tmp_path)


def test_signs_that_round_are_seen(spark, tmp_path, monkeypatch):
    monkeypatch.setattr(SparkDialect, "negated", lambda self, number, *, wide: f"(-{number})")
    with pytest.raises(AssertionError):
        test_wide_numbers_are_exact(spark, tmp_path)


def test_a_comparison_that_forgets_null_is_seen(spark, tmp_path, monkeypatch):
    monkeypatch.setattr(SparkDialect, "wide_column", lambda self, name: name)
    with pytest.raises(AssertionError):
        null_compared(spark, tmp_path)


def test_natural_letters_are_seen(spark, tmp_path, monkeypatch):
    monkeypatch.setattr(SparkDialect, "lower", lambda self, text: f"lower({text})")
    with pytest.raises(AssertionError):
        letters(spark, tmp_path, range(0x400))


def test_a_pattern_of_many_parts_is_matched_without_going_back(spark, tmp_path):
    """Spark's own LIKE tries every place of every part: it would take hours over the first of these texts."""
    many = [r"%a%a%a%b", "%a_%a_%a_%a_%b%c", "a%a_%a%_a", "%\0%_%é%", "_%\\%%\\_%b"]
    chance = random.Random(4)
    many += ["".join(chance.choices(["a", "b", "_", "%", "%", "\\%"], k=chance.randint(3, 9))) for _ in range(60)]
    patterns = [normal_form(tokens(each, escape="\\")) for each in many]
    texts = [
        "a" * 1000,
        "a" * 999 + "b",
        "",
        "a\nb\n",
        "é😀é",
        "a%b_",
        *("".join(chance.choices("ab%", k=7)) for _ in range(40)),
    ]
    rows = pa.table({"row": pa.array(range(len(texts)), pa.int32()), "text": texts})
    likes = [Like(TEXT, pattern) for pattern in patterns]
    records = [{"text": text} for text in texts]
    found = run(spark, tmp_path, rows, [EMITTER.expression(like) for like in likes])
    assert found == [values(like, records) for like in likes]
    tests = [Test(like, ValueSet.of([0])) for like in likes]
    found = run(spark, tmp_path, rows, [EMITTER.predicate(test) for test in tests])
    assert [[bool(each) for each in column] for column in found] == [holds_for_each(test, records) for test in tests]
    assert "RLIKE" in SPARK.like("t", patterns[0], is_match=True) and "RLIKE" not in SPARK.like(
        "t", "%a_%", is_match=True
    )
