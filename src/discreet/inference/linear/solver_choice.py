"""Least squares for any strategy: which solver it has."""

from __future__ import annotations

from discreet.inference.linear.dense_solver import DenseSolver
from discreet.inference.linear.levels_solver import LevelsSolver
from discreet.inference.linear.merged_solver import MergedSolver
from discreet.inference.linear.product_solver import ProductSolver
from discreet.inference.linear.solver_interface import Solver
from discreet.inference.linear.woodbury_solver import WoodburySolver
from discreet.mechanisms.strategy.cell_merge import MergeStrategy
from discreet.mechanisms.strategy.strategy import (
    DiagonalStrategy,
    IdentityStrategy,
    MatrixStrategy,
    ProductStrategy,
    StackStrategy,
    Strategy,
)
from discreet.mechanisms.strategy.tree_levels import LevelStrategy

__all__ = ["Solver", "solver_for"]


def solver_for(strategy: Strategy) -> Solver:
    """The solver for a strategy. Refuses one that leaves a cell undetermined, unless it merges cells on purpose."""
    match strategy:
        case IdentityStrategy():
            return LevelsSolver(LevelStrategy(strategy.size, ((1, 1),)))
        case LevelStrategy():
            return LevelsSolver(strategy)
        case StackStrategy(parts=(DiagonalStrategy(), MatrixStrategy())):
            return WoodburySolver(strategy)
        case ProductStrategy():
            return ProductSolver(strategy, [solver_for(factor) for factor in strategy.factors])
        case MergeStrategy():
            return MergedSolver(strategy, solver_for(strategy.inner))
        case _:
            return DenseSolver(strategy)
