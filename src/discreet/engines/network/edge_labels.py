"""What the rows of a table of edges say of both ends of each edge, and which edges of a node come first.

Guarantee: one row more or less changes the labels of at most one pair of nodes, and moves no other pair in the order.
Because: a pair has labels where all its rows agree on them, and none else. The order of pairs is that of a hash of the
    values of their two nodes: it depends on nothing else, on no label above all.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from discreet.engines.network.exact_graph import EdgeLabels

Numbers = NDArray[np.int64]

#: Odd numbers of a well-known mixing of 64 bits (splitmix64).
_GOLDEN, _MIX_ONE, _MIX_TWO = (np.uint64(each) for each in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))


def label_pairs(first: Numbers, second: Numbers, labels: tuple[Numbers, Numbers], nodes: int) -> tuple[Numbers, ...]:
    """The different pairs in order, and the labels of both their ends; -1 twice where rows are not of one mind.

    `labels` are -1 where a row has none.
    """
    if not first.size:
        return first, second, first.copy(), first.copy()
    many = max(int(each.max()) for each in labels) + 2
    spelled = np.where((labels[0] < 0) | (labels[1] < 0), -1, labels[0] * many + labels[1])
    keys = first * nodes + second
    order = np.argsort(keys, kind="stable")
    keys, spelled = keys[order], spelled[order]
    starts = np.flatnonzero(np.diff(keys, prepend=-1))
    least, most = np.minimum.reduceat(spelled, starts), np.maximum.reduceat(spelled, starts)
    agreed = (least == most) & (least >= 0)
    one, other = (np.where(agreed, part, -1) for part in np.divmod(least, many))
    first, second = np.divmod(keys[starts], nodes)
    return first, second, one, other


def edge_labels(
    first: Numbers, second: Numbers, one: Numbers, other: Numbers, hashes: NDArray[np.uint64]
) -> EdgeLabels:
    """The labels of edges, with their places at either end: how many edges of that node come before.

    Edges with equal hashes stand in the order of their nodes, which is that of the nodes' values.
    """
    low, high = np.minimum(hashes[first], hashes[second]), np.maximum(hashes[first], hashes[second])
    keys = _mixed(low * _GOLDEN + high)
    order = np.lexsort((second, first, keys))
    ends = np.concatenate([first[order], second[order]])
    rank = np.concatenate([np.arange(order.size)] * 2)
    by_node = np.lexsort((rank, ends))
    sorted_ends = ends[by_node]
    begins = np.flatnonzero(np.diff(sorted_ends, prepend=-1))
    counts = np.diff(begins, append=sorted_ends.size)
    places = np.empty(ends.size, dtype=np.int64)
    places[by_node] = np.arange(ends.size) - np.repeat(begins, counts)
    later = np.empty(order.size, dtype=np.int64)
    later[order] = np.maximum(places[: order.size], places[order.size :])
    return EdgeLabels(one, other, later)


def node_hashes(values: Iterable[object]) -> NDArray[np.uint64]:
    """A hash of each node's value, the same in every table."""
    hashed = [hashlib.blake2b(str(value).encode("utf-8", "surrogatepass"), digest_size=8).digest() for value in values]
    return np.frombuffer(b"".join(hashed), dtype="<u8").astype(np.uint64)


def _mixed(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    numbers = (numbers ^ (numbers >> np.uint64(30))) * _MIX_ONE
    numbers = (numbers ^ (numbers >> np.uint64(27))) * _MIX_TWO
    return numbers ^ (numbers >> np.uint64(31))
