"""How far a row moves what a strategy measures: the checker's norms are those of the columns of the matrix itself."""

import json

import numpy as np
import pytest

from discreet.mechanisms.strategy.keeping import kept
from discreet.mechanisms.strategy.levels import Levels
from discreet.mechanisms.strategy.merged import Merged
from discreet.mechanisms.strategy.strategy import Diagonal, Groups, Identity, Matrix, Product, Stack
from verify.forger import rules

MATRIX = Matrix(np.array([[1, 2, -3], [4, 0, 6]]))
LEVELS = Levels(6, ((1, 1), (2, 3), (6, 2)))
DIAGONAL = Diagonal(np.array([5, -1, 2]))
STRATEGIES = [
    Identity(3),
    MATRIX,
    LEVELS,
    DIAGONAL,
    Groups(np.array([0, 1, 1, 0, 2]), 3),
    Merged(np.array([2, 0, -1, 2]), MATRIX),
    Stack((MATRIX, DIAGONAL, Identity(3))),
    Product((MATRIX, LEVELS, DIAGONAL)),
    Stack((Product((DIAGONAL, MATRIX)), Merged(np.array([0, 1, 2, 0, 1, 2, -1, 1, 0]), DIAGONAL))),
]


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda one: type(one).__name__)
def test_norms_are_those_of_the_columns(strategy):
    _, measured = rules()
    columns = strategy.matrix().T.tolist()
    wanted = [(sum(map(abs, column)), sum(each**2 for each in column)) for column in columns]
    assert measured.norms(json.loads(json.dumps(kept(strategy)))) == wanted
