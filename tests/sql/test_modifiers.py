"""Every part of a question is read or refused: no modifier is passed over, and no other column passes for the person."""

from collections import Counter
from contextlib import suppress

import pytest
import sqlglot
from sqlglot import exp

from discreet.errors import Refused
from discreet.schema.column import CategoryColumn
from discreet.schema.project_file import read_table
from discreet.sql.catalog import CatalogTable, PublicTable
from discreet.sql.query_parser import parse_query
from discreet.sql.query_text import QueryText
from discreet.sql.unread_syntax import refuse_unread
from sql.test_read import CATALOG as TABLES

NAMED = PublicTable(
    name="named",
    columns=(CategoryColumn(name="sex", values=("F", "M")), CategoryColumn(name="id", values=("a", "b"))),
    codes={"sex": (0, 1), "id": (0, 1)},
)
CATALOG = {
    **TABLES,
    "named": CatalogTable(
        schema=read_table("named", {"source": "w.csv", "public": True, "columns": {"c": {"type": "text"}}}).schema,
        public=lambda: NAMED,
    ),
}

CORPUS = [
    "SELECT COUNT(*) AS n FROM patients",
    "SELECT COUNT(age) AS n FROM patients WHERE age BETWEEN 1 AND 9 AND NOT smoker",
    "SELECT COUNT(DISTINCT age) AS n FROM patients",
    "SELECT sex, SUM(age) AS n, AVG(cost) AS m FROM patients GROUP BY sex HAVING SUM(age) > 3 ORDER BY n DESC LIMIT 1",
    "SELECT STDDEV(age) AS n, CORR(age, cost) AS m, VARIANCE(age) AS v FROM patients",
    "SELECT MEDIAN(age) AS n, MIN(age) AS m, MAX(age) AS o, QUANTILE_CONT(age, 0.25) AS q FROM patients",
    "SELECT PERCENTILE_CONT(0.25) WITHIN GROUP (ORDER BY age) AS n FROM patients",
    "SELECT COUNT(*) FILTER(WHERE smoker) AS n FROM patients",
    "SELECT sex, disease, COUNT(*) AS n FROM patients GROUP BY ROLLUP (sex, disease)",
    "SELECT COUNT(*) AS n FROM patients WHERE disease LIKE 'm%' OR note ILIKE '%x%'",
    "SELECT COUNT(*) AS n FROM patients WHERE age IN (1, 2) AND sex = 'F' AND note IS NULL",
    "SELECT SUM(CASE WHEN age > 3 THEN age ELSE 0 END) AS n FROM patients",
    "SELECT SUM(CAST(cost AS DECIMAL(9, 1))) AS n FROM patients WHERE TRY_CAST(age AS INT) = 3",
    "SELECT COUNT(*) AS n FROM patients WHERE TRIM(LOWER(note)) = 'a' AND SUBSTRING(note, 1, 2) = 'b'",
    "SELECT COUNT(*) AS n FROM patients WHERE EXTRACT(YEAR FROM born) = 2000 AND ROUND(cost, 1) = 2",
    "SELECT COUNT(*) AS n FROM patients WHERE born + INTERVAL '3' DAY > CAST('2000-01-01' AS DATE)",
    "SELECT COUNT(*) AS n FROM patients WHERE COALESCE(age, 1) = GREATEST(age, 2) AND ABS(age) + 1 = 3",
    "SELECT s.sex, COUNT(*) AS n FROM (SELECT * FROM patients WHERE smoker) AS s GROUP BY s.sex",
    "WITH s AS (SELECT id, MAX(age) AS oldest FROM visits GROUP BY id) SELECT SUM(oldest) AS n FROM s",
    "SELECT w.ward, COUNT(*) AS n FROM patients AS p JOIN wards AS w ON p.sex = w.sex GROUP BY w.ward",
    "SELECT COUNT(*) AS n FROM visits LEFT JOIN stays ON visits.id = stays.id AND stays.days > 3",
    "SELECT COUNT(DISTINCT id) AS n FROM visits",
]

#: Say how something is computed, only name it, or are the parser's own notes: no answer hangs on them.
HARMLESS = {
    ("CTE", "materialized"), ("Count", "big_int"), ("Greatest", "ignore_nulls"), ("Div", "typed"),
    ("Identifier", "quoted"), ("Table", "alias"), ("TableAlias", "this"), ("Column", "table"), ("Ordered", "nulls_first"),
}  # fmt: skip


def meaning(text):
    asked = parse_query(text, CATALOG)
    outputs = [(each.key, each.formula, each.quantile) for each in asked.outputs]
    parts = (asked.inquiry, asked.keys, asked.sets, outputs, asked.quantiles, asked.having)
    return repr((*parts, asked.order, asked.limit, asked.offset)), asked.publics


