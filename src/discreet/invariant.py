"""Exact totals that the owner publishes: the one door through which an exact number leaves, and what it costs.

It is an act of the owner, said in the ledger before anything is read: from then on the population's neighbours change
one unit and keep these totals, and every charge counts double (`ledger.invariants`).
"""

from __future__ import annotations

import json

from discreet.accounting.region import Region
from discreet.curator import Curator, Version
from discreet.engines.engine import Tables
from discreet.errors import QueryFailed
from discreet.mechanisms.addition import Integers
from discreet.mechanisms.strategy.strategy import Strategy
from discreet.packing import packed, unpacked
from discreet.plan.cells import Axis, Cells
from discreet.plan.relation import Scan
from discreet.plan.statistics import Rows


def published(
    curator: Curator, version: Version, axes: tuple[Axis, ...], strategy: Strategy, *, words: str
) -> tuple[str, Integers]:
    """Exact totals of the rows in cells of some axes, and the id that they are stored under. Stored ones stay.

    Guarantee: none for the presence of a unit. For neighbours that change one unit and agree on these totals: nothing
        is lost here, since what is shown is the same for both.
    """
    ledger = curator.ledger
    id_ = ledger.invariant(version.table, version.number, words=words)
    if id_ not in ledger.state.answers:
        scan = Scan(table=version.table, version=version.number)
        cells = Cells(plan=scan, axes=axes, statistics=(Rows(),))
        tables = Tables(files={scan: curator.folder / version.file})
        try:
            (exact_counts,) = curator.engine.count(cells, Region.whole(), tables=tables).exact_values
            totals = strategy.apply(exact_counts)
        except Exception:  # whatever it was may quote a cell: say one constant thing
            raise QueryFailed from None
        ledger.store(id_, json.dumps(packed(totals)))
    return id_, unpacked(json.loads(ledger.answer(id_)))
