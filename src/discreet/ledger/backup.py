"""Backups of a ledger, and a restore that never gives budget back.

A backup is a SQLite file with the whole chain, its tables and its answers, whatever the ledger lies in. It holds no
key: whoever has it can read questions and answers, and cannot write a row.

    backup    read one state of the ledger -> draft -> verify it, with the key -> give it its name
    restore   verify a copy of the backup -> under the ledger's lock: set the old file aside, put the copy in its place
              -> charge what the anchor has seen and the backup has not

Guarantee: after a restore no population has more left than before it, and no analyst more of a quota.
Because: the anchor in the state folder knows what every population had lost and every analyst had paid at the newest
    row; what of that is not in the backup is charged anew as a gap (gap.py). Where the state folder is lost, all
    counts as spent.
A crash at any point leaves the old ledger, none, or the restored one unacknowledged, which answers nothing; restoring
again goes on.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from discreet.errors import Command, Flag, LedgerFault, LedgerRolledBack, Message, UsageError
from discreet.ledger import repair, summary_tables
from discreet.ledger.anchor import Anchor, AnchorMissing
from discreet.ledger.chain import new_id
from discreet.ledger.chain_reader import ledger_id, load_in_snapshot
from discreet.ledger.ledger_location import DatabaseAddress, LedgerLocation
from discreet.ledger.ledger_store import LedgerStore
from discreet.ledger.postgres_ledger import PostgresLedgerStore
from discreet.ledger.repair import RepairOutcome
from discreet.ledger.sqlite_ledger import LEDGER_FILE, WAIT_S, SqliteLedgerStore
from discreet.ledger.state import LedgerState
from discreet.ledger.store_factory import open_ledger_store
from discreet.storage.sqlite_file import connect

#: A backup in the making. It takes pages of any size, which a write-ahead log would not let it.
_DRAFT_FILE = replace(LEDGER_FILE, journal_mode="DELETE")
#: What SQLite keeps beside a database that is in use.
_SIDE_FILE_SUFFIXES = ("-wal", "-shm")


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreOutcome:
    """What a restore did: how many rows came back, what was charged for those that did not, where the old file is."""

    rows: int
    repaired: RepairOutcome
    set_aside: Path | None = None


def backup(where: LedgerLocation, file: Path) -> int:
    """Write a copy of the ledger to a new file; return how many rows it has. Others may write meanwhile."""
    if file.exists():
        raise UsageError(f"{str(file)!r} already exists", hint="a backup is never overwritten; choose another file")
    with _draft(file) as draft:
        with closing(open_ledger_store(where)) as store:
            anchor = Anchor.find(ledger_id(store))
            head = anchor.read()  # before the copy: whatever was anchored then must be in it
            if isinstance(where, DatabaseAddress):
                _copy_rows(store, draft)
        if not isinstance(where, DatabaseAddress):
            _copy_pages(where, draft)
        state = _load_verified(draft, anchor)
        healed = head.digest in state.gap_seqs
        if not healed and (len(state.digests) < head.seq or state.digests[head.seq - 1] != head.digest):
            raise LedgerRolledBack(
                "the ledger is older than its anchor, so a backup of it would be too old as well",
                hint=Message("run ", Command("ledger acknowledge")),
            )
        _publish_file(draft, file)
    return state.seq


def restore(
    where: LedgerLocation, file: Path, *, state_folder: Path | None = None, lost: bool = False
) -> RestoreOutcome:
    """Put a backup in the ledger's place, and charge what it does not know.

    `state_folder`: the one that belongs to it, where this machine has none. `lost`: there is none any more, and every
    budget counts as spent.
    """
    if not file.is_file():
        raise UsageError(f"there is no backup at {str(file)!r}")
    target = file.parent / f".{file.name}" if isinstance(where, DatabaseAddress) else where
    with _draft(target) as draft:
        shutil.copyfile(file, draft)
        draft.chmod(0o600)
        with closing(SqliteLedgerStore.open(draft)) as store:
            ledger = ledger_id(store)
        anchor = _anchor(ledger)
        if anchor is None and state_folder is None and not lost:
            raise UsageError(
                "this machine has no state folder for the ledger, so it is unknown what was spent after the backup",
                hint=Message(
                    Flag("state", "FOLDER"),
                    ", a copy of that folder; if there is none, ",
                    Flag("lost", True),
                    ": every budget counts as spent",
                ),
            )
        if anchor is not None and (state_folder is not None or lost):
            raise UsageError(
                "this machine has the ledger's state folder",
                hint=Message("leave out ", Flag("state"), " and ", Flag("lost")),
            )
        if state_folder is not None:
            repair.state_folder_of(ledger, state_folder)
        backup_state = _load_verified(draft, anchor)
        aside = _install_copy(where, draft, anchor, backup_state)
    if anchor is not None:
        done = repair.acknowledge(where)
    else:
        done = repair.adopt(where, state_folder, alone=lost)
    return RestoreOutcome(rows=backup_state.seq, repaired=done, set_aside=aside)


def _install_copy(where: LedgerLocation, draft: Path, anchor: Anchor | None, backup_state: LedgerState) -> Path | None:
    """Put a verified copy where the ledger belongs; return where what was there went."""
    if isinstance(where, DatabaseAddress):
        _restore_rows(where, draft)
        return None
    where.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with anchor.lock() if anchor is not None else nullcontext():  # whoever is in the middle of a charge ends it first
        if where.exists() and _refuse_complete_ledger(where, anchor, backup_state):
            return None  # what is there is the backup: a restore that broke off goes on
        aside = _set_aside(where)
        _fsync_path(draft)
        os.rename(draft, where)
        _sync(where.parent)
    return aside


def _refuse_complete_ledger(where: Path, anchor: Anchor | None, backup_state: LedgerState) -> bool:
    """Refuse to replace a ledger that knows all that the backup knows. True: they are the same, and it waits."""
    try:
        with closing(SqliteLedgerStore.open(where)) as store:
            there = load_in_snapshot(
                store, anchor if anchor is not None and ledger_id(store) == backup_state.ledger else None
            )
    except LedgerFault:
        return False  # it does not verify: that is what backups are for
    if there.ledger != backup_state.ledger:
        raise UsageError("another, intact ledger is already there", hint="restore into another project folder")
    waits = anchor is None or _is_behind_anchor(there, anchor)
    if there.digests == backup_state.digests and waits:
        return True
    if there.seq >= backup_state.seq or not waits:
        raise UsageError(
            f"the ledger there is intact and has {there.seq:,} entries; the backup has {backup_state.seq:,}",
            hint=_better_hint(anchor, waits=waits),
        )
    return False


def _better_hint(anchor: Anchor | None, *, waits: bool) -> str:
    if not waits:
        return "there is nothing to restore"
    return Message("run ", Command("ledger adopt" if anchor is None else "ledger acknowledge"), " to open it")


def _is_behind_anchor(state: LedgerState, anchor: Anchor) -> bool:
    """Whether a chain does not hold the head that its anchor has seen."""
    head = anchor.read()
    if head.digest in state.gap_seqs:
        return False
    return len(state.digests) < head.seq or state.digests[head.seq - 1] != head.digest


def _anchor(ledger: str) -> Anchor | None:
    try:
        return Anchor.find(ledger)
    except AnchorMissing:
        return None


def _load_verified(path: Path, anchor: Anchor | None) -> LedgerState:
    """The fold of a copy, all of it verified; with the key, where there is one."""
    with closing(SqliteLedgerStore.open(path)) as store:
        if damage := store.integrity():
            raise LedgerFault(damage)
        return load_in_snapshot(store, anchor)


def _copy_pages(path: Path, draft: Path) -> None:
    """SQLite's own online backup: all pages of one moment, whoever writes meanwhile."""
    try:
        with (
            closing(connect(path, LEDGER_FILE, wait_s=WAIT_S)) as source,
            closing(connect(draft, _DRAFT_FILE, wait_s=WAIT_S)) as target,
        ):
            source.backup(target, pages=-1)
    except sqlite3.Error as fault:
        raise LedgerFault("the backup cannot be written: the disk is full, or the ledger cannot be read") from fault


