"""Strategies against their own matrices: norms, exact sums, and mutants whose norms are wrong."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.mechanisms.strategy.strategy import (
    DiagonalStrategy,
    GroupStrategy,
    IdentityStrategy,
    MatrixStrategy,
    ProductStrategy,
    StackStrategy,
    Strategy,
)
from discreet.mechanisms.strategy.tree_levels import LevelStrategy
from tiers import examples


def small(cells: int) -> st.SearchStrategy[Strategy]:
    entries = st.lists(st.lists(st.integers(-5, 5), min_size=cells, max_size=cells), min_size=1, max_size=4)
    return st.one_of(
        st.just(IdentityStrategy(cells)),
        st.lists(st.integers(0, 3), min_size=cells, max_size=cells).map(lambda g: GroupStrategy(np.array(g), 4)),
        entries.map(lambda rows: MatrixStrategy(np.array(rows, dtype=np.int64))),
        st.lists(st.integers(0, 9), min_size=cells, max_size=cells).map(lambda w: DiagonalStrategy(np.array(w))),
        st.sampled_from([((1, 2), (2, 3)), ((1, 1), (3, 2), (6, 5)), ((2, 1),)]).map(lambda x: LevelStrategy(cells, x)),
    )


kinds = st.one_of(
    st.integers(1, 8).flatmap(small),
    st.integers(1, 5).flatmap(
        lambda n: st.lists(small(n), min_size=1, max_size=3).map(lambda p: StackStrategy(tuple(p)))
    ),
    st.lists(st.integers(1, 3).flatmap(small), min_size=1, max_size=3).map(lambda f: ProductStrategy(tuple(f))),
)


@given(kinds, st.data())
@settings(max_examples=examples(300), deadline=None)
def test_columns_and_sums_are_those_of_the_matrix(strategy, data):
    matrix = strategy.matrix()
    assert matrix.shape == (strategy.rows, strategy.cells)
    assert np.abs(matrix).sum(axis=0).tolist() == [int(each) for each in strategy.column_l1]
    assert (matrix**2).sum(axis=0).tolist() == [int(each) for each in strategy.column_l2_squared]
    assert np.abs(matrix).max() <= strategy.largest
    counts = np.array(data.draw(st.lists(st.integers(0, 10**6), min_size=strategy.cells, max_size=strategy.cells)))
    assert strategy.apply(counts).tolist() == (matrix @ counts).tolist()


def test_products_are_kronecker_products():
    one, two = MatrixStrategy(np.array([[1, 2], [3, -4], [0, 1]])), LevelStrategy(3, ((1, 2), (3, 1)))
    assert (ProductStrategy((one, two)).matrix() == np.kron(one.matrix(), two.matrix())).all()


@given(kinds, st.integers(1, 4), st.data())
@settings(max_examples=examples(200), deadline=None)
def test_a_unit_moves_what_is_measured_by_no_more_and_sometimes_by_as_much(strategy, rows, data):
    if not max(strategy.column_l1):
        with pytest.raises(ValueError, match="measures nothing"):
            strategy.sensitivity(rows)
        return
    moves, matrix = strategy.sensitivity(rows), strategy.matrix()
    places = data.draw(st.lists(st.integers(0, strategy.cells - 1), min_size=rows, max_size=rows))
    change = matrix[:, places].sum(axis=1)
    assert np.abs(change).sum() <= moves.l1 and (change**2).sum() <= moves.l2_squared
    worst = rows * matrix[:, int(np.argmax(np.abs(matrix).sum(axis=0)))]
    assert np.abs(worst).sum() == moves.l1
    longest = rows * matrix[:, int(np.argmax((matrix**2).sum(axis=0)))]
    assert (longest**2).sum() == moves.l2_squared


def test_huge_counts_are_summed_exactly():
    counts = np.array([2**61, 2**61, 2**61, 7])
    found = LevelStrategy(4, ((1, 3), (4, 2))).apply(counts)
    assert [int(each) for each in found] == [3 * 2**61, 3 * 2**61, 3 * 2**61, 21, 2 * (3 * 2**61 + 7)]


def test_levels_that_do_not_nest_are_refused():
    for levels in (((2, 1), (3, 1)), ((2, 1), (2, 1)), (), ((1, 0),)):
        with pytest.raises(ValueError):
            LevelStrategy(8, levels)
