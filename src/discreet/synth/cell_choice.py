"""The model's cells of a column, from a noisy histogram of its fine ones. Post-processing."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from discreet.synth.attribute import Attribute
from discreet.synth.fine_cells import is_by_octaves

#: A value whose noisy count is below so many standard deviations is kept with the other rare ones; more where there
#: are many values (`rare_below`).
RARE = 2.0

#: Bins aim at this many for a column, fewer where noise would drown them.
MOST_BINS = 32

#: A bin is halved if each half would hold more than so many standard deviations of the noise in its fine cells.
HALVED = 1.5

#: From so many standard deviations above what is rare on there was nothing to decide: then both parts count.
CLEAR = 3.0


def choose_cells(
    attribute: Attribute, values: NDArray[np.float64], sd: float, total: float
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """The model's cell of each fine cell, and which fine cells are clear: their own noise decided nothing."""
    if has_bins(attribute):
        return choose_bins(attribute, values, sd, total)
    return merge_rare_cells(values, sd), values >= rare_below(len(values), sd) + CLEAR * sd


def has_bins(attribute: Attribute) -> bool:
    """Whether its fine cells are grouped into bins."""
    return attribute.binned and len(attribute.edges) - 1 > MOST_BINS


def rare_below(cells: int, sd: float) -> float:
    """Below this a noisy count of so many cells says little: noise alone lifts about one of them so far.

    >>> [round(rare_below(cells, 1.0), 2) for cells in (1, 10, 1000)]
    [2.0, 2.15, 3.72]
    """
    return max(RARE, math.sqrt(2 * math.log(cells))) * sd


def merge_rare_cells(values: NDArray[np.float64], sd: float) -> NDArray[np.int64]:
    """Cells whose noisy count says little share one cell of the model, where they are at least two."""
    rare = values < rare_below(len(values), sd)
    if rare.sum() < 2:
        return np.arange(len(values))
    groups = np.cumsum(~rare) - 1
    return np.where(rare, int((~rare).sum()), groups)


def split_groups(groups: NDArray[np.int64], apart: NDArray[np.int64]) -> NDArray[np.int64]:
    """Groups in which no two cells of different `apart` are together.

    >>> split_groups(np.array([0, 0, 1, 1]), np.array([0, 1, 1, 1])).tolist()
    [0, 1, 2, 2]
    """
    new_groups: NDArray[np.int64] = np.unique(groups * (int(apart.max()) + 1) + apart, return_inverse=True)[1]
    return new_groups


def choose_bins(
    attribute: Attribute, values: NDArray[np.float64], sd: float, total: float
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Bins of even fine cells: of about equal numbers of rows where the noise allows it, else halves of halves.

    And which fine cells are clear: those whose noise did not draw the bins.
    """
    cells = len(attribute.edges) - 1
    is_noisy = total / MOST_BINS <= RARE * sd * math.sqrt(cells / MOST_BINS)
    if is_noisy and not is_by_octaves(attribute):
        groups = halved_bins(values[:cells], sd)
    else:
        filled = np.cumsum(np.maximum(values[:cells], 0))
        levels = filled - np.maximum(values[:cells], 0) / 2
        groups = np.minimum((levels * MOST_BINS / max(filled[-1], 1e-9)).astype(np.int64), MOST_BINS - 1)
        groups = np.unique(groups, return_inverse=True)[1]
    groups = np.append(groups, groups[-1] + 1) if attribute.null else groups
    clear = np.full(len(groups), groups[cells - 1] <= 1)  # two halves are what they are without any look
    clear[cells:] = True
    return groups, clear


def halved_bins(values: NDArray[np.float64], sd: float) -> NDArray[np.int64]:
    """Two bins or more, by halving the one of most rows, as long as each half would hold more than its noise.

    Where nobody is, nothing is halved: a few rows in a wide range get narrow bins where they are.

    >>> halved_bins(np.array([0.0, 0, 0, 0, 0, 0, 90, 80]), 10.0).tolist()
    [0, 0, 0, 0, 1, 1, 2, 3]
    """
    sums = np.concatenate([[0.0], np.cumsum(values)])
    done: list[tuple[int, int]] = []
    waiting = [(0, len(values))]
    while waiting:
        start, stop = max(waiting, key=lambda bin_: sums[bin_[1]] - sums[bin_[0]])
        waiting.remove((start, stop))
        is_full = sums[stop] - sums[start] > 2 * HALVED * sd * math.sqrt((stop - start) / 2)
        is_whole = stop - start == len(values)
        if len(done) + len(waiting) + 2 <= MOST_BINS and stop - start > 1 and (is_full or is_whole):
            middle = (start + stop) // 2
            waiting += [(start, middle), (middle, stop)]
        else:
            done.append((start, stop))
    groups = np.zeros(len(values), dtype=np.int64)
    for number, (start, stop) in enumerate(sorted(done)):
        groups[start:stop] = number
    return groups
