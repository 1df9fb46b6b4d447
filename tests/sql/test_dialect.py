"""Every dialect has every form; and PostgreSQL's, tried on a server, against `plan.evaluate`.

DuckDB's are tried in tests/engines/test_expressions.py, Spark's in test_spark.py.
"""

import inspect
from contextlib import suppress

import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.accounting.region import ValueSet
from discreet.errors import Refused
from discreet.plan.evaluate import holds_for_each, lower, upper, value, values
from discreet.plan.expressions import Like, Lower, Member, Over, Substr, Test, TextCode, Trim, Upper, Whole
from discreet.sql.dialect import Dialect, DuckDBDialect, identifier
from discreet.sql.emitter import Emitter
from discreet.sql.postgres_dialect import SESSION, PostgreSQLDialect
from discreet.sql.spark_dialect import SparkDialect
from engines.test_expressions import GROWING, extremes
from plan.trees import NUMBERS, Trees
from sql.patients import scalar
from sql.samples import SAMPLES
from surveys.collector.database import server
from tiers import examples, fuzzed

POSTGRES = Emitter(dialect=PostgreSQLDialect())
TEXT = TextCode("text")

seeds = st.integers(0, 2**32)


#: Forms that only whole questions need: the law of neighbours tries them on each engine.
OF_QUESTIONS = {"total", "same", "derived", "distinct", "distinct_bits", "numbers", "digest"}
FORMS = {name for name, form in vars(Dialect).items() if callable(form) and not name.startswith("_")}


@pytest.mark.parametrize("dialect", [DuckDBDialect, PostgreSQLDialect, SparkDialect])
def test_a_dialect_has_every_form(dialect):
    """By name and by arguments, and nothing beside them that anybody might call."""
    named = {name for name in vars(dialect) if not name.startswith("_")}
    assert named == FORMS | set(Dialect.__annotations__)
    for form in FORMS:
        assert inspect.signature(getattr(dialect, form)) == inspect.signature(getattr(Dialect, form)), form


def test_every_form_is_tried():
    """The trees that run on every engine, and what their predicates seldom are, write each form at least once."""
    called = set()

    class Noting(DuckDBDialect):
        def __getattribute__(self, name):
            called.add(name)
            return super().__getattribute__(name)

    emitter = Emitter(dialect=Noting())
    for seed in range(40):
        trees = Trees(seed)
        for expression in (*(trees.number() for _ in range(6)), trees.words()):
            emitter.expression(expression)
        for _ in range(2):
            emitter.predicate(trees.predicate())
    emitter.predicate(Member("open", ValueSet.interval(2**100, None)))
    emitter.predicate(Member("text", ValueSet.of(["a"])))
    assert called & FORMS == FORMS - OF_QUESTIONS


@pytest.fixture(scope="module")
def connection():
    with server() as address, psycopg.connect(address, autocommit=True) as connection:
        for name, value in SESSION.items():
            connection.execute("SELECT set_config(%s, %s, false)", [name, value])
        yield connection


def _type(name, rows):
    if name in ("text", "note"):
        return 'TEXT COLLATE "C"'
    if name == "huge":
        return "NUMERIC"
    stored = [abs(row[name]) for row in rows if row[name] is not None] or [0]
    return "SMALLINT" if max(stored) < 2**15 else "INTEGER" if max(stored) < 2**31 else "BIGINT"


def run(connection, rows, sqls):
    """The value of each SQL text on each row, which PostgreSQL holds as a declared table would."""
    names = list(rows[0])
    columns = ", ".join(f"{identifier(name)} {_type(name, rows)}" for name in names)
    connection.execute(f"DROP TABLE IF EXISTS coded; CREATE TEMP TABLE coded (row_number INTEGER, {columns})")
    with connection.cursor() as cursor, cursor.copy("COPY coded FROM STDIN") as copy:
        for place, row in enumerate(rows):
            copy.write_row([place, *row.values()])
    found = connection.execute(f"SELECT {', '.join(sqls)} FROM coded ORDER BY row_number").fetchall()
    return [[_plain(each) for each in column] for column in zip(*found, strict=True)]


def _plain(found):
    return found if found is None or isinstance(found, bool | str) else int(found)


def without_nul(row):
    """PostgreSQL has no text with a NUL, so no declared table there holds one."""
    return {name: value.replace("\0", "") if isinstance(value, str) else value for name, value in row.items()}


