"""The two attacks by running time, what is refused around them, and the ways out."""

import pytest

from discreet.errors import Refused
from discreet.plan.expressions import Code, Like, Lower, Over, Plus, TextCode, Whole
from discreet.plan.work_bound import MOST_WORK_NS, RowWork, expression_work, unit_work
from discreet.schema.column import MOST_TEXT, CategoryColumn, NumberColumn, TextColumn
from discreet.schema.privacy_unit import PrivacyUnit
from discreet.schema.schema import Schema
from discreet.sql.catalog import CatalogTable, PublicTable
from discreet.sql.query_parser import parse_batch, parse_query
from tiers import size

COLUMNS = (
    NumberColumn(name="age", type="integer", low=0, high=120),
    NumberColumn(name="cost", type="integer", low=0, high=10_000),
    CategoryColumn(name="disease", values=("flu", "mumps")),
    TextColumn(name="note"),
)


def catalog(rows=20, public=1000):
    """Visits of persons (of rows, for rows=None), a public table of one key, and one with a row for each age."""
    unit = PrivacyUnit() if rows is None else PrivacyUnit(person=("pid",), rows=rows)
    found = {"visits": CatalogTable(schema=Schema(table="visits", columns=COLUMNS, unit=unit), population="people")}
    for name, keys in (("ones", [1] * public), ("ages", list(range(121)))):
        columns = (
            NumberColumn(name="k", type="integer", low=0, high=120),
            NumberColumn(name="v", type="integer", low=0, high=max(public, 121)),
        )
        table = PublicTable(name=name, columns=columns, codes={"k": tuple(keys), "v": tuple(range(len(keys)))})
        schema = Schema(table=name, columns=columns, unit=PrivacyUnit())
        found[name] = CatalogTable(schema=schema, public=lambda table=table: table)
    return found


def listed(number, form):
    return ", ".join(f"{form(place)} AS c{place}" for place in range(number))


ISOLATED = "v.age = 97 AND v.disease = 'flu'"


@pytest.mark.parametrize("rows", [None, 1, 20])
def test_a_public_table_joined_twice_on_a_constant(rows):
    """One row becomes a million, and hundreds of expressions run on each."""
    sums = listed(200, lambda place: f"sum((v.cost + o.v * {place}) % 77)")
    joins = "JOIN ones o ON 1 = o.k JOIN ones p ON 1 = p.k"
    with pytest.raises(Refused) as told:
        parse_query(f"SELECT {sums} FROM visits v {joins} WHERE {ISOLATED}", catalog(rows))
    assert "the running time would reveal" in told.value.reason
    assert "one row joins up to 1,000 rows of 'ones'" in told.value.hint
    parse_query(f"SELECT {listed(50, lambda place: f'sum(v.cost + o.v * {place})')} FROM visits v "
         f"JOIN ages o ON v.age = o.k WHERE {ISOLATED}", catalog(1))  # fmt: skip


def test_self_joins_on_the_person():
    joins = " ".join(f"JOIN visits x{turn} ON v.pid = x{turn}.pid" for turn in range(4))
    with pytest.raises(Refused) as told:
        parse_query(f"SELECT sum(v.cost) FROM visits v {joins} WHERE {ISOLATED}", catalog(20))
    assert "3,200,000 rows" in told.value.reason
    assert "group by person before you join" in told.value.hint
    grouped = " ".join(
        f"JOIN (SELECT pid, count(*) AS n FROM visits GROUP BY pid) x{turn} ON v.pid = x{turn}.pid" for turn in range(4)
    )
    parse_query(f"SELECT sum(v.cost) FROM visits v {grouped} WHERE {ISOLATED}", catalog(20))


@pytest.mark.parametrize(
    ("rows", "question"),
    [
        (1, f"SELECT {listed(400, lambda i: f'count(*) FILTER (WHERE cost % {i + 9} = 1)')} FROM visits"),
        (1, f"SELECT {listed(50, lambda i: f'count(DISTINCT cost + {i})')} FROM visits"),
        (100, f"SELECT {listed(3, lambda i: f'count(DISTINCT lower(substr(note, {i + 1})))')} FROM visits"),
        (10_000, f"SELECT {listed(9, lambda i: f'sum(cost * age + {i})')} FROM visits"),
        (20, f"SELECT {listed(40, lambda i: f'median(cost + {i} * age)')} FROM visits GROUP BY CUBE (disease, age)"),
        (1000, f"SELECT sum(n0) FROM (SELECT pid, {', '.join(f'max(cost % {i + 9}) AS n{i}' for i in range(400))} "
             "FROM visits GROUP BY pid) p JOIN visits v ON v.pid = p.pid"),
    ],
)  # fmt: skip
def test_much_work_without_a_join(rows, question):
    with pytest.raises(Refused, match="of computing to this query"):
        parse_query(question, catalog(rows))


@pytest.mark.parametrize(
    ("rows", "question"),
    [
        (1000, "SELECT disease, count(*), avg(age), sum(cost) FROM visits WHERE age > 30 GROUP BY disease"),
        (100, "SELECT disease, avg(cost), stddev(cost), median(cost) FROM visits GROUP BY CUBE (disease, age)"),
        (20, "SELECT count(*) FROM visits WHERE lower(note) LIKE '%pain%'"),
        (20, "SELECT count(*) FROM visits a JOIN visits b ON a.pid = b.pid WHERE a.age < b.age"),
        (1000, "SELECT o.v, count(*) FROM visits v JOIN ages o ON v.age = o.k GROUP BY o.v"),
        (10_000, "SELECT avg(n) FROM (SELECT pid, count(*) AS n FROM visits GROUP BY pid)"),
    ],
)
def test_what_people_ask_is_accepted(rows, question):
    found = parse_query(question, catalog(rows))
    assert 0 < unit_work(found.inquiry, found.schemas) <= MOST_WORK_NS


def test_a_batch_is_refused_for_all_that_it_measures_together():
    """Each statement alone is small; what they share is counted in one pass."""
    parts = [f"SELECT {listed(90, lambda i, t=turn: f'count(*) FILTER (WHERE cost % {9 + i + 90 * t} = 1)')} FROM visits"
             for turn in range(5)]  # fmt: skip
    for part in parts[: size(1, 5)]:
        parse_query(part, catalog(1))
    with pytest.raises(Refused, match="of computing to this query"):
        parse_batch(";\n".join(parts), catalog(1))


def test_operands_that_are_written_several_times_are_counted_so():
    cost, note = Code("cost", -5, 5, null=False), TextCode("note")
    twice = Over(Plus(Like(note, "%a%"), cost), Plus(cost, Whole(-9)))
    assert expression_work(twice).characters == 3 * expression_work(Like(note, "%a%")).characters
    assert expression_work(Lower(note)) == RowWork(operators=2, characters=MOST_TEXT, letters=MOST_TEXT)
    assert expression_work(Like(note, f"%{'a' * 99}%b%")).characters > 99 * MOST_TEXT


def test_work_on_rows():
    assert RowWork(operators=1).on(10) < RowWork(operators=1).on(10_000) < RowWork(operators=2).on(10_000)
    assert RowWork(operators=1, letters=1000).on(1) > RowWork(operators=1).on(1)


def test_a_public_table_so_large_that_hashing_it_takes_time():
    """An engine hashes it only when there is a row to meet it."""
    question = "SELECT count(*) FROM visits v JOIN ones o ON v.cost = o.v"
    parse_query(question, catalog(1, public=size(5_000, 50_000)))
    with pytest.raises(Refused) as told:
        parse_query(question, catalog(1, public=150_000))
    assert "join only those you need" in told.value.hint
