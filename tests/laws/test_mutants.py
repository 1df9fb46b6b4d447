"""Bugs that would break the guarantee, planted one by one in the real code: the law of neighbours catches each.

The same questions on the same clinic pass without the bug, so it is the bug that is seen.
"""

from dataclasses import replace
from fractions import Fraction

import pyarrow as pa
import pytest

from discreet.accounting.region import Region, ValueSet
from discreet.accounting.sensitivity import Sensitivity
from discreet.engines import (
    declared_table_sql,
    duckdb_conversion,
    duckdb_declared_table,
    duckdb_person_path,
    duckdb_person_table,
)
from discreet.engines.duckdb import DuckDBEngine
from discreet.engines.ownership import Ownership
from discreet.plan import price as pricing
from discreet.plan import query_sensitivity, real_functions
from discreet.plan.cell_statistics import DistinctCount, PersonCount, Sum
from discreet.plan.expressions import Code, Member, Root, walk
from discreet.schema.column import BooleanColumn, CategoryColumn, NumberColumn, TextColumn
from discreet.schema.privacy_unit import PrivacyUnit
from discreet.schema.schema import Schema
from discreet.sql import joins
from discreet.sql.dialect import DuckDBDialect
from discreet.sql.sql_writer import SqlWriter
from laws.neighbours import Law, Pair
from laws.worlds import NAN, Source, World, table_of

#: Three rows of this are a grain and a half more than a whole number of grains.
WIDE, HALF_A_GRAIN = 2**40 + 2**17, 2**17
VISITS = Schema(
    table="visits",
    columns=(
        CategoryColumn(name="sex", values=("F", "M"), constant=True),
        NumberColumn(name="age", type="integer", low=0, high=12),
        NumberColumn(name="cost", type="decimal", step=Fraction("0.25"), low=-8, high=20),
        NumberColumn(name="debt", type="integer", low=-300, high=7),
        NumberColumn(name="wide", type="integer", low=0, high=WIDE),
        TextColumn(name="note"),
    ),
    unit=PrivacyUnit(person=("pid",), rows=3),
)
BILLS = Schema(
    table="bills",
    columns=(
        CategoryColumn(name="kind", values=("cash", "card"), constant=True),
        NumberColumn(name="amount", type="integer", low=-7, high=7),
        BooleanColumn(name="paid"),
    ),
    unit=PrivacyUnit(person=("pid",), rows=2),
)
REGIONS = Schema(
    table="regions",
    columns=(TextColumn(name="sex"), NumberColumn(name="age", type="integer"), TextColumn(name="region")),
    unit=PrivacyUnit(),
)
#: "a" has more visits than may be, all of them loud, and bills that disagree on what is constant.
LOUD = [
    ("a", "F", 1, 5.0, -300, WIDE, "t"), ("a", "M", 2, 1e9, -300, WIDE, "t"), ("a", "F", 3, 5.0, -900, WIDE, "t"),
    ("a", "F", 4, 1e300, -300, WIDE, "s"), ("a", "M", 5, 5.0, -300, WIDE, "s"),
]  # fmt: skip
QUIET = [
    ("A", "M", 7, 1.0, 0, 0, "u"), ("A", "M", 8, 0.5, 0, 0, "u"), ("A", "F", 9, 0.25, 0, 0, "v"),
    ("A", "M", 10, -3.0, 7, 0, "w"), ("A", None, None, -1.0, 0, 0, "x"), ("b", "F", None, NAN, 3, HALF_A_GRAIN, "u"),
    (None, "F", 6, 2.0, 3, 0, "u"), (None, "F", 6, 2.0, 3, 0, "u"), ("c", None, 0, 0.0, 0, 0, None),
    ("f", "F", 3, 0.0, 0, 0, "u"), ("m", "M", 3, 0.0, 0, 0, "u"),
]  # fmt: skip
PAID = [("a", "cash", 7, True), ("a", "card", 7, False)]
DUE = [("A", "card", -7, True), ("A", "card", 3, None), ("b", "cash", 0, True), ("d", None, 5, False)]
FLOATS = (pa.string(), pa.string(), pa.int64(), pa.float64(), pa.int64(), pa.int64(), pa.string())


