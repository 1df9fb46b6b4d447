"""Declared tables on the server: the same rows, the same persons and the same counts for the owner as the reference."""

from collections import Counter
from dataclasses import replace

import numpy as np
import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from discreet.engines.memory import MemoryEngine
from discreet.engines.postgres import conversion, postgres_person_path, postgres_source
from discreet.engines.postgres import declared_table as module
from discreet.engines.postgres import postgres_engine as engine_module
from discreet.errors import SchemaError, UsageError
from discreet.schema.column import CategoryColumn, NumberColumn, TextColumn
from discreet.schema.privacy_unit import PrivacyUnit
from discreet.schema.schema import Schema, Table
from engines.asking import counted, typed
from engines.persons_tables import KEY, TAG_KEY, check_unit, contents, declared, persons
from engines.postgres.filed import Filed
from engines.postgres.server import NOWHERE, declared_rows, execute, load, new_name
from engines.tables import questions, tables
from engines.test_persons_through import SHOP, shops, tag
from tiers import fuzzed, size

MEMORY = MemoryEngine()
AGE = NumberColumn(name="age", type="integer", low=0, high=120)


@pytest.fixture(scope="module")
def filed(quick_files, postgres_engine, postgres_address):
    return Filed(postgres_engine, postgres_address)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("made")


def without_nul(rows):
    return tuple(tuple(cell.replace("\0", "") if isinstance(cell, str) else cell for cell in row) for row in rows)


def agree(filed, folder, table, asked):
    """Rows, what the owner is told, and cells."""
    declaration = replace(table, rows=without_nul(table.rows)).write(folder)
    files = {MEMORY: folder / "memory.parquet", filed: folder / "server.parquet"}
    expected, found = [engine.declare(declaration, folder=folder, target=file) for engine, file in files.items()]
    assert expected == found
    expected, found = [Counter(map(_key, pq.read_table(file).to_pylist())) for file in files.values()]
    assert expected == found
    for cells in asked:
        expected, found = [counted(engine, cells, file) for engine, file in files.items()]
        assert [each.tolist() for each in expected] == [each.tolist() for each in found]


def _key(row):
    return tuple(row.values())


@given(data=st.data(), table=tables())
@settings(max_examples=size(5, 40), deadline=None, suppress_health_check=list(HealthCheck))
def test_rows_are_those_of_the_reference(filed, folder, data, table):
    agree(filed, folder, table, [data.draw(questions(table.schema)) for _ in range(3)])


@pytest.mark.fuzz
@pytest.mark.timeout(1800)
@given(data=st.data(), table=tables())
@settings(max_examples=fuzzed(2000), deadline=None, suppress_health_check=list(HealthCheck))
def test_rows_are_those_of_the_reference_at_length(filed, folder, data, table):
    agree(filed, folder, table, [data.draw(questions(table.schema)) for _ in range(3)])


def same_persons(filed, folder, world):
    world = world.with_rows(without_nul(world.source.rows))
    table = world.write(folder)
    for forgotten in ([], [world.tag(key) for key in world.keys()[:1]]):
        expected, found = [declared(engine, table, folder, forgotten=forgotten) for engine in (MEMORY, filed)]
        assert expected == found
    check_unit(found[1], table.schema)


@given(world=persons())
@settings(max_examples=size(4, 25), deadline=None, suppress_health_check=list(HealthCheck))
def test_persons_keep_the_rows_that_the_reference_keeps(filed, folder, world):
    same_persons(filed, folder, world)


@pytest.mark.fuzz
@pytest.mark.timeout(1800)
@given(world=persons())
@settings(max_examples=fuzzed(2000), deadline=None, suppress_health_check=list(HealthCheck))
def test_persons_keep_the_rows_that_the_reference_keeps_at_length(filed, folder, world):
    same_persons(filed, folder, world)


