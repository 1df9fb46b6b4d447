"""How fast a rumour travels over a graph: who knows it tells each neighbour, with one chance in every step.

An edge passes the rumour on from whichever end knows it first, after a number of steps that is geometric. It is drawn
once for each edge; so everybody hears after the shortest path to them, whatever the rate, and nothing runs for ever.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.graph.model.graph_sampler import SampledGraph

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RumourHistory:
    """How many knew it: from each of `steps` on, which rise from 0, the number of those in `informed`."""

    steps: Integers
    informed: Integers

    def time_to(self, count: float) -> float:
        """The first step in which so many know; infinite where they never do."""
        place = int(np.searchsorted(self.informed, count))
        return float(self.steps[place]) if place < len(self.steps) else float("inf")

    def at(self, steps: Integers) -> Integers:
        """How many knew in each of these steps."""
        counts: Integers = self.informed[np.searchsorted(self.steps, steps, side="right") - 1]
        return counts


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AdjacencyList:
    """The neighbours of each node, and by which edge: those of node i lie from start[i] to start[i + 1]."""

    start: Integers
    node: Integers
    edge: Integers
    edges: int

    @staticmethod
    def of(graph: SampledGraph) -> AdjacencyList:
        here, there = np.concatenate([graph.ends, graph.ends[::-1]], axis=1)
        order = np.argsort(here)
        start = np.concatenate([[0], np.cumsum(np.bincount(here, minlength=graph.nodes))])
        edges = graph.ends.shape[1]
        return AdjacencyList(start=start, node=there[order], edge=order % max(1, edges), edges=edges)

    @property
    def nodes(self) -> int:
        return len(self.start) - 1

    def around(self, nodes: Integers) -> Integers:
        """The places of all neighbours of some nodes."""
        counts = self.start[nodes + 1] - self.start[nodes]
        before = np.concatenate([[0], np.cumsum(counts)[:-1]]) if len(nodes) else counts
        places: Integers = np.arange(int(counts.sum())) + np.repeat(self.start[nodes] - before, counts)
        return places


def spread_rumour(
    neighbours: AdjacencyList, *, seeds: int, rate: float, generator: np.random.Generator
) -> RumourHistory:
    """One rumour, from so many nodes at random, until nobody new can hear it."""
    first = generator.choice(neighbours.nodes, size=seeds, replace=False)
    if rate <= 0:
        return RumourHistory(steps=np.zeros(1, dtype=np.int64), informed=np.array([seeds]))
    waits = generator.geometric(rate, size=neighbours.edges)
    heard = np.zeros(neighbours.nodes, dtype=np.bool_)
    place = np.empty(neighbours.nodes, dtype=np.int64)
    coming: dict[int, list[Integers]] = {0: [first]}
    times, steps, informed = [0], [], []
    while times:
        now = heapq.heappop(times)
        new = np.concatenate(coming.pop(now))
        new = new[~heard[new]]
        place[new] = np.arange(len(new))
        new = new[place[new] == np.arange(len(new))]  # each once, whoever tells it
        heard[new] = True
        steps.append(now)
        informed.append(len(new))
        for then, nodes in _scheduled_tellings(neighbours, new, heard, waits, now):
            if then not in coming:
                coming[then] = []
                heapq.heappush(times, then)
            coming[then].append(nodes)
    return RumourHistory(steps=np.array(steps, dtype=np.int64), informed=np.cumsum(informed))


def _scheduled_tellings(
    neighbours: AdjacencyList, new: Integers, heard: NDArray[np.bool_], waits: Integers, now: int
) -> list[tuple[int, Integers]]:
    """Whom those who know it now will tell, by the step in which they do."""
    places = neighbours.around(new)
    places = places[~heard[neighbours.node[places]]]
    if not places.size:
        return []
    when = now + waits[neighbours.edge[places]]
    order = np.argsort(when)
    cuts = np.flatnonzero(np.diff(when[order])) + 1
    groups = np.split(neighbours.node[places[order]], cuts)
    return list(zip(when[order][np.concatenate([[0], cuts])].tolist(), groups, strict=True))
