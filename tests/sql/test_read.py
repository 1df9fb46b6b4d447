"""Reading questions: what passes, what is refused, where the caret points, and that NULL logic is SQL's."""

import sqlite3
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import Refused
from discreet.plan.cell_statistics import DistinctCount, PersonCount, RowCount, Sum
from discreet.plan.predicate import TRUE, holds
from discreet.plan.price import region_of
from discreet.plan.relation import Filter, JoinPerson, JoinPublic, PerPerson
from discreet.schema.column import CategoryColumn
from discreet.schema.project_file import read_table
from discreet.sql.catalog import CatalogTable, PublicTable
from discreet.sql.function_names import FUNCTIONS
from discreet.sql.query_parser import parse_batch, parse_query
from tiers import examples

COLUMNS = {
    "age": {"type": "integer", "low": 0, "high": 120},
    "disease": {"type": "category", "values": ["mumps", "flu", "allergy"]},
    "sex": {"type": "category", "values": ["F", "M"], "closed": True},
    "smoker": {"type": "boolean"},
    "cost": {"type": "decimal", "low": 0, "high": 20000, "step": "0.01", "bins": 4},
    "born": {
        "type": "date",
        "low": "1900-01-01",
        "high": "2026-12-31",
        "edges": ["1900-01-01", "1950-01-01", "2026-12-31"],
    },
    "seen": {"type": "timestamp"},
    "note": {"type": "text"},
    "Odd Name": {"type": "integer"},
}
SCHEMA = read_table("patients", {"source": "p.csv", "columns": COLUMNS}).schema
PERSONS = read_table("visits", {"source": "v.csv", "person": "id", "rows_per_person": 3, "columns": COLUMNS}).schema
VISITS = read_table("visits", {"source": "v.csv", "person": "id", "rows_per_person": 3, "columns": COLUMNS}).schema
LABS = read_table(
    "labs",
    {
        "source": "l.csv",
        "person": ["id", "site"],
        "rows_per_person": 5,
        "columns": {
            "result": {"type": "integer", "low": -5, "high": 50},
            "kind": {"type": "category", "values": ["a", "b"], "constant": True},
        },
    },
).schema
STAYS = read_table(
    "stays",
    {
        "source": "s.csv",
        "person": "id",
        "rows_per_person": 2,
        "columns": {"days": {"type": "integer", "low": 0, "high": 9}},
    },
).schema
PUBLIC = read_table("wards", {"source": "w.csv", "public": True, "columns": {"code": {"type": "text"}}}).schema
WARDS = PublicTable(
    name="wards",
    columns=(CategoryColumn(name="sex", values=("F", "M", "X")), CategoryColumn(name="ward", values=("east", "west"))),
    codes={"sex": (0, 0, 1, 2, None), "ward": (0, 1, 1, 0, 0)},
)
CATALOG = {
    "patients": CatalogTable(schema=SCHEMA, population="patients"),
    "visits": CatalogTable(schema=VISITS, population="people"),
    "stays": CatalogTable(schema=STAYS, population="people"),
    "labs": CatalogTable(schema=LABS, population="people"),
    "wards": CatalogTable(schema=PUBLIC, public=lambda: WARDS),
}


def reading(text):
    return parse_query(text, CATALOG)


def where_of(asked):
    return asked.inquiry.plan.where if isinstance(asked.inquiry.plan, Filter) else TRUE


def region(text):
    asked = reading(text)
    return region_of(asked.inquiry, asked.reach)


