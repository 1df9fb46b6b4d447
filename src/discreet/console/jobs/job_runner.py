"""The job runner: work that goes on for people who wait elsewhere. `QueryQueue` and `JobQueue` are runners.

Guarantee: of how long a job took, its state tells the number of ticks of its own grid and nothing finer, also to
    whoever stops it.
Because: an end shows at a tick. A stop takes effect when the next end may be entered, and what had ended is entered
    then; the wish is noted before anything is looked at, so an end that is not told yet does not show in it.
"""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import ClassVar, Generic, TypeVar

from discreet.console.jobs.time_grid import at_tick, due, wait_until_due
from discreet.console.responses import RequestDenied
from discreet.console.settings import Settings
from discreet.engines.stop_signal import Stopped, StopSignal, stoppable_by
from discreet.errors import DiscreetError
from discreet.ledger.receipts import collect_receipts
from discreet.timing import hold_entries_until

#: Jobs that ended are listed until so many newer ones have.
MOST_ENDED = 500
#: How long a stopped job may take to stop when the server ends.
STOP_S = 10.0

#: Whose a job is, and the key under which the same request finds it again.
Place = tuple[bytes | str, str]


@dataclass(slots=True, kw_only=True, eq=False)
class Job(ABC):
    """Work on its way, from its coming to the tick at which its end may be known.

    began: when its request came, by the clock of what passes. made: the same by the clock on the wall. charges: what
    it was charged as, or finished; told when its end is.
    """

    #: What a job is called that has ended well. Whether one waits or runs depends on others; both are open.
    done: ClassVar[str] = "done"

    id: str
    began: float
    made: int = 0
    charges: list[str] = field(default_factory=list)
    stop: StopSignal = field(default_factory=StopSignal)
    stopping: bool = False
    future: Future[None] | None = None
    _ended: float | None = None
    _ended_event: threading.Event = field(default_factory=threading.Event)
    _result: str | None = None
    _problem: Exception | None = None

    @property
    @abstractmethod
    def place(self) -> Place:
        """Whose it is, and its key."""

    def withdrawn(self) -> DiscreetError:
        """Why nothing came of it where it was taken back before its turn."""
        return Stopped()

    @property
    def is_over(self) -> bool:
        """Whether it ended. For the server's own eyes: people are told on the grid, by `state`."""
        return self._ended_event.is_set()

    def run(self, act: Callable[[], str]) -> None:
        """Do what it takes, and keep what came of it. It has ended when `end` says so."""
        try:
            self._result = act()
        except Exception as problem:
            self._problem = problem

    def end(self, now: float) -> None:
        """Say that it has ended."""
        self._ended = now
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
        """What came of it: the result, or the error."""
        if self._problem is not None:
            raise self._problem.with_traceback(None)
        assert self._result is not None, "the job has not ended, or nobody waited for it"
        return self._result

    @property
    def problem(self) -> Exception | None:
        """Why nothing came of it. To be told when its state tells that it ended."""
        return self._problem

    def state(self, now: float, *, grid_ms: int) -> str:
        """Where it stands, as its own grid tells: an end shows at the tick at which its answer leaves."""
        if self._ended is None or now < at_tick(self.began, self._ended, grid_ms=grid_ms):
            return "open"
        if self._problem is None:
            return self.done
        return "stopped" if self.stop.is_requested else "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunnerSentences:
    """What people are told where there is no room ({each}: how many one person may have), or the server ends."""

    full: str
    each: str
    ending: str
    unfinished: str
    wait_s: float


AnyJob = TypeVar("AnyJob", bound=Job)


