"""Triangles, wedges and how far they move: against powers of a dense matrix, and graphs that are known by heart."""

import math
import time

import numpy as np
import pytest

from discreet.engines.network import triangles as counting
from discreet.engines.network.exact_graph import ExactGraph
from discreet.engines.network.triangles import largest_common, largest_degrees, triangles, wedges
from graph.every import exact_graph, graphs, pairs
from tiers import size


def dense(edges, nodes):
    """The four numbers, from the matrix of the graph."""
    matrix = np.zeros((nodes, nodes), dtype=np.int64)
    for one, other in edges:
        matrix[one, other] = matrix[other, one] = 1
    square, degrees = matrix @ matrix, matrix.sum(axis=0)
    common = square - np.diag(np.diag(square))
    return (
        int(np.trace(square @ matrix)) // 6,
        int((degrees * (degrees - 1)).sum()) // 2,
        int(common.max(initial=0)),
        int(np.sort(degrees)[-2:].sum()) if nodes > 1 else 0,
    )


def counted(graph):
    return triangles(graph), wedges(graph), largest_common(graph), largest_degrees(graph)


@pytest.mark.parametrize("nodes", [1, 2, 3, 4, 5])
def test_every_graph(nodes):
    for edges in graphs(nodes):
        assert counted(exact_graph(edges, nodes)) == dense(edges, nodes)


@pytest.mark.thin(4)
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("block", [1, 7, 200, 1 << 22])
def test_random_graphs_in_blocks(block, directed, monkeypatch):
    """Also directed: an edge and the one back are one edge here."""
    monkeypatch.setattr(counting, "_BLOCK", block)
    rng = np.random.default_rng(block)
    for _ in range(size(15, 60)):
        nodes, chance = int(rng.integers(1, 40)), rng.random()
        edges = [edge for edge in pairs(nodes, directed=directed) if rng.random() < chance]
        assert counted(exact_graph(edges, nodes, directed=directed)) == dense(edges, nodes)


def test_graphs_known_by_heart():
    complete = exact_graph(pairs(60), 60)
    assert counted(complete) == (math.comb(60, 3), 60 * math.comb(59, 2), 58, 118)
    halves = exact_graph([(i, 30 + j) for i in range(30) for j in range(20)], 50)
    assert counted(halves) == (0, 30 * math.comb(20, 2) + 20 * math.comb(30, 2), 30, 60)
    star = exact_graph([(0, j) for j in range(1, 1000)], 1000)
    assert counted(star) == (0, math.comb(999, 2), 1, 1000)
    assert counted(exact_graph([], 0)) == (0, 0, 0, 0)
    assert counted(exact_graph([], 5)) == (0, 0, 0, 0)


def test_a_book_among_many_edges():
    """Two nodes of middling degree that share most of their neighbours are found among hubs that share few."""
    hubs = [(hub, 10_000 + 2_000 * hub + i) for hub in range(4) for i in range(2_000)]
    book = [(page, 9_000 + i) for page in (7, 8) for i in range(300)]
    graph = exact_graph(hubs + book, 20_000)
    assert largest_common(graph) == 300
    assert triangles(graph) == 0


@pytest.mark.deep
def test_a_hundred_thousand_nodes_take_seconds():
    rng = np.random.default_rng(1)
    weight = np.minimum(rng.pareto(1.5, 100_000) + 1, 500).cumsum()
    ends = np.sort(np.searchsorted(weight / weight[-1], rng.random((400_000, 2))), axis=1)
    ends = np.unique(ends[ends[:, 0] < ends[:, 1]], axis=0)
    start = time.process_time()
    found = counted(exact_graph(ends, 100_000))
    assert time.process_time() - start < 8
    assert 0 < found[0] < found[1]
    assert 0 < found[2] < found[3]


class TestDense:
    """Where nodes have most others for neighbours paths are many, and a matrix is multiplied instead."""

    @staticmethod
    def graph(nodes: int, share: float, *, more: int = 0) -> ExactGraph:
        """Nodes of which each two are linked with such a chance, and, `more` times, one that hangs on one of them."""
        rng = np.random.default_rng(nodes)
        low, high = np.triu_indices(nodes, 1)
        kept = rng.random(low.size) < share
        leaves = nodes + np.arange(more)
        numbers = rng.permutation(nodes + more)
        low, high = np.append(low[kept], leaves % nodes), np.append(high[kept], leaves)
        low, high = numbers[low], numbers[high]
        return ExactGraph(np.minimum(low, high), np.maximum(low, high), exact_nodes=nodes + more)

    @pytest.mark.parametrize("more", [0, size(900, 9000)])
    def test_both_ways_say_the_same(self, more, monkeypatch):
        found = []
        for quick in (300, 0, 10**9):  # as it is; never by a matrix; always
            monkeypatch.setattr(counting, "_PRODUCTS_A_PATH", quick)
            graph = self.graph(220, 0.9, more=more)
            found.append((triangles(graph), largest_common(graph)))
        assert found[0] == found[1] == found[2] and found[0][0] > 10**6

    def test_nearly_complete_networks_are_not_walked_over(self, monkeypatch):
        graph = self.graph(600, 0.99)
        monkeypatch.setattr(counting, "_BLOCK", 1 << 10)
        walked = [0]
        blocks = counting._blocks

        def watched(begin, counts):
            walked[0] += int(counts.sum())
            return blocks(begin, counts)

        monkeypatch.setattr(counting, "_blocks", watched)
        assert triangles(graph) > 3 * 10**7 and largest_common(graph) > 550
        assert walked[0] < 10**6
