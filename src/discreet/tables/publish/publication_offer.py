"""Which noise serves a plan best for its epsilon: Laplace under a pure epsilon, or Gaussian under epsilon and a delta.

Either keeps (epsilon, delta). Which is more exact depends on how many levels share the budget, and is known before any
data. What was published before is found again whichever of the two it was.

Which levels are worth measuring, where a plan does not say: those that make the mean variance least. A level that is
not measured is the sum of the levels below it; what it would have cost makes those more exact. With many places in each
that never pays. With few, and pure epsilon, where noise grows with the number of levels, it does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product

import numpy as np

from discreet.accounting.guarantee import Guarantee
from discreet.inference.linear.tree_least_squares import LevelPrecisions, NodeTree, level_variances
from discreet.kernel.measurement import Law
from discreet.ledger.ledger import Ledger
from discreet.tables.publish.layout import Layout, with_levels
from discreet.tables.publish.plan_file import PlanLevel
from discreet.tables.publish.publication_price import (
    PublicationPrice,
    find_earlier_publication,
    fits_budget,
    law_of,
    laws_of,
    variance_of,
)
from discreet.tables.publish.table_estimates import Accuracy, expected_accuracy

#: So many choices of levels are compared; a deeper hierarchy is measured at every level.
_MOST_TRIED = 256


@dataclass(frozen=True, kw_only=True)
class PublicationOffer:
    """A plan at a price: what is measured, with which noise, and how exact that is.

    `earlier_release`: what it was published as before; None where it was not, or a new one is asked for.
    `has_exact_totals`: exact totals of these people are published, here or before, so that neighbours change one unit.
    """

    layout: Layout
    price: PublicationPrice
    laws: tuple[tuple[Law, ...], ...]
    accuracy: Accuracy
    earlier_release: str | None = None
    has_exact_totals: bool = False

    @cached_property
    def mean_variance(self) -> float:
        """Of a cell: the mean over the places of a level, and over the levels."""
        accuracy, levels = self.accuracy, range(len(self.layout.levels))
        return sum(accuracy.typical(level, accuracy.cell_errors(level)) ** 2 for level in levels) / len(levels)


def make_offer(
    layout: Layout, price: PublicationPrice, *, earlier_release: str | None = None, has_exact_totals: bool = False
) -> PublicationOffer:
    """A plan at a price; as its layout says where there is an `earlier_release`, else with the levels that pay."""
    own = layout if earlier_release else choose_levels(layout, price)
    laws = tuple(tuple(level) for level in laws_of(own, price))
    changed = has_exact_totals or bool(layout.plan.invariants)
    return PublicationOffer(
        layout=own,
        price=price,
        laws=laws,
        accuracy=expected_accuracy(own, laws),
        earlier_release=earlier_release,
        has_exact_totals=changed,
    )


def best_offer(
    layout: Layout, prices: Sequence[PublicationPrice], ledger: Ledger, guarantee: Guarantee, *, fresh: bool = False
) -> PublicationOffer:
    """What was published before; else the most exact that the budget holds; else the most exact."""
    account = ledger.refresh().accounts.get(layout.version.population)
    has_exact_totals = account is not None and account.invariant
    for price in () if fresh else prices:
        before = find_earlier_publication(layout, price, ledger)
        if before is not None:
            return make_offer(before[1], price, earlier_release=before[0], has_exact_totals=has_exact_totals)
    offers = sorted(
        (make_offer(layout, price, has_exact_totals=has_exact_totals) for price in prices),
        key=lambda offer: offer.mean_variance,
    )
    if len(offers) == 1:
        return offers[0]
    room = [offer for offer in offers if fits_budget(offer.layout, offer.price, ledger, guarantee)]
    return (room or offers)[0]


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
