"""How releases of tables are read: ranges, marginals and published tables, by what is stored under their charge.

Every reader takes the digest of what the release's step measured from the ledger and compares: what is read is what was
drawn, or nothing.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from discreet import exact
from discreet.accounting.events import ReservationEvent
from discreet.accounting.region import Box
from discreet.answers.reconcile.exact_region import rows_of
from discreet.answers.reconcile.released_numbers import ExclusionReason
from discreet.answers.reconcile.released_tables import (
    MarginalSums,
    NodeSums,
    ReleasedTable,
    StrategySums,
    TableAxis,
    TableSums,
    column_axis,
    in_one_box,
)
from discreet.answers.repeats import Reads
from discreet.answers.row_condition import condition_statement, row_condition
from discreet.errors import Refused, UsageError
from discreet.inference.linear.residual_fit import ResidualPrecision
from discreet.inference.linear.residual_part import ResidualPart
from discreet.inference.linear.solvers import solver_for
from discreet.inference.reconcile import ROWS
from discreet.kernel.curator import Curator, Version
from discreet.kernel.measurement import law_from_data
from discreet.kernel.program import step_digest
from discreet.ledger.records import ChargeRecord
from discreet.mechanisms.gaussian import DiscreteGaussian
from discreet.mechanisms.laplace import DiscreteLaplace
from discreet.mechanisms.noise_combination import NoiseLaw
from discreet.mechanisms.packed_integers import unpack_integers
from discreet.mechanisms.strategy import strategy_data
from discreet.mechanisms.strategy.node_tables import NodeStrategy
from discreet.mechanisms.strategy.strategy import IdentityStrategy, ProductStrategy, Strategy
from discreet.plan.cells import Axis
from discreet.plan.expressions import Code
from discreet.schema.column import Label, MomentColumn, NumberColumn
from discreet.sql.group_keys import declared_axis
from discreet.sql.typed_expression import column_expression


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredTables:
    """A finished program over the version that is reconciled, and what it takes to read it."""

    charge: ChargeRecord
    version: Version
    curator: Curator
    reads: Reads
    payload: Mapping[str, Any]

    @property
    def event(self) -> ReservationEvent:
        return self.curator.ledger.reservation(self.charge.id).event

    def drawn(self, of: Any) -> Any:
        """What the one step drew that measured this; None where the release measured something else."""
        steps = self.curator.ledger.reservation(self.charge.id).steps
        if len(steps) != 1 or steps[0].of != step_digest(of):
            return None
        return json.loads(self.curator.ledger.answer(steps[0].id))


#: Reads the tables of one kind; None where the release is of another.
TableReader = Callable[[StoredTables], list[ReleasedTable] | ExclusionReason | None]

#: The cells of more ranges than this are not called anything.
_MOST_LABELS = 5_000

_OTHER_FORM = ExclusionReason(reason="it was stored in another form")
_CHANGED = ExclusionReason(reason="its condition has another meaning now: something that it names has changed")


def read_tables(
    charge: ChargeRecord, *, version: Version, curator: Curator, reads: Reads
) -> list[ReleasedTable] | ExclusionReason:
    """The tables of a program's release, or why it has none that can be used."""
    ledger = curator.ledger
    if charge.id in ledger.state.streams:
        return ExclusionReason(reason="it is a stream, whose rows arrive step by step")
    steps = ledger.reservation(charge.id).steps
    if not steps or any(step.id not in ledger.state.answers for step in steps):
        return ExclusionReason(reason="it was charged, but not finished")
    payload = json.loads(ledger.answer(charge.id))
    stored = StoredTables(charge=charge, version=version, curator=curator, reads=reads, payload=payload)
    try:
        for reader in TABLE_READERS:
            tables = reader(stored)
            if tables is not None:
                return tables
    except (KeyError, TypeError, ValueError):
        return _OTHER_FORM
    return ExclusionReason(reason="it is a fit or a workload, whose numbers are not used here")


