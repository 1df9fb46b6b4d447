"""How far a row moves what a strategy measures: the checker's norms are those of the columns of the matrix itself."""

import importlib
import json

import numpy as np
import pytest

from discreet.mechanisms.strategy.cell_merge import MergeStrategy
from discreet.mechanisms.strategy.strategy import (
    DiagonalStrategy,
    GroupStrategy,
    IdentityStrategy,
    MatrixStrategy,
    ProductStrategy,
    StackStrategy,
)
from discreet.mechanisms.strategy.strategy_data import strategy_to_data
from discreet.mechanisms.strategy.tree_levels import LevelStrategy
from verify.forger import rules

MATRIX = MatrixStrategy(np.array([[1, 2, -3], [4, 0, 6]]))
LEVELS = LevelStrategy(6, ((1, 1), (2, 3), (6, 2)))
DIAGONAL = DiagonalStrategy(np.array([5, -1, 2]))
STRATEGIES = [
    IdentityStrategy(3),
    MATRIX,
    LEVELS,
    DIAGONAL,
    GroupStrategy(np.array([0, 1, 1, 0, 2]), 3),
    MergeStrategy(np.array([2, 0, -1, 2]), MATRIX),
    StackStrategy((MATRIX, DIAGONAL, IdentityStrategy(3))),
    ProductStrategy((MATRIX, LEVELS, DIAGONAL)),
    StackStrategy(
        (ProductStrategy((DIAGONAL, MATRIX)), MergeStrategy(np.array([0, 1, 2, 0, 1, 2, -1, 1, 0]), DIAGONAL))
    ),
]


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda one: type(one).__name__)
def test_norms_are_those_of_the_columns(strategy):
    rules()
    strategies = importlib.import_module("strategies")
    columns = strategy.matrix().T.tolist()
    wanted = [(sum(map(abs, column)), sum(each**2 for each in column)) for column in columns]
    made = len(strategy.matrix())
    assert strategies.norms(json.loads(json.dumps(strategy_to_data(strategy)))) == (wanted, made)