@given(shop=shops())
@settings(max_examples=size(3, 10), deadline=None, suppress_health_check=list(HealthCheck))
def test_persons_on_the_way_are_those_of_the_reference(filed, folder, shop):
    items, path = shop.write(folder)
    for forgotten in ([tag("y")], []):
        expected, found = [
            declared(engine, items, folder, path=path, forgotten=forgotten) for engine in (MEMORY, filed)
        ]
        assert expected == found


def hundred(filed, folder):
    """Many persons, some with too many rows, some who disagree with themselves, some of nobody's."""
    rows = [(f"p{place % 23}" if place % 11 else None, place % 7, f"{place % 5}", place % 3) for place in range(300)]
    columns = {name: [row[at] for row in rows] for at, name in enumerate(["who", "age", "note", "sort"])}
    pq.write_table(pa.table(columns), folder / "hundred.parquet")
    schema = Schema(
        table="people",
        columns=(AGE, TextColumn(name="note", constant=True), CategoryColumn(name="sort", values=("0", "1"))),
        unit=PrivacyUnit(person=("who",), rows=4),
    )
    table = Table(schema=schema, source="hundred.parquet", population="people", budget=None)
    expected, found = [declared(engine, table, folder, forgotten=[tag("p3")]) for engine in (MEMORY, filed)]
    assert expected == found
    items, path = SHOP.write(folder)
    expected, found = [declared(engine, items, folder, path=path) for engine in (MEMORY, filed)]
    assert expected == found


BUGS = {
    "a limit of one more": ("place <= ", "place <= 1 + "),
    "the first that come": ("ORDER BY digest", "ORDER BY occurrence"),
    "the forgotten are kept": ("WHERE NOT forgotten", "WHERE true"),
    "a row once for each way to a person": ("SELECT DISTINCT on_0", "SELECT on_0"),
    "persons in capitals": ('AS TEXT) COLLATE "C") AS key_0', 'AS TEXT)) AS key_0'),
    "the last one's constants": ("first_value(", "last_value("),
}  # fmt: skip


@pytest.mark.parametrize("bug", BUGS)
def test_planted_bugs_are_seen(filed, folder, monkeypatch, bug):
    hundred(filed, folder)
    old, new = BUGS[bug]
    met = []

    def rewritten(session, sql, given=(), *, act=postgres_source.execute):
        met.append(old in sql)
        return act(session, sql.replace(old, new), given)

    monkeypatch.setattr(module, "execute", rewritten)
    execute_ = psycopg.Connection.execute
    monkeypatch.setattr(
        psycopg.Connection,
        "execute",
        lambda self, sql, *more, **how: (
            met.append(old in str(sql))
            or execute_(self, sql.replace(old, new) if isinstance(sql, str) else sql, *more, **how)
        ),
    )
    if bug == "persons in capitals":
        key = postgres_person_path.key_of
        upper = lambda *given, **marks: tuple(f"upper({part})" for part in key(*given, **marks))  # noqa: E731
        monkeypatch.setattr(postgres_person_path, "key_of", upper)
        met.append(True)
    with pytest.raises((AssertionError, ValueError)):
        hundred(filed, folder)
    assert any(met), "the SQL that the bug is planted in is not there any more"


def test_a_natural_cast_is_an_error_that_tells_nothing(filed, postgres_engine, postgres_address, monkeypatch):
    """What our forms are for: '12a'::integer fails on that row, and quotes it."""
    name = load(postgres_address, [{"age": "12"}, {"age": "stripe918"}])
    schema = Schema(table="people", columns=(AGE,), unit=PrivacyUnit())
    table = Table(schema=schema, source=name, population="people", budget=None)
    place = postgres_engine.place(new_name(), folder=NOWHERE)
    natural = replace(module.FORMS, raw=lambda column, value, kind, code="": f"CAST({value} AS INTEGER)")
    with monkeypatch.context() as patch:
        patch.setattr(module, "FORMS", natural)
        with pytest.raises(UsageError) as told:
            postgres_engine.declare(table, folder=NOWHERE, target=place)
    assert "stripe" not in str(told.value) and told.value.__suppress_context__
    assert execute(postgres_address, f"SELECT to_regclass('discreet.{place.name}')") == [(None,)], "nothing is left"
    making = postgres_engine.declare(table, folder=NOWHERE, target=place)
    assert (making.exact_rows, making.exact_nulled) == (2, {"age": 1})
    assert declared_rows(postgres_address, place) == [{"age": 12}, {"age": None}]


