"""Least squares on a tree of tables: what every node's noisy coordinates say about every other's, in two passes.

A node's coordinate is the sum of its children's. Coordinates do not mix, so each is a tree of single numbers: up, a
node's own value and the sum of its children's are averaged by their precisions; down, what the parent came to differ
from its children's sum is shared among them by their variances. That is generalised least squares, exactly, and the
variances come out on the way. They depend on the tree and on precisions alone, so they are known before any data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Wholes = NDArray[np.int64]


@dataclass(frozen=True)
class NodeTree:
    """Levels of nodes, one root first: `parents[l][i]` is the node of level l that node i of level l + 1 lies in.

    Parents rise, so that children stand together; every node above the last level has a child.
    """

    parents: tuple[Wholes, ...]

    def __post_init__(self) -> None:
        size = 1
        for parent in self.parents:
            steps = np.diff(parent)
            if not len(parent) or parent[0] != 0 or parent[-1] != size - 1 or not np.isin(steps, (0, 1)).all():
                raise ValueError("the children of each node must be next to each other")
            size = len(parent)

    @property
    def depth(self) -> int:
        """How many levels there are."""
        return len(self.parents) + 1

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """How many nodes each level has."""
        return (1, *(len(parent) for parent in self.parents))

    @cached_property
    def starts(self) -> tuple[Wholes, ...]:
        """For each level but the last, where the children of each node start."""
        return tuple(np.flatnonzero(np.diff(parent, prepend=-1)) for parent in self.parents)

    @cached_property
    def fan_outs(self) -> tuple[Wholes, ...]:
        """For each level but the last, how many children each node has."""
        return tuple(
            np.diff(np.append(start, len(parent))) for start, parent in zip(self.starts, self.parents, strict=True)
        )

    def sums(self, level: int, values: NDArray[Any]) -> NDArray[Any]:
        """Values of a level's children, nodes along the last axis, summed for each node of `level`."""
        node_sums: NDArray[Any] = np.add.reduceat(values, self.starts[level], axis=-1)
        return node_sums

    def spread(self, level: int, values: NDArray[Any]) -> NDArray[Any]:
        """Values of the nodes of `level`, given to each of their children."""
        return np.repeat(values, self.fan_outs[level], axis=-1)


@dataclass(frozen=True, kw_only=True)
class LevelPrecisions:
    """How exactly each level's coordinates were measured: `of[l, j]` is 1 / variance, 0 where there was no measurement.

    `known[l, j]`: that coordinate of that level is known exactly. Coordinates with the same precisions at every level
    have the same variances: they form a class, and variances are kept by class.
    """

    of: Floats
    is_exact: NDArray[np.bool_]

    def __post_init__(self) -> None:
        if self.of.shape != self.is_exact.shape or (self.of < 0).any() or not np.isfinite(self.of).all():
            raise ValueError("precisions must be finite, not negative, and of one shape")
        if not ((self.of[-1] > 0) | self.is_exact[-1]).all():
            raise ValueError("a coordinate of the last level is never measured")

    @cached_property
    def _classes(self) -> tuple[Wholes, Wholes]:
        both = np.concatenate([self.of, self.is_exact]).T
        _, first, inverse = np.unique(both, axis=0, return_index=True, return_inverse=True)
        return first, inverse.reshape(-1)

    @property
    def classes(self) -> Wholes:
        """The class of each coordinate."""
        return self._classes[1]

    def by_class(self, level: int) -> tuple[Floats, NDArray[np.bool_]]:
        """A level's precisions, and what is known at it, for each class."""
        first = self._classes[0]
        return self.of[level, first], self.is_exact[level, first]


@dataclass(frozen=True, kw_only=True)
class LevelVariances:
    """Variances of one level by class: `subtree` from what was measured at and below a node, `final` from everything.

    The nodes of the last level are alike below one parent: for them `subtree` has one column for all, and `final` one
    for each parent; `shared` says so.
    """

    subtree: Floats
    final: Floats
    shared: bool
    below: Floats | None = None