ACCEPTED = [
    "SELECT count(*) FROM patients",
    "select COUNT(1) from PATIENTS",
    "select count(*) from patients where age > 20;",
    "select count(*) as n from patients p where p.age between 20 and 30",
    "select disease, count(*) from patients group by disease",
    "select disease, count(*) from patients group by 1",
    "select disease d, count(*) from patients group by d",
    "select count(*) from patients group by sex",
    "select floor(age / 10) * 10 as decade, count(*) from patients group by decade",
    "select cost, sex, count(*) n from patients where not (smoker or age is null) group by cost, sex",
    "select born, count(*) from patients where born >= DATE '1960-01-01' group by born",
    "select count(*) from patients where seen < TIMESTAMP '2020-01-01 12:00:00'",
    "select count(*) from patients where note = 'it''s' or note > 'b'",
    'select count(*) from patients where "Odd Name" = -3',
    "select count(*) from patients where disease in ('flu', NULL) -- a comment",
    "select count(*) from patients where 20 < age and true",
    "select avg(age), sum(cost), count(age), count(distinct age), count(distinct note) from patients",
    "select variance(age), var_pop(age), stddev(age), stddev_pop(age), stddev_samp(age) from patients",
    "select corr(age, cost), covar_pop(age, cost), covar_samp(age, cost) from patients",
    "select regr_slope(cost, age), regr_intercept(cost, age) from patients",
    "select min(age), max(cost), median(age), quantile(age, 0.25), quantile_cont(age, 0.5) from patients",
    "select percentile_cont(0.9) within group (order by age), median(born) from patients",
    "select count(*) filter (where age > 3), sum(cost) filter (where smoker) from patients",
    "select avg(smoker), sum(cost) / count(*), round(avg(age), 1), count(*) + 1, 1 from patients",
    "select sum(age * cost), avg(least(cost, 5000)), sum(case when smoker then cost else 0 end) from patients",
    "select avg(coalesce(age, 0)), sum(abs(age - 50)), avg(length(disease)) from patients",
    "select lower(disease), count(*) from patients group by lower(disease)",
    "select extract(year from born) y, count(*) from patients group by y",
    "select date_trunc('month', born) m, count(*) from patients group by m",
    "select note, count(*) from patients group by note",
    "select note, sex, avg(age) from patients group by note, sex",
    "select distinct note from patients",
    "select note, count(*) n from patients group by note order by n desc limit 10",
    "select sex, disease, count(*) from patients group by rollup (sex, disease)",
    "select sex, grouping(sex), count(*) from patients group by cube (sex, smoker)",
    "select count(*) from patients group by grouping sets ((sex, disease), (sex), ())",
    "select sex, count(*) n from patients group by all having n > 10 and avg(age) < 50 order by n desc, sex limit 1",
    "with old as (select sex, age - 60 as over from patients where age > 60) select sex, avg(over) from old group by sex",
    "select count(*) from (select * from (select age a from patients) where a > 3) q where q.a < 9",
    "select count(*), count(distinct id), count(distinct person), avg(age) from visits",
    "select avg(n) from (select id, count(*) n from visits group by id)",
    "select n, count(*) from (select id i, count(*) n, sum(cost) c from visits group by id having sum(cost) > 10) group by n",
    "select count(*) from (select distinct id from visits where age > 30)",
    "select avg(days) from visits v join stays s on v.id = s.id where v.age > 30",
    "select count(*) from visits left join stays using (id)",
    "select avg(c) from stays s join (select id, avg(cost) c from visits group by id) v on v.id = s.id",
    "select count(distinct (id, site)), avg(result) from labs",
    "select ward, count(*) from patients p join wards w on p.sex = w.sex group by ward",
    "select ward, count(*) from wards w join patients p on w.sex = p.sex group by ward",
    "select ward, avg(age) from patients left join wards using (sex) group by ward",
    "select count(*) from patients where age = age and age + 1 = 3 and note like 'a%' and age < cost",
]


@pytest.mark.parametrize("text", ACCEPTED)
def test_accepted(text):
    asked = reading(text)
    assert asked.table in CATALOG
    assert asked.inquiry.question() == reading(text).inquiry.question()


