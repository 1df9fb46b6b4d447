"""A network like those of people, by a generator of our own: communities of uneven sizes, degrees by a power law, and
friends of friends who become friends. It is not the model that is fitted: triangles are no part of that.

`network(nodes, seed)` gives both ends of each edge and the community of each node, which is public in the benchmark.
"""

from __future__ import annotations

import numpy as np

#: Communities, and degrees before friends of friends, are spread by powers between these.
SMALLEST, LARGEST = 200, 8_000
FEWEST, MOST = 2.5, 300

#: The share of ends that leave their community, and of edges that close a triangle.
OUTSIDE, CLOSING = 0.25, 0.4


def network(nodes: int = 100_000, seed: int = 1):
    """The edges, each once, as two arrays of nodes; and the community of each node."""
    generator = np.random.default_rng(seed)
    communities = np.repeat(np.arange(nodes), _sizes(nodes, generator))[:nodes]
    degrees = np.minimum(FEWEST * (1 - generator.random(nodes)) ** (-1 / 1.9), MOST).astype(np.int64)
    outside = generator.binomial(degrees, OUTSIDE)
    parts = [_matched(np.repeat(np.arange(nodes), outside), generator)]
    for community in range(communities[-1] + 1):
        own = np.flatnonzero(communities == community)
        parts.append(_matched(np.repeat(own, (degrees - outside)[own]), generator))
    one, other = _simple(*(np.concatenate(ends) for ends in zip(*parts, strict=True)), nodes)
    wanted = int(len(one) * CLOSING / (1 - CLOSING))
    return *_closed(one, other, communities, wanted, generator), communities


def _sizes(nodes: int, generator) -> np.ndarray:
    """Sizes of communities whose sum is the number of nodes: few large ones, many small ones; then zeros."""
    drawn = (SMALLEST**-0.5 + generator.random(nodes // SMALLEST + 1) * (LARGEST**-0.5 - SMALLEST**-0.5)) ** -2
    ends = np.minimum(np.cumsum(drawn.astype(np.int64)), nodes)
    sizes = np.zeros(nodes, dtype=np.int64)
    sizes[: len(ends)] = np.diff(ends, prepend=0)
    return sizes


def _matched(stubs, generator):
    half = len(stubs) // 2
    shuffled = generator.permutation(stubs)
    return shuffled[:half], shuffled[half : 2 * half]


def _simple(one, other, nodes: int):
    keys = np.unique((np.minimum(one, other) * nodes + np.maximum(one, other))[one != other])
    return keys // nodes, keys % nodes


def _closed(one, other, communities, wanted: int, generator):
    """Two neighbours of somebody, of one community, become neighbours; a few at a time, so that these close more."""
    nodes = len(communities)
    while wanted > 0:
        here, there = np.concatenate([one, other]), np.concatenate([other, one])
        there = there[np.argsort(here, kind="stable")]
        degrees = np.bincount(here, minlength=nodes)
        starts = np.cumsum(degrees) - degrees
        centres = generator.integers(0, nodes, 4 * wanted)
        centres = centres[degrees[centres] > 1]
        first, second = (
            there[starts[centres] + (generator.random(len(centres)) * degrees[centres]).astype(np.int64)]
            for _ in range(2)
        )
        fit = (first != second) & (communities[first] == communities[second])
        first, second = first[fit], second[fit]
        keys = np.setdiff1d(np.minimum(first, second) * nodes + np.maximum(first, second), one * nodes + other)
        keys = generator.permutation(keys)[: min(wanted, max(len(one) // 20, 1))]
        wanted -= len(keys)
        one, other = _simple(np.concatenate([one, keys // nodes]), np.concatenate([other, keys % nodes]), nodes)
    return one, other
