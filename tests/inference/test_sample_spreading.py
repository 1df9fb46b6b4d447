import numpy as np
import pytest

from discreet.inference.cell_sampler import group_rows, spread_evenly


@pytest.fixture
def generator():
    return np.random.default_rng()


def test_grouping_is_stable(generator):
    rows = generator.permutation(500)
    codes = generator.integers(0, 9, size=500) * 10**9
    grouped = group_rows(rows, codes)
    order = np.argsort(codes, kind="stable")
    assert np.array_equal(grouped.rows, rows[order])
    found, counts = np.unique(codes, return_counts=True)
    assert np.array_equal(grouped.codes, found) and np.array_equal(grouped.counts, counts)


def test_each_group_gets_its_own_values(generator):
    for _ in range(50):
        codes = generator.integers(0, 20, size=300)
        grouped = group_rows(np.arange(300), codes)
        owner, counts = [], []
        for group, size in enumerate(grouped.counts):
            cut = np.bincount(generator.integers(0, 4, size=size), minlength=4)
            owner += [group] * np.count_nonzero(cut)
            counts += list(cut[cut > 0])
        owner, counts = np.array(owner), np.array(counts)
        rows, value = spread_evenly(grouped, owner, counts, generator)
        assert np.array_equal(np.sort(rows), np.arange(300))
        assert np.array_equal(codes[rows], grouped.codes[owner[value]])
        assert np.array_equal(np.bincount(value), counts)


def test_new_order_keeps_the_old_one_within_a_value(generator):
    grouped = group_rows(np.arange(1000), np.zeros(1000, dtype=np.int64))
    rows, value = spread_evenly(grouped, np.array([0, 0, 0]), np.array([500, 300, 200]), generator)
    for each in range(3):
        assert (np.diff(rows[value == each]) > 0).all()


def test_values_are_even_over_the_order(generator):
    """In each tenth of the order a value has its share: at most a few more or less, where chance would be 15 off."""
    grouped = group_rows(np.arange(10_000), np.zeros(10_000, dtype=np.int64))
    rows, value = spread_evenly(grouped, np.array([0, 0, 0]), np.array([4987, 3011, 2002]), generator)
    given = np.empty(10_000, dtype=int)
    given[rows] = value
    for stretch in given.reshape(10, 1000):
        assert np.abs(np.bincount(stretch, minlength=3) - [498.7, 301.1, 200.2]).max() <= 6


def test_neighbours_do_not_alternate_in_step(generator):
    """Two values of 5,000 copies: at even places each is there half of the time, deviation 50 of 5,000 places."""
    grouped = group_rows(np.arange(10_000), np.zeros(10_000, dtype=np.int64))
    rows, value = spread_evenly(grouped, np.array([0, 0]), np.array([5000, 5000]), generator)
    given = np.empty(10_000, dtype=int)
    given[rows] = value
    assert abs(int(given[::2].sum()) - 2500) < 8 * 50


class Extreme:
    """Draws the largest number below 1 for one copy and 0 for all others."""

    def random(self, size):
        return np.where(np.arange(size) == 18, 1 - 2**-53, 0.0)


def test_no_copy_leaves_its_group():
    """The last of 19 copies at the very end of 21 rows: 19 * (21 / 19) is above 21 as a float, among the next group."""
    grouped = group_rows(np.arange(22), np.repeat([0, 1], [21, 1]))
    rows, value = spread_evenly(grouped, np.array([0, 0, 1]), np.array([19, 2, 1]), Extreme())
    assert list(rows[value == 2]) == [21]
