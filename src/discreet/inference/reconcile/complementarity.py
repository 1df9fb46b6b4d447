"""The smallest certified piece of quadratic programming: min 1/2 x'Sx + q'x over x >= 0, S positive semidefinite.

Block principal pivoting: guess which x are positive, solve for them, exchange every one that is on the wrong side; when
that stops helping, take in one at a time, which ends. A hair of curvature is added, so that constraints that follow
from others do no harm, and taken out again by repeating around the last solution (the proximal point method).
"""

from __future__ import annotations

import numpy as np

from discreet.errors import Refused
from discreet.inference.reconcile.column_axes import Flags, Floats
from discreet.inference.reconcile.nonnegative_least_squares import solve_active

#: The curvature added, with ones on the diagonal of S; how often it is taken out; what counts as zero.
CURVATURE = 1e-8
REPEATS = 12
ZERO = 1e-9

#: Exchanges that do not lower the number of those to exchange before the search goes on one at a time. Its
#: steps are limited by the work they are, which is the cube of the size of each: some ten seconds in all.
PATIENCE = 6
MOST_WORK = 1e12
LEAST_STEPS = 50


def solve_complementarity(matrix: Floats, linear: Floats, start: Flags) -> tuple[Floats, Flags]:
    """The x that is best, and which of it are free to be positive. S has ones on its diagonal."""
    curved = matrix + CURVATURE * np.eye(len(matrix))
    x, free = np.zeros(len(linear)), start.copy()
    for _ in range(REPEATS):
        last = x
        x, free = _solved(curved, linear - CURVATURE * last, free)
        if np.abs(x - last).max(initial=0.0) * CURVATURE <= ZERO / 10.0:
            break
    return x, free


def _solved(matrix: Floats, linear: Floats, free: Flags) -> tuple[Floats, Flags]:
    """In blocks while that helps, then one at a time."""
    free = free.copy()
    fewest, patience = len(linear) + 1, PATIENCE
    while True:
        x = np.zeros(len(linear))
        x[free] = np.linalg.solve(matrix[np.ix_(free, free)], -linear[free])
        slope = matrix[:, free] @ x[free] + linear
        wrong = np.where(free, x < 0.0, slope < -ZERO)
        count = int(wrong.sum())
        if count == 0:
            return x, free
        fewest, patience = (count, PATIENCE) if count < fewest else (fewest, patience - 1)
        if patience == 0:
            return _one_at_a_time(matrix, linear, np.maximum(x, 0.0))
        free ^= wrong


def _one_at_a_time(matrix: Floats, linear: Floats, x: Floats) -> tuple[Floats, Flags]:
    x, free = solve_active(matrix, -linear, x, x > 0.0)
    for _ in range(LEAST_STEPS + int(MOST_WORK / len(linear) ** 3)):
        slope = np.where(free, 0.0, matrix @ x + linear)
        steepest = int(slope.argmin())
        if slope[steepest] >= -ZERO:
            return x, free
        free[steepest] = True
        x, free = solve_active(matrix, -linear, x, free)
    raise Refused(
        "the answers could not be made non-negative: the search took too long",
        hint="reconcile fewer answers, or keep the least-squares answers",
    )
