"""The job queue: fits and tables that run in the background. What `query_queue` is for questions in SQL.

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

from discreet.console.jobs.concurrency_limit import ConcurrencyLimit
from discreet.console.jobs.time_grid import at_tick, due, wait_until_due
from discreet.console.request_context import RequestContext
from discreet.console.responses import NotFound, RequestDenied
from discreet.console.visitor import Visitor
from discreet.engines.stop_signal import Stopped, StopSignal, stoppable_by
from discreet.errors import QueryFailed
from discreet.timing import hold_entries_until

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


class JobHalted(QueryFailed):
    """Stopped by a person after it had begun."""

    def __init__(self) -> None:
        super().__init__()
        self.reason = "this job was stopped; what was charged until then stays charged"
        self.hint = "send the same form again: the job continues with what was paid"


@dataclass(slots=True, kw_only=True, eq=False)
class BackgroundJob:
    """One fit or table on its way. `key`: what is wanted, so that the same form finds it again."""

    person: str
    area: str
    words: str
    key: str
    began: float
    id: str = field(default_factory=lambda: f"w-{secrets.token_hex(8)}")
    stop: StopSignal = field(default_factory=StopSignal)
    stopping: bool = False
    future: Future[None] | None = None
    _steps: list[tuple[float, str, float]] = field(default_factory=list)
    _ended: float | None = None
    _ended_event: threading.Event = field(default_factory=threading.Event)
    _to: str = ""
    _problem: Exception | None = None

    @property
    def is_over(self) -> bool:
        """For the server's own eyes; people are told on the grid, by `state`."""
        return self._ended_event.is_set()

    def run(self, act: Act, *, grid_ms: int, clock: Callable[[], float]) -> None:
        """Do it, and keep what came of it."""

        def tell(word: str, done: float) -> None:
            self._steps.append((clock(), word, done))
            if self.stop.is_requested:
                raise JobHalted

        try:
            with (
                stoppable_by(self.stop),
                hold_entries_until(lambda: wait_until_due(self.began, grid_ms=grid_ms, clock=clock)),
            ):
                self._to = act(tell)
        except Exception as problem:
            self._problem = problem
        self._ended = clock()
        self._ended_event.set()

    def withdraw(self, *, clock: Callable[[], float]) -> bool:
        """Take it back where its turn has not come."""
        if self.future is None or not self.future.cancel():
            return False
        self._problem, self._ended = Stopped(), clock()
        self._ended_event.set()
        return True

    def wait(self, timeout_s: float) -> bool:
        return self._ended_event.wait(timeout_s)

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
        return "stopped" if self.stop.is_requested else "failed"

    def to_data(self, now: float, *, grid_ms: int) -> dict[str, Any]:
        """What may be told of it now."""
        state = self.state(now, grid_ms=grid_ms)
        past_steps = [step for step in list(self._steps) if at_tick(self.began, step[0], grid_ms=grid_ms) <= now]
        return {
            "work": self.id,
            "area": self.area,
            "person": self.person,
            "words": self.words,
            "state": state,
            "stopping": self.stopping,
            "step": past_steps[-1][1] if past_steps else "",
            "share": round(min(1.0, max(0.0, past_steps[-1][2])), 3) if past_steps else 0.0,
            "to": self._to if state == "done" else None,
        }


