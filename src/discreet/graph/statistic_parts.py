"""The parts of a release of statistics: what each measures, under which noise, for which share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.accounting.events import ReservationEvent
from discreet.graph.degree_limit import DegreeLimitChoice
from discreet.graph.graph_shape import GraphShape, most_degree, thresholds
from discreet.graph.graph_statistics import (
    AtLeast,
    Edges,
    LabelMixing,
    LadderCount,
    LargestCommon,
    LargestDegrees,
    Mixing,
    Statistic,
    TouchedNodes,
    TraitMixing,
    Triangles,
    Wedges,
)
from discreet.graph.graph_steps import ONE, GraphSteps, law_of
from discreet.kernel.measurement import Law
from discreet.kernel.program import choice_epsilon, pure_epsilon
from discreet.mechanisms.floored_ladder import AnyLadder, FlooredLadder
from discreet.mechanisms.ladder import Ladder
from discreet.mechanisms.ladder_plan import AnyPlan, LadderPlan

#: What ladders climb to.
LADDER_COUNTS: Mapping[str, LadderCount] = {"triangles": Triangles(), "wedges": Wedges()}


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnStatistics:
    """What was drawn for a release. Noisy, but for the laws. `limit`: the one that held, declared or chosen.

    `plans`: what the ladders were before the widths of their rungs were drawn.
    """

    limit: int | None
    noisy: Mapping[str, NDArray[Any]]
    laws: Mapping[str, Law]
    ladders: Mapping[str, AnyLadder]
    plans: Mapping[str, AnyPlan] = field(default_factory=dict)


def statistic(part: str, shape: GraphShape, limit: int | None, codes: NDArray[np.int64] | None) -> Statistic:
    """What a part measures."""
    rising = thresholds(most_degree(shape, limit))
    match part:
        case "nodes" if shape.unit == "node":
            return AtLeast(thresholds=(1,), limit=limit)
        case "nodes":
            return TouchedNodes()
        case "edges":
            return Edges(limit=limit)
        case "degrees":
            return AtLeast(thresholds=rising, limit=limit)
        case "out_degrees":
            return AtLeast(thresholds=rising, direction="out")
        case "in_degrees":
            return AtLeast(thresholds=rising, direction="in")
        case "mixing" | "homophily" if shape.labelled:
            alike, groups = part == "homophily", len(shape.labels)
            directed = shape.directed and not alike
            return LabelMixing(groups=groups, limit=shape.label_limit, directed=directed, alike=alike)
        case "mixing" | "homophily" if shape.unit == "node" and limit is not None:
            alike, groups = part == "homophily", len(shape.labels)
            return TraitMixing(groups=groups, limit=limit, directed=shape.directed and not alike, alike=alike)
        case "homophily" if codes is not None:
            return Mixing(codes=codes, groups=len(shape.labels), alike=True)
        case "mixing" if codes is not None:
            return Mixing(codes=codes, groups=len(shape.labels), directed=shape.directed)
        case "triangles_width":
            return LargestCommon()
        case "wedges_width":
            return LargestDegrees()
        case _:
            raise ValueError(f"no step measures {part!r}")


def measured_parts(shape: GraphShape) -> list[str]:
    """The parts that get noise of a law, in one step."""
    return [part for part in shape.shares if part not in ("limit", "persons", *LADDER_COUNTS)]


def laws(
    shape: GraphShape, event: ReservationEvent, limit: int | None, codes: NDArray[np.int64] | None
) -> dict[str, Law]:
    """The noise on each part that is no choice; refuses what cannot be drawn."""
    part_laws = {
        part: law_of(statistic(part, shape, limit, codes).sensitivity(shape.unit), event, shape.shares[part])
        for part in measured_parts(shape)
    }
    return part_laws | ({"persons": law_of(ONE, event, shape.shares["persons"])} if "persons" in shape.shares else {})


def ladders(shape: GraphShape, event: ReservationEvent) -> dict[str, AnyPlan]:
    """The ladders of the parts that climb, before any floor is known; refuses those that would say nothing."""
    return {
        part: _ladder(shape, event, shape.shares[part], count.step)
        for part, count in LADDER_COUNTS.items()
        if part in shape.shares
    }


def _ladder(shape: GraphShape, event: ReservationEvent, share: Fraction, step: int) -> AnyPlan:
    """Releases that were stored before ladders had floors, or decays of their own, are read as they were drawn."""
    if not shape.floored:
        return Ladder(epsilon=choice_epsilon(event, share), step=step)
    epsilon, is_pure = pure_epsilon(event, share), event.epsilon is not None
    if not shape.planned:
        return FlooredLadder.of(epsilon, step=step, is_pure=is_pure)
    return LadderPlan(epsilon=epsilon, step=step, is_pure=is_pure)


def widest_rung(part: str, nodes: int | None) -> int | None:
    """How far an edge moves a count at most, where the number of nodes is public: any two nodes share all others."""
    if nodes is None:
        return None
    return max(0, nodes - 2 if part == "triangles" else 2 * (nodes - 1))


def draw(drawing: GraphSteps, shape: GraphShape, codes: NDArray[np.int64] | None) -> DrawnStatistics:
    """Take all steps of a release, or read back those that were taken.

    Guarantee: their losses are shares of the reservation that add to 1 at most.
    """
    steps = drawing.steps
    limit = (
        drawing.limit(DegreeLimitChoice.of(steps.choice_epsilon(shape.shares["limit"])))
        if shape.chooses
        else shape.limit
    )
    part_laws = laws(shape, steps.event, limit, codes)
    noisy: dict[str, NDArray[Any]] = {}
    parts = measured_parts(shape)
    if parts:
        measured_statistics = [(statistic(part, shape, limit, codes), part_laws[part]) for part in parts]
        noisy |= dict(zip(parts, drawing.measured(measured_statistics), strict=True))
    if "persons" in shape.shares:
        noisy["persons"] = np.array([drawing.persons(part_laws["persons"])], dtype=object)
    plans, climbing = ladders(shape, steps.event), {}
    for part, plan in plans.items():
        climbing[part] = (
            plan
            if isinstance(plan, Ladder)
            else plan.above(int(noisy[f"{part}_width"][0]), widest_rung(part, shape.nodes))
        )
        noisy[part] = np.array([drawing.climbed(LADDER_COUNTS[part], climbing[part])], dtype=object)
    return DrawnStatistics(limit=limit, noisy=noisy, laws=part_laws, ladders=climbing, plans=plans)
