"""The queue of queries: how many at once, how many wait for each, and how they end with the server."""

from __future__ import annotations

import time
from collections.abc import Callable

from discreet.console.jobs.job_runner import JobRunner, RunnerSentences
from discreet.console.jobs.query_job import QueryJob
from discreet.console.responses import RequestDenied
from discreet.console.settings import Settings

#: So many requests may wait for one job, and so many more than there may be jobs in all: each holds a thread.
_MOST_WAITERS, _MORE_WAITERS = 8, 16
#: When to try again, where too many wait.
WAIT_S = 2.0
#: How long queries that run may go on when the server is told to end.
DRAIN_S = 20.0

_SENTENCES = RunnerSentences(
    full="Too many queries are waiting; try again in a moment.",
    each="You already have {each} queries running; wait for one of them, or cancel it.",
    ending="The server is shutting down, and nothing was charged; try again when it is back.",
    unfinished="The server is shutting down before this query ends. When it is back, send the same key to get the "
    "result.",
    wait_s=WAIT_S,
)


class QueryQueue(JobRunner[QueryJob]):
    """Queries and their threads. `act` answers one job."""

    def __init__(
        self, act: Callable[[QueryJob], str], settings: Settings, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__(settings, _SENTENCES, threads="discreet-asking", clock=clock)
        self._act = act
        self._waiters = 0
        self._most_waiters = settings.at_once + settings.waiting + _MORE_WAITERS

    def take(self, owner: bytes, key: str, make: Callable[[], QueryJob]) -> QueryJob:
        """The open job under a key, else a new one; refused where too many are open, or wait for it. See `leave`."""
        with self._lock:
            job = self._begin((owner, key), make, self._act)
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

    def _end(self, job: QueryJob) -> None:
        super()._end(job)
        with self._lock:
            if not job.waiters:  # those who wait read it; see `leave`
                job.forget()

    def drain(self, limit_s: float = DRAIN_S) -> None:
        super().drain(limit_s)
