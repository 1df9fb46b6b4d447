"""What comes back from the server: keys, rows as cells, persons, in any database."""

from collections import Counter
from dataclasses import replace

import psycopg
import pytest

from discreet.accounting.region import Region, ValueSet
from discreet.engines.postgres.postgres_engine import PostgresEngine
from discreet.plan.cell_statistics import PersonCount, RowCount
from discreet.plan.predicate import Member
from discreet.plan.relation import Scan
from discreet.schema.column import CategoryColumn
from discreet.schema.privacy_unit import PrivacyUnit
from discreet.schema.schema import Schema, Table
from discreet.sql.group_keys import declared_axis
from discreet.sql.postgres_dialect import PostgreSQLDialect
from discreet.sql.typed_expression import column_expression
from engines.asking import asked
from engines.persons_tables import KEY, TAG_KEY
from engines.postgres.people import AGE, NOTE, SCHEMA
from engines.postgres.server import NOWHERE, execute, load, lying, new_name


def bytewise(engine, address):
    """Keys in the order of their bytes, and comparisons by them, whatever the database thinks of letters."""
    words_ = ["a", "B", "é", "z", "Z", "ä", "\U0001f600", "\uffee", None, "a b", "ab", "A"]
    name = load(address, [{"note": word, "age": 1} for word in words_ for _ in range(2)])
    place = engine.place(new_name("made"), folder=NOWHERE)
    engine.declare(Table(schema=SCHEMA, source=name, population="p", budget=None), folder=NOWHERE, target=place)
    scan = Scan(table="people", version=1)
    found = engine.keys(
        scan, (column_expression(NOTE).expression,), Region.whole(), persons=False, tables=lying(scan, place)
    )
    assert [key for (key,) in found.exact_keys] == [
        *sorted((word for word in words_ if word is not None), key=str.encode),
        None,
    ]
    assert found.exact_persons.tolist() == [2] * len(words_)
    cells = asked(where=Member("note", ValueSet.interval("B", "a")))
    (below,) = engine.count(cells, Region.whole(), tables=lying(scan, place)).exact_values
    assert below.tolist() == [4], "B and Z"


def test_texts_are_compared_bytewise(engine, postgres_address):
    bytewise(engine, postgres_address)


def test_in_a_database_of_another_collation(postgres_address, monkeypatch):
    name = new_name("letters")
    make = f"CREATE DATABASE {name} LOCALE_PROVIDER icu ICU_LOCALE 'und' LOCALE 'C.UTF-8' ENCODING 'UTF8' TEMPLATE template0"
    try:
        execute(postgres_address, make)
    except psycopg.Error:
        pytest.skip("this server was built without ICU")
    address = psycopg.conninfo.make_conninfo(postgres_address, dbname=name)
    engine = PostgresEngine(address)
    try:
        bytewise(engine, address)
        monkeypatch.setattr(PostgreSQLDialect, "text_column", lambda self, name: f'({name} COLLATE "default")')
        with pytest.raises(AssertionError):
            bytewise(engine, address)
    finally:
        engine.close()
        execute(postgres_address, f"DROP DATABASE {name} WITH (FORCE)")


def test_coded_rows(engine, postgres_address):
    sort = CategoryColumn(name="sort", values=tuple(f"w{place}" for place in range(40_000)))
    rows = [{"age": place % 10, "sort": f"w{place}"} for place in range(0, 40_000, 13)]
    name = load(postgres_address, rows)
    place = engine.place(new_name("made"), folder=NOWHERE)
    schema = Schema(table="people", columns=(AGE, sort), unit=PrivacyUnit())
    engine.declare(Table(schema=schema, source=name, population="p", budget=None), folder=NOWHERE, target=place)
    scan = Scan(table="people", version=1)
    axes = (declared_axis(AGE), declared_axis(replace(sort, closed=True)))
    found = engine.coded(scan, axes, Region.whole(), tables=lying(scan, place))
    assert [column.dtype.name for column in found.exact_columns] == ["uint8", "uint16"]
    pairs = zip(*(column.tolist() for column in found.exact_columns), strict=True)
    assert sorted(pairs) == sorted((row["age"], int(row["sort"][1:])) for row in rows)
    many = engine.coded(scan, axes * 5, Region.whole(), tables=lying(scan, place))  # more than one number holds
    for turn in range(10):
        assert many.exact_columns[turn].tolist() == many.exact_columns[turn % 2].tolist()
    assert Counter(many.exact_columns[1].tolist()) == Counter(found.exact_columns[1].tolist())
    execute(postgres_address, f'DELETE FROM discreet."{place.name}"')
    empty = engine.coded(scan, axes, Region.whole(), tables=lying(scan, place))
    assert empty.count((0,)).tolist() == [0] * 11


def test_persons_are_counted_once(made, engine):
    table, _ = made
    schema = replace(SCHEMA, unit=PrivacyUnit(person=("who",), rows=3))
    place = engine.place(new_name("made"), folder=NOWHERE)
    engine.declare(replace(table, schema=schema), folder=NOWHERE, target=place, key=KEY, tag_key=TAG_KEY)
    cells = asked(statistics=(PersonCount(), RowCount()))
    found = engine.count(cells, Region.whole(), tables=lying(cells.plan, place)).exact_values
    assert [each.tolist() for each in found] == [[7], [21]]
