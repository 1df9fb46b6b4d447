"""A life: a collector serves until it is killed. Arguments: the store's place, a port, and perhaps a mutant."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import fastapi.responses  # noqa: F401 - imported once by the nursery, not by each life
import uvicorn.lifespan.on
import uvicorn.protocols.http.h11_impl  # noqa: F401

import discreet.collect.app
import discreet.local.tree  # noqa: F401
from discreet.collect import serving
from discreet.collect.store import Counted, open_store
from discreet.collect.writer import Writer


def tells_before_commit() -> None:
    """A writer that acknowledges what it is about to store."""
    real = Writer._store_group

    def hasty(writer, group):
        for job in group:
            job.done(Counted(len(job.batch.sent), 0))
        time.sleep(0.05)
        real(writer, group)

    Writer._store_group = hasty


MUTANTS = {"tells_before_commit": tells_before_commit}


def live(arguments: list[str], ready: Callable[[], None]) -> None:
    place, port, *mutants = arguments
    for mutant in mutants:
        MUTANTS[mutant]()
    store = open_store(place, Path("."))
    listening = serving.bind("127.0.0.1", int(port))
    ready()
    serving.run(store, listening, rate=0)
