"""Sources on the server: found by name, known again, drifted, gone; and the rows of public ones."""

from dataclasses import replace

import pytest

from discreet.errors import LedgerFault, SchemaError, UsageError
from discreet.schema.privacy_unit import PrivacyUnit
from discreet.sql.dialect import identifier
from engines.persons_tables import KEY, TAG_KEY
from engines.postgres.people import CELLS, SCHEMA
from engines.postgres.server import NOWHERE, execute, load, lying, new_name


def test_sources_are_found_by_their_names(postgres_engine, postgres_address):
    schema = new_name("clinic")
    execute(
        postgres_address,
        f"CREATE SCHEMA {schema}",
        f'CREATE TABLE {schema}."Visits" (a int)',
        f'CREATE TABLE {schema}."a.b" (a int)',
        f"CREATE TABLE {schema}.twin (a int)",
        f'CREATE TABLE {schema}."TWIN" (a int)',
        f'CREATE TABLE {schema}."tWin" (a int)',
    )
    for source in (f"{schema}.Visits", f"{schema}.visits", f'{schema}."Visits"', f"{schema.upper()}.VISITS"):
        assert postgres_engine.header(source, folder=NOWHERE).relation.name == "Visits"
        assert postgres_engine.header(source, folder=NOWHERE).shown == source
    assert postgres_engine.header(f'{schema}."a.b"', folder=NOWHERE).names == ("a",)
    assert postgres_engine.header(f"{schema}.twin", folder=NOWHERE).relation.name == "twin"
    for source, match in {
        f"{schema}.Twin": "one of several tables",
        f"{schema}.visit": f"there is no table {schema}.visit",
        f"{schema}x.visits": f"there is no schema '{schema}x'",
        "visits": "there is no table visits",
        "a.b.c": "is not the name of a table",
        "": "is not the name of a table",
        'a"b': "is not the name of a table",
        "x; DROP TABLE y": "there is no table x; DROP TABLE y",
    }.items():
        with pytest.raises(UsageError, match=match):
            postgres_engine.header(source, folder=NOWHERE)
    with pytest.raises(UsageError) as told:
        postgres_engine.header(f"{schema}.visit", folder=NOWHERE)
    assert told.value.hint == "did you mean 'Visits'?"
    execute(postgres_address, f"DROP SCHEMA {schema} CASCADE")


def test_a_declared_table_is_no_source(made, postgres_engine):
    _, place = made
    with pytest.raises(UsageError, match="one of Discreet's own tables"):
        postgres_engine.header(f'discreet."{place.name}"', folder=NOWHERE)


def test_partitions(made, engine, postgres_address):
    """A partitioned table is a source, and is known again by each of its parts."""
    table, _ = made
    name = new_name("parted")
    execute(
        postgres_address,
        f"CREATE TABLE {name} (age int, note text) PARTITION BY LIST (age)",
        f"CREATE TABLE {name}_1 PARTITION OF {name} FOR VALUES IN (1)",
        f"CREATE TABLE {name}_2 PARTITION OF {name} DEFAULT",
        f"INSERT INTO {name} SELECT g, 'a' FROM generate_series(1, 7) AS g",
    )
    place = engine.place(new_name("made"), folder=NOWHERE)
    assert engine.declare(replace(table, source=name), folder=NOWHERE, target=place).exact_rows == 7
    whole, part = (engine.trace(source, folder=NOWHERE).same for source in (name, f"{name}_1"))
    assert set(part) < set(whole) and len(whole) == 3
    execute(postgres_address, f"DROP TABLE {name}")


def test_known_again(made, postgres_engine, postgres_address):
    table, _ = made
    name = load(postgres_address, [{"age": 1}])
    view, both, other = new_name("view"), new_name("both"), new_name("renamed")
    execute(
        postgres_address,
        f"CREATE MATERIALIZED VIEW {view} AS SELECT * FROM {name}",
        f"CREATE MATERIALIZED VIEW {both} AS SELECT a.age FROM {name} AS a, {table.source} AS b",
    )
    trace = lambda source: postgres_engine.trace(source, folder=NOWHERE)  # noqa: E731
    first = trace(name)
    assert set(first.same) & set(trace(view).same) and set(first.same) & set(trace(f"public.{name}").same)
    assert not set(first.same) & set(trace(both).same) and not set(first.same) & set(trace(table.source).same)
    execute(postgres_address, f"ALTER TABLE {name} RENAME TO {other}")
    assert trace(other).same == first.same
    execute(postgres_address, f"INSERT INTO {other} SELECT g FROM generate_series(1, 5000) AS g")
    assert trace(other).state != first.state
    state = trace(other).state
    execute(postgres_address, f"TRUNCATE {other}")
    assert trace(other).state != state
    execute(postgres_address, f"DROP TABLE {other} CASCADE")


