"""Counting the bits of many reports, which is most of what a server does."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.surveys.protocols.randomizer import Reports

#: Eight bytes at once. So many rows are added at each step, in counters that they cannot overflow: 3 rows in counters
#: of 2 bits, 5 of those in 4 bits, 17 of those in 8. A step parts each counter from its neighbour first.
_STEPS = (
    (3, np.uint64(1), np.uint64(0x5555555555555555)),
    (5, np.uint64(2), np.uint64(0x3333333333333333)),
    (17, np.uint64(4), np.uint64(0x0F0F0F0F0F0F0F0F)),
)
#: Rows that a counter of one byte holds; and rows at a time, which stay in the cache.
_FULL = 3 * 5 * 17
_ROWS = 16 * _FULL


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GroupTally:
    """What a server keeps of reports: for each group how many there are, and what they summed to."""

    users: NDArray[np.int64]
    sums: NDArray[np.int64]

    def __add__(self, other: GroupTally) -> GroupTally:
        return GroupTally(users=self.users + other.users, sums=self.sums + other.sums)

    @property
    def n(self) -> int:
        return int(self.users.sum())


def tally_bits(groups: NDArray[np.int64], bits: Reports, many: int, wide: int) -> GroupTally:
    """How many reports of each of `many` (at most 65,536) groups set each of `wide` bits."""
    users = np.bincount(groups, minlength=many)
    # Sorting by 16 bits is done by counting, which is fast.
    ordered = np.argsort(groups.astype(np.uint16), kind="stable")
    ends = np.cumsum(users)
    sums = np.zeros((many, wide), dtype=np.int64)
    for group in np.flatnonzero(users).tolist():
        sums[group] = bit_counts(bits, ordered[ends[group] - users[group] : ends[group]])[:wide]
    return GroupTally(users=users, sums=sums)


def bit_counts(reports: Reports, chosen: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
    """How many of the chosen reports (all, where none are) set each bit, the first bit of the first byte first.

    >>> bit_counts(np.array([[128], [129], [1]], dtype=np.uint8), np.array([0, 1])).tolist()
    [2, 0, 0, 0, 0, 0, 0, 1]
    """
    width, many = reports.shape[1], len(reports) if chosen is None else chosen.size
    counts = np.zeros((8, -(-width // 8) * 8), dtype=np.int64)
    for start in range(0, many, _ROWS):
        rows = reports[start : start + _ROWS] if chosen is None else reports[chosen[start : start + _ROWS]]
        piece = np.zeros((-(-len(rows) // _FULL) * _FULL, counts.shape[1]), dtype=np.uint8)
        piece[: len(rows), :width] = rows
        for bit, counters in _add_counters(piece.view(np.uint64)):
            counts[7 - bit] += counters.view(np.uint8).sum(axis=0, dtype=np.int64)
    return counts.T.ravel()[: 8 * width]


def _add_counters(words: NDArray[np.uint64]) -> list[tuple[int, NDArray[np.uint64]]]:
    """For each bit of a byte, the lowest as 0, counters of one byte that together count it in all rows."""
    level = [(0, words)]
    for rows, shift, mask in _STEPS:
        added = []
        for bit, counters in level:
            parts = counters.reshape(rows, -1, words.shape[1])
            low, high = parts[0] & mask, (parts[0] >> shift) & mask
            for part in parts[1:]:
                low += part & mask
                high += (part >> shift) & mask
            added += [(bit, low), (bit + int(shift), high)]
        level = added
    return level
