"""From a workload to the strategy that answers it with the least noise. Free: no data is looked at.

Strategies are in whole numbers: real weights times a power of two, rounded. Norms are taken after that.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import cast

import numpy as np
from numpy.typing import NDArray

from discreet.errors import UsageError
from discreet.inference.linear.solvers import solver_for
from discreet.inference.strategy_choice.factorisation import factorisation
from discreet.inference.strategy_choice.level_trees import LevelTree, TreeSearch
from discreet.inference.strategy_choice.p_identity import optimise_p_identity
from discreet.inference.strategy_choice.strategy_text import strategy_text
from discreet.inference.strategy_choice.workload import GivenRanges, ProductWorkload, Workload
from discreet.inference.strategy_choice.workload_error import mean_variance, sensitivity_squared, singular_bound
from discreet.mechanisms.gaussian import DiscreteGaussian
from discreet.mechanisms.laplace import DiscreteLaplace
from discreet.mechanisms.strategy.cell_merge import MergeStrategy
from discreet.mechanisms.strategy.strategy import (
    DiagonalStrategy,
    IdentityStrategy,
    MatrixStrategy,
    StackStrategy,
    Strategy,
)
from discreet.mechanisms.strategy.strategy import ProductStrategy as ProductStrategy
from discreet.mechanisms.strategy.tree_levels import LevelStrategy

Law = DiscreteLaplace | DiscreteGaussian

#: Strategies that can be asked for by name.
NAMES = ("best", "identity", "binary")

#: Rounds of changes to the levels of a tree.
_CHANGES = 8

Floats = NDArray[np.float64]

#: The largest weight of a tree's level; a column's sum beside bumps; a column's length in a factorisation. Rounding
#: then costs less than a thousandth of the error.
_LEVEL, _COLUMN, _LENGTH = 2**10, 2**12, 2**14


@dataclass(frozen=True, slots=True, kw_only=True)
class StrategyPlan:
    """A strategy for a workload, and what it will cost in noise.

    `mean_variance`: the mean over the queries of the variance of their least-squares answers, where every row of the
        strategy gets noise of variance 1. Multiply by the law's variance, whose scale follows from `strategy.moves`.
    `lower_bound`: in the same unit, what no strategy of the same sensitivity (l1, or l2 where `gaussian`) goes below,
        with unbiased linear answers from independent noise of one law on its rows. Under l1 it is seldom near.
    """

    workload: Workload
    strategy: Strategy
    gaussian: bool
    mean_variance: float
    lower_bound: float
    words: str


def plan_strategy(workload: Workload, *, gaussian: bool, seconds: float = 1.0, strategy: str = "best") -> StrategyPlan:
    """The best strategy found with about so many seconds of work, for Laplace noise or for Gaussian noise.

    Work is counted, not timed: the same arguments give the same plan, whatever else the machine does.
    By name: "identity" (single cells), "binary" (the tree of lectures: every level alike, up to the root).
    """
    if strategy not in NAMES:
        raise UsageError(f"unknown strategy {strategy[:40]!r}", hint="one of " + ", ".join(NAMES))
    if not seconds >= 0:
        raise UsageError("the planning time in seconds must be 0 or more")
    if isinstance(workload, ProductWorkload):
        return _product(workload, gaussian=gaussian, seconds=seconds, strategy=strategy)
    if strategy != "best":
        return _evaluated_plan(workload, _named(workload.cells, strategy), gaussian=gaussian)
    if isinstance(workload, GivenRanges):
        groups, inner = atoms(workload)
        if inner.cells < workload.cells:
            atom_plan = plan_strategy(inner, gaussian=gaussian, seconds=seconds)
            return _plan_over_cells(workload, groups, atom_plan)
    return _best(workload, gaussian=gaussian, seconds=seconds)


def rmse(planned: StrategyPlan, law: Law) -> float:
    """The root of the mean squared error over the queries, under noise of this law on every row."""
    return math.sqrt(planned.mean_variance * law.variance())


def _named(cells: int, name: str) -> Strategy:
    sizes = [1]
    while name == "binary" and sizes[-1] < cells:
        sizes.append(2 * sizes[-1])
    return integer_tree(cells, LevelTree(sizes=tuple(sizes), weights=(1.0,) * len(sizes), variance=math.inf))


def _best(workload: Workload, *, gaussian: bool, seconds: float) -> StrategyPlan:
    plans = [
        _evaluated_plan(workload, strategy, gaussian=gaussian, lower_bound=bound)
        for strategy, bound in _candidates(workload, gaussian=gaussian, seconds=seconds)
    ]
    return min(plans, key=lambda one: one.mean_variance * sensitivity_squared(one.strategy, gaussian=gaussian))


def _candidates(workload: Workload, *, gaussian: bool, seconds: float) -> Iterator[tuple[Strategy, float]]:
    """Strategies that may be best, each with a lower bound at sensitivity 1 that was proved on the way."""
    tree = TreeSearch(workload, gaussian).best(_CHANGES)
    yield integer_tree(workload.cells, tree), 0.0
    if gaussian:
        factored = factorisation(workload, seconds=seconds)
        if factored is not None:
            yield integer_matrix(factored.matrix), factored.lower_bound
    else:
        wide = optimise_p_identity(workload, tree, seconds=seconds)
        if wide is not None:
            yield integer_p_identity(wide.rows), 0.0


def _evaluated_plan(
    workload: Workload, strategy: Strategy, *, gaussian: bool, lower_bound: float = 0.0
) -> StrategyPlan:
    scale = sensitivity_squared(strategy, gaussian=gaussian)
    return StrategyPlan(
        workload=workload,
        strategy=strategy,
        gaussian=gaussian,
        mean_variance=mean_variance(workload, solver_for(strategy)),
        # At a larger sensitivity the rows hold more for the same noise.
        lower_bound=max(lower_bound, singular_bound(workload)) / scale,
        words=strategy_text(strategy),
    )


def _product(workload: ProductWorkload, *, gaussian: bool, seconds: float, strategy: str) -> StrategyPlan:
    """A product of strategies, each the best for its axis: variances, bounds and sensitivities multiply."""
    first, second = (
        plan_strategy(axis, gaussian=gaussian, seconds=seconds * axis.cells / _both(workload), strategy=strategy)
        for axis in (workload.first, workload.second)
    )
    return replace(
        first,
        workload=workload,
        strategy=ProductStrategy((first.strategy, second.strategy)),
        mean_variance=first.mean_variance * second.mean_variance,
        lower_bound=first.lower_bound * second.lower_bound,
        words=f"every pair of ({first.words}) and ({second.words})",
    )


def _both(workload: ProductWorkload) -> int:
    return workload.first.cells + workload.second.cells


def _plan_over_cells(workload: GivenRanges, groups: NDArray[np.int64], atom_plan: StrategyPlan) -> StrategyPlan:
    """A plan over atoms as one over cells."""
    return replace(
        atom_plan,
        workload=workload,
        strategy=MergeStrategy(groups, atom_plan.strategy),
        words=f"{atom_plan.workload.cells:,} groups of cells that the ranges do not separate: {atom_plan.words}",
    )


def atoms(workload: GivenRanges) -> tuple[NDArray[np.int64], GivenRanges]:
    """For each cell the atom it belongs to, or -1 where no range holds it; and the ranges as ranges of atoms.

    >>> groups, inner = atoms(GivenRanges(8, np.array([1, 3]), np.array([4, 6])))
    >>> groups.tolist(), inner.lows.tolist(), inner.highs.tolist()
    ([-1, 0, 0, 1, 1, 2, 2, -1], [0, 1], [1, 2])
    """
    edges = np.unique(np.concatenate([workload.lows, workload.highs + 1]))
    used = workload.uses() > 0.5
    piece = np.searchsorted(edges, np.arange(workload.size), side="right")
    pieces, number = np.unique(piece[used], return_inverse=True)
    groups = np.full(workload.size, -1, dtype=np.int64)
    groups[used] = number
    return groups, GivenRanges(len(pieces), groups[workload.lows], groups[workload.highs])


def integer_tree(cells: int, tree: LevelTree) -> Strategy:
    """A tree's levels. Weights in a simple ratio get small numbers."""
    weights = [max(1, round(weight * _LEVEL / max(tree.weights))) for weight in tree.weights]
    common = math.gcd(*weights)
    levels = tuple((size, weight // common) for size, weight in zip(tree.sizes, weights, strict=True))
    return IdentityStrategy(cells) if levels == ((1, 1),) else LevelStrategy(cells, levels)


def integer_p_identity(rows: Floats) -> Strategy:
    """Single cells and wide rows. The single cells make up for rounding, so that all columns have one sum, but they
    are never rounded to nothing."""
    entries = np.rint(rows / (1 + rows.sum(axis=0)) * _COLUMN).astype(np.int64)
    single = np.maximum(1, _COLUMN - entries.sum(axis=0))
    kept = entries[entries.any(axis=1)]
    return (
        StackStrategy((DiagonalStrategy(single), MatrixStrategy(kept)))
        if len(kept)
        else IdentityStrategy(entries.shape[1])
    )


def integer_matrix(matrix: Floats) -> Strategy:
    """A matrix whose columns have length 1."""
    return MatrixStrategy(cast("NDArray[np.int64]", np.rint(matrix * _LENGTH).astype(np.int64)))
