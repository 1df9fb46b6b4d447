"""The charge of everything that is not a question in SQL: a fit, a table, a stream. It touches everybody."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from discreet.accounting.events import Event
from discreet.accounting.region import Region
from discreet.answers.sql import Asker
from discreet.kernel.curator import Curator, Version


def charge_whole_table(
    version: Version, event: Event, *, question: str, price: Fraction, curator: Curator, asker: Asker, **more: Any
) -> str:
    """Charge an event to everybody in a version; return its id. `more`: as `Ledger.charge` takes it."""
    curator.check_ready(version)
    return curator.ledger.charge(
        population=version.population,
        table=version.table,
        version=version.number,
        region=Region.whole(),
        event=event,
        question=question,
        price=price,
        analyst=asker.name,
        quota=asker.quota,
        key=asker.key,
        **more,
    ).id
