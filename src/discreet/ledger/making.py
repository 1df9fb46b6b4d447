"""Making a ledger: its key and anchor, its first entry, and the file or tables that hold it. Whole, or not there."""

from __future__ import annotations

import os
from pathlib import Path

from discreet.errors import LedgerFault, UsageError
from discreet.ledger import chain, tables
from discreet.ledger.anchor import Anchor, Head, spent_at
from discreet.ledger.chain import Entry, new_id
from discreet.ledger.postgres import PostgresStore
from discreet.ledger.sqlite import SqliteStore
from discreet.ledger.state import FORMAT, State
from discreet.ledger.store import Store
from discreet.ledger.where import Address, Where


def make(where: Where) -> None:
    """A new ledger. It appears only when it is whole and anchored."""
    if isinstance(where, Address):
        _create_tables(where)
    elif where.exists():
        raise UsageError(f"there is a ledger already at {where.name!r}")
    else:
        _create_file(where)


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
            hint="discreet ledger restore FILE puts a backup in its place; other people go to another folder",
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
