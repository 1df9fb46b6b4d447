"""The split of a pure epsilon over tables: a search, for the best is not known.

Candidates are tables cell by cell, and for axes of two cells also by their difference alone; of larger axes
contrasts never pay in L1 (docs/proofs/tables-marginals.md). With shares s the residual of S has information
sum of a s^2 over the candidates. From several starts the sum of variances is brought down by steps that each lower
it, and the best end is kept.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.inference.linear.residual_part import Axes, ResidualPart, informative_axes, subsets
from discreet.tables.marginals.marginal_workload import MarginalWorkload, WorkloadResiduals
from discreet.tables.marginals.table_cover import cover

Floats = NDArray[np.float64]

#: How far past their cheapest size the tables of covers grow: each gives a start of its own.
_SLACKS = (1.0, 1.1, 1.25, 1.5)
#: What a candidate that a start does not name begins with.
_FAINT = 1e-3
#: Steps are taken until ten of them together gain less than this, or so many are done.
_GAIN = 1e-5
_MOST_STEPS = 400
#: Parts of a smaller share than this, against the largest, tell nothing and are left out.
_LEAST = 1e-4


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetSplit:
    """Parts and their shares; the weighted sum of cell variances, and each residual's variance, at unit budget."""

    parts: tuple[ResidualPart, ...]
    shares: Floats
    value: float
    variances: Floats


def pure_split(workload: MarginalWorkload, weights: Floats) -> BudgetSplit:
    """Parts and shares of epsilon for a small sum over tables of weight times a cell's variance, in 2 / epsilon^2."""
    covers = list(_covers(workload))
    problem = _SplitSearch.of(workload, weights, covers)
    best = min((problem.descend(start) for start in problem.starts(workload, covers)), key=lambda end: end[1])
    return problem.cut(best[0])


def _covers(workload: MarginalWorkload) -> Iterator[list[Axes]]:
    """Covers to start from; where no table grows at all, none grows by being allowed to cost more."""
    wished = {informative_axes(axes, workload.sizes) for axes in workload.sets}
    for slack in _SLACKS:
        tables = cover(workload, slack=slack)
        yield tables
        if set(tables) <= wished:
            return


@dataclass(frozen=True, slots=True)
class _SplitSearch:
    """Line by line the number of a part, of a residual, and what the part tells of it at share 1."""

    parts: tuple[ResidualPart, ...]
    costs: Floats
    part: NDArray[np.int64]
    residual: NDArray[np.int64]
    amounts: Floats

    @staticmethod
    def of(workload: MarginalWorkload, weights: Floats, covers: Sequence[Sequence[Axes]] = ()) -> _SplitSearch:
        residuals = workload.residuals
        tables = dict.fromkeys((*residuals.subsets, *itertools.chain(*covers)))
        parts = tuple(_with_signs(tables, workload.sizes))
        return _SplitSearch(parts, residuals.costs(weights), *_lines(parts, residuals, workload.sizes))

    def starts(self, workload: MarginalWorkload, covers: Sequence[Sequence[Axes]]) -> Iterator[Floats]:
        """Where the search begins: the wishes themselves, all candidates, all differences, and each cover."""
        wished = {informative_axes(axes, workload.sizes) for axes in workload.sets}
        two = {axis for axis, size in enumerate(workload.sizes) if size == 2}
        small = set(workload.residuals.subsets)
        yield self._start(lambda part: part.axes in wished and not part.centred)
        yield self._start(lambda part: part.axes in small)
        yield self._start(lambda part: part.axes in small and set(part.centred) == set(part.axes) & two)
        for chosen in map(set, covers):
            yield self._start(lambda part: part.axes in chosen and not part.centred)  # noqa: B023 - used at once

    def _start(self, named: Callable[[ResidualPart], bool]) -> Floats:
        return np.array([1.0 if named(part) else _FAINT for part in self.parts])

    def information(self, shares: Floats) -> Floats:
        residual_information = np.bincount(self.residual, self.amounts * shares[self.part] ** 2, len(self.costs))
        return np.asarray(residual_information, dtype=np.float64)

    def descend(self, shares: Floats) -> tuple[Floats, float]:
        """Shares that no step makes better, and the value there.

        Because: c / (sum of a s^2) is convex in the squares, so that at the old shares t it is at most the sum of
            g t^4 / s^2 with g the sum of c a / information^2, and equal at s = t. That is least, among shares that
            add to 1, for s proportional to (g t^4)^(1/3): no step goes up.
        """
        shares = shares / shares.sum()
        last = math.inf
        for step in range(_MOST_STEPS):
            information = self.information(shares)
            if step % 10 == 0:
                value = float((self.costs / information).sum())
                if value > last * (1 - _GAIN):
                    break
                last = value
            slopes = (self.costs / information**2)[self.residual]
            gains = np.bincount(self.part, self.amounts * slopes, len(self.parts))
            shares = np.cbrt(gains * shares**4)
            shares = shares / shares.sum()
        return shares, float((self.costs / self.information(shares)).sum())

    def cut(self, shares: Floats) -> BudgetSplit:
        """Without the parts that tell next to nothing, the others settled anew."""
        kept = shares > _LEAST * shares.max()
        if not (self.information(np.where(kept, shares, 0.0)) > 0).all():
            kept = shares > 0
        numbers = np.cumsum(kept) - 1
        lines = kept[self.part]
        parts = tuple(part for part, keep in zip(self.parts, kept, strict=True) if keep)
        left = _SplitSearch(parts, self.costs, numbers[self.part[lines]], self.residual[lines], self.amounts[lines])
        settled_shares, value = left.descend(shares[kept])
        return BudgetSplit(
            parts=parts, shares=settled_shares, value=value, variances=1 / left.information(settled_shares)
        )


def _with_signs(tables: Iterable[Axes], sizes: Sequence[int]) -> Iterator[ResidualPart]:
    """Each table, by cells and by the differences along each choice of its axes of two cells."""
    for table in tables:
        two = [axis for axis in table if sizes[axis] == 2]
        for centred in subsets(two) if len(two) <= 4 else ((), tuple(two)):
            yield ResidualPart(axes=table, centred=centred)


def _lines(
    parts: Sequence[ResidualPart], residuals: WorkloadResiduals, sizes: Sequence[int]
) -> tuple[NDArray[np.int64], NDArray[np.int64], Floats]:
    places = {subset: place for place, subset in enumerate(residuals.subsets)}
    most = max(map(len, places))
    lines = [
        (number, places[subset], part.information(subset, sizes) / part.norms(sizes)[0] ** 2)
        for number, part in enumerate(parts)
        for subset in part.subsets(most)
        if subset in places
    ]
    numbers, which, amounts = zip(*lines, strict=True)
    return np.array(numbers), np.array(which), np.array(amounts)