def source(schema, rows, types=None):
    names = (*schema.unit.person, *(column.name for column in schema.columns))
    table = table_of(schema, parquet=types is not None, public=schema is REGIONS)
    return Source(table=table, names=names, rows=tuple(rows), types=types)


CLINIC = World(
    sources={"visits": source(VISITS, [*QUIET[:4], *LOUD, *QUIET[4:]], FLOATS), "bills": source(BILLS, [*PAID, *DUE])},
    publics={"regions": source(REGIONS, [(sex, age, "north") for age in range(1, 6) for sex in "FM"])},
    without={"visits": (*reversed(QUIET),), "bills": tuple(DUE)},
    person=("a",),
)
QUESTIONS = [
    "SELECT count(*) FROM visits",
    "SELECT age, count(*), count(DISTINCT pid) FROM visits GROUP BY age",
    "SELECT sum(cost), avg(cost), sum(debt), avg(debt) FROM visits",
    "SELECT sum(wide) FROM visits",
    "SELECT sum(cost) FROM (SELECT cost * 4 AS cost FROM visits) v",
    "SELECT sum(cost) FROM (SELECT age * debt AS cost FROM visits) v",
    "SELECT count(*) FILTER (WHERE sex = 'F'), count(*) FILTER (WHERE sex = 'M'), sum(age) FROM visits",
    "SELECT count(*) FILTER (WHERE sex = 'F'), sum(age) FILTER (WHERE sex = 'F') FROM visits",
    "SELECT count(*) FROM visits WHERE sex = 'F'",
    "SELECT count(*) FROM visits WHERE sex = 'M'",
    "SELECT count(*) FROM visits WHERE age <= 2",
    "SELECT kind, count(DISTINCT pid) FROM bills GROUP BY kind",
    "SELECT count(DISTINCT age), count(DISTINCT note) FROM visits",
    "SELECT count(*) FROM visits v JOIN regions r ON v.sex = r.sex",
    "SELECT count(*) FROM visits v LEFT JOIN regions r ON v.age = r.age",
    "SELECT r.sex, count(*) FROM visits v LEFT JOIN regions r ON v.age = r.age WHERE r.sex = 'F' GROUP BY r.sex",
    "SELECT sum(b.amount), count(*) FROM visits v JOIN bills b ON v.pid = b.pid",
    "SELECT count(*) FROM visits v LEFT JOIN bills b ON v.pid = b.pid",
    "SELECT avg(n), sum(s), count(*) FROM (SELECT pid, count(*) n, sum(age) s FROM visits GROUP BY pid) q",
    "SELECT k, count(*) FROM (SELECT pid, age AS k, count(*) n FROM visits GROUP BY pid, age) q GROUP BY k",
    "SELECT count(*) FROM (SELECT pid, sum(amount) s FROM bills GROUP BY pid HAVING count(*) > 1) q",
    "SELECT sex, paid, count(*) FROM visits v JOIN bills b ON v.pid = b.pid GROUP BY CUBE (sex, paid)",
    "SELECT sex, age, count(*), sum(age) FROM visits GROUP BY ROLLUP (sex, age)",
    "SELECT note, count(*) FROM visits GROUP BY note",
    "SELECT median(age), quantile(cost, 0.25) FROM visits",
    "SELECT sum(ln(1 + wide)), sum(sqrt(cost)), sum(exp(cost / 40)), sum(exp(wide / 1e12)) FROM visits",
    "SELECT weighted_avg(debt, age), weighted_avg(age, greatest(cost, 0)), geomean(age), regr_r2(age, cost) FROM visits",
    "SELECT age, count(*) / sum(count(*)) OVER (), sum(count(*)) OVER (ORDER BY age) FROM visits GROUP BY age",
]


