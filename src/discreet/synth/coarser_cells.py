"""Fewer cells for each column, so that tables of several columns stand out from their noise. Post-processing.

A column keeps its fine cells: what lies within a coarser cell of the model is drawn by the weights of its fine cells,
so that its histogram loses nothing. What is lost is how places within one cell depend on other columns.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from discreet.schema.column import MomentColumn, NumberColumn
from discreet.synth.attribute import Attribute
from discreet.synth.cell_choice import split_groups
from discreet.synth.first_histograms import MeasuredHistograms, cells_in_use, sum_to_total

#: So many stretches of a column's fine cells are told apart when its cells are drawn; the noise of each is too large.
SMOOTH = 32

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


def coarsen(histograms: MeasuredHistograms, most: int) -> MeasuredHistograms:
    """The same histograms with at most so many cells a column, and one more for each thing that a rule tells apart.

    Guarantee: none is spent; groups, counts and weights are a function of noisy counts.
    """
    grouped, measured, counted = [], [], []
    for place, (attribute, pair) in enumerate(zip(histograms.attributes, histograms.noisy, strict=True)):
        fine = attribute.fine_of_counted()
        in_use = cells_in_use(attribute, pair.deciding) & (attribute.weights > 0)[fine]
        groups = split_groups(_groups(attribute, most), attribute.apart)
        # A constraint can set a cell apart that nobody seems to have: it is counted all the same.
        in_use |= ~np.isin(groups, groups[fine[in_use]])[fine]
        grouped.append(attribute.with_groups(groups, attribute.weights))
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
    return replace(
        histograms,
        attributes=tuple(grouped),
        cut=histograms.cut.regrouped(tuple(counted)),
        measured=tuple(measured),
    )


def _is_ordered(attribute: Attribute) -> bool:
    return isinstance(attribute.column, NumberColumn | MomentColumn)


def _groups(attribute: Attribute, most: int) -> Integers:
    """For each fine cell of a column the model's cell that it goes to."""
    weights = attribute.weights
    if not _is_ordered(attribute):
        return np.arange(len(weights)) if len(weights) <= most else common_groups(weights, most)
    cells = attribute.fine - attribute.null
    has_null = bool(attribute.null and weights[cells] > 0)
    drawn = weights[:cells] > 0
    drawn |= not drawn.any()
    of_drawn = even_groups(_root_density(weights[:cells])[drawn], most - has_null)
    # A cell that nobody seems to have goes with the one before it, so that none of the model's cells is of such alone.
    groups = of_drawn[np.maximum(np.cumsum(drawn) - 1, 0)]
    # A NULL that nobody has is drawn by nobody: it needs no cell of its own.
    return np.append(groups, groups[-1] + has_null) if attribute.null else groups


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
