"""Which noise serves a plan best for its epsilon: Laplace under a pure epsilon, or Gaussian under epsilon and a delta.

Either keeps (epsilon, delta). Which is more exact depends on how many levels share the budget, and is known before any
data. What was published before is found again whichever of the two it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from discreet.accounting.guarantee import Guarantee
from discreet.kernel.measurement import Law
from discreet.ledger.ledger import Ledger
from discreet.tables.publish.layout import Layout
from discreet.tables.publish.level_shares import choose_levels
from discreet.tables.publish.publication_price import PublicationPrice, find_earlier_publication, fits_budget, laws_of
from discreet.tables.publish.table_estimates import Accuracy, expected_accuracy


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
