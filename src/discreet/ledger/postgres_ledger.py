"""The ledger in PostgreSQL, for curators on several machines: psycopg 3, one connection, one writer at a time.

    BEGIN READ COMMITTED; settings of this transaction, read back; pg_advisory_xact_lock
    -> read what others appended -> append -> COMMIT, whose answer must be "COMMIT" and no warning

Guarantee: an entry is appended after the newest one or not at all, whoever else writes.
Because: writers wait for each other at an advisory lock that ends with the transaction, and each statement after it
    sees what it waited for. Where somebody writes without that lock, the numbers of entries are a primary key, and a
    trigger compares `previous` with the entry before: the second of two writers is refused by the database.

Settings are made for each transaction, not for the connection: behind a pooler the next one may have another server
process. A COMMIT whose outcome is not known (the connection was lost, the server warned that a standby did not
confirm) is a fault, and counts as made: the lock is held until the server has decided, and whoever takes it next
reads what stands.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from weakref import finalize

from discreet.errors import Command, LedgerFault, Message, UsageError
from discreet.ledger import postgres_tables
from discreet.ledger.chain import LedgerEntry
from discreet.ledger.ledger_location import DatabaseAddress
from discreet.ledger.postgres_faults import LEDGER_SERVER
from discreet.ledger.summary_tables import ChargeRow, SummaryRows
from discreet.storage.postgres_connection import READ_BACK, connect, durable_settings, is_remote, refuse_unmet
from discreet.storage.postgres_errors import postgres_faults

if TYPE_CHECKING:
    from psycopg import Connection
    from psycopg.errors import Diagnostic

    LedgerConnection = Connection[tuple[Any, ...]]

#: How long a writer waits for another, and for the server, before it gives up.
WAIT_S = 60
#: Rows fetched at once.
_PAGE = 1000
#: The first half of the advisory lock's number; the other half is the table's.
_LOCK = 0x44_4C_45_44
_LEAST_SEQ = -(2**63)

#: What a transaction needs.
_SETTINGS = durable_settings(
    local=True,
    more={
        "lock_timeout": f"{WAIT_S}s",
        "statement_timeout": f"{2 * WAIT_S}s",
        "idle_in_transaction_session_timeout": f"{2 * WAIT_S}s",
    },
)


class PostgresLedgerStore:
    """One connection, shared by the threads of one process under the journal's lock. See `LedgerStore`."""

    shared = True

    @property
    def exposed(self) -> bool:
        """Whether what is said to the server crosses a network in the clear."""
        return not self._connection.pgconn.ssl_in_use and is_remote(self._connection.info.hostaddr)

    def __init__(self, address: DatabaseAddress, connection: LedgerConnection, schema: str) -> None:
        self._address = address
        self._schema = schema
        self._pid = os.getpid()
        self._warnings: list[str] = []
        self._connection = self._watch_connection(connection)

    @staticmethod
    def has_ledger(address: DatabaseAddress) -> bool:
        """Whether there is a ledger."""
        with closing(connect(address.url, LEDGER_SERVER)) as connection, postgres_faults(LEDGER_SERVER):
            return postgres_tables.ledger_exists(connection, _current_schema(connection))

    @staticmethod
    def create(address: DatabaseAddress) -> PostgresLedgerStore:
        """A transaction at a place where no ledger is; `make` makes the tables, which appear when it is committed."""
        connection = connect(address.url, LEDGER_SERVER)
        try:
            with postgres_faults(LEDGER_SERVER):
                schema = _current_schema(connection)
                store = PostgresLedgerStore(address, connection, schema)
                store._begin(str(_LOCK))
                if postgres_tables.ledger_exists(connection, schema):
                    raise UsageError(f"there is already a ledger at {address.name!r}")
                return store
        except BaseException:
            connection.close()
            raise

    @staticmethod
    def open(address: DatabaseAddress) -> PostgresLedgerStore:
        """A store that exists; refused where its tables, checks and triggers are not the ones we made."""
        connection = connect(address.url, LEDGER_SERVER)
        try:
            with postgres_faults(LEDGER_SERVER):
                return PostgresLedgerStore(address, connection, _verified_schema(connection, address))
        except BaseException:
            connection.close()
            raise

    def make(self) -> None:
        """Make the tables, in the transaction that `create` began."""
        with postgres_faults(LEDGER_SERVER):
            postgres_tables.create_tables(self._connection, self._schema)

    def begin(self) -> None:
        self._reconnect()
        entries = postgres_tables.table(self._schema, "entries").replace("'", "''")
        with postgres_faults(LEDGER_SERVER):
            self._begin(f"({_LOCK}::bigint << 32) | '{entries}'::regclass::oid::bigint")

    def snapshot(self) -> None:
        self._reconnect()
        with postgres_faults(LEDGER_SERVER):
            self._connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")

    def commit(self) -> None:
        with postgres_faults(LEDGER_SERVER):
            self._warnings.clear()
            status_message = self._connection.execute("COMMIT").statusmessage
            if status_message != "COMMIT" or self._warnings:
                raise LedgerFault(
                    "the ledger's server did not confirm that the charge is durable",
                    hint="repeat the query; if the charge is found, it counts",
                )

    def rollback(self) -> None:
        """A connection that cannot be brought back to rest is given up: the server then forgets by itself."""
        from psycopg.pq import TransactionStatus as Status

        with suppress(Exception):
            status = self._connection.info.transaction_status
            if status in (Status.INTRANS, Status.INERROR):
                self._connection.execute("ROLLBACK")
            if self._connection.info.transaction_status == Status.IDLE:
                return
        with suppress(Exception):
            self._connection.close()

    def entries(self, *, after: int | None = None) -> Iterator[LedgerEntry]:
        least = _LEAST_SEQ if after is None else after + 1
        select = f"{_ENTRIES} {self._table('entries')} WHERE seq >= %s ORDER BY seq LIMIT {_PAGE}"
        while True:
            with postgres_faults(LEDGER_SERVER):
                page = self._connection.execute(select, (least,)).fetchall()
            yield from map(_entry, page)
            if len(page) < _PAGE:
                return
            least = page[-1][0] + 1

    def span(self, first: int, last: int) -> list[LedgerEntry]:
        self._reconnect()
        select = f"{_ENTRIES} {self._table('entries')} WHERE seq BETWEEN %s AND %s ORDER BY seq"
        with postgres_faults(LEDGER_SERVER):
            return [_entry(row) for row in self._connection.execute(select, (first, last)).fetchall()]

    def append(self, entry: LedgerEntry, rows: SummaryRows, *, payload: tuple[str, str, str] | None = None) -> None:
        """All of it in one statement, which is one journey to the server. Keys are compared when it ends."""
        writes = [self._insert("entries", _entry_row(entry))]
        writes += [self._upsert("populations", row, key=("name",)) for row in rows.populations]
        writes += [self._upsert("segments", row, key=("population", "table_name", "version")) for row in rows.segments]
        writes += [self._insert("charges", row) for row in rows.charges]
        if payload is not None:
            writes.append(self._insert("answers", _answer_row(payload)))
        parts = ", ".join(f"w{number} AS ({text})" for number, (text, _) in enumerate(writes))
        with postgres_faults(LEDGER_SERVER):
            if rows.replace:
                # An update could not let one fall.
                self._connection.execute(f"DELETE FROM {self._table('segments')}", ())
            self._connection.execute(f"WITH {parts} SELECT 1", [value for _, row in writes for value in row])

    def restore(
        self, entries: Iterable[LedgerEntry], rows: SummaryRows, payloads: Iterable[tuple[str, str, str]]
    ) -> None:
        """Write a whole ledger that comes from elsewhere. Its triggers see every row, in the order of history."""
        with postgres_faults(LEDGER_SERVER):
            self._insert_all("entries", map(_entry_row, entries), width=7)
            self._insert_all("populations", rows.populations, width=8)
            self._insert_all("segments", rows.segments, width=8)
            self._insert_all("charges", rows.charges, width=11)
            self._insert_all("answers", map(_answer_row, payloads), width=3)

    def rows(self) -> SummaryRows:
        return replace(self.balances(), charges=tuple(self.charge_rows()))

    def charge_rows(self, *, after: int = 0) -> Iterator[ChargeRow]:
        least = after + 1 if after else _LEAST_SEQ
        select = f"SELECT * FROM {self._table('charges')} WHERE seq >= %s ORDER BY seq LIMIT {_PAGE}"
        while True:
            with postgres_faults(LEDGER_SERVER):
                page: list[Any] = self._connection.execute(select, (least,)).fetchall()
            yield from page
            if len(page) < _PAGE:
                return
            least = page[-1][0] + 1

    def balances(self) -> SummaryRows:
        with postgres_faults(LEDGER_SERVER):
            return SummaryRows(
                populations=tuple(self._all("populations", "name")),
                segments=tuple(self._all("segments", "population, table_name, version")),
            )

    def payload(self, id_: str) -> str | None:
        with postgres_faults(LEDGER_SERVER):
            select = f"SELECT payload FROM {self._table('answers')} WHERE id = %s"
            payload_row = self._connection.execute(select, (id_,)).fetchone()
            return None if payload_row is None else _text(payload_row[0])

    def payloads(self) -> Iterator[tuple[str, str, str]]:
        select = f"SELECT id, sha256, payload FROM {self._table('answers')} WHERE id > %s ORDER BY id LIMIT {_PAGE}"
        last = ""
        while True:
            with postgres_faults(LEDGER_SERVER):
                page = self._connection.execute(select, (last,)).fetchall()
            for id_, sha256, payload in page:
                yield id_, sha256, _text(payload)
            if len(page) < _PAGE:
                return
            last = page[-1][0]

    def integrity(self) -> str:
        return ""  # a server checks its pages as it reads them, and `load` reads every row

    def close(self) -> None:
        with suppress(Exception):
            self._connection.close()

    def _reconnect(self) -> None:
        """Make the connection again where it was lost, with every check: between transactions nothing hangs on it."""
        if self._pid != os.getpid():
            raise LedgerFault(
                "this process was forked from one that was just using a ledger", hint="start it as a new process"
            )
        if not self._connection.closed:
            return
        connection = connect(self._address.url, LEDGER_SERVER)
        try:
            with postgres_faults(LEDGER_SERVER):
                if _verified_schema(connection, self._address) != self._schema:
                    raise LedgerFault("the ledger's connection now uses another schema", hint="open the ledger again")
        except BaseException:
            connection.close()
            raise
        self._connection = self._watch_connection(connection)

    def _watch_connection(self, connection: LedgerConnection) -> LedgerConnection:
        """Hear a connection's warnings, and close it when nobody has this store any more."""
        warnings = self._warnings  # not self: a connection that knew its store would keep it

        def hear(notice: Diagnostic) -> None:
            if notice.severity_nonlocalized == "WARNING":
                warnings.append(notice.sqlstate or "")

        connection.add_notice_handler(hear)
        finalize(self, connection.close)
        return connection

    def _begin(self, lock: str) -> None:
        """Begin, make what durability needs, read it back, and wait for the lock: in one journey to the server."""
        begin = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"
        cursor = self._connection.execute(
            f"{begin}; {_SETTINGS}; {READ_BACK}; SELECT pg_advisory_xact_lock({lock}) IS NULL"
        )
        cursor.nextset()
        cursor.nextset()
        refuse_unmet(cursor.fetchone(), LEDGER_SERVER)

    def _table(self, name: str) -> str:
        """A table's name in a statement with parameters, empty as they may be: there a % is written twice."""
        return postgres_tables.table(self._schema, name).replace("%", "%%")

    def _all(self, table: str, order: str) -> list[tuple[Any, ...]]:
        return self._connection.execute(f"SELECT * FROM {self._table(table)} ORDER BY {order}", ()).fetchall()

    def _insert(self, table: str, row: tuple[Any, ...]) -> tuple[str, tuple[Any, ...]]:
        return f"INSERT INTO {self._table(table)} VALUES ({_placeholders(len(row))})", row

    def _insert_all(self, table: str, rows: Iterable[tuple[Any, ...]], *, width: int) -> None:
        with self._connection.cursor() as cursor:
            cursor.executemany(f"INSERT INTO {self._table(table)} VALUES ({_placeholders(width)})", rows)

    def _upsert(self, table: str, row: tuple[Any, ...], *, key: tuple[str, ...]) -> tuple[str, tuple[Any, ...]]:
        sets = ", ".join(f"{name} = excluded.{name}" for name in _COLUMNS[table] if name not in key)
        insert, values = self._insert(table, row)
        return f"{insert} ON CONFLICT ({', '.join(key)}) DO UPDATE SET {sets}", values


