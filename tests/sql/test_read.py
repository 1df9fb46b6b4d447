"""Reading questions: what passes, what is refused, where the caret points, and that NULL logic is SQL's."""

import sqlite3

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import Refused
from discreet.plan.predicate import holds
from discreet.schema.file import read_table
from discreet.sql.read import read

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
PUBLIC = read_table("regions", {"source": "r.csv", "public": True}).schema
SCHEMAS = {"patients": SCHEMA, "visits": PERSONS, "regions": PUBLIC}


def reading(text):
    return read(text, SCHEMAS, public=frozenset({"regions"}))


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
]


@pytest.mark.parametrize("text", ACCEPTED)
def test_accepted(text):
    assert reading(text).cells.table == "patients"


REFUSED = {
    "SELECT disease FROM patients WHERE age = 22": ("would show rows", 8),
    "select * from patients": ("rows of people", 8),
    "select avg(age) from patients": ("only count(*)", 8),
    "select count(age) from patients": ("only count(*)", 8),
    "select count(distinct age) from patients": ("only count(*)", 8),
    "select count(*) filter (where age > 3) from patients": ("only count(*)", 8),
    "select count(*) over () from patients": ("only count(*)", 8),
    "select count(*) + 1 from patients": ("only count(*)", 8),
    "select 1, count(*) from patients": ("nothing else", 8),
    "select sex from patients group by sex": ("needs a count", 8),
    "select sex, count(*) from patients": ("would show rows", 8),
    "select count(*) from patiens": ("no declared table", 22),
    "select count(*) from main.patients": ("one declared table", 22),
    "select count(*) from visits": ("persons", 22),
    "select count(*) from regions": ("public", 22),
    "select count(*) from patients, visits": ("joins", 32),
    "select count(*) from patients join visits on true": ("joins", 36),
    "select count(*) from (select * from patients)": ("one declared table", 30),
    "select count(*) from read_csv('x')": ("one declared table", 22),
    "select count(*) from patients tablesample 10%": ("one declared table", 22),
    "select count(*)": ("needs a table", 1),
    "select count(*) from patients where agee = 3": ("no declared column", 37),
    "select count(*) from patients where x.age = 3": ("no table 'x'", 37),
    "select count(*) from patients where disease = 'flue'": ("not a declared value", 37),
    "select count(*) from patients where age = 'old'": ("compared with a text", 37),
    "select count(*) from patients where smoker > true": ("declared boolean", 37),
    "select count(*) from patients where born = 'soon'": ("declared date", 37),
    "select count(*) from patients where note = 3": ("declared text", 37),
    "select count(*) from patients where age = age": ("two columns", 43),
    "select count(*) from patients where age + 1 = 3": ("plain column", 37),
    "select count(*) from patients where random() < 3": ("plain column", 37),
    "select count(*) from patients where age": ("not boolean", 37),
    "select count(*) from patients where note like 'a%'": ("not among those", 37),
    "select count(*) from patients where age is true": ("IS NULL", 37),
    "select count(*) from patients where age in (select 1)": ("list of literals", 37),
    "select count(*) from patients where exists (select 1)": ("not among those", 52),
    "select count(*) from patients where age > 500": ("no row can satisfy", 37),
    "select count(*) from patients where age < 3 and age > 5": ("no row can satisfy", 37),
    "select count(*) from patients where age not in (1, null)": ("no row can satisfy", 37),
    "select count(*) from patients where age > 1e999": ("no row can satisfy", 37),
    "select note, count(*) from patients group by note": ("cannot be listed", 46),
    "select seen, count(*) from patients group by seen": ("cannot be listed", 46),
    "select age % 3, count(*) from patients group by age % 3": ("a key is", 49),
    "select count(*) from patients group by rollup (sex)": ("a key is", 48),
    "select count(*) from patients group by 7": ("no such column", 40),
    "select count(*) from patients group by count(*)": ("cannot be a key", 40),
    "select count(*) from patients group by age, sex, disease, floor(cost/5)*5": ("cells", 40),
    "select count(*) n, count(*) n from patients": ("same name", 1),
    "select distinct sex from patients": ("DISTINCT", 8),
    "select count(*) from patients having count(*) > 3": ("HAVING", 31),
    "select count(*) from patients order by 1": ("ORDER BY", 31),
    "select count(*) from patients limit 10": ("LIMIT", 31),
    "with p as (select 1) select count(*) from patients": ("WITH", 1),
    "select count(*) from patients union select 1": ("only SELECT", 31),
    "delete from patients": ("only SELECT", 1),
    "drop table patients": ("only SELECT", 1),
    "select count(*) from patients; select 1": ("one question at a time", 39),
    "select count(*) from": ("cannot be read", 17),
    "select 'abc": ("not SQL", 1),
    "garbage in": ("", 1),
    "": ("no question", 1),
    "-- nothing": ("no question", 1),
}


