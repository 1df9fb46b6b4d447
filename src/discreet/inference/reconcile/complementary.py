"""The smallest certified piece of quadratic programming: min 1/2 x'Sx + q'x over x >= 0, S positive semidefinite.

Block principal pivoting: guess which x are positive, solve for them, exchange every one that is on the wrong side; when
that does not help, exchange one at a time, which ends. A hair of curvature is added, so that constraints that follow
from others do no harm, and taken out again by repeating around the last solution (the proximal point method).
"""

from __future__ import annotations

import numpy as np

from discreet.errors import Refused
from discreet.inference.reconcile.axes import Flags, Floats

#: The curvature added, with ones on the diagonal of S; how often it is taken out; what counts as zero.
CURVATURE = 1e-8
REPEATS = 12
ZERO = 1e-9

#: Exchanges of all before those of one at a time, and exchanges in all.
PATIENCE = 4
MOST_EXCHANGES = 2000


def complementary(matrix: Floats, linear: Floats, start: Flags) -> tuple[Floats, Flags]:
    """The x that is best, and which of it are free to be positive. S has ones on its diagonal."""
    curved = matrix + CURVATURE * np.eye(len(matrix))
    x, free = np.zeros(len(linear)), start.copy()
    for _ in range(REPEATS):
        last = x
        x, free = _pivoted(curved, linear - CURVATURE * last, free)
        if np.abs(x - last).max(initial=0.0) * CURVATURE <= ZERO / 10.0:
            break
    return x, free


def _pivoted(matrix: Floats, linear: Floats, free: Flags) -> tuple[Floats, Flags]:
    free = free.copy()
    fewest, patience = len(linear) + 1, PATIENCE
    for _ in range(MOST_EXCHANGES):
        x = np.zeros(len(linear))
        x[free] = np.linalg.solve(matrix[np.ix_(free, free)], -linear[free])
        slope = matrix[:, free] @ x[free] + linear
        wrong = np.where(free, x < 0.0, slope < -ZERO)
        count = int(wrong.sum())
        if count == 0:
            return x, free
        if count < fewest:
            fewest, patience = count, PATIENCE
        elif patience > 0:
            patience -= 1
        else:
            wrong[: np.flatnonzero(wrong)[-1]] = False
        free ^= wrong
    raise Refused("the answers could not be made non-negative: the search for them did not end")