def agree(connection, seed):
    trees = Trees(seed)
    rows = [without_nul(trees.record()) for _ in range(8)]
    expressions = [*(trees.number() for _ in range(6)), trees.words()]
    conditions = [trees.predicate() for _ in range(2)]
    sqls = [*map(POSTGRES.expression, expressions), *map(POSTGRES.predicate, conditions)]
    found = run(connection, rows, sqls)
    for expression, column in zip(expressions, found, strict=False):
        assert column == list(values(expression, rows)), expression
    for predicate, column in zip(conditions, found[len(expressions) :], strict=True):
        assert [each is True for each in column] == holds_for_each(predicate, rows), predicate


@settings(max_examples=examples(150), deadline=None)
@given(seed=seeds)
def test_postgresql_computes_what_python_says(connection, seed):
    agree(connection, seed)


@pytest.mark.fuzz
@pytest.mark.timeout(3600)
@settings(max_examples=fuzzed(5_000), database=None, deadline=None)
@given(seed=seeds)
def test_postgresql_computes_what_python_says_at_length(connection, seed):
    agree(connection, seed)


ROWS = [without_nul(row) for row in extremes()]


@pytest.mark.thin(7)
@pytest.mark.parametrize("start", range(0, len(SAMPLES), 40))
def test_nothing_that_is_known_fails_on_any_row(connection, start):
    """Each function of the allow-list on the worst rows there are: no error, and Python's values."""
    found = [scalar(text).expression for text in SAMPLES[start : start + 40]]
    columns = run(connection, ROWS, [POSTGRES.expression(expression) for expression in found])
    for text, expression, column in zip(SAMPLES[start:], found, columns, strict=False):
        assert column == list(values(expression, ROWS)), text


@pytest.mark.parametrize("kind", GROWING)
def test_what_is_as_deep_and_as_large_as_allowed_still_runs(connection, kind):
    """Expressions grow until they are refused; the last one that was not is still one that the server takes."""
    grown = NUMBERS[4]
    with suppress(Refused):
        while True:
            grown = GROWING[kind](grown)
    row = dict.fromkeys(("a", "c", "day", "wide", "open", "text")) | {"b": 2, "near": 17, "huge": 0}
    assert run(connection, [row], [POSTGRES.expression(grown)]) == [[value(grown, row)]]


@pytest.mark.parametrize("change", [lower, upper])
def test_letters_are_changed_as_python_changes_them_whatever_the_servers_locale(connection, change):
    """Every character there is, 64 to a text."""
    letters = [chr(code) for code in range(1, 0x20000) if not 0xD800 <= code <= 0xDFFF]
    rows = [{"text": "".join(letters[start : start + 64])} for start in range(0, len(letters), 64)]
    (found,) = run(connection, rows, [POSTGRES.expression((Lower if change is lower else Upper)(TEXT))])
    assert found == [change(row["text"]) for row in rows]


def test_nested_letters_do_not_double(connection):
    """The text is named once however deep it lies."""
    expression = TEXT
    for _ in range(30):
        expression = Lower(Upper(expression))
    assert run(connection, [{"text": "aÉ"}], [POSTGRES.expression(expression)]) == [["aé"]]


STARTS = [-(2**31) + 1, -1000, -7, -6, -5, -3, -1, 1, 2, 5, 6, 7, 1000, 2**31 - 1]
LENGTHS = [None, 0, 1, 2, 5, 6, 7, 1000, 2**31 - 1]


def test_substrings_are_counted_from_either_end(connection):
    rows = [{"text": text} for text in ("", "a", "añb😀cd", None)]
    wanted = [Substr(TEXT, start, length) for start in STARTS for length in LENGTHS]
    found = run(connection, rows, [POSTGRES.expression(each) for each in wanted])
    assert found == [list(values(each, rows)) for each in wanted]


NUL = ["\0", "a\0", "a\0b", "\0a", "a\0\0"]