#: The place of the question that sees each bug: it is asked first, and the others after it.
SEEN_BY = {
    "public_fan_out_taken_for_one": 13, "fan_out_of_a_left_join_ignored": 14,
    "a_join_on_the_person_that_does_not_multiply": 16, "what_a_join_on_the_person_brings_taken_for_constant": 21,
    "one_row_a_person_however_many_keys": 19, "a_region_narrowed_by_what_is_not_constant": 10,
    "a_region_narrowed_by_a_joined_column_of_the_same_name": 15, "a_region_of_the_first_filter_alone": 6,
    "a_region_narrower_than_the_question": 9, "a_region_narrower_than_the_question_and_not_written": 7,
    "a_logarithm_that_claims_too_little": 25, "a_root_that_claims_too_little": 25,
    "a_root_that_is_not_rounded_down": 25, "one_binary_digit_too_many": 25, "different_values_taken_for_one": 12,
    "persons_taken_to_be_in_one_group": 1, "a_sum_bounded_by_half_its_range": 2, "a_sum_bounded_by_its_upper_end": 2,
    "bounds_from_before_a_redefinition": 5, "the_rounding_of_grains_forgotten": 3,
    "grouping_sets_that_each_get_all_of_epsilon": 1, "a_quantile_of_one_row": 24, "one_key_a_person": 1,
    "persons_counted_as_rows": 11, "a_key_that_counts_rows_and_not_persons": 23, "the_centre_ignored": 2,
    "a_filter_that_is_not_written": 6, "one_row_for_all_persons": 18, "an_inner_having_that_is_not_applied": 20,
    "null_taken_for_the_first_key": 1,
}  # fmt: skip


@pytest.fixture(scope="module")
def engine(quick_files):
    engine = DuckDBEngine(threads=1)
    yield engine
    engine.close()


@pytest.fixture(scope="module")
def clinic(tmp_path_factory, engine):
    return Pair.make(CLINIC, tmp_path_factory.mktemp("clinic"), engine)


def questions(pair, *, weigh=True, first=0):
    law = Law(weigh=weigh)
    for text in [*QUESTIONS[first:], *QUESTIONS[:first]]:
        law.ask(pair, text)


@pytest.fixture
def first(request):
    return SEEN_BY.get(request.node.name.removeprefix("test_"), 0)


@pytest.fixture
def asking(clinic, first):
    """Questions about a clinic that was declared without a bug."""
    return lambda: questions(clinic, first=first)


@pytest.fixture
def declaring(tmp_path, engine, first):
    """The clinic declared, and questions about it."""
    return lambda: questions(Pair.make(CLINIC, tmp_path, engine), first=first)


def test_without_a_bug_all_pass(declaring):
    declaring()


def caught(check, word=""):
    with pytest.raises(AssertionError) as found:
        check()
    assert word in str(found.value), str(found.value)


# Bugs in the making of declared tables


def test_a_clamp_left_out(declaring, monkeypatch):
    monkeypatch.setattr(declared_table_sql, "_filled", lambda column, place: f"raw_{place}")
    wide = replace(
        duckdb_declared_table.FORMS, storage=lambda column: "VARCHAR" if isinstance(column, TextColumn) else "BIGINT"
    )
    monkeypatch.setattr(duckdb_declared_table, "FORMS", wide)
    monkeypatch.setattr(duckdb_declared_table, "arrow_schema", _wide)
    caught(declaring)


def _wide(schema):
    columns = [
        (column.name, pa.string() if isinstance(column, TextColumn) else pa.int64()) for column in schema.columns
    ]
    return pa.schema([*columns, ("discreet:person", pa.int32())])


def test_truncation_left_out(declaring, monkeypatch):
    monkeypatch.setattr(Ownership, "unit", property(lambda self: replace(self.table.schema.unit, rows=1000)))
    caught(declaring)


def test_truncation_by_the_order_of_rows(declaring, monkeypatch):
    monkeypatch.setattr(
        duckdb_person_table, "digest_sql", lambda *parts: "lpad(CAST(row_number() OVER () AS VARCHAR), 20, '0')"
    )
    caught(declaring)


