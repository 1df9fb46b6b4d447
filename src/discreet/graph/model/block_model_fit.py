"""From noisy numbers to one network that they could all be of: nobody below zero, degrees that add up to the edges.

Post-processing: pure, free, and the same every time.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from discreet.graph.graph_estimates import nearest_falling
from discreet.graph.mixing_matrix import as_square
from discreet.graph.model.network_measurements import MOST_EDGES, MOST_NODES, Floats, NetworkMeasurements
from discreet.inference.nearest_counts import norm_sub

Integers = NDArray[np.int64]

#: All nodes have no edges or more: among logarithms of degrees, where no 0 is, that stands here.
_BEGIN = 0.5

#: No share of nodes is below this where logarithms are taken.
_LEAST = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FittedNetwork:
    """A network in numbers. `edges` has every pair of blocks once: its upper triangle, the diagonal included.

    at_least: for each block (row) and threshold how many nodes have so many edges. sizes: the nodes of each block.
    expected: what a measurement without noise would have seen, under the names of `NetworkMeasurements`.
    """

    thresholds: tuple[int, ...]
    sizes: Integers
    edges: Integers
    at_least: Floats
    expected: dict[str, Floats]

    @property
    def nodes(self) -> int:
        return int(self.sizes.sum())

    @property
    def stubs(self) -> Integers:
        """How many ends of edges each block has."""
        stub_counts: Integers = self.edges.sum(axis=0) + self.edges.sum(axis=1)
        return stub_counts


def fit_network(measured: NetworkMeasurements) -> FittedNetwork:
    """The network nearest to noisy numbers, or near it.

    The sum of degrees is that of the edges: measured on its own it would be a sum over all thresholds of noisy numbers,
    each as often as the next threshold is away, whose noise is larger by orders of magnitude. So by the weights of
    their noise the edges say how many ends there are, and the degrees how they are spread.
    """
    curve = _curve(measured)
    sizes = _sizes(measured, curve)
    curve = np.minimum(curve, sizes.sum())
    edges = _edges(measured, sizes)
    stubs = edges.sum(axis=0) + edges.sum(axis=1)
    if not curve[0] and stubs.sum():
        curve = _alike(measured.thresholds, sizes, stubs)
    at_least = curve[None, :] if measured.blocks == 1 else _of_blocks(measured, curve, sizes, stubs)
    expected = {"degrees": curve, "edges": edges[np.triu_indices(len(sizes))].astype(np.float64)}
    if measured.by_block is not None:
        expected["by_block"] = at_least[:, _places(measured)].ravel()
    if measured.persons is not None:
        expected["persons"] = sizes.astype(np.float64)
    return FittedNetwork(thresholds=measured.thresholds, sizes=sizes, edges=edges, at_least=at_least, expected=expected)


def simulate_measurements(
    measured: NetworkMeasurements, network: FittedNetwork, generator: np.random.Generator
) -> NetworkMeasurements:
    """What might have been measured of a network as it was fitted: the same numbers, with noise drawn once more."""
    drawn = {name: getattr(measured, name).anew(values, generator) for name, values in network.expected.items()}
    return replace(measured, **drawn)


def _curve(measured: NetworkMeasurements) -> Floats:
    """How many nodes have at least so many edges: falling, and 0 from where it is less than its noise.

    A few nodes that are nothing but noise would have as many edges as the last threshold says, which is all of them.
    """
    curve = nearest_falling(measured.degrees.floats)
    return np.where(curve < max(measured.degrees.sd, 0.5), 0.0, curve)


def _sizes(measured: NetworkMeasurements, curve: Floats) -> Integers:
    """The nodes of each block: public, noisy, or those that have an edge."""
    if measured.sizes is not None:
        return np.array(measured.sizes, dtype=np.int64)
    node_count = curve[0] if measured.persons is None else max(curve[0], measured.persons.floats[0])
    return np.array([round(min(max(node_count, 0.0), MOST_NODES))], dtype=np.int64)


def _edges(measured: NetworkMeasurements, sizes: Integers) -> Integers:
    """The edges between blocks: none below 0, their sum kept, and no more than there are pairs of nodes."""
    noisy = measured.edges.floats
    nearest = np.rint(norm_sub(noisy, float(np.clip(noisy.sum(), 0.0, MOST_EDGES))))
    pairs = np.outer(sizes, sizes) - np.diag(sizes * (sizes + 1) // 2)
    square = as_square(nearest.astype(np.int64), len(sizes), directed=False)
    return np.triu(np.minimum(square, pairs))


def _alike(thresholds: tuple[int, ...], sizes: Integers, stubs: Integers) -> Floats:
    """Degrees of which nothing is known but their sum: everybody has the mean, or one."""
    nodes = max(1, int(sizes.sum()))
    mean = stubs.sum() / nodes
    return np.where(np.array(thresholds) <= max(1.0, mean), min(float(nodes), float(stubs.sum())), 0.0)


def _places(measured: NetworkMeasurements) -> Integers:
    """Where the thresholds of blocks lie among all."""
    return np.searchsorted(measured.thresholds, measured.coarse)


def _of_blocks(measured: NetworkMeasurements, curve: Floats, sizes: Integers, stubs: Integers) -> Floats:
    """The curve of each block: the common one, stretched to the block's mean degree, and bent to its own numbers.

    Its own numbers are noisy and the common curve is not its own: each is believed as much as the noise, and the
    distance of blocks from the common curve, say (empirical Bayes).
    """
    assert measured.by_block is not None
    usual = _stretched(measured.thresholds, curve, sizes, stubs)
    places = _places(measured)
    noisy, variance = measured.by_block.floats.reshape(len(sizes), -1), max(measured.by_block.sd**2, _LEAST)
    nodes = np.maximum(sizes, 1)[:, None]
    own = (((noisy - usual[:, places]) ** 2 - variance) / nodes**2).mean(axis=0).clip(0.0) * nodes**2
    believed = usual[:, places] + own / (own + variance) * (noisy - usual[:, places])
    bent = np.clip(believed, 0.0, sizes[:, None]) / np.maximum(usual[:, places], _LEAST)
    logs = np.log(np.array(measured.thresholds, dtype=np.float64))
    shape = np.array([np.interp(logs, logs[places], row) for row in bent])
    return np.array(
        [nearest_falling(np.minimum(row, size)) for row, size in zip(usual * shape, sizes.tolist(), strict=True)]
    )


def _stretched(thresholds: tuple[int, ...], curve: Floats, sizes: Integers, stubs: Integers) -> Floats:
    """The common curve for each block, degrees multiplied by how its mean degree differs from that of all."""
    nodes, total = max(1.0, float(sizes.sum())), max(1.0, float(stubs.sum()))
    logs = np.log(np.array([_BEGIN, *thresholds]))
    heights = np.log(np.maximum(np.array([nodes, *curve]) / nodes, _LEAST))
    curves = np.zeros((len(sizes), len(thresholds)))
    for block, (size, ends) in enumerate(zip(sizes.tolist(), stubs.tolist(), strict=True)):
        if size and ends:
            ratio = (ends / size) / (total / nodes)
            share = np.exp(np.interp(logs[1:] - np.log(ratio), logs, heights))
            curves[block] = size * np.where(share > 2 * _LEAST, share, 0.0)
    return curves
