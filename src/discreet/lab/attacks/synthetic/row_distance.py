"""How far rows are from the nearest row of a table: a share of columns that differ, numbers by how far apart.

Between two values of a column the distance is 0 if they are the same; else 1, or, for two numbers, from 1/2 up by the
share of rows whose value lies between them: near numbers are like, but the very same number is what copies have. The
distance of two rows is the sum over columns (after Gower 1971).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from discreet.lab.attacks.synthetic.coded_tables import NULL, CodedTables, Codes

Distances = NDArray[np.float32]

#: Cells of the table of distances that is held at once.
_AT_ONCE = 1_000_000


def distance_blocks(
    coded: CodedTables, targets: Codes, table: Codes, columns: Sequence[int]
) -> Iterator[tuple[slice, Distances]]:
    """Distances of some targets from all rows of the table, a few targets at a time."""
    step = max(1, _AT_ONCE // max(1, table.shape[1]))
    for start in range(0, targets.shape[1], step):
        part = slice(start, min(start + step, targets.shape[1]))
        distances = np.zeros((part.stop - part.start, table.shape[1]), np.float32)
        for column in columns:
            distances += _column_distance(coded, column, targets[column, part], table[column])
        yield part, distances


def _column_distance(coded: CodedTables, column: int, targets: Codes, table: Codes) -> Distances | NDArray[np.bool_]:
    if not coded.ordered[column]:
        return np.asarray(targets[:, None] != table[None, :])
    places = coded.places[column]
    apart = np.abs(places[targets][:, None] - places[table][None, :])
    apart += targets[:, None] != table[None, :]
    apart /= 2
    if (targets == NULL).any() or (table == NULL).any():
        apart[(targets == NULL)[:, None] != (table == NULL)[None, :]] = 1
    return np.asarray(apart)


def nearest_distances(
    coded: CodedTables, targets: Codes, table: Codes, columns: Sequence[int] | None = None
) -> Distances:
    """The distance of each target from the nearest row of the table."""
    own = range(len(coded.names)) if columns is None else columns
    distances = np.zeros(targets.shape[1], np.float32)
    for part, apart in distance_blocks(coded, targets, table, own):
        distances[part] = apart.min(axis=1)
    return distances
