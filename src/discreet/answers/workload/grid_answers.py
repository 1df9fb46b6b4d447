"""From the noisy rows of a strategy to the numbers of a grid: least squares, its weights, and the law of its noise."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.answers.workload.batch_cells import CellGrid
from discreet.inference.linear.half_widths import half_widths
from discreet.inference.linear.row_weights import RowWeights, row_weights
from discreet.inference.linear.solver_interface import Solver
from discreet.inference.linear.weight_profile import weight_profile
from discreet.inference.strategy_choice.sum_plan import range_solver
from discreet.inference.strategy_choice.sum_workload import SumWorkload
from discreet.mechanisms.noise_combination import NoiseLaw
from discreet.mechanisms.strategy.cell_merge import MergeStrategy
from discreet.mechanisms.strategy.strategy import Strategy
from discreet.mechanisms.weighted_sum import WeightedPart

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Places = NDArray[np.int64]

#: Numbers that are looked at together have so many weights.
_CHUNK = 2**22

#: Weights below this share of the largest are rounding.
_NOTHING = 1e-13


def atoms_of(size: int, cells: Sequence[Places]) -> Places:
    """Of each cell its atom, cells that no number tells apart; -1 where no number holds it.

    Atoms are numbered by their first cells, so that neighbours stay neighbours.

    >>> atoms_of(6, [np.array([1, 2, 3]), np.array([3, 4])]).tolist()
    [-1, 0, 0, 1, 2, -1]
    """
    # Two cells are of one atom if the marks of the numbers that hold them add up to the same.
    marks = np.zeros((size, 2), dtype=np.uint64)
    for number, own in enumerate(cells):
        mark = np.frombuffer(hashlib.sha256(str(number).encode()).digest()[:16], dtype="<u8")
        if len(own) and own[-1] - own[0] + 1 == len(own):
            marks[own[0] : own[-1] + 1] += mark
        else:
            marks[own] += mark
    inside = np.flatnonzero(marks.any(axis=1))
    groups = np.full(size, -1, dtype=np.int64)
    if not len(inside):
        return groups
    order = np.lexsort((inside, marks[inside, 1], marks[inside, 0]))
    ordered = marks[inside[order]]
    fresh = np.concatenate([[True], (ordered[1:] != ordered[:-1]).any(axis=1)])
    first = inside[order[fresh]]
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    groups[inside[order]] = rank[np.cumsum(fresh) - 1]
    return groups


def rows_over(groups: Places, count: int, cells: Sequence[Places]) -> Flags:
    """The groups of each number. It must hold whole ones."""
    sizes = np.bincount(groups[groups >= 0], minlength=count)
    rows = np.zeros((len(cells), count), dtype=np.bool_)
    for number, own in enumerate(cells):
        places = groups[own]
        rows[number, places] = True
        if len(own) and (places.min() < 0 or int(sizes[rows[number]].sum()) != len(own)):
            raise ValueError("the strategy does not determine every number")
    return rows


@dataclass(frozen=True, eq=False, kw_only=True)
class GridAnswers:
    """How the numbers of a grid follow from what a strategy over its cells measures, one law of noise on every row.

    Guarantee: without noise `answers` gives every number of the grid, exactly but for rounding in float64; with noise
        its errors are `weights` times that noise; no linear answer that is unbiased for every table of the groups that
        the strategy reads has a smaller variance, and answers agree with each other, being sums over one table.
    Because: they are W x, x the shortest table of cells whose rows A x are nearest to the noisy ones.
    """

    strategy: Strategy
    inner: Strategy
    rows: Flags
    which: Places

    @cached_property
    def reader(self) -> RowWeights:
        return row_weights(self.inner)

    @cached_property
    def ranges(self) -> tuple[Solver, Places, Places] | None:
        """Where all numbers are of consecutive groups: what answers them at once, their first and last groups."""
        solver = range_solver(self.inner) if len(self.rows) else None
        ends = SumWorkload(self.rows, np.ones(len(self.rows))).ends if solver is not None else None
        return None if solver is None or ends is None else (solver, *ends)

    @staticmethod
    def of(grid: CellGrid, strategy: Strategy) -> GridAnswers:
        if strategy.cells != grid.size:
            raise ValueError("the strategy has another number of cells")
        return GridAnswers.of_cells([number.cells for number in grid.numbers], strategy)

    @staticmethod
    def of_cells(cells: Sequence[Places], strategy: Strategy) -> GridAnswers:
        """Of numbers that are sums over these cells. Refuses what the strategy does not determine."""
        groups, inner = np.arange(strategy.cells), strategy
        if isinstance(strategy, MergeStrategy):
            groups, inner = strategy.groups, strategy.inner
        different, which = different_numbers(cells)
        rows = rows_over(groups, inner.cells, different)
        return GridAnswers(strategy=strategy, inner=inner, rows=rows, which=which)

    def _chunks(self) -> Iterator[Floats]:
        lines = max(1, _CHUNK // max(self.strategy.rows, self.rows.shape[1]))
        for start in range(0, len(self.rows), lines):
            yield self.rows[start : start + lines].astype(np.float64)

    @cached_property
    def variances(self) -> Floats:
        """The variance of each number, where every row has noise of variance 1."""
        if self.ranges is not None:
            solver, lows, highs = self.ranges
            return self._spread([solver.range_variances(lows, highs)])
        return self._spread([self.reader.variances(lines) for lines in self._chunks()])

    def answers(self, noisy: NDArray[Any]) -> Floats:
        """The numbers, of the noisy rows."""
        if noisy.shape != (self.strategy.rows,):
            raise ValueError("the noisy rows belong to another strategy")
        values = noisy.astype(np.float64)
        if self.ranges is not None:
            solver, lows, highs = self.ranges
            sums = np.concatenate([[0.0], np.cumsum(solver.fit(values))])
            return self._spread([sums[highs + 1] - sums[lows]])
        return self._spread([self.reader.weights(lines) @ values for lines in self._chunks()])

    def weights(self, number: int) -> Floats:
        """The weights over the strategy's rows that make the answer of a number."""
        row = int(self.which[number])
        if row < 0:
            return np.zeros(self.strategy.rows)
        weights = self.reader.weights(self.rows[row][None].astype(np.float64))[0]
        return np.where(np.abs(weights) > _NOTHING * np.abs(weights).max(), weights, 0.0)

    def parts(self, number: int, law: NoiseLaw) -> list[WeightedPart]:
        """The noise of a number's answer, for `mechanisms.weighted_sum.half_width`."""
        weights = self.weights(number)
        return [(weights[weights != 0], law, 1)] if weights.any() else []

    def half_widths(self, law: NoiseLaw, confidence: Fraction) -> Floats:
        """For each number a width that its error stays within, with this confidence: for many numbers of many rows.

        See `inference.linear.half_widths` for what is bounded there, and what is tested.
        """
        if self.ranges is not None:
            solver, lows, highs = self.ranges
            return self._spread([solver.half_widths(lows, highs, law, confidence)])
        profiles = (weight_profile(self.reader.weights(lines)) for lines in self._chunks())
        return self._spread([half_widths(profile, law, confidence) for profile in profiles])

    def _spread(self, chunks: list[Floats]) -> Floats:
        """Of the different numbers to all: those without cells are 0."""
        return np.concatenate([*chunks, [0.0]])[self.which]


def different_numbers(cells: Sequence[Places]) -> tuple[list[Places], Places]:
    """The different sets of cells, without empty ones; and for each number which it is, or -1."""
    different: dict[bytes, int] = {}
    kept: list[Places] = []
    which = np.full(len(cells), -1, dtype=np.int64)
    for number, own in enumerate(cells):
        if len(own):
            text = own.tobytes()
            if text not in different:
                different[text] = len(kept)
                kept.append(own)
            which[number] = different[text]
    return kept, which