class JobRunner(Generic[AnyJob]):
    """Jobs and their threads, under the limits of the settings."""

    def __init__(
        self, settings: Settings, sentences: RunnerSentences, *, threads: str, clock: Callable[[], float]
    ) -> None:
        self.clock = clock
        self._settings = settings
        self._sentences = sentences
        self._lock = threading.Lock()
        self._open: dict[Place, AnyJob] = {}
        self._ended: OrderedDict[str, AnyJob] = OrderedDict()
        self._draining = False
        self._drained = threading.Lock()
        self._pool = ThreadPoolExecutor(settings.at_once, thread_name_prefix=threads)

    def _begin(self, place: Place, make: Callable[[], AnyJob], act: Callable[[AnyJob], str]) -> AnyJob:
        """The open job at a place, else a new one; refused where too many are open. Whoever calls holds the lock."""
        job = self._open.get(place)
        if job is None:
            self._check(place[0])
            job = self._open[place] = make()
            job.future = self._pool.submit(self._run, job, act)
        return job

    def _check(self, owner: bytes | str) -> None:
        if self._draining:
            raise self._ending()
        wait_s, each = self._sentences.wait_s, self._settings.each
        if len(self._open) >= self._settings.at_once + self._settings.waiting:
            raise RequestDenied(self._sentences.full, status=429, wait_s=wait_s)
        if sum(other == owner for other, _ in self._open) >= each:
            raise RequestDenied(self._sentences.each.format(each=each), status=429, wait_s=wait_s)

    def _ending(self) -> RequestDenied:
        return RequestDenied(self._sentences.ending, status=429, wait_s=10 * self._sentences.wait_s)

    def _run(self, job: AnyJob, act: Callable[[AnyJob], str]) -> None:
        grid_ms = self._settings.grid_ms
        with (
            stoppable_by(job.stop),
            collect_receipts() as job.charges,
            hold_entries_until(lambda: wait_until_due(job.began, grid_ms=grid_ms, clock=self.clock)),
        ):
            job.run(lambda: act(job))
        self._end(job)

    def _end(self, job: AnyJob) -> None:
        with self._lock:
            job.end(self.clock())
            self._open.pop(job.place, None)
            self._ended[job.id] = job
            while len(self._ended) > MOST_ENDED:
                self._ended.popitem(last=False)

    def jobs(self) -> list[AnyJob]:
        """All that are open, and the last that ended; the newest first."""
        with self._lock:
            all_jobs = [*self._ended.values(), *self._open.values()]
        return sorted(all_jobs, key=lambda job: job.began, reverse=True)

    def withdraw(self, job: AnyJob, why: Exception | None = None) -> bool:
        """Take back a job whose turn has not come, and say why. Nothing was charged."""
        if job.future is None or not job.future.cancel():
            return False
        job.stop.request()
        job.run(lambda: _raise(why or job.withdrawn()))
        self._end(job)
        return True

    def stop(self, job: AnyJob) -> None:
        """Stop a job when the next end of its own grid is due: see above."""
        if job.stopping:
            return
        job.stopping = True
        if job.is_over:
            return
        now = self.clock()
        timer = threading.Timer(due(job.began, now, grid_ms=self._settings.grid_ms) - now, self._stop_now, [job])
        timer.daemon = True
        timer.start()

    def _stop_now(self, job: AnyJob) -> None:
        if not self.withdraw(job):
            job.stop.request()

    def drain(self, limit_s: float) -> None:
        """Take nothing new, let what runs go on for so long, then stop it. What waits is taken back, free.

        Whoever waits is told something before this returns. A second call waits for the first.
        """
        with self._lock:
            self._draining = True
        with self._drained:
            with self._lock:
                still = list(self._open.values())
            for job in still:
                self.withdraw(job, self._ending())
            until = time.monotonic() + limit_s
            for job in still:
                if not job.wait(max(0.0, until - time.monotonic())):
                    job.stop.request()
            until = time.monotonic() + STOP_S
            unfinished = RequestDenied(self._sentences.unfinished, status=409, wait_s=10 * self._sentences.wait_s)
            for job in still:
                if not job.wait(max(0.0, until - time.monotonic())):
                    job.abandon(unfinished)
            self._pool.shutdown(wait=False, cancel_futures=True)


def _raise(problem: Exception) -> str:
    raise problem