def test_known_again_where_the_servers_number_is_hidden(made, plain, postgres_address, postgres_engine):
    table, _ = made
    role, engine = plain
    execute(
        postgres_address,
        f"GRANT SELECT ON {table.source} TO {role}",
        "REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC",
    )
    try:
        (found,) = engine.trace(table.source, folder=NOWHERE).same
    finally:
        execute(postgres_address, "GRANT EXECUTE ON FUNCTION pg_control_system() TO PUBLIC")
    (known,) = postgres_engine.trace(table.source, folder=NOWHERE).same
    assert found != known and found.split()[2:] == known.split()[2:]


def test_a_version_that_is_gone(made, engine, postgres_address):
    table, _ = made
    gone = engine.place("gone", folder=NOWHERE)
    with pytest.raises(LedgerFault, match="version 1 of 'people' is no longer in the database") as told:
        engine.ready(lying(CELLS.plan, gone))
    assert told.value.exit_code == 5
    place = engine.place(new_name("made"), folder=NOWHERE)
    schema = replace(SCHEMA, unit=PrivacyUnit(person=("who",), rows=2))
    engine.declare(replace(table, schema=schema), folder=NOWHERE, target=place, key=KEY, tag_key=TAG_KEY)
    engine.ready(lying(CELLS.plan, place))
    execute(postgres_address, f'DROP TABLE discreet."{place.name}-tags"')
    with pytest.raises(LedgerFault):
        engine.ready(lying(CELLS.plan, place))
    with pytest.raises(LedgerFault):
        engine.persons(place)
    with pytest.raises(LedgerFault, match="-tags is no longer in schema discreet, so nobody can be erased"):
        engine.erase(place, [bytes(32)])
    execute(postgres_address, f'DROP TABLE discreet."{place.name}"')
    assert engine.erase(place, [bytes(32)]) == 0, "nobody is in a table that is gone"


def test_tags_without_their_table_are_not_erased_either(made, engine, postgres_address):
    table, _ = made
    place = engine.place(new_name("made"), folder=NOWHERE)
    schema = replace(SCHEMA, unit=PrivacyUnit(person=("who",), rows=2))
    engine.declare(replace(table, schema=schema), folder=NOWHERE, target=place, key=KEY, tag_key=TAG_KEY)
    execute(postgres_address, f'DROP TABLE discreet."{place.name}"')
    with pytest.raises(LedgerFault, match=f"{place.name} is no longer in schema") as told:
        engine.erase(place, [bytes(32)])
    assert told.value.exit_code == 5


def test_drift(made, engine, postgres_address):
    """A column that is gone, and one that has become what no such column is made of."""
    table, _ = made
    name = load(postgres_address, [{"age": 1, "note": "a"}])
    execute(postgres_address, f"ALTER TABLE {name} DROP COLUMN note")
    place = engine.place(new_name("made"), folder=NOWHERE)
    with pytest.raises(SchemaError, match="has no column 'note'"):
        engine.declare(replace(table, source=name), folder=NOWHERE, target=place)
    execute(
        postgres_address,
        f"ALTER TABLE {name} ADD COLUMN note text",
        f"ALTER TABLE {name} ALTER COLUMN age TYPE date USING NULL",
    )
    with pytest.raises(SchemaError, match=r"column 'age' is declared integer, but it is date in "):
        engine.declare(replace(table, source=name), folder=NOWHERE, target=place)


def test_rows_of_a_public_table(engine, postgres_address):
    from datetime import date, datetime
    from decimal import Decimal

    from discreet.engines.source_values import SourceMoment

    row = {
        "b": True,
        "i": 7,
        "n": Decimal("1.50"),
        "f": 2.0,
        "d": date(2020, 1, 2),
        "t": datetime(2020, 1, 2, 3),
        "s": "x",
    }
    name = load(postgres_address, [row, dict.fromkeys(row)])
    micros = 1_577_934_000_000_000
    assert list(engine.rows(name, list(row), folder=NOWHERE)) == [
        [
            True,
            7,
            "1.50",
            "2.0",
            SourceMoment(1_577_923_200_000_000_000, "2020-01-02"),
            SourceMoment(micros * 1000, "2020-01-02 03:00:00"),
            "x",
        ],
        [None] * 7,
    ]
    first = engine.rows(name, ["I"], folder=NOWHERE)
    assert next(first) == [7]
    first.close()
    assert list(engine.rows(name, ["s", "i"], folder=NOWHERE)) == [["x", 7], [None, None]]


def test_names_are_quoted(engine):
    assert identifier('a"; DROP TABLE x') == '"a""; DROP TABLE x"'
    with pytest.raises(ValueError, match="too long"):
        engine.place("x" * 60, folder=NOWHERE)
    assert len(f"{engine.place('x' * 40 + '-' + '0' * 16, folder=NOWHERE).name}-tags") <= 63
