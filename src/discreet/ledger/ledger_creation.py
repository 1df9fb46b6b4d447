"""Making a ledger: its key and anchor, its first entry, and the file or tables that hold it. Whole, or not there."""

from __future__ import annotations

import os
from pathlib import Path

from discreet.errors import Command, LedgerFault, Message, UsageError
from discreet.ledger import chain, summary_tables
from discreet.ledger.anchor import Anchor, Head, has_charged_ledger
from discreet.ledger.chain import LedgerEntry, new_id
from discreet.ledger.ledger_location import DatabaseAddress, LedgerLocation
from discreet.ledger.ledger_store import LedgerStore
from discreet.ledger.postgres_ledger import PostgresLedgerStore
from discreet.ledger.sqlite_ledger import SqliteLedgerStore
from discreet.ledger.state import FORMAT, LedgerState


def create_ledger(where: LedgerLocation, *, practice: bool = False) -> None:
    """A new ledger. It appears only when it is whole and anchored. practice: for generated or public data, for good."""
    if isinstance(where, DatabaseAddress):
        _create_tables(where, practice=practice)
    elif where.exists():
        raise UsageError(f"there is already a ledger at {where.name!r}")
    else:
        _create_file(where, practice=practice)


def _create_file(path: Path, *, practice: bool) -> None:
    """A file under another name, its anchor, and then the file's name."""
    _refuse_missing_ledger(path, practice=practice)
    _make_folder(path.parent)
    anchor, entry = _anchor_and_first_entry(path, practice=practice)
    draft = path.with_name(f".{path.name}.{anchor.folder.name}")
    store = SqliteLedgerStore.create(draft)
    try:
        store.begin()
        state = _append_first_entry(store, entry)
        store.commit()
    finally:
        store.close()
    _write_first_head(anchor, state)
    _publish(draft, path)


def _create_tables(address: DatabaseAddress, *, practice: bool) -> None:
    """Tables and anchor. The anchor first: if the commit's outcome is not known, there is no ledger or a whole one."""
    store = PostgresLedgerStore.create(address)
    try:
        _refuse_missing_ledger(address, practice=practice)
        store.make()
        anchor, entry = _anchor_and_first_entry(address, practice=practice)
        _write_first_head(anchor, _append_first_entry(store, entry))
        store.commit()
    except BaseException:
        store.rollback()
        raise
    finally:
        store.close()


def _refuse_missing_ledger(where: LedgerLocation, *, practice: bool) -> None:
    """Refuse where a ledger was charged; in the place of a practice ledger only another practice ledger may be made."""
    if has_charged_ledger(where, practice=practice):
        raise LedgerFault(
            "a ledger with charges was here and is gone: a new one would give the same people a new budget",
            hint=Message(
                "run ", Command("ledger restore", "FILE"), " to restore a backup; use another folder for other people"
            ),
        )


def _anchor_and_first_entry(where: LedgerLocation, *, practice: bool) -> tuple[Anchor, LedgerEntry]:
    """A new anchor, and the entry that a ledger begins with."""
    ledger = new_id()
    anchor = Anchor.make(ledger)
    anchor.record_location(where)
    body = {"ledger": ledger, "format": FORMAT} | ({"practice": True} if practice else {})
    return anchor, chain.make_entry(seq=1, kind="open", body=body, previous=chain.GENESIS, key=anchor.key)


def _append_first_entry(store: LedgerStore, entry: LedgerEntry) -> LedgerState:
    state = LedgerState()
    store.append(entry, summary_tables.changed_rows(state, state.apply(entry)))
    return state


def _write_first_head(anchor: Anchor, state: LedgerState) -> None:
    anchor.write(Head(seq=1, digest=state.digest, since=1, totals=state.totals()), state.digests, stored_count=0)


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as fault:
        raise LedgerFault("the ledger's folder cannot be created") from fault


def _publish(draft: Path, path: Path) -> None:
    """Give the finished file its name, unless somebody else took it."""
    try:
        os.link(draft, path)
    except FileExistsError:
        raise UsageError(f"there is already a ledger at {path.name!r}") from None
    except OSError as fault:
        raise LedgerFault("the ledger cannot be put in its place") from fault
    finally:
        draft.unlink(missing_ok=True)
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
