"""A large network, made up: power-law degrees, towns that keep to themselves, and some who know the friends of friends.

Always the same for a size. Seeded randomness belongs here and nowhere near a private path: nobody is in it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from discreet.engines.network.distinct_numbers import distinct

TOWNS = 50
#: The share of edges that stay in a town, and of those that close a triangle.
LOCAL, CLOSING = 0.7, 0.1
#: Nobody is expected to have more edges than this many times the average.
_MOST = 250.0
_SEED = 20261116

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Large:
    """Parquet files: `edges` (from, to: each pair once) and `nodes` (id, town)."""

    edges: Path
    nodes: Path
    number_of_nodes: int
    number_of_edges: int


def make(folder: Path, *, nodes: int, edges: int) -> Large:
    """Write a network of so many nodes and edges."""
    draw = np.random.default_rng(_SEED)
    town = np.sort(draw.integers(TOWNS, size=nodes))
    weights = np.minimum(draw.pareto(1.5, nodes) + 0.3, _MOST)
    pairs = np.zeros(0, dtype=np.int64)
    while len(pairs) < edges:
        wanted = round((edges - len(pairs)) * 1.1) + 1000
        first, second = _drawn(weights, town, wanted, draw)
        first, second = _closed(first, second, draw)
        low, high = np.minimum(first, second), np.maximum(first, second)
        pairs = distinct(np.concatenate([pairs, (low * nodes + high)[low != high]]))
    pairs = draw.permutation(pairs)[:edges]
    first, second = np.divmod(pairs, nodes)
    swap = draw.random(edges) < 0.5
    names = draw.permutation(nodes)  # a number says nothing of a town
    large = Large(
        edges=folder / "edges.parquet", nodes=folder / "nodes.parquet", number_of_nodes=nodes, number_of_edges=edges
    )
    ends = {"from": names[np.where(swap, second, first)], "to": names[np.where(swap, first, second)]}
    pq.write_table(pa.table(ends), large.edges)
    labels = pa.array([f"town_{number:02d}" for number in range(TOWNS)])
    pq.write_table(pa.table({"id": names, "town": labels.take(pa.array(town))}), large.nodes)
    return large


def _drawn(
    weights: NDArray[np.float64], town: Integers, count: int, draw: np.random.Generator
) -> tuple[Integers, Integers]:
    """Pairs by weight, most of them within a town."""
    ends = np.concatenate([[0.0], np.cumsum(weights)])
    first = _at(ends, draw.random(count) * ends[-1])
    starts = ends[np.searchsorted(town, np.arange(TOWNS + 1))]
    low, high = starts[town[first]], starts[town[first] + 1]
    local = draw.random(count) < LOCAL
    low, high = np.where(local, low, 0.0), np.where(local, high, ends[-1])
    return first, _at(ends, low + draw.random(count) * (high - low))


def _at(ends: NDArray[np.float64], points: NDArray[np.float64]) -> Integers:
    found: Integers = np.searchsorted(ends, points, side="right") - 1
    return found.clip(0, len(ends) - 2)


def _closed(first: Integers, second: Integers, draw: np.random.Generator) -> tuple[Integers, Integers]:
    """Some pairs more, each between two who are paired with the same one."""
    count = round(len(first) * CLOSING)
    order = np.argsort(first, kind="stable")
    hubs, others = first[order], second[order]
    places = np.flatnonzero(hubs[1:] == hubs[:-1])
    picked = draw.choice(places, size=count) if len(places) else places
    return np.concatenate([first, others[picked]]), np.concatenate([second, others[picked + 1]])
