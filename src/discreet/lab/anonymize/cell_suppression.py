"""k-anonymity by suppression: single cells become `*` until every row equals at least k - 1 others.

A class is a set of columns that it keeps and what its rows have there; all its other cells are `*`. To find the fewest
such cells is NP-hard (Meyerson and Williams). Three ways, the better one wins:

`greedy_classes`, by sorting: keep as many columns as possible, the largest classes first. Fast, and good in practice.
`star_forest`: never more than 3(k - 1) times the fewest cells; used where the first is not proved to be as good.
`star_solver`: the fewest cells of all, proved by a solver; for small tables.

`fewest_stars` bounds the fewest cells from below, so that every result says how far from the best it is at most.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.errors import Flag, Message, UsageError
from discreet.lab.anonymize.column_codes import CodedColumn, Flags, Integers
from discreet.lab.anonymize.equivalence_classes import EquivalenceClasses, group_codes

#: Every set of columns is grouped once: rows times sets of columns are at most so many.
MOST_CELLS = 2**26
ColumnSet = tuple[int, ...]
Codes = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CellSuppression:
    """Classes of at least k rows. `kept[class, column]`: whether it shows its value there; else its rows have `*`.

    `stars`: the cells that became `*`. `fewest`: no way to k-anonymity has fewer, which was proved for this table.
    """

    classes: EquivalenceClasses
    kept: Flags
    stars: int
    fewest: int

    @property
    def factor(self) -> float:
        """At most so many times the fewest cells became `*`."""
        return self.stars / self.fewest if self.fewest else 1.0

    def to_data(self) -> dict[str, Any]:
        """As JSON has it."""
        rows, columns = len(self.classes.ids), self.kept.shape[1]
        return {
            "stars": self.stars,
            "cells": rows * columns,
            "fewest": self.fewest,
            "optimal": self.stars == self.fewest,
            "factor": self.factor,
        }


def suppress_cells(columns: Sequence[CodedColumn], k: int, *, sensitive: Sequence[CodedColumn] = ()) -> CellSuppression:
    """Replace single cells by `*`. Rows are first sorted by all these columns: the order of the table has no say.

    Guarantee: every row equals at least k - 1 others, and at most 3(k - 1) times the fewest possible cells are `*`.
    Because: a class has k rows or more. Either `fewest` proves the factor for this table, or the forest's result, of
        which it is proved for all tables, was at least no better.
    """
    from discreet.lab.anonymize.star_forest import forest_classes
    from discreet.lab.anonymize.star_solver import solve_classes

    order = np.lexsort([column.codes for column in reversed([*columns, *sensitive])])
    codes, sizes = np.stack([column.codes[order] for column in columns], axis=1), [column.size for column in columns]
    if len(codes) << len(sizes) > MOST_CELLS:
        raise UsageError(
            f"{len(codes):,} rows with {len(sizes)} quasi-identifiers have too many combinations of columns to try",
            hint=Message("fewer quasi-identifiers, or ", Flag("method", "mondrian")),
        )
    fewest = fewest_stars(codes, sizes, k)
    best = _suppression(codes, greedy_classes(codes, sizes, k), fewest)
    if best.stars > 3 * (k - 1) * fewest:
        best = min(best, _suppression(codes, forest_classes(codes, sizes, k), fewest), key=lambda each: each.stars)
    if best.stars > fewest:
        solved = solve_classes(codes, k, most=best.stars)
        if solved is not None:
            fewest = max(fewest, solved.fewest)
            tried = [best, *([] if solved.ids is None else [_suppression(codes, solved.ids, fewest)])]
            best = min(tried, key=lambda each: each.stars)
    ids = np.empty(len(order), dtype=np.int64)
    ids[order] = best.classes.ids
    classes = EquivalenceClasses(ids=ids, sizes=best.classes.sizes)
    return CellSuppression(classes=classes, kept=best.kept, stars=best.stars, fewest=fewest)


def _suppression(codes: Codes, ids: Integers, fewest: int) -> CellSuppression:
    """What classes of rows cost: a column is kept where all rows of the class agree in it."""
    ids = np.unique(ids, return_inverse=True)[1]
    sizes = np.bincount(ids)
    first = np.empty(len(sizes), dtype=np.int64)
    first[ids[::-1]] = np.arange(len(ids) - 1, -1, -1)
    differs = codes != codes[first][ids]
    kept = np.stack([np.bincount(ids[column], minlength=len(sizes)) == 0 for column in differs.T], axis=1)
    stars = int(((~kept).sum(axis=1) * sizes).sum())
    return CellSuppression(classes=EquivalenceClasses(ids=ids, sizes=sizes), kept=kept, stars=stars, fewest=fewest)


def fewest_stars(codes: Codes, sizes: Sequence[int], k: int) -> int:
    """A number of cells that every k-anonymous table made from this one has as `*` at least.

    Because: a row and the k - 1 others of its class agree in every cell that the row keeps, so the row has as many `*`
        as its distance (columns that differ) to its (k - 1)-nearest row. Rows at each distance are counted by sorting:
        the sum over sets of s columns of the rows that agree in the set is the sum over rows of C(agreements, s), and
        that is inverted.
    """
    rows, columns = codes.shape
    agreeing = np.zeros((columns + 1, rows), dtype=np.int64)
    for kept, groups in _groupings(codes, sizes, range(columns + 1)):
        agreeing[len(kept)] += np.bincount(groups)[groups]
    exactly = np.zeros_like(agreeing)
    for agreements in range(columns + 1):
        for size in range(agreements, columns + 1):
            exactly[agreements] += (-1) ** (size - agreements) * comb(size, agreements) * agreeing[size]
    within = np.cumsum(exactly[::-1], axis=0)  # within[d]: rows at a distance of at most d, the row itself among them
    return int((within < k).sum())


def greedy_classes(codes: Codes, sizes: Sequence[int], k: int) -> Integers:
    """The class of each row: as few `*` as possible first, and of classes with equally many the largest."""
    rows, columns = codes.shape
    ids, number = np.full(rows, -1, dtype=np.int64), 0
    left = np.arange(rows)
    for stars in range(columns + 1):
        groupings = [groups for _, groups in _groupings(codes[left], sizes, [columns - stars])]
        while len(left):
            taken = _largest_groups(groupings, k)
            if taken is None:
                break
            opened = taken >= 0
            ids[left[opened]] = number + taken[opened]
            number += int(taken.max()) + 1
            left = left[~opened]
            groupings = [np.unique(groups[~opened], return_inverse=True)[1] for groups in groupings]
    for row in left.tolist():  # fewer than k, at the end
        _join_cheapest(codes, ids, row)
    return ids


def _largest_groups(groupings: Sequence[Integers], k: int) -> Integers | None:
    """A new class for some rows, -1 for the others; None where no group has k rows.

    Every row votes for its largest group. A group with k votes becomes a class of all its rows that are still free;
    where none has, the largest does.
    """
    counts = np.stack([np.bincount(groups)[groups] for groups in groupings])
    chosen = counts.argmax(axis=0)
    largest = np.take_along_axis(counts, chosen[None], axis=0)[0]
    if largest.max() < k:
        return None
    taken = np.full(len(largest), -1, dtype=np.int64)
    number = 0
    for place, groups in enumerate(groupings):
        votes = np.bincount(groups[(chosen == place) & (taken < 0)], minlength=int(groups.max()) + 1)
        opened = votes >= k
        mine = opened[groups] & (taken < 0)
        taken[mine] = number + (np.cumsum(opened) - 1)[groups[mine]]
        number += int(opened.sum())
    if not number:
        best = int(largest.argmax())
        groups = groupings[chosen[best]]
        taken[groups == groups[best]] = 0
    return taken


def _join_cheapest(codes: Codes, ids: Integers, row: int) -> None:
    """Put a row into the class that needs the fewest more `*` for it."""
    placed = np.flatnonzero(ids >= 0)
    one = _suppression(codes[placed], ids[placed], 0)
    names = np.unique(ids[placed])
    first = placed[one.classes.first_rows()]
    shared = one.kept & (codes[first] == codes[row])
    cost = one.classes.sizes * (one.kept.sum(axis=1) - shared.sum(axis=1)) - shared.sum(axis=1)
    ids[row] = names[int(cost.argmin())]


def _groupings(codes: Codes, sizes: Sequence[int], numbers: Sequence[int]) -> Iterator[tuple[ColumnSet, Integers]]:
    """For every set of so many columns, the group of each row: rows that agree in all of them."""
    for number in numbers:
        for kept in combinations(range(len(sizes)), number):
            if not kept or not len(codes):
                yield kept, np.zeros(len(codes), dtype=np.int64)
            else:
                yield kept, group_codes([codes[:, column] for column in kept], [sizes[column] for column in kept]).ids
