"""Deadlines: how the curator knows that a question ran past its engine's own.

A timer, or the server, interrupts a question whose time is over, and what is raised then is a failure like any other:
its text may be in any language and may hold a cell. So whoever keeps the time notes that it passed, and whoever
enters the failure looks at that. See docs/decisions/0018 for what it means.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar


class Deadline:
    """Of one draw. `passed`: an engine has interrupted it because its time was over."""

    def __init__(self) -> None:
        self.passed = False

    def note(self) -> None:
        """Its time is over. By any thread."""
        self.passed = True


_current_deadline: ContextVar[Deadline | None] = ContextVar("discreet_deadline", default=None)


@contextmanager
def watch_deadline() -> Iterator[Deadline]:
    """What engines do inside, for this thread, is noted here when its time is over."""
    deadline = Deadline()
    token = _current_deadline.set(deadline)
    try:
        yield deadline
    finally:
        _current_deadline.reset(token)


def expiry_callback() -> Callable[[], None]:
    """What a timer calls when it interrupts: taken in the thread that asks, called in the timer's."""
    deadline = _current_deadline.get()
    return Deadline().note if deadline is None else deadline.note
