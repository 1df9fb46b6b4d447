"""What a ledger needs of a database: SQLite for one machine, PostgreSQL for several. Both pass the same tests.

A store keeps entries, the rows beside them and the payloads of answers; it decides nothing. Every
method turns the database's own errors into LedgerFault.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from discreet.ledger.chain import LedgerEntry
from discreet.ledger.summary_tables import ChargeRow, SummaryRows


class LedgerStore(Protocol):
    """Durable, transactional, one writer at a time.

    `shared`: machines with anchors of their own write to it, so an anchor may be behind, and the connection can be
    lost and made again. `exposed`: what is said to it crosses a network in the clear.
    """

    @property
    def shared(self) -> bool: ...

    @property
    def exposed(self) -> bool: ...

    def begin(self) -> None:
        """Start a transaction that excludes every other writer."""

    def snapshot(self) -> None:
        """Start a transaction that writes nothing and sees one state of everything. `rollback` ends it."""

    def commit(self) -> None:
        """Make the transaction durable. Returns only after the disk said so."""

    def rollback(self) -> None:
        """Forget the transaction. Never raises."""

    def entries(self, *, after: int | None = None) -> Iterator[LedgerEntry]:
        """The entries with a larger number than `after`, or all, in order, as they stand."""

    def append(self, entry: LedgerEntry, rows: SummaryRows, *, payload: tuple[str, str, str] | None = None) -> None:
        """Write an entry, the rows that it touched, and the (id, sha256, payload) of an answer."""

    def span(self, first: int, last: int) -> list[LedgerEntry]:
        """The entries with these numbers and those between, as they stand. Needs no transaction."""

    def rows(self) -> SummaryRows:
        """Every row beside the chain, in the order of `summary_tables.all_rows`."""

    def balances(self) -> SummaryRows:
        """The same without the charges."""

    def charge_rows(self, *, after: int = 0) -> Iterator[ChargeRow]:
        """The rows of charges, one by one, in order; or of those after an entry."""

    def payload(self, id_: str) -> str | None:
        """The payload stored under a charge."""

    def payloads(self) -> Iterator[tuple[str, str, str]]:
        """Every (id, sha256, payload)."""

    def integrity(self) -> str:
        """The database's own opinion of its file: empty when all is well."""

    def close(self) -> None:
        """Let go of it."""
