"""Publish the tables of a plan: read it, price it, measure it once, refine it. The verb's own two functions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from os import PathLike
from pathlib import Path
from typing import Any

from discreet import exact
from discreet.errors import UsageError
from discreet.kernel.project_session import Session
from discreet.tables.publish.layout import Layout, lay_out
from discreet.tables.publish.place_hierarchy import Publics
from discreet.tables.publish.plan_file import PublicationPlan, read_plan
from discreet.tables.publish.publication_card import exact_words, guarantee_data, levels_data, notes
from discreet.tables.publish.publication_measurement import Progress, measure
from discreet.tables.publish.publication_offer import best_offer
from discreet.tables.publish.publication_price import PublicationPrice, fits_budget, possible_prices
from discreet.tables.publish.published_tables import PublishedTables
from discreet.tables.publish.table_estimates import Accuracy, refine

Plan = str | PathLike[str] | Mapping[str, Any]


def no_progress(word: str, done: float) -> None:
    """No progress is told."""


def plan_of(plan: Plan) -> PublicationPlan:
    """A plan as it is written: its file, or data of the same form."""
    if not isinstance(plan, Mapping | str | PathLike):
        raise UsageError("a plan must be the name of a TOML file, or data of the same form")
    return read_plan(plan if isinstance(plan, Mapping) else Path(plan))


@dataclass(frozen=True, kw_only=True)
class PublicationQuote:
    """What a plan would measure, cost, and how exact it would be. Free.

    `stored`: it was published before. `fits_budget`: the budget holds it now.
    """

    layout: Layout
    price: PublicationPrice
    accuracy: Accuracy
    has_exact_totals: bool
    stored: bool
    fits: bool

    def to_data(self) -> dict[str, Any]:
        """The quote as JSON data."""
        return {
            "table": self.layout.version.table,
            "version": self.layout.version.number,
            "guarantee": guarantee_data(self.layout, self.price, has_exact_totals=self.has_exact_totals),
            "stored": self.stored,
            "fits": self.fits,
            "exact": exact_words(self.layout, has_exact_totals=self.has_exact_totals),
            "levels": levels_data(self.layout, self.accuracy),
            "notes": notes(self.layout),
        }


def quote(
    plan: PublicationPlan,
    session: Session,
    *,
    epsilon: object,
    delta: object,
    publics: Publics,
) -> PublicationQuote:
    """What publishing would cost and how exact it would be. Reads no data."""
    ledger, guarantee = session.ledger, session.guarantee
    prices = possible_prices(epsilon, delta, guarantee)
    offer = best_offer(lay_out(plan, session.version, publics), prices, ledger, guarantee)
    return PublicationQuote(
        layout=offer.layout,
        price=offer.price,
        accuracy=offer.accuracy,
        has_exact_totals=offer.has_exact_totals,
        stored=offer.earlier_release is not None,
        fits=fits_budget(offer.layout, offer.price, ledger, guarantee),
    )


def publish(
    plan: PublicationPlan,
    session: Session,
    *,
    epsilon: object,
    delta: object,
    publics: Publics,
    confidence: object = "0.95",
    fresh: bool = False,
    progress: Progress = no_progress,
) -> PublishedTables:
    """Measure and refine the tables of a plan. The same plan on the same version is read back, free.

    Guarantee: one charge; all that is returned comes from its one step of noise, from declared totals that the ledger
        has been told of, and from public facts.
    """
    sure: Fraction = exact.probability(confidence, name="confidence")
    if sure <= 0:
        raise plan.fault("the confidence must be above 0 and below 1, such as 0.95")
    progress("planning", 0.0)
    prices = possible_prices(epsilon, delta, session.guarantee)
    layout = lay_out(plan, session.version, publics)
    offer = best_offer(layout, prices, session.ledger, session.guarantee, fresh=fresh)
    noisy = measure(offer, session, fresh=fresh, progress=progress)
    progress("refining", 0.6)
    refined = refine(offer.accuracy, offer.laws, noisy.values, noisy.totals)
    progress("refined", 0.8)
    return PublishedTables(offer=offer, noisy=noisy, refined=refined, confidence=sure)
