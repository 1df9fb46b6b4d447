"""At which resolution a marginal is worth measuring: groups of a column's cells, by its noisy histogram.

A pair of columns of 32 cells each has 1,024 cells, and noise falls on every one. Where the rows are few, the same pair
over six by six groups says how the columns depend on each other at a thirtieth of the noise. Post-processing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from discreet.kernel.binned_table import CoarseSet, MarginalSet
from discreet.schema.column import MomentColumn, NumberColumn
from discreet.synth.attribute import Attribute
from discreet.synth.first_histograms import MeasuredHistograms

Axes = tuple[int, ...]

#: A correlation within groups is taken to be at most this.
STEEPEST = 0.75

#: The fewest groups of a column that a marginal is measured over.
FEWEST_GROUPS = 2


def axes_of(own: MarginalSet) -> Axes:
    """The attributes that a marginal is over."""
    return own.axes if isinstance(own, CoarseSet) else own


class Resolutions:
    """The groups that each column's cells can be put into. Remembers them: the same are asked for many times."""

    def __init__(self, histograms: MeasuredHistograms) -> None:
        self._histograms = histograms
        self._groups: dict[tuple[int, int], tuple[int, ...]] = {}

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        return self._histograms.sizes

    def cells(self, own: MarginalSet) -> int:
        """How many cells a marginal has."""
        if isinstance(own, CoarseSet):
            return math.prod(max(group) + 1 for group in own.groups)
        return math.prod(self.sizes[place] for place in own)

    def at_most(self, own: Axes, cells: float) -> MarginalSet | None:
        """A marginal over as many groups as come to at most so many cells; None where not even the fewest do."""
        if self.cells(own) <= cells:
            return own
        counts = share_out([self.sizes[place] for place in own], cells)
        if counts is None:
            return None
        groups = tuple(self._group(place, count) for place, count in zip(own, counts, strict=True))
        return CoarseSet(axes=own, groups=groups)

    def _group(self, place: int, count: int) -> tuple[int, ...]:
        if (place, count) not in self._groups:
            histograms = self._histograms
            rows = np.maximum(histograms.measured[place].values, 0)
            groups = group_cells_of(histograms.attributes[place], rows, count)
            self._groups[place, count] = tuple(groups.tolist())
        return self._groups[place, count]


def share_out(sizes: list[int], cells: float) -> list[int] | None:
    """How many groups each axis gets of at most so many cells in all: as many as the others, or all that it has.

    >>> share_out([2, 32, 32], 80), share_out([32, 32], 40), share_out([32, 32], 3)
    ([2, 6, 6], [6, 6], None)
    """
    if math.prod(min(size, FEWEST_GROUPS) for size in sizes) > cells:
        return None
    counts = [min(size, FEWEST_GROUPS) for size in sizes]
    while True:
        rest = [place for place, size in enumerate(sizes) if counts[place] < size]
        for place in sorted(rest, key=lambda place: counts[place]):
            if math.prod(counts) // counts[place] * (counts[place] + 1) <= cells:
                counts[place] += 1
                break
        else:
            return counts


def group_cells_of(attribute: Attribute, rows: NDArray[np.float64], count: int) -> NDArray[np.int64]:
    """The cells of a column in at most so many groups, numbered from 0.

    Cells that are in order are put together with their neighbours, so that every group has about the same part of the
    rows and of the spread of the values: few far ones decide as much about a correlation as many near ones. Of others
    the most common stay alone. NULL stays alone where it is as much as half a group.
    """
    if count >= len(rows):
        return np.arange(len(rows))
    locations = cell_locations(attribute)
    if not isinstance(attribute.column, NumberColumn | MomentColumn):
        return _common_alone(rows, count)
    alone = np.isnan(locations)
    shares = rows / max(float(rows.sum()), 1e-9)
    is_null_large = float(shares[alone].sum()) >= 1 / (2 * count) and count > FEWEST_GROUPS
    groups = np.zeros(len(rows), dtype=np.int64)
    order = np.flatnonzero(~alone)[np.argsort(locations[~alone], kind="stable")]
    groups[order] = _even_groups(rows[order], locations[order], count - is_null_large)
    groups[alone] = groups.max() + 1 if is_null_large else groups[int(np.argmax(np.where(alone, -1, rows)))]
    return groups


def _even_groups(rows: NDArray[np.float64], locations: NDArray[np.float64], count: int) -> NDArray[np.int64]:
    """Neighbouring cells in groups of about the same part of the rows and of the spread."""
    whole = max(float(rows.sum()), 1e-9)
    spread = rows * (locations - float((rows * locations).sum()) / whole) ** 2
    parts = rows / whole + spread / max(float(spread.sum()), 1e-9) + 1e-9
    middles = np.cumsum(parts) - parts / 2
    groups: NDArray[np.int64] = np.unique((middles * count / parts.sum()).astype(np.int64), return_inverse=True)[1]
    return groups


