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

from discreet.console.console_text import console_text
from discreet.console.jobs.concurrency_limit import ConcurrencyLimit
from discreet.console.jobs.idempotency import KEPT_S, check_key, check_same_request, key_owner
from discreet.console.jobs.query_job import QueryJob
from discreet.console.jobs.query_queue import WAIT_S, QueryQueue
from discreet.console.jobs.query_request import QueryRequest
from discreet.console.jobs.release_json import release_data
from discreet.console.jobs.stored_results import answer_path, decode_releases, encode_releases
from discreet.console.people.clock import DAY_S
from discreet.console.project_handle import ProjectHandle
from discreet.console.responses import NotFound, RequestDenied
from discreet.console.settings import Settings
from discreet.console.visitor import Visitor
from discreet.errors import BudgetExceeded, QueryFailed, Refused
from discreet.ledger.refusal import DuplicateCharge
from discreet.project.project import Project
from discreet.project.question import Explanation
from discreet.release import Release

if TYPE_CHECKING:
    from discreet.console.people.people import People


#: Questions that wait to be priced: each holds a thread of the server.
_WAITING = 12


class AnswerLost(QueryFailed):
    """Charged under the same key, and no answer is stored."""

    def __init__(self, id_: str) -> None:
        super().__init__()
        self.reason = (
            f"this request was charged before, as {id_}, but its answer is not stored; it is not charged again"
        )
        self.hint = "if the query is still running, the same key returns its answer later; a new key charges again"


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryOutcome:
    """What came of a request: releases as data, in the order of its statements. replayed: it was answered before."""

    releases: tuple[dict[str, Any], ...]
    replayed: bool = False


