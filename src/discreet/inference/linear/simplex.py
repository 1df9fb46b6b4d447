"""Numbers that are not negative and have known sums: the nearest such, for many sums at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Wholes = NDArray[np.int64]


def project_to_sums(values: Floats, targets: Wholes, sizes: Wholes, variances: Floats | None = None) -> Floats:
    """The nearest x >= 0 whose sums over consecutive segments are `targets`: least sum of (x - values)^2 / variance.

    Segment s has `sizes[s]` values. Without variances all weigh the same.

    >>> project_to_sums(np.array([3.0, -1.0, 0.5]), np.array([2]), np.array([3])).round(6).tolist()
    [2.0, 0.0, 0.0]
    """
    shifts = np.repeat(multipliers(values, targets, sizes, variances), sizes)
    if variances is not None:
        shifts *= variances
    shifts += values
    return np.maximum(shifts, 0.0, out=shifts)


def multipliers(values: Floats, targets: Wholes, sizes: Wholes, variances: Floats | None = None) -> Floats:
    """For each segment the m for which max(0, values + m * variances) sums to its target; minus infinity for 0.

    Because: these are the conditions of Karush, Kuhn and Tucker. Michelot (1986): where all that is still in play is
    moved to the sum at once, what comes out negative is 0 in the solution too; it is left out, and the rest moved
    anew. Some number stays in play, for the sum is above 0. Only segments that lost a number go round again.
    """
    multiplier = np.full(len(targets), -np.inf)
    live = np.flatnonzero(targets > 0)
    if len(live) < len(targets):
        inside = np.repeat(targets > 0, sizes)
        values, sizes = values[inside], sizes[live]
        variances = None if variances is None else variances[inside]
    goals = targets[live].astype(np.float64)
    while live.size:
        starts = np.cumsum(sizes) - sizes
        spread = sizes if variances is None else np.add.reduceat(variances, starts)
        moves = (goals - np.add.reduceat(values, starts)) / spread
        shifted = np.repeat(moves, sizes)
        if variances is not None:
            shifted *= variances
        shifted += values
        kept = shifted > 0
        left = np.add.reduceat(kept, starts, dtype=np.int64)
        done = (left == sizes) | (left == 0)  # none is left only where rounding swallows the sum
        multiplier[live[done]] = moves[done]
        if done.all():
            break
        kept &= np.repeat(~done, sizes)
        values = values[kept]
        variances = None if variances is None else variances[kept]
        live, goals, sizes = live[~done], goals[~done], left[~done]
    return multiplier
