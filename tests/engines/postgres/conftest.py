"""The server, the engine on it, and a declared table of 30 people."""

import psycopg
import pytest

from discreet.engines.postgres.postgres_engine import PostgresEngine
from discreet.schema.schema import Table
from engines.postgres.people import MARK, SCHEMA
from engines.postgres.server import NOWHERE, execute, load, new_name, postgres_address, postgres_engine

__all__ = ["engine", "made", "plain", "postgres_address", "postgres_engine"]


@pytest.fixture(scope="module")
def made(postgres_engine, postgres_address):
    """A declared table of 30 rows."""
    name = load(postgres_address, [{"age": place % 10, "note": MARK, "who": place % 7} for place in range(30)])
    table = Table(schema=SCHEMA, source=name, population="people", budget=None)
    place = postgres_engine.place(new_name("made"), folder=NOWHERE)
    postgres_engine.declare(table, folder=NOWHERE, target=place)
    return table, place


@pytest.fixture
def engine(postgres_address):
    """An engine of the test's own."""
    engine = PostgresEngine(postgres_address, deadline_s=30)
    yield engine
    engine.close()


@pytest.fixture
def plain(postgres_address):
    """A role of few rights, and its engine."""
    role = new_name("plain")
    execute(postgres_address, f"CREATE ROLE {role} LOGIN")
    engine = PostgresEngine(psycopg.conninfo.make_conninfo(postgres_address, user=role))
    yield role, engine
    engine.close()
    execute(postgres_address, f"DROP OWNED BY {role} CASCADE", f"DROP ROLE {role}")
