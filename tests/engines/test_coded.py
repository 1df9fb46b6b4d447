"""Coded rows are counted slice by slice; the slices are nobody's affair."""

from __future__ import annotations

import math

import numpy as np
import pytest

from discreet.engines import engine
from discreet.engines.engine import CodedRows, narrowest


@pytest.mark.parametrize("rows", [0, 1, 7, 8, 9, 16, 1000])
@pytest.mark.parametrize("places", [(), (0,), (2,), (0, 1), (2, 0), (1, 0, 2)])
def test_every_row_is_in_one_cell(rows: int, places: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """More slices than one, a last one that is shorter, and more cells than a slice has rows."""
    monkeypatch.setattr(engine, "_ROWS_AT_ONCE", 8)
    sizes = (3, 5, 300)
    generator = np.random.default_rng(1)
    columns = [generator.integers(0, size, rows) for size in sizes]
    columns = [np.append(column, size - 1) for column, size in zip(columns, sizes, strict=True)]  # the last cell of all
    coded = CodedRows(tuple(map(narrowest, columns)), sizes)
    expected = np.zeros([sizes[place] for place in places], dtype=np.int64)
    for row in zip(*columns, strict=True):
        expected[tuple(row[place] for place in places)] += 1
    found = coded.count(places)
    assert found.dtype == np.int64
    assert found.size == math.prod(sizes[place] for place in places)
    assert np.array_equal(found, expected.ravel())
