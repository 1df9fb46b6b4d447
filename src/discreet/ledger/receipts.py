"""Receipts: which charges were asked for in here. The ledger's times are too coarse to tell, and on purpose."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_practice: ContextVar[list[bool] | None] = ContextVar("discreet_practice", default=None)
_receipts: ContextVar[list[str] | None] = ContextVar("discreet_receipts", default=None)


@contextmanager
def collect_receipts() -> Iterator[list[str]]:
    """The ids of charges that are asked for inside, as they come. One that is not in the ledger was not made."""
    charge_ids: list[str] = []
    before, practice = _receipts.set(charge_ids), _practice.set([])
    try:
        yield charge_ids
    finally:
        _receipts.reset(before)
        _practice.reset(practice)


def note_practice() -> None:
    """A ledger that was made for practice was opened in here."""
    marks = _practice.get()
    if marks is not None:
        marks.append(True)


def practice_was_opened() -> bool:
    """Whether `note_practice` was called in here."""
    return bool(_practice.get())


def note_charge(id_: str) -> None:
    """A charge is about to be made: noted before, so that an interrupt just after it loses nothing."""
    charge_ids = _receipts.get()
    if charge_ids is not None:
        charge_ids.append(id_)
