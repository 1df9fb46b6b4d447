"""What all questions of the audit share: how many rows people have, and how a canary is scored.

A canary is a person who has one cell of the answer to himself and moves it as far as his declaration allows, or
farther, where the declared table must cut him down. He is in the table or not, and the answer is asked once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.lab.privacy_audit.targets import AuditTarget, canary_target
from discreet.lab.privacy_audit.temporary_project import AuditTable, temporary_project
from discreet.project.project import Project
from discreet.release import Release

KIND = "sql"
#: The most cells.
MOST = 4_000
HIGH = 10
AMOUNT = f'type = "integer"\nlow = 0\nhigh = {HIGH}'
#: Whoever has more than two rows must be cut down to two.
LIMIT, ROWS = 2, 5
#: People who may have two rows.
PERSONS: Mapping[str, Any] = {"person": "who", "more": f"rows_per_person = {LIMIT}"}
Included = NDArray[np.bool_]
Scores = NDArray[np.float64]
#: The lines of a table with these canaries in it.
Lines = Callable[[Included], list[str]]


def cell_column(many: int, *, constant: bool = False) -> str:
    """The declaration of a column with so many cells."""
    more = "\nconstant = true" if constant else ""
    return f'type = "integer"\nlow = 0\nhigh = {many - 1}\nbins = {many}{more}'


def release_values(release: Release) -> NDArray[np.float64]:
    """The numbers of an answer by cell, a line for each that is not NULL."""
    shown = [row[1:] for row in release.rows if row[0] is not None]
    return np.array([[float(value or 0) for value in row] for row in shown])


def canary_scores(answers: NDArray[np.float64], moves: Sequence[float], *, cells: int = 1) -> Scores:
    """How far the cells of each canary are on the way to where he should move them.

    Beyond that, and below zero, Laplace noise says nothing more.
    """
    ways = np.clip(answers / np.array(moves), 0.0, 1.0).sum(axis=1)
    return np.asarray(ways.reshape(-1, cells).sum(axis=1))


@dataclass(frozen=True, slots=True, kw_only=True)
class CanaryWorld:
    """The table that a question reads, and what is declared of it. `constant`: a person is in one cell only."""

    person: bool = True
    source: str = "people"
    amount: str = AMOUNT
    beside: Callable[[Included], Sequence[AuditTable]] = lambda included: ()
    constant: bool = False


#: People who may have two rows each; and rows that are their own people.
PERSON_WORLD, ROW_WORLD = CanaryWorld(), CanaryWorld(person=False)


def sql_canary_target(
    name: str,
    statistics: Mapping[str, int],
    lines: Lines,
    world: CanaryWorld = PERSON_WORLD,
    *,
    cells: int = 1,
    neighbour: bool = False,
) -> AuditTarget:
    """One answer of epsilon 1, by cell. `statistics`: each with how far a canary moves it.

    `cells`: how many each canary has to himself. `neighbour`: read each canary's first cell against the second.
    """

    def run(included: Included) -> Scores:
        columns = {"cell": cell_column(len(included) * cells, constant=world.constant), "amount": world.amount}
        text = f"select cell, {', '.join(statistics)} from {world.source} group by cell"
        owned = PERSONS if world.person else {}
        with temporary_project(columns, lines(included), beside=world.beside(included), **owned) as opened:
            answers = release_values(opened.sql(text).ask(epsilon=1))
        if neighbour:
            return canary_scores(answers[::2] - answers[1::2], list(statistics.values()))
        return canary_scores(answers, list(statistics.values()), cells=cells)

    return canary_target(name, KIND, 1.0, run, most=MOST)


def canary_rows(included: Included, *, each: int, amounts: Sequence[int] = (HIGH,), step: int = 1) -> list[str]:
    """Each canary in a cell of his own; with more than one row he is a person. Amounts take turns."""
    lines = []
    for number in np.flatnonzero(included).tolist():
        owner = f"p{number}," if each > 1 else ""
        lines += [f"{owner}{number * step},{amounts[row % len(amounts)]}" for row in range(each)]
    return lines


def count_everybody(opened: Project) -> int:
    """One more count of everybody."""
    return int(opened.sql("select count(*) from people").ask(epsilon=1, fresh=True).rows[0][0])  # type: ignore[arg-type]