def one(engine, address, type_, values, column, **unit):
    """The stored values of a column of some type of the server's."""
    name = load(address, [{"x": value, "n": number} for number, value in enumerate(values)], types={"x": type_})
    order = NumberColumn(name="n", type="integer", low=0, high=999)
    schema = Schema(table="people", columns=(column, order), unit=PrivacyUnit(**unit))
    table = Table(schema=schema, source=name, population="people", budget=None)
    place = engine.place(new_name(), folder=NOWHERE)
    engine.declare(table, folder=NOWHERE, target=place, key=KEY, tag_key=TAG_KEY)
    return [row["x"] for row in sorted(declared_rows(address, place), key=lambda row: row["n"])]


WORDS = TextColumn(name="x")
NUMBER = NumberColumn(name="x", type="integer")
TYPES = [
    ("char(5)", ["a", "a  ", None], WORDS, ["a", "a", None]),
    ("char(5)", ["12", "x"], NUMBER, [12, None]),
    ("varchar(9)", ["a ", "é"], WORDS, ["a ", "é"]),
    ("name", ["abc"], WORDS, ["abc"]),
    ("uuid", ["A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11"], WORDS, ["a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"]),
    ("time", ["10:00"], WORDS, ["10:00:00"]),
    ("json", ['{"a": 1}'], WORDS, ['{"a": 1}']),
    ("boolean", [True, False], WORDS, ["true", "false"]),
    ("numeric(6,2)", ["1.50", "NaN"], WORDS, ["1.50", None]),
    ("numeric", ["1e30", "-1e30", "2.5", "2.0"], NUMBER, [2**63 - 2, -(2**63) + 2, None, 2]),
    ("smallint", [3], NUMBER, [3]),
    ("float4", [16777216.0], NUMBER, [16777216]),
    ("timestamptz", ["2020-01-01 10:00+02"], WORDS, ["2020-01-01 08:00:00+00"]),
]


@pytest.mark.thin(6)
@pytest.mark.parametrize("number", range(len(TYPES)))
def test_types_of_the_server(postgres_engine, postgres_address, number):
    type_, values, column, stored = TYPES[number]
    assert one(postgres_engine, postgres_address, type_, values, column) == stored


def test_enums_and_domains(postgres_engine, postgres_address):
    execute(
        postgres_address,
        "DROP TYPE IF EXISTS mood, small CASCADE",
        "CREATE TYPE mood AS ENUM ('sad', 'ok')",
        "CREATE DOMAIN tiny AS numeric(3, 0)",
        "CREATE DOMAIN small AS tiny",
    )
    assert one(postgres_engine, postgres_address, "mood", ["ok", None, "sad"], WORDS) == ["ok", None, "sad"]
    sad = CategoryColumn(name="x", values=("ok", "sad"))
    assert one(postgres_engine, postgres_address, "mood", ["ok", None, "sad"], sad) == [0, None, 1]
    assert one(postgres_engine, postgres_address, "small", ["7"], NUMBER) == [7]
    name = load(postgres_address, [{"x": 7, "m": "ok"}], types={"x": "small", "m": "mood"})
    assert postgres_engine.columns(name, folder=NOWHERE) == typed(x="integer", m="text")
    execute(postgres_address, "DROP DOMAIN small CASCADE", "DROP DOMAIN tiny CASCADE", "DROP TYPE mood CASCADE")


