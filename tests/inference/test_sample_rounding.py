import numpy as np
import pytest

from discreet.inference.tree_rounding import round_chances, share_out
from tiers import size


@pytest.fixture
def generator():
    return np.random.default_rng()


def tables(generator, groups, cells):
    weights = generator.random((groups, cells)) ** 4
    weights[generator.random(weights.shape) < 0.3] = 0
    weights[np.arange(groups), generator.integers(cells, size=groups)] += 0.1
    counts = generator.integers(0, 30, size=groups)
    return counts, weights, counts[:, None] * weights / weights.sum(axis=1, keepdims=True)


@pytest.mark.thin(8)
@pytest.mark.parametrize("groups", [1, 2, 7, 300])
@pytest.mark.parametrize("cells", [1, 2, 3, 16, 41])
def test_each_cell_is_rounded_down_or_up(generator, groups, cells):
    for _ in range(20):
        counts, weights, expected = tables(generator, groups, cells)
        shared = share_out(counts, weights, generator)
        assert np.array_equal(shared.sum(axis=1), counts)
        assert (np.abs(shared - expected) < 1).all()
        assert (shared[weights == 0] == 0).all()


def test_so_are_couples_of_cells(generator):
    counts, weights, expected = tables(generator, 200, 16)
    shared = share_out(counts, weights, generator)
    for width in (2, 4, 8):
        found, wanted = (each.reshape(200, -1, width).sum(axis=2) for each in (shared, expected))
        assert (np.abs(found - wanted) < 1).all()


def test_expectations_are_exact(generator):
    """Mean over 1,500 draws (in the fast tier 200) within 6.5 deviations, of 240 cells; a cell is a coin beside its whole part."""
    counts, weights, expected = tables(generator, 20, 12)
    times = size(200, 1500)
    mean = sum(share_out(counts, weights, generator) for _ in range(times)) / times
    part = expected - np.floor(expected)
    assert (np.abs(mean - expected) <= 6.5 * np.sqrt(part * (1 - part) / times) + 10 / times).all()


def test_sums_over_groups_vary_less_than_coins(generator):
    """Balanced over groups: the deviation of a column's sum is about half of what independent coins have."""
    counts, weights, expected = tables(generator, 400, 8)
    part = expected - np.floor(expected)
    coins = np.sqrt((part * (1 - part)).sum(axis=0))
    away = np.array([share_out(counts, weights, generator).sum(axis=0) - expected.sum(axis=0) for _ in range(300)])
    assert (away.std(axis=0) < 0.8 * coins).all()


def test_whole_expectations_come_out_exactly(generator):
    whole = generator.integers(0, 9, size=(50, 13))
    shared = share_out(whole.sum(axis=1), whole * 0.1, generator)
    assert np.array_equal(shared, whole)


def test_large_counts(generator):
    weights = generator.random((3, 1000))
    counts = np.array([10**9, 10**9 + 1, 7])
    shared = share_out(counts, weights, generator)
    assert np.array_equal(shared.sum(axis=1), counts)
    assert np.abs(shared - counts[:, None] * weights / weights.sum(axis=1, keepdims=True)).max() < 1.001


def test_blocks_change_nothing_that_is_promised(generator, monkeypatch):
    monkeypatch.setattr("discreet.inference.tree_rounding._BLOCK_CELLS", 64)
    counts, weights, expected = tables(generator, 100, 9)
    shared = share_out(counts, weights, generator)
    assert np.array_equal(shared.sum(axis=1), counts)
    assert (np.abs(shared - expected) < 1).all()


def test_nothing_to_share(generator):
    assert share_out(np.zeros(0, dtype=np.int64), np.zeros((0, 4)), generator).shape == (0, 4)
    assert not share_out(np.zeros(3, dtype=np.int64), np.zeros((3, 4)), generator).any()


def test_rows_with_nowhere_to_go_are_an_error(generator):
    with pytest.raises(ArithmeticError, match="nowhere"):
        share_out(np.array([1]), np.zeros((1, 3)), generator)


def test_chances_have_their_sum(generator):
    chances = generator.random(1000)
    drawn = round_chances(chances, generator)
    assert set(drawn) <= {0.0, 1.0}
    for width in (8, 40, 1000):
        found, wanted = (each.reshape(-1, width).sum(axis=1) for each in (drawn, chances))
        # A stretch of the order is made of at most two nodes of each level at its ends.
        assert (np.abs(found - wanted) < (1 if width in (8, 1000) else 6)).all()


def test_a_regular_pattern_is_not_met(generator):
    """1,024 chances of a half: the ones at even places are 256 with deviation 11.3, not 0 or 512."""
    found = [round_chances(np.full(1024, 0.5), generator)[::2].sum() for _ in range(20)]
    assert np.abs(np.array(found) - 256).max() < 7 * 11.4
