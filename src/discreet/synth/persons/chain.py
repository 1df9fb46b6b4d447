"""The rows of a person, one after the other: each given what is constant, the number of rows and the row before.

A chain is read off a graphical model over all of these: a variable of the next row is drawn given those of its
neighbours in the model that are settled already, by the model's own marginal, which is the exact conditional.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from discreet.synth.attribute import Attribute
from discreet.synth.cell_decoder import draw_codes
from discreet.synth.code_spans import cells_of
from discreet.synth.model import Model

#: A table of conditional probabilities has at most so many cells: parents that are only reached through later columns
#: are left out before.
MOST_CELLS = 2**22

#: Rows are drawn so many at a time.
AT_ONCE = 100_000

Role = Literal["trait", "rows", "time", "previous", "next", "gap"]
Codes = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainVariable:
    """A variable of a chain: what it is about, and which column of the person's rows it stands for.

    trait, rows: what is settled for a person. time, previous: of the row before. next, gap: of the next row; of a
    column that is kept as a difference from the row's time, `previous` and `next` are those differences.
    """

    role: Role
    column: str

    @property
    def is_next(self) -> bool:
        return self.role in ("next", "gap")

    @property
    def name(self) -> str:
        """By what name the model has it."""
        return {"previous": f"last {self.column}", "time": f"last {self.column}"}.get(self.role, self.column)


@dataclass(frozen=True, slots=True)
class _Conditional:
    """A variable's cumulative probabilities for each combination of its parents' cells."""

    place: int
    parents: tuple[int, ...]
    sizes: tuple[int, ...]
    cumulative: NDArray[np.float64]

    def draw(self, cells: Mapping[int, Codes], count: int, generator: np.random.Generator) -> Codes:
        """Cells of the variable, given those of its parents."""
        number = np.zeros(count, dtype=np.int64)
        for parent, size in zip(self.parents, self.sizes, strict=True):
            number = number * size + cells[parent]
        chances = generator.random(count)
        drawn = np.zeros(count, dtype=np.int64)
        for start in range(0, count, AT_ONCE):
            part = slice(start, start + AT_ONCE)
            drawn[part] = (self.cumulative[number[part], :-1] <= chances[part, None]).sum(axis=1)
        return drawn


class Chain:
    """A model of steps, ready to be drawn from. `model.attributes` are the cells of `variables`, in their order."""

    def __init__(self, model: Model, variables: Sequence[ChainVariable]) -> None:
        self.model = model
        self.variables = tuple(variables)
        if len(self.variables) != len(model.attributes):
            raise ValueError("the variables of a chain do not match its model")
        self.order = _drawing_order(self.variables, _neighbours(model))
        self._conditionals = [self._conditional(place, turn) for turn, place in enumerate(self.order)]

    def parents(self, place: int) -> tuple[int, ...]:
        """The variables by which this one is drawn."""
        return self._conditionals[self.order.index(place)].parents

    def place(self, role: Role, column: str) -> int:
        """Which variable is meant."""
        return self.variables.index(ChainVariable(role=role, column=column))

    def attribute(self, place: int) -> Attribute:
        return self.model.attributes[place]

    def settled_cells(self, place: int, codes: Codes) -> Codes:
        """The cells of codes; one that the variable does not have is in the first cell."""
        return np.maximum(cells_of(self.attribute(place), codes), 0)

    def draw(self, settled: Mapping[int, Codes], count: int, generator: np.random.Generator) -> dict[int, Codes]:
        """Cells of all variables of the next rows, given those that are settled."""
        cells = dict(settled)
        for conditional in self._conditionals:
            cells[conditional.place] = conditional.draw(cells, count, generator)
        return {place: cells[place] for place in self.order}

    def codes(self, place: int, cells: Codes, generator: np.random.Generator) -> Codes:
        """Codes of a variable, drawn in its cells."""
        return draw_codes(self.attribute(place), cells, generator)

    def _conditional(self, place: int, turn: int) -> _Conditional:
        calibrated = self.model.calibrated
        sizes = self.model.fitted.sizes
        parents = _parents(place, set(self.order[turn + 1 :]), _neighbours(self.model), sizes)
        table = calibrated.project((*parents, place)).reshape(-1, sizes[place])
        alone = calibrated.project((place,))
        # Where nothing lies, the variable's own distribution.
        table = np.maximum(table, 0) + 1e-9 * np.maximum(alone, 1e-12)
        cumulative = np.cumsum(table / table.sum(axis=1, keepdims=True), axis=1)
        return _Conditional(place, parents, tuple(sizes[parent] for parent in parents), cumulative)


def _neighbours(model: Model) -> dict[int, set[int]]:
    """Which variables the model's potentials tie together."""
    neighbours: dict[int, set[int]] = {place: set() for place in range(len(model.attributes))}
    for axes in model.fitted.potentials:
        for place in axes:
            neighbours[place] |= set(axes) - {place}
    return neighbours


def _drawing_order(variables: Sequence[ChainVariable], neighbours: Mapping[int, set[int]]) -> tuple[int, ...]:
    """The variables of the next row in the order in which they are drawn: the most tied to settled ones first."""
    order: list[int] = []
    settled = {place for place, variable in enumerate(variables) if not variable.is_next}
    left = [place for place, variable in enumerate(variables) if variable.is_next]
    while left:
        best = max(left, key=lambda place: (len(neighbours[place] & settled), -place))
        left.remove(best)
        order.append(best)
        settled.add(best)
    return tuple(order)


def _parents(place: int, later: set[int], neighbours: Mapping[int, set[int]], sizes: Sequence[int]) -> tuple[int, ...]:
    """The settled variables that a variable depends on: its neighbours, and those reached through later ones."""
    direct = sorted(each for each in neighbours[place] if each not in later)
    seen, waiting, beyond = {place}, [each for each in neighbours[place] if each in later], set()
    while waiting:
        each = waiting.pop()
        if each in seen:
            continue
        seen.add(each)
        waiting += [other for other in neighbours[each] if other in later]
        beyond |= {other for other in neighbours[each] if other not in later and other != place}
    parents: list[int] = []
    for each in [*direct, *sorted(beyond - set(direct))]:
        if math.prod(sizes[other] for other in (place, each, *parents)) <= MOST_CELLS:
            parents.append(each)
    return tuple(sorted(parents))


def chain_data(variables: Sequence[ChainVariable]) -> list[dict[str, Any]]:
    """The variables, as plain data."""
    return [{"role": variable.role, "column": variable.column} for variable in variables]
