"""What comes back from an engine as exact cells: every cell of every statistic, those without rows too."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.engines.engine import Integers
from discreet.plan.cell_statistics import Sum
from discreet.plan.cells import Cells
from discreet.sql.sql_writer import HALF


def dense_cells(result_columns: Mapping[str, Any], cells: Cells) -> tuple[Integers, ...]:
    """The columns of a question's result, by name, as cells."""
    places = np.asanyarray(result_columns["cell"])
    if np.ma.isMaskedArray(places) or (len(places) and not 0 <= places.min() <= places.max() < cells.size):
        raise ValueError("a row is in a cell that does not exist")
    return tuple(
        _scatter(places, _sums(result_columns, place, statistic.grain), cells.size)
        if isinstance(statistic, Sum)
        else _scatter(places, np.asarray(result_columns[f"s{place}"], dtype=np.int64), cells.size)
        for place, statistic in enumerate(cells.statistics)
    )


def _scatter(places: NDArray[Any], values: Integers, size: int) -> Integers:
    exact_values: NDArray[Any] = np.zeros(size, dtype=values.dtype)
    exact_values[places] = values
    return exact_values


def _sums(result_columns: Mapping[str, Any], place: int, grain: int) -> Integers:
    """floor((high * 2^62 + low) / grain), in 64 bits where it fits."""
    high = np.asarray(result_columns[f"high{place}"], dtype=np.int64)
    low = np.asarray(result_columns[f"low{place}"], dtype=np.int64)
    bits = grain.bit_length() - 1
    if not high.any():
        return low >> bits
    wide = [(int(upper) * 2**HALF + int(lower)) >> bits for upper, lower in zip(high, low, strict=True)]
    if max(map(abs, wide)) < 2**62:
        return np.array(wide, dtype=np.int64)
    return np.array(wide, dtype=object)