@pytest.mark.parametrize("type_", ["float8", "float4"])
def test_floats_as_words_are_written_as_in_python(postgres_engine, postgres_address, type_):
    given_ = [
        1.0,
        -0.0,
        0.1,
        1e15,
        123456789012345680.0,
        1234567890123456.8,
        1e16,
        1e-4,
        1e-5,
        1e22,
        999999.0,
        1e6,
        2.5e-7,
    ]
    given_ += [16777216000.0, float("nan"), float("inf"), -float("inf"), 5e-324 if type_ == "float8" else 1e-45]
    shown = [repr(value if type_ == "float8" else float(str(np.float32(value)))) for value in given_]
    shown = [None if word == "nan" else word for word in shown]  # no number is a missing value
    assert one(postgres_engine, postgres_address, type_, given_, WORDS) == shown


@pytest.mark.parametrize("type_", ["int[]", "bytea", "int4range", "interval", "point", "tsvector", "money"])
def test_types_that_no_column_is_made_of(postgres_engine, postgres_address, type_):
    with pytest.raises(SchemaError, match=r"column 'x' is declared text, but it is "):
        one(postgres_engine, postgres_address, type_, [None], WORDS)


@pytest.mark.parametrize(
    "type_", ["float8", "numeric", "numeric(5,1)", "timestamp", "json", "time", 'text COLLATE "blind"']
)
def test_ids_that_are_not_exact(postgres_engine, postgres_address, type_):
    if "blind" in type_:
        try:
            execute(
                postgres_address,
                "CREATE COLLATION IF NOT EXISTS blind (provider = icu, locale = 'und-u-ks-level2', deterministic = false)",
            )
        except psycopg.errors.FeatureNotSupported:
            pytest.skip("this server was built without ICU")
    name = load(postgres_address, [{"who": None, "age": 1}], types={"who": type_})
    schema = Schema(table="people", columns=(AGE,), unit=PrivacyUnit(person=("who",), rows=1))
    table = Table(schema=schema, source=name, population="people", budget=None)
    place = postgres_engine.place(new_name(), folder=NOWHERE)
    with pytest.raises(SchemaError, match=r"'who' of .* does not identify people exactly"):
        postgres_engine.declare(table, folder=NOWHERE, target=place, key=KEY, tag_key=TAG_KEY)


def test_ids_of_a_collation_that_equates_them(postgres_engine, postgres_address):
    """On every server: the catalog's mark alone decides, and one without ICU lets a superuser set it as well."""
    execute(postgres_address, "CREATE COLLATION IF NOT EXISTS blinded (provider = libc, locale = 'C')")
    name = load(postgres_address, [{"who": "p", "age": 1}], types={"who": 'text COLLATE "blinded"'})
    schema = Schema(table="people", columns=(AGE,), unit=PrivacyUnit(person=("who",), rows=1))
    table = Table(schema=schema, source=name, population="people", budget=None)
    declare = lambda: postgres_engine.declare(  # noqa: E731
        table, folder=NOWHERE, target=postgres_engine.place(new_name(), folder=NOWHERE), key=KEY, tag_key=TAG_KEY
    )
    assert declare().exact_persons == 1
    mark = "UPDATE pg_collation SET collisdeterministic = {} WHERE collname = 'blinded'"
    execute(postgres_address, mark.format("false"))
    try:
        with pytest.raises(SchemaError, match=r"'who' of .* does not identify people exactly"):
            declare()
    finally:
        execute(postgres_address, mark.format("true"))


def test_citext_is_no_person(postgres_engine, postgres_address):
    try:
        execute(postgres_address, "CREATE EXTENSION IF NOT EXISTS citext")
    except psycopg.Error:
        pytest.skip("this server has no citext")
    test_ids_that_are_not_exact(postgres_engine, postgres_address, "citext")
    assert one(postgres_engine, postgres_address, "citext", ["A", "a"], CategoryColumn(name="x", values=("a",))) == [
        None,
        0,
    ]


