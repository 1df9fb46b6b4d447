"""The best tree for a workload: which levels to measure, and with what weights.

Averages over the blocks of nested sizes s_0 = 1 < s_1 < ... split the space of cells into orthogonal parts, in which
A'A is a number each: lambda_k = sum over j <= k of w_j^2 s_j. So the sum of the variances is

    sensitivity^2 * sum over k of E_k / lambda_k,    E_k = energy(s_k) - energy(s_{k+1}),

which takes a few numbers, not a matrix. (Exact where blocks come out even; else a little above the truth. Plans are
compared by their true errors in the end.)
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from discreet.inference.lbfgs import minimise
from discreet.inference.strategy_choice.workload import Workload

Floats = NDArray[np.float64]

#: A level whose weight is below this share of the largest is dropped.
_PAYS = 0.02

#: Branchings that trees start from, before single levels are changed.
_BRANCHINGS = (2, 3, 4, 6, 8, 12, 16, 24, 32)

#: What a level's branching is multiplied by to try another.
_CHANGES = ((1, 2), (2, 1), (3, 2), (2, 3))


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelTree:
    """Sizes of blocks from the cells up, their weights, and the estimated mean variance at sensitivity 1."""

    sizes: tuple[int, ...]
    weights: tuple[float, ...]
    variance: float


@dataclass(slots=True)
class TreeSearch:
    """Trees for one workload and one norm."""

    workload: Workload
    gaussian: bool
    _energies: dict[int, float] = field(default_factory=dict)
    _tree_cache: dict[tuple[int, ...], LevelTree] = field(default_factory=dict)
    _part_cache: dict[tuple[int, ...], tuple[Floats, Floats]] = field(default_factory=dict)

    def best(self, changes: int) -> LevelTree:
        """The best of regular trees, and then of so many rounds of changes to one level of it."""
        best_tree = min((self.tree(sizes) for sizes in self._regular()), key=lambda tree: tree.variance)
        for _ in range(changes):
            better = min((self.tree(sizes) for sizes in self._changed(best_tree.sizes)), key=lambda tree: tree.variance)
            if better.variance >= best_tree.variance * (1 - 1e-6):
                break
            best_tree = better
        return best_tree

    def tree(self, sizes: Iterable[int]) -> LevelTree:
        """The tree of these block sizes with the best weights, without the levels that do not pay."""
        kept = tuple(sizes)
        if kept not in self._tree_cache:
            self._tree_cache[kept] = self._weighted_tree(kept)
        return self._tree_cache[kept]

    def _weighted_tree(self, sizes: tuple[int, ...]) -> LevelTree:
        weights = self._weights(sizes)
        paying = tuple(i for i, weight in enumerate(weights) if not i or weight >= _PAYS * weights.max())
        if len(paying) < len(sizes):
            return self.tree(sizes[i] for i in paying)
        variance, _ = self._error(sizes, np.log(weights))
        return LevelTree(sizes=sizes, weights=tuple(weights / weights.max()), variance=math.exp(variance))

    def _weights(self, sizes: tuple[int, ...]) -> Floats:
        start = np.zeros(len(sizes))
        best: list[tuple[float, Floats]] = [(math.inf, start)]

        def function(logs: Floats) -> tuple[float, Floats]:
            value, gradient = self._error(sizes, logs)
            if value < best[0][0]:
                best[0] = (value, logs.copy())
            return value, gradient

        minimise(
            function,
            start,
            scaling=np.ones(len(sizes)),
            residual=lambda gradient: float(np.abs(gradient).max()),
            tolerance=1e-6,
            evaluations=80,
        )
        return np.asarray(np.exp(np.clip(best[0][1], -40, 40)))

    def _error(self, sizes: tuple[int, ...], logs: Floats) -> tuple[float, Floats]:
        """The logarithm of the mean variance at sensitivity 1, by the logarithms of the weights, and its gradient."""
        logs = logs - logs.max()
        weights = np.exp(np.maximum(logs, -40))
        blocks, energies = self._parts(sizes)
        eigenvalues = np.cumsum(weights**2 * blocks)
        total = float((energies / eigenvalues).sum())
        slopes = -np.cumsum((energies / eigenvalues**2)[::-1])[::-1] * 2 * weights**2 * blocks / total
        power = 2 if self.gaussian else 1
        norm = float((weights**power).sum())
        value = math.log(norm) * 2 / power + math.log(total / self.workload.queries)
        return value, slopes + 2 * weights**power / norm

    def _parts(self, sizes: tuple[int, ...]) -> tuple[Floats, Floats]:
        """The sizes of the blocks of each level, and its E_k."""
        if sizes not in self._part_cache:
            energies = [self._energy(size) for size in sizes]
            # Nothing measures the whole unless the last level does: beyond it lies no block to average over.
            parts = [max(one - two, 0.0) for one, two in pairwise(energies)]
            self._part_cache[sizes] = np.array(sizes, dtype=np.float64), np.array([*parts, energies[-1]])
        return self._part_cache[sizes]

    def _energy(self, size: int) -> float:
        if size not in self._energies:
            self._energies[size] = self.workload.block_energy(size)
        return self._energies[size]

    def _regular(self) -> Iterator[tuple[int, ...]]:
        for branching in _BRANCHINGS:
            yield tuple(_powers(branching, self.workload.cells))
        yield (1,)

    def _changed(self, sizes: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        """The tree with one level dropped, one added on top or between, or one branching changed."""
        ratios = [two // one for one, two in pairwise(sizes)]
        for place, ratio in enumerate(ratios):
            rest = (ratios[:place], ratios[place + 1 :])
            yield self._sizes([*rest[0], *rest[1]])
            for up, down in _CHANGES:
                if ratio * up % down == 0 and ratio * up // down > 1:
                    changed = ratio * up // down
                    yield self._sizes([*rest[0], changed, *rest[1]])
                    # The next branching makes up for it, so that the levels above keep their sizes.
                    if rest[1] and rest[1][0] * down % up == 0 and rest[1][0] * down // up > 1:
                        yield self._sizes([*rest[0], changed, rest[1][0] * down // up, *rest[1][1:]])
            for inner in (2, 4):
                if ratio % inner == 0 and ratio > inner:
                    yield self._sizes([*rest[0], inner, ratio // inner, *rest[1]])
        for ratio in (2, 4, 8):
            yield self._sizes([*ratios, ratio])

    def _sizes(self, ratios: list[int]) -> tuple[int, ...]:
        sizes = np.cumprod([1, *ratios], dtype=object)
        return tuple(int(size) for size in sizes if size < 2 * self.workload.cells)


def _powers(branching: int, cells: int) -> Iterator[int]:
    size = 1
    yield size
    while size < cells:
        size *= branching
        yield size
