"""The store behind a place: SQLite for a file, PostgreSQL for an address."""

from __future__ import annotations

from discreet.ledger.ledger_location import DatabaseAddress, LedgerLocation
from discreet.ledger.ledger_store import LedgerStore
from discreet.ledger.postgres_ledger import PostgresLedgerStore
from discreet.ledger.sqlite_ledger import SqliteLedgerStore


def open_ledger_store(where: LedgerLocation) -> LedgerStore:
    """A store that exists; refused where its tables, checks and triggers are not the ones we made."""
    return PostgresLedgerStore.open(where) if isinstance(where, DatabaseAddress) else SqliteLedgerStore.open(where)


def connection_warnings(store: LedgerStore) -> tuple[str, ...]:
    """What an owner should know about a place that can be used all the same."""
    if not store.exposed:
        return ()
    return (
        "the ledger's server is another machine, and the connection is not encrypted: queries, answers and perhaps "
        "the password cross the network unencrypted; add sslmode=verify-full to its address",
    )
