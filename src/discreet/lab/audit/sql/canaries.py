"""Counts and sums by cell, with canaries."""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial

import numpy as np

from discreet.lab.audit.projects import project
from discreet.lab.audit.sql.world import AMOUNT, HIGH, KIND, LIMIT, ROWS, Included, asked, count, rows
from discreet.lab.audit.targets import CERTAIN, Found, Target, guessed

#: Sums that move further than 2^24 steps are cut to grains.
LARGE = 2**28 + 3


def targets() -> list[Target]:
    """Of rows, of persons with too many rows, and of persons in several cells."""
    one, persons = partial(rows, each=1), partial(rows, each=ROWS)
    two_values = partial(rows, each=LIMIT, amounts=(3, HIGH))
    large = partial(rows, each=ROWS, amounts=(LARGE,))
    both = {"count(*)": LIMIT, "count(*) filter (where amount > 5)": LIMIT}
    return [
        asked("sql count: rows", {"count(*)": 1}, one, person=False),
        asked("sql sum: rows", {"sum(amount)": HIGH}, one, person=False),
        asked(
            "sql sum: a value far beyond its bound", {"sum(amount)": HIGH}, partial(one, amounts=(1000,)), person=False
        ),
        asked("sql count and sum: rows", {"count(*)": 1, "sum(amount)": HIGH}, one, person=False),
        asked("sql count: a person with too many rows", {"count(*)": LIMIT}, persons),
        asked("sql sum: a person with too many rows", {"sum(amount)": LIMIT * HIGH}, persons),
        asked("sql sum: numbers of many digits", {"sum(amount)": LIMIT * LARGE}, large, amount=_amount(LARGE)),
        asked("sql distinct: a person with two values", {"count(distinct amount)": LIMIT}, two_values),
        asked("sql count: two questions at once", both, persons),
        asked("sql count: a person in several cells", {"count(*)": 1}, _spread, cells=LIMIT),
        asked("sql persons: a person in several cells", {"count(distinct who)": 1}, _spread, cells=LIMIT),
        asked(
            "sql count: a cell and its neighbour",
            {"count(*)": LIMIT},
            partial(persons, step=2),
            cells=2,
            neighbour=True,
        ),
        _games(),
    ]


def _amount(high: int) -> str:
    return AMOUNT.replace(f"high = {HIGH}", f"high = {high}")


def _spread(included: Included) -> list[str]:
    """Each canary in as many cells of his own as he may have rows."""
    cells = range(LIMIT)
    return [
        f"p{number},{number * LIMIT + step},{HIGH}" for number in np.flatnonzero(included).tolist() for step in cells
    ]


def _games() -> Target:
    """Two neighbouring tables in folders of their own, one of them asked anew each time."""
    many, people = 120, 20
    columns = {"amount": AMOUNT}

    def measure(samples: int) -> Found:
        worlds = np.random.default_rng().random(many) < 0.5
        with ExitStack() as stack:
            opened = [stack.enter_context(project(columns, ["3"] * (people + world))) for world in (0, 1)]
            answers = np.array([count(opened[int(world)]) for world in worlds])
        # The same noise at each asking would make all answers of one table alike, whatever the guesses say.
        if any(len(np.unique(answers[worlds == world])) == 1 for world in (False, True)):
            return Found(p_value=CERTAIN, n=many, note="each asking has the same noise")
        return guessed(int(((answers > people) == worlds).sum()), many, epsilon=1.0)

    return Target(
        name="sql count: neighbouring tables", kind=KIND, method="games", epsilon=1.0, quick=True, measure=measure
    )
