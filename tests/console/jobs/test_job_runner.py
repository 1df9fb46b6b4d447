"""What both queues do, since they are one runner: limits, the same place twice, stops, and the end of the server."""

from __future__ import annotations

import threading
import time

import pytest

from discreet.console.jobs import job_runner
from discreet.console.jobs.job_queue import JobQueue
from discreet.console.jobs.job_runner import Job
from discreet.console.jobs.query_job import QueryJob
from discreet.console.jobs.query_queue import QueryQueue
from discreet.console.jobs.query_request import QueryRequest
from discreet.console.request_context import Visitor
from discreet.console.responses import RequestDenied
from discreet.console.settings import Settings
from discreet.engines.stop_signal import Stopped

SETTINGS = Settings(origin="http://127.0.0.1:8000", at_once=1, waiting=2, each=2, grid_ms=100)


class Runner:
    """A queue whose jobs go on until `go` is set, or a stop reaches them."""

    def __init__(self, kind: type[QueryQueue] | type[JobQueue]) -> None:
        self.go, self.begun = threading.Event(), threading.Event()
        self.queue = QueryQueue(self.act, SETTINGS) if kind is QueryQueue else JobQueue(SETTINGS)

    def act(self, job: object) -> str:
        self.begun.set()
        assert self.go.wait(30)
        return "/there"

    def start(self, person: str, key: str) -> Job:
        if isinstance(self.queue, JobQueue):
            visitor = Visitor(role="analyst", name=person)
            return self.queue.start(visitor, self.act, area="synth", words="a fit", key=key)
        request = QueryRequest(text="select count(*) from patients", epsilon="1")
        owner, began = person.encode(), time.monotonic()

        def make() -> QueryJob:
            return QueryJob(
                person=person,
                analyst=person,
                owner=owner,
                key=key,
                body=b"",
                query_request=request,
                began=began,
                made=0,
            )

        return self.queue.take(owner, key, make)


@pytest.fixture(params=[QueryQueue, JobQueue])
def runner(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(job_runner, "STOP_S", 0.05)
    made = Runner(request.param)
    yield made
    made.go.set()
    made.queue.drain(30)


def test_the_same_place_is_one_job_and_limits_hold(runner: Runner) -> None:
    first = runner.start("ann", "1")
    assert runner.start("ann", "1") is first
    others = [runner.start("bob", "1"), runner.start("ann", "2")]
    with pytest.raises(RequestDenied, match="are waiting"):
        runner.start("cem", "1")
    assert runner.queue.withdraw(others[0])
    with pytest.raises(RequestDenied, match="already have 2"):
        runner.start("ann", "3")
    runner.go.set()
    assert first.wait(30) and first.outcome() == "/there"
    assert {job.id for job in runner.queue.jobs()} == {job.id for job in (first, *others)}


def test_a_job_that_has_ended_is_begun_anew(runner: Runner) -> None:
    """Whoever sees that it is over finds its place free."""
    runner.go.set()
    seen = set()
    for _ in range(200):
        job = runner.start("ann", "1")
        assert job.wait(30)
        seen.add(job.id)
    assert len(seen) == 200


def test_a_job_whose_turn_has_not_come_is_stopped_at_its_tick(runner: Runner) -> None:
    runner.start("ann", "1")
    assert runner.begun.wait(30)
    waiting = runner.start("bob", "1")
    runner.queue.stop(waiting)
    assert waiting.stopping and waiting.wait(30)
    with pytest.raises(Stopped):
        waiting.outcome()
    assert waiting.state(time.monotonic() + 60, grid_ms=100) == "stopped"


def test_whoever_waits_is_told_when_the_server_ends(runner: Runner) -> None:
    """Of a job whose turn has not come, and of one that no stop reaches."""
    running, waiting = runner.start("ann", "1"), runner.start("bob", "1")
    assert runner.begun.wait(30)
    runner.queue.drain(0)
    for job, status in ((waiting, 429), (running, 409)):
        assert job.stop.is_requested and job.wait(0)
        with pytest.raises(RequestDenied, match="shutting down") as told:
            job.outcome()
        assert told.value.status == status
    assert running.state(time.monotonic() + 60, grid_ms=100) == "open", "it runs on: nobody knows yet"
    with pytest.raises(RequestDenied, match="shutting down"):
        runner.start("cem", "1")
