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
from discreet.tables.publish.paying import Price, fits, laws_of, question_of
from discreet.tables.publish.refining import Accuracy, accuracy
from discreet.tables.publish.shares import well_shared


@dataclass(frozen=True, kw_only=True)
class Offer:
    """A plan at a price: what is measured, with which noise, and how exact that is."""

    layout: Layout
    price: Price
    laws: tuple[tuple[Law, ...], ...]
    accuracy: Accuracy

    @cached_property
    def mean_variance(self) -> float:
        """Of a cell: the mean over the places of a level, and over the levels."""
        found, levels = self.accuracy, range(len(self.layout.levels))
        return sum(found.typical(level, found.cell_errors(level)) ** 2 for level in levels) / len(levels)

    def stored(self, ledger: Ledger) -> bool:
        """Whether it was published before."""
        version = self.layout.version
        return ledger.reserved(version.table, version.number, question_of(self.layout, self.price)) is not None


def offered(layout: Layout, price: Price) -> Offer:
    """A plan at a price."""
    own = well_shared(layout, price)
    laws = tuple(tuple(level) for level in laws_of(own, price))
    return Offer(layout=own, price=price, laws=laws, accuracy=accuracy(own, laws))


def best_offer(
    layout: Layout, prices: Sequence[Price], ledger: Ledger, guarantee: Guarantee, *, fresh: bool = False
) -> Offer:
    """What was published before; else the most exact that the budget holds; else the most exact."""
    offers = sorted((offered(layout, price) for price in prices), key=lambda offer: offer.mean_variance)
    if len(offers) == 1:
        return offers[0]
    known = [] if fresh else [offer for offer in offers if offer.stored(ledger)]
    room = known or [offer for offer in offers if fits(offer.layout, offer.price, ledger, guarantee)]
    return (room or offers)[0]
