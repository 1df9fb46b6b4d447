"""Moving: a ledger goes from a file to PostgreSQL with its history, its chain and its key. Nothing is spent by it.

The entries are copied as they are, so the same key proves them, and one more says that the ledger moved. Its digest
goes into the anchor, and from then on the file is older than the anchor: whoever opens it is told of a rollback.

    lock -> verify the file -> tables and rows in one transaction -> verify them there -> COMMIT -> anchor -> unlock

A crash before COMMIT leaves the file in use. One after it, before the anchor is written, leaves two: whichever is
written to first goes on, and the anchor stops the other.
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from discreet.errors import UsageError
from discreet.ledger import chain, tables
from discreet.ledger.anchor import Head
from discreet.ledger.journal import Journal, load
from discreet.ledger.postgres import PostgresStore
from discreet.ledger.where import Address, Where


def move(source: Where, target: Address) -> int:
    """Move the ledger in a file to PostgreSQL; return how many rows its chain has now."""
    if not isinstance(source, Path):
        raise UsageError("the ledger is in PostgreSQL already")
    with closing(Journal.attach(source)) as journal, journal.section():
        store = PostgresStore.create(target)
        try:
            return _copy(journal, store, target)
        except BaseException:
            store.rollback()
            raise
        finally:
            store.close()


def _copy(journal: Journal, store: PostgresStore, target: Address) -> int:
    """The rows of the file, and the entry that ends it; verified where they are now before anybody can see them."""
    anchor, since = journal.anchor, journal.anchor.read().since
    store.make()
    store.restore(journal.store.entries(), journal.store.rows(), journal.store.payloads())
    state = load(store, anchor)
    if state.digests != journal.state.digests:
        raise RuntimeError("a copy that is not the ledger")
    entry = chain.link(
        seq=state.seq + 1,
        kind="adopt",
        body={"state": "moved", "sealed": []},
        previous=state.digest,
        key=anchor.key,
    )
    store.append(entry, tables.touched_rows(state, state.apply(entry)))
    store.commit()
    head = Head(seq=state.seq, digest=state.digest, since=since, totals=state.totals())
    anchor.write(head, state.digests, known=anchor.common(state.digests))
    anchor.remember(target)
    return state.seq