def read_ranges(stored: StoredTables) -> list[ReleasedTable] | ExclusionReason | None:
    """Ranges of a column, perhaps of some rows, perhaps by the values of other columns."""
    payload, schema = stored.payload, stored.version.schema
    if payload.get("kind") != "ranges":
        return None
    if payload["adaptive"]:
        return ExclusionReason(reason="its buckets were chosen by a private test, which takes them to be even inside")
    column = schema.column(payload["column"])
    if not isinstance(column, NumberColumn | MomentColumn):
        return _OTHER_FORM
    where = _rows(stored)
    if isinstance(where, ExclusionReason):
        return where
    edges = payload["edges"]
    if column.edges is None and not payload.get("cut"):
        first, last, cells = edges
        edges = range(first, last + 1, (last - first) // cells)
    ruler = Axis(of=column_expression(column).expression, edges=tuple(edges), null=False, labels=())
    labels = _range_labels(column, ruler.edges)
    by = [axis for name in payload.get("by", ()) if (axis := _declared(stored.version, name)) is not None]
    if len(by) != len(payload.get("by", ())):
        return _OTHER_FORM
    law = law_from_data(payload["law"])
    strategy = with_groups([axis.size for axis in by], strategy_data.strategy_from_data(payload["strategy"]))
    axes = (*by, replace(ruler, labels=labels))
    of = {"linear": [strategy.to_data()], "axes": [axis.to_data() for axis in axes]}
    drawn = stored.drawn(of if "meaning" not in payload else of | {"rows": payload["meaning"]})
    if drawn is None:
        return _OTHER_FORM
    noisy = unpack_integers(drawn["noisy"][0]).astype(np.float64)
    sums = StrategySums(solver=solver_for(strategy), law=law, noisy=noisy)
    return _table(stored, axes, sums, rows=where)


def _range_labels(column: NumberColumn | MomentColumn, edges: Sequence[int]) -> tuple[Label, ...]:
    """What people call the cells of ranges; of very many nothing."""
    if len(edges) > _MOST_LABELS or column.low is None or column.high is None:
        return ()
    labels: list[Label] = []
    for low, high in itertools.pairwise(edges):
        first, last = column.label(max(low, column.low)), column.label(min(high - 1, column.high))
        labels.append(first if high - low == 1 else f"{first} to {last}")
    return tuple(labels)


def with_groups(groups: Sequence[int], strategy: Strategy) -> Strategy:
    """A strategy taken once for each combination of groups: disjoint rows, so no row counts more often than before."""
    return ProductStrategy((*map(IdentityStrategy, groups), strategy)) if groups else strategy


def _rows(stored: StoredTables) -> Box | ExclusionReason:
    """The records that a release counts."""
    condition = stored.payload.get("where")
    if condition is None:
        return Box()
    try:
        query = stored.reads(condition_statement(stored.version.table, condition))
        rows = row_condition(query, condition)
    except (Refused, UsageError):
        return _CHANGED
    if rows.meaning != stored.payload["meaning"]:
        return _CHANGED
    region = rows_of(rows.plan)
    box = None if region is None else in_one_box(region)
    return ExclusionReason(reason="its condition is not exactly one box of declared columns") if box is None else box


def read_marginals(stored: StoredTables) -> list[ReleasedTable] | ExclusionReason | None:
    """Marginals that agree with each other."""
    payload = stored.payload
    if payload.get("kind") != "marginals":
        return None
    axes = [axis for name in payload["columns"] if (axis := _declared(stored.version, name)) is not None]
    if len(axes) != len(payload["columns"]):
        return _OTHER_FORM
    sizes = [axis.size for axis in axes]
    parts = [ResidualPart(axes=tuple(own), centred=tuple(centred)) for own, centred in payload["parts"]]
    strategies = [part.strategy(sizes) for part in parts]
    drawn = stored.drawn(
        {
            "linear": [strategy.to_data() for strategy in strategies],
            "sets": [list(part.axes) for part in parts],
            "axes": [axis.to_data() for axis in axes],
            "groups": [list(range(size)) for size in sizes],
        }
    )
    if drawn is None:
        return _OTHER_FORM
    laws = tuple(
        _law(stored, *part.norms(sizes), exact.read(share))
        for part, share in zip(parts, payload["shares"], strict=True)
    )
    variances = [max(float(law.variance()), 1e-100) for law in laws]
    sums = MarginalSums(
        precision=ResidualPrecision.from_parts(sizes, parts, variances),
        laws=laws,
        noisy=tuple(unpack_integers(each).astype(np.float64) for each in drawn),
    )
    return _table(stored, axes, sums)


def _law(stored: StoredTables, l1: int, l2_squared: int, share: Any) -> NoiseLaw:
    """The noise of what moves by so much with a row, for its share of the reservation."""
    rows, event = stored.version.schema.unit.rows, stored.event
    if event.epsilon is not None:
        return DiscreteLaplace(scale=rows * l1 / (event.epsilon * share))
    return DiscreteGaussian(sigma2=rows**2 * l2_squared / (2 * event.rho * share))


def read_publication(stored: StoredTables) -> list[ReleasedTable] | ExclusionReason | None:
    """Published tables, of which it is stored what each level counted."""
    payload = stored.payload
    if payload.get("kind") != "publish":
        return None
    cells = payload.get("cells")
    if cells is None:
        return ExclusionReason(reason="its tables join a public one, or have too many cells, or were made long ago")
    names = [*cells["places"], *cells["attributes"]]
    axes = [axis for name in names if (axis := _declared(stored.version, name)) is not None]
    if len(axes) != len(names):
        return _OTHER_FORM
    level_nodes = [unpack_integers(level["nodes"]).astype(np.int64) for level in cells["levels"]]
    strategies, laws = [], []
    for nodes, level in zip(level_nodes, cells["levels"], strict=True):
        for groups, share in zip(level["groups"], level["shares"], strict=True):
            own = unpack_integers(groups).astype(np.int64)
            strategies.append(
                NodeStrategy(places=nodes, nodes=int(nodes.max()) + 1, groups=own, kinds=int(own.max()) + 1)
            )
            laws.append(_law(stored, 1, 1, exact.read(share)))
    drawn = stored.drawn({"linear": [each.to_data() for each in strategies], "axes": [axis.to_data() for axis in axes]})
    if drawn is None or math.prod(axis.size for axis in axes) != strategies[0].cells:
        return _OTHER_FORM
    noisy = [unpack_integers(each).astype(np.float64) for each in drawn["noisy"]]
    parts = tuple(zip(strategies, laws, noisy, strict=True))
    sums = NodeSums(parts=parts, nodes=tuple(level_nodes), places=len(cells["places"]))
    return _table(stored, axes, sums)


def _table(
    stored: StoredTables, axes: Sequence[Axis], sums: TableSums, *, rows: Box | None = None
) -> list[ReleasedTable] | ExclusionReason:
    table_axes = [_column_axis(axis) for axis in axes]
    cut = tuple(axis for axis in table_axes if axis is not None)
    if len(cut) != len(table_axes) or len({axis.column for axis in cut}) != len(cut):
        return _OTHER_FORM
    return [ReleasedTable(release=stored.charge.id, family=ROWS, axes=cut, sums=sums, rows=rows or Box())]


def _column_axis(axis: Axis) -> TableAxis | None:
    """An axis over a column itself; None where it is over something computed."""
    if not isinstance(axis.of, Code):
        return None
    return column_axis(axis.of.column, axis.edges, null=axis.null, labels=axis.labels)


def _declared(version: Version, name: str) -> Axis | None:
    column = version.schema.column(name)
    return None if column is None else declared_axis(column)


#: Tried in order.
TABLE_READERS: list[TableReader] = [read_ranges, read_marginals, read_publication]
