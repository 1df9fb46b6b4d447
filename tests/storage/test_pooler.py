"""PgBouncer before a server: what each pooling mode lets through, and that nobody spends a unit too much behind it.

In session mode a client has a session of the server's; in transaction mode each transaction may have another one, whose
settings, prepared statements and locks other clients left; in statement mode there are no transactions.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest

from crash.test_postgres import Machines, problems, two_machines
from discreet.engines.engine import EngineFailure
from discreet.engines.postgres.postgres_engine import PostgresEngine
from discreet.errors import LedgerFault, UsageError
from discreet.ledger.ledger import Ledger
from discreet.ledger.ledger_location import DatabaseAddress
from discreet.schema.schema import Table
from engines.postgres.people import MARK, SCHEMA
from engines.postgres.server import NOWHERE, load, new_name
from ledger.ledgers import ask, laplace, make
from postgres_versions import bouncer
from surveys.collector.database import server

pytestmark = pytest.mark.deep

POOLED = ["session", "transaction"]


@pytest.fixture(scope="module")
def direct() -> Iterator[str]:
    """A server."""
    with server() as address:
        yield address


@pytest.fixture(scope="module")
def poolers(direct: str) -> Iterator[dict[str, str]]:
    """A pooler of each mode before it. Two sessions serve all clients of a database; of `session` each has its own."""
    with (
        bouncer(direct, "session", size=20) as session,
        bouncer(direct, "transaction", size=2) as transaction,
        bouncer(direct, "statement", size=2) as statement,
    ):
        yield {"session": session, "transaction": transaction, "statement": statement}


@contextmanager
def database(direct: str, pooler: str) -> Iterator[str]:
    """A database of the test's own, reached through the pooler."""
    name = f"pooled_{secrets.token_hex(6)}"
    with psycopg.connect(direct, autocommit=True) as admin:
        admin.execute(f"CREATE DATABASE {name} ENCODING 'UTF8' TEMPLATE template0")
        try:
            yield urlsplit(pooler)._replace(path=f"/{name}").geturl()
        finally:
            admin.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(params=POOLED)
def pooled(request: pytest.FixtureRequest, direct: str, poolers: dict[str, str]) -> Iterator[str]:
    with database(direct, poolers[request.param]) as address:
        yield address


def leave_behind(address: str, statement: str) -> None:
    """What another client leaves in every session of the pool."""
    clients = [psycopg.connect(address) for _ in range(2)]
    for client in clients:
        client.execute(statement)
    for client in clients:
        client.commit()
        client.close()


def test_machines_that_charge_at_once_spend_a_budget_exactly(
    pooled: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two processes of 32 threads, and a second connection of each: in transaction mode two sessions serve them all."""
    address, limit = DatabaseAddress(url=pooled), Fraction(1)
    states = two_machines(address, tmp_path, limit, monkeypatch)
    ids, wrong = Machines("racer.py", address, states).said(400)
    assert len(ids) == limit * 100
    assert wrong + problems(address, states, ids, limit, monkeypatch) == []


def test_a_lock_of_the_session_would_be_lost(
    direct: str, poolers: dict[str, str], state_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The planted fault: a lock that outlives its transaction stays with a session that others use. It is noticed."""
    from discreet.ledger import postgres_ledger
    from discreet.ledger.postgres_ledger import PostgresLedgerStore

    begin = PostgresLedgerStore._begin

    def begin_with_session_lock(store: PostgresLedgerStore, lock: str) -> None:
        store._connection.execute("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE")
        for statement in (postgres_ledger._SETTINGS, f"SELECT pg_advisory_lock({lock})"):
            store._connection.execute(statement)

    with database(direct, poolers["transaction"]) as address, make(DatabaseAddress(url=address)) as ledger:
        monkeypatch.setattr(PostgresLedgerStore, "_begin", begin_with_session_lock)
        ask(ledger, laplace("0.1"))
        monkeypatch.setattr(PostgresLedgerStore, "_begin", begin)
        settings = postgres_ledger._SETTINGS.replace("'lock_timeout', '60s'", "'lock_timeout', '50ms'")
        monkeypatch.setattr(postgres_ledger, "_SETTINGS", settings)
        with psycopg.connect(address) as other:
            other.execute("SELECT 1")  # keeps the one session whose lock was left; the ledger gets the other one
            with pytest.raises(LedgerFault, match="does not release it"):
                ask(ledger, laplace("0.1"))


def test_what_another_client_left_changes_nothing(pooled: str, state_folder: Path) -> None:
    """A path, a mode, a format: in transaction mode they stay in the session that the next client gets."""
    with psycopg.connect(pooled) as other:
        other.execute("CREATE SCHEMA evil; CREATE TABLE evil.people (age integer, note text, who integer)")
        other.commit()
    name = load(pooled, [{"age": place % 10, "note": MARK, "who": place % 7} for place in range(30)])
    with make(DatabaseAddress(url=pooled)) as ledger:
        for statement in (
            "SET search_path = evil",
            "SET default_transaction_read_only = on",
            "SET synchronous_commit = off",
            "SET DateStyle = 'German'; SET bytea_output = 'escape'; SET standard_conforming_strings = off",
        ):
            leave_behind(pooled, statement)
        ask(ledger, laplace(1))
        with Ledger.open(DatabaseAddress(url=pooled)) as again:
            assert again.account_status("patients").spent.epsilon == 1
            with again._journal.committed_section():
                setting = again._journal.store._connection.execute("SHOW synchronous_commit").fetchone()
                assert setting == ("on",)
    engine = PostgresEngine(pooled, deadline_s=60)
    try:
        assert engine.header(name, folder=NOWHERE).relation.schema == "public"
        table = Table(schema=SCHEMA, source=name, population="people", budget=None)
        place = engine.place(new_name("made"), folder=NOWHERE)
        assert engine.declare(table, folder=NOWHERE, target=place).exact_rows == 30
    finally:
        engine.close()


def test_statement_pooling_is_refused(direct: str, poolers: dict[str, str], state_folder: Path) -> None:
    """Nothing is charged, and nothing is made, where a transaction cannot be kept together."""
    with database(direct, poolers["session"]) as through:
        make(DatabaseAddress(url=through)).close()
        statement = DatabaseAddress(url=urlsplit(poolers["statement"])._replace(path=urlsplit(through).path).geturl())
        with pytest.raises(LedgerFault), Ledger.open(statement) as ledger:
            ask(ledger, laplace(1))
        engine = PostgresEngine(statement.url)
        with pytest.raises((UsageError, EngineFailure)):
            engine.header("people", folder=NOWHERE)
        engine.close()
        with Ledger.open(DatabaseAddress(url=through)) as ledger:
            assert ledger.account_status("patients").spent.epsilon == 0