_COLUMNS = {
    "populations": ("name", "epsilon", "delta", "delta_limit", "delta_spent", "used", "charges", "seq"),
    "segments": ("population", "table_name", "version", "pure", "rho", "pure_sum", "rho_sum", "seq"),
}


_ENTRIES = "SELECT seq, time, kind, body, previous, digest, mac FROM"


def _entry(row: tuple[Any, ...]) -> LedgerEntry:
    seq, time, kind, body, previous, digest, mac = row
    return LedgerEntry(seq=seq, time=time, kind=kind, body=body, previous=previous, digest=digest, mac=mac)


def _entry_row(entry: LedgerEntry) -> tuple[Any, ...]:
    return (entry.seq, entry.time, entry.kind, entry.body, entry.previous, entry.digest, entry.mac)


def _answer_row(answer: tuple[str, str, str]) -> tuple[Any, ...]:
    id_, sha256, payload = answer
    return (id_, sha256, payload.encode("utf-8", "surrogateescape"))


def _text(payload: bytes) -> str:
    """An answer is kept as bytes: PostgreSQL's text has no NUL, and what is no UTF-8 must reach the digests."""
    return payload.decode("utf-8", "surrogateescape")


def _placeholders(width: int) -> str:
    return ", ".join(["%s"] * width)


