"""The SQL path, from the text of a question to the rows of its answer, over tables with canaries.

A canary is a person who has one cell of the answer to himself and moves it as far as his declaration allows, or
farther, where the declared table must cut him down. He is in the table or not, and the answer is asked once.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.api import Project
from discreet.lab.audit.projects import project
from discreet.lab.audit.targets import CERTAIN, Found, Target, canaries, guessed
from discreet.lab.evidence import at_least

KIND = "sql"
HIGH = 10
AMOUNT = f'type = "integer"\nlow = 0\nhigh = {HIGH}'
#: Whoever has more than two rows must be cut down to two.
LIMIT, ROWS = 2, 5
Included = NDArray[np.bool_]
Scores = NDArray[np.float64]


def targets() -> list[Target]:
    """Questions of every kind."""
    rows, persons = partial(_rows, each=1), partial(_rows, each=ROWS)
    many: dict[str, Any] = {"lines": persons, "person": True}
    spread: dict[str, Any] = {"lines": _spread, "person": True, "cells": LIMIT}
    both = {"count(*)": LIMIT, "count(*) filter (where amount > 5)": LIMIT}
    return [
        _asked("sql count: rows", {"count(*)": 1}, lines=rows),
        _asked("sql sum: rows", {"sum(amount)": HIGH}, lines=rows),
        _asked("sql sum: a value far beyond its bound", {"sum(amount)": HIGH}, lines=partial(rows, amount=1000)),
        _asked("sql count and sum: rows", {"count(*)": 1, "sum(amount)": HIGH}, lines=rows),
        _asked("sql median: rows", {"median(amount)": HIGH}, lines=rows, most=400, quick=False),
        _asked("sql count: a person with too many rows", {"count(*)": LIMIT}, **many),
        _asked("sql sum: a person with too many rows", {"sum(amount)": LIMIT * HIGH}, **many),
        _asked("sql count: two questions at once", both, **many),
        _asked("sql count: a person in several cells", {"count(*)": 1}, **spread),
        _asked("sql persons: a person in several cells", {"count(distinct who)": 1}, **spread),
        _games(),
        _keys(),
    ]


def _asked(
    name: str,
    statistics: dict[str, int],
    *,
    lines: Callable[[Included], list[str]],
    person: bool = False,
    cells: int = 1,
    most: int = 4_000,
    quick: bool = True,
) -> Target:
    """One answer of epsilon 1. A canary's score: how far his cells are on the way to where he should move them.

    `statistics`: each with how far he moves it. Beyond that, and below zero, Laplace noise says nothing more.
    """

    def run(included: Included) -> Scores:
        many = len(included) * cells
        columns = {"cell": f'type = "integer"\nlow = 0\nhigh = {many - 1}\nbins = {many}', "amount": AMOUNT}
        limit = f"rows_per_person = {LIMIT}" if person else ""
        with project(columns, lines(included), person="who" if person else "", more=limit) as opened:
            release = opened.sql(f"select cell, {', '.join(statistics)} from people group by cell").ask(epsilon=1)
            shown = [row[1:] for row in release.rows if row[0] is not None]
        answers = np.array([[float(value or 0) for value in row] for row in shown])
        ways = np.clip(answers / np.array(list(statistics.values())), 0.0, 1.0).sum(axis=1)
        return np.asarray(ways.reshape(-1, cells).sum(axis=1))

    return canaries(name, KIND, 1.0, run, most=most, quick=quick)


def _rows(included: Included, *, each: int, amount: int = HIGH) -> list[str]:
    """Each canary in a cell of his own; with `each` rows he is a person, else a row."""
    found = []
    for number in np.flatnonzero(included).tolist():
        found += [f"p{number},{number},{amount}" if each > 1 else f"{number},{amount}"] * each
    return found


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
            answers = np.array([_count(opened[int(world)]) for world in worlds])
        # The same noise at each asking would make all answers of one table alike, whatever the guesses say.
        if any(len(np.unique(answers[worlds == world])) == 1 for world in (False, True)):
            return Found(p_value=CERTAIN, n=many, note="each asking has the same noise")
        return guessed(int(((answers > people) == worlds).sum()), many, epsilon=1.0)

    return Target(
        name="sql count: neighbouring tables", kind=KIND, method="games", epsilon=1.0, quick=True, measure=measure
    )


def _count(opened: Project) -> int:
    return int(opened.sql("select count(*) from people").ask(epsilon=1, fresh=True).rows[0][0])  # type: ignore[arg-type]


def _keys() -> Target:
    """Keys of one person each: a share of delta shows, and no more.

    Because: each of these keys shows with the same chance, and independently of the others; half of the table's delta
        is for keys.
    """
    delta = Fraction(1, 100)

    def measure(samples: int) -> Found:
        many = min(4_000, samples)
        lines = [f"p{number},w{number}" for number in range(many)]
        with project({"word": 'type = "text"'}, lines, person="who", more="rows_per_person = 1") as opened:
            answer = opened.sql("select word, count(*) from people group by word").ask(
                epsilon=1, delta=str(float(delta))
            )
        shown = len(answer.rows)
        chance = at_least(shown, many, float(delta)) if shown else 1.0
        return Found(p_value=chance, n=many, note=f"{shown} of {many} keys of one person show")

    return Target(
        name="sql keys: keys of one person",
        kind=KIND,
        method="law",
        epsilon=1.0,
        delta=float(delta),
        quick=True,
        measure=measure,
    )
