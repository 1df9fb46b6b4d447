"""Several questions: what they tell together, against what was asked for and what the ledger says was spent.

Of questions about different people the ledger counts the dearest one, and only then.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from discreet.api import Project
from discreet.lab.audit.projects import project
from discreet.lab.audit.sql.world import KIND, LIMIT, PERSONS, Included, cell, on_the_way, values
from discreet.lab.audit.targets import Found, Target, coins, one_run

PARTS = ("F", "M")
BY_CELL = "select cell, count(distinct who) from people{where} group by cell"
#: Asks whatever it asks, and gives the answers: a line for each canary, and each number moved by 1.
Ask = Callable[[Project], NDArray[np.float64]]


def targets() -> list[Target]:
    """People who are in one region by declaration, people who have a row in each of two, and one question twice."""
    return [
        _asked("sql regions: of a constant column", _apart, constant=True, spent=1.0),
        _asked("sql regions: a person in two of them", _apart, constant=False, spent=2.0),
        _asked("sql again: one question twice", _again, constant=True, spent=2.0),
        _asked("sql batch: two questions", _batch, constant=True, spent=1.0),
    ]


def _asked(name: str, ask: Ask, *, constant: bool, spent: float) -> Target:
    """Canaries with a row of each part. `constant`: whether a person has one part. `spent`: what is to be expected."""
    part = 'type = "category"\nvalues = ["F", "M"]\nclosed = true' + ("\nconstant = true" if constant else "")

    def measure(samples: int) -> Found:
        included = coins(min(4_000, samples))
        columns = {"cell": cell(len(included), constant=True), "part": part}
        with project(columns, _lines(included), **PERSONS) as opened:
            answers = ask(opened)
            told = opened.budget("people").spent.epsilon
        assert told is not None
        claimed, note = min(spent, float(told)), f"the ledger says that {float(told):.4g} was spent"
        return one_run(included, on_the_way(answers, [1] * answers.shape[1]), epsilon=claimed, note=note)

    return Target(name=name, kind=KIND, method="one run", epsilon=spent, measure=measure)


def _lines(included: Included) -> list[str]:
    """A row of each part for each canary. Of a constant column he has one value all the same."""
    assert len(PARTS) == LIMIT
    return [f"p{number},{number},{part}" for number in np.flatnonzero(included).tolist() for part in PARTS]


def _apart(opened: Project) -> NDArray[np.float64]:
    """Each part in a question of its own, of epsilon 1."""
    texts = [BY_CELL.format(where=f" where part = '{part}'") for part in PARTS]
    return np.hstack([values(opened.sql(text).ask(epsilon=1)) for text in texts])


def _again(opened: Project) -> NDArray[np.float64]:
    """One question for epsilon 1, and measured again for as much.

    What is shown then is the mean of two equally noisy answers, so that the second can be told from the first.
    """
    first = opened.sql(BY_CELL.format(where="")).ask(epsilon=1)
    both = values(opened.again(first.id, epsilon=1))
    return np.hstack([values(first), 2 * both - values(first)])


def _batch(opened: Project) -> NDArray[np.float64]:
    """Two questions that share an epsilon of 1: of persons, and of their rows."""
    persons = BY_CELL.format(where="")
    found = opened.batch(f"{persons}; {persons.replace('distinct who', '*')}", epsilon=1)
    return np.hstack([values(release) / moved for release, moved in zip(found, (1, LIMIT), strict=True)])
