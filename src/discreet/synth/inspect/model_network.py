"""The model as a network: which columns were measured together, and the table of each column given its parents.

A Bayesian network (`privbayes`) has arrows: each column was chosen together with its parents, which were in the network
before it. A tree of pairs (`mst`) and tables chosen step by step (`aim`) have none; their tables are read in the order
in which columns were first measured with others. An arrow is no cause, and neither is a line.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.inference.axes import Axes, Table, cells_of
from discreet.synth.inspect.dependence import MOST_CELLS, Dependence, measured_sets
from discreet.synth.inspect.model_evidence import ModelEvidence, names_of
from discreet.synth.inspect.value_groups import ValueGroups, gather_values

#: The kinds of models whose tables have a direction.
WITH_ARROWS = ("privbayes",)

#: At most so many values of a column are told apart in its own table, and of each parent by how many parents there are.
OWN_VALUES = 6
PARENT_VALUES = {1: 8, 2: 4, 3: 3}

#: Of a table with more rows than this the most common are kept.
MOST_ROWS = 64

#: A value or a row that fewer rows of the model have is left out.
LEAST_ROWS = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkRow:
    """The parents' values, the model's number of rows with them, and the share of each of the column's values.

    `plus_minus`: how far a share may be from the true one, at 95% confidence; None where that is not known.
    """

    given: tuple[str, ...]
    count: float
    shares: tuple[float, ...]
    plus_minus: tuple[float | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkTable:
    """A column given its parents: a row for each combination of their values. Neighbouring values are gathered.

    `rows_left_out`: combinations that are too rare to be shown, or whose number of rows is below its noise.
    """

    column: str
    parents: tuple[str, ...]
    values: tuple[str, ...]
    rows: tuple[NetworkRow, ...]
    rows_left_out: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkEdge:
    """Two columns that were measured together. `by_itself`: as a pair, else only inside a larger table."""

    parent: str
    child: str
    strength: float | None
    by_itself: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelNetwork:
    """The columns in the network's order, its edges, and a table for each column; more where it is the last of several.

    `degree`: the largest number of parents in a table.
    """

    arrows: bool
    degree: int
    columns: tuple[str, ...]
    edges: tuple[NetworkEdge, ...]
    tables: tuple[NetworkTable, ...]


def network_of(data: Mapping[str, Any]) -> ModelNetwork:
    """The network that a report's JSON data hold under `graph`."""
    edges = tuple(NetworkEdge(**each) for each in data["edges"])
    tables = tuple(
        NetworkTable(**{**each, "rows": tuple(NetworkRow(**row) for row in each["rows"])}) for each in data["tables"]
    )
    return ModelNetwork(**{**data, "edges": edges, "tables": tables})


def model_network(evidence: ModelEvidence, dependences: Sequence[Dependence]) -> ModelNetwork:
    """The network of a model. Free: a function of noisy measurements and public facts."""
    order = network_order(evidence)
    families = _families(evidence, order)
    return ModelNetwork(
        arrows=evidence.model.card.kind in WITH_ARROWS,
        degree=max((len(own) - 1 for own in families), default=0),
        columns=names_of(evidence.model, order),
        edges=_edges(evidence, order, dependences),
        tables=tuple(_table(evidence, own[:-1], own[-1]) for own in families),
    )


def network_order(evidence: ModelEvidence) -> Axes:
    """The columns in the order in which they were first measured with others; then those that never were.

    Of columns that came at once the one of the most cells is first: so does `privbayes` begin.
    """
    order: list[int] = []
    for own in (each.attributes for each in evidence.model.measured if len(each.attributes) > 1):
        order += sorted(set(own) - set(order), key=lambda place: (-evidence.sizes[place], place))
    return (*order, *(place for place in range(len(evidence.sizes)) if place not in order))


def _families(evidence: ModelEvidence, order: Axes) -> list[Axes]:
    """Each set that was measured together, the one last in order at its end; and the columns that are last in none.

    Where there are arrows, a set by which a column came into the network stays, even if a larger one holds it.
    """
    sets = dict.fromkeys(measured_sets(evidence))
    if evidence.model.card.kind in WITH_ARROWS:
        joined: set[int] = set()
        for own in (each.attributes for each in evidence.model.measured if len(each.attributes) > 1):
            if set(own) - joined:
                sets[tuple(sorted(own))] = None
            joined |= set(own)
    families = [tuple(sorted(own, key=order.index)) for own in sets]
    children = {own[-1] for own in families}
    families += [(place,) for place in order if place not in children]
    return sorted(families, key=lambda own: (order.index(own[-1]), [order.index(place) for place in own]))


def _edges(evidence: ModelEvidence, order: Axes, dependences: Sequence[Dependence]) -> tuple[NetworkEdge, ...]:
    """From parents to the child where there are arrows; else between all that were measured together."""
    strengths = {frozenset(each.columns): each.strength for each in dependences}
    alone = {frozenset(each.attributes) for each in evidence.model.measured}
    arrows = evidence.model.card.kind in WITH_ARROWS
    pairs: dict[tuple[int, int], None] = {}
    for own in _families(evidence, order):
        for turn, child in enumerate(own):
            if child == own[-1] or not arrows:
                pairs.update(dict.fromkeys((parent, child) for parent in own[:turn]))
    return tuple(
        NetworkEdge(
            parent=names_of(evidence.model, (parent,))[0],
            child=names_of(evidence.model, (child,))[0],
            strength=strengths.get(frozenset(names_of(evidence.model, (parent, child)))),
            by_itself=frozenset((parent, child)) in alone,
        )
        for parent, child in pairs
    )