def test_constants_that_are_not_enforced(declaring, monkeypatch):
    monkeypatch.setattr(duckdb_person_table, "disagree_sql", lambda value: "false")
    caught(declaring)


def test_nan_passed_through(declaring, monkeypatch):
    """NaN is the largest of all floats, so that it would be clamped to the upper bound."""
    known = duckdb_conversion.raw_sql

    def passed(column, value, kind, *, code="NULL"):
        told = known(column, value, kind, code=code)
        return f"CASE WHEN CAST({value} AS VARCHAR) = 'nan' THEN 99 ELSE {told} END" if column.name == "cost" else told

    monkeypatch.setattr(duckdb_declared_table, "FORMS", replace(duckdb_declared_table.FORMS, raw=passed))
    caught(declaring)


def test_ids_that_differ_by_case_taken_for_one(declaring, monkeypatch):
    known = duckdb_person_path.source_key

    def blind(*words, **marks):
        return tuple(replace(part, sql=f"lower({part.sql})") for part in known(*words, **marks))

    monkeypatch.setattr(duckdb_person_path, "source_key", blind)
    caught(declaring)


def test_rows_of_nobody_taken_for_a_person_s(declaring, monkeypatch):
    known = duckdb_person_path.source_key

    def filled(*words, **marks):
        return tuple(replace(part, sql=f"coalesce({part.sql}, 'b')") for part in known(*words, **marks))

    monkeypatch.setattr(duckdb_person_path, "source_key", filled)
    caught(declaring)


# Bugs in how far a unit reaches


def reaching(monkeypatch, name, change):
    """Let a function of `query_sensitivity` that makes a Reach return a changed one."""
    known = getattr(query_sensitivity, name)
    monkeypatch.setattr(query_sensitivity, name, lambda *parts: change(known(*parts), *parts))


def test_public_fan_out_taken_for_one(asking, monkeypatch):
    known = joins.code_for_join
    monkeypatch.setattr(joins, "code_for_join", lambda *parts, **more: replace(known(*parts, **more), fan_out=1))
    caught(asking)


def test_fan_out_of_a_left_join_ignored(asking, monkeypatch):
    reaching(
        monkeypatch, "_public", lambda found, plan, inner: replace(found, rows=inner.rows) if plan.outer else found
    )
    caught(asking)


def test_a_join_on_the_person_that_does_not_multiply(asking, monkeypatch):
    reaching(monkeypatch, "_person", lambda found, plan, inner, other: replace(found, rows=max(inner.rows, other.rows)))
    caught(asking)


def test_what_a_join_on_the_person_brings_taken_for_constant(asking, monkeypatch):
    def constant(found, plan, inner, other):
        return replace(found, constant=found.constant | {name for name, _ in plan.columns})

    reaching(monkeypatch, "_person", constant)
    caught(asking)


def test_one_row_a_person_however_many_keys(asking, monkeypatch):
    reaching(monkeypatch, "_per_person", lambda found, plan, inner: replace(found, rows=1))
    caught(asking)


def test_a_region_narrowed_by_what_is_not_constant(asking, monkeypatch):
    def all_names(found, schema):
        return replace(found, narrowing=frozenset(column.name for column in schema.columns))

    reaching(monkeypatch, "_scan", all_names)
    caught(asking, "half")


def test_a_region_narrowed_by_a_joined_column_of_the_same_name(asking, monkeypatch):
    known = query_sensitivity._widened

    def blind(predicate, names):
        if isinstance(predicate, Member) and predicate.column.endswith(".sex"):
            return Member("sex", predicate.allowed)
        return known(predicate, names)

    monkeypatch.setattr(query_sensitivity, "_widened", blind)
    caught(asking)


def test_a_region_of_the_first_filter_alone(asking, monkeypatch):
    known = pricing.region
    monkeypatch.setattr(pricing, "region", lambda statistics, reach: known(statistics[:1], reach))
    caught(asking)


