"""Numbers that cannot be negative, whole numbers, and sums that are exact: alone and from the top down."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.inference.linear import topdown
from discreet.inference.linear.simplex import project_to_sums
from discreet.inference.linear.topdown import round_to_sums, whole_tables
from discreet.inference.linear.transport import TableMargins, balance, round_to_margins
from discreet.inference.linear.tree_least_squares import NodeTree

finite = st.floats(-50, 50)


@st.composite
def segments(draw):
    sizes = draw(st.lists(st.integers(1, 6), min_size=1, max_size=5))
    values = draw(st.lists(finite, min_size=sum(sizes), max_size=sum(sizes)))
    targets = draw(st.lists(st.integers(0, 40), min_size=len(sizes), max_size=len(sizes)))
    spread = draw(st.lists(st.floats(0.1, 10), min_size=sum(sizes), max_size=sum(sizes)))
    return np.array(values), np.array(targets), np.array(sizes), np.array(spread)


def nearest(values, target, spread):
    """By trying every set of numbers that are above 0."""
    best, least = None, np.inf
    for kept in itertools.product([False, True], repeat=len(values)):
        chosen = np.array(kept)
        if not chosen.any():
            if target == 0:
                best, least = np.zeros(len(values)), (values**2 / spread).sum()
            continue
        shift = (target - values[chosen].sum()) / spread[chosen].sum()
        x = np.where(chosen, values + shift * spread, 0.0)
        far = ((x - values) ** 2 / spread).sum()
        if x.min() >= -1e-9 and far < least:
            best, least = x, far
    return best


@given(segments())
def test_projections_are_the_nearest(given_segments):
    values, targets, sizes, spread = given_segments
    found = project_to_sums(values, targets, sizes, spread)
    for start, size, target in zip(np.cumsum(sizes) - sizes, sizes, targets, strict=True):
        own = slice(start, start + size)
        np.testing.assert_allclose(found[own], nearest(values[own], target, spread[own]), atol=1e-6)
    even = project_to_sums(values, targets, sizes)
    np.testing.assert_allclose(even, project_to_sums(values, targets, sizes, np.ones(len(values))), atol=1e-9)


@given(segments())
def test_rounding_keeps_every_sum_and_every_run(given_segments):
    values, targets, sizes, spread = given_segments
    real = project_to_sums(values, targets, sizes, spread)
    found = round_to_sums(real, targets, sizes)
    starts = np.cumsum(sizes) - sizes
    assert found.min() >= 0 and found.dtype == np.int64
    assert np.add.reduceat(found, starts).tolist() == targets.tolist()
    for start, size in zip(starts, sizes, strict=True):
        for low, high in itertools.combinations(range(size + 1), 2):
            run = slice(start + low, start + high)
            assert abs(found[run].sum() - real[run].sum()) < 1 + 1e-6


def test_rounding_favours_nobody():
    """Over many segments each place's mean is what it should be: exact for evenly spread offsets."""
    many = 100_000
    found = round_to_sums(np.tile([0.3, 0.3, 0.4], many), np.ones(many, dtype=np.int64), np.full(many, 3))
    np.testing.assert_allclose(found.reshape(many, 3).mean(axis=0), [0.3, 0.3, 0.4], atol=1e-3)


def test_rounding_is_exact_where_sums_are_long():
    generator = np.random.default_rng(5)
    sizes = np.full(2000, 100)
    values = generator.gamma(0.3, 1e6, size=200_000)
    targets = np.rint(np.add.reduceat(values, np.arange(0, 200_000, 100))).astype(np.int64)
    found = round_to_sums(project_to_sums(values, targets, sizes), targets, sizes)
    assert np.add.reduceat(found, np.arange(0, 200_000, 100)).tolist() == targets.tolist()
    assert np.abs(found - values).max() < 2


@st.composite
def margins(draw):
    blocks = draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
    columns = draw(st.integers(1, 4))
    table = np.array(draw(st.lists(st.integers(0, 6), min_size=sum(blocks) * columns, max_size=sum(blocks) * columns)))
    table = table.reshape(sum(blocks), columns)
    sizes = np.array(blocks)
    starts = np.cumsum(sizes) - sizes
    values = np.array(draw(st.lists(finite, min_size=table.size, max_size=table.size))).reshape(table.shape)
    spread = np.array(draw(st.lists(st.floats(0.2, 5), min_size=table.size, max_size=table.size))).reshape(table.shape)
    return TableMargins(rows=table.sum(axis=1), columns=np.add.reduceat(table, starts), sizes=sizes), values, spread


