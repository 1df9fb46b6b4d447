"""Publish the tables of a plan: read it, price it, measure it once, refine it. The verb's own two functions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from os import PathLike
from pathlib import Path
from typing import Any

from discreet import exact
from discreet.accounting.guarantee import Guarantee
from discreet.answers.sql import Asker
from discreet.curator import Curator, Version
from discreet.errors import UsageError
from discreet.tables.publish.card import exact_words, guarantee_data, levels_data, notes
from discreet.tables.publish.layout import Layout, lay_out
from discreet.tables.publish.measuring import Progress, measure
from discreet.tables.publish.offering import best_offer
from discreet.tables.publish.paying import Price, fits, prices_of
from discreet.tables.publish.places import Publics
from discreet.tables.publish.published import Published
from discreet.tables.publish.refining import Accuracy, refine
from discreet.tables.publish.told import Told, read_told

Plan = str | PathLike[str] | Mapping[str, Any]


def silent(word: str, done: float) -> None:
    """No progress is told."""


def told_of(plan: Plan) -> Told:
    """A plan as it is written: its file, or data of the same form."""
    if not isinstance(plan, Mapping | str | PathLike):
        raise UsageError("a plan is the name of a TOML file, or data of the same form")
    return read_told(plan if isinstance(plan, Mapping) else Path(plan))


@dataclass(frozen=True, kw_only=True)
class Quote:
    """What a plan would measure, cost, and how exact it would be. Free.

    `stored`: it was published before. `fits`: the budget holds it now.
    """

    layout: Layout
    price: Price
    accuracy: Accuracy
    changes: bool
    stored: bool
    fits: bool

    def to_data(self) -> dict[str, Any]:
        """The quote as JSON data."""
        return {
            "table": self.layout.version.table,
            "version": self.layout.version.number,
            "guarantee": guarantee_data(self.layout, self.price, changes=self.changes),
            "stored": self.stored,
            "fits": self.fits,
            "exact": exact_words(self.layout, changes=self.changes),
            "levels": levels_data(self.layout, self.accuracy),
            "notes": notes(self.layout),
        }


def quote(
    told: Told,
    *,
    epsilon: object,
    delta: object,
    version: Version,
    guarantee: Guarantee,
    curator: Curator,
    publics: Publics,
) -> Quote:
    """What publishing would cost and how exact it would be. Reads no data."""
    ledger = curator.ledger
    offer = best_offer(lay_out(told, version, publics), prices_of(epsilon, delta, guarantee), ledger, guarantee)
    return Quote(
        layout=offer.layout,
        price=offer.price,
        accuracy=offer.accuracy,
        changes=offer.changes,
        stored=offer.known is not None,
        fits=fits(offer.layout, offer.price, ledger, guarantee),
    )


def publish(
    told: Told,
    *,
    epsilon: object,
    delta: object,
    version: Version,
    guarantee: Guarantee,
    curator: Curator,
    asker: Asker,
    publics: Publics,
    confidence: object = "0.95",
    fresh: bool = False,
    progress: Progress = silent,
) -> Published:
    """Measure and refine the tables of a plan. The same plan on the same version is read back, free.

    Guarantee: one charge; all that is returned comes from its one step of noise, from declared totals that the ledger
        has been told of, and from public facts.
    """
    sure: Fraction = exact.probability(confidence, name="confidence")
    if sure <= 0:
        raise told.fault("a confidence must be above 0 and below 1, such as 0.95")
    progress("planning", 0.0)
    prices = prices_of(epsilon, delta, guarantee)
    offer = best_offer(lay_out(told, version, publics), prices, curator.ledger, guarantee, fresh=fresh)
    noisy = measure(offer, curator=curator, asker=asker, fresh=fresh, progress=progress)
    progress("refining", 0.6)
    refined = refine(offer.accuracy, offer.laws, noisy.values, noisy.totals)
    progress("refined", 0.8)
    return Published(offer=offer, noisy=noisy, refined=refined, confidence=sure)