def narrower(monkeypatch, code):
    """Let regions hold one value of each side alone."""
    known = query_sensitivity.narrowed_region

    def less(predicate, names):
        boxes = known(predicate, names).boxes
        return Region(tuple(replace(box, sides={name: ValueSet.of([code]) for name in box.sides}) for box in boxes))

    monkeypatch.setattr(query_sensitivity, "narrowed_region", less)


def test_a_region_narrower_than_the_question(asking, monkeypatch):
    """It is ANDed to what is counted, so that this mistake costs an answer, not a person."""
    narrower(monkeypatch, 0)
    caught(asking, "reference")


def test_a_region_narrower_than_the_question_and_not_written(asking, monkeypatch):
    """Not to write it costs nothing alone; with the other mistake it is a person who is not charged."""
    monkeypatch.setattr(SqlWriter, "_sides", lambda self, region: [])
    asking()
    narrower(monkeypatch, 1)
    caught(asking, "outside the region")


# Bugs in what an expression says of its values


def test_a_logarithm_that_claims_too_little(asking, monkeypatch):
    """The largest one taken for that of half the bound."""
    known = real_functions._clamped

    def claiming(number, low, high):
        found = known(number, low, high)
        object.__setattr__(found, "high", high * 9 // 10)
        return found

    monkeypatch.setattr(real_functions, "_clamped", claiming)
    caught(asking)


def test_a_root_that_claims_too_little(asking, monkeypatch):
    known = Root.__post_init__

    def claiming(self):
        known(self)
        object.__setattr__(self, "high", self.high // 2)

    monkeypatch.setattr(Root, "__post_init__", claiming)
    caught(asking)


def test_a_root_that_is_not_rounded_down(asking, monkeypatch):
    """Another value than the reference's, in one engine."""
    monkeypatch.setattr(DuckDBDialect, "root", lambda self, number: f"CAST(ceil(sqrt({number})) AS BIGINT)")
    caught(asking, "reference")


def test_one_binary_digit_too_many(asking, monkeypatch):
    monkeypatch.setattr(DuckDBDialect, "bit_length", lambda self, number: f"(length(bin({number})) + 1)")
    caught(asking, "reference")


# Bugs in how far a statistic moves


def moving(monkeypatch, kind, change):
    """Let the sensitivity of one kind of statistic be a changed one."""
    known = pricing.sensitivity

    def changed(statistic, reach, *, touched):
        found = known(statistic, reach, touched=touched)
        return change(found, statistic, reach) if isinstance(statistic, kind) else found

    monkeypatch.setattr(pricing, "sensitivity", changed)


ONE = Sensitivity(l0=1, l1=1, l2_squared=1, linf=1, because=())


def test_different_values_taken_for_one(asking, monkeypatch):
    moving(monkeypatch, DistinctCount, lambda found, *_: ONE)
    caught(asking, "DistinctCount")


def test_persons_taken_to_be_in_one_group(asking, monkeypatch):
    moving(monkeypatch, PersonCount, lambda found, *_: ONE)
    caught(asking, "PersonCount")


def terms(monkeypatch, change):
    monkeypatch.setattr(query_sensitivity, "term_of", change)


def test_a_sum_bounded_by_half_its_range(asking, monkeypatch):
    """As if it were centred: right for -7 to 7, lost by a factor of 2 from 0 to 12."""
    terms(monkeypatch, lambda statistic: max(1, (statistic.of.high - statistic.of.low) // 2))
    caught(asking, "Sum")


def test_a_sum_bounded_by_its_upper_end(asking, monkeypatch):
    terms(monkeypatch, lambda statistic: max(1, abs(statistic.of.high - statistic.centre)))
    caught(asking, "Sum")


def test_bounds_from_before_a_redefinition(asking, monkeypatch):
    """`cost * 4 AS cost` is still as large as `cost` was."""

    def before(statistic):
        code = next(part for part in walk(statistic.of) if isinstance(part, Code))
        return max(1, abs(code.low - statistic.centre), abs(code.high - statistic.centre))

    terms(monkeypatch, before)
    caught(asking, "Sum")


def test_the_rounding_of_grains_forgotten(asking, monkeypatch):
    def floored(found, statistic, reach):
        if statistic.grain == 1:
            return found
        most = reach.rows * query_sensitivity.term_of(statistic) // statistic.grain
        return Sensitivity(l0=1, l1=most, l2_squared=most**2, linf=most, because=())

    moving(monkeypatch, Sum, floored)
    caught(asking, "grain")


def test_grouping_sets_that_each_get_all_of_epsilon(asking, monkeypatch):
    monkeypatch.setattr(pricing, "split", lambda blocks, *, gaussian: dict.fromkeys(blocks, Fraction(1)))
    monkeypatch.setattr(Law, "_affordable", lambda *parts, **more: None)  # it would see it, too, by the event alone
    caught(asking, "together")


def test_a_quantile_of_one_row(asking, monkeypatch):
    known = pricing.QuantileChoice

    class OneRow(known):
        def __new__(cls, **words):
            return known(**{**words, "rows": 1})

    monkeypatch.setattr(pricing, "QuantileChoice", OneRow)
    caught(asking, "scores")


def test_one_key_a_person(asking, monkeypatch):
    monkeypatch.setattr(pricing, "cells_touched", lambda keys, reach, *, groups=None: 1)
    caught(asking)


# Bugs in the SQL that is written


def rewriting(monkeypatch, *changes):
    """Change the text of every count."""

    def changed(*parts, known=SqlWriter.count):
        text = known(*parts)
        for old, new in changes:
            text = text.replace(old, new)
        return text

    monkeypatch.setattr(SqlWriter, "count", changed)


def test_persons_counted_as_rows(asking, monkeypatch):
    rewriting(monkeypatch, ('count(DISTINCT "discreet:person")', "count(*)"))
    caught(asking, "PersonCount")


def test_a_key_that_counts_rows_and_not_persons(clinic, monkeypatch):
    known = SqlWriter.keys
    monkeypatch.setattr(SqlWriter, "keys", lambda *parts, **more: known(*parts, **{**more, "persons": False}))
    caught(lambda: questions(clinic, weigh=False))


def test_the_centre_ignored(asking, monkeypatch):
    known = SqlWriter.count

    def plain(self, cells, region):
        centred = (replace(each, centre=0) if isinstance(each, Sum) else each for each in cells.statistics)
        return known(self, replace(cells, statistics=tuple(centred)), region)

    monkeypatch.setattr(SqlWriter, "count", plain)
    caught(asking, "Sum")


def test_a_filter_that_is_not_written(asking, monkeypatch):
    monkeypatch.setattr(SqlWriter, "_filter", lambda self, where: "")
    caught(asking)


def test_one_row_for_all_persons(asking, monkeypatch):
    """An inner GROUP BY of the keys alone."""
    known = SqlWriter._per_person

    def mixed(self, plan, region):
        text = known(self, plan, region).replace(
            'SELECT "discreet:person"', 'SELECT min("discreet:person") AS "discreet:person"'
        )
        listed = ", ".join(str(place + 2) for place in range(len(plan.keys)))
        grouped = ", ".join(str(place + 1) for place in range(len(plan.keys) + 1))
        return text.replace(f"GROUP BY {grouped}", f"GROUP BY {listed}" if listed else "")

    monkeypatch.setattr(SqlWriter, "_per_person", mixed)
    caught(asking)


def test_an_inner_having_that_is_not_applied(asking, monkeypatch):
    known = SqlWriter._relation

    def dropped(self, plan, region):
        found = known(self, plan, region)
        inner = isinstance(plan, query_sensitivity.Filter) and isinstance(plan.source, query_sensitivity.PerPerson)
        return replace(found, conditions=()) if inner else found

    monkeypatch.setattr(SqlWriter, "_relation", dropped)
    caught(asking)


def test_null_taken_for_the_first_key(asking, monkeypatch):
    known = SqlWriter._place

    def first(self, axis):
        text = known(self, axis)
        return text.replace(f", {axis.size - 1})", ", 0)") if axis.null else text

    monkeypatch.setattr(SqlWriter, "_place", first)
    caught(asking)