def _copy_rows(store: LedgerStore, draft: Path) -> None:
    """The rows of one moment of a ledger in PostgreSQL, entered one by one into a file of the same form."""
    draft.unlink()
    store.snapshot()
    try:
        payloads = {id_: (id_, sha256, payload) for id_, sha256, payload in store.payloads()}
        state = LedgerState()
        with closing(SqliteLedgerStore.create(draft)) as copy:
            copy.begin()
            for entry in store.entries():
                touched = state.apply(entry)
                payload = payloads.get(_stored_answer_id(entry.kind, entry.data()))
                copy.append(entry, summary_tables.changed_rows(state, touched), payload=payload)
            copy.commit()
    finally:
        store.rollback()


def _stored_answer_id(kind: str, body: dict[str, object]) -> str:
    """The id that an entry stores an answer under; empty for others."""
    if kind == "row":
        return f"{body['id']}.{body['number']}"
    return str(body["id"]) if kind == "answer" else ""


def _restore_rows(address: DatabaseAddress, draft: Path) -> None:
    """A backup as tables of PostgreSQL; refused where there are any already: dropping them is not for a program."""
    if PostgresLedgerStore.has_ledger(address):
        raise UsageError(
            f"there is already a ledger at {address.name!r}",
            hint=Message(
                "if it is old, run ", Command("ledger acknowledge"), "; if it is damaged, restore into an empty schema"
            ),
        )
    store = PostgresLedgerStore.create(address)
    try:
        with closing(SqliteLedgerStore.open(draft)) as copy:
            store.make()
            store.restore(copy.entries(), copy.rows(), copy.payloads())
        store.commit()
    except BaseException:
        store.rollback()
        raise
    finally:
        store.close()


def _set_aside(path: Path) -> Path | None:
    """Keep what lies in the ledger's place as evidence, with its log: another's log beside the copy would spoil it."""
    mark, set_aside_file = new_id(), None
    for ending in ("", *_SIDE_FILE_SUFFIXES):
        old = path.with_name(path.name + ending)
        if old.exists():
            aside = path.with_name(f"{path.name}.replaced.{mark}{ending}")
            old.rename(aside)
            set_aside_file = aside if not ending else set_aside_file
    return set_aside_file


@contextmanager
def _draft(file: Path) -> Iterator[Path]:
    """A new file beside the one that is meant, for its owner alone; gone afterwards, whatever happens."""
    draft = file.with_name(f".{file.name}.{new_id()}")
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))
        yield draft
    except OSError as fault:
        raise LedgerFault(f"{file.name!r} cannot be written ({os.strerror(fault.errno or 0).lower()})") from fault
    finally:
        for ending in ("", *_SIDE_FILE_SUFFIXES):
            with suppress(OSError):
                draft.with_name(draft.name + ending).unlink(missing_ok=True)


def _publish_file(draft: Path, file: Path) -> None:
    """Give a finished file its name, durably, unless somebody took it."""
    _fsync_path(draft)
    try:
        os.link(draft, file)
    except FileExistsError:
        raise UsageError(f"{str(file)!r} already exists") from None
    _sync(file.parent)


def _sync(folder: Path) -> None:
    _fsync_path(folder, os.O_DIRECTORY)


def _fsync_path(path: Path, how: int = 0) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | how)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
