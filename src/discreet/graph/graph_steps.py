"""Steps over a network: noise on its statistics, and counts climbed by a ladder. To networks what `cut` is to tables.

The exact network is read inside the first draw that needs it, is kept by the object that draws, and leaves it only with
noise. It is never written down.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.accounting.events import Event, ReservationEvent, compose
from discreet.accounting.sensitivity import Sensitivity
from discreet.engines.network.exact_graph import ExactGraph
from discreet.graph.degree_limit import DegreeLimitChoice
from discreet.graph.graph_source import GraphSource
from discreet.graph.graph_statistics import LadderCount, Statistic, apply_statistics
from discreet.kernel.curator import Curator, Version
from discreet.kernel.measurement import Law
from discreet.kernel.program import ReservationSteps
from discreet.mechanisms.floored_ladder import FlooredLadder
from discreet.mechanisms.gaussian import DiscreteGaussian
from discreet.mechanisms.integer_arrays import Integers
from discreet.mechanisms.ladder import Ladder
from discreet.mechanisms.laplace import DiscreteLaplace
from discreet.mechanisms.packed_integers import pack_integers, unpack_integers
from discreet.plan.price import event_of


class GraphSteps:
    """Draws steps of a reservation from one network. `counted`: a table whose persons are its nodes, where given.

    Each step stores what it measured beside its numbers: public facts, of which the ledger has a digest.
    """

    def __init__(self, steps: ReservationSteps, source: GraphSource, *, counted: Version | None = None) -> None:
        if steps.version != source.version:
            raise ValueError("the steps and the network belong to different versions")
        if counted is not None and counted.population != source.version.population:
            raise ValueError("the nodes belong to another population")
        self.steps = steps
        self.source = source
        self.counted = counted
        self._exact: ExactGraph | None = None

    def measured(self, parts: Sequence[tuple[Statistic, Law]]) -> list[Integers]:
        """Statistics of the network, each under its law, as one step.

        Guarantee: the step's loss is the sum of the laws' losses, for neighbours under the version's unit.
        Because: each statistic says how far one unit moves it (docs/proofs/graphs.md).
        """
        moves = [statistic.sensitivity(self.source.unit) for statistic, _ in parts]

        def draw(curator: Curator) -> tuple[Any, Event]:
            exact_values = apply_statistics([statistic for statistic, _ in parts], self._exact_graph(curator))
            drawn = [
                curator.add_noise(law, values, own)
                for (_, law), values, own in zip(parts, exact_values, moves, strict=True)
            ]
            noisy = [pack_integers(values) for values, _ in drawn]
            return {"noisy": noisy, "of": of}, compose([event for _, event in drawn])

        of = {"network": [statistic.to_data() for statistic, _ in parts], "of": self.source.to_data()}
        event = compose([event_of(law, own) for (_, law), own in zip(parts, moves, strict=True)])
        return [unpack_integers(text) for text in self.steps.step(of, event, draw)["noisy"]]

    def climbed(self, count: LadderCount, ladder: Ladder | FlooredLadder) -> int:
        """The number of triangles, or of wedges, by a ladder, as one step. Under edge privacy alone.

        Guarantee: that of the ladder, for one edge. Its floor follows from what earlier steps drew.
        Because: what a count says of itself is what ladders ask for.
        """
        if self.source.unit != "edge":
            raise ValueError("a ladder works only under edge privacy: one node can change these counts by any amount")
        if ladder.step != count.step:
            raise ValueError("the ladder is made for another count")

        def draw(curator: Curator) -> tuple[Any, Event]:
            noisy, event = curator.choose(ladder, count.apply(self._exact_graph(curator)))
            return {"noisy": [noisy], "of": of}, event

        of = {"climbed": count.to_data(), "of": self.source.to_data()}
        if isinstance(ladder, FlooredLadder):
            of |= {"floor": ladder.floor}
        return int(self.steps.step(of, ladder.event(), draw)["noisy"][0])

    def limit(self, limits: DegreeLimitChoice) -> int:
        """A limit on the edges of a node, chosen by the exponential mechanism, as one step. Under node privacy."""
        if self.source.unit != "node":
            raise ValueError("edges need no limit if the privacy unit is one edge")

        def draw(curator: Curator) -> tuple[Any, Event]:
            exact_scores = limits.exact_scores(self._exact_graph(curator))
            place, event = curator.choose(limits.mechanism(), exact_scores)
            return {"chosen": limits.candidates[place], "of": of}, event

        of = {"limits": limits.to_data(), "of": self.source.to_data()}
        return int(self.steps.step(of, limits.mechanism().event(), draw, word="selecting")["chosen"])

    def persons(self, law: Law) -> int:
        """The noisy number of persons of the table of nodes, as one step of the same reservation.

        Guarantee: the loss of the law on a number that moves by at most 1.
        Because: whether somebody is in a declared table depends on their own rows alone. The reservation is charged
            to everybody of the population, whichever of its tables they are in, so it covers those of this one.
        """
        if self.counted is None:
            raise ValueError("there is no table of nodes")
        counted = self.counted

        def draw(curator: Curator) -> tuple[Any, Event]:
            exact_persons = len(curator.persons(counted).exact_rows)
            noisy, event = curator.add_noise(law, np.array([exact_persons], dtype=np.int64), ONE)
            return {"noisy": noisy.tolist(), "of": of}, event

        of = {"persons": [counted.table, counted.number]}
        return int(self.steps.step(of, event_of(law, ONE), draw)["noisy"][0])

    def _exact_graph(self, curator: Curator) -> ExactGraph:
        if self._exact is None:
            self._exact = self.source.exact_graph(curator)
        return self._exact


#: One person is one of the persons.
ONE = Sensitivity(l0=1, l1=1, l2_squared=1, linf=1, because=("a person is one node",))


def law_of(moves: Sensitivity, event: ReservationEvent, share: Fraction) -> Law:
    """The noise on what moves so far that costs a share of a reservation, exactly."""
    if event.epsilon is not None:
        return DiscreteLaplace(scale=moves.l1 / (event.epsilon * share))
    return DiscreteGaussian(sigma2=Fraction(moves.l2_squared) / (2 * event.rho * share))
