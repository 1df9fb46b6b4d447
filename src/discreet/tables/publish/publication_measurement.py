"""The one act of a publication that touches data: one charge, one step of noise, and totals that are declared exact."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet import exact
from discreet.kernel.curator import Curator
from discreet.kernel.exact_totals import ExactTotals, publish_exact_totals, refuse_other_totals
from discreet.kernel.program import Program
from discreet.kernel.project_session import Session
from discreet.mechanisms.integer_arrays import Integers
from discreet.mechanisms.packed_integers import pack_integers
from discreet.plan.expressions import Code
from discreet.tables.publish.layout import Layout
from discreet.tables.publish.permitted_totals import level_totals, totals_of
from discreet.tables.publish.public_join import row_source
from discreet.tables.publish.publication_offer import PublicationOffer
from discreet.tables.publish.publication_price import refuse_before_declaring, reserve_publication

Progress = Callable[[str, float], None]

#: More numbers than this are not named: nobody reads them one by one.
MOST_NAMED = 10_000

#: What tables of more cells than this counted is not written down beside them.
MOST_COUNTED_CELLS = 2**18


@dataclass(frozen=True, kw_only=True)
class NoisyTables:
    """What was measured: for each level and query an array of groups by nodes; and totals that are published exactly.

    `totals`: of the nodes of the lowest level whose totals are invariant; declared, so no longer secret.
    """

    release: str
    values: tuple[tuple[NDArray[np.int64], ...], ...]
    totals: NDArray[np.int64] | None
    cached: bool


def measure(offer: PublicationOffer, session: Session, *, fresh: bool, progress: Progress) -> NoisyTables:
    """Charge and measure, or read back what was measured before for the same plan, free.

    Guarantee: the reservation's, for neighbours under the version's unit; where totals are invariant, for neighbours
        that change one unit and keep them (the ledger counts every loss for that).
    Because: each query moves by at most a unit's rows, its noise costs its share, and shares sum to 1.
    """
    layout, laws, version, curator = offer.layout, offer.laws, session.version, session.curator
    if layout.plan.invariants:
        _refuse_others(layout, curator)
        if offer.earlier_release is None:
            refuse_before_declaring(layout, offer.price, session.ledger, session.asker)
    declared = _declare_exact_totals(layout, curator) if layout.plan.invariants else None
    reservation_id = offer.earlier_release or reserve_publication(layout, offer.price, session, fresh=fresh)
    progress("counting", 0.1)
    program = Program(curator, version, reservation_id, **row_source(version, layout.places.joined))
    parts = [
        (layout.strategy(level, query.groups), law)
        for level, queries in enumerate(layout.queries)
        for query, law in zip(queries, laws[level], strict=True)
    ]
    drawn = iter(program.linear(layout.axes, parts))
    tree = layout.places.tree
    values = tuple(
        tuple(_by_nodes(next(drawn), tree.sizes[level], query.kinds) for query in queries)
        for level, queries in enumerate(layout.queries)
    )
    totals = None if declared is None else _exact_totals(layout, declared, reservation_id, curator)
    summary = {"kind": "publish", "levels": list(layout.levels), "called": cell_names(layout)}
    program.finish(json.dumps(summary | {"cells": counted_cells(layout)}))
    progress("measured", 0.5)
    return NoisyTables(release=reservation_id, values=values, totals=totals, cached=offer.earlier_release is not None)


def _by_nodes(noisy: Integers, nodes: int, kinds: int) -> NDArray[np.int64]:
    """Groups by nodes: one group's numbers of all nodes stand together."""
    return np.ascontiguousarray(noisy.astype(np.int64).reshape(nodes, kinds).T)


def _words(layout: Layout) -> str:
    """What the ledger calls the exact totals: the table's column and its level alone.

    Every plan that wants them names them so, and reads the same ones.
    """
    assert layout.lowest_exact_level is not None
    return f"exact totals of {level_totals(layout.plan, layout.lowest_exact_level)}"


def _declare_exact_totals(layout: Layout, curator: Curator) -> str:
    """Tell the ledger, before anything is charged, what is no longer protected; it refuses where there is no room.

    Returns the id that the exact totals are stored under.
    """
    return curator.ledger.declare_invariant(layout.version.table, layout.version.number, words=_words(layout))


def _refuse_others(layout: Layout, curator: Curator) -> None:
    assert layout.lowest_exact_level is not None
    counted, _ = totals_of(layout.places, layout.lowest_exact_level)
    totals = ExactTotals(axes=layout.places.axes, totals=counted, by=layout.places.by)
    refuse_other_totals(curator.ledger, layout.version, totals, words=_words(layout))


def _exact_totals(layout: Layout, declared: str, release: str, curator: Curator) -> NDArray[np.int64]:
    """The exact totals that the plan declares, by the nodes of the lowest level: the first that are stored stand."""
    assert layout.lowest_exact_level is not None
    counted, rank = totals_of(layout.places, layout.lowest_exact_level)
    source = row_source(layout.version, layout.places.joined)
    totals = ExactTotals(axes=layout.places.axes, totals=counted, by=layout.places.by)
    exact_totals = publish_exact_totals(curator, layout.version, totals, id_=declared, release=release, **source)
    return exact_totals.astype(np.int64)[rank]


def cell_names(layout: Layout) -> dict[str, Any] | None:
    """The cells of the first query of the topmost level that is measured, in the order of its numbers. Public facts
    alone, for whoever reads the release without its plan.

    Columns, their labels, and which label each number has: places first, then the attributes that the query tells
    apart. None where there are too many.
    """
    level = next(level for level, queries in enumerate(layout.queries) if queries)
    query, nodes = layout.queries[level][0], layout.places.tree.sizes[level]
    if nodes * query.kinds > MOST_NAMED:
        return None
    one = np.unique(query.groups, return_index=True)[1]  # a cell of each group
    path = zip(layout.levels[1 : level + 1], layout.places.path(level), strict=True)
    columns = [(name, labels, np.repeat(at, query.kinds)) for name, (at, labels) in path]
    columns += [
        (name, labels, np.tile(at[one], nodes))
        for name, labels, at in layout.cell_labels()
        if (at == at[one][query.groups]).all()
    ]
    return {
        "numbers": nodes * query.kinds,
        "columns": [name for name, _, _ in columns],
        "labels": [list(labels) for _, labels, _ in columns],
        "codes": [pack_integers(codes) for _, _, codes in columns],
    }


def counted_cells(layout: Layout) -> dict[str, Any] | None:
    """What each level counted, for whoever answers a query from the release: public facts alone.

    The columns of places and attributes; of each level the node of every place, the group of every cell at a place
    for each of its queries (-1: not possible), and the queries' shares. None where a public table is joined, or there
    are too many cells.
    """
    columns = [axis.of.column for axis in layout.axes if isinstance(axis.of, Code)]
    places = len(layout.places.axes)
    size = len(layout.places.leaves) * len(layout.possible)
    if layout.places.joined is not None or len(columns) != len(layout.axes) or size > MOST_COUNTED_CELLS:
        return None
    levels = []
    for level, queries in enumerate(layout.queries):
        groups = [layout.strategy(level, query.groups).groups for query in queries]
        levels.append(
            {
                "nodes": pack_integers(layout.places.nodes(level)),
                "groups": [pack_integers(own) for own in groups],
                "shares": [exact.write(query.share) for query in queries],
            }
        )
    return {"places": columns[:places], "attributes": columns[places:], "levels": levels}
