"""Works: fits and tables of people who wait elsewhere. What `asking` is for questions in SQL.

Guarantee: a work that is sent again, by whoever and however often, is paid once.
Because: nothing here asks for a fresh draw. What is wanted is named by its digest, and the ledger holds one reservation
    for it; whoever asks again, after a crash too, is given what was drawn, or goes on with it, free.

An end, and every word of progress, is told at a tick of the work's own grid: how long a step took depends on the data.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from discreet.console.answer import Denied, Missing
from discreet.console.asking.grid import at_tick, due, hold
from discreet.console.room import Room
from discreet.console.visit import Visit, Visitor
from discreet.engines.stopping import Stop, Stopped, carried
from discreet.errors import QueryFailed
from discreet.pace import paced

if TYPE_CHECKING:
    from discreet.console.settings import Settings

#: Works that ended are listed until so many newer ones have.
MOST_ENDED = 200
#: A form waits so long for its work; then its page tells how far it is.
PATIENCE_S = 3.0
#: So many wait so at once; others see that page at once.
MOST_PATIENT = 8
#: When to come again, where too many wait; and how long a work may take to stop when the server ends.
WAIT_S, STOP_S = 5.0, 10.0

State = Literal["open", "done", "failed", "stopped"]
Progress = Callable[[str, float], None]
#: Does it, tells how far it is, and says at which address its result is.
Act = Callable[[Progress], str]


class Halted(QueryFailed):
    """Stopped by a person after it had begun."""

    def __init__(self) -> None:
        super().__init__()
        self.reason = "this was stopped; what was charged by then stays charged"
        self.hint = "send the same form again: it goes on with what was paid"


@dataclass(slots=True, kw_only=True, eq=False)
class Work:
    """One fit or table on its way. `key`: what is wanted, so that the same form finds it again."""

    person: str
    area: str
    words: str
    key: str
    began: float
    id: str = field(default_factory=lambda: f"w-{secrets.token_hex(8)}")
    stop: Stop = field(default_factory=Stop)
    stopping: bool = False
    future: Future[None] | None = None
    _steps: list[tuple[float, str, float]] = field(default_factory=list)
    _ended: float | None = None
    _over: threading.Event = field(default_factory=threading.Event)
    _to: str = ""
    _problem: Exception | None = None

    @property
    def is_over(self) -> bool:
        """For the server's own eyes; people are told on the grid, by `state`."""
        return self._over.is_set()

    def run(self, act: Act, *, grid_ms: int, clock: Callable[[], float]) -> None:
        """Do it, and keep what came of it."""

        def tell(word: str, done: float) -> None:
            self._steps.append((clock(), word, done))
            if self.stop.pulled:
                raise Halted

        try:
            with carried(self.stop), paced(lambda: hold(self.began, grid_ms=grid_ms, clock=clock)):
                self._to = act(tell)
        except Exception as problem:
            self._problem = problem
        self._ended = clock()
        self._over.set()

    def withdraw(self, *, clock: Callable[[], float]) -> bool:
        """Take it back where its turn has not come."""
        if self.future is None or not self.future.cancel():
            return False
        self._problem, self._ended = Stopped(), clock()
        self._over.set()
        return True

    def wait(self, timeout_s: float) -> bool:
        return self._over.wait(timeout_s)

    def outcome(self) -> str:
        """Where its result is, or the error."""
        if self._problem is not None:
            raise self._problem.with_traceback(None)
        return self._to

    def state(self, now: float, *, grid_ms: int) -> State:
        """Where it stands, as its grid tells."""
        if self._ended is None or now < at_tick(self.began, self._ended, grid_ms=grid_ms):
            return "open"
        if self._problem is None:
            return "done"
        return "stopped" if self.stop.pulled else "failed"

    def to_data(self, now: float, *, grid_ms: int) -> dict[str, Any]:
        """What may be told of it now."""
        state = self.state(now, grid_ms=grid_ms)
        told = [step for step in list(self._steps) if at_tick(self.began, step[0], grid_ms=grid_ms) <= now]
        return {
            "work": self.id,
            "area": self.area,
            "person": self.person,
            "words": self.words,
            "state": state,
            "stopping": self.stopping,
            "step": told[-1][1] if told else "",
            "share": round(min(1.0, max(0.0, told[-1][2])), 3) if told else 0.0,
            "to": self._to if state == "done" else None,
        }


