"""Sums over cells: their workload, the weights that make them, tables of a grid, questions by themselves."""

import itertools

import numpy as np
import pytest

from discreet.inference.linear import row_weights as weights_module
from discreet.inference.linear.row_weights import float_matrix, row_weights
from discreet.inference.strategy_choice.question_weights import question_weights
from discreet.inference.strategy_choice.scaled_strategy import scaled_strategy, shared_budget, stacked
from discreet.inference.strategy_choice.sum_plan import plan_sums, sum_error
from discreet.inference.strategy_choice.sum_workload import SumWorkload
from discreet.inference.strategy_choice.table_weights import residual_costs, table_information, weigh_tables
from discreet.mechanisms.strategy.cell_merge import MergeStrategy
from discreet.mechanisms.strategy.strategy import (
    DiagonalStrategy,
    GroupStrategy,
    IdentityStrategy,
    MatrixStrategy,
    ProductStrategy,
    StackStrategy,
)
from discreet.mechanisms.strategy.tree_levels import LevelStrategy
from tiers import size

GROUPS = np.array([0, 0, 1, -1, 2, 1])
STRATEGIES = [
    IdentityStrategy(6),
    DiagonalStrategy(np.array([1, 2, 3, 4, 5, 6])),
    LevelStrategy(6, ((1, 2), (2, 1), (4, 3))),
    LevelStrategy(6, ((2, 1), (4, 3))),
    GroupStrategy(np.array([0, 1, 1, 0, 2, 2]), 3),
    MatrixStrategy(np.array([[1, 2, 0, 0, 1, 0], [0, 1, 1, -1, 0, 3]])),
    StackStrategy((DiagonalStrategy(np.array([1, 2, 3, 4, 5, 6])), MatrixStrategy(np.ones((2, 6), dtype=np.int64)))),
    StackStrategy((GroupStrategy(np.array([0, 1, 1, 0, 2, 2]), 3), MatrixStrategy(np.arange(12).reshape(2, 6)))),
    MergeStrategy(GROUPS, LevelStrategy(3, ((1, 1), (4, 2)))),
    StackStrategy((
        MergeStrategy(np.array([0, 1, -1, -1, -1, -1]), IdentityStrategy(2)),
        MergeStrategy(np.array([-1, -1, 0, 1, 1, 2]), LevelStrategy(3, ((1, 5), (4, 2)))),
    )),
    StackStrategy((
        MergeStrategy(np.array([0, 0, 0, 1, 1, 1]), DiagonalStrategy(np.array([3, 3]))),
        MergeStrategy(np.array([0, 1, 2, 0, 1, 2]), IdentityStrategy(3)),
    )),
    ProductStrategy((LevelStrategy(2, ((1, 1), (2, 1))), LevelStrategy(3, ((1, 2), (4, 1))))),
]  # fmt: skip


def determined(strategy, draw, count=8):
    """Sums that follow from the strategy's rows, box-like ones among them."""
    return draw.integers(-2, 3, (count, strategy.rows)) @ strategy.matrix().astype(np.float64)


@pytest.mark.parametrize("entries", [2**22, 0])
@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda own: type(own).__name__)
def test_weights_are_those_of_least_squares(monkeypatch, strategy, entries):
    monkeypatch.setattr(weights_module, "_DENSE_ENTRIES", entries)
    monkeypatch.setattr(weights_module, "_FEW_LEVELS", 1 if not entries else 4)
    monkeypatch.setattr(weights_module, "_MANY", 1 if not entries else 1024)
    matrix = strategy.matrix().astype(np.float64)
    assert (float_matrix(strategy) == matrix).all()
    sums = determined(strategy, np.random.default_rng(3))
    own = row_weights(strategy)
    expected = sums @ np.linalg.pinv(matrix, rcond=1e-11)
    assert np.allclose(own.weights(sums) @ matrix, sums, atol=1e-9)
    assert np.allclose(own.weights(sums), expected, atol=1e-8)
    assert np.allclose(own.variances(sums), (expected**2).sum(axis=1), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("strategy", [STRATEGIES[4], STRATEGIES[5], STRATEGIES[10], STRATEGIES[9]])
@pytest.mark.parametrize("entries", [2**22, 0])
def test_a_sum_that_does_not_follow_is_refused(monkeypatch, strategy, entries):
    monkeypatch.setattr(weights_module, "_DENSE_ENTRIES", entries)
    with pytest.raises(ValueError, match="does not determine"):
        row_weights(strategy).weights(np.array([[1.0, 0, 0, 1, 0, 1]]))


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda own: type(own).__name__)
def test_scaled(strategy):
    assert (scaled_strategy(strategy, 7).matrix() == 7 * strategy.matrix()).all()


def ranges(cells, count, draw):
    ends = np.sort(draw.integers(0, cells, (count, 2)), axis=1)
    place = np.arange(cells)
    return (place >= ends[:, :1]) & (place <= ends[:, 1:])


