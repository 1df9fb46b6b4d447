"""A session: what every verb that charges needs beside its own words, as one value."""

from __future__ import annotations

from dataclasses import dataclass

from discreet.accounting.events import Event
from discreet.accounting.filter import Decision
from discreet.accounting.guarantee import Guarantee
from discreet.accounting.region import Region
from discreet.kernel.curator import Curator
from discreet.kernel.version import Version
from discreet.ledger.charge_request import Asker
from discreet.ledger.ledger import Ledger


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A version, the limit of its population, the curator that measures it, and who asks. Holds no data.

    Nobody asks by default: a session that forgot its asker would charge past their quota. `joined`: the versions of
    the other tables that a query reads.
    """

    version: Version
    guarantee: Guarantee
    curator: Curator
    asker: Asker
    joined: tuple[Version, ...] = ()

    @property
    def versions(self) -> tuple[Version, ...]:
        """All versions that are read, the one that pays first."""
        return (self.version, *self.joined)

    @property
    def ledger(self) -> Ledger:
        return self.curator.ledger

    def preview(self, event: Event, *, region: Region | None = None, booking: bool = True) -> Decision:
        """What the ledger would decide now about an event; about everybody where no region is named. Free."""
        version = self.version
        return self.ledger.preview(
            population=version.population,
            table=version.table,
            version=version.number,
            region=Region.whole() if region is None else region,
            event=event,
            guarantee=self.guarantee,
            booking=booking,
        )
