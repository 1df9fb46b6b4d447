"""A strategy in one line, for people."""

from __future__ import annotations

from discreet.mechanisms.strategy.strategy import (
    DiagonalStrategy,
    IdentityStrategy,
    MatrixStrategy,
    StackStrategy,
    Strategy,
)
from discreet.mechanisms.strategy.tree_levels import LevelStrategy


def strategy_text(strategy: Strategy) -> str:
    """What is measured.

    >>> strategy_text(LevelStrategy(1024, ((1, 100), (16, 70), (128, 68))))
    'single cells, blocks of 16 (weight 0.70), blocks of 128 (weight 0.68)'
    """
    match strategy:
        case IdentityStrategy():
            return "single cells"
        case LevelStrategy():
            first = strategy.levels[0][1]
            return ", ".join(_level(size, weight / first, strategy.size) for size, weight in strategy.levels)
        case StackStrategy(parts=(DiagonalStrategy(), MatrixStrategy() as wide)):
            return f"single cells, and {wide.rows:,} overlapping weighted sum{'s' * (wide.rows > 1)}"
        case MatrixStrategy():
            return f"{strategy.rows:,} weighted sums of many cells, close to the best there are"
        case _:
            return f"{strategy.rows:,} sums"


def _level(size: int, weight: float, cells: int) -> str:
    if size == 1:
        return "single cells"
    name = "all cells together" if size >= cells else f"blocks of {size:,}"
    return name if abs(weight - 1) < 0.005 else f"{name} (weight {weight:.2f})"
