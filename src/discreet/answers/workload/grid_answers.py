"""From the noisy rows of a strategy to the numbers of a grid: least squares, its weights, and the law of its noise."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.answers.workload.batch_cells import CellGrid
from discreet.mechanisms.noise_combination import NoiseLaw
from discreet.mechanisms.strategy.cell_merge import MergeStrategy
from discreet.mechanisms.strategy.strategy import Strategy
from discreet.mechanisms.weighted_sum import WeightedPart

Floats = NDArray[np.float64]
Places = NDArray[np.int64]


@dataclass(frozen=True, eq=False, kw_only=True)
class AtomTable:
    """The atoms of a grid: cells that no number tells apart, together.

    `groups`: of each cell its atom, or -1 where no number holds it. `rows`: the different numbers as 0/1 rows over
    atoms; `which`: for each number of the grid its row, or -1 where it has no cell.
    """

    groups: Places
    rows: NDArray[np.bool_]
    which: Places

    @staticmethod
    def of(size: int, cells: Sequence[Places]) -> AtomTable:
        """Of the cells of each number."""
        # Two cells are of one atom if the marks of the numbers that hold them add up to the same.
        marks = np.zeros((size, 2), dtype=np.uint64)
        for number, own in enumerate(cells):
            marks[own] += np.frombuffer(hashlib.sha256(str(number).encode()).digest()[:16], dtype="<u8")
        held = np.flatnonzero(marks.any(axis=1))
        order = np.lexsort((marks[held, 1], marks[held, 0]))
        ordered = marks[held[order]]
        fresh = np.concatenate([[True], (ordered[1:] != ordered[:-1]).any(axis=1)]) if len(held) else np.zeros(0, bool)
        named = np.empty(len(held), dtype=np.int64)
        named[order] = np.cumsum(fresh) - 1
        # Atoms are numbered by their first cells, so that neighbours stay neighbours.
        _, first, inverse = np.unique(named, return_index=True, return_inverse=True)
        rank = np.empty(len(first), dtype=np.int64)
        rank[np.argsort(first)] = np.arange(len(first))
        groups = np.full(size, -1, dtype=np.int64)
        groups[held] = rank[inverse]
        return AtomTable.from_groups(groups, len(first), cells)

    @staticmethod
    def from_groups(groups: Places, count: int, cells: Sequence[Places]) -> AtomTable:
        sizes = np.bincount(groups[groups >= 0], minlength=count)
        different: dict[bytes, int] = {}
        rows: list[NDArray[np.bool_]] = []
        which = np.full(len(cells), -1, dtype=np.int64)
        for number, own in enumerate(cells):
            if not len(own):
                continue
            held = np.bincount(groups[own], minlength=count)
            inside = held > 0
            if not np.array_equal(held[inside], sizes[inside]):
                raise ValueError("a number does not hold whole atoms")
            text = np.packbits(inside).tobytes()
            if text not in different:
                different[text] = len(rows)
                rows.append(inside)
            which[number] = different[text]
        table = np.array(rows, dtype=np.bool_) if rows else np.zeros((0, count), dtype=np.bool_)
        return AtomTable(groups=groups, rows=table, which=which)

    @property
    def count(self) -> int:
        return int(self.rows.shape[1])


@dataclass(frozen=True, eq=False, kw_only=True)
class GridAnswers:
    """How the numbers of a grid follow from what a strategy over its cells measures, one law of noise on every row.

    Guarantee: without noise `answers` gives every number of the grid, exactly but for rounding in float64; with noise
        its errors are `weights` times that noise; no other unbiased linear answer has a smaller variance, and answers
        agree with each other, being sums over one table.
    Because: they are W x, x the shortest table of atoms whose rows A x are nearest to the noisy ones.
    """

    atoms: AtomTable
    strategy: Strategy

    @staticmethod
    def of(grid: CellGrid, strategy: Strategy) -> GridAnswers:
        return GridAnswers(atoms=atoms_of(grid), strategy=strategy)

    @cached_property
    def weights(self) -> Floats:
        """For each different number the weights over the strategy's rows that make its answer."""
        return reconstruction(self._matrix, self.atoms.rows.astype(np.float64))

    @cached_property
    def _matrix(self) -> Floats:
        if isinstance(self.strategy, MergeStrategy) and np.array_equal(self.strategy.groups, self.atoms.groups):
            return self.strategy.inner.matrix().astype(np.float64)
        first = np.zeros(self.atoms.count, dtype=np.int64)
        first[self.atoms.groups[::-1]] = np.arange(len(self.atoms.groups))[::-1]
        unit = np.zeros((self.strategy.cells, self.atoms.count), dtype=np.int64)
        unit[first, np.arange(self.atoms.count)] = 1
        return self.strategy.multiply(unit).astype(np.float64)

    @cached_property
    def variances(self) -> Floats:
        """The variance of each number, where every row has noise of variance 1."""
        return self._spread((self.weights**2).sum(axis=1))

    def answers(self, noisy: NDArray[Any]) -> Floats:
        """The numbers, of the noisy rows."""
        if noisy.shape != (self.strategy.rows,):
            raise ValueError("the noisy rows belong to another strategy")
        return self._spread(self.weights @ noisy.astype(np.float64))

    def parts(self, number: int, law: NoiseLaw) -> list[WeightedPart]:
        """The noise of a number's answer, for `mechanisms.weighted_sum.half_width`."""
        row = int(self.atoms.which[number])
        if row < 0:
            return []
        weights = self.weights[row]
        return [(weights[np.abs(weights) > _NOTHING * np.abs(weights).max()], law, 1)]

    def _spread(self, values: Floats) -> Floats:
        return np.concatenate([values, [0.0]])[self.atoms.which]


#: Weights below this share of the largest are rounding.
_NOTHING = 1e-13

#: A share of the mean diagonal that is added to it, and taken away again by repeating.
_RIDGE = 1e-9
_REPEATS = 4


def atoms_of(grid: CellGrid) -> AtomTable:
    """The atoms of a grid's numbers."""
    return AtomTable.of(grid.size, [number.cells for number in grid.numbers])


def reconstruction(matrix: Floats, wished: Floats) -> Floats:
    """The shortest weights R with R A = W, row by row.

    Because: R = W A'(A A')^-1 = W (A'A)^-1 A' where these exist; with a ridge they always do, and what it leaves out is
        put right by solving for the rest again.
    """
    rows, cells = matrix.shape
    gram = matrix @ matrix.T if rows <= cells else matrix.T @ matrix
    gram[np.diag_indices(len(gram))] += _RIDGE * float(gram.diagonal().mean())
    lower = np.linalg.cholesky(gram)
    inverse = np.linalg.inv(lower)
    weights, left = np.zeros((len(wished), rows)), wished
    for _ in range(_REPEATS):
        if rows <= cells:
            weights = weights + (left @ matrix.T @ inverse.T) @ inverse
        else:
            weights = weights + ((left @ inverse.T) @ inverse) @ matrix.T
        left = wished - weights @ matrix
    if float(np.abs(left).max(initial=0.0)) > 1e-6:
        raise ValueError("the strategy does not determine every number")
    return weights
