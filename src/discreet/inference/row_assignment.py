"""Hand out values to rows: rows that agree on a separator share its values evenly over all that they are already.

Rows stand in an order: sorted by what they were given last, then by what they were given before that, and so on. Within
a group (equal on the separator) the copies of each value are spread evenly over that order, each at random within its
stretch, so that in any stretch of the order (rows alike in other columns) a value is about as frequent as in the whole
group: given the separator, new columns come out independent of old ones, with less chance in it than by drawing.

Every copy has a coin of its own within its stretch. An offset common to all copies of a value is a little more even on
most tables and a disaster on some: with independent fair bits and 64 rows it falls in step with an earlier column, and
two columns come out equal in every sample.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.inference.tree_rounding import Integers

#: Positions are sorted as whole numbers of 64 bits that also carry who is sorted.
_BITS = 63


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupedRows:
    """Rows sorted by group. `rows` are row numbers in order, `codes` the groups that occur, `counts` their sizes."""

    rows: Integers
    codes: Integers
    counts: Integers


def group_rows(rows: Integers, codes: Integers) -> GroupedRows:
    """Sort rows by their code; rows of equal code stay in the order in which they stand.

    >>> group_rows(np.array([4, 0, 2]), np.array([7, 3, 7]))
    GroupedRows(rows=array([0, 4, 2]), codes=array([3, 7]), counts=array([1, 2]))
    """
    bits = len(rows).bit_length()
    packed = (codes << bits) | np.arange(len(rows))
    packed.sort()
    sorted_codes = packed >> bits
    starts = np.flatnonzero(np.diff(sorted_codes, prepend=-1))
    counts = np.diff(starts, append=len(rows))
    return GroupedRows(rows=rows[packed & ((1 << bits) - 1)], codes=sorted_codes[starts], counts=counts)


def spread_evenly(
    grouped: GroupedRows, owner: Integers, counts: Integers, generator: np.random.Generator
) -> tuple[Integers, NDArray[np.int64]]:
    """Give each row of each group one of the values of that group.

    Value v belongs to group number owner[v] (which never decreases) and has counts[v] > 0 copies; those of a group are
    as many as its rows. Returns the rows in their new order (by group, then value, then as they stood) and, for each
    of these rows, its value v.
    """
    n = len(grouped.rows)
    value = np.repeat(np.arange(len(counts)), counts)
    first = np.cumsum(counts) - counts
    turn = np.arange(n) - first[value]
    bits = n.bit_length()
    fine = 1 << (_BITS - 2 * bits)
    # A copy's stretch, in units of 1/fine of a row, within the rows of its group.
    rows = grouped.counts[owner]
    stretch = (rows / counts * fine)[value]
    place = ((turn + generator.random(n)) * stretch).astype(np.int64)
    np.minimum(place, (rows * fine - 1)[value], out=place)
    start = ((np.cumsum(grouped.counts) - grouped.counts)[owner] * fine)[value]
    packed = ((place + start) << bits) | np.arange(n)
    packed.sort()
    copies = packed & ((1 << bits) - 1)
    ordered = np.empty_like(grouped.rows)
    ordered[copies] = grouped.rows
    return ordered, value
