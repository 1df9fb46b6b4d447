"""Counters: causal, each number once, estimates that are brute-force least squares, errors as stated, weights at best."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.mechanisms.strategy.tree_levels import LevelStrategy
from discreet.tables.stream.square_root_counter import SquareRootCounter
from discreet.tables.stream.stored_counters import counter_of
from discreet.tables.stream.tree_counter import TreeCounter, best_tree

COUNTERS = [
    *(SquareRootCounter(size) for size in (1, 2, 3, 17, 40)),
    *(best_tree(size) for size in (1, 2, 5, 13)),
    best_tree(40),
    TreeCounter(13, ((1, 3), (2, 2), (4, 5), (8, 1))),
    TreeCounter(27, ((1, 4), (3, 3), (9, 2), (27, 1))),
    TreeCounter(10, ((1, 1), (5, 2))),
    TreeCounter(11, ((1, 7), (2, 3), (6, 4))),
]


def known(counter, last):
    """The rows drawn by the end of a step, in the order drawn."""
    return [row for step in range(last + 1) for row in counter.due(step)]


@pytest.mark.parametrize("counter", COUNTERS, ids=lambda c: f"{type(c).__name__}{c.horizon}")
def test_every_number_is_drawn_once_and_reads_no_later_step(counter):
    matrix = counter.strategy.matrix()
    assert sorted(known(counter, counter.horizon - 1)) == list(range(counter.strategy.rows))
    for step in range(counter.horizon):
        assert not matrix[counter.due(step)][:, step + 1 :].any()
        steps = list(range(3, 4 + step))
        ahead = np.zeros(counter.horizon, dtype=np.int64)
        ahead[: step + 1] = steps
        assert counter.exact(steps).tolist() == (matrix @ ahead)[counter.due(step)].tolist()


@pytest.mark.thin(6)
@pytest.mark.parametrize("counter", COUNTERS, ids=lambda c: f"{type(c).__name__}{c.horizon}")
def test_estimates_are_least_squares_from_what_is_known(counter):
    matrix = counter.strategy.matrix().astype(float)
    for last in range(counter.horizon):
        drawn = matrix[known(counter, last)][:, : last + 1]
        best = np.linalg.pinv(drawn)
        for first in range(last + 1):
            reading = counter.estimate_weights(first, last)
            wanted = np.zeros(last + 1)
            wanted[first:] = 1.0
            assert np.allclose(reading @ drawn, wanted, atol=1e-9)  # unbiased
            if (
                isinstance(counter, SquareRootCounter) or last + 1 < counter.horizon
            ):  # a block cut short at the end is not used
                assert np.allclose(reading, best[first:].sum(axis=0), rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("counter", COUNTERS, ids=lambda c: f"{type(c).__name__}{c.horizon}")
def test_variances_of_totals(counter):
    slow = [
        float(reading @ reading) for reading in (counter.estimate_weights(0, step) for step in range(counter.horizon))
    ]
    assert np.allclose(counter.total_variances(), slow, rtol=1e-9)


def test_the_stream_of_the_issue():
    """zCDP rho 0.5, 1024 steps: sigma is the longest column, so an error is the root of variance times that."""
    root = SquareRootCounter(1024)
    errors = root.total_variances() * root.strategy.sensitivity(1).l2_squared
    assert np.sqrt(errors.mean()) <= 2.992 < 3.11
    assert np.sqrt(errors.max()) <= 3.082 < 3.273


def test_the_pure_stream():
    """epsilon 1, 1024 steps: a tree of levels with weights of their own; the lecture's has 34.8."""
    tree = best_tree(1024)
    errors = 2.0 * tree.total_variances() * float(tree.strategy.sensitivity(1).l1) ** 2
    assert np.sqrt(errors.mean()) <= 15.07
    binary = TreeCounter(1024, tuple((2**level, 1) for level in range(11)))
    assert np.sqrt((2.0 * binary.total_variances() * 11**2).mean()) > 25


def test_no_small_change_of_weights_is_better():
    tree = best_tree(365)

    def cost(levels):
        found = TreeCounter(365, levels)
        return float(found.total_variances().mean()) * found.strategy.sensitivity(1).l1 ** 2

    best = cost(tree.levels)
    for place in range(len(tree.levels)):
        for factor in (0.9, 1.1):
            levels = tuple((b, round(w * factor) if i == place else w) for i, (b, w) in enumerate(tree.levels))
            assert cost(levels) > best


def test_a_level_that_is_not_paid_for_would_be_caught():
    """The classic mistake: the noise of one level at every level. The strategy's own column says otherwise."""
    tree = TreeCounter(8, ((1, 1), (2, 1), (4, 1), (8, 1)))
    assert isinstance(tree.strategy, LevelStrategy)
    moved = np.abs(tree.strategy.matrix()[:, 3]).sum()
    assert moved == tree.strategy.sensitivity(1).l1 == 4


@pytest.mark.parametrize("counter", [SquareRootCounter(9), best_tree(60)])
def test_stored_and_read_back(counter):
    again = counter_of(counter.to_data())
    assert (again.strategy.matrix() == counter.strategy.matrix()).all()


def test_another_matrix_under_the_same_words_is_refused():
    from discreet.errors import LedgerFault

    kind, size, _ = SquareRootCounter(9).to_data()
    with pytest.raises(LedgerFault, match="was charged"):
        counter_of([kind, size, "0" * 64])
