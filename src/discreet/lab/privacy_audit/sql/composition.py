"""Several questions: what they tell together, against what was asked for and what the ledger says was spent.

Of questions about different people the ledger counts the dearest one, and only then.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from discreet.lab.privacy_audit.sql.canary_tables import (
    KIND,
    LIMIT,
    PERSONS,
    Included,
    canary_scores,
    cell_column,
    release_values,
)
from discreet.lab.privacy_audit.targets import AuditOutcome, AuditTarget, canary_coins, one_run_outcome
from discreet.lab.privacy_audit.temporary_project import temporary_project
from discreet.project.project import Project

PARTS = ("F", "M")
BY_CELL = "select cell, count(distinct who) from people{where} group by cell"
#: Asks whatever it asks, and gives the answers: a line for each canary, and each number moved by 1.
Ask = Callable[[Project], NDArray[np.float64]]


def targets() -> list[AuditTarget]:
    """People who are in one region by declaration, people who have a row in each of two, and one question twice."""
    return [
        _spending_target("sql regions: of a constant column", _ask_parts, constant=True, spent=1.0),
        _spending_target("sql regions: a person in two of them", _ask_parts, constant=False, spent=2.0),
        _spending_target("sql again: one question twice", _ask_again, constant=True, spent=2.0),
        _spending_target("sql batch: two questions", _ask_batch, constant=True, spent=1.0),
    ]


def _spending_target(name: str, ask: Ask, *, constant: bool, spent: float) -> AuditTarget:
    """Canaries with a row of each part. `constant`: whether a person has one part. `spent`: what is to be expected."""
    part = 'type = "category"\nvalues = ["F", "M"]\nclosed = true' + ("\nconstant = true" if constant else "")

    def measure(samples: int) -> AuditOutcome:
        included = canary_coins(min(4_000, samples))
        columns = {"cell": cell_column(len(included), constant=True), "part": part}
        with temporary_project(columns, _lines(included), **PERSONS) as opened:
            answers = ask(opened)
            ledger_epsilon = opened.budget("people").spent.epsilon
        assert ledger_epsilon is not None
        claimed, note = min(spent, float(ledger_epsilon)), f"the ledger shows {float(ledger_epsilon):.4g} spent"
        return one_run_outcome(included, canary_scores(answers, [1] * answers.shape[1]), epsilon=claimed, note=note)

    return AuditTarget(name=name, kind=KIND, method="one run", epsilon=spent, measure=measure)


def _lines(included: Included) -> list[str]:
    """A row of each part for each canary. Of a constant column he has one value all the same."""
    assert len(PARTS) == LIMIT
    return [f"p{number},{number},{part}" for number in np.flatnonzero(included).tolist() for part in PARTS]


def _ask_parts(opened: Project) -> NDArray[np.float64]:
    """Each part in a question of its own, of epsilon 1."""
    texts = [BY_CELL.format(where=f" where part = '{part}'") for part in PARTS]
    return np.hstack([release_values(opened.sql(text).ask(epsilon=1)) for text in texts])


def _ask_again(opened: Project) -> NDArray[np.float64]:
    """One question for epsilon 1, and made more precise for as much.

    The second answer alone is looked at: the first is that one with more noise, which tells nothing.
    """
    first = opened.sql(BY_CELL.format(where="")).ask(epsilon=1)
    return release_values(opened.again(first.id, epsilon=1))


def _ask_batch(opened: Project) -> NDArray[np.float64]:
    """Two questions that share an epsilon of 1: of persons, and of their rows."""
    persons = BY_CELL.format(where="")
    releases = opened.batch(f"{persons}; {persons.replace('distinct who', '*')}", epsilon=1)
    return np.hstack([release_values(release) / moved for release, moved in zip(releases, (1, LIMIT), strict=True)])
