"""Merged cells against their own matrix."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.mechanisms.strategy.cell_merge import MergeStrategy
from discreet.mechanisms.strategy.strategy import DiagonalStrategy, MatrixStrategy
from discreet.mechanisms.strategy.tree_levels import LevelStrategy
from tiers import examples

INNER = (
    LevelStrategy(3, ((1, 2), (2, 3))),
    DiagonalStrategy(np.array([1, 5, 2])),
    MatrixStrategy(np.array([[1, -2, 3], [0, 4, -1]])),
)


@given(st.sampled_from(INNER), st.lists(st.integers(-1, 2), min_size=1, max_size=9), st.data())
@settings(max_examples=examples(150), deadline=None)
def test_columns_and_sums_are_those_of_the_matrix(inner, groups, data):
    merged = MergeStrategy(np.array(groups), inner)
    matrix = merged.matrix()
    columns = np.concatenate([inner.matrix(), np.zeros((inner.rows, 1), dtype=int)], axis=1)
    assert np.array_equal(matrix, columns[:, groups])
    assert np.abs(matrix).sum(axis=0).tolist() == [int(each) for each in merged.column_l1]
    assert (matrix**2).sum(axis=0).tolist() == [int(each) for each in merged.column_l2_squared]
    assert np.abs(matrix).max(initial=0) <= merged.largest
    counts = np.array(data.draw(st.lists(st.integers(0, 10**6), min_size=len(groups), max_size=len(groups))))
    assert merged.apply(counts).tolist() == (matrix @ counts).tolist()


def test_a_strategy_that_reads_no_cell_measures_nothing():
    with pytest.raises(ValueError, match="measures nothing"):
        MergeStrategy(np.array([-1, -1]), INNER[0]).sensitivity(1)


def test_groups_that_are_none_are_refused():
    for groups in ([3], [-2], []):
        with pytest.raises(ValueError):
            MergeStrategy(np.array(groups, dtype=np.int64), INNER[0])
