"""Counts and sums by cell, with canaries."""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial

import numpy as np

from discreet.lab.privacy_audit.sql.canary_tables import (
    AMOUNT,
    HIGH,
    KIND,
    LIMIT,
    ROW_WORLD,
    ROWS,
    CanaryWorld,
    Included,
    canary_rows,
    count_everybody,
    sql_canary_target,
)
from discreet.lab.privacy_audit.targets import CERTAIN, AuditOutcome, AuditTarget, games_outcome
from discreet.lab.privacy_audit.temporary_project import temporary_project

#: Sums that move further than 2^24 steps are cut to grains.
LARGE = 2**28 + 3


def targets() -> list[AuditTarget]:
    """Of rows, of persons with too many rows, and of persons in several cells."""
    one, persons = partial(canary_rows, each=1), partial(canary_rows, each=ROWS)
    two_values = partial(canary_rows, each=LIMIT, amounts=(3, HIGH))
    large = partial(canary_rows, each=ROWS, amounts=(LARGE,))
    both = {"count(*)": LIMIT, "count(*) filter (where amount > 5)": LIMIT}
    return [
        sql_canary_target("sql count: rows", {"count(*)": 1}, one, ROW_WORLD),
        sql_canary_target("sql sum: rows", {"sum(amount)": HIGH}, one, ROW_WORLD),
        sql_canary_target(
            "sql sum: a value far beyond its bound", {"sum(amount)": HIGH}, partial(one, amounts=(1000,)), ROW_WORLD
        ),
        sql_canary_target("sql count and sum: rows", {"count(*)": 1, "sum(amount)": HIGH}, one, ROW_WORLD),
        sql_canary_target("sql count: a person with too many rows", {"count(*)": LIMIT}, persons),
        sql_canary_target("sql sum: a person with too many rows", {"sum(amount)": LIMIT * HIGH}, persons),
        sql_canary_target(
            "sql sum: numbers of many digits", {"sum(amount)": LIMIT * LARGE}, large, CanaryWorld(amount=_amount(LARGE))
        ),
        sql_canary_target("sql distinct: a person with two values", {"count(distinct amount)": LIMIT}, two_values),
        sql_canary_target("sql count: two questions at once", both, persons),
        sql_canary_target("sql count: a person in several cells", {"count(*)": 1}, _spread, cells=LIMIT),
        sql_canary_target("sql persons: a person in several cells", {"count(distinct who)": 1}, _spread, cells=LIMIT),
        sql_canary_target(
            "sql count: a cell and its neighbour",
            {"count(*)": LIMIT},
            partial(persons, step=2),
            cells=2,
            neighbour=True,
        ),
        _neighbours_target(),
    ]


def _amount(high: int) -> str:
    return AMOUNT.replace(f"high = {HIGH}", f"high = {high}")


def _spread(included: Included) -> list[str]:
    """Each canary in as many cells of his own as he may have rows."""
    cells = range(LIMIT)
    return [
        f"p{number},{number * LIMIT + step},{HIGH}" for number in np.flatnonzero(included).tolist() for step in cells
    ]


def _neighbours_target() -> AuditTarget:
    """Two neighbouring tables in folders of their own, one of them asked anew each time."""
    many, people = 120, 20
    columns = {"amount": AMOUNT}

    def measure(samples: int) -> AuditOutcome:
        worlds = np.random.default_rng().random(many) < 0.5
        with ExitStack() as stack:
            opened = [stack.enter_context(temporary_project(columns, ["3"] * (people + world))) for world in (0, 1)]
            answers = np.array([count_everybody(opened[int(world)]) for world in worlds])
        # The same noise at each asking would make all answers of one table alike, whatever the guesses say.
        if any(len(np.unique(answers[worlds == world])) == 1 for world in (False, True)):
            return AuditOutcome(p_value=CERTAIN, n=many, note="repeated queries have the same noise")
        return games_outcome(int(((answers > people) == worlds).sum()), many, epsilon=1.0)

    return AuditTarget(
        name="sql count: neighbouring tables", kind=KIND, method="games", epsilon=1.0, quick=True, measure=measure
    )
