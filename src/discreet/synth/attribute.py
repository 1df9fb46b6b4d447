"""Attributes: the columns of a table as a finite domain, from public facts alone.

An attribute has *fine* cells, the finest that are ever counted, and its model's cells, which are groups of those:
bins that were chosen after a look at noisy counts, or rare values kept together. A cell of the model goes back to a
value through the noisy weights of its fine cells.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from discreet.errors import Refused
from discreet.plan.cells import Axis, even_edges
from discreet.plan.expressions import Expression
from discreet.schema.column import (
    Column,
    Label,
    MomentColumn,
    NumberColumn,
    TextColumn,
    code_labels,
    domain,
    nullable,
    shown_label,
)
from discreet.sql.typed_expression import column_expression
from discreet.synth.value_shapes import ValueShape

#: A number or moment without declared bins is cut into so many equal fine cells, where it has more values.
FINE_CELLS = 256

#: The most values of a category.
MOST_VALUES = 100_000

#: Beyond every stored code.
FAR = 2**63 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribute:
    """One column of the model: fine cell i holds the codes in [edges[i], edges[i + 1]); the last one NULL if `null`.

    `groups[i]` is the model's cell of fine cell i, and `weights[i]` its noisy number of rows, never negative.
    `binned`: the fine cells are ours to group into bins. `of`: what is counted, where it is not the column's own code.
    `open`: the ends were bought, and what lies beyond them is counted in the cells at the ends.
    `outer`: so many fine cells at each end lie outside the bounds that were bought.
    `apart`: fine cells of different numbers here are never kept together, for a public constraint tells them apart.
    `shape`: how codes lie within a fine cell, where that is not evenly. `between`: the lower and the higher column, of
    which this is the difference (`column_differences`).
    """

    column: Column
    edges: tuple[int, ...]
    null: bool
    binned: bool = False
    of: Expression | None = None
    open: bool = False
    outer: tuple[int, int] = (0, 0)
    apart: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    groups: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    weights: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    shape: ValueShape | None = None
    between: tuple[str, str] | None = None

    def __post_init__(self) -> None:
        if sum(self.outer) >= len(self.edges) - 1:  # constraints cut it into cells of their own
            object.__setattr__(self, "outer", (0, 0))
        if not len(self.apart):
            object.__setattr__(self, "apart", np.zeros(self.fine, dtype=np.int64))
        if not len(self.groups):
            object.__setattr__(self, "groups", np.arange(self.fine))
        if not len(self.weights):
            object.__setattr__(self, "weights", np.ones(self.fine))
        if any(len(each) != self.fine for each in (self.apart, self.groups, self.weights)):
            raise ValueError("the groups of an attribute do not match its cells")

    @property
    def name(self) -> str:
        return self.column.name

    @property
    def fine(self) -> int:
        """The number of fine cells."""
        return len(self.edges) - 1 + self.null

    @property
    def size(self) -> int:
        """The number of the model's cells."""
        return int(self.groups.max()) + 1

    def axis(self, *, outside: bool = False) -> Axis:
        """The fine cells as an axis to be counted; with `outside`, a cell more beyond each end where they are open."""
        inner = self.edges if outside else self.edges[1:-1]
        edges = (-FAR, *inner, FAR) if self.open else self.edges
        return Axis(of=self.of or column_expression(self.column).expression, edges=edges, null=self.null, labels=())

    def fine_of_counted(self) -> NDArray[np.int64]:
        """For each cell of the axis with `outside` the fine cell that it is a part of."""
        if not self.open:
            return np.arange(self.fine)
        cells = len(self.edges) - 1
        return np.array([0, *range(cells), cells - 1, *([cells] if self.null else [])])

    def draw_between(
        self, lows: NDArray[np.int64], highs: NDArray[np.int64], generator: np.random.Generator
    ) -> NDArray[np.int64]:
        """A code in each [low, high), as the column's shape says, or evenly."""
        if self.shape is None:
            return generator.integers(lows, highs)
        return self.shape.draw(lows, highs, generator)

    def mass_between(self, lows: NDArray[np.int64], highs: NDArray[np.int64]) -> NDArray[np.float64]:
        """What the codes of each [low, high) weigh beside each other; their number where the column has no shape."""
        return np.asarray(highs - lows, dtype=np.float64) if self.shape is None else self.shape.mass(lows, highs)

    def with_groups(self, groups: NDArray[np.int64], weights: NDArray[np.float64]) -> Attribute:
        """The same column with other cells of the model."""
        return replace(self, groups=groups, weights=weights)

    def labels(self) -> tuple[Label, ...]:
        """The model's cells as people read them."""
        return tuple(self._label(self.drawn(cell)) for cell in range(self.size))

    def shown_labels(self) -> tuple[Label, ...]:
        """The same, with codes by what they are called where they have labels."""
        called = code_labels([self.column])
        return tuple(shown_label(called, self.name, label) for label in self.labels())

    def drawn(self, cell: int) -> NDArray[np.int64]:
        """The fine cells of one of the model's cells, without those at its ends that nothing is drawn from.

        Where values or bounds are declared, only a NULL that nobody is thought to have is left out.
        """
        fine = np.flatnonzero(self.groups == cell)
        weighty = np.flatnonzero(self.weights[fine] > 0)
        is_bought = self.open or (self.of is not None and self.between is None)
        if not len(weighty):
            return fine
        if is_bought:
            return fine[weighty[0] : weighty[-1] + 1]
        return fine[:-1] if self._is_unused_null(int(fine[-1])) else fine

    def _label(self, fine: NDArray[np.int64]) -> Label:
        ends = [self._ends(int(cell)) for cell in fine if len(fine) == 1 or not self._is_unused_null(int(cell))]
        code_ranges = [end for end in ends if end is not None]
        if not code_ranges:
            return None
        if len(ends) == 1 and code_ranges[0][0] == code_ranges[0][1]:
            return self.text(code_ranges[0][0])
        if (
            isinstance(self.column, NumberColumn | MomentColumn)
            and _adjoin(code_ranges)
            and len(code_ranges) == len(ends)
        ):
            return f"{self.text(code_ranges[0][0])} to {self.text(code_ranges[-1][1])}"
        return f"{len(ends)} rare values"

    def _is_unused_null(self, cell: int) -> bool:
        """Whether a fine cell is a NULL that nobody is thought to have."""
        return cell == len(self.edges) - 1 and not self.weights[cell] > 0

    def _ends(self, cell: int) -> tuple[int, int] | None:
        """The first and the last code of a fine cell; None for NULL."""
        return None if cell == len(self.edges) - 1 else (self.edges[cell], self.edges[cell + 1] - 1)

    def text(self, code: int) -> Label:
        """A code as people read it."""
        assert not isinstance(self.column, TextColumn)
        if self.between is not None and code > self.edges[-1] - 4:
            low, high = self.between
            return (f"{high} is NULL", f"{low} is NULL", "both are NULL")[code - self.edges[-1] + 3]
        return self.column.label(code)


def _adjoin(ends: list[tuple[int, int]]) -> bool:
    return all(high + 1 == low for (_, high), (low, _) in pairwise(ends))


def attribute_of(column: Column) -> Attribute | None:
    """A declared column as an attribute; None for text, and where its bounds are not declared."""
    limits = domain(column)
    if limits is None:
        return None
    low, high = limits
    if isinstance(column, NumberColumn | MomentColumn):
        if column.edges is not None:
            return Attribute(column=column, edges=column.edges, null=nullable(column))
        return Attribute(column=column, edges=even_edges(low, high, FINE_CELLS), null=nullable(column), binned=True)
    if high > MOST_VALUES:
        raise Refused(
            f"column {column.name!r} has {high:,} values; a model can have at most {MOST_VALUES:,} per column",
            hint="leave the column out, or declare fewer values and an `other` value",
        )
    return Attribute(column=column, edges=tuple(range(high + 1)), null=nullable(column))
