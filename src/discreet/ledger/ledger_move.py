"""Moving: a ledger goes from a file to PostgreSQL with its history, its chain and its key. Nothing is spent by it.

The entries are copied as they are, so the same key proves them, and one more says that the ledger moved. Its digest
goes into the anchor, and from then on the file is older than the anchor: whoever opens it is told of a rollback.

    lock -> verify the file -> tables and rows in one transaction -> verify them there -> COMMIT -> anchor -> unlock

A crash before COMMIT leaves the file in use. One after it, before the anchor is written, leaves two; so does a COMMIT
whose outcome never arrived: whichever is written to first goes on, and the anchor stops the other. Moving again finds
what is there, and goes on from it.
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from discreet.errors import Command, Message, UsageError
from discreet.ledger import chain, summary_tables
from discreet.ledger.anchor import Head
from discreet.ledger.chain_reader import ledger_id, load, load_in_snapshot
from discreet.ledger.journal import Journal
from discreet.ledger.ledger_location import DatabaseAddress, LedgerLocation
from discreet.ledger.postgres_ledger import PostgresLedgerStore
from discreet.ledger.state import LedgerState


def move_to_postgres(source: LedgerLocation, target: DatabaseAddress) -> int:
    """Move the ledger in a file to PostgreSQL, or end a move that was begun; return how many rows its chain has now."""
    if not isinstance(source, Path):
        raise UsageError("the ledger is already in PostgreSQL")
    with closing(Journal.attach(source)) as journal:
        if PostgresLedgerStore.has_ledger(target):
            _refuse_another(journal, target)
        else:
            with journal.committed_section():
                _copy_to_postgres(journal, target)
    with closing(Journal.attach(target)) as there, there.committed_section():
        return there.state.seq


def _refuse_another(journal: Journal, target: DatabaseAddress) -> None:
    """Refuse to go on with anything but what an earlier move of this very file left there.

    Guarantee: what is taken for the ledger holds every row of the file, and its history is the only one.
    Because: equal digests are equal rows, and the key has signed what follows. The anchor then judges, as whenever a
        ledger is opened: if the file was used since, what is there is older than the anchor, and refused.
    """
    own = journal.state.digests
    with closing(PostgresLedgerStore.open(target)) as store:
        if ledger_id(store) != journal.state.ledger:
            raise UsageError(f"there is already a ledger at {target.name!r}")
        there = load_in_snapshot(store, journal.anchor)
    if there.seq <= len(own) or there.digests[: len(own)] != own:
        raise UsageError(
            f"an earlier move copied this ledger to {target.name!r}, and the file was used since then",
            hint=Message(
                "point discreet.toml there, then run ",
                Command("ledger acknowledge"),
                ": it charges what the file spent",
            ),
        )


def _copy_to_postgres(journal: Journal, target: DatabaseAddress) -> None:
    store = PostgresLedgerStore.create(target)
    try:
        state = _copy(journal, store)
        store.commit()
    except BaseException:
        store.rollback()
        raise
    finally:
        store.close()
    anchor = journal.anchor
    head = Head(seq=state.seq, digest=state.digest, since=anchor.read().since, totals=state.totals())
    anchor.write(head, state.digests, stored_count=anchor.count_common_entries(state.digests))


def _copy(journal: Journal, store: PostgresLedgerStore) -> LedgerState:
    """The rows of the file, and the entry that ends it; verified where they are now before anybody can see them."""
    store.make()
    store.restore(journal.store.entries(), journal.store.rows(), journal.store.payloads())
    state = load(store, journal.anchor)
    if state.digests != journal.state.digests:
        raise RuntimeError("the copy differs from the ledger")
    entry = chain.make_entry(
        seq=state.seq + 1,
        kind="adopt",
        body={"state": "moved", "sealed": []},
        previous=state.digest,
        key=journal.anchor.key,
    )
    store.append(entry, summary_tables.changed_rows(state, state.apply(entry)))
    return state
