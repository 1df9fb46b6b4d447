"""Asking: a question of a person in, a stored answer out; a retry never pays twice.

Guarantee: for one person, key and request at most one charge is made, whatever crashes, and however many ask at once.
Because: the charge carries a keyed digest of the three, and the ledger refuses a second one under it, in the section
    that makes the charge durable. Everything else here only finds out what is there already.

What may be found under a key, and what is then done:

    nothing charged                         it is asked now
    charged, and an answer is stored        the stored answer
    charged, and no answer                  it is said to be lost; a process that still counts may bring it yet
    a result is kept beside the key         that, as it was first kept
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from discreet.api import Project
from discreet.console.answer import Denied, Missing
from discreet.console.asking.job import Job
from discreet.console.asking.keeping import kept, read
from discreet.console.asking.keyed import KEPT_S, check_key, check_same, owner_of
from discreet.console.asking.released import release_data
from discreet.console.asking.running import WAIT_S, Running
from discreet.console.asking.wanted import Wanted
from discreet.console.desk import Desk
from discreet.console.people.clock import DAY_S
from discreet.console.room import Room
from discreet.console.settings import Settings
from discreet.console.visit import Visitor
from discreet.errors import QueryFailed
from discreet.ledger.refusal import ChargedBefore
from discreet.question import Explanation
from discreet.release import Release

if TYPE_CHECKING:
    from discreet.console.people.people import People


#: Questions that wait to be priced: each holds a thread of the server.
_WAITING = 12


class Lost(QueryFailed):
    """Charged under the same key, and no answer is stored."""

    def __init__(self, id_: str) -> None:
        super().__init__()
        self.reason = (
            f"this request was charged before, as {id_}, and its answer is not stored; it is not charged again"
        )
        self.hint = "the same key brings the answer if it is still being counted; ask with a new key to pay anew"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of a request: releases as data, in the order of its statements. replayed: it was answered before."""

    releases: tuple[dict[str, Any], ...]
    replayed: bool = False


class Asking:
    """Questions of all who come, under the limits of the settings."""

    def __init__(
        self,
        desk: Desk,
        people: People,
        settings: Settings,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._desk = desk
        self._settings = settings
        self._people = people
        self._swept = 0.0
        self._running = Running(self._answer, settings, clock=clock)
        self.explaining = Room("questions being priced", at_once=2 * settings.at_once, waiting=_WAITING)

    def explain(self, wanted: Wanted, visitor: Visitor | None = None) -> Explanation:
        """Price a question, free; a few at once, and not many wait."""
        with self.explaining.turn(None if visitor is None else visitor.name):
            return wanted.explain(self._desk.project)

    def ask(self, wanted: Wanted, visitor: Visitor, *, key: str, began: float | None = None) -> Outcome:
        """Answer a request, once for its key. Blocks until it is answered or its time is over.

        `began`: when the request came, by the clock of what passes; its grid starts there.
        """
        owner, body = owner_of(visitor.name or ""), wanted.digest()
        known = self._people.keys.find(owner, check_key(key))
        if known is not None:
            check_same(known.body, body)
            if known.result is not None:
                return self._outcome(known.result, replayed=True)

        def make() -> Job:
            return Job(
                person=visitor.name or "",
                analyst=visitor.analyst,
                owner=owner,
                key=key,
                body=body,
                wanted=wanted,
                began=self._running.clock() if began is None else began,
                made=int(self._people.clock()),
            )

        job = self._running.take(owner, key, make)
        try:
            check_same(job.body, body)
            return self._outcome(self._waited(job))
        finally:
            self._running.leave(job)

    def _outcome(self, result: str, *, replayed: bool = False) -> Outcome:
        return Outcome(releases=tuple(read(result, self._desk.project)), replayed=replayed)

    def _waited(self, job: Job) -> str:
        """What comes of a job within the deadline; one whose turn has not come by then is taken back, free."""
        if not job.wait(max(0.0, job.began + self._settings.deadline_s - self._running.clock())):
            if self._running.withdraw(job):
                raise Denied("Its turn did not come in time, and nothing was charged.", status=429, wait_s=WAIT_S)
            if not job.is_over:
                raise Denied(
                    "This takes longer than a request may. It goes on, and the same key brings the answer later.",
                    status=409,
                    wait_s=WAIT_S,
                )
        return job.outcome()

    def jobs(self, visitor: Visitor) -> list[dict[str, Any]]:
        """The open and the latest jobs: a person's own; for an owner of the data, everybody's."""
        now, grid_ms = self._running.clock(), self._settings.grid_ms
        return [job.to_data(now, grid_ms=grid_ms) for job in self._running.jobs() if _may_see(job, visitor)]

    def cancel(self, id_: str, visitor: Visitor) -> dict[str, Any]:
        """Stop a job at its next tick. What was charged stays charged. Says the same whatever the job does just now."""
        found = next((job for job in self._running.jobs() if job.id == id_ and _may_see(job, visitor)), None)
        if found is None:
            raise Missing
        self._running.stop(found)
        return {"job": found.id, "stopping": True}

    def cancel_key(self, key: str, visitor: Visitor) -> None:
        """Stop a person's own open job under a key, where there is one."""
        owner = owner_of(visitor.name or "")
        for job in self._running.jobs():
            if (job.owner, job.key) == (owner, key):
                self._running.stop(job)

    def drain(self) -> None:
        """Take no more, and let what runs come to its end, or stop it."""
        self._running.drain()

    def _answer(self, job: Job) -> str:
        """What a job comes to, as it is kept."""
        self._sweep()
        known = self._people.keys.begin(job.owner, job.key, job.body)
        check_same(known.body, job.body)
        if known.result is not None:
            return known.result
        project = self._desk.project
        seal = project.ledger.seal(f"console key {job.owner.hex()} {job.body.hex()} {job.key}")
        try:
            charged = project.ledger.refresh().keys.get(seal)
            found = self._paid(job, project, seal) if charged is None else [_recalled(project, charged, job.wanted)]
        except ChargedBefore as before:  # by another process, just now; or as a part of a batch
            found = [_recalled(project, before.id, job.wanted)]
        result = kept([release_data(each) for each in found], job.wanted, project)
        stored = self._people.keys.finish(job.owner, job.key, state="done", result=result)
        return result if stored is None or stored.result is None else stored.result

    def _sweep(self) -> None:
        """Forget results whose time is over; once a day."""
        now = self._people.clock()
        if now - self._swept > DAY_S:
            self._swept = now
            self._people.keys.forget(before=int(now - KEPT_S))

    def _paid(self, job: Job, project: Project, seal: str) -> list[Release]:
        return job.wanted.ask(project, analyst=job.analyst, key=seal, most_rows=self._settings.most_rows)


def _recalled(project: Project, id_: str, wanted: Wanted) -> Release:
    """What is stored under a charge. A batch has several, and is lost in part where one of them is."""
    if wanted.kind == "batch" or id_ not in project.ledger.refresh().answers:
        raise Lost(id_)
    within = None if wanted.fresh else wanted.within
    return project.release(id_, confidence=wanted.confidence, within=within)


def _may_see(job: Job, visitor: Visitor) -> bool:
    return visitor.may("owner") or job.owner == owner_of(visitor.name or "")