REFUSED = {
    "SELECT disease FROM patients WHERE age = 22": ("would show rows", 8),
    "select * from patients": ("rows of people", 8),
    "select p.* from patients p": ("", 8),
    "select count(*) over () from patients": ("window", 8),
    "select sum(cost) over () from patients": ("window", 8),
    "select sex from patients group by sex": ("needs a count", 1),
    "select sex, count(*) from patients": ("would show rows", 8),
    "select age, sex, count(*) from patients group by sex": ("is not in GROUP BY", 8),
    "select sum(note) from patients": ("only numbers", 12),
    "select sum(seen) from patients": ("only numbers", 12),
    'select sum("Odd Name") from patients': ("needs bounds", 12),
    'select avg("Odd Name" + 1) from patients': ("no declared bounds", 12),
    "select max(note) from patients": ("a quantile needs", 12),
    "select median(seen) from patients": ("a quantile needs", 8),
    "select quantile(age, 2) from patients": ("from 0 to 1", 22),
    "select quantile(age, age) from patients": ("literal", 22),
    "select max(age) - min(age) from patients": ("cannot be part of an expression", 12),
    "select mode(age) from patients": ("aggregate is not supported", 8),
    "select sum(distinct age) from patients": ("DISTINCT", 8),
    "select array_agg(age) from patients": ("aggregate is not supported", 8),
    "select string_agg(note, ',') from patients": ("aggregate is not supported", 19),
    "select first(age) from patients": ("aggregate is not supported", 8),
    "select age + count(*) from patients group by age": ("mixed with aggregates", 8),
    "select sqrt(age) from patients": ("", 13),
    "select count(*) from patiens": ("no declared table", 22),
    "select count(*) from main.patients": ("not supported", 22),
    "select count(*) from wards": ("public", 22),
    "select count(*) from patients, visits": ("ON or USING", 32),
    "select count(*) from patients cross join visits": ("only JOIN", 42),
    "select count(*) from patients natural join visits": ("only JOIN", 44),
    "select count(*) from patients join visits on true": ("within one population", 36),
    "select count(*) from visits v full join stays s on v.id = s.id": ("only JOIN", 41),
    "select count(*) from visits v join stays s on v.age = s.days": ("on the person column", 47),
    "select count(*) from visits v join stays s on v.id > s.id": ("on the person column", 47),
    "select count(*) from labs l join visits v on l.id = v.id": ("on the person column", 46),
    "select count(*) from patients p join wards w on p.sex = w.colour": ("a column of 'wards'", 57),
    "select count(*) from patients p join wards w on p.sex > w.sex": ("needs an equality", 49),
    "select count(*) from visits v join stays v on v.id = v.id": ("same name", 36),
    "select days, count(*) from visits v join stays s on v.id = s.id group by age, days, age having x > 1": ("", 96),
    "select count(*) from read_csv('x')": ("declared tables", 22),
    "select count(*) from patients tablesample 10%": ("not supported", 22),
    "select count(*)": ("needs a table", 1),
    "select max() from patients": ("missing an argument", 1),
    "select count() from patients": ("", 8),
    "select regr_slope(age) from patients": ("missing an argument", 8),
    "select count(*) from patients where agee = 3": ("no declared column", 37),
    "select count(*) from patients where x.age = 3": ("no table 'x'", 37),
    "select count(*) from patients where disease = 'flue'": ("not a declared value", 37),
    "select count(*) from patients where age = 'old'": ("compared with text", 37),
    "select count(*) from patients where smoker > true": ("declared boolean", 37),
    "select count(*) from patients where born = 'soon'": ("is not a date", 37),
    "select count(*) from patients where note = 3": ("declared text", 37),
    "select count(*) from patients where random() < 3": ("randomness", 37),
    "select count(*) from patients where age": ("not boolean", 37),
    "select count(*) from patients where age in (select 1)": ("IN takes a list", 37),
    "select count(*) from patients where exists (select 1)": ("EXISTS", 52),
    "select count(*) from patients where age = (select max(age) from patients)": ("", 55),
    "select count(*) from patients where age > 500": ("no row can satisfy", 37),
    "select count(*) from patients where age < 3 and age > 5": ("no row can satisfy", 37),
    "select count(*) from patients where age not in (1, null)": ("no row can satisfy", 37),
    "select count(*) from patients where count(*) > 3": ("", 37),
    "select cost * 2, count(*) from patients group by cost * 2": ("more than 10,000 values", 50),
    "select count(*) from patients group by 7": ("no column 7", 40),
    "select count(*) from patients group by count(*)": ("cannot be a key", 40),
    "select count(*) from patients group by age, sex, disease, floor(cost/5)*5": ("cells", 31),
    "select note, count(*) from patients group by rollup (note)": ("grouping sets need declared keys", 54),
    "select count(*) n, count(*) n from patients": ("same name", 1),
    "select distinct sex from patients": ("public", 8),
    "select distinct on (sex) sex from patients": ("DISTINCT ON", 21),
    "select count(*) from patients limit 10": ("LIMIT without ORDER BY", 31),
    "select sex, count(*) as n from patients group by sex order by n limit '1'": ("LIMIT needs a whole number", 65),
    "select sum(cast(age as decimal('9', 2))) from patients": ("DECIMAL needs whole numbers of digits", 17),
    "select sex, count(*) from patients group by sex order by 2 limit 1 + 1": ("whole number", 60),
    "select sex, count(*) from patients group by sex having sex = 'F'": ("mixed with aggregates", 56),
    "select id from visits": ("identifies people", 8),
    "select id, count(*) from visits group by id": ("identifies people", 42),
    "select count(*) from visits where id = 7": ("identifies people", 35),
    "select max(id) from visits": ("identifies people", 12),
    "select avg(n) from (select age, count(*) n from visits group by age)": ("must include the person", 65),
    "select avg(n) from (select sum(cost) n from visits)": ("must include the person", 28),
    "select avg(n) from (select age, count(*) n from patients group by age)": ("row is one person", 67),
    "select avg(n) from (select id, median(age) n from visits group by id)": ("not supported inside", 32),
    "select avg(n) from (select id, count(*) n from visits group by id order by n limit 3)": ("not supported", 84),
    "select avg(n) from (select id, count(*) n from visits group by id union all select 1, 2)": ("only SELECT", 28),
    "select count(*) from (select age, age from patients)": ("two columns", 35),
    "select count(*) from (select age + 1 from patients)": ("needs a name", 30),
    "with patients as (select age from visits) select count(*) from patients": ("is already the name of a table", 6),
    "with recursive r as (select age from visits) select count(*) from r": ("RECURSIVE", 1),
    "with r(a) as (select age from visits) select count(*) from r": ("inside the subquery", 6),
    "select count(*) from patients union select 1": ("only SELECT", 31),
    "delete from patients": ("only SELECT", 1),
    "drop table patients": ("only SELECT", 1),
    "select count(*) from patients; select 1": ("only one statement", 39),
    "select cout(*) from patients": ("there is no function cout", 8),
    "select count(*) / sumx(age) from patients": ("there is no function sumx", 19),
    "select sum(flor(age)) from patients": ("there is no function flor", 12),
    "select count(*) from patients where lenght(note) > 3": ("there is no function lenght", 37),
    "select avg(n) from (select id, cout(*) n from visits group by id)": ("there is no function cout", 32),
    "select frobnicate(count(*)) from patients": ("frobnicate is not a supported function", 8),
    "select now() from patients": ("current time", 8),
    "select weekday(born) from patients": ("cannot be computed from aggregates", 8),
    "select count(*) from": ("syntax error", 17),
    "select 'abc": ("cannot parse", 1),
    "garbage in": ("", 1),
    "": ("query is empty", 1),
    "-- nothing": ("query is empty", 1),
}


