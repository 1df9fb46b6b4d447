"""Three servers that count: one exact, one with noise and no memory of what it gave away, and Discreet itself.

Each is asked the same: how many in every place have the trait, of those who came until a day, with the targets,
without them, or of the targets alone. Discreet is driven through its public path, in a temporary folder, as any
analyst drives it: `project.sql(...).ask(...)`.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

import discreet
from discreet import exact
from discreet.errors import BudgetExceeded
from discreet.lab.worlds.target_places import DAYS, TargetPlaces
from discreet.ledger.filesystem import use_state_folder
from discreet.mechanisms.bits import system
from discreet.mechanisms.laplace import DiscreteLaplace

if TYPE_CHECKING:
    from discreet.project.project import Project

Whom = Literal["everybody", "all but the target", "the target"]
Counts = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class CountQuestion:
    """A question: holders of the trait in every place, of these people, who came until that day."""

    whom: Whom
    until: int = DAYS - 1


class CountServer(Protocol):
    """What an attack asks. `None` is a refusal."""

    name: str

    def ask(self, question: CountQuestion, *, fresh: bool = False) -> Counts | None:
        """Counts by place; `fresh` asks for new noise on an old question."""
        ...

    def leave(self) -> None:
        """The targets leave, and the owner publishes anew."""
        ...


@dataclass(slots=True, kw_only=True)
class ExactServer:
    """Answers everything, exactly."""

    people: TargetPlaces
    name: str = "exact"
    targets_left: bool = False

    def ask(self, question: CountQuestion, *, fresh: bool = False) -> Counts | None:
        keep = {
            "everybody": np.ones(len(self.people.place), dtype=np.bool_),
            "all but the target": ~self.people.target,
            "the target": self.people.target,
        }[question.whom]
        return self.people.holders(until=question.until, keep=keep & ~self.people.target if self.targets_left else keep)

    def leave(self) -> None:
        self.targets_left = True


@dataclass(slots=True, kw_only=True)
class NoisyServer:
    """Answers everything with discrete Laplace noise for `epsilon` an answer, and adds nothing up.

    It keeps the noise of a question that it has seen, as wiser ones do, unless told to draw anew: that stops averaging
    a repeat, and not the next different question.
    """

    exact: ExactServer
    epsilon: Fraction
    reuses_noise: bool = True
    name: str = "noisy, no ledger"
    stored_counts: dict[tuple[CountQuestion, bool], Counts] = field(default_factory=dict)

    def ask(self, question: CountQuestion, *, fresh: bool = False) -> Counts | None:
        key = (question, self.exact.targets_left)
        if not self.reuses_noise or key not in self.stored_counts:
            exact_counts = self.exact.ask(question)
            assert exact_counts is not None
            noise = DiscreteLaplace(scale=1 / self.epsilon).draw(len(exact_counts), bits=system())
            self.stored_counts[key] = exact_counts + noise
        return self.stored_counts[key]

    def leave(self) -> None:
        self.exact.leave()


@dataclass(slots=True, kw_only=True)
class DiscreetServer:
    """A project of Discreet's own, with a budget; every question is asked at `epsilon`."""

    people: TargetPlaces
    project: Project
    epsilon: Fraction
    name: str = "Discreet"
    cached: int = 0
    answered: int = 0
    refused: int = 0

    def ask(self, question: CountQuestion, *, fresh: bool = False) -> Counts | None:
        try:
            release = self.project.sql(self.statement(question)).ask(epsilon=self.epsilon, fresh=fresh)
        except BudgetExceeded:
            self.refused += 1
            return None
        self.answered += 1
        self.cached += release.cached
        noisy_counts = {str(place): int(str(count)) for place, count in release.rows if place is not None}
        return np.array([noisy_counts[f"p{number}"] for number in range(self.people.count)])

    def statement(self, question: CountQuestion) -> str:
        """The question in SQL, as an analyst would type it."""
        column, value = self.people.mark
        whom = {
            "everybody": "",
            "all but the target": f" AND {column} <> '{value}'",
            "the target": f" AND {column} = '{value}'",
        }[question.whom]
        until = f" AND day <= {question.until}" if question.until < DAYS - 1 else ""
        return f"SELECT place, count(*) FROM people WHERE trait{whom}{until} GROUP BY place"

    def leave(self) -> None:
        write_rows(self.project.folder, self.people, without_targets=True)
        self.project.refresh("people", force=True)


def write_rows(folder: Path, people: TargetPlaces, *, without_targets: bool = False) -> None:
    """The data owner's file."""
    import pyarrow.parquet

    pyarrow.parquet.write_table(people.table(without_targets=without_targets), folder / "people.parquet")


@contextmanager
def discreet_server(people: TargetPlaces, *, budget: Fraction, epsilon: Fraction) -> Iterator[DiscreetServer]:
    """Discreet over these people in a temporary folder, with this budget for all that is asked of it.

    Guarantee: one target's trait moves everything that the server says by a factor of exp(budget) at most.
    Because: all questions count holders of the trait only, so a target who has it is one row more, and the ledger
        refuses what would take the loss of any row beyond the budget; places are disjoint.
    """
    with tempfile.TemporaryDirectory(prefix="discreet-lab-") as name, use_state_folder(Path(name) / "state"):
        folder = Path(name) / "project"
        folder.mkdir()
        write_rows(folder, people)
        (folder / "discreet.toml").write_text(_declaration(people, budget), encoding="utf-8")
        project = discreet.init(folder)
        try:
            yield DiscreetServer(people=people, project=project, epsilon=epsilon)
        finally:
            project.ledger.close()


def _declaration(people: TargetPlaces, budget: Fraction) -> str:
    places = ", ".join(f'"p{number}"' for number in range(people.count))
    return (
        '[project]\nledger = "sqlite:///.discreet/ledger.db"\n\n[tables.people]\nsource = "people.parquet"\n'
        f"budget = {{ epsilon = {exact.show(budget, digits=12)}, delta = 0 }}\n"
        f'[tables.people.columns.place]\ntype = "category"\nvalues = [{places}]\nclosed = true\n'
        f'[tables.people.columns.{people.mark[0]}]\ntype = "text"\n'
        '[tables.people.columns.trait]\ntype = "boolean"\n'
        f'[tables.people.columns.day]\ntype = "integer"\nlow = 0\nhigh = {DAYS - 1}\n'
    )
