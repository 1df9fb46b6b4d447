"""Turns: threads that wait for each other at the ledger go through together, and one commit serves them all.

    note what to do -> the first leads: takes the lock, does all that was noted, tells each its outcome, names the next

A commit waits for a disk, and the anchor for another; by the time it is over, others have come. Knows no ledger: what
"together" means is the journal's.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar

from discreet.errors import LedgerFault

Result = TypeVar("Result")
Together = Callable[[Iterator[Callable[[], None]]], None]

#: How many go at once, and for how long: other machines wait as long as a transaction is held.
MOST = 64
LONGEST_S = 1.0


class Turn(Generic[Result]):
    """Something to be done, and its outcome, which nobody is told before it is `over`."""

    def __init__(self, act: Callable[[], Result]) -> None:
        self._act = act
        self._result: list[Result] = []
        self._fault: BaseException | None = None
        self.called = threading.Event()
        self.leads = False
        self.left = False
        self.over = False

    def do(self) -> None:
        """Do it. What it raises is kept, and raised."""
        try:
            self._result.append(self._act())
        except BaseException as fault:
            self._fault = fault
            raise

    def fail(self, fault: BaseException) -> None:
        """Whatever came of it, it does not count."""
        self._fault = fault

    def end(self) -> None:
        self.over = True
        self.called.set()

    def outcome(self) -> Result:
        if self._fault is not None:
            raise self._fault
        return self._result[0]


class Turns:
    """Those who wait. One of them leads; there is one as long as anybody waits."""

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._waiting: deque[Turn[Any]] = deque()
        self._led = False

    def take(self, act: Callable[[], Result], *, lock: threading.RLock, together: Together) -> Result:
        """Have it done, by this thread or by the one that leads, under the lock."""
        turn = Turn(act)
        try:
            with self._mutex:
                self._waiting.append(turn)
                turn.leads, self._led = not self._led, True
            if not turn.leads:
                turn.called.wait()
            while not turn.over:
                with lock:
                    self._go(together)
        finally:
            self._leave(turn)
        return turn.outcome()

    def _go(self, together: Together) -> None:
        """Those who wait, in the order in which they came. If the whole fails, it fails for each of them."""
        with self._mutex:
            noted = [self._waiting.popleft() for _ in range(min(MOST, len(self._waiting)))]
            turns = [turn for turn in noted if not turn.left]  # interrupted while they waited: nobody asks any more
        gone = turns
        try:
            gone = self._through(turns, together)
        except Exception as fault:
            for turn in turns:
                turn.fail(fault)
        except BaseException:
            for turn in turns:
                turn.fail(LedgerFault("the thread that charged for this one too was interrupted", hint="ask again"))
            raise
        finally:
            for turn in gone:
                turn.end()
            with self._mutex:
                self._waiting.extendleft(reversed(turns[len(gone) :]))

    def _through(self, turns: list[Turn[Any]], together: Together) -> list[Turn[Any]]:
        """Let them go until it has taken long enough; return those who went."""
        gone: list[Turn[Any]] = []

        def acts() -> Iterator[Callable[[], None]]:
            until = time.monotonic() + LONGEST_S
            for turn in turns:
                if gone and time.monotonic() > until:
                    return
                gone.append(turn)
                yield turn.do

        together(acts())
        return gone

    def _leave(self, turn: Turn[Any]) -> None:
        """Whoever led names the first of those who came meanwhile."""
        with self._mutex:
            turn.left = True
            if not turn.leads:
                return
            while self._waiting and self._waiting[0].left:
                self._waiting.popleft()
            self._led = bool(self._waiting)
            if self._waiting:
                self._waiting[0].leads = True
                self._waiting[0].called.set()