class Works:
    """All of them, under the limits that questions have."""

    def __init__(self, settings: Settings, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._settings = settings
        self._clock = clock
        self._lock = threading.Lock()
        self._known: OrderedDict[str, Work] = OrderedDict()
        self._closed = False
        self._pool = ThreadPoolExecutor(settings.at_once, thread_name_prefix="discreet-works")
        self._patient = threading.BoundedSemaphore(MOST_PATIENT)
        self._pricing = Room("plans being made", at_once=2 * settings.at_once, waiting=8)

    def pricing(self, visitor: Visitor) -> AbstractContextManager[None]:
        """Plans are free, and take a second of a processor: a few at once."""
        return self._pricing.turn(visitor.name)

    def start(self, visitor: Visitor, act: Act, *, area: str, words: str, key: str) -> Work:
        """Begin a work, or find the open one that the same person began for the same."""
        person = visitor.name or ""
        with self._lock:
            still = [work for work in self._known.values() if not work.is_over]
            same = next((work for work in still if (work.person, work.key) == (person, key)), None)
            if same is not None:
                return same
            self._check(still, person)
            work = Work(person=person, area=area, words=words, key=key, began=self._clock())
            self._known[work.id] = work
            self._forget()
            work.future = self._pool.submit(work.run, act, grid_ms=self._settings.grid_ms, clock=self._clock)
        return work

    def _check(self, still: list[Work], person: str) -> None:
        if self._closed:
            raise Denied("The server is about to end; come back when it is here again.", status=429, wait_s=WAIT_S)
        if len(still) >= self._settings.at_once + self._settings.waiting:
            raise Denied("Too many fits and tables wait already; come back in a while.", status=429, wait_s=WAIT_S)
        if sum(work.person == person for work in still) >= self._settings.each:
            raise Denied(
                f"You have {self._settings.each} fits or tables under way; wait for one of them, or stop it.",
                status=429,
                wait_s=WAIT_S,
            )

    def _forget(self) -> None:
        over = [id_ for id_, work in self._known.items() if work.is_over]
        for id_ in over[: max(0, len(over) - MOST_ENDED)]:
            del self._known[id_]

    def awaited(self, work: Work) -> str:
        """Where to go next: to the result, where it is there soon; else to the page that tells how far it is."""
        if self._patient.acquire(blocking=False):  # whoever waits holds a thread: not all who send the same form
            try:
                work.wait(PATIENCE_S)
            finally:
                self._patient.release()
        if work.is_over:
            return work.outcome()
        return f"/{work.area}/underway/{work.id}"

    def listed(self, visitor: Visitor, area: str) -> list[dict[str, Any]]:
        """The works of an area that are under way: a person's own; for an owner of the data, everybody's."""
        with self._lock:
            found = [work for work in self._known.values() if work.area == area and _may_see(work, visitor)]
        told = [self.told(work) for work in found]
        return [each for each in reversed(told) if each["state"] == "open"]

    def find(self, id_: str, visitor: Visitor) -> Work:
        """A work that this visitor may know of."""
        with self._lock:
            work = self._known.get(id_)
        if work is None or not _may_see(work, visitor):
            raise Missing
        return work

    def told(self, work: Work) -> dict[str, Any]:
        return work.to_data(self._clock(), grid_ms=self._settings.grid_ms)

    def stop(self, work: Work) -> None:
        """Stop a work when the next end of its own grid is due: then it tells no more than its end would have told.

        The wish is noted before anything is looked at: an end that is not told yet must not show in it.
        """
        if work.stopping:
            return
        work.stopping = True
        if work.is_over:
            return
        now = self._clock()
        timer = threading.Timer(
            due(work.began, now, grid_ms=self._settings.grid_ms) - now, self._stop_now, args=(work,)
        )
        timer.daemon = True
        timer.start()

    def _stop_now(self, work: Work) -> None:
        work.stop.pull()
        work.withdraw(clock=self._clock)

    def close(self) -> None:
        """Take nothing new, and stop what runs: what was paid is gone on with when the same is asked again."""
        with self._lock:
            self._closed = True
            still = [work for work in self._known.values() if not work.is_over]
        for work in still:
            self._stop_now(work)
        until = time.monotonic() + STOP_S
        for work in still:
            work.wait(max(0.0, until - time.monotonic()))
        self._pool.shutdown(wait=False, cancel_futures=True)


def works_of(visit: Visit) -> Works:
    """The works of the house."""
    return visit.desk.shared(Works, lambda: Works(visit.settings))


def _may_see(work: Work, visitor: Visitor) -> bool:
    return visitor.may("owner") or work.person == (visitor.name or "")
