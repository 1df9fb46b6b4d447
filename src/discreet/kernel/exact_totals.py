"""Exact totals that the owner publishes: the one door through which an exact number leaves, and what it costs.

It is an act of the owner, said in the ledger before anything is read: from then on the population's neighbours change
one unit and keep these totals, and every charge counts double (`ledger.invariants`).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from discreet.accounting.region import Region
from discreet.engines import deadline, stop_signal
from discreet.errors import Command, DiscreetError, LedgerFault, Message, QueryFailed, Refused
from discreet.kernel.curator import Curator, Version
from discreet.ledger.ledger import Ledger
from discreet.mechanisms.integer_arrays import Integers
from discreet.mechanisms.packed_integers import pack_integers, unpack_integers
from discreet.mechanisms.strategy.strategy import Strategy
from discreet.plan.cell_statistics import RowCount
from discreet.plan.cells import Axis, Cells
from discreet.plan.relation import Plan, Scan
from discreet.sql.catalog import PublicTable


@dataclass(frozen=True, slots=True, kw_only=True)
class ExactTotals:
    """Which totals: of the cells of some axes, summed by a strategy; `by` a public table that says where values lie."""

    axes: tuple[Axis, ...]
    totals: Strategy
    by: PublicPlaces | None = None

    @property
    def digest(self) -> str:
        """What the totals are of."""
        data = {"axes": [axis.to_data() for axis in self.axes], "totals": self.totals.to_data()}
        return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicPlaces:
    """Columns of a public table that totals are published by, and a digest of what they said then."""

    table: str
    columns: tuple[str, ...]
    content: str

    @staticmethod
    def of(public: PublicTable, columns: Sequence[str]) -> PublicPlaces:
        return PublicPlaces(table=public.name, columns=tuple(columns), content=public.digest(columns) or "")

    def to_data(self) -> dict[str, Any]:
        return {"table": self.table, "columns": list(self.columns), "content": self.content}


def edited_places(ledger: Ledger, table: str, read: Callable[[str], PublicTable]) -> list[str]:
    """The public tables that exact totals of a table were published by, and that say something else now.

    Totals published by what the table says now are of other places than those published before; the difference of
    the two can be the place of one person. `read` reads a public table. Of totals that were published more than once
    the newest count. Public facts alone.
    """
    newest: dict[str, Mapping[str, Any]] = {}
    state = ledger.refresh()
    for id_, invariant in sorted(state.invariants.items(), key=lambda item: item[1].version):
        if invariant.table == table and id_ in state.answers:
            newest[invariant.words] = json.loads(ledger.answer(id_))
    public_places = [stored["by"] for stored in newest.values() if stored.get("by")]
    return sorted({by["table"] for by in public_places if _content(by, read) != by["content"]})


def _content(by: Mapping[str, Any], read: Callable[[str], PublicTable]) -> str | None:
    """What the columns of a public table say now; None where it cannot be read any more."""
    try:
        return read(by["table"]).digest(by["columns"])
    except DiscreetError:
        return None


def refuse_other_totals(ledger: Ledger, version: Version, totals: ExactTotals, *, words: str) -> None:
    """Refuse totals that are not those stored under the same words: a version has one set of each, for ever.

    A public table that says anew where places lie would else buy a second set, and the two together the exact number of
    whatever moved.
    """
    for id_, invariant in ledger.refresh().invariants.items():
        same = (invariant.table, invariant.version, invariant.words) == (version.table, version.number, words)
        if same and id_ in ledger.state.answers:
            _stored_totals(ledger, version, id_, of=totals.digest)


def publish_exact_totals(
    curator: Curator,
    version: Version,
    totals: ExactTotals,
    *,
    id_: str,
    release: str,
    plan: Plan | None = None,
    publics: Mapping[int, Any] | None = None,
) -> Integers:
    """Exact totals of rows, of an invariant that was declared. Those stored first stay.

    `release`: the charge that they are published with; a failure is counted there. `plan`: where rows come from, if not
    from the declared table as it is; `publics`: the tables it joins.

    Guarantee: none for the presence of a unit. For neighbours that change one unit and agree on these totals: nothing
        is lost here, since what is shown is the same for both.
    """
    ledger = curator.ledger
    declared = ledger.refresh().invariants.get(id_)
    if declared is None or (declared.table, declared.version) != (version.table, version.number):
        raise LedgerFault("these exact totals were not declared")
    if id_ not in ledger.state.answers:
        scan = Scan(table=version.table, version=version.number)
        cells = Cells(plan=plan or scan, axes=totals.axes, statistics=(RowCount(),))
        tables = curator.locate_tables({scan: version}, publics or {})
        engine = curator.engine.at(version.engine)
        with deadline.watch_deadline() as time_over:
            try:
                (exact_counts,) = engine.count(cells, Region.whole(), tables=tables).exact_values
                exact_totals = totals.totals.apply(exact_counts)
            except Exception:  # whatever it was may quote a cell: say one constant thing
                ledger.fail(release, stopped=stop_signal.is_stop_requested(), late=time_over.passed)
                raise QueryFailed from None
        by = {} if totals.by is None else {"by": totals.by.to_data()}
        ledger.store(id_, json.dumps({"of": totals.digest, "totals": pack_integers(exact_totals), **by}))
    return _stored_totals(ledger, version, id_, of=totals.digest)


def _stored_totals(ledger: Ledger, version: Version, id_: str, *, of: str) -> Integers:
    stored = json.loads(ledger.answer(id_))
    if stored["of"] != of:
        raise Refused(
            "exact totals of these places were published, but the public table has moved places since then",
            hint=Message(
                "undo the change in the public table; or run ",
                Command("refresh", version.table),
                " and publish noisy totals: two sets of exact totals together can reveal where one person lives",
            ),
        )
    return unpack_integers(stored["totals"])
