"""Fewer cells for an attribute: what a table of several columns can be measured by. From noisy weights alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from discreet.schema.column import MomentColumn, NumberColumn
from discreet.synth.attribute import Attribute


def coarsen(attribute: Attribute, most: int) -> Attribute:
    """At most so many cells, and one for NULL: neighbours together where values have an order, else the rare ones.

    Neighbours are put together to about equal noisy numbers of rows.
    """
    if isinstance(attribute.column, NumberColumn | MomentColumn):
        return _with_groups(attribute, _neighbours(attribute, most))
    return _with_groups(attribute, _frequent(attribute, most))


def _with_groups(attribute: Attribute, groups: NDArray[np.int64]) -> Attribute:
    return replace(attribute, groups=np.unique(groups, return_inverse=True)[1].astype(np.int64))


def _neighbours(attribute: Attribute, most: int) -> NDArray[np.int64]:
    """Runs of fine cells of about equal weights; NULL stays a cell."""
    cells = attribute.fine - attribute.null
    if attribute.size - attribute.null <= most and _is_contiguous(attribute.groups[:cells]):
        return attribute.groups
    weights = attribute.weights[:cells]
    if cells > most and weights.sum() > 0:
        middles = np.cumsum(weights) - weights / 2
        groups = np.minimum((middles * most / weights.sum()).astype(np.int64), most - 1)
    else:
        groups = np.arange(cells) * min(most, cells) // cells
    return np.append(groups, most) if attribute.null else groups


def _is_contiguous(groups: NDArray[np.int64]) -> bool:
    return bool((np.diff(groups) >= 0).all())


def _frequent(attribute: Attribute, most: int) -> NDArray[np.int64]:
    """The cells of the largest weights, and all others together."""
    if attribute.size <= most:
        return attribute.groups
    weights = np.bincount(attribute.groups, weights=attribute.weights, minlength=attribute.size)
    kept = np.argsort(-weights, kind="stable")[: most - 1]
    places = np.full(attribute.size, most - 1, dtype=np.int64)
    places[kept] = np.arange(len(kept))
    return places[attribute.groups]


def falling(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """The nearest weights that never rise from one to the next, none negative: means of those that do.

    >>> falling(np.array([9.0, 1.0, 3.0, -2.0])).tolist()
    [9.0, 2.0, 2.0, 0.0]
    """
    means: list[float] = []
    sizes: list[int] = []
    for weight in weights.tolist():
        mean, size = weight, 1
        while means and means[-1] < mean:
            before, count = means.pop(), sizes.pop()
            mean, size = (before * count + mean * size) / (count + size), count + size
        means.append(mean)
        sizes.append(size)
    falling_weights: NDArray[np.float64] = np.maximum(np.repeat(means, sizes), 0.0)
    return falling_weights
