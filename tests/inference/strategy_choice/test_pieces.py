"""The pieces of planning, each against dense algebra, and mutants that the checks catch."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.inference.linear.solvers import solver_for
from discreet.inference.strategy_choice import strategy_plan
from discreet.inference.strategy_choice.factorisation import factorisation
from discreet.inference.strategy_choice.level_trees import LevelTree, TreeSearch
from discreet.inference.strategy_choice.p_identity import error, optimise_p_identity
from discreet.inference.strategy_choice.strategy_plan import atoms
from discreet.inference.strategy_choice.workload import AllRanges, GivenRanges, Prefixes
from discreet.inference.strategy_choice.workload_error import mean_variance, sensitivity_squared
from tiers import examples


def dense_error(workload, rows: np.ndarray) -> float:
    columns = 1 + rows.sum(axis=0)
    matrix = np.vstack([np.eye(workload.cells), rows]) / columns
    return float(np.trace(workload.gram() @ np.linalg.inv(matrix.T @ matrix))) / workload.queries


@given(st.integers(2, 12), st.integers(1, 4), st.integers(0, 10**6))
@settings(max_examples=examples(40), deadline=None)
def test_the_error_beside_bumps_and_its_gradient_are_those_of_the_matrix(cells, count, seed):
    random = np.random.default_rng(seed)
    workload = AllRanges(cells) if seed % 2 else Prefixes(cells)
    rows, direction = random.random((count, cells)), random.normal(size=(count, cells))
    value, gradient = error(workload, workload.uses(), rows)
    assert value == pytest.approx(dense_error(workload, rows), rel=1e-9)
    step = 1e-5
    slope = (dense_error(workload, rows + step * direction) - dense_error(workload, rows - step * direction)) / (
        2 * step
    )
    assert float((gradient * direction).sum()) == pytest.approx(slope, rel=1e-4, abs=1e-6 * value)
    # A gradient that forgets the columns' scaling is seen.
    forgotten = gradient - gradient.mean()
    assert float((forgotten * np.abs(direction)).sum()) != pytest.approx(float((gradient * np.abs(direction)).sum()))


@given(st.lists(st.sampled_from([2, 3, 4]), min_size=0, max_size=3), st.integers(1, 3), st.booleans(), st.data())
@settings(max_examples=examples(60), deadline=None)
def test_the_error_of_an_even_tree_is_that_of_its_matrix(ratios, top, gaussian, data):
    sizes = tuple(int(size) for size in np.cumprod([1, *ratios]))
    cells = sizes[-1] * top
    workload = data.draw(st.sampled_from([AllRanges(cells), Prefixes(cells)]))
    logs = np.array(data.draw(st.lists(st.floats(-2, 2), min_size=len(sizes), max_size=len(sizes))))
    value, gradient = TreeSearch(workload, gaussian)._error(sizes, logs)
    rows = [
        math.exp(log) * np.kron(np.eye(cells // size), np.ones(size)) for log, size in zip(logs, sizes, strict=True)
    ]
    matrix = np.vstack(rows)
    norm = (matrix**2).sum(axis=0).max() if gaussian else matrix.sum(axis=0).max() ** 2
    truth = norm * np.trace(workload.gram() @ np.linalg.inv(matrix.T @ matrix)) / workload.queries
    assert math.exp(value) == pytest.approx(truth, rel=1e-9)
    for place in range(len(sizes)):
        step = np.zeros(len(sizes))
        step[place] = 1e-5
        ahead, behind = (TreeSearch(workload, gaussian)._error(sizes, logs + sign * step)[0] for sign in (1, -1))
        assert gradient[place] == pytest.approx((ahead - behind) / 2e-5, abs=1e-5)


def test_the_weights_of_a_tree_are_the_best_there_are():
    forest = TreeSearch(AllRanges(1024), False)
    tree = forest.tree((1, 16, 128))
    assert math.sqrt(2 * tree.variance) == pytest.approx(12.43, abs=0.005)
    for place in range(3):
        for factor in (0.95, 1.05):
            weights = np.array(tree.weights)
            weights[place] *= factor
            value, _ = forest._error(tree.sizes, np.log(weights))
            assert math.exp(value) > tree.variance


def test_levels_that_do_not_pay_are_dropped():
    tree = TreeSearch(AllRanges(1024), False).tree(tuple(2**k for k in range(11)))
    assert tree.sizes[0] == 1 and len(tree.sizes) < 11 and min(tree.weights) > 0.02


def test_bumps_are_better_than_the_tree_they_come_from():
    workload = AllRanges(256)
    tree = TreeSearch(workload, False).best(8)
    found = optimise_p_identity(workload, tree, seconds=0.2)
    assert found is not None
    assert found.variance == pytest.approx(dense_error(workload, found.rows), rel=1e-9)
    assert found.variance < 0.85 * tree.variance
    assert optimise_p_identity(workload, tree, seconds=0.0) is None
    assert (
        optimise_p_identity(AllRanges(2**20), LevelTree(sizes=(1, 2), weights=(1.0, 1.0), variance=1.0), seconds=9)
        is None
    )


@pytest.mark.deep
def test_bumps_are_found_where_no_tree_pays_and_where_the_tree_has_too_many_blocks():
    few, many = AllRanges(31), AllRanges(6000)
    tree = TreeSearch(few, False).best(8)
    found = optimise_p_identity(few, tree, seconds=0.1)
    assert tree.sizes == (1,) and found is not None and found.variance < 0.93 * tree.variance
    tree = TreeSearch(many, False).best(8)
    found = optimise_p_identity(many, tree, seconds=0.6)
    assert found is not None and found.variance < tree.variance


@pytest.mark.parametrize("workload", [AllRanges(90), Prefixes(90), GivenRanges(9, np.array([0, 2]), np.array([5, 8]))])
def test_a_factorisation_has_columns_of_length_one_and_the_error_it_says(workload):
    found = factorisation(workload, seconds=1.0)
    assert found is not None
    assert np.allclose((found.matrix**2).sum(axis=0), 1.0)
    truth = np.trace(workload.gram() @ np.linalg.inv(found.matrix.T @ found.matrix)) / workload.queries
    assert found.variance == pytest.approx(float(truth), rel=1e-5)
    assert found.lower_bound <= found.variance * (1 + 1e-9) <= 1.01 * found.lower_bound


def test_a_lower_bound_is_below_every_strategy_tried():
    workload = Prefixes(24)
    found = factorisation(workload, seconds=1.0)
    assert found is not None
    random = np.random.default_rng(5)
    for _ in range(200):
        matrix = found.matrix + 0.1 * random.normal(size=found.matrix.shape)
        matrix /= np.sqrt((matrix**2).sum(axis=0).max())
        tried = np.trace(workload.gram() @ np.linalg.inv(matrix.T @ matrix)) / workload.queries
        assert tried >= found.lower_bound


# --- whole numbers


@pytest.mark.deep
def test_rounding_costs_less_than_a_thousandth():
    for workload in (AllRanges(256), Prefixes(200)):
        tree = TreeSearch(workload, False).best(8)
        strategy = strategy_plan.integer_tree(workload.cells, tree)
        exact = mean_variance(workload, solver_for(strategy)) * sensitivity_squared(strategy, gaussian=False)
        assert math.sqrt(exact / tree.variance) < 1.001
        wide = optimise_p_identity(workload, tree, seconds=0.2)
        assert wide is not None
        strategy = strategy_plan.integer_p_identity(wide.rows)
        exact = mean_variance(workload, solver_for(strategy)) * sensitivity_squared(strategy, gaussian=False)
        assert math.sqrt(exact / wide.variance) < 1.001
        assert len(set(strategy.column_l1.tolist())) == 1
        best = factorisation(workload, seconds=1.0)
        assert best is not None
        strategy = strategy_plan.integer_matrix(best.matrix)
        exact = mean_variance(workload, solver_for(strategy)) * sensitivity_squared(strategy, gaussian=True)
        assert math.sqrt(exact / best.variance) < 1.001


def test_simple_ratios_get_small_numbers():
    strategy = strategy_plan.integer_tree(8, LevelTree(sizes=(1, 2, 4), weights=(1.0, 0.5, 0.5), variance=1.0))
    assert strategy.to_data() == ["levels", 8, [[1, 2], [2, 1], [4, 1]]]


def test_cells_drowned_by_wide_rows_are_not_rounded_away():
    strategy = strategy_plan.integer_p_identity(np.full((4, 4), 1e6))
    assert strategy.matrix()[:4].diagonal().tolist() == [1, 1, 1, 1] and strategy.sensitivity(1).l1 == 4097
    solver_for(strategy)


# --- atoms


@given(st.integers(1, 20), st.data())
@settings(max_examples=examples(80), deadline=None)
def test_atoms_tell_apart_what_the_ranges_do(cells, data):
    end = st.integers(0, cells - 1)
    pairs = data.draw(st.lists(st.tuples(end, end).map(sorted), min_size=1, max_size=5))
    workload = GivenRanges(cells, np.array([a for a, _ in pairs]), np.array([b for _, b in pairs]))
    groups, inner = atoms(workload)
    held = [tuple(low <= cell <= high for low, high in pairs) for cell in range(cells)]
    for cell in range(cells):
        assert (groups[cell] < 0) == (not any(held[cell]))
        assert (
            cell == 0
            or groups[cell] < 0
            or groups[cell - 1] < 0
            or (groups[cell] == groups[cell - 1]) == (held[cell] == held[cell - 1])
        )
    for (low, high), first, last in zip(pairs, inner.lows, inner.highs, strict=True):
        assert np.array_equal((groups >= first) & (groups <= last), [low <= cell <= high for cell in range(cells)])
