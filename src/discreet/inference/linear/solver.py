"""Least squares for any strategy: which solver it has."""

from __future__ import annotations

from discreet.inference.linear.dense import DenseSolver
from discreet.inference.linear.interface import Solver
from discreet.inference.linear.levels import LevelsSolver
from discreet.inference.linear.merged import MergedSolver
from discreet.inference.linear.product import ProductSolver
from discreet.inference.linear.woodbury import WoodburySolver
from discreet.mechanisms.strategy.levels import Levels
from discreet.mechanisms.strategy.merged import Merged
from discreet.mechanisms.strategy.strategy import Diagonal, Identity, Matrix, Product, Stack, Strategy

__all__ = ["Solver", "solver"]


def solver(strategy: Strategy) -> Solver:
    """The solver for a strategy. Refuses one that leaves a cell undetermined, unless it merges cells on purpose."""
    match strategy:
        case Identity():
            return LevelsSolver(Levels(strategy.size, ((1, 1),)))
        case Levels():
            return LevelsSolver(strategy)
        case Stack(parts=(Diagonal(), Matrix())):
            return WoodburySolver(strategy)
        case Product():
            return ProductSolver(strategy, [solver(factor) for factor in strategy.factors])
        case Merged():
            return MergedSolver(strategy, solver(strategy.inner))
        case _:
            return DenseSolver(strategy)
