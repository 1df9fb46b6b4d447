"""The journal: one durable append at a time, by one writer at a time, and the anchor after it.

    thread lock -> flock -> BEGIN IMMEDIATE -> read what others appended -> compare with the anchor
    -> decide -> append -> COMMIT (fsync) -> write the anchor (fsync) -> unlock

A crash before COMMIT leaves nothing; after it, the entry, and an anchor that is one behind, which the next
opening repairs. Whatever fails between the first write and the last fsync stops this journal for good:
what the disk holds is then unknown here, and only opening anew, from the disk, can tell.

In PostgreSQL other machines write too, each with an anchor of its own. An anchor is then behind by what the others
appended, and catches up. A server that went away may come back: what it holds is then read anew, whole.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import threading
from base64 import b32encode
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from weakref import WeakSet

from discreet.errors import LedgerFault, LedgerLocked, LedgerRolledBack, LedgerTampered, UsageError
from discreet.ledger import chain, tables
from discreet.ledger.anchor import Anchor, AnchorMissing, Head, spent_at
from discreet.ledger.chain import Entry, Kind
from discreet.ledger.postgres import PostgresStore
from discreet.ledger.sqlite import SqliteStore
from discreet.ledger.state import FORMAT, State
from discreet.ledger.store import Store
from discreet.ledger.stores import open_store
from discreet.ledger.where import Address, Where

_JOURNALS: WeakSet[Journal] = WeakSet()


def new_id() -> str:
    """Sixteen random letters and digits: 80 bits."""
    return b32encode(secrets.token_bytes(10)).decode("ascii").lower()


class Journal:
    """A chain, its anchor and its fold, held together."""

    def __init__(self, path: Where, store: Store, anchor: Anchor, state: State) -> None:
        self.path = path
        self.store = store
        self.anchor = anchor
        self.state = state
        self._since = anchor.read().since
        self._lock = threading.RLock()
        self._let_go = False
        self._anchored = 0
        self._pending = False
        self._stopped = False
        self._unknown = False
        _JOURNALS.add(self)

    @staticmethod
    def create(path: Where) -> Journal:
        """A new ledger. It appears at `path` only when it is whole and anchored."""
        if isinstance(path, Path) and path.exists():
            raise UsageError(f"there is a ledger already at {path.name!r}")
        if isinstance(path, Address):
            _create_tables(path)
        else:
            _create_file(path)
        return Journal.attach(path)

    @staticmethod
    def attach(path: Where) -> Journal:
        """Read and verify everything except where the chain stands to its anchor: `section` judges that."""
        store = open_store(path)
        try:
            try:
                anchor = Anchor.find(ledger_id(store))
            except AnchorMissing:
                load_apart(store, None)  # a broken chain is told first
                raise
            with anchor.lock():
                journal = Journal(path, store, anchor, load_apart(store, anchor))
                anchor.remember(path)
                return journal
        except BaseException:
            store.close()
            raise

    @contextmanager
    def section(self, *, settle: bool = True) -> Iterator[None]:
        """The critical section: inside it the state is the newest there is and nobody else writes."""
        with self._lock:
            self._refuse_if_stopped()
            if self._let_go:
                self.store, self._let_go = open_store(self.path), False
            with self.anchor.lock():
                try:
                    if self._unknown:
                        self._read_again()
                    self.store.begin()
                    self._catch_up()
                    if settle:
                        self._settle()
                    yield
                    self.store.commit()
                    if self._pending:
                        self._write_head()
                    self._pending = False
                except BaseException:
                    self.store.rollback()
                    self._unknown = self._unknown or self._pending
                    raise

    def append(self, kind: Kind, body: dict[str, Any], *, payload: tuple[str, str, str] | None = None) -> Entry:
        """Append one entry; at most one in a section, so that a crash is never more than one behind."""
        if self._pending:
            raise RuntimeError("two entries in one section")
        entry = chain.link(
            seq=self.state.seq + 1, kind=kind, body=body, previous=self.state.digest, key=self.anchor.key
        )
        self._pending = True
        touched = self.state.apply(entry)
        self.store.append(entry, tables.touched_rows(self.state, touched), payload=payload)
        return entry

    def position(self, head: Head) -> int | None:
        """How many entries of this chain the head has seen; None where it saw another history.

        A gap's entry accounts for the head that it names, so that head counts as one entry before the gap.
        """
        digests = self.state.digests
        if head.seq <= len(digests) and digests[head.seq - 1] == head.digest:
            return head.seq
        gap = self.state.healed.get(head.digest)
        return None if gap is None else gap - 1

    def common(self) -> int:
        """How many entries this chain certainly shares with the anchored one. The next head starts from there."""
        self._anchored = self.anchor.common(self.state.digests)
        return self._anchored

    def close(self) -> None:
        """Let go of the database."""
        with self._lock:
            self._stopped = True
            self.store.close()

    def before_fork(self) -> None:
        """Wait for the end of a section and let go of the database; parent and child open it again, apart."""
        self._lock.acquire()
        self.store.close()
        self._let_go = True

    def after_fork(self) -> None:
        """In the parent and in the child, whose only thread is the one that took the lock."""
        self._lock.release()

    def _refuse_if_stopped(self) -> None:
        if self._stopped or (self._unknown and not self.store.shared):
            raise LedgerFault(
                "the ledger is closed, or failed in the middle of a charge, and answers nothing more",
                hint="open it again: what was charged stays charged",
            )

    def _read_again(self) -> None:
        """After a charge whose outcome is not known. Whatever stands is found, and counts.

        Because: the server process that had the charge holds the writers' lock until it has decided, so nothing can
            appear after `begin` that was asked for before it; and what appears before it, `_catch_up` folds.
        """
        self.state = load_apart(self.store, self.anchor)
        self._pending = self._unknown = False

    def _catch_up(self) -> None:
        """Fold what others appended, after checking that our own last entry is still there."""
        seq, digest = self.state.seq, self.state.digest
        newer = self.store.entries(after=seq - 1)
        last = next(newer, None)
        if last is None:
            raise _rolled_back(f"the ledger lost rows while it was open: row {seq} is gone")
        if last.seq != seq or last.digest != digest:
            raise LedgerTampered(f"row {seq} of the ledger changed while it was open", row=seq)
        fold(newer, self.state, key=self.anchor.key, since=self._since)

    def _settle(self) -> None:
        """Compare the chain with its anchor; repair what a crash leaves, refuse the rest."""
        head = self.anchor.read()
        position = self.position(head)
        if position is None:
            raise _rolled_back(
                f"the ledger ends at row {self.state.seq} and its anchor has seen row {head.seq}: "
                "an old copy was restored, its end was cut off, or another copy of this folder was used"
                if self.state.seq < head.seq
                else f"row {head.seq} of the ledger is not the one that its anchor has seen"
            )
        behind = self.state.seq - position
        self._anchored = position
        if behind > 1 and not self.store.shared:
            raise LedgerLocked(
                f"the ledger's state folder is {behind} rows behind the ledger: an old copy of it was restored",
                hint="discreet ledger acknowledge",
            )
        if behind >= 1:
            self._anchored = self.common()
            self._write_head()

    def _write_head(self) -> None:
        state = self.state
        head = Head(seq=state.seq, digest=state.digest, since=self._since, totals=state.totals())
        self.anchor.write(head, state.digests, known=self._anchored)
        self._anchored = state.seq


def ledger_id(store: Store) -> str:
    """The id that the first entry names. Not yet verified: it only says which key to verify with."""
    first = next(store.entries(), None)
    try:
        found = json.loads(first.body)["ledger"] if first is not None else None
    except (ValueError, KeyError, TypeError):
        found = None
    if not isinstance(found, str):
        raise LedgerTampered("row 1 of the ledger does not say which ledger it is", row=1)
    return found


def load_apart(store: Store, anchor: Anchor | None) -> State:
    """`load`, in a transaction of its own: others may write meanwhile."""
    store.snapshot()
    try:
        return load(store, anchor)
    finally:
        store.rollback()


def load(store: Store, anchor: Anchor | None) -> State:
    """Fold the whole chain, every row verified, and compare the tables and the stored answers with it."""
    state = State()
    since = anchor.read().since if anchor else 1
    fold(store.entries(), state, key=anchor.key if anchor else None, since=since)
    if anchor and state.seq < since and anchor.common(state.digests) < state.seq:
        row = anchor.common(state.digests) + 1
        raise LedgerTampered(f"row {row} of the ledger is not the one that its anchor has seen", row=row)
    check_tables(store, state)
    return state


def fold(entries: Iterator[Entry], state: State, *, key: bytes | None, since: int) -> None:
    """Verify and fold entries; the first bad one is named."""
    for entry in entries:
        seq = state.seq + 1
        if problem := chain.problem(entry, seq=seq, previous=state.digest, key=key if seq >= since else None):
            raise LedgerTampered(f"the ledger does not verify: {problem}", row=seq, hint=_RESTORE)
        state.apply(entry)


def check_tables(store: Store, state: State) -> None:
    """Compare balances, charges and answers with the chain."""
    row = tables.first_difference(tables.all_rows(state), store.rows(), last=state.seq)
    if row is not None:
        raise LedgerTampered(f"the ledger's tables are not what row {row} of its chain says", row=row, hint=_RESTORE)
    missing = dict(state.answers)
    for id_, sha256, payload in store.payloads():
        stored = missing.pop(id_, None)
        if stored is None or sha256 != stored.sha256 or sha256_of(payload) != sha256:
            row = stored.seq if stored else state.seq + 1  # an answer that no row entered
            raise LedgerTampered(f"a stored answer is not the one of row {row}", row=row, hint=_RESTORE)
    if missing:
        row = min(stored.seq for stored in missing.values())
        raise LedgerTampered(f"the stored answer of row {row} is gone", row=row, hint=_RESTORE)


def sha256_of(payload: str) -> str:
    """The digest under which a payload is entered."""
    return hashlib.sha256(payload.encode("utf-8", "surrogateescape")).hexdigest()


_RESTORE = "restore a copy of the ledger, then discreet ledger acknowledge"


def _rolled_back(reason: str) -> LedgerRolledBack:
    return LedgerRolledBack(reason, hint="discreet ledger acknowledge, which charges what was forgotten")


def _create_file(path: Path) -> None:
    """A file under another name, its anchor, and then the file's name."""
    _refuse_gone(path)
    _make_folder(path.parent)
    anchor, entry = _first(path)
    draft = path.with_name(f".{path.name}.{anchor.folder.name}")
    store = SqliteStore.create(draft)
    try:
        store.begin()
        state = _enter(store, entry)
        store.commit()
    finally:
        store.close()
    _write_first(anchor, state)
    _publish(draft, path)


