"""Servers that do not let us in, roles that may not do something: a sentence each, before anything is charged."""

import socket
from contextlib import contextmanager
from dataclasses import replace

import psycopg
import pytest

from discreet.accounting.region import Region
from discreet.engines.engine import EngineFailure
from discreet.engines.postgres import session as session_module
from discreet.engines.postgres.postgres_engine import PostgresEngine
from discreet.engines.postgres.server_errors import ENGINE_SERVER
from discreet.engines.postgres.session import PostgresSession, PostgresSessionPool
from discreet.errors import UsageError
from discreet.plan.relation import Scan
from discreet.schema.privacy_unit import PrivacyUnit
from discreet.storage import postgres_connection
from discreet.storage.postgres_errors import unreachable
from engines.persons_tables import KEY, TAG_KEY
from engines.postgres.people import CELLS, MARK, SCHEMA, total, words
from engines.postgres.server import NOWHERE, declared_rows, execute, load, lying, new_name


def refused(address, match, **settings):
    conninfo = psycopg.conninfo.make_conninfo(address, **settings)
    engine = PostgresEngine(conninfo)
    with pytest.raises(UsageError, match=match) as told:
        engine.header("people", folder=NOWHERE)
    said = str(told.value)
    assert MARK not in said and "127.0.0.1" not in said, said
    assert told.value.exit_code == 2
    with pytest.raises(UsageError, match=match):
        engine.ready(lying(Scan(table="people", version=1), engine.place("x", folder=NOWHERE)))
    with pytest.raises(EngineFailure) as untold:
        engine.count(CELLS, Region.whole(), tables=lying(CELLS.plan, engine.place("x", folder=NOWHERE)))
    assert MARK not in words(untold.value)
    with pytest.raises(UsageError, match=match):
        engine.drop(engine.place("x", folder=NOWHERE))


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def test_servers_that_do_not_let_us_in(postgres_address, monkeypatch):
    refused(postgres_address, "no such database", dbname=f"{MARK}")
    refused(postgres_address, "refused the login", user=f"{MARK}")
    refused(f"postgresql://{MARK}:{MARK}@127.0.0.1:{free_port()}/db", "cannot be reached")
    refused(f"postgresql://{MARK}@/db?host=/nowhere/{MARK}", "cannot be reached")
    with pytest.raises(UsageError, match="not the address"):
        PostgresEngine(f"postgresql://x/db?{MARK}=1").header("people", folder=NOWHERE)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (f'FATAL:  password authentication failed for user "{MARK}"', "refused the login"),
        (f'FATAL:  no pg_hba.conf entry for host "{MARK}"', "refused the login"),
        ("fe_sendauth: no password supplied", "refused the login"),
        ("server does not support SSL, but SSL was required", "does not offer TLS"),
        ("FATAL:  sorry, too many clients already", "has no free connection"),
        (f'could not translate host name "{MARK}" to address', "cannot be reached"),
        (f"{MARK}", "cannot be reached"),
    ],
)
def test_what_libpq_says_only_in_words(words, sentence):
    told = unreachable(psycopg.OperationalError(words), ENGINE_SERVER)
    assert sentence in str(told) and MARK not in str(told)


