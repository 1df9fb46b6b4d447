"""Stopping: what runs in one thread may be stopped from another.

A thread carries a `StopSignal`. An engine says, while it counts, how it is interrupted; whoever holds the same
`StopSignal` may pull it at any time. Before the charge a pulled stop costs nothing; after it the charge stays and there
is no answer.

A question that was stopped is no failure of its plan, so it does not count among those that lock a table: else
whoever may ask could shut everybody out by changing their mind three times. What it tells is that the question had not
ended when the stop was pulled. Whoever pulls for a person does so on the question's own time grid (console/jobs),
where the time of the answer would have told the same.

The making of a version charges nothing and can be stopped until the ledger enters it. It looks for its stop between its
steps (`check_stop`, `until_stopped`), its engine's statements are interrupted, and what is half made goes: see
`kernel.curator.make`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import TypeVar

from discreet.errors import Command, Message, QueryFailed, UsageError

Item = TypeVar("Item")

#: An engine forgets an interrupt that comes before its statement begins, so it is interrupted until it has ended.
_AGAIN_S = 0.05


class Stopped(UsageError):
    """Stopped before anything was charged."""

    def __init__(self) -> None:
        super().__init__("stopped before anything was charged", hint="run it again when you want the answer")


class MakingStopped(Stopped):
    """Stopped before a new version was entered, so that the one before stays in use. `in_use`: its number, if any."""

    def __init__(self, table: str, *, in_use: int | None) -> None:
        super().__init__()
        stands = "it has none yet" if in_use is None else f"version {in_use} is still in use"
        self.reason = f"stopped, so no new version of {table!r} was made; {stands}"
        self.hint = Message("run ", Command("refresh", table), " when you want one")


class StoppedHalfway(QueryFailed):
    """Stopped after a part of it was charged and answered."""

    def __init__(self) -> None:
        super().__init__()
        self.reason = "stopped after a part of it was charged and answered; what was charged stays charged"
        self.hint = "run the same again: the part that was answered is stored, and is not charged again"


@contextmanager
def after_partial_charge(paid: bool) -> Iterator[None]:
    """Where a part was paid before: a stop does not say that nothing was charged."""
    try:
        yield
    except Stopped:
        if paid:
            raise StoppedHalfway from None
        raise


class StopSignal:
    """Pulled once, by any thread, and for good."""

    def __init__(self) -> None:
        self._pulled = threading.Event()
        self._lock = threading.Lock()
        self._interrupts: list[Callable[[], None]] = []
        self._orderly = 0

    @property
    def is_requested(self) -> bool:
        """Whether it was pulled."""
        return self._pulled.is_set()

    @property
    def is_orderly(self) -> bool:
        """Whether what runs now looks for the stop itself and then removes what is half made."""
        return self._orderly > 0

    @contextmanager
    def orderly(self) -> Iterator[None]:
        """What runs inside looks for the stop itself."""
        self._orderly += 1
        try:
            yield
        finally:
            self._orderly -= 1

    def request(self) -> None:
        """Stop what runs under it, now and from now on. Returns at once."""
        if not self._pulled.is_set():
            self._pulled.set()
            threading.Thread(target=self._interrupt, name="discreet-stop", daemon=True).start()

    @contextmanager
    def interrupting(self, interrupt: Callable[[], None]) -> Iterator[None]:
        """Say how what follows is interrupted. Raises where it was pulled already."""
        with self._lock:
            if self.is_requested:
                raise Stopped
            self._interrupts.append(interrupt)
        try:
            yield
        finally:
            with self._lock:  # an interrupt under way ends first: the next one on this connection is another's question
                self._interrupts.remove(interrupt)

    def _interrupt(self) -> None:
        ended = threading.Event()
        while not ended.wait(_AGAIN_S):
            with self._lock:
                if not self._interrupts:
                    ended.set()
                self._interrupt_once()

    def _interrupt_once(self) -> None:
        """A turn of its own, which keeps no connection while the next one is waited for: a process may end there."""
        for interrupt in self._interrupts:
            with suppress(Exception):  # it may have ended, or died, this very moment
                interrupt()


_current_stop: ContextVar[StopSignal | None] = ContextVar("discreet_stop", default=None)


@contextmanager
def stoppable_by(stop: StopSignal) -> Iterator[None]:
    """What this thread does inside can be stopped by `stop`."""
    token = _current_stop.set(stop)
    try:
        yield
    finally:
        _current_stop.reset(token)


@contextmanager
def interrupting(interrupt: Callable[[], None]) -> Iterator[None]:
    """`StopSignal.interrupting` of the stop that this thread carries; nothing where it carries none."""
    stop = _current_stop.get()
    if stop is None:
        yield
        return
    with stop.interrupting(interrupt):
        yield


@contextmanager
def orderly() -> Iterator[None]:
    """What this thread does inside looks for its stop itself, so a keyboard only pulls it: see `cli.interruption`.

    Broken off anywhere, what is half made might stay.
    """
    stop = _current_stop.get()
    if stop is None:
        yield
        return
    with stop.orderly():
        yield


@contextmanager
def unstoppable() -> Iterator[None]:
    """What this thread does inside is not stopped: it removes what is half made, or follows what stands for good."""
    token = _current_stop.set(None)
    try:
        yield
    finally:
        _current_stop.reset(token)


def is_stop_requested() -> bool:
    """Whether the stop that this thread carries was pulled."""
    stop = _current_stop.get()
    return stop is not None and stop.is_requested


def check_stop() -> None:
    """Refuse to go on where this thread's stop was pulled. For the moment before a charge."""
    if is_stop_requested():
        raise Stopped from None  # not after what an engine said: its own words may hold a cell


def until_stopped(items: Iterable[Item]) -> Iterator[Item]:
    """The same, one by one; refused from the one on before which this thread's stop was pulled."""
    for item in items:
        check_stop()
        yield item
