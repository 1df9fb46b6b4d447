"""Graphs from a fitted network: degrees, then ends of edges matched at random between blocks. Ordinary randomness.

Nothing here is private: what is drawn from was noisy before, so that a seed does no harm.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.graph.model.block_model_fit import FittedNetwork

Integers = NDArray[np.int64]

#: Loops and doubles are matched anew so often, or until they are so few of all edges; these are left out.
_ROUNDS = 40
_FEW = 3e-4


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SampledGraph:
    """A simple graph that nobody is in: edge i joins nodes ends[0, i] and ends[1, i]. `blocks`: that of each node."""

    ends: Integers
    blocks: Integers

    @property
    def nodes(self) -> int:
        return len(self.blocks)


def sample_graph(network: FittedNetwork, generator: np.random.Generator) -> SampledGraph:
    """One graph. Nodes of a block stand together, in no order."""
    blocks = np.repeat(np.arange(len(network.sizes)), network.sizes)
    stubs = np.concatenate([_stubs(network, block, generator) for block in range(len(network.sizes))])
    one, other = np.triu_indices(len(network.sizes))
    pairs = np.repeat(np.arange(len(one)), network.edges[one, other])
    # A place for an end in each pair of blocks, and the ends of each block, shuffled, in the order of its places.
    places = np.concatenate([one[pairs], other[pairs]])
    ends = np.empty(len(places), dtype=np.int64)
    ends[np.argsort(places)] = stubs
    return SampledGraph(ends=_simple(ends.reshape(2, -1), pairs, network.nodes, generator), blocks=blocks)


def _stubs(network: FittedNetwork, block: int, generator: np.random.Generator) -> Integers:
    """The nodes of a block, each as often as it has edges, shuffled."""
    size, stub_count = int(network.sizes[block]), int(network.stubs[block])
    if not size or not stub_count:
        return np.zeros(0, dtype=np.int64)
    first = int(network.sizes[:block].sum())
    degrees = _summing(_degrees(network, block, generator), stub_count, network.nodes, generator)
    return first + generator.permutation(np.repeat(generator.permutation(size), degrees))


def _degrees(network: FittedNetwork, block: int, generator: np.random.Generator) -> Integers:
    """The degrees of a block's nodes, highest first, spread evenly along its curve; between thresholds by a power."""
    size, curve = int(network.sizes[block]), network.at_least[block]
    ranks = np.arange(size) + generator.random()
    steps = np.array([*network.thresholds, network.thresholds[-1] + 1], dtype=np.float64)
    place = np.searchsorted(-curve, -ranks, side="left") - 1  # the last threshold that at least so many nodes reach
    has = place >= 0
    at = place[has]
    high, low = curve[at], np.append(curve, 0.0)[at + 1]
    below = np.log(np.maximum(high, 1e-9) / np.maximum(ranks[has], 1e-9))
    share = below / np.maximum(np.log(np.maximum(high, 1e-9) / np.maximum(low, 0.5)), 1e-9)
    between = steps[at] * (steps[at + 1] / steps[at]) ** np.clip(share, 0.0, 1.0)
    degrees = np.zeros(size, dtype=np.int64)
    degrees[has] = np.minimum(np.floor(between), steps[at + 1] - 1).astype(np.int64)
    return degrees


def _summing(degrees: Integers, degree_sum: int, nodes: int, generator: np.random.Generator) -> Integers:
    """Degrees with a given sum: edges are added, or taken away, in proportion to those a node has. Nobody loses all."""
    adjusted = np.minimum(degrees, max(1, nodes - 1))
    if not adjusted.any():
        adjusted = np.ones_like(adjusted)
    while (over := int(adjusted.sum()) - degree_sum) > 0:
        spare = adjusted - 1 if (adjusted > 1).any() else adjusted
        ends = np.repeat(np.arange(len(adjusted)), np.maximum(spare, 0))
        gone = generator.choice(ends, size=min(over, len(ends)), replace=False)
        adjusted = adjusted - np.bincount(gone, minlength=len(adjusted))
    if over:
        ends = np.repeat(np.arange(len(adjusted)), adjusted)
        adjusted = adjusted + np.bincount(generator.choice(ends, size=-over), minlength=len(adjusted))
    return adjusted


def _simple(ends: Integers, pairs: Integers, nodes: int, generator: np.random.Generator) -> Integers:
    """The same edges without loops and doubles: those, and as many others of their pair of blocks, change ends.

    Degrees and the numbers between blocks stay as they are, but for what cannot be mended.
    """
    starts = np.searchsorted(pairs, pairs, side="left")
    counts = np.searchsorted(pairs, pairs, side="right") - starts
    for _ in range(_ROUNDS):
        wrong = _wrong(ends, nodes)
        if wrong.size <= _FEW * len(pairs):
            break
        others = starts[wrong] + (generator.random(wrong.size) * counts[wrong]).astype(np.int64)
        moved = np.union1d(wrong, others)  # sorted, and so by pairs
        ends[1, moved] = ends[1, moved[np.lexsort((generator.random(moved.size), pairs[moved]))]]
    return np.delete(ends, _wrong(ends, nodes), axis=1)


def _wrong(ends: Integers, nodes: int) -> Integers:
    """Edges from a node to itself, and all but one of those that join the same two."""
    keys = ends.min(axis=0) * nodes + ends.max(axis=0)
    ordered = np.sort(keys)
    doubled = np.flatnonzero(np.isin(keys, ordered[1:][ordered[1:] == ordered[:-1]]))
    order = doubled[np.argsort(keys[doubled], kind="stable")]
    doubles = order[1:][keys[order][1:] == keys[order][:-1]]
    return np.union1d(doubles, np.flatnonzero(ends[0] == ends[1]))
