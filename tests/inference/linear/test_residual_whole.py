"""Whole tables: not negative, with the total, and near."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from discreet.inference.linear.topdown import round_to_total
from tiers import examples

tables = arrays.arrays(np.float64, arrays.array_shapes(max_dims=3, max_side=4), elements=st.floats(-1e7, 1e7))


@given(tables, st.integers(0, 10**7))
@settings(max_examples=examples(300))
def test_whole_tables_have_the_total(table, total):
    found = round_to_total(table, total)
    assert found.shape == table.shape and found.dtype == np.int64
    assert found.min() >= 0 and int(found.sum()) == total


def test_it_is_the_nearest_table_but_for_rounding():
    generator = np.random.default_rng(5)
    for _ in range(20):
        table, total = generator.normal(1.0, 2.0, 4), 5
        found = round_to_total(table, total)
        near = min(
            (each for each in itertools.product(range(total + 1), repeat=4) if sum(each) == total),
            key=lambda each: float(((np.array(each) - table) ** 2).sum()),
        )
        assert np.abs(found - np.array(near)).max() <= 1
        assert ((found - table) ** 2).sum() <= ((np.array(near) - table) ** 2).sum() + 1e-9


def test_whole_tables_that_fit_stay_as_they_are():
    table = np.arange(12.0).reshape(3, 4)
    assert (round_to_total(table, 66) == table).all()
    assert (round_to_total(np.array([-5.0, -9.0]), 0) == 0).all()
    assert round_to_total(np.zeros(3), 7).tolist() == [3, 2, 2]
    with pytest.raises(ValueError, match="cannot be negative"):
        round_to_total(table, -1)