def fillings(name):
    """Things that a parser might put there."""
    column = exp.column("age")
    found = [True, column, [column.copy()], [exp.alias_(column.copy(), "cost")], exp.Literal.number(1), "LEFT"]
    if name in ("order", "order_by"):
        found.append(exp.Order(expressions=[exp.Ordered(this=column.copy(), desc=True)]))
    if name == "distinct":
        found.append(exp.Distinct())
    return found


def mutants(corpus, *, most):
    """Texts with one more modifier, such as the parser reads back with it; each is tried on so many nodes of a kind."""
    tried = Counter()
    for text in corpus:
        tree = sqlglot.parse_one(text, dialect="duckdb")
        for place, node in enumerate(tree.walk()):
            for name in node.arg_types:
                kind = type(node).__name__, name
                if node.args.get(name) or kind in HARMLESS or tried[kind] >= most:
                    continue
                tried[kind] += 1
                yield from ((text, written, kind) for written in _written(tree, place, name))


def _written(tree, place, name):
    for filling in fillings(name):
        copy = tree.copy()
        node = list(copy.walk())[place]
        node.set(name, filling)
        try:
            written = copy.sql(dialect="duckdb")
            again = sqlglot.parse_one(written, dialect="duckdb")
        except Exception:  # no SQL at all
            continue
        if any(type(each) is type(node) and each.args.get(name) for each in again.walk()):
            yield written


def check(most):
    kinds, meanings = set(), {text: meaning(text) for text in CORPUS}
    for text, written, kind in mutants(CORPUS, most=most):
        kinds.add(kind)
        with suppress(Refused):
            assert meaning(written) != meanings[text] or written == text, f"{written}: {kind} is passed over"
    return kinds


def test_a_modifier_is_refused_or_changes_the_question():
    kinds = check(1)
    assert len(kinds) > 30
    assert {("Star", "except_"), ("Star", "replace"), ("Star", "rename")} <= kinds


@pytest.mark.fuzz
def test_a_modifier_is_refused_or_changes_the_question_wherever_it_stands():
    check(100)


@pytest.mark.parametrize("text", CORPUS)
def test_every_part_of_the_corpus_is_read(text):
    refuse_unread(QueryText(text=text), sqlglot.parse_one(text, dialect="duckdb"))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("select count(* exclude (age)) from patients", "* with EXCLUDE is not supported"),
        ("select count(* replace (age + 1 as age)) from patients", "* with REPLACE is not supported"),
        ("select sum(age) from (select * exclude (age) from visits) s", "* with EXCLUDE is not supported"),
        ("select sum(age) from (select * replace (1 as age) from visits) s", "* with REPLACE is not supported"),
        ("select count(*) from (select * rename (age as old) from visits) s", "* with RENAME is not supported"),
        ("with x using key (a) as (select * from patients) select count(*) from x", "USING KEY is not supported"),
        ("select count(columns(*)) from patients", "columns is not a supported function"),
    ],
)
def test_what_was_passed_over_is_refused(text, reason):
    with pytest.raises(Refused) as refused:
        parse_query(text, CATALOG)
    assert refused.value.reason == reason


@pytest.mark.parametrize(
    "inner",
    [
        "select id, disease as id from visits",
        "select disease as id, id from visits",
        "select disease as id from visits",
        'select id, disease as "ID" from visits',
        "select *, disease as id from visits",
        "select id, disease as id from visits group by 1, 2",
        "select id, max(age) as id from visits group by 1",
    ],
)
@pytest.mark.parametrize("outer", ["select count(distinct id) from ({}) s", "with s as ({}) select count(*) from s"])
def test_no_other_column_has_the_persons_name(inner, outer):
    with pytest.raises(Refused, match="identifies people; another column cannot have that name"):
        parse_query(outer.format(inner), CATALOG)


def test_parts_of_a_composite_person_are_names_of_it_too():
    with pytest.raises(Refused, match="identifies people"):
        parse_query("select count(*) from (select id, site, kind as site from labs) s", CATALOG)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("select sum(age) from (select id as age, age from visits) s", "two columns are named 'age'"),
        ("select disease as id, count(*) from visits group by id", "also the alias of another column"),
        ("select count(distinct id) from visits v join named n on v.sex = n.sex", "a column of several tables"),
        ("select id, count(*) from visits v join named n on v.sex = n.sex group by id", "a column of several tables"),
    ],
)
def test_a_name_means_one_thing(text, reason):
    with pytest.raises(Refused, match=reason):
        parse_query(text, CATALOG)


@pytest.mark.parametrize(
    "text",
    [
        "select count(distinct id) from (select id, disease from visits) s",
        "select count(distinct x) from (select id as x, disease as y from visits) s",
        "select count(distinct id) as id from visits",
        "select disease as id, count(*) from visits group by 1 order by id",
        "select count(distinct n.id), count(distinct v.id) from visits v join named n on v.sex = n.sex",
    ],
)
def test_what_is_clear_is_answered(text):
    parse_query(text, CATALOG)
