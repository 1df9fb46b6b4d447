"""The job queue: fits and tables that run in the background. What `query_queue` is for queries in SQL.

Guarantee: a work that is sent again, by whoever and however often, is paid once.
Because: nothing here asks for a fresh draw. What is wanted is named by its digest, and the ledger holds one reservation
    for it; whoever asks again, after a crash too, is given what was drawn, or goes on with it, free.

An end, and every word of progress, is told at a tick of the work's own grid: how long a step took depends on the data.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from discreet.console.jobs.concurrency_limit import ConcurrencyLimit
from discreet.console.jobs.job_runner import Job, JobRunner, Place, RunnerSentences
from discreet.console.jobs.time_grid import at_tick
from discreet.console.people.clock import Clock, wall_clock
from discreet.console.request_context import RequestContext
from discreet.console.responses import NotFound
from discreet.console.visitor import Visitor
from discreet.engines.stop_signal import Stopped
from discreet.errors import DiscreetError, QueryFailed

if TYPE_CHECKING:
    from discreet.console.settings import Settings

#: A form waits so long for its work; then its page tells how far it is.
PATIENCE_S = 3.0
#: So many wait so at once; others see that page at once.
MOST_PATIENT = 8

_SENTENCES = RunnerSentences(
    full="Too many fits and tables are waiting; try again later.",
    each="You already have {each} fits or tables in progress; wait for one of them, or stop it.",
    ending="The server is shutting down; try again when it is back.",
    unfinished="The server is shutting down before this job ends. When it is back, send the same form again.",
    wait_s=5.0,
)

Progress = Callable[[str, float], None]
#: Does it, tells how far it is, and says at which address its result is.
Act = Callable[[Progress], str]


class JobHalted(QueryFailed):
    """Stopped by a person after it had begun."""

    def __init__(self) -> None:
        super().__init__()
        self.reason = "this job was stopped; what was charged until then stays charged"
        self.hint = "send the same form again: the job continues with what was paid"


@dataclass(frozen=True, slots=True, kw_only=True)
class StopTerms:
    """What it means to stop a job. `note`: for its person, beforehand.

    halted: what its person is told where it had begun. withdrawn: the same where its turn had not come.
    """

    note: str
    halted: Callable[[], DiscreetError]
    withdrawn: Callable[[], DiscreetError]


#: Of jobs that charge.
CHARGING = StopTerms(
    note="What was charged stays charged. To continue, send the same form again.", halted=JobHalted, withdrawn=Stopped
)


@dataclass(slots=True, kw_only=True, eq=False)
class BackgroundJob(Job):
    """One fit or table on its way. `key`: what is wanted, so that the same form finds it again.

    stop_terms: None where nobody may stop it: erasing somebody is not left halfway.
    """

    person: str
    area: str
    words: str
    key: str
    stop_terms: StopTerms | None = CHARGING
    id: str = field(default_factory=lambda: f"w-{secrets.token_hex(8)}")
    _steps: list[tuple[float, str, float]] = field(default_factory=list)

    @property
    def place(self) -> Place:
        """Whose it is, and its key."""
        return self.person, self.key

    def note_step(self, word: str, share: float, *, now: float) -> None:
        """Note how far it is. A job that is to stop stops here."""
        self._steps.append((now, word, share))
        if self.stop.is_requested:
            raise (self.stop_terms or CHARGING).halted()

    def withdrawn(self) -> DiscreetError:
        """Why nothing came of it where it was taken back before its turn."""
        return (self.stop_terms or CHARGING).withdrawn()

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
            "stoppable": self.stop_terms is not None,
            "stop_note": "" if self.stop_terms is None else self.stop_terms.note,
            "too_late": self.stopping and state == self.done,
            "made": self.made,
            "charges": [] if state == "open" else list(self.charges),
            "step": past_steps[-1][1] if past_steps else "",
            "share": round(min(1.0, max(0.0, past_steps[-1][2])), 3) if past_steps else 0.0,
            "to": self._result if state == "done" else None,
        }


class JobQueue(JobRunner[BackgroundJob]):
    """All of them, under the limits that queries have."""

    def __init__(
        self,
        settings: Settings,
        *,
        clock: Callable[[], float] = time.monotonic,
        wall: Clock = wall_clock,
    ) -> None:
        super().__init__(settings, _SENTENCES, threads="discreet-works", clock=clock)
        self._wall = wall
        self._waiter_slots = threading.BoundedSemaphore(MOST_PATIENT)
        self._pricing_limit = ConcurrencyLimit("plans in progress", at_once=2 * settings.at_once, waiting=8)

    def pricing_turn(self, visitor: Visitor) -> AbstractContextManager[None]:
        """Plans are free, and take a second of a processor: a few at once."""
        return self._pricing_limit.turn(visitor.name)

    def start(
        self,
        visitor: Visitor,
        act: Act,
        *,
        area: str,
        words: str,
        key: str,
        stop_terms: StopTerms | None = CHARGING,
    ) -> BackgroundJob:
        """Begin a work, or find the open one that the same person began for the same."""
        person = visitor.name or ""

        def make() -> BackgroundJob:
            return BackgroundJob(
                person=person,
                area=area,
                words=words,
                key=key,
                began=self.clock(),
                made=int(self._wall()),
                stop_terms=stop_terms,
            )

        def run(job: BackgroundJob) -> str:
            return act(lambda word, share: job.note_step(word, share, now=self.clock()))

        with self._lock:
            return self._begin((person, key), make, run)

    def next_path(self, job: BackgroundJob) -> str:
        """Where to go next: to the result, where it is there soon; else to the page that tells how far it is."""
        return job.outcome() if self.is_over_within(job, PATIENCE_S) else f"/{job.area}/underway/{job.id}"

    def is_over_within(self, job: BackgroundJob, timeout_s: float) -> bool:
        """Wait for a work, where not too many do, and say whether it has ended."""
        if self._waiter_slots.acquire(blocking=False):  # whoever waits holds a thread: not all who send the same form
            try:
                job.wait(timeout_s)
            finally:
                self._waiter_slots.release()
        return job.is_over

    def open_jobs(self, visitor: Visitor, area: str) -> list[dict[str, Any]]:
        """The works of an area that are under way: a person's own; for an owner of the data, everybody's."""
        visible_jobs = [job for job in self.jobs() if job.area == area and _may_see(job, visitor)]
        return [each for each in map(self.job_json, visible_jobs) if each["state"] == "open"]

    def visible_jobs(self, visitor: Visitor) -> list[BackgroundJob]:
        """A person's own works; for an owner of the data, everybody's."""
        return [job for job in self.jobs() if _may_see(job, visitor)]

    def find(self, id_: str, visitor: Visitor) -> BackgroundJob:
        """A work that this visitor may know of."""
        for job in self.jobs():
            if job.id == id_ and _may_see(job, visitor):
                return job
        raise NotFound

    def job_json(self, job: BackgroundJob) -> dict[str, Any]:
        return job.to_data(self.clock(), grid_ms=self._settings.grid_ms)

    def close(self) -> None:
        """Take nothing new, and stop what runs: what was paid is gone on with when the same is asked again."""
        self.drain(0)


def job_queue_of(context: RequestContext) -> JobQueue:
    """The works of the house."""
    return context.handle.singleton(JobQueue, lambda: JobQueue(context.settings, wall=context.people.clock))


def _may_see(job: BackgroundJob, visitor: Visitor) -> bool:
    return visitor.may("owner") or job.person == (visitor.name or "")
