"""Controlled rounding: whole numbers near given ones, whose sums are exactly what they must be."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Wholes = NDArray[np.int64]

#: The golden ratio's fraction: its multiples fall evenly into [0, 1).
_GOLDEN = 0.6180339887498949


def round_to_sums(values: Floats, targets: Wholes, sizes: Wholes, *, first: int = 0) -> Wholes:
    """Whole numbers >= 0 near `values` >= 0, which sum to `targets` over consecutive segments, exactly.

    Running sums are rounded, so every run of neighbours in a segment sums to within 1 of what it should. Where a
    running sum is rounded up differs from segment to segment, evenly over all of them: nobody gains on average.
    `first`: the number of the first segment among all. The same values are always rounded the same way.

    Because: a segment's running sums are cut to lie between 0 and its target, and end at it; they do not fall, so
    neither do they rounded, and their steps are whole numbers >= 0 that sum to the target.

    >>> round_to_sums(np.array([0.4, 0.4, 0.4, 1.8]), np.array([1, 2]), np.array([2, 2])).tolist()
    [1, 0, 0, 2]
    """
    ends = np.cumsum(sizes)
    after = np.cumsum(targets)
    turns = np.arange(first + 1, first + 1 + len(sizes)) * _GOLDEN % 1.0
    running = np.cumsum(values)
    # Rounding errors of the long sum are set right at the head of every segment.
    drift = np.concatenate([[0.0], running[ends[:-1] - 1]]) - (after - targets)
    running += np.repeat(turns - drift, sizes)
    whole = np.floor(running, out=running).astype(np.int64)
    np.minimum(whole, np.repeat(after, sizes), out=whole)
    np.maximum(whole, np.repeat(after - targets, sizes), out=whole)
    whole[ends - 1] = after
    return np.diff(whole, prepend=0)
