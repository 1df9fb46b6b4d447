"""A life that asks one question, and perhaps leaves at a point between the question and its answer.

Arguments: the project, and perhaps `question=N` (else 1), `die=POINT` (see POINTS), `mutant=NAME` or `race=N`: N
processes ask at once for a fresh answer. Says "id resumed rows" of what it is given.
"""

from __future__ import annotations

import json
import os
import traceback
from collections.abc import Callable
from pathlib import Path

import duckdb  # noqa: F401 - a question imports all of these at their first use: once by the nursery, not by each life
import sqlglot.dialects.duckdb  # noqa: F401

import discreet.answers.reconcile.history_estimation
import discreet.answers.sql
import discreet.project.question  # noqa: F401
from crash.harness import say
from discreet.kernel.curator import Curator
from discreet.ledger.anchor import Anchor
from discreet.ledger.charge_lock import ChargeLock
from discreet.ledger.ledger import Ledger
from discreet.ledger.sqlite_ledger import SqliteLedgerStore
from discreet.project.project import Project

QUESTION = "select disease, count(*) from patients where age > {} group by disease"

#: Points between a question and its answer, in their order: inside what, at what, and whether before or after it.
POINTS: dict[str, tuple[object, str, object, str, bool]] = {
    "before the charge": (Ledger, "charge", Ledger, "charge", True),
    "before the charge's lock": (Ledger, "charge", ChargeLock, "make", True),
    "after the charge's lock": (Ledger, "charge", ChargeLock, "make", False),
    "before the charge's entry": (Ledger, "charge", SqliteLedgerStore, "append", True),
    "before the charge's commit": (Ledger, "charge", SqliteLedgerStore, "commit", True),
    "after the charge's commit": (Ledger, "charge", SqliteLedgerStore, "commit", False),
    "before the charge's head": (Ledger, "charge", Anchor, "write_head", True),
    "after the charge": (Ledger, "charge", Ledger, "charge", False),
    "before the draw": (Curator, "draw", Curator, "draw", True),
    "after the draw": (Curator, "draw", Curator, "draw", False),
    "before the store": (Ledger, "store", Ledger, "store", True),
    "before the answer's entry": (Ledger, "store", SqliteLedgerStore, "append", True),
    "before the answer's commit": (Ledger, "store", SqliteLedgerStore, "commit", True),
    "after the answer's commit": (Ledger, "store", SqliteLedgerStore, "commit", False),
    "before the answer's head": (Ledger, "store", Anchor, "write_head", True),
    "after the store": (Ledger, "store", Ledger, "store", False),
    "before the lock is let go": (Ledger, "end_answer", Ledger, "end_answer", True),
    "after the lock is let go": (Ledger, "end_answer", Ledger, "end_answer", False),
}


def die_at(point: str) -> None:
    """From now on, leave this process at that point, without any goodbye."""
    outer, outer_name, inner, inner_name, before = POINTS[point]
    whole, part = getattr(outer, outer_name), getattr(inner, inner_name)

    def deadly(*arguments: object, **named: object) -> object:
        if before:
            os._exit(9)
        part(*arguments, **named)
        os._exit(9)

    def armed(*arguments: object, **named: object) -> object:
        setattr(inner, inner_name, deadly)
        return whole(*arguments, **named)

    setattr(outer, outer_name, deadly if whole == part else armed)


def never_resumed() -> None:
    """What was so before: every question is charged."""
    ChargeLock.take = staticmethod(lambda folder, id_: None)


def nobody_is_waited_for() -> None:
    """Whoever finds a charge without an answer takes it, also from one who is still at it."""

    def take(folder: Path, id_: str) -> ChargeLock:
        return ChargeLock(path=folder / id_, descriptor=os.open(os.devnull, os.O_RDWR), is_resumed=True)

    ChargeLock.take = staticmethod(take)


MUTANTS: dict[str, Callable[[], None]] = {
    "never_resumed": never_resumed,
    "nobody_is_waited_for": nobody_is_waited_for,
}


def ask(project: Project, *, fresh: bool, question: str = "1") -> None:
    release = project.sql(QUESTION.format(question)).ask(epsilon="0.01", fresh=fresh)
    resumed = any("charged earlier" in warning for warning in release.warnings)
    say(f"{release.id} {resumed} {json.dumps([row[-1] for row in release.rows])}")


def store_together(stored: int, store: int) -> None:
    """Nobody stores before all have come so far: on a busy machine the first may be done before the last begins."""
    real = Ledger.store

    def wait_and_store(*arguments: object) -> object:
        os.write(stored, b"x")
        os.read(store, 1)
        return real(*arguments)

    Ledger.store = wait_and_store


def race(folder: Path, count: int, *, together: bool = False) -> None:
    (is_ready, ready), (begun, begin), (is_drawn, drawn), (storing, store) = (os.pipe() for _ in range(4))
    for _ in range(count):
        if os.fork() == 0:
            os.close(begin)
            os.close(store)
            if together:
                store_together(drawn, storing)
            try:
                project = Project(folder)
                project.sql(QUESTION.format(1))
                os.write(ready, b"x")
                os.read(begun, 1)
                ask(project, fresh=True)
            except BaseException:
                traceback.print_exc()
                os._exit(1)
            os._exit(0)
    for _ in range(count):
        os.read(is_ready, 1)
    os.close(begin)
    for _ in range(count if together else 0):
        os.read(is_drawn, 1)
    os.close(store)
    for _ in range(count):
        os.wait()


def live(arguments: list[str], ready: Callable[[], None]) -> None:
    folder, *options = arguments
    told = dict(option.split("=") for option in options)
    if "mutant" in told:
        MUTANTS[told["mutant"]]()
    if "race" in told:
        race(Path(folder), int(told["race"]), together="mutant" in told)
        return
    if "die" in told:
        die_at(told["die"])
    ask(Project(Path(folder)), fresh=False, question=told.get("question", "1"))
