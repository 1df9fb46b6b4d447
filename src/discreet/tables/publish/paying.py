"""What a publication costs, and the noise that each of its queries gets for it. Before any data."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from fractions import Fraction

from discreet import exact
from discreet.accounting.convert import rho_from_epsilon
from discreet.accounting.events import Reserved, to_data
from discreet.accounting.guarantee import Guarantee
from discreet.accounting.region import Region
from discreet.answers.sql import Asker
from discreet.curator import Curator
from discreet.errors import UsageError
from discreet.mechanisms.gaussian import DiscreteGaussian
from discreet.mechanisms.laplace import DiscreteLaplace
from discreet.cut import Law
from discreet.tables.publish.layout import Layout


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """What is paid: (epsilon, delta) as asked, and what that is in the ledger's terms."""

    epsilon: Fraction
    delta: Fraction
    event: Reserved

    @property
    def is_pure(self) -> bool:
        return self.event.epsilon is not None


def price_of(epsilon: object, delta: object, guarantee: Guarantee) -> Price:
    """(epsilon, delta) as a reservation: rho by inverse conversion; pure where there is no delta, or none is wanted."""
    wanted = exact.positive(epsilon, name="epsilon", most=exact.MAX_QUESTION_EPSILON)
    told = guarantee.delta_rho if delta is None else exact.probability(delta, name="delta")
    if guarantee.delta_rho == 0 or told == 0:
        return Price(
            epsilon=wanted,
            delta=Fraction(0),
            event=Reserved(epsilon=wanted, rho=wanted**2 / 2, delta=Fraction(0)),
        )
    rho = rho_from_epsilon(wanted, told)
    if rho <= 0:
        raise UsageError(
            f"epsilon {exact.show(wanted)} at delta {exact.show(told)} is too small for any noise to be finite"
        )
    return Price(epsilon=wanted, delta=told, event=Reserved(epsilon=None, rho=rho, delta=Fraction(0)))


def law_of(price: Price, share: Fraction, *, rows: int) -> Law:
    """The noise of a query that costs a share, for units of at most so many rows.

    Because: a unit moves the tables of one query by at most `rows` in total (`Nodes.moves`), so this costs the share
    exactly, and shares add up to the reservation.
    """
    if price.event.epsilon is not None:
        return DiscreteLaplace(scale=Fraction(rows) / (price.event.epsilon * share))
    return DiscreteGaussian(sigma2=Fraction(rows**2) / (2 * price.event.rho * share))


def laws_of(layout: Layout, price: Price) -> list[list[Law]]:
    """The noise of every query, level by level. Refused where it cannot be drawn."""
    rows = layout.version.schema.unit.rows
    return [[law_of(price, query.share, rows=rows) for query in level] for level in layout.queries]


def question_of(layout: Layout, price: Price) -> str:
    """What tells the same publication again."""
    version = layout.version
    asked = {
        "publish": layout.to_data(),
        "table": version.table,
        "version": version.number,
        "event": to_data(price.event),
    }
    return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()


def reserve(layout: Layout, price: Price, curator: Curator, asker: Asker, *, question: str, fresh: bool) -> str:
    """Charge the whole publication at once; returns the id of the reservation."""
    version = layout.version
    charge = curator.ledger.charge(
        population=version.population,
        table=version.table,
        version=version.number,
        region=Region.whole(),
        event=price.event,
        question=question,
        price=price.epsilon,
        analyst=asker.name,
        quota=asker.quota,
        once=not fresh,
    )
    return charge.id
