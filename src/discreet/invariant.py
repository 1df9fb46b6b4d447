"""Exact totals that the owner publishes: the one door through which an exact number leaves, and what it costs.

It is an act of the owner, said in the ledger before anything is read: from then on the population's neighbours change
one unit and keep these totals, and every charge counts double (`ledger.invariants`).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from discreet.accounting.region import Region
from discreet.curator import Curator, Version
from discreet.engines import deadline, stopping
from discreet.errors import LedgerFault, QueryFailed, Refused
from discreet.ledger.ledger import Ledger
from discreet.mechanisms.addition import Integers
from discreet.mechanisms.strategy.strategy import Strategy
from discreet.packing import packed, unpacked
from discreet.plan.cells import Axis, Cells
from discreet.plan.relation import Plan, Scan
from discreet.plan.statistics import Rows


def refuse_others(ledger: Ledger, version: Version, axes: tuple[Axis, ...], totals: Strategy, *, words: str) -> None:
    """Refuse totals that are not those stored under the same words: a version has one set of each, for ever.

    A public table that says anew where places lie would else buy a second set, and the two together the exact number of
    whatever moved.
    """
    for id_, known in ledger.refresh().invariants.items():
        same = (known.table, known.version, known.words) == (version.table, version.number, words)
        if same and id_ in ledger.state.answers:
            _stored(ledger, version, id_, of=_digest(axes, totals))


def published(
    curator: Curator,
    version: Version,
    axes: tuple[Axis, ...],
    totals: Strategy,
    *,
    id_: str,
    release: str,
    plan: Plan | None = None,
    publics: Mapping[int, Any] | None = None,
) -> Integers:
    """Exact totals of the rows in cells of some axes, of an invariant that was declared. Those stored first stay.

    `release`: the charge that they are published with; a failure is counted there. `plan`: where rows come from, if not
    from the declared table as it is; `publics`: the tables it joins.

    Guarantee: none for the presence of a unit. For neighbours that change one unit and agree on these totals: nothing
        is lost here, since what is shown is the same for both.
    """
    ledger = curator.ledger
    declared = ledger.refresh().invariants.get(id_)
    if declared is None or (declared.table, declared.version) != (version.table, version.number):
        raise LedgerFault("exact totals that were not declared")
    of = _digest(axes, totals)
    if id_ not in ledger.state.answers:
        scan = Scan(table=version.table, version=version.number)
        cells = Cells(plan=plan or scan, axes=axes, statistics=(Rows(),))
        tables = curator.lying({scan: version}, publics or {})
        engine = curator.engine.at(version.engine)
        with deadline.kept() as time_over:
            try:
                (exact_counts,) = engine.count(cells, Region.whole(), tables=tables).exact_values
                found = totals.apply(exact_counts)
            except Exception:  # whatever it was may quote a cell: say one constant thing
                ledger.fail(release, stopped=stopping.pulled(), late=time_over.passed)
                raise QueryFailed from None
        ledger.store(id_, json.dumps({"of": of, "totals": packed(found)}))
    return _stored(ledger, version, id_, of=of)


def _stored(ledger: Ledger, version: Version, id_: str, *, of: str) -> Integers:
    stored = json.loads(ledger.answer(id_))
    if stored["of"] != of:
        raise Refused(
            "exact totals of these places were published before, and the public table now says that they lie elsewhere",
            hint=f"discreet refresh {version.table}, which makes a version with totals of its own",
        )
    return unpacked(stored["totals"])


def _digest(axes: tuple[Axis, ...], totals: Strategy) -> str:
    """What totals are of."""
    data = {"axes": [axis.to_data() for axis in axes], "totals": totals.to_data()}
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()
