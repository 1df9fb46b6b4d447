"""Solvers against the pseudo-inverse of the matrix written out, and mutants that it catches."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.inference.linear.levels_solver import LevelsSolver
from discreet.inference.linear.range_ends import RangeEnds
from discreet.inference.linear.solver_interface import Solver
from discreet.inference.linear.solvers import WoodburySolver, solver_for
from discreet.inference.linear.tree_level import TreeLevel
from discreet.mechanisms.strategy.cell_merge import MergeStrategy
from discreet.mechanisms.strategy.strategy import (
    DiagonalStrategy,
    IdentityStrategy,
    MatrixStrategy,
    ProductStrategy,
    StackStrategy,
)
from discreet.mechanisms.strategy.tree_levels import LevelStrategy
from tiers import examples


def trees(cells: int) -> st.SearchStrategy[LevelStrategy]:
    ratios = st.lists(st.integers(2, 4), max_size=4)

    def planted(ratios: list[int], weights: list[int]) -> LevelStrategy:
        sizes = np.cumprod([1, *ratios]).tolist()
        return LevelStrategy(cells, tuple(zip(sizes, weights, strict=False)))

    return st.builds(planted, ratios, st.lists(st.integers(1, 9), min_size=5, max_size=5))


def numbers(rows: int, columns: int, low: int, high: int) -> st.SearchStrategy[np.ndarray]:
    line = st.lists(st.integers(low, high), min_size=columns, max_size=columns)
    return st.lists(line, min_size=rows, max_size=rows).map(lambda lines: np.array(lines, dtype=np.int64))


def wide(cells: int) -> st.SearchStrategy[StackStrategy]:
    return st.builds(
        lambda single, rows: StackStrategy((DiagonalStrategy(single[0]), MatrixStrategy(rows))),
        numbers(1, cells, 1, 9),
        numbers(3, cells, -4, 9),
    )


def dense(cells: int) -> st.SearchStrategy[MatrixStrategy]:
    return numbers(cells, cells, -3, 3).map(lambda m: MatrixStrategy(np.vstack([m, 5 * np.eye(cells, dtype=np.int64)])))


lines = st.integers(1, 29).flatmap(lambda n: st.one_of(trees(n), wide(n), dense(n), st.just(IdentityStrategy(n))))


def all_ranges(cells: int) -> tuple[np.ndarray, np.ndarray]:
    pairs = [(low, high) for low in range(cells) for high in range(low, cells)]
    return np.array([low for low, _ in pairs]), np.array([high for _, high in pairs])


def check(found: Solver) -> None:
    """What a solver of one axis says is what dense algebra says."""
    matrix = found.strategy.matrix().astype(float)
    inverse = np.linalg.pinv(matrix)
    cells, rows = found.strategy.cells, found.strategy.rows
    noisy = np.arange(rows) * 7919 % 1000 - 500
    assert np.allclose(found.fit(noisy), inverse @ noisy, atol=1e-6)
    assert np.allclose(found.fit_lines(np.stack([noisy, -2 * noisy]))[1], -2 * (inverse @ noisy), atol=1e-6)
    lows, highs = all_ranges(cells)
    place = np.arange(cells)
    queries = (place >= lows[:, None]) & (place <= highs[:, None])
    weights = queries @ inverse
    variances = (weights**2).sum(axis=1)
    assert np.allclose(found.range_variances(lows, highs), variances)
    assert np.isclose(found.prefix_total(), variances[lows == 0].sum())
    combination = np.cos(1.0 + place)
    assert np.isclose(found.variance_of(combination), ((combination @ inverse) ** 2).sum())
    shape = found.weight_profiles(lows, highs)
    assert np.allclose(shape.variance, variances)
    largest = -np.sort(-np.abs(weights), axis=1)[:, :8] / np.sqrt(variances)[:, None]
    for line, kept, times in zip(largest, shape.largest, shape.times, strict=True):
        listed = -np.sort(-np.repeat(kept, times.astype(int)))[: len(line)]
        assert np.allclose(listed, line[: len(listed)], atol=1e-6)
        assert len(listed) >= min(8, np.count_nonzero(line > 1e-9))
    assert np.allclose(shape.shares_on_grid().sum(axis=1), 1.0)


@given(lines)
@settings(max_examples=examples(60), deadline=None)
def test_solvers_of_one_axis_are_least_squares(strategy):
    check(solver_for(strategy))


@given(trees(23))
@settings(max_examples=examples(60), deadline=None)
def test_the_weights_of_a_tree_are_all_there(strategy):
    found = LevelsSolver(strategy)
    lows, highs = all_ranges(23)
    place = np.arange(23)
    queries = (place >= lows[:, None]) & (place <= highs[:, None])
    weights = np.abs(queries @ np.linalg.pinv(strategy.matrix().astype(float)))
    sizes, counts = RangeEnds(found._levels, lows, highs).weights()
    for line in range(len(lows)):
        listed = np.sort(np.repeat(np.abs(sizes[line]), counts[line].astype(int)))
        assert np.allclose(listed[listed > 1e-9], np.sort(weights[line])[np.sort(weights[line]) > 1e-9])


@given(st.integers(1, 5).flatmap(trees), st.integers(1, 5).flatmap(wide))
@settings(max_examples=examples(40), deadline=None)
def test_products_are_least_squares_over_boxes(first, second):
    strategy = ProductStrategy((first, second))
    found = solver_for(strategy)
    inverse = np.linalg.pinv(strategy.matrix().astype(float))
    noisy = np.arange(strategy.rows) * 7919 % 1000 - 500
    assert np.allclose(found.fit(noisy), inverse @ noisy, atol=1e-6)
    boxes = [
        (a, c, b, d)
        for a, b in zip(*all_ranges(first.cells), strict=True)
        for c, d in zip(*all_ranges(second.cells), strict=True)
    ]
    lows, highs = np.array(boxes)[:, :2], np.array(boxes)[:, 2:]
    tables = np.zeros((len(boxes), first.cells, second.cells))
    for table, (a, c, b, d) in zip(tables, boxes, strict=True):
        table[a : b + 1, c : d + 1] = 1
    weights = tables.reshape(len(boxes), -1) @ inverse
    variances = (weights**2).sum(axis=1)
    assert np.allclose(found.range_variances(lows, highs), variances)
    shape = found.weight_profiles(lows, highs)
    assert np.allclose(shape.variance, variances)
    assert np.allclose(shape.shares_on_grid().sum(axis=1), 1.0)
    combination = np.outer(np.cos(np.arange(first.cells)), np.sin(1.0 + np.arange(second.cells))).reshape(-1)
    assert np.isclose(found.variance_of(combination), ((combination @ inverse) ** 2).sum())


def test_merged_cells_answer_what_they_determine_and_nothing_else():
    strategy = MergeStrategy(np.array([-1, 0, 0, 1, 1, 1, -1, 2]), LevelStrategy(3, ((1, 2), (2, 1))))
    found = solver_for(strategy)
    inner = np.linalg.pinv(strategy.inner.matrix().astype(float))
    noisy = np.array([5, -3, 8, 2, 1])
    sums = inner @ noisy
    cells = found.fit(noisy)
    assert np.allclose(cells, [0, sums[0] / 2, sums[0] / 2, sums[1] / 3, sums[1] / 3, sums[1] / 3, 0, sums[2]])
    lows, highs = np.array([1, 1, 3, 7, 0, 2, 3, 4, 5]), np.array([2, 5, 5, 7, 7, 2, 7, 5, 6])
    expected = [(inner[0] ** 2).sum(), ((inner[0] + inner[1]) ** 2).sum(), (inner[1] ** 2).sum(), (inner[2] ** 2).sum()]
    assert np.allclose(found.range_variances(lows, highs), [*expected, *[np.inf] * 5])
    assert np.isclose(found.variance_of(np.array([0, 1, 1, 1, 1, 1, 0, 0.0])), expected[1])
    assert found.variance_of(np.array([0, 1, 2, 0, 0, 0, 0, 0.0])) == np.inf
    with pytest.raises(ValueError, match="does not determine"):
        found.weight_profiles(lows, highs)


def test_a_million_leaves_take_a_moment():
    strategy = LevelStrategy(1_000_003, ((1, 5), (16, 4), (256, 4), (4096, 3)))
    found = solver_for(strategy)
    cells = np.arange(1_000_003) % 7
    assert np.allclose(found.fit(strategy.apply(cells)), cells)


def test_undetermined_cells_are_refused():
    for strategy in (
        LevelStrategy(8, ((2, 1), (4, 1))),
        MatrixStrategy(np.array([[1, 1]])),
        MatrixStrategy(np.array([[1, 0], [2, 0]])),
        StackStrategy((DiagonalStrategy(np.array([1, 0])), MatrixStrategy(np.array([[1, 1]])))),
        MergeStrategy(np.array([1, 0]), IdentityStrategy(2)),
    ):
        with pytest.raises(ValueError):
            solver_for(strategy)


def test_ranges_and_rows_that_do_not_fit_are_refused():
    found = solver_for(IdentityStrategy(4))
    for lows, highs in (([2], [1]), ([-1], [1]), ([0], [4]), ([0, 1], [1])):
        with pytest.raises(ValueError):
            found.range_variances(np.array(lows), np.array(highs))
    for one in (found, solver_for(WIDE), solver_for(MatrixStrategy(np.eye(3, dtype=np.int64)))):
        for rows in (np.zeros(one.strategy.rows + 1), np.zeros((2, one.strategy.rows))):
            with pytest.raises(ValueError):
                one.fit(rows)
    with pytest.raises(ValueError):
        solver_for(ProductStrategy((IdentityStrategy(2), IdentityStrategy(2)))).range_variances(
            np.array([0]), np.array([1])
        )


TREE = LevelStrategy(23, ((1, 3), (2, 2), (6, 4)))


class _Unweighted(LevelsSolver):
    """Forgets the weights of the levels above the cells."""

    def fit(self, noisy):
        return LevelsSolver(LevelStrategy(23, ((1, 3), (2, 3), (6, 3)))).fit(noisy)


class _OnePass(LevelsSolver):
    """Never comes down again: the cells as they were measured."""

    def fit(self, noisy):
        return noisy[:23] / 3.0


class _NoCut(LevelsSolver):
    """Takes the last block for a whole one."""

    def __init__(self, strategy):
        super().__init__(strategy)
        self._levels = [
            TreeLevel(
                size=one.size, blocks=one.blocks, weight=one.weight, own=one.own[:1] * 2, children=one.children[:1] * 2
            )
            for one in self._levels
        ]


class _Evenly(LevelsSolver):
    """Shares what a parent has in excess evenly, with the cut block's share as large as any."""

    def _downwards(self, depth, excess, estimates):
        ratio = self._levels[depth].size // self._levels[depth - 1].size
        return estimates + np.repeat(excess / ratio, ratio)[: len(estimates)]


class _NoInner(WoodburySolver):
    """Leaves out the wide rows where it adds up variances."""

    def range_variances(self, lows, highs):
        return self._single_sums[highs + 1] - self._single_sums[lows]


WIDE = StackStrategy((DiagonalStrategy(np.array([3, 4, 5])), MatrixStrategy(np.array([[1, 2, 0], [0, 3, 1]]))))


@pytest.mark.parametrize(
    "mutant",
    [
        lambda: _Unweighted(TREE),
        lambda: _OnePass(TREE),
        lambda: _NoCut(TREE),
        lambda: _Evenly(TREE),
        lambda: _NoInner(WIDE),
    ],
)
def test_mutants_are_caught(mutant: Callable[[], Solver]):
    check(LevelsSolver(TREE))
    check(WoodburySolver(WIDE))
    with pytest.raises(AssertionError):
        check(mutant())
