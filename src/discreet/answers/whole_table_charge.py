"""The charge of everything that is not a question in SQL: a fit, a table, a stream. It touches everybody."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from discreet.accounting.events import Event
from discreet.accounting.region import Region
from discreet.kernel.project_session import Session
from discreet.ledger.charge_request import ChargeRequest


def charge_whole_table(
    session: Session,
    event: Event,
    *,
    question: str,
    price: Fraction,
    once: bool = False,
    stream: dict[str, Any] | None = None,
) -> str:
    """Charge an event to everybody in a version; return its id. `once` and `stream`: see `ChargeRequest`."""
    version = session.version
    session.curator.check_ready(version)
    return session.ledger.charge(
        ChargeRequest(
            population=version.population,
            table=version.table,
            version=version.number,
            region=Region.whole(),
            event=event,
            question=question,
            price=price,
            asker=session.asker,
            once=once,
            stream=stream,
        )
    ).id
