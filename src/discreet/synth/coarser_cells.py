"""Fewer cells for each column, so that tables of several columns stand out from their noise. Post-processing.

A column keeps its fine cells: what lies within a coarser cell of the model is drawn by the noisy weights of its fine
cells, so that its histogram loses nothing. What is lost is how places within one cell depend on other columns.

Where a column has an order, its cells are cut by noisy counts, narrow where many rows are. Each may be smaller than its
noise, but the noise of sums grows slowly: the running total is made to rise (the nearest one that never falls) and to
end at the number of rows, and is then a distribution, whose steps are the weights. Clamping each count at 0 instead
would add rows wherever there are few.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.inference.nearest_counts import isotonic, norm_sub
from discreet.schema.column import MomentColumn, NumberColumn
from discreet.synth.attribute import Attribute
from discreet.synth.first_histograms import (
    RARE,
    HistogramPair,
    MeasuredHistograms,
    cells_in_use,
    split_groups,
    sum_to_total,
)

#: So many stretches of a column's fine cells are told apart when its cells are drawn; the noise of each is too large.
SMOOTH = 32

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


def coarsen(attributes: tuple[Attribute, ...], histograms: MeasuredHistograms, most: int) -> MeasuredHistograms:
    """The same histograms with at most so many cells a column, and one more for each thing that a rule tells apart.

    `attributes`: as they were measured, before their cells were grouped.

    Guarantee: none is spent; groups, counts and weights are a function of noisy counts.
    """
    grouped, measured, counted = [], [], []
    for place, (attribute, pair) in enumerate(zip(attributes, histograms.noisy, strict=True)):
        fine, in_use = attribute.fine_of_counted(), cells_in_use(attribute, pair.deciding)
        values, weights = _fine_counts(attribute, pair, histograms.total)
        groups = split_groups(_groups(attribute, values, weights, most), attribute.apart)
        if _is_ordered(attribute):
            weights = _within(groups, values, weights, attribute.fine - attribute.null, pair.both.variance)
        grouped.append(attribute.with_groups(groups, weights))
        counted.append(groups[fine])
        measured.append(
            sum_to_total(
                place,
                counted[-1][in_use],
                pair.both.values[in_use],
                np.full(int(in_use.sum()), pair.both.variance),
                total=histograms.total,
                total_sd=histograms.total_sd,
            )
        )
    return MeasuredHistograms(
        attributes=tuple(grouped),
        cut=histograms.cut.regrouped(tuple(counted)),
        measured=tuple(measured),
        total=histograms.total,
        total_sd=histograms.total_sd,
        outside=histograms.outside,
        noisy=histograms.noisy,
    )


def _fine_counts(attribute: Attribute, pair: HistogramPair, total: float) -> tuple[Floats, Floats]:
    """The noisy counts of fine cells, and weights made of them that are nowhere negative."""
    fine, in_use = attribute.fine_of_counted(), cells_in_use(attribute, pair.deciding)
    values = np.bincount(fine[in_use], weights=pair.both.values[in_use], minlength=attribute.fine).astype(np.float64)
    if not _is_ordered(attribute):
        return values, norm_sub(values, total)
    cells = attribute.fine - attribute.null
    null = values[cells:]
    if attribute.null and null[0] < RARE * pair.both.sd:  # a share of NULL below its noise is none
        null = np.zeros(1)
    weights = np.concatenate([rising_steps(values[:cells], max(total - float(null.sum()), 0.0)), null])
    return values, weights


def _is_ordered(attribute: Attribute) -> bool:
    return isinstance(attribute.column, NumberColumn | MomentColumn)


def rising_steps(values: Floats, total: float) -> Floats:
    """Noisy counts in an order as counts of at least 0 that sum to the total: steps of the nearest rising sums.

    >>> rising_steps(np.array([3.0, -1.0, 4.0]), 6.0).tolist()
    [2.5, 0.0, 3.5]
    """
    sums = np.cumsum(values)
    sums += (total - sums[-1]) * np.arange(1, len(values) + 1) / len(values)
    return np.diff(np.clip(isotonic(sums), 0.0, total), prepend=0.0)


def _groups(attribute: Attribute, values: Floats, weights: Floats, most: int) -> Integers:
    """For each fine cell of a column the model's cell that it goes to."""
    if not _is_ordered(attribute):
        return np.arange(len(values)) if len(values) <= most else common_groups(values, most)
    cells = attribute.fine - attribute.null
    has_null = bool(attribute.null and weights[cells] > 0)
    groups = even_groups(_root_density(weights[:cells]), most - has_null)
    # A NULL that nobody has is drawn by nobody: it needs no cell of its own.
    return np.append(groups, groups[-1] + has_null) if attribute.null else groups


