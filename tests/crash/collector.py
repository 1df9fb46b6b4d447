"""A life: a collector serves until it is killed. Arguments: the store's place, a port, and perhaps a mutant."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import starlette.responses  # noqa: F401 - imported once by the nursery, not by each life
import uvicorn.lifespan.on
import uvicorn.protocols.http.h11_impl  # noqa: F401

import discreet.surveys.collector.app
import discreet.surveys.protocols.interval_tree  # noqa: F401
from discreet.surveys.collector import http_server
from discreet.surveys.collector.report_writer import ReportWriter
from discreet.surveys.collector.store_location import open_survey_store
from discreet.surveys.collector.survey_store import AcceptedBatch

#: Longer than a life, so that what the first group was told is lost.
HASTE_S = 5


def tells_before_commit() -> None:
    """A writer that acknowledges what it is about to store."""
    real = ReportWriter._store_group

    def hasty(writer, group):
        for job in group:
            job.done(AcceptedBatch(len(job.batch.reports), 0))
        time.sleep(HASTE_S)
        real(writer, group)

    ReportWriter._store_group = hasty


MUTANTS = {"tells_before_commit": tells_before_commit}


def call_with_first_reports(ready: Callable[[], None]) -> None:
    """A life is ready once reports reach it: on a busy machine a server that listens may not serve for a while."""
    real, called = ReportWriter._store_group, []

    def store_group(writer, group):
        if not called:
            called.append(True)
            ready()
        real(writer, group)

    ReportWriter._store_group = store_group


def live(arguments: list[str], ready: Callable[[], None]) -> None:
    place, port, *mutants = arguments
    for mutant in mutants:
        MUTANTS[mutant]()
    call_with_first_reports(ready)
    store = open_survey_store(place, Path("."))
    listening = http_server.bind_socket("127.0.0.1", int(port))
    http_server.serve_collector(store, listening, rate=0)
