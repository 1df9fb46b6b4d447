"""Non-negative least squares, by an active set that stays independent (Lawson and Hanson), from a given start.

Made for column generation: more columns than rows, most of them zero, a few new ones each time.
"""

from __future__ import annotations

import numpy as np

from discreet.errors import Refused
from discreet.inference.reconcile.column_axes import Flags, Floats

#: With columns of length 1: a column is taken in if the slope along it exceeds this share of the target's length, and
#: if so much of it is new.
SLOPE = 1e-13
NEW = 1e-11

MOST_STEPS = 20_000


def nonnegative_least_squares(matrix: Floats, target: Floats, start: Floats) -> Floats:
    """x >= 0 with |matrix x - target| least. Columns have length 1; those above 0 in `start` are independent."""
    gram, linear = matrix.T @ matrix, matrix.T @ target
    least = SLOPE * float(np.linalg.norm(target))
    x = start.copy()
    banned = np.zeros(len(x), dtype=np.bool_)
    x, active = solve_active(gram, linear, x, x > 0.0)
    for _ in range(MOST_STEPS):
        slope = np.where(active | banned, -np.inf, matrix.T @ (target - matrix @ x))
        column = int(slope.argmax())
        if not slope[column] > least:
            return x
        if not _is_new(gram, active, column):
            banned[column] = True
            continue
        active[column] = True
        x, active = solve_active(gram, linear, x, active)
        banned[column] = not active[column]  # taken in and thrown out at once: floats see no gain along it
    raise Refused("no table was found: the search for its counts did not finish")


def solve_active(gram: Floats, linear: Floats, x: Floats, active: Flags) -> tuple[Floats, Flags]:
    """The best amounts on the active columns, less those that would turn negative on the way there."""
    active = active.copy()
    while True:
        best = np.zeros(len(x))
        best[active] = np.linalg.solve(gram[np.ix_(active, active)], linear[active])
        wrong = active & (best <= 0.0)
        if not wrong.any():
            return best, active
        share = np.min(x[wrong] / (x[wrong] - best[wrong] + 1e-300))
        x = np.where(active, x + share * (best - x), 0.0)
        gone = wrong & (x <= 1e-14 * np.abs(x).max(initial=0.0))
        active &= ~(gone if gone.any() else wrong)
        x = np.where(active, x, 0.0)


def _is_new(gram: Floats, active: Flags, column: int) -> bool:
    shared = gram[active, column]
    return bool(1.0 - shared @ np.linalg.solve(gram[np.ix_(active, active)], shared) > NEW)
