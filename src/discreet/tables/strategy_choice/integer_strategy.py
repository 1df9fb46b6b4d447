"""Strategies in whole numbers: real weights times a power of two, rounded. Norms are taken after that."""

from __future__ import annotations

import math
from typing import cast

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms.strategy.strategy import (
    DiagonalStrategy,
    IdentityStrategy,
    MatrixStrategy,
    StackStrategy,
    Strategy,
)
from discreet.mechanisms.strategy.tree_levels import LevelStrategy
from discreet.tables.strategy_choice.level_trees import LevelTree

Floats = NDArray[np.float64]

#: The largest weight of a tree's level; a column's sum beside bumps; a column's length in a factorisation. Rounding
#: then costs less than a thousandth of the error.
_LEVEL, _COLUMN, _LENGTH = 2**10, 2**12, 2**14


def of_tree(cells: int, tree: LevelTree) -> Strategy:
    """A tree's levels. Weights in a simple ratio get small numbers."""
    weights = [max(1, round(weight * _LEVEL / max(tree.weights))) for weight in tree.weights]
    common = math.gcd(*weights)
    levels = tuple((size, weight // common) for size, weight in zip(tree.sizes, weights, strict=True))
    return IdentityStrategy(cells) if levels == ((1, 1),) else LevelStrategy(cells, levels)


def of_p_identity(rows: Floats) -> Strategy:
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


def of_matrix(matrix: Floats) -> Strategy:
    """A matrix whose columns have length 1."""
    return MatrixStrategy(cast("NDArray[np.int64]", np.rint(matrix * _LENGTH).astype(np.int64)))
