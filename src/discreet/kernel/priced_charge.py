"""What a priced question charges."""

from __future__ import annotations

from collections.abc import Sequence

from discreet.kernel.version import Version
from discreet.ledger.charge_request import Asker, ChargeRequest
from discreet.plan.price import Price


def priced_charge(price: Price, versions: Sequence[Version], asker: Asker) -> ChargeRequest:
    """What a priced question charges. `versions`: the one that pays first."""
    version = versions[0]
    return ChargeRequest(
        population=version.population,
        table=version.table,
        version=version.number,
        region=price.region,
        event=price.event,
        question=price.inquiry.question(),
        price=price.epsilon,
        asker=asker,
        reads=[(read.table, read.number) for read in versions[1:]],
        resumes=True,
        refines=price.refines,
    )