@pytest.mark.parametrize("text", REFUSED)
def test_refused_with_a_caret(text):
    words, column = REFUSED[text]
    with pytest.raises(Refused) as caught:
        reading(text)
    assert words in caught.value.reason
    assert caught.value.column == column
    assert caught.value.line == 1


def test_a_refusal_teaches_a_rewrite_that_passes():
    with pytest.raises(Refused) as caught:
        reading("SELECT disease FROM patients WHERE age = 22")
    assert caught.value.hint == "SELECT disease, count(*) FROM patients WHERE age = 22 GROUP BY disease"
    reading(caught.value.hint)
    assert str(caught.value).splitlines()[1:3] == [
        "  SELECT disease FROM patients WHERE age = 22",
        "         ^^^^^^^",
    ]


@pytest.mark.parametrize("text", [t for t, (why, _) in REFUSED.items() if "rows" in why or "count(*)" in why])
def test_every_rewrite_passes(text):
    with pytest.raises(Refused) as caught:
        reading(text)
    reading(caught.value.hint)


def test_a_rewrite_that_would_be_refused_is_not_taught():
    with pytest.raises(Refused) as caught:
        reading("select note from patients where age = 22")
    assert caught.value.hint == "SELECT count(*) FROM patients WHERE age = 22"


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
    assert reading(text).cells.region.boxes[0].sides["age"].runs == ((0, 100),)


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
]


@pytest.mark.parametrize(("left", "right"), SAME)
def test_spelling_does_not_matter(left, right):
    hashes = {reading(f"select count(*) from patients where {text}").cells.question() for text in (left, right)}
    assert len(hashes) == 1


@pytest.mark.parametrize(
    ("left", "right"), [("age > 20", "age > 21"), ("age > 20", "age > 20 or age is null"), ("smoker", "not smoker")]
)
def test_different_questions_differ(left, right):
    hashes = {reading(f"select count(*) from patients where {text}").cells.question() for text in (left, right)}
    assert len(hashes) == 2


def test_aliases_and_order_of_keys_do_not_matter():
    one = reading("select sex, disease, count(*) n from patients group by sex, disease")
    two = reading("select count(*), disease as d, sex from patients p group by 3, 2")
    assert one.cells.question() == two.cells.question()
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


@settings(max_examples=300, deadline=None)
@given(conditions)
def test_null_logic_is_that_of_sql(condition):
    with sqlite3.connect(":memory:") as other:
        other.execute("create table patients (age integer, smoker integer)")
        records = [(age, smoker) for age in (None, 0, 1, 2, 3) for smoker in (None, 0, 1)]
        other.executemany("insert into patients values (?, ?)", records)
        expected = set(other.execute(f"select age, smoker from patients where {condition}").fetchall())
    other.close()
    try:
        predicate = reading(f"select count(*) from patients where {condition}").cells.plan.where
        found = {(age, smoker) for age, smoker in records if holds(predicate, {"age": age, "smoker": smoker})}
    except Refused as problem:
        assert "no row can satisfy" in problem.reason
        found = set()
    assert found == expected
