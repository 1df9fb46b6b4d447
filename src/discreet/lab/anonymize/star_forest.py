"""Suppression of cells with a factor that holds for every table: at most 3(k - 1) times the fewest `*`.

The idea is that of Aggarwal et al. (Approximation algorithms for k-anonymity): connect rows to near rows until each
tree has k, then cut large trees. The proof, and how trees are cut, is in docs/proofs/suppression.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import numpy.typing as npt

from discreet.lab.anonymize.column_codes import Integers
from discreet.lab.anonymize.equivalence_classes import group_codes

Codes = npt.NDArray[np.int64]


def forest_classes(codes: Codes, sizes: Sequence[int], k: int) -> Integers:
    """The class of each row.

    Guarantee: each class has k to 3(k - 1) rows, or is all of them, and the `*` of all classes are at most 3(k - 1)
        times the fewest, for k of at least 2.
    """
    rows = len(codes)
    if k == 1:
        return np.arange(rows)
    ids = np.empty(rows, dtype=np.int64)
    for number, members in enumerate(split_trees(near_forest(codes, sizes, k), k)):
        ids[members] = number
    return ids


def near_forest(codes: Codes, sizes: Sequence[int], k: int) -> list[list[int]]:
    """A forest over the rows, as the neighbours of each: every tree has k rows or more.

    Guarantee: every row was the start of at most one edge, and that edge is no longer than the distance of the row to
        its (k - 1)-nearest row.
    Because: a tree of fewer than k rows has fewer edges than rows, so one of its rows has started none. Of the k - 1
        rows nearest to that row at least one is in another tree, so the nearest row of another tree is as near.
    """
    rows = len(codes)
    neighbours: list[list[int]] = [[] for _ in range(rows)]
    tree = list(range(rows))
    members: dict[int, list[int]] = {row: [row] for row in range(rows)}
    unused = {row: [row] for row in range(rows)}  # rows of each tree that started no edge
    small = list(range(rows))
    near = _NearRows(codes, sizes, k)
    while small:
        own = small.pop()
        if own not in members or len(members[own]) >= k:
            continue
        row = unused[own].pop()
        other = near.nearest(row, tree, own)
        neighbours[row].append(other)
        neighbours[other].append(row)
        into = tree[other]
        for each in members[own]:
            tree[each] = into
        members[into] += members.pop(own)
        unused[into] += unused.pop(own)
        if len(members[into]) < k:
            small.append(into)
    return neighbours


class _NearRows:
    """For a row, the nearest one of another tree: rows by what they have in every set of columns."""

    def __init__(self, codes: Codes, sizes: Sequence[int], k: int) -> None:
        self._codes, self._sizes, self._k = codes, sizes, k
        #: For each number of columns that differ: per set of kept columns, the group of each row, and some of its rows.
        self._levels: list[list[tuple[list[int], list[list[int]]]]] = []

    def nearest(self, row: int, tree: Sequence[int], own: int) -> int:
        """A row of another tree than `own`, which has fewer than k rows; none is nearer."""
        for level in range(len(self._sizes) + 1):
            for groups, first_rows in self._level(level):
                for other in first_rows[groups[row]]:
                    if tree[other] != own:
                        return other
        raise AssertionError("every row is in the only group of no columns")

    def _level(self, level: int) -> list[tuple[list[int], list[list[int]]]]:
        """The groups of rows that differ in so many columns at most. k rows of each: one is in another tree."""
        while len(self._levels) <= level:
            made = []
            for kept in combinations(range(len(self._sizes)), len(self._sizes) - len(self._levels)):
                groups = (
                    group_codes([self._codes[:, each] for each in kept], [self._sizes[each] for each in kept]).ids
                    if kept
                    else np.zeros(len(self._codes), dtype=np.int64)
                )
                order = np.argsort(groups, kind="stable")
                parts = np.split(order, np.cumsum(np.bincount(groups))[:-1])
                made.append((groups.tolist(), [part[: self._k].tolist() for part in parts]))
            self._levels.append(made)
        return self._levels[level]


def split_trees(neighbours: Sequence[Sequence[int]], k: int) -> list[list[int]]:
    """The rows of a forest whose trees have k or more, in classes of k to 3(k - 1) rows.

    Guarantee: each edge of the forest is used by one class at most, and the rows of a class, together with at most one
        row besides, are connected by the edges that it uses.
    Because: from the leaves to the root, a row collects the unfinished parts of its children, each connected to it and
        of fewer than k rows. As soon as they have k rows together they are a class, of 2k - 2 rows at most, connected
        over the row that collects, which does not belong to it. What remains, with the row, goes on to its parent; if
        it has k rows, it is a class. The root's remainder has fewer than k rows, and joins a class next to it.
    """
    classes: list[list[int]] = []
    seen = [False] * len(neighbours)
    for root in range(len(neighbours)):
        if not seen[root]:
            classes += _split_tree(neighbours, root, seen, k)
    return classes


def _split_tree(neighbours: Sequence[Sequence[int]], root: int, seen: list[bool], k: int) -> list[list[int]]:
    """One tree. `beside[row]`: a class that was cut off at a row of the unfinished part that `row` leads."""
    order, parent = [root], {root: root}
    seen[root] = True
    for row in order:
        for other in neighbours[row]:
            if not seen[other]:
                seen[other] = True
                parent[other] = row
                order.append(other)
    classes: list[list[int]] = []
    parts: dict[int, list[list[int]]] = {row: [] for row in order}
    beside: dict[int, int] = {}
    for row in reversed(order):
        waiting: list[int] = []
        for part in parts.pop(row):
            waiting += part
            if len(waiting) >= k:
                beside[row] = len(classes)
                classes.append(waiting)
                waiting = []
        waiting.append(row)
        up = parent[row]
        if len(waiting) >= k:
            beside[up] = len(classes)
            classes.append(waiting)
        elif row != root:
            parts[up].append(waiting)
            if row in beside:
                beside.setdefault(up, beside[row])
        elif not classes:
            classes.append(waiting)
        else:
            classes[beside[root]] += waiting
    return classes