@pytest.mark.parametrize("text", NUL)
def test_a_literal_that_the_server_cannot_hold_is_compared_all_the_same(connection, text):
    rows = [{"text": each} for each in ("", "a", "ab", "b", "a\x01", None)]
    sets = [
        ValueSet.of([text]),
        ValueSet.of([text, "a"]),
        ValueSet.interval(None, text),
        ValueSet.interval(text, None),
        ValueSet.interval("", text),
        ValueSet.of([text]).complement(),
    ]
    predicates = [Test(Trim(TEXT, "both", "x\0"), each) for each in sets] + [Member("text", each) for each in sets]
    predicates += [Test(Like(TEXT, f"%{text}"), ValueSet.of([each])) for each in (0, 1)]
    found = run(connection, rows, [POSTGRES.predicate(each) for each in predicates])
    assert [[each is True for each in column] for column in found] == [
        holds_for_each(each, rows) for each in predicates
    ]
    (found,) = run(connection, rows, [POSTGRES.expression(Like(TEXT, f"%{text}"))])
    assert found == list(values(Like(TEXT, f"%{text}"), rows))


def test_a_pattern_matches_as_python_says(connection):
    texts = ["", "\\", "a\\", "\\%", "%", "_", "a%b", "a\nb", "É", "é", "aaaaaaaab"]
    rows = [{"text": text} for text in texts]
    patterns = ["", "%", "_", "\\\\", "%\\\\", "\\%", "\\_", "a%b", "a_b", "É", "%a%a%a%a%a%b", "%%", "'"]
    found = run(connection, rows, [POSTGRES.expression(Like(TEXT, each)) for each in patterns])
    assert found == [list(values(Like(TEXT, each), rows)) for each in patterns]


def test_keys_that_are_null_meet_and_are_hashed(connection):
    """A join on arrays is a hash join; IS NOT DISTINCT FROM would compare every row with every key."""
    same = POSTGRES.dialect.same("a", "b", texts=False)
    sides = "FROM (VALUES (1), (NULL), (3)) AS one (a) JOIN (VALUES (NULL), (3), (4)) AS two (b) ON "
    assert connection.execute(f"SELECT a {sides}{same} ORDER BY a").fetchall() == [(3,), (None,)]
    many = "FROM generate_series(1, 1000) AS a JOIN generate_series(1, 1000) AS b ON "
    plan = str(connection.execute(f"EXPLAIN SELECT count(*) {many}{same}").fetchall())
    assert "Hash Join" in plan or "Merge Join" in plan
    assert "Nested Loop" in str(
        connection.execute(f"EXPLAIN SELECT count(*) {many} a IS NOT DISTINCT FROM b").fetchall()
    )


def test_what_does_not_fit_is_no_error(connection):
    numbers = [-(2**100), -1, 0, 5, 6, 2**100]
    fitting = POSTGRES.dialect.fitting('"huge"', 0, 5, wide=False)
    (found,) = run(connection, [{"huge": number} for number in numbers], [fitting])
    assert found == [None, None, 0, 5, None, None]


def test_texts_are_compared_bytewise_whatever_the_columns_collation(connection):
    """A declared table's column has "C". If one had another, the question would still mean bytes."""
    known = connection.execute("SELECT 1 FROM pg_collation WHERE collname = 'en-x-icu'").fetchone()
    if known is None:
        pytest.skip("this server knows no collation but bytes")
    texts = ["a", "A", "b", "B", "é", "z", "_", ""]
    connection.execute('DROP TABLE IF EXISTS odd; CREATE TEMP TABLE odd (text TEXT COLLATE "en-x-icu")')
    for text in texts:
        connection.execute("INSERT INTO odd VALUES (%s)", [text])
    for low in texts:
        test = POSTGRES.predicate(Test(TEXT, ValueSet.interval(low, None)))
        found = {text for (text,) in connection.execute(f"SELECT text FROM odd WHERE {test}").fetchall()}
        assert found == {text for text in texts if text >= low}
    assert {text for (text,) in connection.execute("SELECT text FROM odd WHERE text >= 'b'").fetchall()} != {
        "b",
        "é",
        "z",
    }


def test_a_planted_mistake_is_seen(connection):
    """The comparison can fail: cutting towards zero is not rounding down."""
    code = NUMBERS[2]
    rows = [{"c": -7}]
    (found,) = run(connection, rows, [POSTGRES.expression(Over(code, Whole(2), "zero"))])
    assert found != list(values(Over(code, Whole(2)), rows))
    (found,) = run(connection, rows, ['CAST("c" AS BIGINT) / 2'])
    assert found == [-3]
