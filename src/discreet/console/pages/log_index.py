"""Which rows of the ledger are about what, in memory: a filter need not read all of them for each page."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from discreet.console.pages.ledger_rows import row_subject
from discreet.ledger.chain import LedgerEntry
from discreet.ledger.ledger import Ledger

#: Rows that are not on a page are read with it, where they stand between two that are no further apart.
_NEAR = 50


@dataclass(frozen=True, slots=True)
class IndexedRow:
    """A row, by its number, and what filters look at."""

    seq: int
    kind: str
    table: str | None
    analyst: str | None


class LogIndex:
    """The rows of a ledger, as far as it was read."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._rows: list[IndexedRow] = []
        self._digest = ""

    def rows(self, ledger: Ledger) -> list[IndexedRow]:
        """Every row, in order."""
        with self._lock:
            seen = len(self._rows)
            entries = list(ledger.entries(after=seen - 1 if seen else None))  # the last one that was read comes again
            if seen and (not entries or entries.pop(0).digest != self._digest):
                self._rows, entries = [], list(ledger.entries())  # another history: a ledger was restored
            for entry in entries:
                table, analyst = (name and sys.intern(name) for name in row_subject(entry, ledger.state))
                self._rows.append(IndexedRow(entry.seq, entry.kind, table, analyst))
                self._digest = entry.digest
            return list(self._rows)

    def close(self) -> None:
        """Nothing is held open."""


def read_entries(ledger: Ledger, seqs: Sequence[int]) -> Iterator[LedgerEntry]:
    """The entries of these numbers, which rise; neighbours are read together."""
    first = 0
    for place in range(1, len(seqs) + 1):
        if place == len(seqs) or seqs[place] > seqs[place - 1] + _NEAR:
            group = set(seqs[first:place])
            entries = ledger.entries(after=seqs[first] - 1, most=seqs[place - 1] - seqs[first] + 1)
            yield from (entry for entry in entries if entry.seq in group)
            first = place
