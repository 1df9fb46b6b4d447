"""What a strategy makes of a workload: the exact mean variance, and what no strategy goes below."""

from __future__ import annotations

import math

import numpy as np

from discreet.inference.linear.product_solver import ProductSolver
from discreet.inference.linear.solvers import Solver
from discreet.inference.strategy_choice.workload import AllRanges, GivenRanges, Prefixes, ProductWorkload, Workload
from discreet.mechanisms.strategy.strategy import Strategy

#: Beyond so many cells the singular values of given ranges are bounded, not computed.
_DENSE = 1024


def mean_variance(workload: Workload, solver: Solver) -> float:
    """The mean over the queries of the variance of their least-squares answers, where every row has variance 1."""
    match workload:
        case ProductWorkload():
            if not isinstance(solver, ProductSolver):
                raise TypeError("boxes need a product strategy")
            first, second = solver.factors
            return mean_variance(workload.first, first) * mean_variance(workload.second, second)
        case GivenRanges():
            return float(solver.range_variances(workload.lows, workload.highs).mean())
        case Prefixes():
            return solver.prefix_total() / workload.size
        case AllRanges():
            # With P_j the estimated prefixes, P_0 = 0: over all i < j, the variances of P_j - P_i add up to
            # (n + 1) times those of the P_j, less that of their sum.
            size = workload.size
            apart = solver.prefix_total() * (size + 1)
            return (apart - solver.variance_of(np.arange(float(size), 0, -1))) / workload.queries
        case _:
            raise TypeError("an unknown workload")


def sensitivity_squared(strategy: Strategy, *, gaussian: bool) -> float:
    """The square of how far one row moves the strategy: in length for a Gaussian, in total for Laplace noise."""
    moves = strategy.sensitivity(1)
    return float(moves.l2_squared) if gaussian else float(moves.l1) ** 2


def singular_bound(workload: Workload) -> float:
    """The singular value bound: no strategy of l2 sensitivity 1 has a smaller mean variance, nor one of l1
    sensitivity 1, whose l2 sensitivity is no larger.

    Because: (sum of the singular values of W)^2 / cells (Li and Miklau 2013).
    """
    match workload:
        case ProductWorkload():
            return singular_bound(workload.first) * singular_bound(workload.second)
        case AllRanges():
            # W'W is (n + 1) times the inverse of the second difference, whose eigenvalues are 4 sin^2.
            angles = np.arange(1, workload.size + 1) * (math.pi / (2 * (workload.size + 1)))
            total = math.sqrt(workload.size + 1) * float((1 / (2 * np.sin(angles))).sum())
        case Prefixes():
            angles = (2 * np.arange(1, workload.size + 1) - 1) * (math.pi / (2 * (2 * workload.size + 1)))
            total = float((1 / (2 * np.sin(angles))).sum())
        case _ if workload.cells <= _DENSE:
            values = np.linalg.eigvalsh(workload.gram())
            # Below this a value is rounding; leaving it out keeps the bound a bound.
            total = float(np.sqrt(values[values > 1e-9 * values[-1]]).sum())
        case _:
            # The square of a sum of what is not negative is at least the sum of the squares.
            total = math.sqrt(float(workload.uses().sum()))
    return total**2 / workload.cells / workload.queries
