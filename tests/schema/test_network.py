"""Tables whose rows are edges: what discreet.toml may say of them, each mistake with one sentence."""

import json

import pytest

from discreet.errors import Refused, SchemaError
from discreet.schema.column import TextColumn
from discreet.schema.edge_table import look_like_ends, refuse_edge_table, tables_naming_alike
from discreet.schema.privacy_unit import MOST_EDGES, PrivacyUnit
from discreet.schema.project_file import plain, read_file, read_table
from discreet.schema.schema import Schema

TABLE = '[populations.people]\nbudget = { epsilon = 1 }\n[tables.t]\nsource = "t.csv"\npopulation = "people"\n'
ENDS = TABLE + 'ends = ["from", "to"]\n'


@pytest.fixture
def read(tmp_path):
    def reading(text):
        (tmp_path / "discreet.toml").write_text(text, encoding="utf-8")
        return read_file(tmp_path / "discreet.toml")

    return reading


def test_ends_with_a_limit_and_without(read):
    unit = read(ENDS + "rows_per_person = 20").table("t").schema.unit
    assert unit == PrivacyUnit(ends=("from", "to"), rows=20)
    assert (unit.limit, unit.rows, unit.is_row, unit.person) == (20, 20, False, ())
    free = read(ENDS).table("t").schema.unit
    assert (free.limit, free.rows) == (None, MOST_EDGES), "what stands in for no limit is true of everybody"
    assert PrivacyUnit(person=("id",), rows=20).limit is None
    assert str(free) == "all edges of one person"


def test_directed_is_said_of_edges_alone(read):
    assert read(ENDS + "directed = true").table("t").schema.directed
    assert not read(ENDS).table("t").schema.directed
    assert read(TABLE + 'directed = true\n[tables.t.columns.from]\ntype = "text"').table("t").schema.directed
    for more in ('person = "id"\ndirected = true', "directed = 1"):
        with pytest.raises(SchemaError, match="directed"):
            read(TABLE + more)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (TABLE + 'ends = "from"', r"\[tables.t\] ends must name two columns"),
        (TABLE + 'ends = ["from"]', "ends must name two columns"),
        (TABLE + 'ends = ["from", "to", "via"]', "ends must name two columns"),
        (TABLE + 'ends = ["from", 2]', "ends must name two columns"),
        (TABLE + 'ends = ["from", ""]', "ends must name two columns"),
        (TABLE + 'ends = ["to", "TO"]', "ends must be two different columns"),
        (ENDS + 'person = "id"', "not both"),
        (ENDS + "rows_per_person = 0", "at least 1"),
        (ENDS + f"rows_per_person = {MOST_EDGES}", "below 50,000,000"),
        (ENDS + f"rows_per_person = {10**30}", "below 50,000,000"),
        (ENDS + "rows_per_person = true", "whole number"),
        (ENDS + '[tables.t.columns.weight]\ntype = "text"', "cannot have columns or invariants"),
        (ENDS + '[tables.t.columns.from]\ntype = "text"', "cannot have columns or invariants"),
        (ENDS + 'invariants = ["*"]', "cannot have columns or invariants"),
        (TABLE.replace('population = "people"\n', "public = true\n") + 'ends = ["a", "b"]', "is public and has ends"),
        (ENDS + '[tables.u]\nsource = "u.csv"\npopulation = "people"', "protects persons in 't' but rows in 'u'"),
        (
            ENDS + '[tables.u]\nsource = "u"\npopulation = "people"\nperson = { through = "t", on = "from" }',
            "where a row has two persons",
        ),
        (ENDS.replace("ends", "end"), "unknown key 'end'"),
    ],
)
def test_every_mistake_has_a_sentence(read, text, reason):
    with pytest.raises(SchemaError, match=reason):
        read(text)


def test_the_ledger_keeps_it(read):
    """What a version keeps of a declaration reads back as the same schema."""
    file = read(ENDS + "rows_per_person = 3\ndirected = true")
    told = json.loads(json.dumps({key: plain(value) for key, value in file.raw["t"].items() if key != "population"}))
    assert read_table("t", told).schema == file.table("t").schema


def test_a_unit_checks_itself():
    for wrong in ({"ends": ("a", "A")}, {"ends": ("a", "b"), "person": ("c",)}, {"ends": ("a",)}):
        with pytest.raises(SchemaError):
            PrivacyUnit(**wrong)
    with pytest.raises(SchemaError, match="below"):
        PrivacyUnit(ends=("a", "b"), rows=MOST_EDGES + 1)


def test_refusals_are_by_the_declaration_alone():
    schema = Schema(table="friends", columns=(), unit=PrivacyUnit(ends=("a", "b"), rows=2))
    with pytest.raises(Refused, match="'friends' has ends"):
        refuse_edge_table(schema)
    refuse_edge_table(Schema(table="t", columns=(TextColumn(name="a"),), unit=PrivacyUnit()))


def test_who_names_persons_alike(read):
    file = read(
        ENDS
        + """
        [tables.calls]
        source = "c.csv"
        population = "people"
        ends = ["a", "b"]
        [tables.persons]
        source = "p.csv"
        population = "people"
        person = "id"
        [tables.visits]
        source = "v.csv"
        population = "people"
        person = "patient"
        [tables.pairs]
        source = "q.csv"
        population = "people"
        person = ["clinic", "patient"]
        [tables.lines]
        source = "l.csv"
        population = "people"
        person = { through = "visits", on = "visit" }
        [tables.elsewhere]
        source = "e.csv"
        budget = { epsilon = 1 }
        ends = ["a", "b"]
        """
    )
    alike = {name: set(tables_naming_alike(table, file.tables.values())) for name, table in file.tables.items()}
    assert alike["t"] == alike["calls"] == {"t", "calls", "persons", "visits"}
    assert alike["persons"] == alike["visits"] == {"t", "calls"}
    assert alike["pairs"] == alike["lines"] == set()
    assert alike["elsewhere"] == {"elsewhere"}


def test_names_that_look_like_ends():
    assert look_like_ends(["weight", "TO", "From"]) == ("From", "TO")
    assert look_like_ends(["source", "from", "dst"]) is None
