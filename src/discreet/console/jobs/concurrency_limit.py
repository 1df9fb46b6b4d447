"""A room for free work: a few at once, a few who wait, few of one person; whoever comes then is told to come again.

What costs nothing is asked for without end, and each who waits holds a thread of the server.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from discreet.console.responses import RequestDenied

#: How long one waits for a turn, and when to come again.
PATIENCE_S, WAIT_S = 10.0, 2.0
#: Of one person, working and waiting together.
EACH = 2


class ConcurrencyLimit:
    """Turns at one kind of work. `words`: what too many are doing, for a sentence."""

    def __init__(self, words: str, *, at_once: int, waiting: int, each: int = EACH) -> None:
        self._words = words
        self._at_once, self._most, self._each = at_once, at_once + waiting, each
        self._inside: Counter[str] = Counter()
        self._working = 0
        self._changed = threading.Condition()
        self._thread = threading.local()

    @contextmanager
    def turn(self, person: str | None, *, patience_s: float = PATIENCE_S) -> Iterator[None]:
        """One's turn. Work inside of work, in the same thread, is one turn."""
        if getattr(self._thread, "inside", False):
            yield
            return
        name = person or ""
        self._enter(name, patience_s)
        self._thread.inside = True
        try:
            yield
        finally:
            self._thread.inside = False
            self._leave(name)

    def _enter(self, name: str, patience_s: float) -> None:
        until = time.monotonic() + patience_s
        with self._changed:
            if self._inside[name] >= self._each:
                raise RequestDenied(
                    f"You already have {self._each} {self._words}; wait for one of them.", status=429, wait_s=WAIT_S
                )
            if self._inside.total() >= self._most:
                raise self._full()
            self._inside[name] += 1
            if not self._changed.wait_for(lambda: self._working < self._at_once, until - time.monotonic()):
                self._forget(name)
                raise self._full()
            self._working += 1

    def _leave(self, name: str) -> None:
        with self._changed:
            self._working -= 1
            self._forget(name)
            self._changed.notify()

    def _forget(self, name: str) -> None:
        self._inside[name] -= 1
        if not self._inside[name]:
            del self._inside[name]

    def _full(self) -> RequestDenied:
        return RequestDenied(f"There are too many {self._words}; try again in a moment.", status=429, wait_s=WAIT_S)
