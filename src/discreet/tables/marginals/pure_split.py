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

#: No table of a cover has more cells than this.
MOST_CELLS = 100_000
#: Only so many of the smallest axes are tried at each step: larger ones cost more than they tell.
_TRIED = 24


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


def cover(workload: MarginalWorkload, *, slack: float) -> list[Axes]:
    """Tables of which every wish is a marginal. With slack a table goes on growing past where it is cheapest.

    Few tables cover many: under a pure epsilon one table of four columns often tells six pairs better than six. Laplace
    noise on the tables of a cover, each wish read off one of them: with the epsilon split at best, the sum of squared
    errors is 2 (sum over tables of (cells * weight)^(1/3))^3 / epsilon^2, where the weight is that of the wishes that
    are read off the table. So a table's price is a cube root, and the greedy choice grows a table as long as what it
    costs falls against what its wishes would cost alone.
    """
    open_: dict[Axes, float] = {}
    for axes, weight in zip(workload.sets, workload.weights, strict=True):
        own = informative_axes(axes, workload.sizes)
        open_[own] = open_.get(own, 0.0) + weight
    most = max(map(len, open_))
    smallest = sorted(
        informative_axes(range(len(workload.sizes)), workload.sizes), key=lambda axis: workload.sizes[axis]
    )[:_TRIED]
    tables = []
    for seed in sorted(open_, key=lambda axes: (_cells(axes, workload), axes)):
        if seed in open_:
            table = _grow(seed, open_, workload, smallest, most, slack)
            tables.append(table)
            for covered in list(_within(table, open_, most)):
                del open_[covered]
    return tables


def _grow(
    seed: Axes, open_: dict[Axes, float], workload: MarginalWorkload, smallest: list[int], most: int, slack: float
) -> Axes:
    table = kept = seed
    best = _price(table, open_, workload, most)
    while True:
        wider = [tuple(sorted((*table, axis))) for axis in smallest if axis not in table]
        prices = [(_price(each, open_, workload, most), each) for each in wider if _cells(each, workload) <= MOST_CELLS]
        if not prices:
            return kept
        price, table = min(prices)
        if price > slack * best:
            return kept
        if price <= best or slack > 1:
            kept = table
        best = min(best, price)


def _price(table: Axes, open_: dict[Axes, float], workload: MarginalWorkload, most: int) -> float:
    """What the table costs, against what those of its wishes that are still open cost alone."""
    inside = list(_within(table, open_, most))
    alone = sum((_cells(axes, workload) * open_[axes]) ** (1 / 3) for axes in inside)
    weight = sum(open_[axes] for axes in inside)
    return float((_cells(table, workload) * weight) ** (1 / 3) / alone)


def _within(table: Axes, open_: dict[Axes, float], most: int) -> Iterator[Axes]:
    for size in range(min(most, len(table)) + 1):
        for axes in itertools.combinations(table, size):
            if axes in open_:
                yield axes


def _cells(axes: Axes, workload: MarginalWorkload) -> int:
    count = 1
    for axis in axes:
        count *= workload.sizes[axis]
    return count