@pytest.mark.parametrize("text", REFUSED)
def test_refused_with_a_caret(text):
    words, column = REFUSED[text]
    with pytest.raises(Refused) as caught:
        reading(text)
    assert words in caught.value.reason
    assert (caught.value.column, caught.value.line) == (column, 1)


HINTS = {
    "select cout(*) from patients": "did you mean count?",
    "select count(*) / sumx(age) from patients": "did you mean sum?",
    "select AVERAGE(age) from patients": "did you mean avg?",
    "select mean(age) from patients": "did you mean avg?",
    "select sum(flor(age)) from patients": "did you mean floor?",
    "select frobnicate(count(*)) from patients": "compute with aggregates",
    "select count(*) from patients; select 1": "discreet query -f FILE",
    "select avg(note) from patients": "declare it as integer or decimal in discreet.toml",
    "select sum(disease) from patients": "declare it as integer or decimal in discreet.toml",
    "select avg(n) from (select id, sum(note) n from visits group by id)": "declare it as integer or decimal",
}


@pytest.mark.parametrize("text", HINTS)
def test_the_hint_names_what_to_do(text):
    with pytest.raises(Refused) as caught:
        reading(text)
    assert HINTS[text] in caught.value.hint


@pytest.mark.parametrize("text", ["select avg(born) from patients", "select avg(lower(note)) from patients"])
def test_what_cannot_become_a_number_by_a_declaration_is_not_told_so(text):
    with pytest.raises(Refused) as caught:
        reading(text)
    assert caught.value.hint == "count the values, or group by them"