def _table(evidence: ModelEvidence, parents: Axes, child: int) -> NetworkTable:
    """The shares of a column's values for each combination of its parents' values."""
    model, own = evidence.model, tuple(sorted((*parents, child)))
    wanted_values = {place: PARENT_VALUES.get(len(parents), 2) for place in parents} | {child: OWN_VALUES}
    groups = {
        place: gather_values(model.attributes[place], evidence.bounds((place,)).model, wanted_values[place])
        for place in own
    }
    names, columns = names_of(model, (*parents, child)), groups[child].names
    if cells_of(evidence.sizes, own) > MOST_CELLS:
        return NetworkTable(column=names[-1], parents=names[:-1], values=columns, rows=(), rows_left_out=0)
    shape = [own.index(place) for place in (*parents, child)]

    def gathered(table: Table) -> Table:
        """Rows are combinations of the parents' values, columns the child's."""
        for place in own:
            table = groups[place].gather(table)
        return table.transpose(shape).reshape(-1, len(columns))

    counts = gathered(model.calibrated.project(own))
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1e-300)
    widths = _share_widths(evidence, own, counts, gathered, groups)
    shown_values = [place for place in range(len(columns)) if counts[:, place].sum() >= LEAST_ROWS] or [0]
    combinations = list(np.ndindex(*(len(groups[place].names) for place in parents)))
    kept = [
        row
        for row in range(len(counts))
        if counts[row].sum() >= LEAST_ROWS and (widths is None or not np.isnan(widths[row]).any())
    ]
    kept = sorted(sorted(kept, key=lambda row: -counts[row].sum())[:MOST_ROWS])
    rows = tuple(
        NetworkRow(
            given=tuple(groups[place].names[at] for place, at in zip(parents, combinations[row], strict=True)),
            count=float(counts[row].sum()),
            shares=tuple(shares[row, shown_values].tolist()),
            plus_minus=(None,) * len(shown_values) if widths is None else tuple(widths[row, shown_values].tolist()),
        )
        for row in kept
    )
    return NetworkTable(
        column=names[-1],
        parents=names[:-1],
        values=tuple(columns[place] for place in shown_values),
        rows=rows,
        rows_left_out=len(counts) - len(kept),
    )


def _share_widths(
    evidence: ModelEvidence,
    own: Axes,
    counts: Table,
    gathered: Callable[[Table], Table],
    groups: Mapping[int, ValueGroups],
) -> Table | None:
    """How far each share may be from the true one; NaN where a row is below its noise; None where nothing is known."""
    noisy_marginal = evidence.noisy_marginal(own)
    if evidence.public(own):
        return np.zeros(counts.shape)
    if noisy_marginal is None or set(names_of(evidence.model, own)) & set(evidence.model.card.doubtful):
        return None
    outside = sum(float(evidence.outside[place].max(initial=0.0)) for place in groups)
    return share_widths(
        counts,
        gathered(noisy_marginal.values),
        gathered(noisy_marginal.variances),
        widths=evidence.widths,
        outside=outside,
    )


def share_widths(counts: Table, noisy: Table, variances: Table, *, widths: float, outside: float = 0.0) -> Table:
    """Half the width of a 95% interval for counts[i, j] / counts[i].sum(); NaN where row i is below its noise.

    The share a / (a + b) rises with the value's own rows a and falls with the row's others b. The noises of a and b
    are independent, because they are sums of different cells: so the changes that each makes at the end of its own
    interval are added as squares, and the larger of up and down is taken. A count's own interval is its noise, or the
    model's distance from the measurement where that is larger, as everywhere in the report.
    """
    rest, noisy_rest = (table.sum(axis=1, keepdims=True) - table for table in (counts, noisy))
    rest_variances = np.maximum(variances.sum(axis=1, keepdims=True) - variances, 0)
    own_width = np.maximum(widths * np.sqrt(variances), np.abs(counts - noisy)) + outside
    rest_width = np.maximum(widths * np.sqrt(rest_variances), np.abs(rest - noisy_rest)) + outside
    shares = _share(counts, rest)
    up, down = (
        np.hypot(
            _share(np.maximum(counts + sign * own_width, 0), rest) - shares,
            _share(counts, np.maximum(rest - sign * rest_width, 0)) - shares,
        )
        for sign in (1, -1)
    )
    rows, noisy_rows = counts.sum(axis=1), noisy.sum(axis=1)
    row_width = np.maximum(widths * np.sqrt(variances.sum(axis=1)), np.abs(rows - noisy_rows)) + outside
    return np.where((rows > row_width)[:, None], np.minimum(np.maximum(up, down), 1.0), np.nan)


def _share(own: Table, rest: Table) -> Table:
    """Where there is nobody at all, the share is that of everybody or of nobody: what the own count says."""
    return np.divide(own, own + rest, out=np.zeros_like(own), where=own + rest > 0)
