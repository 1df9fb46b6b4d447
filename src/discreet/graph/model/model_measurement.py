"""From a network and an epsilon to a model: reserve, draw, and read what was drawn. Or one that is stored, free."""

from __future__ import annotations

import json
from typing import Any

from discreet.accounting.events import ReservationEvent
from discreet.answers.caveats import ledger_caveats
from discreet.errors import Command, Flag, Message, UsageError
from discreet.graph.degree_limit import CANDIDATES, DegreeLimitChoice
from discreet.graph.edge_ends import clamping_warnings
from discreet.graph.graph_source import GraphSource
from discreet.graph.graph_steps import GraphSteps
from discreet.graph.model.graph_model import GraphModel, GraphModelCard
from discreet.graph.model.network_measurements import NetworkMeasurements, NoisyNumbers
from discreet.graph.model.recipe import Recipe, recipe_of
from discreet.graph.public_nodes import PublicNodes
from discreet.graph.statistics_request import tables_of
from discreet.kernel.curator import Version
from discreet.kernel.program import ReservationSteps, choice_epsilon
from discreet.kernel.project_session import Session
from discreet.ledger.ledger import Ledger
from discreet.mechanisms.packed_integers import unpack_integers
from discreet.tables.table_reservation import ReservationTerms, reserve

#: What a stored model is known by.
KIND = "graph model"


def measure_model(
    source: GraphSource,
    nodes: PublicNodes | None,
    terms: ReservationTerms,
    session: Session,
    *,
    counted: Version | None,
    fresh: bool = False,
) -> GraphModel:
    """A model of a network: that of the same question, free; else measured and charged.

    Guarantee: one charge of a reservation, and all that the model holds is drawn from it or public.
    """
    recipe = recipe_of(source, nodes, counted=counted is not None)
    version, curator, event = session.version, session.curator, terms.event(session)
    if source.version != version:
        raise ValueError("the network and the session belong to different versions")
    # What cannot be drawn is refused before it is paid, by whichever limit may be chosen.
    for limit in (CANDIDATES[0], CANDIDATES[-1]) if recipe.chooses else (recipe.limit,):
        recipe.laws(event, limit)
    if recipe.chooses:
        DegreeLimitChoice.of(choice_epsilon(event, recipe.shares["limit"])).mechanism()
    if counted is not None:
        curator.check_ready(counted)
    question_data = {
        "graph model": {name: part for name, part in recipe.to_data().items() if name != "shares"},
        "of": source.to_data(),
        "nodes": None if nodes is None else nodes.to_data(),
        "counted": None if counted is None else [counted.table, counted.number],
    }
    reservation_id, event, is_repeat = reserve(question_data, event, terms, session, fresh=fresh)
    # Stored before the draw: shares may change, and what is begun must be gone on with.
    notes = [
        *_notes(recipe, nodes),
        *clamping_warnings(version, source.ends),
        *ledger_caveats(curator.ledger, version.population),
    ]
    release_data = {"kind": KIND, "unit": recipe.unit, "recipe": recipe.to_data(), "notes": notes}
    release_data |= tables_of(nodes, counted)
    stored = json.loads(curator.ledger.store(reservation_id, json.dumps(release_data)))
    codes = None if nodes is None or nodes.by is None else nodes.codes
    _draw(
        GraphSteps(ReservationSteps(curator, version, reservation_id), source, counted=counted),
        Recipe.from_data(stored["recipe"]),
        codes,
    )
    return read_back(reservation_id, ledger=curator.ledger, repeat=is_repeat)


