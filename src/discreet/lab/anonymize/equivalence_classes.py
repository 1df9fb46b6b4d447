"""Classes: the rows that agree in every quasi-identifier, numbered by one sort."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from discreet.lab.anonymize.column_codes import CodedColumn, Integers

#: Keys of more values than this are numbered anew, so that 64 bits never overflow.
_MOST = 2**62
#: Keys of fewer values than this times the rows are counted without sorting.
_DENSE = 4


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EquivalenceClasses:
    """`ids[row]` is the number of a row's class, from 0 on; `sizes[class]` counts its rows."""

    ids: Integers
    sizes: Integers

    def first_rows(self) -> Integers:
        """One row of each class."""
        row_of_class = np.empty(len(self.sizes), dtype=np.int64)
        row_of_class[self.ids[::-1]] = np.arange(len(self.ids) - 1, -1, -1)
        return row_of_class


def group(columns: Sequence[CodedColumn]) -> EquivalenceClasses:
    """The classes of a table: rows with equal codes in every column."""
    return group_codes([column.codes for column in columns], [column.size for column in columns])


def group_codes(codes: Sequence[Integers], sizes: Sequence[int]) -> EquivalenceClasses:
    """The classes of rows given as codes, each below its size."""
    keys, most = codes[0], max(1, sizes[0])
    for column, size in zip(codes[1:], sizes[1:], strict=True):
        if most > _MOST // max(1, size):
            numbered = _number(keys, most)
            keys, most = numbered.ids, len(numbered.sizes)
        keys = keys * size + column
        most *= max(1, size)
    return _number(keys, most)


def _number(keys: Integers, most: int) -> EquivalenceClasses:
    """Number the different keys, all below `most`, in their order."""
    if most <= _DENSE * len(keys) + 1024:
        counts = np.bincount(keys, minlength=most)
        present = counts > 0
        return EquivalenceClasses(ids=(np.cumsum(present) - 1)[keys], sizes=counts[present])
    order = np.argsort(keys)
    ranked = keys[order]
    new = np.empty(len(keys), dtype=bool)
    new[0] = True
    np.not_equal(ranked[1:], ranked[:-1], out=new[1:])
    ids = np.empty(len(keys), dtype=np.int64)
    ids[order] = np.cumsum(new) - 1
    starts = np.flatnonzero(new)
    return EquivalenceClasses(ids=ids, sizes=np.diff(np.append(starts, len(keys))))
