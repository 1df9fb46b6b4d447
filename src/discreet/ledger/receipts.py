"""Receipts: which charges were asked for in here. The ledger's times are too coarse to tell, and on purpose."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_receipts: ContextVar[list[str] | None] = ContextVar("discreet_receipts", default=None)


@contextmanager
def collected() -> Iterator[list[str]]:
    """The ids of charges that are asked for inside, as they come. One that is not in the ledger was not made."""
    found: list[str] = []
    before = _receipts.set(found)
    try:
        yield found
    finally:
        _receipts.reset(before)


def note(id_: str) -> None:
    """A charge is about to be made: noted before, so that an interrupt just after it loses nothing."""
    found = _receipts.get()
    if found is not None:
        found.append(id_)
