"""Reading a chain: every row verified and folded, and the tables and stored answers beside it compared with it.

Of a long ledger that was opened before, the part up to its checkpoint is taken from there; see checkpoint.py. `verify`
and whatever repairs, copies or moves a ledger read all of it.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Callable, Iterator
from typing import Literal

from discreet.errors import Command, LedgerFault, LedgerTampered, Message
from discreet.ledger import chain, checkpoint, summary_tables
from discreet.ledger.anchor import Anchor
from discreet.ledger.chain import LedgerEntry, canonical_json
from discreet.ledger.checkpoint import Checkpoint
from discreet.ledger.ledger_store import LedgerStore
from discreet.ledger.state import LedgerState
from discreet.ledger.state_index import MOST_IN_MEMORY, index_entries

_RESTORE_HINT = Message("run ", Command("ledger restore", "FILE"), " to replace it with a backup")


def ledger_id(store: LedgerStore) -> str:
    """The id that the first entry names. Not yet verified: it only says which key to verify with."""
    first = next(store.entries(), None)
    try:
        identifier = json.loads(first.body)["ledger"] if first is not None else None
    except (ValueError, KeyError, TypeError):
        identifier = None
    if not isinstance(identifier, str):
        raise LedgerTampered("entry 1 of the ledger does not say which ledger it is", row=1)
    return identifier


def load_in_snapshot(
    store: LedgerStore, anchor: Anchor | None, *, use: Literal["nothing", "resume", "compare"] = "nothing"
) -> LedgerState:
    """`load`, in a transaction of its own: others may write meanwhile. `use`: what the checkpoint is for.

    "resume": the state is taken from it, where it fits; and where it is old, another one is written. "compare": the
    whole chain is read, and a checkpoint that is not what it says is a fault.
    """
    store.snapshot()
    try:
        if anchor is None or use == "nothing":
            return load(store, anchor)
        since = anchor.read().since
        last = checkpoint.read_checkpoint(anchor, ledger_id(store))
        if use == "compare":
            return load(store, anchor, last=last)
        keeper = CheckpointKeeper(store, anchor, since=since, seq=last.seq if last else 0)
        state = None if last is None else resume(store, anchor, last, keeper)
        if state is None:
            keeper.seq = 0
            state = load(store, anchor, keeper=keeper)
        if state.seq - keeper.seq >= checkpoint.ROWS:
            keeper.write(state)
        return state
    finally:
        store.rollback()


class CheckpointKeeper:
    """Writes checkpoints while a long chain is folded, so that the next opening continues where a
    killed one stopped.

    Guarantee: a checkpoint that is written on the way is the fold of verified entries, as one at the end is.
    Because: `fold` verifies an entry before it folds it, and one is written only where the key signed the newest entry.
        The balances, and the rows and answers of the entries after it, are compared by whoever continues from it; those
        of the entries before it by `ledger verify`, as with every checkpoint.
    """

    def __init__(self, store: LedgerStore, anchor: Anchor, *, since: int, seq: int) -> None:
        self._store, self._anchor, self._since, self.seq = store, anchor, since, seq

    def write(self, state: LedgerState) -> None:
        """Write one for the state as it is now."""
        if state.seq >= self._since:
            checkpoint.write_checkpoint(self._anchor, state, self._store, since=self._since)
            self.seq = state.seq


def load(
    store: LedgerStore,
    anchor: Anchor | None,
    *,
    last: Checkpoint | None = None,
    keeper: CheckpointKeeper | None = None,
) -> LedgerState:
    """Fold the whole chain, every row verified, and compare the tables, the answers and a checkpoint with it.

    Needs some 100 bytes for each entry, and what `MOST_IN_MEMORY` of them are in memory.
    """
    state, sums = LedgerState(), ChainSums()
    since = anchor.read().since if anchor else 1

    def note(entry: LedgerEntry) -> None:
        _note_rows(sums, entry, state)
        if last is not None and entry.seq == last.seq:
            _check_checkpoint(last, state, store)
        else:
            _move_into_indexes(state, store, keeper)

    fold(store.entries(), state, key=anchor.key if anchor else None, since=since, note=note)
    if anchor and state.seq < since and anchor.count_common_entries(state.digests) < state.seq:
        row = anchor.count_common_entries(state.digests) + 1
        raise LedgerTampered(f"entry {row} of the ledger is not the one that its anchor has seen", row=row)
    if not _tables_match(store, state, sums):
        check_tables(store, state)
    return state


def resume(
    store: LedgerStore, anchor: Anchor, last: Checkpoint, keeper: CheckpointKeeper | None = None
) -> LedgerState | None:
    """The state from a checkpoint and the entries after it, with their rows and answers; None where anything is wrong.

    The ledger is then read whole, which says what is wrong, or that it was the checkpoint. Keeps no entry.
    """
    head = anchor.read()
    try:
        state = checkpoint.state_at(last, store, key=anchor.key, since=head.since)
        if state is None:
            return None
        charge_rows = store.charge_rows(after=last.seq)

        def compare(entry: LedgerEntry) -> None:
            if entry.kind == "charge":
                if next(charge_rows, None) != summary_tables.charge_row(state.charges[entry.data()["id"]]):
                    raise ValueError("a charge is not in its table")
            elif answer := _answer_of(entry):
                payload = store.payload(answer[0])
                if payload is None or sha256_of(payload) != answer[1]:
                    raise ValueError("an answer is not stored")
            _move_into_indexes(state, store, keeper)

        fold(store.entries(after=last.seq), state, key=anchor.key, since=head.since, note=compare)
        if next(charge_rows, None) is not None or summary_tables.balance_rows(state) != store.balances():
            return None
        is_head = (state.seq, state.digest) == (head.seq, head.digest)
        return None if is_head and canonical_json(state.totals()) != canonical_json(head.totals) else state
    except (LedgerFault, ValueError, KeyError, TypeError, IndexError):
        return None


def fold(
    entries: Iterator[LedgerEntry],
    state: LedgerState,
    *,
    key: bytes | None,
    since: int,
    note: Callable[[LedgerEntry], None] | None = None,
) -> None:
    """Verify and fold entries; the first bad one is named. `note` hears of each that was folded."""
    for entry in entries:
        seq = state.seq + 1
        if problem := chain.find_problem(entry, seq=seq, previous=state.digest, key=key if seq >= since else None):
            raise LedgerTampered(f"the ledger does not verify: {problem}", row=seq, hint=_RESTORE_HINT)
        state.apply(entry)
        if note is not None:
            note(entry)


def check_tables(store: LedgerStore, state: LedgerState) -> None:
    """Compare balances, charges and answers with the chain, row by row."""
    row = summary_tables.first_difference(summary_tables.all_rows(state), store.rows(), last=state.seq)
    if row is not None:
        raise LedgerTampered(f"the ledger's tables do not match entry {row} of its chain", row=row, hint=_RESTORE_HINT)
    missing = dict(state.answers)
    for id_, sha256, payload in store.payloads():
        stored = missing.pop(id_, None)
        if stored is None or sha256 != stored.sha256 or sha256_of(payload) != sha256:
            row = stored.seq if stored else state.seq + 1  # an answer that no row entered
            raise LedgerTampered(f"a stored answer does not match entry {row}", row=row, hint=_RESTORE_HINT)
    if missing:
        row = min(stored.seq for stored in missing.values())
        raise LedgerTampered(f"the stored answer of entry {row} is gone", row=row, hint=_RESTORE_HINT)


def sha256_of(payload: str) -> str:
    """The digest under which a payload is entered."""
    return hashlib.sha256(payload.encode("utf-8", "surrogateescape")).hexdigest()


def _answer_of(entry: LedgerEntry) -> tuple[str, str] | None:
    """The id and the digest of the answer that an entry entered."""
    if entry.kind not in ("answer", "row"):
        return None
    body = entry.data()
    return (f"{body['id']}.{body['number']}" if entry.kind == "row" else body["id"]), body["sha256"]


def _move_into_indexes(state: LedgerState, store: LedgerStore, keeper: CheckpointKeeper | None) -> None:
    """After every `MOST_IN_MEMORY` entries; then also write a checkpoint, where one is kept."""
    if state.seq - state.indexed >= MOST_IN_MEMORY:
        index_entries(state, store)
        if keeper is not None:
            keeper.write(state)


def _note_rows(sums: ChainSums, entry: LedgerEntry, state: LedgerState) -> None:
    if entry.kind == "charge":
        sums.charges.add(summary_tables.charge_row(state.charges[entry.data()["id"]]))
    elif answer := _answer_of(entry):
        sums.answers.add(answer)


def _tables_match(store: LedgerStore, state: LedgerState, sums: ChainSums) -> bool:
    """Whether the tables hold what the chain says, each row once. Keeps no row."""
    charges, answers = sums.new(), sums.new()
    for row in store.charge_rows():
        charges.add(tuple(row))
    for id_, sha256, payload in store.payloads():
        if sha256_of(payload) != sha256:
            return False
        answers.add((id_, sha256))
    same = (charges.total, answers.total) == (sums.charges.total, sums.answers.total)
    return same and summary_tables.balance_rows(state) == store.balances()


def _check_checkpoint(last: Checkpoint, state: LedgerState, store: LedgerStore) -> None:
    """Compare a checkpoint with the state that it is of."""
    if last.digest != state.digest:
        return  # of another history; nobody takes it
    content, sizes = checkpoint.content_of(state, store)
    if content != last.content or tuple(sizes) != last.sizes:
        raise LedgerFault(
            f"the ledger's checkpoint is not what the chain says at entry {last.seq}",
            hint="delete the file checkpoint in the ledger's state folder; the ledger is then read whole",
        )


class RowSum:
    """The sum over rows that were added."""

    def __init__(self, key: bytes) -> None:
        self._key, self.total = key, 0

    def add(self, row: tuple[object, ...]) -> None:
        """Add a row of texts and whole numbers."""
        digest = hashlib.blake2b(repr(row).encode(), key=self._key, digest_size=32).digest()
        self.total = (self.total + int.from_bytes(digest)) % 2**256


class ChainSums:
    """What the chain says of charges and answers, to compare with the tables beside it: lists summed, and not kept.

    Guarantee: lists with different rows, in any order, have equal sums with a chance below 2^-250, whoever chose the
        rows.
    Because: each row counts as a keyed BLAKE2b of 256 bits, the key is drawn for this comparison and never leaves it,
        and the sums are taken modulo 2^256.
    """

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)
        self.charges, self.answers = self.new(), self.new()

    def new(self) -> RowSum:
        """A sum to compare with these."""
        return RowSum(self._key)
