"""A server that ends tells everybody who waits, also of a question that no stop reaches."""

import threading
import time

import pytest

from discreet.console.answer import Denied
from discreet.console.asking import running as module
from discreet.console.asking.job import Job
from discreet.console.asking.running import Running
from discreet.console.asking.wanted import Wanted
from discreet.console.settings import Settings

OWNER = b"o" * 32


def job_of():
    wanted = Wanted(text="select count(*) from patients", epsilon="1")
    return Job(
        person="ann", analyst="ann", owner=OWNER, key="k", body=b"", wanted=wanted, began=time.monotonic(), made=0
    )


def test_who_waits_for_what_does_not_stop_is_told_when_the_server_ends(monkeypatch):
    """An engine may be deaf to a stop: its question goes on, and whoever waits is not left hanging."""
    monkeypatch.setattr(module, "STOP_S", 0.05)
    goes_on, begun = threading.Event(), threading.Event()

    def deaf(_):
        begun.set()
        assert goes_on.wait(30)
        return "an answer that nobody waits for"

    running = Running(deaf, Settings(origin="http://127.0.0.1:8000"))
    job = running.take(OWNER, "k", job_of)
    try:
        assert begun.wait(10)
        running.drain(limit_s=0.05)
        assert job.stop.pulled and job.wait(0), "it was asked to stop, and is waited for no more"
        with pytest.raises(Denied) as told:
            job.outcome()
        assert (told.value.status, told.value.wait_s) == (409, 10 * module.WAIT_S)
        assert "the same key tells what came of it" in told.value.sentence
        assert job.state(time.monotonic() + 60, grid_ms=250) == "open"  # it runs on: nobody knows yet
        with pytest.raises(Denied):
            running.take(OWNER, "another", job_of)
    finally:
        goes_on.set()
        running.leave(job)


def test_what_ended_in_time_is_not_abandoned(monkeypatch):
    monkeypatch.setattr(module, "STOP_S", 0.05)
    running = Running(lambda _: "answered", Settings(origin="http://127.0.0.1:8000"))
    job = running.take(OWNER, "k", job_of)
    assert job.wait(10)
    job.abandon(Denied("too late", status=409))
    running.drain(limit_s=10)
    assert job.outcome() == "answered"
    running.leave(job)
