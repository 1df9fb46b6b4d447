"""From a network and an epsilon to its statistics: shape, price, reserve, draw. Or a stored release, free."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from discreet.accounting.events import ReservationEvent
from discreet.answers.caveats import ledger_caveats
from discreet.answers.query_quote import FREE, cost_of
from discreet.graph.degree_limit import CANDIDATES
from discreet.graph.edge_ends import clamping_warnings
from discreet.graph.graph_card import card_of, warnings_of
from discreet.graph.graph_estimates import CONFIDENCE
from discreet.graph.graph_shape import GraphShape, shapes_alone
from discreet.graph.graph_source import GraphSource
from discreet.graph.graph_steps import GraphSteps
from discreet.graph.public_nodes import PublicNodes
from discreet.graph.statistic_parts import draw, ladders, laws
from discreet.graph.statistics_release import GraphStats, estimates
from discreet.kernel.curator import Version
from discreet.kernel.measurement import Law
from discreet.kernel.program import ReservationSteps, choice_epsilon
from discreet.kernel.project_session import Session
from discreet.mechanisms.ladder import Ladder
from discreet.mechanisms.ladder_plan import AnyPlan, LadderPlan
from discreet.mechanisms.laplace import DiscreteLaplace
from discreet.tables.table_reservation import ReservationTerms, reserve

#: What a stored release is known by.
KIND = "graph"

#: The error of what a ladder climbs depends on the network: it is told as if one edge moved the count so far.
EXAMPLES = (10, 100, 1000)

#: Of a shape, what is no part of the question.
_NOT_ASKED = ("shares", "floored", "planned")

#: Where a limit is chosen, errors are told as if it were this.
_LIMIT = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphRequest:
    """A network of one version, and what is asked of it. `counted`: the private table whose persons are its nodes."""

    shape: GraphShape
    source: GraphSource
    nodes: PublicNodes | None = None
    counted: Version | None = None

    def to_data(self) -> dict[str, Any]:
        """What is asked, so that it is known again; not who gets which share of what it costs, or how it is drawn."""
        return {
            "graph": {name: part for name, part in self.shape.to_data().items() if name not in _NOT_ASKED},
            "of": self.source.to_data(),
            "nodes": None if self.nodes is None else self.nodes.to_data(),
            "counted": None if self.counted is None else [self.counted.table, self.counted.number],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphQuote:
    """What statistics would cost and how exact they would be. Free, and the same on an empty table.

    Where a limit is chosen, errors are those at `limit`, and in proportion at others. `alone`: what each statistic with
    parts of its own would be if nothing else were asked for, at the same cost; empty where there is nothing else.
    """

    shape: GraphShape
    event: ReservationEvent
    limit: int | None
    laws: dict[str, Law]
    ladders: dict[str, AnyPlan]
    alone: tuple[GraphQuote, ...] = ()

    def to_data(self) -> dict[str, Any]:
        return {
            "statistics": list(self.shape.statistics),
            "unit": self.shape.unit,
            "limit": None if self.limit is None else {"edges": self.limit, "chosen": self.shape.chooses},
            "parts": self.parts(),
            "alone": [{"only": quoted.shape.statistics[0], "parts": quoted.parts()} for quoted in self.alone],
            "confidence": float(CONFIDENCE),
            "cost": cost_of(self.event).to_data(up=True),
        }

    def parts(self) -> list[dict[str, Any]]:
        """What each part gets of the cost, and how exact it would be."""
        return [self._part(name, share) for name, share in self.shape.shares.items()]

    def _part(self, name: str, share: Fraction) -> dict[str, Any]:
        part_data: dict[str, Any] = {"name": name, "share": round(float(share), 4)}
        if name in self.laws:
            law = self.laws[name]
            kind = "discrete Laplace" if isinstance(law, DiscreteLaplace) else "discrete Gaussian"
            return part_data | {"mechanism": kind, "plus_minus": law.half_width(CONFIDENCE)}
        if name in self.ladders:
            ladder = self.ladders[name]
            errors = {str(first): _ladder_error(ladder, first, self.laws[f"{name}_width"]) for first in EXAMPLES}
            return part_data | {"mechanism": "ladder", "plus_minus": None, "plus_minus_if_an_edge_moves_it_by": errors}
        return part_data | {"mechanism": "exponential", "plus_minus": None}


def _ladder_error(ladder: AnyPlan, first: int, law: Law) -> int:
    """How far from a count its noise is at most, where an edge moves it by `first`, and that is what is measured."""
    if isinstance(ladder, Ladder):
        return ladder.half_width(CONFIDENCE, most=first)
    above = ladder.above(first)
    if isinstance(ladder, LadderPlan):
        return ladder.half_width(above.floor, law, CONFIDENCE)
    return above.half_width(law, CONFIDENCE)


def quote(request: GraphRequest, event: ReservationEvent) -> GraphQuote:
    """The noise that a reservation brings; refuses, before anything is paid, what cannot be drawn."""
    shape = request.shape
    limit = _LIMIT if shape.chooses else shape.limit
    codes = None if request.nodes is None or request.nodes.by is None else request.nodes.codes
    if shape.chooses:
        choice_epsilon(event, shape.shares["limit"])
        for chosen in (CANDIDATES[0], CANDIDATES[-1]):  # noise that can be drawn at both can at all between
            laws(shape, event, chosen, codes)

    def quote_of(part_shape: GraphShape) -> GraphQuote:
        part_laws, part_ladders = laws(part_shape, event, limit, codes), ladders(part_shape, event)
        return GraphQuote(shape=part_shape, event=event, limit=limit, laws=part_laws, ladders=part_ladders)

    return replace(quote_of(shape), alone=tuple(quote_of(each) for each in shapes_alone(shape)))


def tables_of(nodes: PublicNodes | None, counted: Version | None) -> dict[str, Any]:
    """The tables beside that of the edges, as a release keeps them: its card tells what is public."""
    return {
        "public": None if nodes is None else nodes.table,
        "counted": None if counted is None else counted.table,
        "counted_version": None if counted is None else counted.number,
    }


def release(request: GraphRequest, terms: ReservationTerms, session: Session, *, fresh: bool = False) -> GraphStats:
    """The statistics of a network: those of the same question, free; else measured and charged.

    Guarantee: one charge of a reservation, and all that is told is drawn from it or public.
    """
    version, curator, event = session.version, session.curator, terms.event(session)
    if request.source.version != version:
        raise ValueError("the network and the session belong to different versions")
    quote(request, event)
    if request.counted is not None:
        curator.check_ready(request.counted)
    reservation_id, event, is_repeat = reserve(request.to_data(), event, terms, session, fresh=fresh)
    # Stored before the draw: shares may change, and what is begun must be gone on with.
    release_data: dict[str, Any] = {
        "kind": KIND,
        "statistics": ", ".join(request.shape.statistics),
        "unit": request.shape.unit,
    }
    release_data |= {**tables_of(request.nodes, request.counted), "shape": request.shape.to_data()}
    stored = json.loads(curator.ledger.store(reservation_id, json.dumps(release_data)))
    shape = GraphShape.from_data(stored["shape"])
    drawing = GraphSteps(ReservationSteps(curator, version, reservation_id), request.source, counted=request.counted)
    codes = None if request.nodes is None or request.nodes.by is None else request.nodes.codes
    drawn = draw(drawing, shape, codes)
    return GraphStats(
        release=reservation_id,
        table=version.table,
        version=version.number,
        unit=shape.unit,
        directed=shape.directed,
        statistics=shape.statistics,
        limit=drawn.limit,
        chosen=shape.chooses,
        card=card_of(shape, request.source, request.nodes, event),
        price=cost_of(event),
        cost=FREE if is_repeat else cost_of(event, curator.ledger.state.charges[reservation_id].moved),
        cached=is_repeat,
        warnings=(
            *warnings_of(shape, request.nodes, drawn.limit),
            *clamping_warnings(version, request.source.ends),
            *ledger_caveats(curator.ledger, version.population),
            *terms.notes(event, session.guarantee),
        ),
        **estimates(shape, drawn, codes),
    )