def read_back(id_: str, *, ledger: Ledger, repeat: bool = True) -> GraphModel:
    """A model as the ledger has it. Free."""
    state = ledger.refresh()
    charge = state.charges.get(id_)
    if charge is None:
        raise UsageError(
            f"there is no model file and no release {id_[:60]!r}", hint=Message(Command("releases"), " lists them")
        )
    stored = json.loads(ledger.answer(id_)) if id_ in state.answers else {}
    if id_ not in state.reservations or not isinstance(stored, dict) or stored.get("kind") != KIND:
        raise UsageError(
            f"release {id_} is not a model of a network",
            hint=Message(Command("graph synth", "TABLE", Flag("epsilon", 1), Flag("output", "edges.csv", short="o"))),
        )
    recipe, event = Recipe.from_data(stored["recipe"]), ledger.reservation(id_).event
    steps = [json.loads(ledger.answer(step)) for step in _steps(id_, recipe) if step in state.answers]
    if len(steps) < len(_steps(id_, recipe)):
        raise UsageError(
            f"release {id_} was charged, but its measurement was not finished",
            hint="run the same command again: it finishes the release at no further cost",
        )
    card = GraphModelCard(
        table=charge.table,
        version=charge.version,
        release=id_,
        epsilon=event.epsilon,
        rho=event.rho,
        repeat=repeat,
        warnings=tuple(stored["notes"]),
    )
    return GraphModel(card=card, measured=_measured(recipe, event, steps))


def _notes(recipe: Recipe, nodes: PublicNodes | None) -> list[str]:
    """What is hidden, what is not, and what the model leaves out. Public facts."""
    if recipe.unit == "node":
        notes = ["protected: whether any one person is in the network, and whom they are linked to"]
    else:
        notes = ["protected: whether two nodes are linked; not protected: whether a person has many edges"]
    if nodes is not None:
        notes.append(
            f"not protected: who the nodes are, and their attributes in {nodes.table!r}, which is declared public"
        )
        notes.append(f"edges with an end that is not in {nodes.table!r} are left out")
    elif "persons" not in recipe.shares:
        whom = "nodes that the limit leaves without an edge" if recipe.unit == "node" else "nodes without an edge"
        notes.append(f"{whom} are not in the model")
    return notes


def _draw(drawing: GraphSteps, recipe: Recipe, codes: Any) -> None:
    """Take all steps of a model, or go past those that were taken.

    Guarantee: their losses are shares of the reservation that add to 1 at most.
    """
    limit = recipe.limit
    if recipe.chooses:
        limit = drawing.limit(DegreeLimitChoice.of(drawing.steps.choice_epsilon(recipe.shares["limit"])))
    laws = recipe.laws(drawing.steps.event, limit)
    drawing.measured([(recipe.statistic(part, limit, codes), laws[part]) for part in recipe.parts])
    if "persons" in recipe.shares:
        drawing.persons(laws["persons"])


def _steps(id_: str, recipe: Recipe) -> list[str]:
    """What the steps of a model are stored under."""
    count = 1 + recipe.chooses + ("persons" in recipe.shares)
    return [f"{id_}.{number}" for number in range(1, count + 1)]


def _measured(recipe: Recipe, event: ReservationEvent, steps: list[dict[str, Any]]) -> NetworkMeasurements:
    """The noisy numbers of steps, in the order in which they are taken."""
    limit = int(steps.pop(0)["chosen"]) if recipe.chooses else recipe.limit
    laws = recipe.laws(event, limit)
    texts = dict(zip(recipe.parts, steps[0]["noisy"], strict=True))
    noisy = {
        part: NoisyNumbers(values=tuple(int(value) for value in unpack_integers(text).tolist()), law=laws[part])
        for part, text in texts.items()
    }
    persons = NoisyNumbers(values=(int(steps[1]["noisy"][0]),), law=laws["persons"]) if "persons" in laws else None
    return NetworkMeasurements(
        unit=recipe.unit,
        thresholds=recipe.thresholds(limit),
        degrees=noisy["degrees"],
        edges=noisy["mixing"] if "mixing" in noisy else noisy["edges"],
        labels=recipe.labels,
        by=recipe.by,
        sizes=recipe.sizes,
        coarse=recipe.coarse(limit),
        by_block=noisy.get("by_block"),
        persons=persons,
        limit=limit,
    )