def _create_tables(address: Address) -> None:
    """Tables and anchor. The anchor first: if the commit's outcome is not known, there is no ledger or a whole one."""
    store = PostgresStore.create(address)
    try:
        _refuse_gone(address)
        store.make()
        anchor, entry = _first(address)
        _write_first(anchor, _enter(store, entry))
        store.commit()
    except BaseException:
        store.rollback()
        raise
    finally:
        store.close()


def _refuse_gone(where: Where) -> None:
    if spent_at(where):
        raise LedgerFault(
            "a ledger with charges lay here and is gone: a new one would be a new budget for the same people",
            hint="restore it from a copy, then discreet ledger acknowledge; other people go to another folder",
        )


def _first(where: Where) -> tuple[Anchor, Entry]:
    """A new anchor, and the entry that a ledger begins with."""
    ledger = new_id()
    anchor = Anchor.make(ledger)
    anchor.remember(where)
    body = {"ledger": ledger, "format": FORMAT}
    return anchor, chain.link(seq=1, kind="open", body=body, previous=chain.START, key=anchor.key)


def _enter(store: Store, entry: Entry) -> State:
    state = State()
    store.append(entry, tables.touched_rows(state, state.apply(entry)))
    return state


def _write_first(anchor: Anchor, state: State) -> None:
    anchor.write(Head(seq=1, digest=state.digest, since=1, totals=state.totals()), state.digests, known=0)


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as fault:
        raise LedgerFault("the ledger's folder cannot be made") from fault


def _publish(draft: Path, path: Path) -> None:
    """Give the finished file its name, unless somebody else took it."""
    try:
        os.link(draft, path)
    except FileExistsError:
        raise UsageError(f"there is a ledger already at {path.name!r}") from None
    except OSError as fault:
        raise LedgerFault("the ledger cannot be put in its place") from fault
    finally:
        draft.unlink(missing_ok=True)
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


_FORKING: list[Journal] = []


def _before_fork() -> None:
    for journal in list(_JOURNALS):
        journal.before_fork()
        _FORKING.append(journal)


def _after_fork() -> None:
    while _FORKING:
        _FORKING.pop().after_fork()


os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)
