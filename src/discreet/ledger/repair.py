"""Repair: what an owner does about a ledger that will not open. Each act charges what might have been forgotten."""

from __future__ import annotations

import itertools
import shutil
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from discreet.accounting.guarantee import Guarantee
from discreet.errors import (
    Command,
    Flag,
    LedgerFault,
    LedgerLocked,
    LedgerRolledBack,
    LedgerTampered,
    Message,
    UsageError,
)
from discreet.ledger import chain, summary_tables
from discreet.ledger.anchor import Anchor, AnchorMissing, Head
from discreet.ledger.chain import new_id
from discreet.ledger.chain_reader import fold, ledger_id, load, load_in_snapshot
from discreet.ledger.gap import gap_body
from discreet.ledger.journal import Journal
from discreet.ledger.ledger_location import LedgerLocation
from discreet.ledger.ledger_store import LedgerStore
from discreet.ledger.state import LedgerState
from discreet.ledger.store_factory import connection_warnings, open_ledger_store


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerVerification:
    """What `verify` found. `row` is the first bad row where one is to blame."""

    sound: bool
    rows: int
    row: int | None = None
    problem: str = ""
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairOutcome:
    """What an owner's act did. `lost`: populations whose whole budget was charged, for want of an anchor."""

    charged: tuple[str, ...] = ()
    unlocked: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()


def verify(path: LedgerLocation) -> LedgerVerification:
    """Verify everything from the disk: the database's own check, chain, MACs, tables, answers, anchor."""
    rows = 0
    try:
        damage = _integrity_problem(path)
        with closing(Journal.attach(path, use="compare")) as journal:
            rows, warnings = journal.state.seq, connection_warnings(journal.store)
            with journal.committed_section():
                rows = journal.state.seq
    except LedgerTampered as fault:
        return LedgerVerification(sound=False, rows=fault.row - 1, row=fault.row, problem=fault.reason)
    except (LedgerRolledBack, LedgerLocked) as fault:
        return LedgerVerification(sound=False, rows=rows, row=rows + 1, problem=fault.reason)
    except LedgerFault as fault:
        return LedgerVerification(sound=False, rows=rows, problem=fault.reason)
    return LedgerVerification(sound=not damage, rows=rows, problem=damage, warnings=warnings)


def acknowledge(path: LedgerLocation) -> RepairOutcome:
    """The owner has seen it: charge what a rollback forgot, and unlock tables that failed too often.

    A chain that does not verify cannot be acknowledged. Restore a copy of it; that is a rollback, and can.
    """
    with closing(Journal.attach(path)) as journal:
        charged = _charge_gap(journal)
        with journal.committed_section(check_anchor=False):
            behind = journal.state.seq - (journal.position(journal.anchor.read()) or 0)
            unlocked = tuple(sorted(filter(journal.state.is_locked, journal.state.failures)))
            if unlocked or (behind > 1 and not journal.store.shared):
                journal.count_common_entries()
                journal.append("acknowledge", {"tables": list(unlocked), "anchor_behind": behind})
        with journal.committed_section():
            return RepairOutcome(charged=charged, unlocked=unlocked)


def adopt(path: LedgerLocation, state_folder: Path | None, *, alone: bool = False) -> RepairOutcome:
    """Take a ledger to this machine, with the state folder of the one that it comes from, or without.

    A ledger in PostgreSQL stays where it is: this machine joins those that use it, with the key and the head of one of
    them, which goes on too.

    Without it nobody knows what was asked after this copy was made, nor what was granted. All of every
    population's budget then counts as spent, and only a grant opens a new filter, on top of it. Where machines share
    the ledger it is spent for all of them, and a new key shuts them out: only if the owner says that this is `alone`.
    """
    with closing(open_ledger_store(path)) as store:
        ledger, shared = ledger_id(store), store.shared
        _refuse_if_anchored(ledger)
        if state_folder is None:
            if shared and not alone:
                raise UsageError(
                    "without a state folder, this would spend every budget of a ledger that several machines share, "
                    "and lock all of them out",
                    hint=Message(
                        Flag("state", "FOLDER"),
                        ", a copy of the state folder of one of them; if there is none, ",
                        Flag("alone", True),
                    ),
                )
            return _adopt_without_anchor(store, ledger, path)
        source = state_folder_of(ledger, state_folder)
        load_in_snapshot(store, None)
        try:
            load_in_snapshot(store, Anchor.at(source))
        except LedgerTampered as fault:
            raise LedgerFault("that state folder is not this ledger's: its key did not sign these entries") from fault
    _copy_anchor(ledger, source)
    if not shared:
        Anchor.at(source).hand_over()  # where this cannot be done, the owner is told not to go on there
    Anchor.find(ledger).record_location(path)
    repaired = acknowledge(path)
    with closing(Journal.attach(path)) as journal, journal.committed_section():
        journal.append("adopt", {"state": "joined" if shared else "copied", "sealed": []})
    return repaired


