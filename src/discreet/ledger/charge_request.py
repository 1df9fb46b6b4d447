"""What is charged, and for whom: one value, which `Ledger.charge` takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet import exact
from discreet.accounting import events
from discreet.accounting.events import Event
from discreet.accounting.filter import Cost
from discreet.accounting.region import Region
from discreet.exact import MAX_QUESTION_EPSILON
from discreet.ledger.charge_data import cost_data
from discreet.ledger.entry_checks import check_name, region_data


@dataclass(frozen=True, slots=True, kw_only=True)
class Asker:
    """Who asks, and how much of the budget they may spend in all.

    `key`: a digest of the request; refused where something was charged under it.
    """

    name: str | None = None
    quota: Fraction | None = None
    key: str | None = None


#: Nobody in particular, without a quota: the owner, or who is only quoted a price.
UNNAMED = Asker()


@dataclass(frozen=True, slots=True, kw_only=True)
class ChargeRequest:
    """An event that a population is to pay for.

    `once`: a reservation for the same question that can go on is returned, and not charged again. `stream`: the map
    whose rows this pays for. `reads`: the versions of other tables that the question joins; refused where one of them
    is stale. `refines`: the release that this one makes more precise; refused where it may not be refined any more.
    `resumes`: a charge for the same, whose process died before it stored an answer, is returned and not charged again;
    whoever sets it ends with `Ledger.end_answer`.
    """

    population: str
    table: str
    version: int
    region: Region
    event: Event
    question: str
    price: object
    asker: Asker = UNNAMED
    once: bool = False
    stream: dict[str, Any] | None = None
    reads: Sequence[tuple[str, int]] = ()
    refines: str | None = None
    resumes: bool = False

    def to_data(self, id_: str, cost: Cost) -> dict[str, Any]:
        """The charge as an entry of the ledger, checked; without its decision."""
        asker = self.asker
        keyed = {} if asker.key is None else {"key": check_name(asker.key, what="a key's digest")}
        refining = {} if self.refines is None else {"refines": self.refines}
        return {
            **keyed,
            **refining,
            "id": id_,
            "population": self.population,
            "table": self.table,
            "version": self.version,
            "region": region_data(self.region),
            "event": events.to_data(self.event),
            "cost": cost_data(cost),
            "analyst": None if asker.name is None else check_name(asker.name, what="an analyst's name"),
            "question": check_name(self.question, what="a question's hash"),
            "price": exact.write(exact.positive(self.price, name="epsilon", most=MAX_QUESTION_EPSILON)),
        }