class QueryService:
    """Questions of all who come, under the limits of the settings."""

    def __init__(
        self,
        handle: ProjectHandle,
        people: People,
        settings: Settings,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._handle = handle
        self._settings = settings
        self._people = people
        self._last_cleanup = 0.0
        self._queue = QueryQueue(self._answer_and_note, settings, clock=clock)
        self.explain_limit = ConcurrencyLimit("queries being priced", at_once=2 * settings.at_once, waiting=_WAITING)

    def explain(self, query_request: QueryRequest, visitor: Visitor | None = None) -> Explanation:
        """Price a question, free; a few at once, and not many wait."""
        with self.explain_limit.turn(None if visitor is None else visitor.name):
            return query_request.explain(self._handle.project)

    def ask(
        self, query_request: QueryRequest, visitor: Visitor, *, key: str, began: float | None = None
    ) -> QueryOutcome:
        """Answer a request, once for its key. Blocks until it is answered or its time is over.

        `began`: when the request came, by the clock of what passes; its grid starts there.
        """
        owner, body = key_owner(visitor.name or ""), query_request.digest()
        stored_key = self._people.keys.find(owner, check_key(key))
        if stored_key is not None:
            check_same_request(stored_key.body, body)
            if stored_key.result is not None:
                return self._outcome(stored_key.result, replayed=True)

        def make() -> QueryJob:
            return QueryJob(
                person=visitor.name or "",
                analyst=visitor.analyst,
                owner=owner,
                key=key,
                body=body,
                query_request=query_request,
                began=self._queue.clock() if began is None else began,
                made=int(self._people.clock()),
            )

        job = self._queue.take(owner, key, make)
        try:
            check_same_request(job.body, body)
            return self._outcome(self._wait_for_result(job))
        except (Refused, BudgetExceeded) as problem:
            self._keep_refused(query_request, visitor, problem)
            raise
        finally:
            self._queue.leave(job)

    def _keep_refused(self, query_request: QueryRequest, visitor: Visitor, problem: Refused | BudgetExceeded) -> None:
        """Keep what was refused for its author, who may want to mend it."""
        author = self._people.roster.find(visitor.name or "")
        if author is not None and query_request.kind != "again":
            why, hint = console_text(problem.reason), console_text(problem.hint)
            self._people.refused.keep(author, text=query_request.text, why=why, hint=hint)

    def _outcome(self, result: str, *, replayed: bool = False) -> QueryOutcome:
        return QueryOutcome(releases=tuple(decode_releases(result, self._handle.project)), replayed=replayed)

    def _wait_for_result(self, job: QueryJob) -> str:
        """What comes of a job within the deadline; one whose turn has not come by then is taken back, free."""
        if not job.wait(max(0.0, job.began + self._settings.deadline_s - self._queue.clock())):
            if self._queue.withdraw(job):
                raise RequestDenied(
                    "The server was too busy to run this query. Nothing was charged.", status=429, wait_s=WAIT_S
                )
            if not job.is_over:
                raise RequestDenied(
                    "This query takes longer than a request may. It continues; send the same key later for the answer.",
                    status=409,
                    wait_s=WAIT_S,
                )
        return job.outcome()

    def jobs(self, visitor: Visitor) -> list[dict[str, Any]]:
        """What `visible_jobs` gives, as data."""
        now, grid_ms = self._queue.clock(), self._settings.grid_ms
        return [job.to_data(now, grid_ms=grid_ms) for job, _ in self.visible_jobs(visitor)]

    def visible_jobs(self, visitor: Visitor) -> list[tuple[QueryJob, str]]:
        """The open and the latest jobs, each with its state: a person's own; for an owner of the data, everybody's.

        A query that failed or was refused is its author's alone: there is nothing to stop, and nothing was answered.
        """
        now, grid_ms, own = self._queue.clock(), self._settings.grid_ms, key_owner(visitor.name or "")
        seen = [(job, job.state(now, grid_ms=grid_ms)) for job in self._queue.jobs() if _may_see(job, visitor)]
        return [(job, state) for job, state in seen if job.owner == own or state != "failed"]

    def cancel(self, id_: str, visitor: Visitor) -> dict[str, Any]:
        """Stop a job at its next tick. What was charged stays charged. Says the same whatever the job does just now."""
        open_job = next((job for job in self._queue.jobs() if job.id == id_ and _may_see(job, visitor)), None)
        if open_job is None:
            raise NotFound
        self._queue.stop(open_job)
        return {"job": open_job.id, "stopping": True}

    def cancel_key(self, key: str, visitor: Visitor) -> None:
        """Stop a person's own open job under a key, where there is one."""
        owner = key_owner(visitor.name or "")
        for job in self._queue.jobs():
            if (job.owner, job.key) == (owner, key):
                self._queue.stop(job)

    def drain(self) -> None:
        """Take no more, and let what runs come to its end, or stop it."""
        self._queue.drain()

    def _answer_and_note(self, job: QueryJob) -> str:
        result = self._answer(job)
        job.to = answer_path(result, job.key)
        return result

    def _answer(self, job: QueryJob) -> str:
        """What a job comes to, as it is kept."""
        self._forget_old_results()
        stored_key = self._people.keys.begin(job.owner, job.key, job.body)
        check_same_request(stored_key.body, job.body)
        if stored_key.result is not None:
            return stored_key.result
        project = self._handle.project
        seal = project.ledger.keyed_digest(f"console key {job.owner.hex()} {job.body.hex()} {job.key}")
        try:
            charged = project.ledger.refresh().charge_of_key.get(seal)
            releases = (
                self._charge_and_answer(job, project, seal)
                if charged is None or charged in project.ledger.state.unfinished
                else [_stored_release(project, charged, job.query_request)]
            )
        except DuplicateCharge as before:  # by another process, just now; or as a part of a batch
            releases = [_stored_release(project, before.id, job.query_request)]
        titles = job.query_request.titles
        answers = [release_data(each) for each in releases]
        if len(titles) == len(answers):
            answers = [{"title": title, **answer} for title, answer in zip(titles, answers, strict=True)]
        result = encode_releases(answers, job.query_request, project)
        stored = self._people.keys.finish(job.owner, job.key, state="done", result=result)
        return result if stored is None or stored.result is None else stored.result

    def _forget_old_results(self) -> None:
        """Forget results whose time is over; once a day."""
        now = self._people.clock()
        if now - self._last_cleanup > DAY_S:
            self._last_cleanup = now
            self._people.keys.forget(before=int(now - KEPT_S))

    def _charge_and_answer(self, job: QueryJob, project: Project, seal: str) -> list[Release]:
        return job.query_request.ask(project, analyst=job.analyst, key=seal, most_rows=self._settings.most_rows)


def _stored_release(project: Project, id_: str, query_request: QueryRequest) -> Release:
    """What is stored under a charge. A batch has several, and is lost in part where one of them is."""
    if query_request.kind == "batch" or id_ not in project.ledger.refresh().answers:
        raise AnswerLost(id_)
    within = None if query_request.fresh else query_request.within
    return project.release(id_, confidence=query_request.confidence, within=within)


def _may_see(job: QueryJob, visitor: Visitor) -> bool:
    return visitor.may("owner") or job.owner == key_owner(visitor.name or "")
