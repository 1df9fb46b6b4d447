"""Counters in the order of time against their own matrices, and the square root that streams draw."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.mechanisms.strategy.toeplitz import COEFFICIENT_BITS, WEIGHT_BITS, ToeplitzStrategy, square_root
from tiers import examples

whole = st.integers(-9, 9)
counters = st.integers(1, 7).flatmap(
    lambda n: st.builds(
        lambda c, w: ToeplitzStrategy(np.array(c), np.array(w)),
        st.tuples(whole.filter(bool), *[whole] * (n - 1)),
        st.lists(whole.filter(bool), min_size=n, max_size=n),
    )
)


@given(counters, st.data())
@settings(max_examples=examples(200))
def test_norms_and_sums_are_those_of_the_matrix(counter, data):
    matrix = counter.matrix()
    slow = [[int(counter.coefficients[t - s] * counter.weights[s]) if s <= t else 0 for s in range(counter.cells)]
            for t in range(counter.cells)]  # fmt: skip
    assert matrix.tolist() == slow
    assert np.abs(matrix).sum(axis=0).tolist() == list(counter.column_l1)
    assert (matrix**2).sum(axis=0).tolist() == list(counter.column_l2_squared)
    assert np.abs(matrix).max() <= counter.largest
    counts = np.array(data.draw(st.lists(st.integers(0, 10**9), min_size=counter.cells, max_size=counter.cells)))
    assert counter.apply(counts).tolist() == (matrix.astype(object) @ counts).tolist()


@pytest.mark.parametrize("size", [1, 2, 3, 10, 365, 1024])
def test_no_column_of_the_root_is_longer_than_the_first_and_all_are_nearly_as_long(size):
    root = square_root(size)
    lengths = list(root.column_l2_squared)
    assert max(lengths) == lengths[0] == 4**WEIGHT_BITS * sum(int(c) ** 2 for c in root.coefficients)
    assert min(lengths) >= lengths[0] * (1 - 2**-11)
    if size <= 365:
        matrix = root.matrix().astype(object)
        assert (matrix**2).sum(axis=0).tolist() == lengths
        assert root.sensitivity(3).l2_squared == 9 * max((matrix**2).sum(axis=0))


def test_the_root_squared_is_running_totals():
    """Exact coefficients C(2k, k) / 4^k, rounded to whole multiples of 2^-10."""
    root = square_root(60)
    exact = [Fraction(math.comb(2 * k, k), 4**k) for k in range(60)]
    assert all(sum(exact[i] * exact[k - i] for i in range(k + 1)) == 1 for k in range(60))
    assert max(
        abs(int(c) - 2**COEFFICIENT_BITS * f) for c, f in zip(root.coefficients, exact, strict=True)
    ) <= Fraction(1, 2)


def test_huge_counts_stay_exact():
    root = square_root(50)
    counts = np.array([2**55] * 50)
    wide = root.matrix().astype(object) @ counts.astype(object)
    assert [int(each) for each in root.apply(counts)] == wide.tolist()


def test_a_norm_of_the_last_column_would_be_caught():
    """The mistake of taking the norm of a plain root's last column, which is the shortest."""
    plain = ToeplitzStrategy(square_root(20).coefficients, np.ones(20, dtype=np.int64))
    wrong = int(plain.column_l2_squared[-1])
    moved = plain.matrix()[:, 0]
    assert (moved**2).sum() == plain.sensitivity(1).l2_squared > wrong


@pytest.mark.parametrize(
    ("coefficients", "weights"),
    [([0, 1], [1, 1]), ([1, 1], [1, 0]), ([1], [1, 1]), ([], []), ([2**31], [1]), ([1.5], [1])],
)
def test_counters_that_cannot_be_read_back_are_refused(coefficients, weights):
    kind = np.float64 if coefficients == [1.5] else np.int64
    with pytest.raises(ValueError):
        ToeplitzStrategy(np.array(coefficients, dtype=kind), np.array(weights, dtype=np.int64))


def test_data_tells_counters_apart():
    one, two = square_root(5), square_root(5)
    assert one.to_data() == two.to_data()
    other = ToeplitzStrategy(one.coefficients, one.weights + np.array([0, 0, 0, 0, 1]))
    assert other.to_data() != one.to_data()