@pytest.mark.thin(30)
@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_every_function_that_a_hint_can_name_is_known(name):
    """Some way of calling it is read, or is refused for another reason than its name."""
    reasons = []
    for inside in ("age", "age, age", "note", "note, 'a'", "born", "'month', born", "'day', born, born", "age, 0.5"):
        for text in (f"select sum({name}({inside})) from patients", f"select {name}({inside}) from patients"):
            try:
                reading(text)
                return
            except Refused as problem:
                reasons.append(problem.reason)
    unknown = ("not a supported function", "aggregate is not supported", "there is no function")
    assert any(not any(words in reason for words in unknown) for reason in reasons)


def test_a_refusal_teaches_a_rewrite_that_passes():
    with pytest.raises(Refused) as caught:
        reading("SELECT disease FROM patients WHERE age = 22")
    assert caught.value.hint == "SELECT disease, count(*) FROM patients WHERE age = 22 GROUP BY disease"
    reading(caught.value.hint)
    assert str(caught.value).splitlines()[1:3] == [
        "  SELECT disease FROM patients WHERE age = 22",
        "         ^^^^^^^",
    ]


@pytest.mark.parametrize("text", [t for t, (why, _) in REFUSED.items() if "rows" in why or "needs a count" in why])
def test_every_rewrite_passes(text):
    with pytest.raises(Refused) as caught:
        reading(text)
    reading(caught.value.hint)


def test_carets_find_the_line():
    with pytest.raises(Refused) as caught:
        reading("SELECT count(*)\nFROM patients\nWHERE agee = 3")
    assert (caught.value.line, caught.value.column) == (3, 7)


@pytest.mark.parametrize(
    "bomb",
    ["select " + "(" * 5000 + "1" + ")" * 5000, "select count(*) from patients where " + "not " * 5000 + "smoker",
     "select " + "case when true then " * 500, "select " + "[" * 100, "select - - - " + "- " * 200 + "1",
     "select count(*) from " + "(select * from " * 200 + "patients", "x" * 70_000, "select '\0'", "select \ud800",
     "select count(*) from patients where age in (" + "1," * 20_000 + "1)", "/*" * 1000, "select " + "~" * 100 + "1"],
)  # fmt: skip
def test_bombs_are_refused(bomb):
    with pytest.raises(Refused):
        reading(bomb)


def test_long_flat_conditions_are_read():
    text = "select count(*) from patients where " + " or ".join(f"age = {age}" for age in range(100)) * 5
    with pytest.raises(Refused):
        reading(text)  # "age = 99age = 0" does not parse
    text = "select count(*) from patients where " + " or ".join(f"age = {age % 100}" for age in range(1500))
    assert region(text).boxes[0].sides["age"].runs == ((0, 100),)


