"""The one act of a publication that touches data: one charge, one step of noise, and totals that are declared exact."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.answers.sql import Asker
from discreet.curator import Curator
from discreet.invariant import published
from discreet.mechanisms.addition import Integers
from discreet.program import Program
from discreet.tables.publish.joined import source_of
from discreet.tables.publish.layout import Layout
from discreet.tables.publish.paying import Price, laws_of, question_of, refuse_before_declaring, reserve

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


def measure(layout: Layout, price: Price, *, curator: Curator, asker: Asker, fresh: bool, progress: Progress) -> Noisy:
    """Charge and measure, or read back what was measured before for the same plan, free.

    Guarantee: the reservation's, for neighbours under the version's unit; where totals are invariant, for neighbours
        that change one unit and keep them (the ledger counts every loss for that).
    Because: each query moves by at most a unit's rows, its noise costs its share, and shares sum to 1.
    """
    laws = laws_of(layout, price)
    question = question_of(layout, price)
    version, ledger = layout.version, curator.ledger
    known = None if fresh else ledger.reserved(version.table, version.number, question)
    if known is None and layout.told.invariants:
        refuse_before_declaring(layout, price, ledger, asker)
    declared = _declared(layout, curator) if layout.told.invariants else None
    held = reserve(layout, price, curator, asker, question=question, fresh=fresh) if known is None else known.id
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
    totals = None if declared is None else _totals(layout, declared, curator)
    program.finish(json.dumps({"kind": "publish", "levels": list(layout.levels)}))
    progress("measured", 0.5)
    return Noisy(release=held, values=values, totals=totals, cached=known is not None)


def _by_nodes(noisy: Integers, nodes: int, kinds: int) -> NDArray[np.int64]:
    """Groups by nodes: one group's numbers of all nodes stand together."""
    return np.ascontiguousarray(noisy.astype(np.int64).reshape(nodes, kinds).T)


def _declared(layout: Layout, curator: Curator) -> str:
    """Tell the ledger, before anything is charged, what is no longer protected; it refuses where there is no room.

    Returns the id that the exact totals are stored under: another plan's totals have another.
    """
    version, names = layout.version, ", ".join(layout.told.invariants)[:100]
    digest = hashlib.sha256(json.dumps(layout.to_data(), sort_keys=True).encode()).hexdigest()[:16]
    return curator.ledger.invariant(
        version.table, version.number, words=f"exact totals of {names} in published tables, plan {digest}"
    )


def _totals(layout: Layout, declared: str, curator: Curator) -> NDArray[np.int64]:
    """The exact totals that the plan declares, by the nodes of the lowest level: the first that are stored stand."""
    level = layout.known
    assert level is not None
    source = source_of(layout.version, layout.places.joined)
    found = published(curator, layout.version, layout.axes, layout.totals(level), id_=declared, **source)
    return found.astype(np.int64)
