"""Conditions that hold for exactly one row of the synthetic table, found and counted on codes.

A condition is a conjunction of one comparison for each of some columns: equal to a code, at most it, or at least it.
Comparisons are integers in arrays, 500 at a time, so their number and the tables' size are what they cost.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.lab.attacks.synthetic.coded_tables import NULL, CodedTables, Codes

Integers = NDArray[np.int64]

#: Kinds of comparison. ANY holds for every row: the column is not in the condition.
ANY, EQUAL, AT_MOST, AT_LEAST = range(4)
_SIGNS = {EQUAL: "=", AT_MOST: "<=", AT_LEAST: ">="}

#: An ordered column with more values than this is compared by <= and >=, as an attacker who is unsure of it would.
_FEW_VALUES = 20
#: Conditions that are evaluated at once: their marks on the rows stay in the processor's cache.
_AT_ONCE = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class RowConditions:
    """One condition for each row of two arrays: the kind of comparison with each column, and the code compared with."""

    kinds: NDArray[np.int8]
    codes: Codes

    def __len__(self) -> int:
        return len(self.kinds)

    def select(self, chosen: NDArray[np.bool_] | Integers | slice) -> RowConditions:
        """Some of them."""
        return RowConditions(kinds=self.kinds[chosen], codes=self.codes[chosen])

    def counts(self, table: Codes) -> Integers:
        """For how many rows of a table each one holds."""
        row_counts = np.zeros(len(self), np.int64)
        for start in range(0, len(self), _AT_ONCE):
            part = self.select(slice(start, start + _AT_ONCE))
            matches = np.ones((len(part), table.shape[1]), np.bool_)
            for column in range(table.shape[0]):
                narrow_matches(matches, part.kinds[:, column], part.codes[:, column], table[column])
            row_counts[start : start + _AT_ONCE] = matches.sum(axis=1)
        return row_counts

    def describe(self, place: int, coded: CodedTables) -> str:
        """Which columns one of them compares, and how; never with which value: that would be somebody's."""
        parts = [
            f"{name} is NULL" if code == NULL else f"{name} {_SIGNS[int(kind)]} …"
            for name, kind, code in zip(coded.names, self.kinds[place], self.codes[place], strict=True)
            if kind != ANY
        ]
        return " and ".join(parts)


def narrow_matches(matches: NDArray[np.bool_], kinds: NDArray[np.int8], codes: Codes, column: Codes) -> None:
    """Leave each condition the rows for which its comparison with this column holds. NULL is neither low nor high."""
    for kind in (EQUAL, AT_MOST, AT_LEAST):
        (own,) = np.nonzero(kinds == kind)
        if not len(own):
            continue
        limit = codes[own, None]
        if kind == EQUAL:
            matches[own] &= column == limit
        elif kind == AT_LEAST:
            matches[own] &= column >= limit  # a limit is above NULL
        else:
            matches[own] &= (column <= limit) & (column != NULL)


def of_one_column(coded: CodedTables) -> Iterator[RowConditions]:
    """For each column the conditions on it alone that hold for one synthetic row: a rare value, the least, the most."""
    for column, size in enumerate(coded.sizes):
        counts = np.bincount(coded.synthetic[column], minlength=size)
        (rare,) = np.nonzero(counts == 1)
        comparisons = [(EQUAL, int(code)) for code in rare]
        (present_codes,) = np.nonzero(counts[1:])
        if coded.ordered[column] and len(present_codes):
            least, most = int(present_codes[0]) + 1, int(present_codes[-1]) + 1
            ends = ((AT_MOST, least), (AT_LEAST, most))
            comparisons += [(kind, code) for kind, code in ends if counts[code] == 1]
        yield _column_conditions(coded, column, comparisons)


def _column_conditions(coded: CodedTables, column: int, comparisons: list[tuple[int, int]]) -> RowConditions:
    kinds = np.zeros((len(comparisons), len(coded.names)), np.int8)
    codes = np.zeros((len(comparisons), len(coded.names)), np.int32)
    if comparisons:
        kinds[:, column], codes[:, column] = np.array(comparisons).T
    return RowConditions(kinds=kinds, codes=codes)


def of_several_columns(
    coded: CodedTables, rows: Integers, generator: np.random.Generator, *, most: int
) -> RowConditions:
    """From each of these synthetic rows, columns in an order by chance until the row is alone; at least two.

    Rows that are not alone with `most` columns give no condition. Constant columns are never compared. No two are the
    same, for each holds for its own row alone.
    """
    (useful,) = np.nonzero(np.ptp(coded.synthetic, axis=1) > 0)
    parts = [
        _grow_conditions(coded, rows[start : start + _AT_ONCE], useful, generator, most)
        for start in range(0, len(rows), _AT_ONCE)
    ]
    nothing = np.zeros((0, len(coded.names)), np.int8)
    return RowConditions(
        kinds=np.concatenate([nothing, *(part.kinds for part in parts)]),
        codes=np.concatenate([nothing.astype(np.int32), *(part.codes for part in parts)]),
    )


def _grow_conditions(
    coded: CodedTables, rows: Integers, useful: Integers, generator: np.random.Generator, most: int
) -> RowConditions:
    matches = np.ones((len(rows), coded.synthetic.shape[1]), np.bool_)
    kinds = np.zeros((len(rows), len(coded.names)), np.int8)
    codes = np.ascontiguousarray(coded.synthetic[:, rows].T)
    orders = generator.permuted(np.tile(useful, (len(rows), 1)), axis=1)
    growing, alone = np.arange(len(rows)), np.zeros(len(rows), np.bool_)
    for step in range(min(most, len(useful))):
        for column in useful:
            own = growing[orders[growing, step] == column]
            if len(own):
                kinds[own, column] = _kinds(coded, column, codes[own, column])
                mine = matches[own]
                narrow_matches(mine, kinds[own, column], codes[own, column], coded.synthetic[column])
                matches[own] = mine
        alone[growing] = matches[growing].sum(axis=1) == 1
        if step:
            growing = growing[~alone[growing]]
        if not len(growing):
            break
    return RowConditions(kinds=kinds, codes=codes).select(alone & ((kinds != ANY).sum(axis=1) > 1))


def _kinds(coded: CodedTables, column: int, codes: Codes) -> NDArray[np.int8]:
    """How a column is compared: numbers towards their nearer end, everything else for being the same."""
    if not coded.ordered[column] or coded.sizes[column] <= _FEW_VALUES:
        return np.full(len(codes), EQUAL, np.int8)
    towards = np.where(coded.places[column][codes] < 0.5, AT_MOST, AT_LEAST)
    return np.where(codes == NULL, EQUAL, towards).astype(np.int8)