def test_more_columns_than_the_server_has_room_for(postgres_engine):
    """Refused by the declaration, whatever a row holds."""
    for columns in (
        [TextColumn(name=f"t{place}") for place in range(300)],
        [replace(AGE, name=f"a{place}") for place in range(451)],
    ):
        schema = Schema(table="people", columns=tuple(columns), unit=PrivacyUnit())
        with pytest.raises(SchemaError, match="more columns than a PostgreSQL table can have"):
            module.check_columns(schema)


@pytest.mark.deep
def test_as_many_columns_as_there_may_be(postgres_engine, postgres_address):
    """Each with as much as it can hold, still in one page."""
    for make, most in (
        (lambda place: TextColumn(name=f"t{place}"), 267),
        (lambda place: replace(AGE, name=f"t{place}", high=None), 450),
    ):
        columns = tuple(make(place) for place in range(most))
        text = isinstance(columns[0], TextColumn)
        row = {
            column.name: "".join(chr(0x4E00 + (place * 7 + at) % 20000) for at in range(1000)) if text else 2**62
            for place, column in enumerate(columns)
        }
        name = load(postgres_address, [row, {}], types={"who": "text"} | ({} if text else dict.fromkeys(row, "bigint")))
        unit = PrivacyUnit(person=("who",), rows=1)
        table = Table(
            schema=Schema(table="people", columns=columns, unit=unit), source=name, population="people", budget=None
        )
        place = postgres_engine.place(new_name(), folder=NOWHERE)
        assert (
            postgres_engine.declare(table, folder=NOWHERE, target=place, key=KEY, tag_key=TAG_KEY).exact_without_person
            == 2
        )
        table = replace(table, schema=replace(table.schema, unit=PrivacyUnit()))
        place = postgres_engine.place(new_name(), folder=NOWHERE)
        assert postgres_engine.declare(table, folder=NOWHERE, target=place).exact_rows == 2


def test_names(postgres_engine, postgres_address):
    """Of 63 bytes, which joins make longer; of the server's own columns; with a quote, a percent sign, a dot."""
    names = ["é" * 31 + "x", "é" * 31 + "y", 'a "b" %s.c', "oid", "number", "tag", "rows", "person", "coded", "s"]
    name = load(postgres_address, [dict.fromkeys(names, 1)])
    columns = tuple(replace(AGE, name=each) for each in names)
    table = Table(
        schema=Schema(table="people", columns=columns, unit=PrivacyUnit()), source=name, population="p", budget=None
    )
    place = postgres_engine.place(new_name(), folder=NOWHERE)
    postgres_engine.declare(table, folder=NOWHERE, target=place)
    assert declared_rows(postgres_address, place) == [dict.fromkeys(names, 1)]
    columns = (replace(AGE, name="xmin"),)
    name = load(postgres_address, [{"XMIN": 1}])
    table = Table(
        schema=Schema(table="people", columns=columns, unit=PrivacyUnit()), source=name, population="p", budget=None
    )
    with pytest.raises(SchemaError, match="does not allow a column named 'xmin'"):
        postgres_engine.declare(table, folder=NOWHERE, target=place)


