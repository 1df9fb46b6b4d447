"""The one act of a publication that touches data: one charge, one step of noise, and totals that are declared exact."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.answers.sql import Asker
from discreet.curator import Curator
from discreet.invariant import ExactTotals, published, refuse_others
from discreet.mechanisms.addition import Integers
from discreet.program import Program
from discreet.tables.publish.exactly import level_totals, totals_of
from discreet.tables.publish.joined import source_of
from discreet.tables.publish.layout import Layout
from discreet.tables.publish.naming import called
from discreet.tables.publish.offering import Offer
from discreet.tables.publish.paying import refuse_before_declaring, reserve

Progress = Callable[[str, float], None]


@dataclass(frozen=True, kw_only=True)
class Noisy:
    """What was measured: for each level and query an array of groups by nodes; and totals that are published exactly.

    `totals`: of the nodes of the lowest level whose totals are invariant; declared, so no longer secret.
    """

    release: str
    values: tuple[tuple[NDArray[np.int64], ...], ...]
    totals: NDArray[np.int64] | None
    cached: bool


def measure(offer: Offer, *, curator: Curator, asker: Asker, fresh: bool, progress: Progress) -> Noisy:
    """Charge and measure, or read back what was measured before for the same plan, free.

    Guarantee: the reservation's, for neighbours under the version's unit; where totals are invariant, for neighbours
        that change one unit and keep them (the ledger counts every loss for that).
    Because: each query moves by at most a unit's rows, its noise costs its share, and shares sum to 1.
    """
    layout, laws, version = offer.layout, offer.laws, offer.layout.version
    if layout.told.invariants:
        _refuse_others(layout, curator)
        if offer.known is None:
            refuse_before_declaring(layout, offer.price, curator.ledger, asker)
    declared = _declared(layout, curator) if layout.told.invariants else None
    held = offer.known or reserve(layout, offer.price, curator, asker, fresh=fresh)
    progress("counting", 0.1)
    program = Program(curator, version, held, **source_of(version, layout.places.joined))
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
    totals = None if declared is None else _totals(layout, declared, held, curator)
    program.finish(json.dumps({"kind": "publish", "levels": list(layout.levels), "called": called(layout)}))
    progress("measured", 0.5)
    return Noisy(release=held, values=values, totals=totals, cached=offer.known is not None)


def _by_nodes(noisy: Integers, nodes: int, kinds: int) -> NDArray[np.int64]:
    """Groups by nodes: one group's numbers of all nodes stand together."""
    return np.ascontiguousarray(noisy.astype(np.int64).reshape(nodes, kinds).T)


def _words(layout: Layout) -> str:
    """What the ledger calls the exact totals: the table's column and its level alone.

    Every plan that wants them names them so, and reads the same ones.
    """
    assert layout.known is not None
    return f"exact totals of {level_totals(layout.told, layout.known)}"


def _declared(layout: Layout, curator: Curator) -> str:
    """Tell the ledger, before anything is charged, what is no longer protected; it refuses where there is no room.

    Returns the id that the exact totals are stored under.
    """
    return curator.ledger.invariant(layout.version.table, layout.version.number, words=_words(layout))


def _refuse_others(layout: Layout, curator: Curator) -> None:
    assert layout.known is not None
    counted, _ = totals_of(layout.places, layout.known)
    totals = ExactTotals(axes=layout.places.axes, totals=counted, by=layout.places.by)
    refuse_others(curator.ledger, layout.version, totals, words=_words(layout))


def _totals(layout: Layout, declared: str, release: str, curator: Curator) -> NDArray[np.int64]:
    """The exact totals that the plan declares, by the nodes of the lowest level: the first that are stored stand."""
    assert layout.known is not None
    counted, rank = totals_of(layout.places, layout.known)
    source = source_of(layout.version, layout.places.joined)
    totals = ExactTotals(axes=layout.places.axes, totals=counted, by=layout.places.by)
    found = published(curator, layout.version, totals, id_=declared, release=release, **source)
    return found.astype(np.int64)[rank]
