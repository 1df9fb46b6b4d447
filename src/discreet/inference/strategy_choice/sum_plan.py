"""From sums over cells to the strategy that answers them with the least noise. Free: no data is looked at.

The cells are those of one line: neighbours may be asked about together, and often are.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.inference.linear.row_weights import row_weights
from discreet.inference.linear.solver_interface import Solver
from discreet.inference.linear.solvers import solver_for
from discreet.inference.strategy_choice.factorisation import factorisation, low_rank_factorisation
from discreet.inference.strategy_choice.level_trees import TreeSearch
from discreet.inference.strategy_choice.p_identity import MOST_ENTRIES, improve_rows, optimise_p_identity
from discreet.inference.strategy_choice.question_weights import question_weights
from discreet.inference.strategy_choice.strategy_plan import integer_matrix, integer_p_identity, integer_tree
from discreet.inference.strategy_choice.strategy_text import strategy_text
from discreet.inference.strategy_choice.sum_workload import SumWorkload
from discreet.inference.strategy_choice.workload_error import sensitivity_squared
from discreet.mechanisms.strategy.strategy import (
    DiagonalStrategy,
    IdentityStrategy,
    MatrixStrategy,
    StackStrategy,
    Strategy,
)
from discreet.mechanisms.strategy.tree_levels import LevelStrategy

Floats = NDArray[np.float64]

#: The largest weight of a question that is measured by itself.
_QUESTION = 2**12

#: The length of a column of combined queries.
_COMBINED = 2**18

#: Entries of a matrix that is stored beside a release.
_MOST_ENTRIES = 2**21

#: Questions by themselves are looked at more closely where their error is below so many times the best.
_FAR = 4.0

#: Fewer cells are no tree.
_LEAST_TREE = 8

#: Rounds of changes to the levels of a tree, where there are so many seconds.
_CHANGES, _LONG = 8, 0.3


@dataclass(frozen=True, eq=False, kw_only=True)
class SumPlan:
    """A strategy over the cells of a workload; `error`: the weighted sum of variances at sensitivity 1."""

    strategy: Strategy
    error: float
    words: str


def plan_sums(workload: SumWorkload, *, gaussian: bool, seconds: float, starts: Sequence[list[Floats]] = ()) -> SumPlan:
    """The best strategy found with about so many seconds of work, for Laplace noise or for Gaussian noise.

    `starts`: rows over the cells to begin with, level by level. Work is counted, not timed.
    """
    questions = question_weights(workload.rows, workload.weights, gaussian=gaussian)
    plans = [
        SumPlan(strategy=strategy, error=sum_error(workload, strategy, gaussian=gaussian), words=words)
        for strategy, words in _candidates(workload, questions, gaussian=gaussian, seconds=seconds, starts=starts)
    ]
    best = min(plans, key=lambda plan: plan.error)
    # Least squares makes questions by themselves better, but seldom by so much.
    if float((workload.weights / questions**2).sum()) < _FAR * best.error and workload.rows.size <= _MOST_ENTRIES:
        strategy = question_strategy(workload, questions)
        alone = SumPlan(
            strategy=strategy,
            error=sum_error(workload, strategy, gaussian=gaussian),
            words="each question by itself",
        )
        best = min(best, alone, key=lambda plan: plan.error)
    return best


def sum_error(workload: SumWorkload, strategy: Strategy, *, gaussian: bool) -> float:
    """The weighted sum of the variances of the queries' least-squares answers, at sensitivity 1."""
    solver = range_solver(strategy) if workload.ends is not None else None
    if solver is not None and workload.ends is not None:
        variances = solver.range_variances(*workload.ends)
    else:
        variances = row_weights(strategy).variances(workload.rows.astype(np.float64))
    return float(workload.weights @ variances) * sensitivity_squared(strategy, gaussian=gaussian)


def range_solver(strategy: Strategy) -> Solver | None:
    """What answers ranges of consecutive cells at once, where there is such: faster than row by row."""
    match strategy:
        case IdentityStrategy() | LevelStrategy() | StackStrategy(parts=(DiagonalStrategy(), MatrixStrategy())):
            return solver_for(strategy)
        case _:
            return None


def _candidates(
    workload: SumWorkload, questions: Floats, *, gaussian: bool, seconds: float, starts: Sequence[list[Floats]]
) -> Iterator[tuple[Strategy, str]]:
    yield IdentityStrategy(workload.cells), "single cells"
    if workload.cells < 2 or not (workload.rows.sum(axis=1) > 1).any():
        return
    tree = None
    if workload.ends is not None and workload.cells >= _LEAST_TREE:
        tree = TreeSearch(workload, gaussian).best(_CHANGES if seconds >= _LONG else 1)
        if len(tree.sizes) > 1:
            strategy = integer_tree(workload.cells, tree)
            yield strategy, strategy_text(strategy)
    if gaussian:
        yield from _gaussian_candidates(workload, seconds)
        return
    if tree is not None:
        bumps = optimise_p_identity(workload, tree, seconds=seconds * 0.7)
        if bumps is not None:
            strategy = integer_p_identity(bumps.rows)
            yield strategy, strategy_text(strategy)
    begun = list(starts)
    if workload.rows.size <= MOST_ENTRIES:
        begun = [[workload.rows * (2 * questions)[:, None]], *begun]
    for levels in begun:
        improved = improve_rows(
            workload, levels, np.ones(len(levels)), seconds=seconds * (0.3 if tree is not None else 1.0) / len(begun)
        )
        if improved is not None:
            strategy = integer_p_identity(improved.rows)
            yield strategy, strategy_text(strategy)


def _gaussian_candidates(workload: SumWorkload, seconds: float) -> Iterator[tuple[Strategy, str]]:
    factored = factorisation(workload, seconds=seconds) if workload.cells**2 <= _MOST_ENTRIES else None
    if factored is not None:
        strategy = integer_matrix(factored.matrix)
        yield strategy, strategy_text(strategy)
    if workload.queries < workload.cells or factored is None:
        combinations = low_rank_factorisation(workload, seconds=seconds)
        if combinations is not None:
            strategy = _combined(workload, combinations)
            yield strategy, strategy_text(strategy)


def _combined(workload: SumWorkload, combinations: Floats) -> Strategy:
    """Whole-number combinations of queries, so that these follow from them still: columns are about so long."""
    whole = np.rint(combinations * _COMBINED)
    rows = whole @ workload.rows
    kept = np.abs(rows).max(axis=1) > 0
    return MatrixStrategy(rows[kept].astype(np.int64))


def question_strategy(workload: SumWorkload, weights: Floats) -> Strategy:
    """Every question by itself, with whole-number weights."""
    whole = np.maximum(1, np.rint(weights / weights.max() * _QUESTION)).astype(np.int64)
    whole //= math.gcd(*whole.tolist())
    return MatrixStrategy(workload.rows * whole[:, None])
