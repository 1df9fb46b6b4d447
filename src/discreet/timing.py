"""Pace: what a charged question came to is written down when a clock says so, not when the counting ended.

Everybody who may ask can look at the ledger: at lists of releases, at prices (a stored answer is free), at the log. So
the moment at which an answer or a failure is entered is as public as the moment at which an answer leaves, and tells as
much about how long counting took. Whoever runs questions for others sets a wait; elsewhere there is none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_wait: ContextVar[Callable[[], None] | None] = ContextVar("discreet_pace", default=None)


@contextmanager
def hold_entries_until(wait: Callable[[], None]) -> Iterator[None]:
    """What this thread enters inside is entered when `wait` has returned."""
    before = _wait.set(wait)
    try:
        yield
    finally:
        _wait.reset(before)


def wait_until_due() -> None:
    """Wait for the moment at which an end may be entered."""
    wait = _wait.get()
    if wait is not None:
        wait()
