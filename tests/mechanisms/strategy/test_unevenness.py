"""Unevenness: exact, and no unit moves it further than is said."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.mechanisms.strategy.partition_cost import PartitionCost
from discreet.mechanisms.strategy.unevenness import Unevenness, sizes_up_to
from tiers import examples

LINES = st.lists(st.integers(0, 40), min_size=1, max_size=20)
KINDS = st.tuples(st.sampled_from([(2,), (2, 4), (4, 8), (2, 4, 8)]))


def by_hand(counts, sizes):
    unit = max(sizes)
    line = list(counts) + [0] * (-len(counts) % unit)
    found = []
    for size in sizes:
        blocks = [line[start : start + size] for start in range(0, len(line), size)]
        found += [unit * sum(abs(count - sum(block) / size) for count in block) for block in blocks]
    return found


@given(LINES, KINDS)
@settings(max_examples=examples(200), deadline=None)
def test_it_is_the_distance_from_flat(counts, kind):
    assert Unevenness(len(counts), *kind).apply(np.array(counts)).tolist() == pytest.approx(by_hand(counts, *kind))


@given(LINES, KINDS, st.lists(st.integers(0, 19), min_size=1, max_size=4))
@settings(max_examples=examples(500), deadline=None)
def test_a_unit_moves_it_by_no_more_than_is_paid_for(counts, kind, rows):
    measure = Unevenness(len(counts), *kind)
    more = np.array(counts)
    for row in rows:
        more[row % len(counts)] += 1
    moved = measure.apply(more) - measure.apply(np.array(counts))
    moves = measure.sensitivity(len(rows))
    assert np.abs(moved).sum() <= moves.l1 and (moved**2).sum() <= moves.l2_squared


def test_the_bound_is_attained_by_rows_that_stand_out():
    measure = Unevenness(8, (2, 4, 8))
    moved = measure.apply(np.array([3, 0, 0, 0, 0, 0, 0, 0])) - measure.apply(np.zeros(8, dtype=np.int64))
    assert int(np.abs(moved).sum()) == measure.sensitivity(3).l1


def test_sizes():
    assert sizes_up_to(1024) == (2, 4, 8, 16, 32, 64, 128, 256)
    assert sizes_up_to(2) == sizes_up_to(5) == (2,)
    with pytest.raises(ValueError):
        Unevenness(8, (3,))


def partitions(cells, largest):
    """Every partition of a line into blocks that are single cells or aligned powers of two."""
    if cells == 1:
        return [[1]]
    half = [one + two for one in partitions(cells // 2, largest) for two in partitions(cells // 2, largest)]
    return half + ([[cells]] if cells <= largest else [])


@given(st.lists(st.integers(0, 30), min_size=8, max_size=8), st.integers(0, 60))
@settings(max_examples=examples(100), deadline=None)
def test_the_evenest_partition_is_the_cheapest_of_all(counts, price):
    uneven = Unevenness(8, (2, 4))
    costs = []
    for blocks in partitions(8, 4):
        ends = np.cumsum(blocks)
        parts = [counts[end - size : end] for end, size in zip(ends, blocks, strict=True)]
        costs.append(sum(price + 4 * sum(abs(each - sum(part) / len(part)) for each in part) for part in parts))
    assert PartitionCost(uneven, price).apply(np.array(counts)).tolist() == pytest.approx([min(costs)])


@given(LINES, st.integers(0, 60), st.lists(st.integers(0, 19), min_size=1, max_size=4))
@settings(max_examples=examples(500), deadline=None)
def test_a_unit_moves_the_cost_of_the_evenest_by_no_more_than_is_paid_for(counts, price, rows):
    measure = PartitionCost(Unevenness(len(counts), (2, 4, 8)), price)
    more = np.array(counts)
    for row in rows:
        more[row % len(counts)] += 1
    moved = measure.apply(more) - measure.apply(np.array(counts))
    assert int(np.abs(moved).sum()) <= measure.sensitivity(len(rows)).l1


def test_a_bound_half_as_large_would_be_too_small():
    """The planted bug: a row that counts once only."""
    measure = PartitionCost(Unevenness(8, (2, 4, 8)), 10**6)
    moved = measure.apply(np.array([3, 0, 0, 0, 0, 0, 0, 0])) - measure.apply(np.zeros(8, dtype=np.int64))
    assert int(moved[0]) > measure.sensitivity(3).l1 // 2