def _within(groups: Integers, values: Floats, weights: Floats, cells: int, variance: float) -> Floats:
    """The weights of fine cells within each of the model's cells: as expected, as far as noise explains the rest.

    Only the first so many are cells of values; NULL stays as it is.
    """
    within = weights.copy()
    places = [np.flatnonzero(groups[:cells] == group) for group in range(int(groups[:cells].max()) + 1)]
    counts = [float(weights[own].sum()) for own in places]
    for number, own in enumerate(places):
        if len(own) > 1:
            expected = np.full(len(own), counts[number] / len(own))
            if number in (0, len(places) - 1) and len(places) > 1:
                inner = 1 if number == 0 else len(places) - 2
                expected = tail(counts[number], len(own), counts[inner] / len(places[inner]))
                expected = expected[::-1] if number == 0 else expected
            shrunk = shrink(values[own], expected, variance)
            within[own] = rising_steps(shrunk, max(counts[number], 1e-9))
    return within


def tail(count: float, cells: int, beside: float) -> Floats:
    """So many rows over the cells of a column's end, from the inside out: falling, as far as the cells `beside` are
    fuller, else even.

    The first of them holds the mean of what is beside and its own average, the others fall by a constant factor.

    >>> tail(30.0, 4, 26.6).round(1).tolist(), tail(30.0, 3, 1.0).tolist()
    ([17.0, 7.8, 3.6, 1.6], [10.0, 10.0, 10.0])
    """
    even = count / cells
    first = (beside + even) / 2
    if first <= even or count <= 0 or cells < 2:
        return np.full(cells, even)
    low, high = 0.0, 1.0
    for _ in range(50):  # the sum of first * factor^i grows with the factor
        middle = (low + high) / 2
        low, high = (low, middle) if first * float((middle ** np.arange(cells)).sum()) > count else (middle, high)
    steps = high ** np.arange(cells)
    return np.asarray(steps * count / steps.sum())


def shrink(values: Floats, expected: Floats, variance: float) -> Floats:
    """Noisy numbers drawn to expected ones by the share of their distance that is noise (James and Stein).

    >>> shrink(np.array([9.0, 11.0, 10.0, 10.0]), np.full(4, 10.0), 1.0).tolist()
    [10.0, 10.0, 10.0, 10.0]
    >>> shrink(np.array([0.0, 8.0]), np.full(2, 4.0), 16.0).tolist()
    [2.0, 6.0]
    """
    away = values - expected
    away -= away.mean()
    spread = float((away**2).sum())
    signal = max(0.0, 1 - (len(values) - 1) * variance / spread) if spread > 0 else 0.0
    return np.asarray(expected + signal * away)


def _root_density(weights: Floats) -> Floats:
    """The root of the number of rows in and around each fine cell: groups that are even by it are nearly the best.

    Because: of all cuts into so many groups, those even in the root of the density leave about the least variance
    within groups (Dalenius and Hodges 1959). Groups of equal numbers of rows would put a long tail into one cell.
    """
    width = max(1, len(weights) // SMOOTH)
    return np.sqrt(np.convolve(weights, np.full(width, 1 / width), mode="same"))


def even_groups(counts: Floats, most: int) -> Integers:
    """Neighbours put together so that each of at most so many groups has about the same number of rows.

    >>> even_groups(np.array([4.0, 1, 1, 1, 1, 4]), 3).tolist()
    [0, 1, 1, 1, 1, 2]
    """
    if len(counts) <= most:
        return np.arange(len(counts))
    filled = np.cumsum(counts)
    levels = ((filled - counts / 2) * most / max(float(filled[-1]), 1e-9)).astype(np.int64)
    groups: Integers = np.unique(np.minimum(levels, most - 1), return_inverse=True)[1]
    return groups


def common_groups(counts: Floats, most: int) -> Integers:
    """The most common values by themselves, all others together.

    >>> common_groups(np.array([5.0, 1, 7, 2]), 3).tolist()
    [0, 2, 1, 2]
    """
    kept = np.sort(np.argsort(-counts, kind="stable")[: most - 1])
    groups = np.full(len(counts), len(kept), dtype=np.int64)
    groups[kept] = np.arange(len(kept))
    return groups