@contextmanager
def silent():
    """A server that takes connections and says nothing."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        one.listen(8)
        yield one.getsockname()[1]


def test_a_server_that_says_nothing(monkeypatch):
    monkeypatch.setitem(postgres_connection.SILENCE, "connect_timeout", 2)
    with silent() as port, pytest.raises(UsageError, match="cannot be reached"):
        PostgresEngine(f"postgresql://x@127.0.0.1:{port}/db").header("people", folder=NOWHERE)


def test_no_psycopg(monkeypatch, postgres_address):
    monkeypatch.setitem(__import__("sys").modules, "psycopg", None)
    with pytest.raises(UsageError, match="needs psycopg") as told:
        PostgresEngine(postgres_address).header("people", folder=NOWHERE)
    assert told.value.hint == 'pip install "discreet[postgres]"'


def test_servers_that_are_not_what_we_need(postgres_address, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(session_module, "OLDEST", 99)
        with pytest.raises(UsageError, match="Discreet needs 99 or newer"):
            PostgresEngine(postgres_address).header("people", folder=NOWHERE)
    with monkeypatch.context() as patch:
        patch.setitem(session_module._SETTINGS, "bytea_output", "escape")
        patch.setattr(
            session_module,
            "_value",
            lambda name, value: "'hex'" if name == "bytea_output" else f"'{value}'" if name != "search_path" else value,
        )
        with pytest.raises(UsageError, match="does not allow bytea_output to be set"):
            PostgresEngine(postgres_address).header("people", folder=NOWHERE)
    name = new_name("latin")
    execute(
        postgres_address, f"CREATE DATABASE {name} ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0"
    )
    try:
        refused(postgres_address, "encoding of the database is LATIN1", dbname=name)
    finally:
        execute(postgres_address, f"DROP DATABASE {name} WITH (FORCE)")


def test_strange_settings_of_the_role_change_nothing(made, postgres_address):
    """Of its session, of its search path, of its read-only transactions."""
    table, place = made
    role = new_name("strange")
    execute(
        postgres_address,
        f"CREATE ROLE {role} LOGIN SUPERUSER",
        f"ALTER ROLE {role} SET search_path = evil, public",
        f"ALTER ROLE {role} SET standard_conforming_strings = off",
        f"ALTER ROLE {role} SET TimeZone = 'Asia/Kolkata'",
        f"ALTER ROLE {role} SET DateStyle = 'SQL, DMY'",
        f"ALTER ROLE {role} SET default_transaction_read_only = on",
        f"ALTER ROLE {role} SET default_transaction_isolation = 'read uncommitted'",
        f"ALTER ROLE {role} SET statement_timeout = '10s'",
        "DROP SCHEMA IF EXISTS evil CASCADE",
        "CREATE SCHEMA evil",
        "CREATE FUNCTION evil.length(text) RETURNS integer LANGUAGE sql AS 'SELECT 999'",
        "CREATE FUNCTION evil.substr(text, integer, integer) RETURNS text LANGUAGE sql AS $$SELECT 'evil'$$",
        "CREATE TABLE evil.pg_class (oid oid, relname text)",
    )
    engine = PostgresEngine(psycopg.conninfo.make_conninfo(postgres_address, user=role))
    try:
        assert total(engine, place) == 30
        other = engine.place(new_name("made"), folder=NOWHERE)
        engine.declare(table, folder=NOWHERE, target=other)
        assert declared_rows(postgres_address, other) == declared_rows(postgres_address, place)
        engine.drop(other)
    finally:
        engine.close()
        execute(postgres_address, "DROP SCHEMA evil CASCADE", f"DROP OWNED BY {role}", f"DROP ROLE {role}")


def test_what_a_role_is_not_allowed_is_named(plain, made, postgres_address, postgres_engine):
    role, engine = plain
    table, place = made
    target = engine.place(new_name("made"), folder=NOWHERE)
    database = execute(postgres_address, "SELECT current_database()")[0][0]
    with pytest.raises(UsageError, match="is not allowed to read") as told:
        engine.header(table.source, folder=NOWHERE)
    assert told.value.hint == f'GRANT SELECT ON "public".{table.source} TO "{role}"'
    execute(postgres_address, told.value.hint)
    with pytest.raises(UsageError, match="not allowed to create tables in schema discreet") as told:
        engine.declare(table, folder=NOWHERE, target=target)
    grant = told.value.hint.partition(": ")[2]
    assert grant == f'GRANT USAGE, CREATE ON SCHEMA discreet TO "{role}"'
    execute(postgres_address, grant, f'REVOKE TEMPORARY ON DATABASE "{database}" FROM PUBLIC')
    try:
        with pytest.raises(UsageError, match="not allowed to create temporary tables") as told:
            engine.declare(table, folder=NOWHERE, target=target)
        execute(postgres_address, told.value.hint.partition(": ")[2])
        assert engine.declare(table, folder=NOWHERE, target=target).exact_rows == 30
        assert total(engine, target) == 30
        found, known = (one.trace(table.source, folder=NOWHERE).same for one in (engine, postgres_engine))
        assert found == known
        with pytest.raises(UsageError, match="this role is not allowed to read version 1"):
            engine.ready(lying(CELLS.plan, place))
        with pytest.raises(EngineFailure):
            engine.count(CELLS, Region.whole(), tables=lying(CELLS.plan, place))
    finally:
        execute(postgres_address, f'GRANT TEMPORARY ON DATABASE "{database}" TO PUBLIC')


def test_a_materialized_view_of_a_table_that_the_role_may_not_read(plain, made, postgres_address):
    """Its owner may: the role's rights end at the view."""
    role, engine = plain
    table, _ = made
    name = load(postgres_address, [{"age": 1, "note": "a"}])
    view = new_name("view")
    execute(
        postgres_address,
        f"CREATE MATERIALIZED VIEW {view} AS SELECT * FROM {name} WHERE age < 5",
        f"GRANT SELECT ON {view} TO {role}",
        f"GRANT USAGE, CREATE ON SCHEMA discreet TO {role}",
    )
    place = engine.place(new_name("made"), folder=NOWHERE)
    assert engine.declare(replace(table, source=view), folder=NOWHERE, target=place).exact_rows == 1
    with pytest.raises(UsageError, match="is not allowed to read"):
        engine.header(name, folder=NOWHERE)