SAME = [
    ("age > 20", "not (age <= 20)"),
    ("age > 20 and sex = 'F'", "sex = 'F' and 20 < age"),
    ("age between 20 and 30", "age >= 20 and age <= 30"),
    ("age = 1 or age = 2", "age in (2, 1)"),
    ("age > 20.5", "age >= 21"),
    ("sex = 'F' or sex = 'M'", "true"),
    ("smoker", "smoker = true"),
    ("not smoker", "smoker <> true"),
    ("disease <> 'flu'", "disease in ('mumps', 'allergy')"),
    ("age >= 0", "age is not null"),
    ("(age > 3 and age > 5)", "age > 5"),
    ("floor(age / 10) = 3", "age >= 30 and age < 40"),
    ("disease like '%u%'", "disease in ('mumps', 'flu')"),
    ("age + 1 > 21", "age > 20"),
    ("extract(year from born) = 1970", "born between '1970-01-01' and '1970-12-31'"),
    ("case when smoker then 1 else 0 end = 1", "smoker"),
]


@pytest.mark.parametrize(("left", "right"), SAME)
def test_spelling_does_not_matter(left, right):
    hashes = {reading(f"select count(*) from patients where {text}").inquiry.question() for text in (left, right)}
    assert len(hashes) == 1


@pytest.mark.parametrize(
    ("left", "right"), [("age > 20", "age > 21"), ("age > 20", "age > 20 or age is null"), ("smoker", "not smoker")]
)
def test_different_questions_differ(left, right):
    hashes = {reading(f"select count(*) from patients where {text}").inquiry.question() for text in (left, right)}
    assert len(hashes) == 2


def test_aliases_and_order_of_keys_do_not_matter():
    one = reading("select sex, disease, count(*) n from patients group by sex, disease")
    two = reading("select count(*), disease as d, sex from patients p group by 3, 2")
    assert one.inquiry.question() == two.inquiry.question()
    assert [output.name for output in two.outputs] == ["count", "d", "sex"]


# Random conditions, evaluated by another engine's three-valued logic (SQLite) over every small record.
atoms = st.sampled_from(
    ["age > 1", "age <= 2", "age = 3", "age <> 1", "age between 1 and 2", "age in (0, 2)", "age in (1, null)",
     "age not in (1, 2)", "age not in (3, null)", "age is null", "age is not null", "smoker", "smoker = false",
     "age > null", "null", "true", "2 >= age", "age not between 1 and 2", "smoker is null", "age between null and 2"],
)  # fmt: skip
conditions = st.recursive(
    atoms,
    lambda inner: st.one_of(
        st.builds("({} and {})".format, inner, inner),
        st.builds("({} or {})".format, inner, inner),
        st.builds("(not {})".format, inner),
    ),
    max_leaves=8,
)


@settings(max_examples=examples(300), deadline=None)
@given(conditions)
def test_null_logic_is_that_of_sql(condition):
    with sqlite3.connect(":memory:") as other:
        other.execute("create table patients (age integer, smoker integer)")
        records = [(age, smoker) for age in (None, 0, 1, 2, 3) for smoker in (None, 0, 1)]
        other.executemany("insert into patients values (?, ?)", records)
        expected = set(other.execute(f"select age, smoker from patients where {condition}").fetchall())
    other.close()
    try:
        predicate = where_of(reading(f"select count(*) from patients where {condition}"))
        found = {(age, smoker) for age, smoker in records if holds(predicate, {"age": age, "smoker": smoker})}
    except Refused as problem:
        assert "no row can satisfy" in problem.reason
        found = set()
    assert found == expected


def test_aggregates_share_their_statistics():
    asked = reading("select avg(age), count(age), sum(age), count(*), avg(sex = 'F') from patients")
    kinds = [type(statistic) for statistic in asked.inquiry.statistics]
    assert kinds == [RowCount, Sum, Sum, RowCount, Sum]  # one count of ages; avg is centred, sum is not
    closed = reading("select avg(sex = 'F'), count(*), count(sex) from patients")
    assert [type(statistic) for statistic in closed.inquiry.statistics] == [RowCount, Sum]


def test_the_terms_of_a_sum_are_bounded_by_arithmetic():
    asked = reading("select sum(age * cost), sum(least(cost, 100)), sum(-age) from patients")
    bounds = [(found.of.low, found.of.high) for found in asked.inquiry.statistics]
    assert bounds == [(0, 120 * 2_000_000), (0, 10_000), (-120, 0)]