def _verified_schema(connection: LedgerConnection, address: DatabaseAddress) -> str:
    """The schema that a ledger lies in, whose tables are the ones we made."""
    schema = _current_schema(connection)
    if not postgres_tables.ledger_exists(connection, schema):
        raise LedgerFault(
            f"there is no ledger at {address.name!r}",
            hint=Message(
                "run ",
                Command("ledger restore", "FILE"),
                " to restore a backup; if there never was one, run ",
                Command("init"),
                " or ",
                Command("ledger move"),
            ),
        )
    with _rolled_back_transaction(connection):
        postgres_tables.check_catalog(connection, schema)
    return schema


def _current_schema(connection: LedgerConnection) -> str:
    # Behind a pooler the server's process may have the path that another client of the pool left there.
    with _rolled_back_transaction(connection):
        connection.execute("SET LOCAL search_path TO DEFAULT")
        schema_row = connection.execute("SELECT current_schema()::text").fetchone()
    if schema_row is None or schema_row[0] is None:
        raise LedgerFault(
            "the ledger's database has no schema to keep it in", hint="CREATE SCHEMA, or options=-csearch_path"
        )
    return str(schema_row[0])


@contextmanager
def _rolled_back_transaction(connection: LedgerConnection) -> Iterator[None]:
    connection.execute("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE")
    try:
        yield
    finally:
        with suppress(Exception):
            connection.execute("ROLLBACK")
