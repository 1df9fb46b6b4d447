"""The journal: one durable commit at a time, by one writer at a time, and the anchor around it.

    thread lock -> flock -> BEGIN IMMEDIATE -> read what others appended -> compare with the anchor
    -> decide, append: once for each thread that waits -> write the anchor's digests (fsync)
    -> COMMIT (fsync) -> write the anchor's head (fsync) -> unlock

Threads that wait for each other share a transaction, and its commit; see group_commit.py.

A crash before COMMIT leaves nothing but digests that no entry has; after it, the entries, and a head that is one
commit behind, which the next opening repairs: the digests say that these entries were committed here. Whatever fails
between the first write and the last fsync stops this journal for good: what the disk holds is then unknown here, and
only opening anew, from the disk, can tell.

In PostgreSQL other machines write too, each with an anchor of its own. An anchor is then behind by what the others
appended, and catches up. A server that went away may come back: what it holds is then read anew, whole.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import islice
from typing import Any, Literal, TypeVar
from weakref import WeakSet

from discreet.errors import Command, LedgerFault, LedgerLocked, LedgerRolledBack, LedgerTampered, Message
from discreet.ledger import chain, summary_tables
from discreet.ledger.anchor import Anchor, AnchorMissing, Head
from discreet.ledger.chain import EntryKind, LedgerEntry
from discreet.ledger.chain_reader import fold, ledger_id, load_in_snapshot
from discreet.ledger.entry_index import check_entry
from discreet.ledger.group_commit import MOST, CommitQueue
from discreet.ledger.ledger_creation import create_ledger
from discreet.ledger.ledger_location import LedgerLocation
from discreet.ledger.ledger_store import LedgerStore
from discreet.ledger.state import LedgerState
from discreet.ledger.store_factory import open_ledger_store

Result = TypeVar("Result")
_JOURNALS: WeakSet[Journal] = WeakSet()


class Journal:
    """A chain, its anchor and its fold, held together."""

    def __init__(self, path: LedgerLocation, store: LedgerStore, anchor: Anchor, state: LedgerState) -> None:
        self.path = path
        self.store = store
        self.anchor = anchor
        self.state = self._guard(state)
        self._since = anchor.read().since
        self._lock = threading.RLock()
        self._store_released = False
        self._anchored = 0
        self._pending = False
        self._stopped = False
        self._outcome_unknown = False
        self._commit_queue = CommitQueue()
        _JOURNALS.add(self)

    @staticmethod
    def create(path: LedgerLocation, *, practice: bool = False) -> Journal:
        """A new ledger. It appears at `path` only when it is whole and anchored."""
        create_ledger(path, practice=practice)
        return Journal.attach(path)

    @staticmethod
    def attach(path: LedgerLocation, *, use: Literal["nothing", "resume", "compare"] = "nothing") -> Journal:
        """Read and verify everything except where the chain stands to its anchor: `section` judges that.

        `use`: what the checkpoint is for, as in `load_in_snapshot`.
        """
        store = open_ledger_store(path)
        try:
            try:
                anchor = Anchor.find(ledger_id(store))
            except AnchorMissing:
                load_in_snapshot(store, None)  # a broken chain is told first
                raise
            with anchor.lock():
                journal = Journal(path, store, anchor, load_in_snapshot(store, anchor, use=use))
                anchor.record_location(path)
                return journal
        except BaseException:
            store.close()
            raise

    @contextmanager
    def committed_section(self, *, check_anchor: bool = True) -> Iterator[None]:
        """The critical section: inside it the state is the newest there is and nobody else writes."""
        with self._lock:
            self._refuse_if_stopped()
            self._open_released()
            with self.anchor.lock():
                try:
                    if self._outcome_unknown:
                        self._reload()
                    self.store.begin()
                    self._catch_up()
                    if check_anchor:
                        self._check_anchor()
                    yield
                    if self._pending:
                        self.anchor.write_digests(self.state.digests, stored_count=self._anchored)
                    self.store.commit()
                    if self._pending:
                        self._write_head()
                    self._pending = False
                except BaseException:
                    self.store.rollback()
                    self._outcome_unknown = self._outcome_unknown or self._pending
                    raise

    def run_in_section(self, action: Callable[[], Result]) -> Result:
        """Do something in a section: read, decide, and append one entry at most. Threads that wait share one, and none
        of them is told anything before it is committed.
        """
        return self._commit_queue.run(action, lock=self._lock, together=self._run_together)

    def _run_together(self, acts: Iterator[Callable[[], None]]) -> None:
        """Acts of several threads in one section. One that raises without having appended does not concern the rest.

        Guarantee: whoever is told that an act was done is told after its entry is durable and anchored; and each act
            saw the entries of those before it.
        Because: acts follow one another in one transaction, each on a state that the one before has changed; turns are
            told their outcome when the section has ended. If it fails, all of it is rolled back, or unknown.
        """
        with self.committed_section():
            for act in acts:
                waiting = self._pending
                try:
                    self._pending = False
                    act()
                except Exception:
                    if self._pending:
                        raise
                finally:
                    self._pending = self._pending or waiting

    def append(
        self, kind: EntryKind, body: dict[str, Any], *, payload: tuple[str, str, str] | None = None
    ) -> LedgerEntry:
        """Append one entry; at most one in a section or act, so that an act is done whole or not at all."""
        if self._pending:
            raise RuntimeError("a section can write only one entry")
        charge = self.state.charge_of(body) if kind in chain.FOLLOWS_CHARGE else None
        entry = chain.make_entry(
            seq=self.state.seq + 1,
            kind=kind,
            body=body,
            previous=self.state.digest,
            key=self.anchor.key,
            time=None if charge is None else charge.time,
        )
        self._pending = True
        touched = self.state.apply(entry)
        self.store.append(entry, summary_tables.changed_rows(self.state, touched), payload=payload)
        return entry

    def position(self, head: Head) -> int | None:
        """How many entries of this chain the head has seen; None where it saw another history.

        A gap's entry accounts for the head that it names, so that head counts as one entry before the gap.
        """
        digests = self.state.digests
        if head.seq <= len(digests) and digests[head.seq - 1] == head.digest:
            return head.seq
        gap = self.state.gap_seqs.get(head.digest)
        return None if gap is None else gap - 1

    def count_common_entries(self) -> int:
        """How many entries this chain certainly shares with the anchored one. The next head starts from there."""
        self._anchored = self.anchor.count_common_entries(self.state.digests)
        return self._anchored

    def span(self, first: int, last: int) -> list[LedgerEntry]:
        """Entries of the chain, for a state that reads them when they are needed; see `state_index`."""
        with self._lock:
            self._open_released()
            return self.store.span(first, last)

    def verified_entries(self, *, after: int, most: int | None) -> list[LedgerEntry]:
        """Entries as they stand now, each compared with its digest and its MAC."""
        with self.committed_section():
            entries = list(islice(self.store.entries(after=after or None), most))
            for seq, entry in enumerate(entries, start=after + 1):
                check_entry(entry, seq, self.state.digests, key=self.anchor.key if seq >= self._since else None)
        return entries

    def _guard(self, state: LedgerState) -> LedgerState:
        """Let a state read through this journal: whoever looks at it need not be in a section."""
        if state.stored is not None:
            state.stored.source = self
        return state

    def _open_released(self) -> None:
        if self._store_released:
            self.store, self._store_released = open_ledger_store(self.path), False

    def close(self) -> None:
        """Let go of the database."""
        with self._lock:
            self._stopped = True
            self.store.close()

    def before_fork(self) -> None:
        """Wait for the end of a section and let go of the database; parent and child open it again, apart."""
        self._lock.acquire()
        self.store.close()
        self._store_released = True

    def after_fork(self, *, child: bool) -> None:
        """In the parent and in the child, whose only thread is the one that took the lock: nobody else waits there."""
        if child:
            self._commit_queue = CommitQueue()
        self._lock.release()

    def _refuse_if_stopped(self) -> None:
        if self._stopped or (self._outcome_unknown and not self.store.shared):
            raise LedgerFault(
                "the ledger is closed, or failed during a charge, and can no longer be used",
                hint="open it again: what was charged stays charged",
            )

    def _reload(self) -> None:
        """After a charge whose outcome is not known. Whatever stands is found, and counts.

        Because: the server process that had the charge holds the writers' lock until it has decided, so nothing can
            appear after `begin` that was asked for before it; and what appears before it, `_catch_up` folds.
        """
        self.state = self._guard(load_in_snapshot(self.store, self.anchor, use="resume"))
        self._pending = self._outcome_unknown = False

    def _catch_up(self) -> None:
        """Fold what others appended, after checking that our own last entry is still there."""
        seq, digest = self.state.seq, self.state.digest
        newer = self.store.entries(after=seq - 1)
        last = next(newer, None)
        if last is None:
            raise _rolled_back(f"the ledger lost entries while it was open: entry {seq} is gone")
        if last.seq != seq or last.digest != digest:
            raise LedgerTampered(f"entry {seq} of the ledger changed while it was open", row=seq)
        fold(newer, self.state, key=self.anchor.key, since=self._since)

    def _check_anchor(self) -> None:
        """Compare the chain with its anchor; repair what a crash leaves, refuse the rest."""
        head = self.anchor.read()
        position = self.position(head)
        if position is None:
            raise _rolled_back(
                f"the ledger ends at entry {self.state.seq}, but its anchor has seen entry {head.seq}: "
                "an old copy was restored, its end was cut off, or another copy of this folder was used"
                if self.state.seq < head.seq
                else f"entry {head.seq} of the ledger is not the one that its anchor has seen"
            )
        behind = self.state.seq - position
        self._anchored = position
        if behind > 1 and not self.store.shared and not self._was_committed_here(behind):
            raise LedgerLocked(
                f"the ledger's state folder is {behind} entries behind the ledger: an old copy of it was restored",
                hint=Message("run ", Command("ledger acknowledge")),
            )
        if behind >= 1:
            self.anchor.write_digests(self.state.digests, stored_count=self.count_common_entries())
            self._write_head()

    def _was_committed_here(self, behind: int) -> bool:
        """Whether the entries beyond the head are those of one commit, whose digests the anchor wrote before it.

        Because: the anchor's digests go beyond its head by one group of entries at most. An old copy of a state folder
            has the digests of its own time.
        """
        return behind <= MOST and self.count_common_entries() == self.state.seq

    def _write_head(self) -> None:
        state = self.state
        self.anchor.write_head(Head(seq=state.seq, digest=state.digest, since=self._since, totals=state.totals()))
        self._anchored = state.seq


def _rolled_back(reason: str) -> LedgerRolledBack:
    return LedgerRolledBack(
        reason,
        hint=Message(
            "run ",
            Command("ledger acknowledge"),
            ", which charges what the ledger lost. If this project was copied and the copy was used, keep only one of "
            "the two, and delete the other: they share one budget, and lock each other",
        ),
    )


_FORKING: list[Journal] = []


def _before_fork() -> None:
    for journal in list(_JOURNALS):
        journal.before_fork()
        _FORKING.append(journal)


def _after_fork(*, child: bool) -> None:
    while _FORKING:
        _FORKING.pop().after_fork(child=child)


os.register_at_fork(
    before=_before_fork,
    after_in_parent=partial(_after_fork, child=False),
    after_in_child=partial(_after_fork, child=True),
)
