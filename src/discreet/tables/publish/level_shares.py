"""Which levels are worth measuring, where a plan does not say: those that make the mean variance least.

A level that is not measured is the sum of the levels below it; what it would have cost makes those more exact. With
many places in each that never pays. With few, and pure epsilon, where noise grows with the number of levels, it does.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np

from discreet.inference.linear.tree_least_squares import LevelPrecisions, NodeTree, level_variances
from discreet.tables.publish.layout import Layout, with_levels
from discreet.tables.publish.plan_file import PlanLevel
from discreet.tables.publish.publication_price import PublicationPrice, law_of, variance_of

#: So many choices of levels are compared; a deeper hierarchy is measured at every level.
_MOST_TRIED = 256


def choose_levels(layout: Layout, price: PublicationPrice) -> Layout:
    """The layout with the best levels measured, in equal shares; as it is where the plan says anything of them.

    From public facts alone: the tree, the noise, and which totals are known.
    """
    depth = layout.places.tree.depth
    if layout.plan.levels or 2 ** (depth - 1) > _MOST_TRIED:
        return layout
    every = [(*chosen, True) for chosen in product((True, False), repeat=depth - 1)]
    best = min(every, key=lambda chosen: _mean_variance(layout, price, chosen))  # the first among equals: all levels
    if all(best):
        return layout
    left_out = [name for name, chosen in zip(layout.levels, best, strict=True) if not chosen]
    return with_levels(layout, {name: PlanLevel(share=Fraction(0)) for name in left_out})


def _mean_variance(layout: Layout, price: PublicationPrice, chosen: tuple[bool, ...]) -> float:
    """The variance of a cell, mean over the places of a level and over the levels.

    Where only cells are measured all coordinates of a place are alike, but for its total where that is known.
    """
    law = law_of(price, Fraction(1, sum(chosen)), rows=layout.version.schema.unit.rows)
    of = np.where(np.array(chosen)[:, None], 1 / variance_of(law), 0.0) * np.ones(2)
    is_exact = np.zeros((len(chosen), 2), dtype=np.bool_)
    if layout.lowest_exact_level is not None:
        is_exact[layout.lowest_exact_level, 1] = True
    precisions = LevelPrecisions(of=of, is_exact=is_exact)
    free, total = precisions.classes
    tree, cells = layout.places.tree, layout.cells
    means = []
    for level, level_variance in enumerate(level_variances(tree, precisions)):
        by_class = np.average(level_variance.final, axis=1, weights=_weights(tree, level, shared=level_variance.shared))
        means.append(((cells - 1) * by_class[free] + by_class[total]) / cells)
    return float(np.mean(means))


def _weights(tree: NodeTree, level: int, *, shared: bool) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]] | None:
    return tree.fan_outs[level - 1] if shared else None
