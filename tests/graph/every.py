"""Every small graph, and slow, obvious twins of what is fast in src."""

from __future__ import annotations

import itertools
from functools import cache

import numpy as np

from discreet.engines.network.exact_graph import ExactGraph


def exact_graph(edges, nodes, *, directed=False):
    """A graph of these edges, in this order."""
    ends = np.array(edges, dtype=np.int64).reshape(-1, 2)
    return ExactGraph(ends[:, 0].copy(), ends[:, 1].copy(), exact_nodes=nodes, directed=directed)


def edges_of(graph):
    return list(zip(graph.exact_from.tolist(), graph.exact_to.tolist(), strict=True))


def pairs(nodes, *, directed=False):
    return list((itertools.permutations if directed else itertools.combinations)(range(nodes), 2))


def graphs(nodes, *, directed=False):
    """Every graph on numbered nodes, as a list of edges."""
    all_pairs = pairs(nodes, directed=directed)
    for mask in range(1 << len(all_pairs)):
        yield [pair for place, pair in enumerate(all_pairs) if mask >> place & 1]


def shapes(nodes):
    """One graph of each shape: every graph is one of these with its nodes numbered in another way."""
    return coloured_shapes((0,) * nodes)


@cache
def coloured_shapes(colours):
    """One graph of each shape whose nodes have these colours: every other is one of these with nodes of the same colour
    exchanged.
    """
    nodes, all_pairs = len(colours), pairs(len(colours))
    place = {pair: number for number, pair in enumerate(all_pairs)}
    moved = np.array(
        [
            [1 << place[tuple(sorted((order[one], order[other])))] for one, other in all_pairs]
            for order in itertools.permutations(range(nodes))
            if all(colours[order[node]] == colours[node] for node in range(nodes))
        ]
    ).reshape(-1, len(all_pairs))
    seen = np.zeros(1 << len(all_pairs), dtype=bool)
    found = []
    for mask in range(seen.size):
        if not seen[mask]:
            here = [number for number in range(len(all_pairs)) if mask >> number & 1]
            seen[moved[:, here].sum(axis=1)] = True
            found.append([all_pairs[number] for number in here])
    return found


def without(edges, node):
    """The same edges in the same order, but those of a node."""
    return [edge for edge in edges if node not in edge]


def projected(edges, limit):
    """The projection, as it is written in the paper."""
    degree, kept = {}, []
    for one, other in edges:
        if degree.get(one, 0) < limit and degree.get(other, 0) < limit:
            degree[one], degree[other] = degree.get(one, 0) + 1, degree.get(other, 0) + 1
            kept.append((one, other))
    return kept


def at_least(edges, limit, nodes):
    """For k = 1 .. limit, how many nodes have k edges or more."""
    degree = np.bincount(np.array(edges, dtype=np.int64).ravel(), minlength=nodes)
    return np.array([(degree >= k).sum() for k in range(1, limit + 1)])
