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
from contextvars import copy_context
from typing import Any, Generic, TypeVar

from discreet.errors import LedgerFault

Result = TypeVar("Result")
RunTogether = Callable[[Iterator[Callable[[], None]]], None]

#: How many go at once, and for how long: other machines wait as long as a transaction is held.
MOST = 64
LONGEST_S = 1.0


class QueuedAct(Generic[Result]):
    """Something to be done, and its outcome, which nobody is told before it is `over`."""

    def __init__(self, act: Callable[[], Result]) -> None:
        self._act, self._context = act, copy_context()  # what a thread notes in its context, it finds there
        self._result: list[Result] = []
        self._fault: BaseException | None = None
        self.called = threading.Event()
        self.is_leader = False
        self.is_abandoned = False
        self.is_finished = False

    def do(self) -> None:
        """Do it. What it raises is kept, and raised."""
        try:
            self._result.append(self._context.run(self._act))
        except BaseException as fault:
            self._fault = fault
            raise

    def fail(self, fault: BaseException) -> None:
        """Whatever came of it, it does not count."""
        self._fault = fault

    def end(self) -> None:
        self.is_finished = True
        self.called.set()

    def outcome(self) -> Result:
        if self._fault is not None:
            raise self._fault
        return self._result[0]


class CommitQueue:
    """Those who wait. One of them leads; there is one as long as anybody waits."""

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._waiting: deque[QueuedAct[Any]] = deque()
        self._has_leader = False

    def run(self, act: Callable[[], Result], *, lock: threading.RLock, together: RunTogether) -> Result:
        """Have it done, by this thread or by the one that leads, under the lock."""
        turn = QueuedAct(act)
        try:
            with self._mutex:
                self._waiting.append(turn)
                turn.is_leader, self._has_leader = not self._has_leader, True
            if not turn.is_leader:
                turn.called.wait()
            while not turn.is_finished:
                with lock:
                    self._run_waiting(together)
        finally:
            self._leave(turn)
        return turn.outcome()

    def _run_waiting(self, together: RunTogether) -> None:
        """Those who wait, in the order in which they came. If the whole fails, it fails for each of them."""
        with self._mutex:
            noted = [self._waiting.popleft() for _ in range(min(MOST, len(self._waiting)))]
            turns = [
                turn for turn in noted if not turn.is_abandoned
            ]  # interrupted while they waited: nobody asks any more
        gone = turns
        try:
            gone = self._run_until_late(turns, together)
        except Exception as fault:
            for turn in turns:
                turn.fail(fault)
        except BaseException:
            for turn in turns:
                turn.fail(LedgerFault("the thread that was writing this charge was interrupted", hint="repeat it"))
            raise
        finally:
            for turn in gone:
                turn.end()
            with self._mutex:
                self._waiting.extendleft(reversed(turns[len(gone) :]))

    def _run_until_late(self, turns: list[QueuedAct[Any]], together: RunTogether) -> list[QueuedAct[Any]]:
        """Let them go until it has taken long enough; return those who went."""
        gone: list[QueuedAct[Any]] = []

        def acts() -> Iterator[Callable[[], None]]:
            until = time.monotonic() + LONGEST_S
            for turn in turns:
                if gone and time.monotonic() > until:
                    return
                gone.append(turn)
                yield turn.do

        together(acts())
        return gone

    def _leave(self, turn: QueuedAct[Any]) -> None:
        """Whoever led names the first of those who came meanwhile."""
        with self._mutex:
            turn.is_abandoned = True
            if not turn.is_leader:
                return
            while self._waiting and self._waiting[0].is_abandoned:
                self._waiting.popleft()
            self._has_leader = bool(self._waiting)
            if self._waiting:
                self._waiting[0].is_leader = True
                self._waiting[0].called.set()
