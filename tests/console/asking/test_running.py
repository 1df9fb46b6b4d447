"""A server that ends tells everybody who waits, also of a question that no stop reaches."""

import threading
import time

import pytest

from discreet.console.jobs import job_runner, query_queue
from discreet.console.jobs.query_job import QueryJob
from discreet.console.jobs.query_queue import QueryQueue
from discreet.console.jobs.query_request import QueryRequest
from discreet.console.responses import RequestDenied
from discreet.console.settings import Settings

OWNER = b"o" * 32


def job_of():
    wanted = QueryRequest(text="select count(*) from patients", epsilon="1")
    return QueryJob(
        person="ann",
        analyst="ann",
        owner=OWNER,
        key="k",
        body=b"",
        query_request=wanted,
        began=time.monotonic(),
        made=0,
    )


def test_who_waits_for_what_does_not_stop_is_told_when_the_server_ends(monkeypatch):
    """An engine may be deaf to a stop: its question goes on, and whoever waits is not left hanging."""
    monkeypatch.setattr(job_runner, "STOP_S", 0.05)
    goes_on, begun = threading.Event(), threading.Event()

    def deaf(_):
        begun.set()
        assert goes_on.wait(30)
        return "an answer that nobody waits for"

    running = QueryQueue(deaf, Settings(origin="http://127.0.0.1:8000"))
    job = running.take(OWNER, "k", job_of)
    try:
        assert begun.wait(10)
        running.drain(limit_s=0.05)
        assert job.stop.is_requested and job.wait(0), "it was asked to stop, and is waited for no more"
        with pytest.raises(RequestDenied) as told:
            job.outcome()
        assert (told.value.status, told.value.wait_s) == (409, 10 * query_queue.WAIT_S)
        assert "send the same key to get the result" in told.value.sentence
        assert job.state(time.monotonic() + 60, grid_ms=250) == "open"  # it runs on: nobody knows yet
        with pytest.raises(RequestDenied):
            running.take(OWNER, "another", job_of)
    finally:
        goes_on.set()
        running.leave(job)


def test_what_ended_in_time_is_not_abandoned(monkeypatch):
    monkeypatch.setattr(job_runner, "STOP_S", 0.05)
    running = QueryQueue(lambda _: "answered", Settings(origin="http://127.0.0.1:8000"))
    job = running.take(OWNER, "k", job_of)
    assert job.wait(10)
    job.abandon(RequestDenied("too late", status=409))
    running.drain(limit_s=10)
    assert job.outcome() == "answered"
    running.leave(job)
