"""The fast projection is the slow, obvious one, whatever the order; and keeps what it says."""

import time

import numpy as np
import pytest

from discreet.engines.network import projection
from discreet.engines.network.projection import project
from graph.every import edges_of, exact_graph, projected
from tiers import size


def shuffled(edges, rng):
    return [edges[place] for place in rng.permutation(len(edges))]


def random_edges(rng, nodes, chance, *, directed=False):
    found = [(i, j) for i in range(nodes) for j in range(nodes) if (i != j if directed else i < j)]
    return shuffled([edge for edge in found if rng.random() < chance], rng)


@pytest.mark.thin(4)
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize(("few", "rounds"), [(-1, 60), (-1, 2), (3, 60), (2000, 60)])
def test_it_is_the_obvious_one(few, rounds, directed, monkeypatch):
    """Decided in rounds alone, in rounds and then one by one, or one by one alone."""
    monkeypatch.setattr(projection, "_FEW", few)
    monkeypatch.setattr(projection, "_MOST_ROUNDS", rounds)
    rng = np.random.default_rng(few + rounds)
    for _ in range(size(40, 150)):
        nodes, limit = int(rng.integers(2, 25)), int(rng.integers(1, 7))
        edges = random_edges(rng, nodes, rng.random(), directed=directed)
        kept = project(exact_graph(edges, nodes, directed=directed), limit)
        assert edges_of(kept) == projected(edges, limit)
        assert (kept.exact_nodes, kept.directed) == (nodes, directed)


@pytest.mark.thin(1)
@pytest.mark.parametrize("limit", [1, 3, 50])
def test_a_hundred_thousand_edges_with_hubs(limit):
    rng = np.random.default_rng(limit)
    ends = np.sort(np.minimum(rng.zipf(1.5, (130_000, 2)), 20_000) - 1, axis=1)
    ends = rng.permutation(np.unique(ends[ends[:, 0] < ends[:, 1]], axis=0))
    edges = [tuple(edge) for edge in ends.tolist()]
    assert edges_of(project(exact_graph(edges, 20_000), limit)) == projected(edges, limit)


def test_an_order_that_decides_one_edge_a_round_is_still_decided():
    """A path taken from one end: each edge waits for the one before it."""
    path = [(i, i + 1) for i in range(30_000)]
    start = time.process_time()
    kept = project(exact_graph(path, 30_001), 1)
    assert edges_of(kept) == path[::2]
    assert time.process_time() - start < 5


def test_nothing_to_do():
    """Where nobody has too many edges the graph is the same; projecting again changes nothing."""
    graph = exact_graph([(0, 1), (1, 2)], 4)
    assert project(graph, 2) is graph
    assert project(exact_graph([], 0), 1).exact_from.size == 0
    once = project(exact_graph([(0, 1), (0, 2), (0, 3), (2, 3)], 4), 1)
    assert project(once, 1) is once


def test_a_limit_is_one_at_least():
    with pytest.raises(ValueError):
        project(exact_graph([], 0), 0)
