"""Running: how many questions at once, how many wait, and how one is stopped."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from discreet.console.jobs.query_job import QueryJob
from discreet.console.jobs.time_grid import due, wait_until_due
from discreet.console.responses import RequestDenied
from discreet.console.settings import Settings
from discreet.engines.stop_signal import Stopped, stoppable_by
from discreet.timing import hold_entries_until

#: Jobs that ended are listed until so many newer ones have.
_MOST_ENDED = 500
#: So many requests may wait for one job, and so many more than there may be jobs in all: each holds a thread.
_MOST_WAITERS, _MORE_WAITERS = 8, 16
#: When to try again, where too many wait.
WAIT_S = 2.0
#: How long questions that run may go on when the server is told to end, and how long a stopped one may take to stop.
DRAIN_S, STOP_S = 20.0, 10.0

_ENDS = "The server is shutting down before this query ends. When it is back, send the same key to get the result."


class QueryQueue:
    """Jobs and their threads. `act` answers one job."""

    def __init__(
        self, act: Callable[[QueryJob], str], settings: Settings, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._act = act
        self._settings = settings
        self.clock = clock
        self._lock = threading.Lock()
        self._open: dict[tuple[bytes, str], QueryJob] = {}
        self._ended: OrderedDict[str, QueryJob] = OrderedDict()
        self._draining = False
        self._drained = threading.Lock()
        self._waiters = 0
        self._most_waiters = settings.at_once + settings.waiting + _MORE_WAITERS
        self._pool = ThreadPoolExecutor(settings.at_once, thread_name_prefix="discreet-asking")

    def take(self, owner: bytes, key: str, make: Callable[[], QueryJob]) -> QueryJob:
        """The open job under a key, else a new one; refused where too many are open, or wait for it. See `leave`."""
        with self._lock:
            job = self._open.get((owner, key))
            if job is None:
                self._check(owner)
                job = self._open[owner, key] = make()
                job.future = self._pool.submit(self._run, job)
            if job.waiters >= _MOST_WAITERS or (job.waiters and self._waiters >= self._most_waiters):
                raise RequestDenied("This query is already running; try again in a moment.", status=429, wait_s=WAIT_S)
            job.waiters += 1
            self._waiters += 1
            return job

    def leave(self, job: QueryJob) -> None:
        """Wait for it no more."""
        with self._lock:
            job.waiters -= 1
            self._waiters -= 1
            if not job.waiters and job.is_over:
                job.forget()

    def _check(self, owner: bytes) -> None:
        if self._draining:
            _raise_server_ends()
        if len(self._open) >= self._settings.at_once + self._settings.waiting:
            raise RequestDenied("Too many queries are waiting; try again in a moment.", status=429, wait_s=WAIT_S)
        if sum(each == owner for each, _ in self._open) >= self._settings.each:
            raise RequestDenied(
                f"You already have {self._settings.each} queries running; wait for one of them, or cancel it.",
                status=429,
                wait_s=WAIT_S,
            )

    def _run(self, job: QueryJob) -> str:
        with (
            stoppable_by(job.stop),
            hold_entries_until(lambda: wait_until_due(job.began, grid_ms=self._settings.grid_ms, clock=self.clock)),
        ):
            self._end(job, lambda: self._act(job))
        return job.id

    def _end(self, job: QueryJob, act: Callable[[], str]) -> None:
        job.end(act, clock=self.clock)
        with self._lock:
            self._open.pop((job.owner, job.key), None)
            self._ended[job.id] = job
            if not job.waiters:  # those who wait read it; see `leave`
                job.forget()
            while len(self._ended) > _MOST_ENDED:
                self._ended.popitem(last=False)

    def jobs(self) -> list[QueryJob]:
        """All that are open, and the last that ended; the newest first."""
        with self._lock:
            all_jobs = [*self._ended.values(), *self._open.values()]
        return sorted(all_jobs, key=lambda job: job.began, reverse=True)

    def withdraw(self, job: QueryJob, why: Callable[[], str] | None = None) -> bool:
        """Take back a job whose turn has not come, and say why. Nothing was charged."""
        if job.future is None or not job.future.cancel():
            return False
        job.stop.request()
        self._end(job, why or _raise_stopped)
        return True

    def stop(self, job: QueryJob) -> None:
        """Stop a job when the next end of its own grid is due.

        Guarantee: whether it was stopped or answered tells no more than the tick of its answer would have, and that a
            stop is wanted of it tells nothing.
        Because: it is stopped if its counting had not ended when ends are entered next, and what had ended is entered
            then. The wish is noted before anything is looked at: an end that is not told yet must not show in it.
        """
        if job.stop_requested:
            return
        job.stop_requested = True
        if job.is_over:
            return
        now = self.clock()
        wait_s = due(job.began, now, grid_ms=self._settings.grid_ms) - now
        timer = threading.Timer(wait_s, self._stop_now, [job])
        timer.daemon = True
        timer.start()

    def _stop_now(self, job: QueryJob) -> None:
        if not self.withdraw(job):
            job.stop.request()

    def drain(self, limit_s: float = DRAIN_S) -> None:
        """Take nothing new, let what runs go on for so long, then stop it. What waits is taken back, free.

        Whoever waits is told something before this returns. A second call waits for the first.
        """
        with self._lock:
            self._draining = True
        with self._drained:
            with self._lock:
                still = list(self._open.values())
            for job in still:
                self.withdraw(job, _raise_server_ends)
            until = self.clock() + limit_s
            for job in still:
                if not job.wait(max(0.0, until - self.clock())):
                    job.stop.request()
            until = self.clock() + STOP_S
            for job in still:
                if not job.wait(max(0.0, until - self.clock())):
                    job.abandon(RequestDenied(_ENDS, status=409, wait_s=10 * WAIT_S))
            self._pool.shutdown(wait=False, cancel_futures=True)


def _raise_stopped() -> str:
    raise Stopped


def _raise_server_ends() -> str:
    raise RequestDenied(
        "The server is shutting down, and nothing was charged; try again when it is back.",
        status=429,
        wait_s=10 * WAIT_S,
    )
