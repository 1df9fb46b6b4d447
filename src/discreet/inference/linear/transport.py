"""Tables whose rows and columns must both have known sums: the nearest one without negatives, and a whole one.

Within each block of rows (the children of one node) every row has its total, and every column of the block its sum.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.inference.linear.simplex import multipliers

Floats = NDArray[np.float64]
Wholes = NDArray[np.int64]

#: Rounds of the projection, and the error of a sum at which it stops: whole numbers are made of it afterwards.
_ROUNDS = 60
_ENOUGH = 0.05


@dataclass(frozen=True, kw_only=True)
class TableMargins:
    """What sums are known: `rows[i]` of row i, `columns[b, c]` of column c in block b; block b has `sizes[b]` rows."""

    rows: Wholes
    columns: Wholes
    sizes: Wholes

    def __post_init__(self) -> None:
        totals = np.add.reduceat(self.rows, np.cumsum(self.sizes) - self.sizes)
        if (self.rows < 0).any() or (self.columns < 0).any() or not np.array_equal(totals, self.columns.sum(axis=1)):
            raise ValueError("the row sums and the column sums contradict each other")

    @property
    def blocks(self) -> Wholes:
        """The block of each row."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)


def balance(values: Floats, margins: TableMargins, variances: Floats) -> Floats:
    """Near the x >= 0 with these margins that has the least sum of (x - values)^2 / variance. Rows by columns.

    Because: x = max(0, values + variance * (row's multiplier + column's)); each of the two is found exactly while the
    other stands, in turns, which climbs the dual. Stops when sums are right to within a twentieth, or after so many
    rounds: `round_to_margins` makes them exact.
    """
    columns = values.shape[1]
    possible = (margins.rows > 0)[:, None] & (margins.columns > 0)[margins.blocks]
    at, column = np.nonzero(possible)  # by rows
    if not len(at):
        return np.zeros_like(values)
    order = np.lexsort((at, column, margins.blocks[at]))
    base, spread = values[possible], variances[possible]
    by_row = np.unique(at, return_counts=True)
    place = margins.blocks[at] * columns + column
    by_column = np.unique(place, return_counts=True)
    goals = margins.rows[by_row[0]], margins.columns.reshape(-1)[by_column[0]]
    column_shift = np.zeros(len(base))
    for _ in range(_ROUNDS):
        shifts = multipliers(base + column_shift * spread, goals[0], by_row[1], spread)
        row_shift = np.repeat(shifts, by_row[1])
        moved = (base + row_shift * spread)[order]
        shifts = multipliers(moved, goals[1], by_column[1], spread[order])
        column_shift[order] = np.repeat(shifts, by_column[1])
        x = np.maximum(base + (row_shift + column_shift) * spread, 0.0)
        sums = np.add.reduceat(x, np.cumsum(by_row[1]) - by_row[1])
        if np.abs(sums - goals[0]).max() < _ENOUGH:
            break
    balanced_values = np.zeros_like(values)
    balanced_values[possible] = x
    return balanced_values


def round_to_margins(values: Floats, start: Wholes, margins: TableMargins) -> Wholes:
    """Whole numbers >= 0 with exactly these margins, from `start`: whole, >= 0, with the right sums of columns.

    Units are moved within a column from a row that has too many to one that has too few, where `values` mind least.
    Every sum comes out exact; how near a single number is to `values` is not bounded by 1.

    Because: excess and lack of a block's rows are equal, for its columns' sums add up to its rows'. A row with too
    many has some number above 0, and each move takes one unit of both away.
    """
    table = start.copy()
    excess = table.sum(axis=1) - margins.rows
    blocks = margins.blocks
    lacking = np.flatnonzero(excess < 0)
    taken = iter(np.repeat(lacking, -excess[lacking]).tolist())
    # Excess and lack are equal in each block and both lists go by blocks, so that they meet in the same one.
    for row in np.repeat(np.flatnonzero(excess > 0), excess[excess > 0]).tolist():
        to = next(taken)
        if blocks[row] != blocks[to]:
            raise ValueError("the column sums are not those of the margins")
        gain = (table[row] - values[row]) - (table[to] - values[to])
        place = int(np.argmax(np.where(table[row] > 0, gain, -np.inf)))
        table[row, place] -= 1
        table[to, place] += 1
    return table
