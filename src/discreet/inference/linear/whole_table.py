"""A noisy table as one of whole numbers that are not negative and keep its total."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def round_to_total(table: NDArray[np.float64], total: int) -> NDArray[np.int64]:
    """Whole numbers of at least 0 that sum to `total`, near the table.

    The nearest table of numbers of at least 0 with that sum (all cells are lowered by one amount, and what falls
    below 0 is 0), its fractions rounded so that the sum is kept: the largest go up, ties by the order of cells.

    >>> round_to_total(np.array([[2.6, -1.0], [1.3, 0.2]]), 3).tolist()
    [[2, 0], [1, 0]]
    """
    if total < 0:
        raise ValueError("a total cannot be negative")
    values = _project_to_total(table.ravel(), float(total))
    counts = np.floor(values).astype(np.int64)
    left = total - int(counts.sum())
    # Float errors can leave the sum of floors one or so above the total; then the smallest fractions give.
    order = np.argsort(-(values - counts), kind="stable")
    if left >= 0:
        counts[order[: left % counts.size]] += 1
        counts += left // counts.size
    else:
        full = order[counts[order] > 0]
        counts[full[left:]] -= 1
    return counts.reshape(table.shape)


def _project_to_total(values: NDArray[np.float64], total: float) -> NDArray[np.float64]:
    """max(0, values - amount) with the amount at which they sum to `total`."""
    falling = np.sort(values)[::-1]
    amounts = (np.cumsum(falling) - total) / np.arange(1, len(falling) + 1)
    kept = int(np.flatnonzero(falling - amounts >= 0)[-1]) if total > 0 else 0
    return np.asarray(np.maximum(0.0, values - amounts[kept]))
