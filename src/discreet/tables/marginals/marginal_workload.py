"""What is wished for: marginals over sets of axes, each with a weight."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from discreet.errors import Refused, UsageError
from discreet.inference.linear.residual_part import Axes, informative_axes, subsets
from discreet.plan.cells import check_cells

#: Beyond this a set of tables is refused: nobody reads so many, and planning takes its time.
MOST_SETS = 20_000
#: Together their cells must fit in memory several times, and in the ledger at some 5 bytes each.
MOST_TOGETHER = 25_000_000
#: So many columns may be crossed in one table.
MOST_ORDER = 8
#: A weight beyond this is no wish any more.
MOST_WEIGHT = 1_000_000

#: Whether the mean error over all cells is to be small, or that of the worst table.
Objective = Literal["mean", "max"]


@dataclass(frozen=True, kw_only=True)
class MarginalWorkload:
    """Marginals over `sets` of axes of these sizes. A weight: how much a squared error in a table's cells matters."""

    sizes: tuple[int, ...]
    sets: tuple[Axes, ...]
    weights: tuple[float, ...]
    objective: Objective = "mean"

    def __post_init__(self) -> None:
        if not self.sets or len(self.sets) != len(self.weights) or len(set(self.sets)) != len(self.sets):
            raise ValueError("a workload needs at least one table, and each table once")
        for axes in self.sets:
            if list(axes) != sorted(set(axes)) or not set(axes) <= set(range(len(self.sizes))):
                raise ValueError("a table must name each of its axes once, in order")
        if not all(0 < weight <= MOST_WEIGHT for weight in self.weights):
            raise UsageError(f"a weight must be above 0 and at most {MOST_WEIGHT:,}")
        if len(self.sets) > MOST_SETS:
            raise Refused(f"{len(self.sets):,} tables are too many: one release can have at most {MOST_SETS:,}")
        if max(map(len, self.sets)) > MOST_ORDER:
            raise Refused(f"a table can combine at most {MOST_ORDER} columns", hint="a smaller order")
        for cells in self.cells:
            check_cells(cells)
        if sum(self.cells) > MOST_TOGETHER:
            raise Refused(
                f"the tables have {sum(self.cells):,} cells in total; the maximum is {MOST_TOGETHER:,}",
                hint="a smaller order, or fewer columns",
            )

    @staticmethod
    def of_order(
        sizes: Sequence[int], order: int, *, exactly: bool = False, objective: Objective = "mean"
    ) -> MarginalWorkload:
        """All marginals of up to so many axes, or of exactly so many."""
        if not 1 <= order <= len(sizes):
            raise UsageError(f"the order must be from 1 to the number of columns, {len(sizes)}; got {order}")
        orders = range(order if exactly else 1, order + 1)
        if sum(math.comb(len(sizes), each) for each in orders) > MOST_SETS:
            raise Refused(f"there are more than {MOST_SETS:,} tables of {order} out of {len(sizes)} columns")
        sets = tuple(itertools.chain(*(itertools.combinations(range(len(sizes)), each) for each in orders)))
        return MarginalWorkload(sizes=tuple(sizes), sets=sets, weights=(1.0,) * len(sets), objective=objective)

    @staticmethod
    def of_sets(
        sizes: Sequence[int], weights: Mapping[Axes, float], *, objective: Objective = "mean"
    ) -> MarginalWorkload:
        """Named sets with their weights, in rising order."""
        merged: dict[Axes, float] = {}
        for axes, weight in weights.items():
            own = tuple(sorted(axes))
            merged[own] = merged.get(own, 0.0) + weight
        order = sorted(merged, key=lambda axes: (len(axes), axes))
        weights_in_order = tuple(merged[axes] for axes in order)
        return MarginalWorkload(sizes=tuple(sizes), sets=tuple(order), weights=weights_in_order, objective=objective)

    def to_data(self) -> list[Any]:
        """What is wished for, as JSON data."""
        return [self.objective, [[list(axes), weight] for axes, weight in zip(self.sets, self.weights, strict=True)]]

    @cached_property
    def cells(self) -> tuple[int, ...]:
        """How many cells each table has."""
        return tuple(math.prod(self.sizes[axis] for axis in axes) for axes in self.sets)

    @cached_property
    def residuals(self) -> WorkloadResiduals:
        """The residuals that the tables are made of, and how much of each is in a cell of each."""
        places: dict[Axes, int] = {}
        lines: list[tuple[int, int, float]] = []
        for number, axes in enumerate(self.sets):
            for subset in subsets(informative_axes(axes, self.sizes)):
                spread = math.prod(self.sizes[axis] ** 2 for axis in axes if axis not in subset)
                own = math.prod((self.sizes[axis] - 1) / self.sizes[axis] for axis in subset)
                lines.append((number, places.setdefault(subset, len(places)), own / spread))
        tables, which, amounts = zip(*lines, strict=True)
        return WorkloadResiduals(tuple(places), np.array(tables), np.array(which), np.array(amounts))


@dataclass(frozen=True, slots=True)
class WorkloadResiduals:
    """The residuals under a wish: line by line the number of a table, of a subset, and how much of the variance of
    that subset's residual is in a cell of the table."""

    subsets: tuple[Axes, ...]
    tables: NDArray[np.int64]
    which: NDArray[np.int64]
    amounts: NDArray[np.float64]

    def costs(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """What variance 1 of each residual adds to the sum over tables of weight times a cell's variance."""
        return np.asarray(
            np.bincount(self.which, self.amounts * weights[self.tables], len(self.subsets)), dtype=np.float64
        )

    def variances(self, variances: NDArray[np.float64], tables: int) -> NDArray[np.float64]:
        """The variance of a cell of each table, of given variances of the residuals."""
        return np.asarray(np.bincount(self.tables, self.amounts * variances[self.which], tables), dtype=np.float64)
