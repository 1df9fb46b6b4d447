"""The projection of a graph to bounded degrees (Day, Li and Lyu 2016): edges in order, kept while both ends have room.

The order is that of the graph, a keyed hash of the ends of each edge: whether an edge comes before another depends
on these two alone, so one more node leaves the order of all others as it was. The proof (docs/proofs/graphs.md)
rests on that, and on nothing else about the order; speed rests on its being random.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.engines.network.exact_graph import ExactGraph

#: Where fewer edges than this are open, or more rounds than that were made, the rest is decided one by one.
_FEW = 2_000
_MOST_ROUNDS = 60


def project(graph: ExactGraph, limit: int) -> ExactGraph:
    """The edges that are kept when they are taken in order, each if both its ends have fewer than `limit` so far.

    Guarantee: a node more, with any edges, changes the number of kept edges by at most `limit`, and the kept degrees
        of the other nodes by at most `limit` in sum. (The set of kept edges has no such bound.)
    Because: docs/proofs/graphs.md, by chains of replacements.
    """
    if limit < 1:
        raise ValueError("a limit on edges must be at least 1")
    kept = _kept_edges(graph, limit)
    if kept is None:
        return graph
    return ExactGraph(
        graph.exact_from[kept], graph.exact_to[kept], exact_nodes=graph.exact_nodes, directed=graph.directed
    )


def _kept_edges(graph: ExactGraph, limit: int) -> NDArray[np.bool_] | None:
    """Which edges are kept; None for all.

    Only ends with more than `limit` edges matter, and edges with such an end. In rounds: an edge is kept if there is
    room at both ends even where all earlier open ones are kept, and dropped if an end is full of earlier kept ones.
    The first open edge is always decided.
    """
    exact_degrees = np.bincount(graph.exact_from, minlength=graph.exact_nodes)
    exact_degrees += np.bincount(graph.exact_to, minlength=graph.exact_nodes)
    crowded = exact_degrees > limit
    if not crowded.any():
        return None
    kept = np.ones(graph.exact_from.size, dtype=np.bool_)
    open_ = _OpenEnds(graph, crowded, limit)
    rounds = 0
    while open_.edges.size > _FEW and rounds < _MOST_ROUNDS:
        kept[open_.decide()] = False
        rounds += 1
    kept[open_.decide_in_order()] = False
    return kept


class _OpenEnds:
    """The crowded ends of edges that are not decided yet, sorted by node and then by the order of edges."""

    def __init__(self, graph: ExactGraph, crowded: NDArray[np.bool_], limit: int) -> None:
        self.limit = limit
        edges = np.concatenate([np.flatnonzero(crowded[end]) for end in (graph.exact_from, graph.exact_to)])
        nodes = np.concatenate([end[crowded[end]] for end in (graph.exact_from, graph.exact_to)])
        count = graph.exact_from.size
        # One sort of whole numbers is several times faster than one by two keys; nodes times edges stay below 2^63.
        places = nodes * count
        places += edges
        places.sort()
        self.nodes, self.edges = np.divmod(places, count)
        #: How many edges before it are kept at its node.
        self.before: NDArray[np.int64] = np.zeros(places.size, dtype=np.int64)
        #: Marks of edges; all are False between rounds.
        self._mark: NDArray[np.bool_] = np.zeros(count, dtype=np.bool_)

    def decide(self) -> NDArray[np.int64]:
        """Decide what can be now. Those that are dropped."""
        starts = np.flatnonzero(np.diff(self.nodes, prepend=-1))
        counts = np.diff(starts, append=self.nodes.size)
        dropped = self.edges[self.before >= self.limit]
        gone = self._touches(dropped)
        earlier = np.arange(self.nodes.size) - np.repeat(starts, counts)  # open ones before it at its node
        taken = ~self._touches(self.edges[self.before + earlier >= self.limit])
        earlier = np.cumsum(taken) - taken
        self.before += earlier - np.repeat(earlier[starts], counts)
        still = ~(taken | gone)
        self.nodes, self.edges, self.before = self.nodes[still], self.edges[still], self.before[still]
        return dropped

    def decide_in_order(self) -> NDArray[np.int64]:
        """Decide all that is left, one by one. Those that are dropped."""
        ends: dict[int, list[tuple[int, int]]] = {}
        for edge, node, before in zip(self.edges.tolist(), self.nodes.tolist(), self.before.tolist(), strict=True):
            ends.setdefault(edge, []).append((node, before))
        taken = dict.fromkeys(self.nodes.tolist(), 0)  # beside those that `before` counts
        dropped = []
        for edge in sorted(ends):
            if all(before + taken[node] < self.limit for node, before in ends[edge]):
                for node, _ in ends[edge]:
                    taken[node] += 1
            else:
                dropped.append(edge)
        return np.array(dropped, dtype=np.int64)

    def _touches(self, edges: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which of the ends belong to one of these edges."""
        self._mark[edges] = True
        touched: NDArray[np.bool_] = self._mark[self.edges]
        self._mark[edges] = False
        return touched