class JobQueue:
    """All of them, under the limits that questions have."""

    def __init__(self, settings: Settings, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._settings = settings
        self._clock = clock
        self._lock = threading.Lock()
        self._jobs: OrderedDict[str, BackgroundJob] = OrderedDict()
        self._closed = False
        self._pool = ThreadPoolExecutor(settings.at_once, thread_name_prefix="discreet-works")
        self._waiter_slots = threading.BoundedSemaphore(MOST_PATIENT)
        self._pricing_limit = ConcurrencyLimit("plans in progress", at_once=2 * settings.at_once, waiting=8)

    def pricing_turn(self, visitor: Visitor) -> AbstractContextManager[None]:
        """Plans are free, and take a second of a processor: a few at once."""
        return self._pricing_limit.turn(visitor.name)

    def start(self, visitor: Visitor, act: Act, *, area: str, words: str, key: str) -> BackgroundJob:
        """Begin a work, or find the open one that the same person began for the same."""
        person = visitor.name or ""
        with self._lock:
            still = [job for job in self._jobs.values() if not job.is_over]
            same = next((job for job in still if (job.person, job.key) == (person, key)), None)
            if same is not None:
                return same
            self._check(still, person)
            job = BackgroundJob(person=person, area=area, words=words, key=key, began=self._clock())
            self._jobs[job.id] = job
            self._forget()
            job.future = self._pool.submit(job.run, act, grid_ms=self._settings.grid_ms, clock=self._clock)
        return job

    def _check(self, still: list[BackgroundJob], person: str) -> None:
        if self._closed:
            raise RequestDenied("The server is shutting down; try again when it is back.", status=429, wait_s=WAIT_S)
        if len(still) >= self._settings.at_once + self._settings.waiting:
            raise RequestDenied("Too many fits and tables are waiting; try again later.", status=429, wait_s=WAIT_S)
        if sum(job.person == person for job in still) >= self._settings.each:
            raise RequestDenied(
                f"You already have {self._settings.each} fits or tables in progress; wait for one of them, or stop it.",
                status=429,
                wait_s=WAIT_S,
            )

    def _forget(self) -> None:
        over = [id_ for id_, job in self._jobs.items() if job.is_over]
        for id_ in over[: max(0, len(over) - MOST_ENDED)]:
            del self._jobs[id_]

    def next_path(self, job: BackgroundJob) -> str:
        """Where to go next: to the result, where it is there soon; else to the page that tells how far it is."""
        if self._waiter_slots.acquire(blocking=False):  # whoever waits holds a thread: not all who send the same form
            try:
                job.wait(PATIENCE_S)
            finally:
                self._waiter_slots.release()
        if job.is_over:
            return job.outcome()
        return f"/{job.area}/underway/{job.id}"

    def open_jobs(self, visitor: Visitor, area: str) -> list[dict[str, Any]]:
        """The works of an area that are under way: a person's own; for an owner of the data, everybody's."""
        with self._lock:
            visible_jobs = [job for job in self._jobs.values() if job.area == area and _may_see(job, visitor)]
        jobs_json = [self.job_json(job) for job in visible_jobs]
        return [each for each in reversed(jobs_json) if each["state"] == "open"]

    def find(self, id_: str, visitor: Visitor) -> BackgroundJob:
        """A work that this visitor may know of."""
        with self._lock:
            job = self._jobs.get(id_)
        if job is None or not _may_see(job, visitor):
            raise NotFound
        return job

    def job_json(self, job: BackgroundJob) -> dict[str, Any]:
        return job.to_data(self._clock(), grid_ms=self._settings.grid_ms)

    def stop(self, job: BackgroundJob) -> None:
        """Stop a work when the next end of its own grid is due: then it tells no more than its end would have told.

        The wish is noted before anything is looked at: an end that is not told yet must not show in it.
        """
        if job.stopping:
            return
        job.stopping = True
        if job.is_over:
            return
        now = self._clock()
        timer = threading.Timer(due(job.began, now, grid_ms=self._settings.grid_ms) - now, self._stop_now, args=(job,))
        timer.daemon = True
        timer.start()

    def _stop_now(self, job: BackgroundJob) -> None:
        job.stop.request()
        job.withdraw(clock=self._clock)

    def close(self) -> None:
        """Take nothing new, and stop what runs: what was paid is gone on with when the same is asked again."""
        with self._lock:
            self._closed = True
            still = [job for job in self._jobs.values() if not job.is_over]
        for job in still:
            self._stop_now(job)
        until = time.monotonic() + STOP_S
        for job in still:
            job.wait(max(0.0, until - time.monotonic()))
        self._pool.shutdown(wait=False, cancel_futures=True)


def job_queue_of(context: RequestContext) -> JobQueue:
    """The works of the house."""
    return context.handle.singleton(JobQueue, lambda: JobQueue(context.settings))


def _may_see(job: BackgroundJob, visitor: Visitor) -> bool:
    return visitor.may("owner") or job.person == (visitor.name or "")
