"""n I - J against its own matrix."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.mechanisms.strategy.contrasts import ContrastStrategy
from discreet.mechanisms.strategy.strategy import IdentityStrategy, ProductStrategy
from tiers import examples


@given(st.integers(2, 9), st.lists(st.integers(2, 4), max_size=2), st.data())
@settings(max_examples=examples(60))
def test_columns_and_sums_are_those_of_the_matrix(size, others, data):
    strategy = ProductStrategy((ContrastStrategy(size), *map(ContrastStrategy, others), IdentityStrategy(2)))
    matrix = strategy.matrix()
    assert np.abs(matrix).sum(axis=0).tolist() == strategy.column_l1.tolist()
    assert (matrix**2).sum(axis=0).tolist() == strategy.column_l2_squared.tolist()
    assert np.abs(matrix).max() == strategy.largest
    counts = np.array(data.draw(st.lists(st.integers(0, 10**6), min_size=strategy.cells, max_size=strategy.cells)))
    assert strategy.apply(counts).tolist() == (matrix @ counts).tolist()
    assert strategy.sensitivity(3).l2_squared == 9 * int((matrix**2).sum(axis=0).max())


@pytest.mark.parametrize("size", [2, 3, 10])
def test_it_is_n_times_the_projection_onto_contrasts(size):
    matrix = ContrastStrategy(size).matrix()
    assert (matrix @ matrix == size * matrix).all()
    assert (matrix.sum(axis=0) == 0).all()
    assert np.linalg.matrix_rank(matrix) == size - 1


def test_huge_counts_are_combined_exactly():
    counts = np.array([2**61, 2**60, 3])
    found = ProductStrategy((ContrastStrategy(3),)).apply(counts)
    total = 2**61 + 2**60 + 3
    assert [int(each) for each in found] == [3 * int(count) - total for count in counts]
    near = np.array([2**62 - 1, 0])  # the last that is combined in 64 bits
    assert [int(each) for each in ContrastStrategy(2).apply(near)] == [2**62 - 1, 1 - 2**62]


def test_one_cell_has_no_contrast():
    with pytest.raises(ValueError, match="one cell"):
        ContrastStrategy(1)
