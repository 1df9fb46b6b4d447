"""The store behind a place: SQLite for a file, PostgreSQL for an address."""

from __future__ import annotations

from discreet.ledger.postgres import PostgresStore
from discreet.ledger.sqlite import SqliteStore
from discreet.ledger.store import Store
from discreet.ledger.where import Address, Where


def open_store(where: Where) -> Store:
    """A store that exists; refused where its tables, checks and triggers are not the ones we made."""
    return PostgresStore.open(where) if isinstance(where, Address) else SqliteStore.open(where)


def warnings_of(store: Store) -> tuple[str, ...]:
    """What an owner should know about a place that can be used all the same."""
    if not store.exposed:
        return ()
    return (
        "the ledger's server is another machine, and the connection is not encrypted: questions, answers and perhaps "
        "the password cross the network in the clear; add sslmode=verify-full to its address",
    )
