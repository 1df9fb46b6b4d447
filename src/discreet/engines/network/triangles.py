"""Triangles, wedges, and how far one edge can move them: exact, of the graph without directions.

Both counts walk over paths of two edges, in blocks, and avoid most of them: triangles by going from nodes of few
edges to nodes of more, the largest number of common neighbours by leaving out nodes with too few edges to matter.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from discreet.engines import stop_signal
from discreet.engines.network.distinct_numbers import distinct
from discreet.engines.network.exact_graph import ExactGraph

Whole = NDArray[np.int64]

#: Paths that are looked at together.
_BLOCK = 1 << 22
#: The most nodes whose matrix is multiplied at a time, and how many products are as quick as one path.
_MOST_DENSE = 1 << 13
_PRODUCTS_A_PATH = 300
#: Marks of edges: eight places for each, or more, by a multiplicative hash (2^64 over the golden ratio, made odd).
_PLACES_BITS = 3
_ODD = np.uint64(0x9E3779B97F4A7C15)


def triangles(graph: ExactGraph) -> int:
    """The number of triangles.

    Because: with edges led from a node of fewer edges to one of more, each triangle has one node that two of its edges
    leave; and no node is left by more than sqrt(2 m) of m edges. One that the nodes of most edges, the core, have among
    themselves is counted by their matrix, where that is quicker.
    """
    low, high = _edges(graph)
    rank = _ranks(_degrees(graph.exact_nodes, low, high))
    low, high = rank[low], rank[high]
    keys = np.minimum(low, high) * graph.exact_nodes + np.maximum(low, high)
    keys.sort()
    if keys.size == 0:
        return 0
    bits = keys.size.bit_length() + _PLACES_BITS
    marks = np.zeros(1 << bits, dtype=np.bool_)
    marks[_hashed(keys, bits)] = True
    tail, head = np.divmod(keys, graph.exact_nodes)
    ends = np.cumsum(np.bincount(tail, minlength=graph.exact_nodes))
    first = np.arange(1, keys.size + 1)
    paths = ends[tail] - first
    core = _core(tail, paths, graph.exact_nodes)
    outside = int(np.searchsorted(tail, graph.exact_nodes - core))
    triangle_count = _within(tail[outside:], head[outside:], graph.exact_nodes - core, core)
    for edges, others in _blocks(first[:outside], paths[:outside]):
        third = head[edges] * graph.exact_nodes + head[others]
        third = third[marks[_hashed(third, bits)]]
        places = np.minimum(np.searchsorted(keys, third), keys.size - 1)
        triangle_count += int(np.count_nonzero(keys[places] == third))
    return triangle_count


def _core(tail: Whole, paths: Whole, nodes: int) -> int:
    """How many of the last nodes are counted by their matrix: none, or as many as it is made for."""
    core = min(nodes, _MOST_DENSE)
    inside = int(np.searchsorted(tail, nodes - core))
    return core if core**3 < _PRODUCTS_A_PATH * int(paths[inside:].sum()) else 0


def _within(tail: Whole, head: Whole, begin: int, size: int) -> int:
    """The triangles among so many nodes from `begin` on, of these edges. Numbers below 2^24 are exact in a float."""
    if size == 0:
        return 0
    matrix = np.zeros((size, size), dtype=np.float32)
    matrix[tail - begin, head - begin] = 1
    between = (matrix @ matrix)[tail - begin, head - begin]  # nodes that lie between the ends of an edge
    return int(between.sum(dtype=np.float64))


def wedges(graph: ExactGraph) -> int:
    """The number of paths of two edges."""
    exact_degrees = _degrees(graph.exact_nodes, *_edges(graph))
    return int((exact_degrees * (exact_degrees - 1)).sum()) // 2


def largest_degrees(graph: ExactGraph) -> int:
    """The two largest degrees in sum: a bound on how far one edge moves the wedges."""
    exact_degrees = _degrees(graph.exact_nodes, *_edges(graph))
    return int(np.partition(exact_degrees, -2)[-2:].sum()) if exact_degrees.size > 1 else 0


def largest_common(graph: ExactGraph) -> int:
    """The largest number of common neighbours of any two nodes: a bound on how far one edge moves the triangles.

    Because: nodes are taken from those of most edges on, each with all before it. Two nodes have no more common
    neighbours than either has edges; so when a node has no more edges than the best pair so far, all is seen.
    """
    if graph.exact_largest_common is None:
        graph.exact_largest_common = _largest_common(graph)
    return graph.exact_largest_common


def _largest_common(graph: ExactGraph) -> int:
    low, high = _edges(graph)
    exact_degrees = _degrees(graph.exact_nodes, low, high)
    rank = _ranks(-exact_degrees)
    low, high = rank[low], rank[high]
    keys = np.concatenate([low * graph.exact_nodes + high, high * graph.exact_nodes + low])
    keys.sort()
    return _CommonNeighbours(keys, np.sort(exact_degrees)[::-1]).largest() if keys.size else 0


class _CommonNeighbours:
    """Neighbours of each node, sorted, and for each of them where the way back stands. Nodes are numbered by degree."""

    def __init__(self, keys: Whole, ranked: Whole) -> None:
        self.ranked = ranked
        self.head = keys % ranked.size
        self.starts = np.concatenate([[0], np.cumsum(ranked)])
        back = np.empty(keys.size, dtype=np.int64)
        back[np.argsort(self.head, kind="stable")] = np.arange(keys.size)
        #: For the edge from i to w: how many neighbours of w come before i. They begin at starts[w].
        self.before = back - self.starts[self.head]
        self.cost = np.cumsum(self.before)[self.starts[1:] - 1]

    def largest(self) -> int:
        """The largest number of common neighbours."""
        best, node = 0, 1
        while node < (some := int(np.searchsorted(-self.ranked, -best))):  # so many nodes have more edges than `best`
            if self._is_dense(node, some):
                return max(best, self._of_matrix(some))
            stop = int(np.searchsorted(self.cost, self.cost[node - 1] + _BLOCK, side="right"))
            stop = min(max(stop, node + 1), some)
            best = max(best, self._among(node, stop))
            node = stop
        return best

    def _is_dense(self, node: int, some: int) -> bool:
        """Whether it is quicker to multiply the matrix of the first `some` nodes than to walk over the paths left."""
        products = some**2 * self.ranked.size
        return some <= _MOST_DENSE and products < _PRODUCTS_A_PATH * int(self.cost[some - 1] - self.cost[node - 1])

    def _of_matrix(self, some: int) -> int:
        """The largest number that any two of the first `some` nodes have in common.

        Whole numbers below 2^24 are exact in 32 bits of a float; there are fewer nodes than that in each part.
        """
        exact_common = np.zeros((some, some), dtype=np.int64 if self.ranked.size >= 1 << 24 else np.float32)
        tail = np.repeat(np.arange(some), self.ranked[:some])
        head = self.head[: tail.size]
        for begin in range(0, self.ranked.size, _MOST_DENSE):
            stop_signal.check_stop()
            inside = (head >= begin) & (head < begin + _MOST_DENSE)
            matrix = np.zeros((some, _MOST_DENSE), dtype=np.float32)
            matrix[tail[inside], head[inside] - begin] = 1
            exact_common += (matrix @ matrix.T).astype(exact_common.dtype)
        np.fill_diagonal(exact_common, 0)
        return int(exact_common.max())

    def _among(self, node: int, stop: int) -> int:
        """The largest number that a node from `node` on, before `stop`, has in common with one before itself."""
        edges = slice(self.starts[node], self.starts[stop])
        size, begin = self.ranked[node:stop], self.starts[self.head[edges]]
        owner = np.repeat(np.arange(stop - node) * stop, size)
        if stop == node + 1:  # it may have many paths: counted part by part
            counts = np.zeros(stop, dtype=np.int64)
            for _, others in _blocks(begin, self.before[edges]):
                counts += np.bincount(self.head[others], minlength=stop)
            return int(counts.max())
        best = 0
        for own, others in _blocks(begin, self.before[edges]):  # one block, by the choice of `stop`
            best = max(best, _most_frequent(owner[own] + self.head[others], (stop - node) * stop))
        return best


def _most_frequent(values: Whole, limit: int) -> int:
    """How often the most frequent of some whole numbers below a limit is there."""
    if values.size == 0:
        return 0
    if limit <= 4 * values.size:
        return int(np.bincount(values).max())
    values.sort()
    changes = np.flatnonzero(values[1:] != values[:-1])
    return int(np.diff(changes, prepend=-1, append=values.size - 1).max())


def _blocks(begin: Whole, counts: Whole) -> Iterator[tuple[Whole, Whole]]:
    """For each i the numbers from begin[i] on, counts[i] of them, with i beside each; in blocks that end with an i."""
    totals = np.cumsum(counts)
    start, done = 0, 0
    while start < counts.size:
        stop_signal.check_stop()
        stop = max(start + 1, int(np.searchsorted(totals, done + _BLOCK, side="right")))
        some = counts[start:stop]
        own = np.repeat(np.arange(start, stop), some)
        shift = begin[start:stop] - (totals[start:stop] - some - done)
        yield own, np.arange(own.size) + np.repeat(shift, some)
        start, done = stop, int(totals[stop - 1])


def _edges(graph: ExactGraph) -> tuple[Whole, Whole]:
    """The edges without directions, each once."""
    if not graph.directed:
        return graph.exact_from, graph.exact_to
    low, high = np.minimum(graph.exact_from, graph.exact_to), np.maximum(graph.exact_from, graph.exact_to)
    low, high = np.divmod(distinct(low * graph.exact_nodes + high), max(1, graph.exact_nodes))
    return low, high


def _degrees(nodes: int, low: Whole, high: Whole) -> Whole:
    exact_degrees = np.bincount(low, minlength=nodes)
    exact_degrees += np.bincount(high, minlength=nodes)
    return exact_degrees


def _ranks(exact_keys: Whole) -> Whole:
    """The place of each node in a sorted list of these."""
    rank = np.empty(exact_keys.size, dtype=np.int64)
    rank[np.argsort(exact_keys, kind="stable")] = np.arange(exact_keys.size)
    return rank


def _hashed(keys: Whole, bits: int) -> NDArray[np.uint64]:
    """A place among 2^bits for each."""
    return (keys.view(np.uint64) * _ODD) >> np.uint64(64 - bits)
