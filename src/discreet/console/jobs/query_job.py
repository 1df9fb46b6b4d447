"""A job: one question on its way, from its coming to the tick at which its end may be known."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, Literal

from discreet.console.jobs.query_request import QueryRequest
from discreet.console.jobs.time_grid import at_tick
from discreet.engines.stop_signal import StopSignal

#: Whether a question waits or runs depends on how long others take; both are told as open.
State = Literal["open", "answered", "failed", "stopped"]


@dataclass(slots=True, kw_only=True, eq=False)
class QueryJob:
    """A question on its way. `began`: when its request came, by the clock of what passes."""

    person: str
    analyst: str | None
    owner: bytes
    key: str
    body: bytes
    query_request: QueryRequest
    began: float
    made: int
    id: str = field(default_factory=lambda: f"j-{secrets.token_hex(8)}")
    stop: StopSignal = field(default_factory=StopSignal)
    future: Future[str] | None = None
    stop_requested: bool = False
    waiters: int = 0
    _ended: float | None = None
    _ended_event: threading.Event = field(default_factory=threading.Event)
    _result: str | None = None
    _problem: Exception | None = None

    @property
    def is_over(self) -> bool:
        """Whether it ended. For the server's own eyes: people are told on the grid, by `state`."""
        return self._ended_event.is_set()

    def end(self, act: Callable[[], str], *, clock: Callable[[], float]) -> None:
        """Do what it takes, and keep what came of it."""
        try:
            self._result = act()
        except Exception as problem:
            self._problem = problem
        self._ended = clock()
        self._ended_event.set()

    def abandon(self, problem: Exception) -> None:
        """Tell those who wait that nothing comes of it here, though it may still run: the server ends."""
        if not self._ended_event.is_set():
            self._problem = problem
            self._ended_event.set()

    def wait(self, timeout_s: float) -> bool:
        """Whether it ended within so long."""
        return self._ended_event.wait(timeout_s)

    def outcome(self) -> str:
        """What came of it: the stored result, or the error."""
        if self._problem is not None:
            raise self._problem.with_traceback(None)
        assert self._result is not None, "a job that has not ended, or that nobody waited for"
        return self._result

    def forget(self) -> None:
        """Let go of its result, where it has one: it is kept beside its key."""
        self._result = None

    def state(self, now: float, *, grid_ms: int) -> State:
        """Where it stands, as its own grid tells: an end shows at the tick at which its answer leaves."""
        if self._ended is None or now < at_tick(self.began, self._ended, grid_ms=grid_ms):
            return "open"
        if self._problem is None:
            return "answered"
        return "stopped" if self.stop.is_requested else "failed"

    def to_data(self, now: float, *, grid_ms: int) -> dict[str, Any]:
        """What its person may know of it."""
        return {
            "job": self.id,
            "person": self.person,
            "kind": self.query_request.kind,
            "text": self.query_request.text,
            "state": self.state(now, grid_ms=grid_ms),
            "stopping": self.stop_requested,
            "made": self.made,
        }