def test_rows_that_a_policy_hides(plain, made, postgres_address):
    role, engine = plain
    name = load(postgres_address, [{"age": 1, "note": "a"}, {"age": 2, "note": "b"}])
    execute(
        postgres_address,
        f"ALTER TABLE {name} ENABLE ROW LEVEL SECURITY",
        f"CREATE POLICY part ON {name} USING (age = 1)",
        f"GRANT SELECT ON {name} TO {role}",
    )
    with pytest.raises(UsageError, match="row-level security hides rows"):
        engine.header(name, folder=NOWHERE)


def test_nobody_else_may_read_a_declared_table(made, postgres_engine, postgres_address):
    """Not even who was promised all new tables."""
    table, _ = made
    role = new_name("analysts")
    execute(
        postgres_address,
        f"CREATE ROLE {role}",
        f"ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO {role}",
        "ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO PUBLIC",
    )
    schema = replace(SCHEMA, unit=PrivacyUnit(person=("who",), rows=2))
    try:
        place = postgres_engine.place(new_name("made"), folder=NOWHERE)
        postgres_engine.declare(replace(table, schema=schema), folder=NOWHERE, target=place, key=KEY, tag_key=TAG_KEY)
        for name in (place.name, f"{place.name}-tags"):
            for who in (role, "public"):
                asked_ = f"SELECT has_table_privilege('{who}', 'discreet.\"{name}\"', 'SELECT')"
                assert execute(postgres_address, asked_) == [(False,)]
    finally:
        execute(
            postgres_address,
            "ALTER DEFAULT PRIVILEGES REVOKE SELECT ON TABLES FROM PUBLIC",
            f"ALTER DEFAULT PRIVILEGES REVOKE SELECT ON TABLES FROM {role}",
            f"DROP ROLE {role}",
        )


def test_parameters_stay_out_of_the_log_where_that_can_be_had(postgres_address):
    sessions = PostgresSessionPool(postgres_address)
    with sessions.session() as session, session.transaction(read_only=False, deadline_s=None):
        assert isinstance(session, PostgresSession)
        found = session.connection.execute("SHOW log_parameter_max_length").fetchone()
    assert found == ("0",) and "log_parameter_max_length" in session.wishes
    sessions.close()