def test_erasing(postgres_engine, postgres_address, filed, folder):
    rows = [(f"p{place % 5}", place) for place in range(20)]
    pq.write_table(pa.table({"who": [row[0] for row in rows], "age": [row[1] for row in rows]}), folder / "few.parquet")
    schema = Schema(table="people", columns=(AGE,), unit=PrivacyUnit(person=("who",), rows=2))
    table = Table(schema=schema, source="few.parquet", population="people", budget=None)
    target = folder / "few-made.parquet"
    filed.declare(table, folder=folder, target=target, key=KEY, tag_key=TAG_KEY)
    place = filed._places[target]
    before = contents(target)[0]
    assert postgres_engine.erase(place, [tag("p1"), tag("nobody")]) == 1
    assert postgres_engine.erase(place, [tag("p1")]) == 0, "a second time there is nobody"
    left = Counter((row["discreet:person"], (row["age"],)) for row in declared_rows(postgres_address, place))
    assert left == Counter({key: count for key, count in before.items() if key[0] != tag("p1")})
    held = postgres_engine.persons(place)
    assert sorted(held.exact_tags.to_pylist()) == sorted(tag(f"p{n}") for n in (0, 2, 3, 4))
    assert held.exact_rows.tolist() == [4, 4, 4, 4]
    # How many rows are dead the server counts late, and a snapshot of somebody else's may still keep them.
    vacuumed = f"SELECT pg_stat_get_vacuum_count('discreet.{place.name}'::regclass)"
    assert execute(postgres_address, vacuumed) >= [(1,)], "dead rows go at once, and not by the server's own clock"
    for name in (place.name, f"{place.name}-tags"):
        ((told,),) = execute(postgres_address, f"SELECT reloptions FROM pg_class WHERE relname = '{name}'")
        assert "autovacuum_vacuum_threshold=0" in told and "autovacuum_vacuum_scale_factor=0" in told
    assert postgres_engine.erase(postgres_engine.place("gone", folder=NOWHERE), [tag("p1")]) == 0
    postgres_engine.drop(place)
    postgres_engine.drop(place)
    assert execute(postgres_address, f"SELECT to_regclass('discreet.{place.name}')") == [(None,)]


def test_a_materialized_view(postgres_engine, postgres_address):
    """A source that has no lock of its own; a view is none."""
    name = load(postgres_address, [{"age": 3}, {"age": 0}])
    stored = new_name("stored")
    execute(postgres_address, f"CREATE MATERIALIZED VIEW {stored} AS SELECT 100 + age AS age FROM {name}")
    schema = Schema(table="people", columns=(replace(AGE, high=100),), unit=PrivacyUnit())
    place = postgres_engine.place(new_name(), folder=NOWHERE)
    made = postgres_engine.declare(
        Table(schema=schema, source=stored, population="p", budget=None), folder=NOWHERE, target=place
    )
    assert (made.exact_rows, made.exact_clamped) == (2, {"age": 1})


def test_a_source_that_fails_on_a_row(postgres_engine, postgres_address, monkeypatch):
    """The sentence tells no cell. (No source that is taken computes anything: our own form is broken here.)"""
    name = load(postgres_address, [{"age": 3}, {"age": 0}])
    monkeypatch.setattr(module, "value_sql", lambda value, kind: f"918 / {value}")
    schema = Schema(table="people", columns=(AGE,), unit=PrivacyUnit())
    table = Table(schema=schema, source=name, population="p", budget=None)
    place = postgres_engine.place(new_name(), folder=NOWHERE)
    with pytest.raises(UsageError, match="could not be read completely") as told:
        postgres_engine.declare(table, folder=NOWHERE, target=place)
    assert "918" not in str(told.value) and "zero" not in str(told.value)


def test_a_source_that_changes_between_two_looks(postgres_engine, postgres_address, monkeypatch):
    name = load(postgres_address, [{"age": 3}])
    schema = Schema(table="people", columns=(AGE,), unit=PrivacyUnit())
    table = Table(schema=schema, source=name, population="p", budget=None)

    def late(session, *, act=engine_module.relations.prepare):
        act(session)
        execute(postgres_address, f"ALTER TABLE {name} ALTER COLUMN age TYPE text")

    monkeypatch.setattr(engine_module.relations, "prepare", late)
    with pytest.raises(UsageError, match="changed while it was checked"):
        postgres_engine.declare(table, folder=NOWHERE, target=postgres_engine.place(new_name(), folder=NOWHERE))
    assert conversion.takes(AGE, "text")
