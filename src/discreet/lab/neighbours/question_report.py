"""What the neighbour test saw of each question: how far its numbers moved, and what its price claims."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from discreet.lab.neighbours.neighbour_law import Movement
from discreet.lab.neighbours.source_rows import GeneratedTable, Row, World

#: What a vector counts, for people.
KINDS = {
    "RowCount": "count of rows",
    "PersonCount": "count of persons",
    "Sum": "sum",
    "DistinctCount": "count of different values",
    "Keys": "groups that are found",
    "Quantile": "scores of a quantile",
}


@dataclass(slots=True, kw_only=True)
class VectorReport:
    """One vector that noise is added to: the largest change on any pair, and the claim beside it.

    A claim is attained where some pair moves it as far as its noise is made for: L1 for Laplace, L2 for Gaussian.
    """

    kind: str
    l1: int = 0
    l1_claimed: int = 0
    l2_squared: int = 0
    l2_squared_claimed: int = 0

    def add(self, movement: Movement) -> None:
        """Take in what one pair showed."""
        self.l1_claimed, self.l2_squared_claimed = movement.claimed["l1"], movement.claimed["l2_squared"]
        self.l1 = max(self.l1, movement.moved["l1"])
        self.l2_squared = max(self.l2_squared, movement.moved["l2_squared"])

    @property
    def is_attained(self) -> bool:
        return self.l1 >= self.l1_claimed or self.l2_squared >= self.l2_squared_claimed

    @property
    def largest_ratio(self) -> float:
        """The largest change as a part of the claim, by the norm in which it is larger."""
        l1 = self.l1 / max(1, self.l1_claimed)
        return max(l1, math.sqrt(self.l2_squared / max(1, self.l2_squared_claimed)))

    def to_data(self) -> dict[str, Any]:
        return {
            "statistic": KINDS.get(self.kind, self.kind),
            "l1": {"largest": self.l1, "claimed": self.l1_claimed},
            "l2": {"largest": math.sqrt(self.l2_squared), "claimed": math.sqrt(self.l2_squared_claimed)},
            "attained": self.is_attained,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownTable:
    """A little table for people: the rows before and after one person goes."""

    name: str
    columns: tuple[str, ...]
    rows_with: tuple[Row, ...]
    rows_without: tuple[Row, ...]

    @staticmethod
    def of(name: str, source: GeneratedTable, without: Sequence[Row]) -> ShownTable:
        return ShownTable(name=name, columns=source.names, rows_with=_shown(source.rows), rows_without=_shown(without))

    def to_data(self) -> dict[str, Any]:
        return {
            "columns": list(self.columns),
            "with": [list(row) for row in self.rows_with],
            "without": [list(row) for row in self.rows_without],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """A pair of neighbours on which a claim does not hold, as small as it was found."""

    reason: str
    person: tuple[str, ...] | None
    tables: tuple[ShownTable, ...]

    @staticmethod
    def of(world: World, reason: str) -> Violation:
        tables = tuple(ShownTable.of(name, source, world.without[name]) for name, source in world.sources.items())
        return Violation(reason=reason, person=world.person, tables=tables)

    def to_data(self) -> dict[str, Any]:
        return {
            "reason": self.reason,
            "person": None if self.person is None else list(self.person),
            "tables": {table.name: table.to_data() for table in self.tables},
        }


@dataclass(slots=True, kw_only=True)
class QuestionReport:
    """One question: on how many pairs it was tried, and what was seen."""

    text: str
    pairs: int = 0
    changed_pairs: int = 0
    vectors: dict[tuple[int, int], VectorReport] = field(default_factory=dict)
    violation: Violation | None = None

    def add(self, movement: Movement) -> None:
        """Take in what one vector of one pair showed."""
        self.vectors.setdefault(movement.vector, VectorReport(kind=movement.kind)).add(movement)

    @property
    def holds(self) -> bool:
        return self.violation is None

    def to_data(self) -> dict[str, Any]:
        return {
            "question": self.text,
            "pairs": self.pairs,
            "changed_pairs": self.changed_pairs,
            "holds": self.holds,
            "vectors": [vector.to_data() for vector in self.vectors.values()],
            "violation": None if self.violation is None else self.violation.to_data(),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedQuestion:
    """A question that Discreet would not answer, so nothing of it was tried. `number`: its place among all of them."""

    number: int
    text: str
    reason: str

    def to_data(self) -> dict[str, Any]:
        return {"number": self.number, "question": self.text, "reason": self.reason}


@dataclass(frozen=True, slots=True, kw_only=True)
class NeighbourReport:
    """All questions about a table. `unit`: whose presence is hidden, in words."""

    table: str
    engine: str
    unit: str
    tries: int
    questions: tuple[QuestionReport, ...]
    refused: tuple[RefusedQuestion, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        """Of those that were tried."""
        return all(question.holds for question in self.questions)

    @property
    def numbers(self) -> list[int]:
        """The places of those that were tried, among all questions."""
        refused = {question.number for question in self.refused}
        return [number for number in range(1, len(self.questions) + len(refused) + 1) if number not in refused]

    def to_data(self) -> dict[str, Any]:
        return {
            "table": self.table,
            "engine": self.engine,
            "unit": self.unit,
            "tries": self.tries,
            "holds": self.holds,
            "questions": [question.to_data() for question in self.questions],
            "refused": [question.to_data() for question in self.refused],
            "notes": list(self.notes),
        }


def _shown(rows: Sequence[Row]) -> tuple[Row, ...]:
    return tuple(tuple(_cell(cell) for cell in row) for row in rows)


def _cell(cell: object) -> object:
    plain = cell is None or isinstance(cell, bool | int | str)
    return cell if plain else str(cell)