@given(margins())
def test_both_sums_are_kept_exactly(case):
    known, values, spread = case
    near = balance(values, known, spread)
    starts = np.cumsum(known.sizes) - known.sizes
    assert near.min() >= 0
    columns = [
        round_to_sums(
            project_to_sums(np.ascontiguousarray(near[:, place]), known.columns[:, place], known.sizes),
            known.columns[:, place],
            known.sizes,
        )
        for place in range(values.shape[1])
    ]
    found = round_to_margins(near, np.stack(columns, axis=1), known)
    assert found.min() >= 0
    assert found.sum(axis=1).tolist() == known.rows.tolist()
    assert np.add.reduceat(found, starts).tolist() == known.columns.tolist()


def test_balancing_finds_the_nearest_table():
    """Against a long run of Dykstra's algorithm on a case with some zeros."""
    generator = np.random.default_rng(2)
    table = generator.poisson(2, size=(5, 4))
    known = TableMargins(rows=table.sum(axis=1), columns=table.sum(axis=0, keepdims=True), sizes=np.array([5]))
    values, spread = table + generator.normal(0, 2, size=table.shape), np.ones((5, 4))
    x, corrections = values.copy(), np.zeros((3, 5, 4))
    for _ in range(20_000):
        for turn in range(3):
            y = x + corrections[turn]
            if turn == 0:
                x = y + (known.rows[:, None] - y.sum(axis=1, keepdims=True)) / 4
            elif turn == 1:
                x = y + (known.columns - y.sum(axis=0, keepdims=True)) / 5
            else:
                x = np.maximum(y, 0)
            corrections[turn] = y - x
    assert (x < 1e-6).any()
    np.testing.assert_allclose(balance(values, known, spread), x, atol=0.05)


def test_contradicting_sums_are_refused():
    with pytest.raises(ValueError, match="contradict"):
        TableMargins(rows=np.array([1, 2]), columns=np.array([[4]]), sizes=np.array([2]))
    known = TableMargins(rows=np.array([1, 0, 0, 1]), columns=np.array([[1], [1]]), sizes=np.array([2, 2]))
    with pytest.raises(ValueError, match="not those of the margins"):
        round_to_margins(np.zeros((4, 1)), np.array([[2], [0], [0], [0]]), known)


TREE = NodeTree((np.array([0, 0, 0]), np.repeat(np.arange(3), [5, 1, 7])))


def tables(seed, totals=None):
    """Noisy tables of a small tree with many zeros, made whole."""
    generator = np.random.default_rng(seed)
    leaves = generator.poisson(generator.choice([0, 0, 3.0], size=(4, 13)))
    exact = [leaves]
    for level in (1, 0):
        exact.insert(0, TREE.sums(level, exact[0]))
    noisy = [each + generator.normal(0, 2, size=each.shape) for each in exact]
    spread = [generator.uniform(0.5, 2, size=each.shape) for each in exact[:2]] + [np.ones((4, 1))]
    known = {} if totals is None else {level: exact[level].sum(axis=0) for level in range(totals + 1)}
    return exact, whole_tables(TREE, noisy, spread, known), known


def check(found, known):
    assert all(each.min() >= 0 and each.dtype == np.int64 for each in found)
    for level in (0, 1):
        assert (TREE.sums(level, found[level + 1]) == found[level]).all()
    for level, totals in known.items():
        assert found[level].sum(axis=0).tolist() == totals.tolist()


@pytest.mark.thin(20)
@pytest.mark.parametrize("totals", [None, 0, 1, 2])
@pytest.mark.parametrize("seed", range(12))
def test_tables_add_up_exactly_at_every_level(seed, totals):
    _, found, known = tables(seed, totals)
    check(found, known)


def check_many(totals=None):
    for seed in range(12):
        check(*tables(seed, totals)[1:])


def test_rounding_each_number_by_itself_is_caught(monkeypatch):
    monkeypatch.setattr(
        topdown, "round_to_sums", lambda values, targets, sizes, first=0: np.rint(values).astype(np.int64)
    )
    with pytest.raises(AssertionError):
        check_many()


def test_totals_that_are_forgotten_are_caught(monkeypatch):
    monkeypatch.setattr(topdown, "round_to_margins", lambda near, start, margins: start)
    with pytest.raises(AssertionError):
        check_many(2)


def test_nothing_stays_nothing():
    found = whole_tables(TREE, [np.full((4, size), -3.0) for size in TREE.sizes], [np.ones((4, 1))] * 3, {})
    assert [int(each.sum()) for each in found] == [0, 0, 0]
