"""Ledgers broken on purpose, to see that the checks see it."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator

from discreet.ledger.anchor import Anchor
from discreet.ledger.journal import Journal
from discreet.ledger.sqlite_ledger import SqliteLedgerStore


def without_locks() -> None:
    """Read, decide, and only then take the database to write: what everybody tries first."""

    @contextlib.contextmanager
    def lock(self: Anchor) -> Iterator[None]:
        yield

    def append(self: SqliteLedgerStore, *arguments: object, **named: object) -> None:
        time.sleep(0.001)
        if not self._connection.in_transaction:
            self._connection.execute("BEGIN IMMEDIATE")
        insert(self, *arguments, **named)

    def commit(self: SqliteLedgerStore) -> None:
        if self._connection.in_transaction:
            self._connection.execute("COMMIT")

    insert = SqliteLedgerStore.append
    Anchor.lock = lock
    SqliteLedgerStore.begin = lambda self: None
    SqliteLedgerStore.append = append
    SqliteLedgerStore.commit = commit


def head_before_commit() -> None:
    """The anchor is written first: a crash in between makes every sound ledger look rolled back."""

    @contextlib.contextmanager
    def committed_section(self: Journal, **options: object) -> Iterator[None]:
        with whole(self, **options):
            yield
            if self._pending:
                self._write_head()

    whole = Journal.committed_section
    Journal.committed_section = committed_section


def answer_before_charge() -> None:
    """The charge is made, but its commit is put off to the next one: an answer may leave without it."""
    pending: dict[int, bool] = {}

    def commit(self: SqliteLedgerStore) -> None:
        pending[id(self)] = True

    def begin(self: SqliteLedgerStore) -> None:
        if pending.pop(id(self), False):
            finish(self)
        start(self)

    start, finish = SqliteLedgerStore.begin, SqliteLedgerStore.commit
    SqliteLedgerStore.begin, SqliteLedgerStore.commit = begin, commit


MUTANTS: dict[str, Callable[[], None]] = {
    "without_locks": without_locks,
    "head_before_commit": head_before_commit,
    "answer_before_charge": answer_before_charge,
}
