"""Which noise serves a plan best for its epsilon: Laplace under a pure epsilon, or Gaussian under epsilon and a delta.

Either keeps (epsilon, delta). Which is more exact depends on how many levels share the budget, and is known before any
data. What was published before is found again whichever of the two it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from discreet.accounting.guarantee import Guarantee
from discreet.cut import Law
from discreet.ledger.ledger import Ledger
from discreet.tables.publish.layout import Layout
from discreet.tables.publish.paying import Price, fits, found_before, laws_of
from discreet.tables.publish.refining import Accuracy, accuracy
from discreet.tables.publish.shares import well_shared


@dataclass(frozen=True, kw_only=True)
class Offer:
    """A plan at a price: what is measured, with which noise, and how exact that is.

    `known`: the release that it was published as before; None where it was not, or is wanted anew. `changes`: exact
    totals of these people are published, here or before, so that neighbours change one unit.
    """

    layout: Layout
    price: Price
    laws: tuple[tuple[Law, ...], ...]
    accuracy: Accuracy
    known: str | None = None
    changes: bool = False

    @cached_property
    def mean_variance(self) -> float:
        """Of a cell: the mean over the places of a level, and over the levels."""
        found, levels = self.accuracy, range(len(self.layout.levels))
        return sum(found.typical(level, found.cell_errors(level)) ** 2 for level in levels) / len(levels)


def offered(layout: Layout, price: Price, *, known: str | None = None, changes: bool = False) -> Offer:
    """A plan at a price; as its layout says where that is `known`, else with the levels that pay."""
    own = layout if known else well_shared(layout, price)
    laws = tuple(tuple(level) for level in laws_of(own, price))
    changed = changes or bool(layout.told.invariants)
    return Offer(layout=own, price=price, laws=laws, accuracy=accuracy(own, laws), known=known, changes=changed)


def best_offer(
    layout: Layout, prices: Sequence[Price], ledger: Ledger, guarantee: Guarantee, *, fresh: bool = False
) -> Offer:
    """What was published before; else the most exact that the budget holds; else the most exact."""
    account = ledger.refresh().accounts.get(layout.version.population)
    changes = account is not None and account.invariant
    for price in () if fresh else prices:
        before = found_before(layout, price, ledger)
        if before is not None:
            return offered(before[1], price, known=before[0], changes=changes)
    offers = sorted(
        (offered(layout, price, changes=changes) for price in prices), key=lambda offer: offer.mean_variance
    )
    if len(offers) == 1:
        return offers[0]
    room = [offer for offer in offers if fits(offer.layout, offer.price, ledger, guarantee)]
    return (room or offers)[0]