def test_averages_are_centred():
    (rows, total) = reading("select avg(age) from patients").inquiry.statistics
    assert total.centre == 60 and isinstance(rows, RowCount)


def test_persons_and_values():
    asked = reading("select count(distinct id), count(distinct age) from visits")
    assert [type(found) for found in asked.inquiry.statistics] == [PersonCount, DistinctCount]
    assert asked.reach.rows == 3


def test_joins_multiply_a_persons_rows():
    joined = reading("select count(*) from visits v join stays s on v.id = s.id")
    assert isinstance(joined.inquiry.plan, JoinPerson) and joined.reach.rows == 6
    public = reading("select count(*) from visits v join wards w on v.sex = w.sex")
    assert isinstance(public.inquiry.plan, JoinPublic) and public.inquiry.plan.fan_out == 2 and public.reach.rows == 6
    one = reading("select count(*) from stays s join (select id, avg(cost) c from visits group by id) v on v.id = s.id")
    assert one.reach.rows == 2


def test_per_person_makes_one_row_a_person():
    asked = reading("select avg(n) from (select id, count(*) n, sum(age) a from visits group by id)")
    assert isinstance(asked.inquiry.plan, PerPerson) and asked.reach.rows == 1
    (_, total) = asked.inquiry.statistics
    assert (total.of.low, total.of.high) == (1, 3)
    kept = reading("select avg(n) from (select id, sex, count(*) n from visits group by id, sex)")
    assert kept.reach.rows == 3  # sex is not declared constant: a person may have several


def test_regions_narrow_by_rows_or_by_constants():
    assert not region("select count(*) from patients where age = 3").is_whole
    assert region("select count(*) from visits where age = 3").is_whole
    assert not region("select count(*) from labs where kind = 'a'").is_whole
    assert not region("select sum(result) filter (where kind = 'a') from labs").is_whole
    assert region("select count(*), sum(result) filter (where kind = 'a') from labs").is_whole
    inner = "select avg(n) from (select person, count(*) n from labs where kind = 'a' group by person) where n > 2"
    assert list(region(inner).boxes[0].sides) == ["kind"]


def test_the_most_common_keys():
    top = reading("select note, count(*) n from patients group by note order by n desc limit 10")
    assert top.inquiry.top == 10
    persons = "select note, count(distinct id) n, count(*) r from visits group by note order by"
    assert reading(f"{persons} n desc limit 10").inquiry.top == 10
    assert reading(f"{persons} r desc limit 10").inquiry.top is None  # chosen by persons, not by rows
    for other in (
        "order by note desc limit 10",
        "order by n limit 10",
        "order by n desc",
        "having count(*) > 3 order by 2 desc limit 3",
    ):
        assert reading(f"select note, count(*) n from patients group by note {other}").inquiry.top is None


def test_min_and_max_say_what_they_are():
    asked = reading("select min(age), max(age) from patients")
    assert [found.fraction for found in asked.inquiry.quantiles] == [Fraction(1, 200), Fraction(199, 200)]
    assert len(asked.warnings) == 2


def test_grouping_sets():
    asked = reading("select sex, disease, count(*) from patients group by rollup (sex, disease)")
    assert [len(axes) for axes in asked.inquiry.sets] == [2, 1, 0]
    cube = reading("select count(*) from patients group by cube (sex, disease), smoker")
    assert [len(axes) for axes in cube.inquiry.sets] == [3, 2, 2, 1]


def test_a_batch_shares_what_it_measures():
    text = "select sex, count(*) from patients group by sex; select sex, avg(age), count(*) from patients group by sex;"
    one, two = parse_batch(text + "select count(*) from patients", CATALOG)[:2]
    assert one.inquiry == two.inquiry
    assert len(one.inquiry.statistics) == 3


def test_an_alias_beats_a_column_in_order_by():
    asked = reading("select sex, sum(age) as age from patients group by sex order by age desc limit 1")
    assert [(part.output, part.descending) for part in asked.order] == [(1, True)]
