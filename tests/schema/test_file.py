"""discreet.toml: read exactly, or refused with one sentence that says where."""

import json
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import ProjectError, SchemaError, UsageError
from discreet.schema.column import BooleanColumn, CategoryColumn, MomentColumn, NumberColumn, TextColumn
from discreet.schema.privacy_unit import PrivacyUnit
from discreet.schema.project_file import plain, read_file, read_table

TABLE = '[tables.t]\nsource = "t.csv"\nbudget = { epsilon = 3.0, delta = 1e-6 }\n'
COLUMN = TABLE + "[tables.t.columns.x]\n"


@pytest.fixture
def read(tmp_path):
    def reading(text):
        (tmp_path / "discreet.toml").write_text(text, encoding="utf-8")
        return read_file(tmp_path / "discreet.toml")

    return reading


def test_every_kind_of_column(read):
    found = read(
        TABLE
        + """
        [tables.t.columns.age]
        type = "integer"
        low = 0
        high = 120
        bins = 10
        [tables.t.columns.cost]
        type = "decimal"
        low = 0
        high = 20000
        step = 0.01
        edges = [0, 100, 500.5, 20_000.0]
        [tables.t.columns.born]
        type = "date"
        low = 1900-01-01
        high = "2026-12-31"
        [tables.t.columns.seen]
        type = "timestamp"
        low = 2020-01-01T00:00:00Z
        [tables.t.columns.sex]
        type = "category"
        values = ["F", "M", 1, true]
        other = "M"
        closed = true
        constant = true
        [tables.t.columns.smoker]
        type = "boolean"
        [tables.t.columns.note]
        type = "text"
        """
    ).tables["t"]
    columns = {column.name: column for column in found.schema.columns}
    assert columns["age"] == NumberColumn(
        name="age", type="integer", low=0, high=120, edges=tuple(place * 121 // 10 for place in range(11))
    )
    assert columns["cost"] == NumberColumn(
        name="cost",
        type="decimal",
        step=Fraction(1, 100),
        low=0,
        high=2_000_000,
        edges=(0, 10_000, 50_050, 2_000_001),
    )
    assert columns["born"] == MomentColumn(name="born", type="date", low=-25567, high=20818)
    assert columns["seen"] == MomentColumn(name="seen", type="timestamp", low=1_577_836_800_000_000)
    assert columns["sex"] == CategoryColumn(
        name="sex", values=("F", "M", "1", "true"), other="M", closed=True, constant=True
    )
    assert columns["smoker"] == BooleanColumn(name="smoker")
    assert columns["note"] == TextColumn(name="note")
    assert found.budget.epsilon == 3
    assert found.budget.delta == Fraction(1, 10**6)


WRONG = {
    "x = ": "not valid TOML",
    "[tables.t]\nsource = 5": "[tables.t] needs a source",
    "[tables]\nt = 5": "[tables.t] must be a table of settings",
    '[tables.t]\nsource = "t.csv"\nbugdet = 1': "unknown key 'bugdet'",
    '[tables.t]\nsource = "t.csv"\nbudget = { epsilon = 0 }': "epsilon must be above 0",
    '[tables.t]\nsource = "t.csv"\nbudget = { epsilon = nan }': "a number must be a plain finite number",
    '[tables.t]\nsource = "t.csv"\nbudget = { epsilon = 1e999999999 }': "a number must be a plain finite number",
    '[tables.t]\nsource = "t.csv"\nbudget = { epsilon = -1.5 }': "epsilon must be above 0",
    '[tables.t]\nsource = "t.csv"\nbudget = { epsilon = true }': "epsilon must be a number",
    '[tables.t]\nsource = "t.csv"\nbudget = { epsilon = 1, delta = 1.0 }': "delta must be at least 0 and below 1",
    '[tables.t]\nsource = "t.csv"\npublic = 1': "public must be true or false",
    '[tables.t]\nsource = "t.csv"\nperson = 5': "person must name a column",
    '[tables.t]\nsource = "t.csv"\nperson = { through = "o", on = "i", off = "x" }': "person must name a column",
    '[tables.t]\nsource = "t.csv"\nperson = []': "person must name a column",
    '[tables.t]\nsource = "t.csv"\nperson = ["a", 5]': "person must name a column",
    '[tables.t]\nsource = "t.csv"\nperson = ["a", "a"]': "[tables.t] person names the column 'a' twice",
    '[tables.t]\nsource = "t.csv"\nperson = { through = "o" }': "person must name a column",
    '[tables.t]\nsource = "t.csv"\nperson = { through = "o", on = [] }': "person must name a column",
    '[tables.t]\nsource = "t.csv"\nperson = { through = "o", on = { a = "b" } }': "person must name a column",
    '[tables.t]\nsource = "t.csv"\nperson = "id"\nrows_per_person = 0': "rows_per_person must be at least 1",
    '[tables.t]\nsource = "t.csv"\nperson = "id"\n[tables.t.columns.ID]\ntype = "text"': "'ID' is the person",
    '[tables.t]\nsource = "t.csv"\n[tables.t.columns."Discreet:person"]\ntype = "text"': "a column cannot be called",
    '[tables.t]\nsource = "t.csv"\nrows_per_person = 2': "rows_per_person needs a person",
    '[tables.t]\nsource = "t.csv"\nperson = "id"\nrows_per_person = 1.5': "rows_per_person must be a whole number",
    '[tables.t]\nsource = "t.csv"\npopulation = "p"': "population = 'p' is not declared",
    '[tables.t]\nsource = "a"\n[tables.T]\nsource = "b"': "two tables have the same name",
    "[tabels.t]": "unknown key 'tabels'",
    COLUMN + 'type = "number"': "type 'number' is not known",
    COLUMN + "low = 0": "type None is not known",
    COLUMN + 'type = "integer"\nhi = 9': "unknown key 'hi'",
    COLUMN + 'type = "integer"\nstep = 2': "unknown key 'step'",
    COLUMN + 'type = "integer"\nlow = 0.5': "not a whole number of steps",
    COLUMN + 'type = "integer"\nlow = "a"': "low must be a plain finite number",
    COLUMN + 'type = "integer"\nlow = 9\nhigh = 1': "low is above high",
    COLUMN + 'type = "integer"\nlow = 0\nhigh = 9\nbins = 11': "bins must be a whole number from 1 to 10",
    COLUMN + 'type = "integer"\nlow = 0\nhigh = 9_000_000_000\nbins = 8_000_000_000': "from 1 to 10000",
    COLUMN + 'type = "integer"\nlow = 0\nhigh = 9\nbins = 2\nedges = [0, 9]': "both bins and edges",
    COLUMN + 'type = "integer"\nbins = 2': "bins need low and high",
    COLUMN + 'type = "integer"\nlow = 0\nhigh = 9\nedges = [0, 5]': "begin at low and end at high",
    COLUMN + 'type = "integer"\nlow = 0\nhigh = 9\nedges = 5': "edges must be a list",
    COLUMN + 'type = "integer"\nlow = 0\nhigh = 9\nedges = [0, 7, 5, 9]': "edges must rise",
    COLUMN + 'type = "decimal"\nstep = 0': "step must be above 0",
    COLUMN + 'type = "decimal"\nstep = 0.333333': "round decimal number",
    COLUMN + 'type = "date"\nlow = "soon"': "'soon' is not a date",
    COLUMN + 'type = "date"\nlow = 12:00:00': "is not a date",
    COLUMN + 'type = "category"': "values must be a list",
    COLUMN + 'type = "category"\nvalues = []': "at least one value",
    COLUMN + 'type = "category"\nvalues = [1.5]': "values must be a list of texts",
    COLUMN + 'type = "boolean"\nclosed = "yes"': "closed must be true or false",
}


@pytest.mark.parametrize("text", WRONG, ids=range(len(WRONG)))
def test_what_is_wrong_is_said_in_one_sentence(read, text):
    with pytest.raises(UsageError) as caught:
        read(text)
    assert WRONG[text] in caught.value.reason
    assert "\n" not in caught.value.reason


def test_a_file_that_cannot_be_read(tmp_path):
    with pytest.raises(ProjectError, match=r"there is no discreet\.toml"):
        read_file(tmp_path / "discreet.toml")
    (tmp_path / "discreet.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(ProjectError, match="not valid TOML"):
        read_file(tmp_path / "discreet.toml")
    with pytest.raises(ProjectError, match="cannot be read"):
        read_file(tmp_path)


def test_budgets_are_inherited_shared_or_absent(read):
    text = """
    [project]
    budget = { epsilon = 0.1 }
    [populations.people]
    budget = { epsilon = 2, delta = 1e-9, delta_keys = 5e-10 }
    [tables.a]
    source = "a.csv"
    [tables.b]
    source = "b.csv"
    population = "people"
    [tables.c]
    source = "c.csv"
    public = true
    """
    tables = read(text).tables
    assert tables["a"].budget.epsilon == Fraction(1, 10)
    assert (tables["b"].population, tables["b"].budget.delta_keys) == ("people", Fraction(5, 10**10))
    assert tables["c"].public
    with pytest.raises(SchemaError, match="names a population and has a budget"):
        read(text.replace('population = "people"', 'population = "people"\nbudget = { epsilon = 1 }'))


def test_persons(read):
    told = "[populations.p]\nbudget = { epsilon = 1 }\n"
    told += '[tables.orders]\nsource = "o.csv"\nperson = "who"\npopulation = "p"\n'
    told += '[tables.t]\nsource = "t.csv"\npopulation = "p"\nrows_per_person = 3\nperson = '
    assert read(told + '"id"').tables["t"].schema.unit.person == ("id",)
    assert read(told + '["a", "b"]').tables["t"].schema.unit.person == ("a", "b")
    unit = read(told + '{ through = "orders", on = "order_id" }').tables["t"].schema.unit
    assert unit == PrivacyUnit(through="orders", on=("order_id",), rows=3)
    project = read(told + '{ on = ["order_id", "shop"], through = "orders" }')
    assert project.tables["t"].schema.unit == PrivacyUnit(through="orders", on=("order_id", "shop"), rows=3)
    kept = json.loads(json.dumps(plain(project.raw["t"])))
    assert read_table("t", kept, populations={"p": {}}).schema == project.tables["t"].schema


TWO = """
[populations.p]
budget = {{ epsilon = 1 }}
[tables.orders]
source = "o.csv"
{orders}
[tables.Lines]
source = "l.csv"
population = "p"
person = {{ through = "{through}", on = "order_id" }}
"""


@pytest.mark.parametrize(
    ("through", "orders", "reason", "hint"),
    [
        ("order", 'person = "who"\npopulation = "p"', "'order', which is not declared", "did you mean 'orders'?"),
        ("orders", 'person = "who"\nbudget = { epsilon = 1 }', "which is in another population", 'population = "p"'),
        ("orders", "public = true", "which is in another population", 'population = "p"'),
        ("lines", 'person = "who"\npopulation = "p"', "does not reach a person within 4 tables", "join some of them"),
    ],
)
def test_a_way_to_the_person_is_checked_when_the_file_is_read(read, through, orders, reason, hint):
    with pytest.raises(SchemaError) as caught:
        read(TWO.format(through=through, orders=orders))
    assert caught.value.reason.startswith("discreet.toml, [tables.Lines] person: 'Lines' ")
    assert reason in caught.value.reason
    assert hint in caught.value.hint


def test_a_way_to_the_person_that_holds(read):
    assert "Lines" in read(TWO.format(through="Orders", orders='person = "who"\npopulation = "p"')).tables


def test_analysts_differ_by_more_than_capitals(read):
    quota = "[analysts.ana]\nepsilon = 1\n"
    assert read(quota + "[analysts.bea]\nepsilon = 2\n").analysts == {"ana": 1, "bea": 2}
    with pytest.raises(SchemaError, match=r"\[analysts.ANA\] is declared twice; names ignore case"):
        read(quota + "[analysts.ANA]\nepsilon = 2\n")


@given(number=st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**15), max_value=10**15, places=12))
def test_numbers_survive_the_ledger(number):
    """A version's schema is kept as JSON: what is read back is the same number, to the last digit."""
    value = Fraction(number)
    kept = json.loads(json.dumps(plain({"low": value})))["low"]
    assert Fraction(str(kept)) == value


def test_a_table_survives_the_ledger(read):
    text = COLUMN + 'type = "decimal"\nlow = -0.000001\nhigh = 123456.789\nstep = 0.000001\n'
    text += "edges = [-0.000001, 1, 123456.789]\n"
    text += '[tables.t.columns.day]\ntype = "date"\nlow = 2020-01-01\n'
    project = read(text)
    again = read_table("t", json.loads(json.dumps(plain(project.raw["t"]))))
    assert again == project.tables["t"]