def _common_alone(rows: NDArray[np.float64], count: int) -> NDArray[np.int64]:
    """The most common cells alone, the others together."""
    groups = np.full(len(rows), count - 1, dtype=np.int64)
    groups[np.argsort(-rows, kind="stable")[: count - 1]] = np.arange(count - 1)
    return groups


def cell_locations(attribute: Attribute) -> NDArray[np.float64]:
    """For each cell of the model the mean of its codes by the noisy weights of its fine cells; nan where it is NULL."""
    middles = (np.array(attribute.edges[:-1], dtype=np.float64) + np.array(attribute.edges[1:], dtype=np.float64)) / 2
    fine = len(middles)
    weights = attribute.weights[:fine] + 1e-9
    groups = attribute.groups[:fine]
    sums = np.bincount(groups, weights=weights, minlength=attribute.size)
    means = np.bincount(groups, weights=weights * middles, minlength=attribute.size)
    return np.where(sums > 0, means / np.where(sums > 0, sums, 1), np.nan)


@dataclass(frozen=True, slots=True, kw_only=True)
class CellScores:
    """For each cell of a column of numbers its share of the rows, and its normal score: mean 0, variance 1."""

    shares: NDArray[np.float64]
    scores: NDArray[np.float64]

    def of_groups(self, groups: NDArray[np.int64]) -> NDArray[np.float64]:
        """For each cell the mean score of its group."""
        sums = np.bincount(groups, weights=self.shares * self.scores)
        means: NDArray[np.float64] = sums / np.bincount(groups, weights=self.shares)
        return means[groups]


def normal_scores(histograms: MeasuredHistograms, place: int) -> CellScores | None:
    """Scores by the ranks of a column's noisy histogram; 0 for NULL; None where the cells have no order."""
    attribute = histograms.attributes[place]
    if not isinstance(attribute.column, NumberColumn | MomentColumn):
        return None
    locations = cell_locations(attribute)
    rows = np.maximum(histograms.measured[place].values, 0) + 1e-6
    shares, scores = rows / rows.sum(), np.zeros(len(rows))
    order = np.argsort(locations, kind="stable")[: int((~np.isnan(locations)).sum())]
    inside = shares[order] / shares[order].sum()
    normal = NormalDist()
    scores[order] = [normal.inv_cdf(rank) for rank in np.cumsum(inside) - inside / 2]
    scores[order] -= float((inside * scores[order]).sum())
    spread = math.sqrt(float((shares * scores**2).sum()))
    return CellScores(shares=shares, scores=scores / spread) if spread > 0 else None


def within_groups(
    values: NDArray[np.float64],
    variance: float,
    pair: tuple[CellScores, CellScores],
    groups: Sequence[NDArray[np.int64]],
) -> tuple[float, float]:
    """The correlation of two columns' scores that a noisy table over groups of their cells says, and its variance.

    The scores of groups are means, so their product has a smaller mean than that of cells, by the parts of the
    variances that lie between groups. No logarithm of a noisy count is taken: the noise has mean 0 here.
    """
    one, other = (_group_scores(own, group) for own, group in zip(pair, groups, strict=True))
    between = [float((own.shares * own.of_groups(group) ** 2).sum()) for own, group in zip(pair, groups, strict=True)]
    total = max(float(values.sum()), 1.0)
    size = max(between[0] * between[1], 1e-9)
    means = float(one @ values.sum(axis=1)) / total, float(other @ values.sum(axis=0)) / total
    correlation = (float(one @ values @ other) / total - means[0] * means[1]) / size
    return correlation, variance * float((one**2).sum() * (other**2).sum()) / (total * size) ** 2


def _group_scores(own: CellScores, groups: NDArray[np.int64]) -> NDArray[np.float64]:
    """The mean score of each group."""
    means = np.zeros(int(groups.max()) + 1)
    means[groups] = own.of_groups(groups)
    return means


def smooth_potential(correlation: float, variance: float, pair: tuple[CellScores, CellScores]) -> NDArray[np.float64]:
    """The potential of two normal columns of this correlation, as a product of scores.

    The potential of groups is flat within each of them, as if a column's cells were alike there. Two numbers that rise
    together do so within groups as well; of two normal columns this product is the whole of their dependence. What
    noise may have made of the correlation is taken off.
    """
    one, other = pair
    sure = max(0.0, 1 - variance / max(correlation**2, 1e-12))
    own = min(max(correlation * sure, -STEEPEST), STEEPEST)
    return own / (1 - own**2) * np.multiply.outer(one.scores, other.scores)
