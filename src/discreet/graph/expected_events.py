"""The events that a stored release of a network must have been: its shape or recipe says all that they follow from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from discreet.accounting.events import Event, ReservationEvent, compose
from discreet.graph.degree_limit import DegreeLimitChoice
from discreet.graph.graph_shape import GraphShape
from discreet.graph.graph_statistics import Statistic
from discreet.graph.graph_steps import ONE
from discreet.graph.model.recipe import Recipe
from discreet.graph.statistic_parts import ladders, laws, measured_parts, statistic, widest_rung
from discreet.kernel.measurement import Law
from discreet.kernel.program import choice_epsilon
from discreet.mechanisms.floored_ladder import AnyLadder
from discreet.mechanisms.ladder_plan import AnyPlan, LadderPlan
from discreet.mechanisms.packed_integers import unpack_integers
from discreet.plan.price import event_of

#: How far a statistic moves does not depend on which node is in which group.
_NOBODY = np.zeros(0, dtype=np.int64)


def expected_events(
    stored: Mapping[str, Any], event: ReservationEvent, *, chosen: int | None, steps: Sequence[Any]
) -> list[Event]:
    """The events of its steps, in order. `chosen`: the limit that the first step chose, where one did.

    `steps`: what they drew. The decay and the floor of a ladder follow from the noisy width that was drawn before.
    """
    if "shape" in stored:
        return _of_shape(GraphShape.from_data(stored["shape"]), event, chosen, steps)
    recipe = Recipe.from_data(stored["recipe"])
    limit = chosen if recipe.chooses else recipe.limit
    drawn = recipe.laws(event, limit)
    parts = [(recipe.statistic(part, limit, _NOBODY), drawn[part]) for part in recipe.parts]
    return [*_choice(recipe.shares, event), _measured(parts, recipe), *_persons(drawn)]


def _of_shape(shape: GraphShape, event: ReservationEvent, chosen: int | None, steps: Sequence[Any]) -> list[Event]:
    limit = chosen if shape.chooses else shape.limit
    drawn = laws(shape, event, limit, _NOBODY)
    parts = [(statistic(part, shape, limit, _NOBODY), drawn[part]) for part in measured_parts(shape)]
    noise = [_measured(parts, shape)] if parts else []
    climbed = [_climbed(part, plan, shape, steps).event() for part, plan in ladders(shape, event).items()]
    return [*_choice(shape.shares, event), *noise, *_persons(drawn), *climbed]


def _climbed(part: str, plan: AnyPlan, shape: GraphShape, steps: Sequence[Any]) -> AnyLadder:
    if not isinstance(plan, LadderPlan):
        return plan
    drawn = steps[1 if shape.chooses else 0]["noisy"][measured_parts(shape).index(f"{part}_width")]
    return plan.above(int(unpack_integers(drawn)[0]), widest_rung(part, shape.nodes))


def _choice(shares: Mapping[str, Any], event: ReservationEvent) -> list[Event]:
    return (
        [DegreeLimitChoice.of(choice_epsilon(event, shares["limit"])).mechanism().event()] if "limit" in shares else []
    )


def _measured(parts: list[tuple[Statistic, Law]], of: GraphShape | Recipe) -> Event:
    return compose([event_of(law, each.sensitivity(of.unit)) for each, law in parts])


def _persons(drawn: Mapping[str, Law]) -> list[Event]:
    return [event_of(drawn["persons"], ONE)] if "persons" in drawn else []
