"""From a network and an epsilon to its statistics: shape, price, reserve, draw. Or a stored release, free."""

from __future__ import annotations

import json
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet.accounting.events import Reserved
from discreet.accounting.guarantee import Guarantee
from discreet.answers.caveats import doubled
from discreet.answers.quoting import FREE, cost_of
from discreet.answers.sql import Asker
from discreet.curator import Curator, Version
from discreet.graph.card import card_of, warnings_of
from discreet.graph.ends import clamped
from discreet.graph.estimates import CONFIDENCE
from discreet.graph.limits import CANDIDATES
from discreet.graph.nodes import PublicNodes
from discreet.graph.parts import draw, ladders, laws
from discreet.graph.shape import Shape
from discreet.graph.source import Source
from discreet.graph.stats import GraphStats, estimates
from discreet.graph.steps import Drawing
from discreet.measurement import Law
from discreet.mechanisms.ladder import Ladder
from discreet.mechanisms.laplace import DiscreteLaplace
from discreet.program import Steps, choice_of
from discreet.tables.reserving import Terms, reserve

#: What a stored release is known by.
KIND = "graph"

#: The error of what a ladder climbs depends on the network: it is told as if one edge moved the count so far.
EXAMPLES = (10, 100, 1000)

#: Where a limit is chosen, errors are told as if it were this.
_LIMIT = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A network of one version, and what is asked of it. `counted`: the private table whose persons are its nodes."""

    shape: Shape
    source: Source
    nodes: PublicNodes | None = None
    counted: Version | None = None

    def to_data(self) -> dict[str, Any]:
        """What is asked, so that it is known again; not who gets which share of what it costs."""
        return {
            "graph": {name: part for name, part in self.shape.to_data().items() if name != "shares"},
            "of": self.source.to_data(),
            "nodes": None if self.nodes is None else self.nodes.to_data(),
            "counted": None if self.counted is None else [self.counted.table, self.counted.number],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Quote:
    """What statistics would cost and how exact they would be. Free, and the same on an empty table.

    Where a limit is chosen, errors are those at `limit`, and in proportion at others.
    """

    shape: Shape
    event: Reserved
    limit: int | None
    laws: dict[str, Law]
    ladders: dict[str, Ladder]

    def to_data(self) -> dict[str, Any]:
        return {
            "statistics": list(self.shape.statistics),
            "unit": self.shape.unit,
            "limit": None if self.limit is None else {"edges": self.limit, "chosen": self.shape.chooses},
            "parts": [self._part(name, share) for name, share in self.shape.shares.items()],
            "confidence": float(CONFIDENCE),
            "cost": cost_of(self.event).to_data(up=True),
        }

    def _part(self, name: str, share: Fraction) -> dict[str, Any]:
        found: dict[str, Any] = {"name": name, "share": round(float(share), 4)}
        if name in self.laws:
            law = self.laws[name]
            kind = "discrete Laplace" if isinstance(law, DiscreteLaplace) else "discrete Gaussian"
            return found | {"mechanism": kind, "plus_minus": law.half_width(CONFIDENCE)}
        if name in self.ladders:
            ladder = self.ladders[name]
            errors = {str(first): ladder.half_width(CONFIDENCE, most=first) for first in EXAMPLES}
            return found | {"mechanism": "ladder", "plus_minus": None, "plus_minus_if_an_edge_moves_it_by": errors}
        return found | {"mechanism": "exponential", "plus_minus": None}


def quote(asked: Asked, event: Reserved) -> Quote:
    """The noise that a reservation brings; refuses, before anything is paid, what cannot be drawn."""
    shape = asked.shape
    limit = _LIMIT if shape.chooses else shape.limit
    codes = None if asked.nodes is None or asked.nodes.by is None else asked.nodes.codes
    if shape.chooses:
        choice_of(event, shape.shares["limit"])
        for chosen in (CANDIDATES[0], CANDIDATES[-1]):  # noise that can be drawn at both can at all between
            laws(shape, event, chosen, codes)
    return Quote(
        shape=shape, event=event, limit=limit, laws=laws(shape, event, limit, codes), ladders=ladders(shape, event)
    )


def tables_of(nodes: PublicNodes | None, counted: Version | None) -> dict[str, Any]:
    """The tables beside that of the edges, as a release keeps them: its card tells what is public."""
    return {
        "public": None if nodes is None else nodes.table,
        "counted": None if counted is None else counted.table,
        "counted_version": None if counted is None else counted.number,
    }


def release(
    asked: Asked, terms: Terms, *, guarantee: Guarantee, curator: Curator, asker: Asker, fresh: bool = False
) -> GraphStats:
    """The statistics of a network: those of the same question, free; else measured and charged.

    Guarantee: one charge of a reservation, and all that is told is drawn from it or public.
    """
    version = asked.source.version
    event = terms.event(guarantee, version, curator)
    quote(asked, event)
    if asked.counted is not None:
        curator.ready(asked.counted)
    held, event, known = reserve(
        asked.to_data(), event, terms, version=version, curator=curator, asker=asker, fresh=fresh
    )
    # Stored before the draw: shares may change, and what is begun must be gone on with.
    told: dict[str, Any] = {"kind": KIND, "statistics": ", ".join(asked.shape.statistics), "unit": asked.shape.unit}
    told |= {**tables_of(asked.nodes, asked.counted), "shape": asked.shape.to_data()}
    stored = json.loads(curator.ledger.store(held, json.dumps(told)))
    shape = Shape.from_data(stored["shape"])
    drawing = Drawing(Steps(curator, version, held), asked.source, counted=asked.counted)
    codes = None if asked.nodes is None or asked.nodes.by is None else asked.nodes.codes
    drawn = draw(drawing, shape, codes)
    return GraphStats(
        release=held,
        table=version.table,
        version=version.number,
        unit=shape.unit,
        directed=shape.directed,
        statistics=shape.statistics,
        limit=drawn.limit,
        chosen=shape.chooses,
        card=card_of(shape, asked.source, asked.nodes, event),
        cost=FREE if known else cost_of(event),
        cached=known,
        warnings=(
            *warnings_of(shape, asked.nodes, drawn.limit),
            *clamped(version, asked.source.ends),
            *doubled(curator.ledger, version.population),
            *terms.notes(event, guarantee),
        ),
        **estimates(shape, drawn, codes),
    )