@pytest.mark.parametrize("cells", [7, 300])
@pytest.mark.parametrize("kind", ["ranges", "any"])
def test_workloads_multiply_as_their_gram_matrix(cells, kind):
    draw = np.random.default_rng(1)
    rows = ranges(cells, 40, draw) if kind == "ranges" else draw.random((40, cells)) < 0.3
    rows = rows[rows.any(axis=1)]
    workload = SumWorkload(rows, draw.random(len(rows)) + 0.1)
    gram = (rows * workload.weights[:, None]).T @ rows.astype(np.float64)
    values = draw.random((3, cells))
    assert np.allclose(workload.gram(), gram) and np.allclose(workload.uses(), gram.diagonal())
    assert np.allclose(workload.times(values), values @ gram)
    block = np.kron(np.eye(-(-cells // 4)), np.ones((4, 4)) / 4)[:cells, :cells]
    assert workload.block_energy(4) == pytest.approx(float(np.trace(block @ gram)))


@pytest.mark.parametrize("gaussian", [False, True])
def test_questions_fill_no_cell_beyond_one(gaussian):
    draw = np.random.default_rng(2)
    for _ in range(20):
        rows = draw.random((12, 15)) < 0.3
        rows[:, 0] |= ~rows.any(axis=1)
        weights = question_weights(rows, np.ones(12), gaussian=gaussian)
        loads = (weights ** (2 if gaussian else 1)) @ rows
        assert loads.max() == pytest.approx(1)
        even = 12 * float(rows.sum(axis=0).max()) ** (1 if gaussian else 2)
        assert float((1 / weights**2).sum()) <= even * (1 + 1e-6)


@pytest.mark.parametrize("gaussian", [False, True])
def test_tables_of_a_grid_have_the_error_that_is_computed(gaussian):
    sizes = (2, 3, 4)
    draw = np.random.default_rng(5)
    sides = [draw.random((9, own)) < 0.6 for own in sizes]
    for side in sides:
        side[:, 0] |= ~side.any(axis=1)
    rows = np.array([np.multiply.outer(np.multiply.outer(a, b), c).ravel() for a, b, c in zip(*sides, strict=True)])
    costs = residual_costs(sizes, [side.astype(np.float64) for side in sides], np.ones(9))
    tables = weigh_tables(sizes, costs, [(0, 1, 2)], gaussian=gaussian)
    promised = sum(
        cost / sum(own.share**2 * table_information((own.axes, own.signed), subset, sizes) for own in tables)
        for subset, cost in costs.items()
        if cost > 1e-9
    )
    matrix = np.concatenate([own.share * table_rows(own, sizes) for own in tables])
    weights = rows @ np.linalg.pinv(matrix)
    assert promised == pytest.approx(float((weights**2).sum()), rel=1e-6)
    assert sum(own.share ** (2 if gaussian else 1) for own in tables) == pytest.approx(1)


def table_rows(table, sizes):
    rows = np.ones((1, 1))
    for axis, own in enumerate(sizes):
        factor = np.array([[1.0, -1.0]]) if axis in table.signed else np.eye(own)
        rows = np.kron(rows, factor if axis in table.axes else np.ones((1, own)))
    return rows


def test_a_budget_is_shared_for_the_least_sum():
    errors = [1.0, 5.0, 30.0]
    for gaussian, power in ((False, 1), (True, 2)):
        best = shared_budget(errors, gaussian=gaussian)
        value = sum(np.array(errors) / best**2)
        for one, two in itertools.permutations(range(3), 2):
            other = best.copy()
            other[one] = (other[one] ** power * 1.02) ** (1 / power)
            other[two] = (1 - (np.delete(other, two) ** power).sum()) ** (1 / power)
            assert sum(np.array(errors) / other**2) > value


def test_stacked_strategies_have_the_sensitivities_that_are_wished():
    both = stacked([(IdentityStrategy(4), 0.25), (LevelStrategy(4, ((1, 3), (2, 2))), 0.75)], gaussian=False)
    one, two = (part.sensitivity(1).l1 for part in both.parts)
    assert one / two == pytest.approx(1 / 3, rel=0.02)


@pytest.mark.parametrize("largest", [2**23, 2**27, 2**30, 2**31])
def test_a_matrix_that_is_stacked_stays_moderate(largest):
    """300 boxes of 64 by 64 cells under Gaussian noise had one of 2^24 and more, and could not be planned."""
    matrix = MatrixStrategy(np.full((1, 4), largest, dtype=np.int64))
    for share in (0.5, 0.05):
        both = stacked([(matrix, 1 - share), (IdentityStrategy(4), share)], gaussian=True)
        assert (both is None) == (largest == 2**31)
        if both is not None:
            one, two = (part.sensitivity(1).l2_squared for part in both.parts)
            assert two / one == pytest.approx((share / (1 - share)) ** 2, rel=0.05)


@pytest.mark.parametrize("gaussian", [False, True])
def test_plans_of_sums_beat_cells_and_questions(gaussian):
    draw = np.random.default_rng(9)
    for cells, count in itertools.product((5, 24), (3, 30)):
        for _ in range(size(1, 10)):
            workload = SumWorkload(ranges(cells, count, draw), draw.random(count) + 0.1)
            plan = plan_sums(workload, gaussian=gaussian, seconds=0.05)
            questions = question_weights(workload.rows, workload.weights, gaussian=gaussian)
            assert plan.error <= sum_error(workload, IdentityStrategy(cells), gaussian=gaussian) * (1 + 1e-9)
            assert plan.error <= float((workload.weights / questions**2).sum()) * 1.002