def level_variances(tree: NodeTree, precisions: LevelPrecisions) -> tuple[LevelVariances, ...]:
    """The variances of least squares on a tree, level by level from the root. From public facts alone."""
    subtree, below = _upward(tree, precisions)
    final = [subtree[0]]
    for level in range(tree.depth - 1):
        own, sums, rest = subtree[level + 1], below[level], final[level] - below[level]
        if level < tree.depth - 2:
            sums, rest = tree.spread(level, sums), tree.spread(level, rest)
        final.append(own + _ratio(own, sums) ** 2 * rest)
    return tuple(
        LevelVariances(
            subtree=subtree[level],
            final=np.maximum(final[level], 0.0),
            shared=level == tree.depth - 1 and level > 0,
            below=below[level] if level < tree.depth - 1 else None,
        )
        for level in range(tree.depth)
    )


def _upward(tree: NodeTree, precisions: LevelPrecisions) -> tuple[list[Floats], list[Floats]]:
    """By class: each node's variance from its subtree, and that of its children's sum."""
    last, is_exact = precisions.by_class(tree.depth - 1)
    subtree = [np.where(is_exact, 0.0, 1 / np.where(is_exact, 1.0, last))[:, None]]
    below: list[Floats] = []
    for level in reversed(range(tree.depth - 1)):
        one = subtree[-1]
        alike = level == tree.depth - 2
        sums: Floats = one * tree.fan_outs[level] if alike else tree.sums(level, one)
        own, is_exact = precisions.by_class(level)
        below.append(sums)
        subtree.append(np.where(is_exact[:, None], 0.0, sums / (sums * own[:, None] + 1)))
    return subtree[::-1], below[::-1]


def _ratio(part: Floats, whole: Floats) -> Floats:
    """part / whole; 0 where both are."""
    return np.divide(part, whole, out=np.zeros(np.broadcast_shapes(part.shape, whole.shape)), where=whole > 0)


def fit_tree(
    tree: NodeTree,
    precisions: LevelPrecisions,
    variances_by_level: Sequence[LevelVariances],
    values: Sequence[Floats],
    exact_values: Mapping[int, Floats] | None = None,
) -> list[Floats]:
    """The least-squares coordinates of every node: for each level an array of coordinates by nodes.

    `values[l]`: the measured coordinates of a level, anything where nothing was measured; they are overwritten.
    `known[l]`: the exact values of the coordinates of a level that are known.

    Guarantee: the best linear unbiased estimates; `variances_by_level` holds their variances.
    Because: see the head of this file; by Gauss and Markov. Tested against dense algebra.
    """
    classes = precisions.classes
    upward, sums = [_with_exact_values(values[-1], tree.depth - 1, precisions, exact_values)], []
    for level in reversed(range(tree.depth - 1)):
        below = variances_by_level[level].below
        assert below is not None
        total = tree.sums(level, upward[-1])
        own, _ = precisions.by_class(level)
        weight = below * own[:, None] / (below * own[:, None] + 1)
        merged = total + weight[classes] * (values[level] - total)
        sums.append(total)
        upward.append(_with_exact_values(merged, level, precisions, exact_values))
    upward, sums = upward[::-1], sums[::-1]
    for level in range(tree.depth - 1):
        below = variances_by_level[level].below
        assert below is not None
        rest = upward[level] - sums[level]
        if variances_by_level[level + 1].shared:
            each = _ratio(variances_by_level[level + 1].subtree, below)[classes] * rest
            upward[level + 1] += tree.spread(level, each)
        else:
            share = _ratio(variances_by_level[level + 1].subtree, tree.spread(level, below))
            upward[level + 1] += share[classes] * tree.spread(level, rest)
    return upward


def _with_exact_values(
    values: Floats, level: int, precisions: LevelPrecisions, exact_values: Mapping[int, Floats] | None
) -> Floats:
    """A level's coordinates with those that are known exactly in their places."""
    is_exact = precisions.is_exact[level]
    if is_exact.any():
        assert exact_values is not None
        values[is_exact] = exact_values[level]
    return values
