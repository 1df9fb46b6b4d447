"""Charge locks: which charges are being answered right now, so that one whose process died can be answered after all.

A process that charges a question holds a lock, a file in the state folder, from before the charge is entered until its
answer or its failure is. The operating system releases the lock when the process dies, however it dies; the file stays.

    <state folder>/<ledger id>/answering/<charge id>

Guarantee: at most one answer is released under one charge, and no process begins to answer a charge that another one
    may still answer.
Because: (1) An answer is shown only after it is stored, and what is shown is read back from the store, which keeps the
    first: whatever two processes draw, one value is released. (2) A charge is resumed inside a section of the ledger,
    so the state is the newest, and has neither an answer nor a failure of it. Its lock is taken there, without waiting.
    A process releases its lock after the answer or the failure is committed, or by dying, or because the ledger
    could not store; in the last two cases its draw is lost. So whoever takes the lock knows that nothing was shown.
    (3) If two ask again, one takes the lock and the other is charged anew. (4) Whoever resumes holds the lock in turn,
    so another death is the same case again.
    So one draw is released, independent of those that were lost, under the event that was charged. Nothing may choose
    among draws by what was drawn, not even a clock. Only whoever runs the program can kill it, and they can read the
    data. An analyst's stop and a deadline are entered as failures, and stay paid.

Not resumed, because in doubt: a charge without a file here (another machine made it, or the power failed before the
file was on the disk), a failure, a history that is not the only one (a gap, an adoption), a stale version.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.errors import LedgerFault
from discreet.ledger.chain import canonical_json
from discreet.ledger.state import LedgerState

#: What must be the same of two charges, so that one answers for the other. The cost follows from the event.
_SAME = ("population", "table", "version", "region", "event", "analyst", "question", "price")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChargeLock:
    """The lock of a charge, held by this process. `is_resumed`: another one made the charge, and died."""

    path: Path
    descriptor: int
    is_resumed: bool

    @staticmethod
    def make(folder: Path, id_: str) -> ChargeLock:
        """Lock a charge that is about to be entered."""
        try:
            folder.mkdir(mode=0o700, exist_ok=True)
            descriptor = os.open(folder / id_, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as fault:
            raise LedgerFault(
                f"the ledger's state folder cannot be written ({os.strerror(fault.errno or 0).lower()})",
                hint="make it writable, then open the ledger again; until then nothing is answered",
            ) from fault
        return ChargeLock(path=folder / id_, descriptor=descriptor, is_resumed=False)

    @staticmethod
    def take(folder: Path, id_: str) -> ChargeLock | None:
        """Lock a charge that was entered before; None where it was not entered here or somebody is answering it."""
        try:
            descriptor = os.open(folder / id_, os.O_RDWR | os.O_CLOEXEC)
        except OSError:
            return None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(descriptor).st_nlink:
                return ChargeLock(path=folder / id_, descriptor=descriptor, is_resumed=True)
        except OSError:
            pass
        os.close(descriptor)
        return None

    def release(self, *, is_over: bool) -> None:
        """Let go of the charge. `is_over`: nobody shall answer it any more."""
        if is_over:
            with suppress(OSError):
                self.path.unlink()
        with suppress(OSError):
            fcntl.flock(self.descriptor, fcntl.LOCK_UN)  # not only close: a fork may hold a copy
        os.close(self.descriptor)


def matching_charges(state: LedgerState, body: dict[str, Any]) -> list[str]:
    """The charges without an answer or a failure that paid for what `body` would pay for, the oldest first.

    A charge under a key waits for that key: whoever sent it sends it again, and two keys have two answers.
    """
    return [
        id_
        for id_, earlier in state.unfinished.items()
        if all(earlier.get(name) == body.get(name) for name in ("question", "key", "refines"))
        and state.refinements.may_answer(id_)
        and _paid_for(earlier, body)
    ]


def _paid_for(earlier: dict[str, Any], body: dict[str, Any]) -> bool:
    return all(canonical_json(earlier[name]) == canonical_json(body[name]) for name in _SAME)
