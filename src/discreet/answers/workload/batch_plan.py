"""From a grid of cells to the strategy that answers its numbers with the least noise. Free: no data is looked at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.answers.workload.batch_cells import CellGrid
from discreet.answers.workload.grid_answers import GridAnswers, different_numbers
from discreet.answers.workload.grid_strategies import CellNumbers, GridStrategy, plan_numbers
from discreet.mechanisms.strategy.cell_merge import MergeStrategy
from discreet.mechanisms.strategy.strategy import IdentityStrategy, Strategy

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False, kw_only=True)
class GridPlan:
    """A strategy over the cells of a grid, and what it will cost in noise.

    `variances`: of each number of the grid, where every row of the strategy gets noise of variance 1. `mean_variance`:
    their mean, each number with its statement's weight. `error`: the weighted sum of variances times the square of the
    strategy's sensitivity to one row (l1, or l2 where `gaussian`): what to compare plans by, and to divide a budget by.
    """

    grid: CellGrid
    strategy: Strategy
    gaussian: bool
    answers: GridAnswers
    mean_variance: float
    error: float
    words: str

    @property
    def variances(self) -> Floats:
        return self.answers.variances


def plan_grid(
    grid: CellGrid, *, weights: Mapping[int, Fraction] | None = None, gaussian: bool, seconds: float = 1.0
) -> GridPlan:
    """The best strategy found with about so many seconds of work, for Laplace noise or for Gaussian noise.

    `weights`: how much a squared error in a number of a statement matters; 1 where a statement is not named. Work is
    counted, not timed: the same arguments give the same plan.

    Guarantee: measured with the same noise, its error is no more than that of every number by itself.
    Because: that is one of the strategies that are compared.
    """
    own = number_weights(grid, weights)
    different, which = different_numbers([number.cells for number in grid.numbers])
    if different:
        together = np.asarray(np.bincount(which[which >= 0], own[which >= 0], len(different)), dtype=np.float64)
        numbers = CellNumbers(shape=grid.shape, cells=tuple(different), weights=together)
        best = plan_numbers(numbers, gaussian=gaussian, seconds=seconds)
    else:
        best = GridStrategy(
            groups=np.zeros(grid.size, dtype=np.int64), inner=IdentityStrategy(1), error=0.0, words="the total"
        )
    strategy = MergeStrategy(best.groups, best.inner)
    answers = GridAnswers.of(grid, strategy)
    total, moves = float(own @ answers.variances), strategy.sensitivity(1)
    return GridPlan(
        grid=grid,
        strategy=strategy,
        gaussian=gaussian,
        answers=answers,
        mean_variance=total / float(own.sum()),
        error=total * (float(moves.l2_squared) if gaussian else float(moves.l1) ** 2),
        words=best.words,
    )


def number_weights(grid: CellGrid, weights: Mapping[int, Fraction] | None) -> Floats:
    """The weight of each number: that of its statement."""
    given = weights or {}
    if any(weight <= 0 for weight in given.values()):
        raise ValueError("a weight must be above 0")
    return np.array([float(given.get(number.statement, 1)) for number in grid.numbers])