def state_folder_of(ledger: str, named: Path) -> Path:
    """The state folder of a ledger: the folder that was named, or inside it. Refused where there is none."""
    places = [named / ledger, named]
    if (source := next((place for place in places if (place / "key").is_file()), None)) is not None:
        return source
    wrong = "is not the state folder of this ledger" if named.is_dir() else "is not a folder"
    raise AnchorMissing(
        f"{str(named)!r} {wrong}",
        hint=f"on its old machine the state folder is {ledger} in $DISCREET_STATE, else in $XDG_STATE_HOME/discreet, "
        "else in ~/.local/state/discreet; copy it from there",
    )


def not_practice() -> UsageError:
    """Why a real ledger is not deleted."""
    return UsageError(
        "this is a real project: its ledger is permanent, because what was released cannot be taken back",
        hint=Message("run ", Command("init", Flag("practice", True)), " in another folder"),
    )


def delete_practice_ledger(path: Path) -> None:
    """Delete a ledger that was made for practice. Any other one is refused.

    Only if the whole chain verifies with its key: otherwise nobody knows what it was made for. Its anchor stays, which
    keeps a real ledger from being made in its place.
    """
    with closing(Journal.attach(path)) as journal:
        if not journal.state.practice:
            raise not_practice()
    for ending in ("-wal", "-shm", ""):
        path.with_name(path.name + ending).unlink(missing_ok=True)


def limits_to_spend(path: LedgerLocation) -> dict[str, Guarantee]:
    """What adopting a ledger without its state folder would spend: the limits that this copy knows, by population."""
    with closing(open_ledger_store(path)) as store:
        _refuse_if_anchored(ledger_id(store))
        accounts = load_in_snapshot(store, None).accounts
        return {name: accounts[name].guarantee for name in sorted(accounts)}


def _integrity_problem(path: LedgerLocation) -> str:
    with closing(open_ledger_store(path)) as store:
        return store.integrity()


def _charge_gap(journal: Journal) -> tuple[str, ...]:
    """Charge what the anchor has seen and the chain does not hold; return whom."""
    with journal.committed_section(check_anchor=False):
        head = journal.anchor.read()
        if journal.position(head) is not None:
            return ()
        shared = LedgerState()
        count = journal.count_common_entries()
        fold(itertools.islice(journal.store.entries(), count), shared, key=None, since=1)
        cause = f"entries {count + 1} to {head.seq} of the anchored history are not in the ledger"
        body = gap_body(journal.state, shared, head, cause=cause)
        journal.append("gap", body)
        return tuple(sorted({part["population"] for part in body["charges"]}))


def _adopt_without_anchor(store: LedgerStore, ledger: str, path: LedgerLocation) -> RepairOutcome:
    """A new key, and every account sealed. The head is written last: a crash before that is no adoption."""
    _set_aside(Anchor.folder_of(ledger))
    anchor = Anchor.make(ledger)
    anchor.record_location(path)
    with anchor.lock():
        store.begin()
        try:
            state = load(store, None)
            names = tuple(sorted(state.accounts))
            entry = chain.make_entry(
                seq=state.seq + 1,
                kind="adopt",
                body={"state": "lost", "sealed": list(names)},
                previous=state.digest,
                key=anchor.key,
            )
            store.append(entry, summary_tables.changed_rows(state, state.apply(entry)))
            store.commit()
        except BaseException:
            store.rollback()
            raise
        head = Head(seq=state.seq, digest=state.digest, since=state.seq, totals=state.totals())
        anchor.write(head, state.digests, stored_count=0)
    return RepairOutcome(lost=names)


def _refuse_if_anchored(ledger: str) -> None:
    try:
        Anchor.find(ledger)
    except AnchorMissing:
        return
    raise UsageError("this machine already has the ledger's state folder: there is nothing to adopt")


def _copy_anchor(ledger: str, source: Path) -> None:
    """Copy key, digests and head; they appear together or not at all."""
    target = Anchor.folder_of(ledger)
    _set_aside(target)
    draft = target.with_name(f".{target.name}.{new_id()}")
    try:
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        draft.mkdir(mode=0o700)
        for name in ("key", "digests", "head.json"):
            if (source / name).exists():
                shutil.copyfile(source / name, draft / name)
                (draft / name).chmod(0o600)
        draft.rename(target)
    except OSError as fault:
        raise LedgerFault("the state folder cannot be copied") from fault


def _set_aside(folder: Path) -> None:
    """Keep a damaged state folder as evidence, under another name."""
    if folder.exists():
        try:
            folder.rename(folder.with_name(f"{folder.name}.damaged.{new_id()}"))
        except OSError as fault:
            raise LedgerFault("the damaged state folder cannot be set aside") from fault
