"""What a model of a network is made of: noisy whole numbers with the laws of their noise, and public facts.

All else, the fit, sampled graphs and rumours, is post-processing of this, and free.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from discreet.graph.graph_statistics import Unit
from discreet.graph.public_nodes import MOST_GROUPS
from discreet.kernel.measurement import Law
from discreet.mechanisms.laplace import DiscreteLaplace
from discreet.schema.column import Label

Floats = NDArray[np.float64]

#: A model of more nodes or edges than this would not fit into memory when it is sampled.
MOST_NODES = 10**7
MOST_EDGES = 5 * 10**7

#: Noisy numbers beyond this are none of ours: floats count on from here in steps of more than one.
_MOST_NUMBER = 2**53


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisyNumbers:
    """Noisy numbers, each with its own draw of one law."""

    values: tuple[int, ...]
    law: Law

    def __post_init__(self) -> None:
        if any(abs(value) > _MOST_NUMBER for value in self.values):
            raise ValueError("a noisy number is too large")

    @property
    def sd(self) -> float:
        """The standard deviation of the noise."""
        return sqrt(self.law.variance())

    @property
    def floats(self) -> Floats:
        return np.array(self.values, dtype=np.float64)

    def anew(self, expected: Floats, generator: np.random.Generator) -> NoisyNumbers:
        """What would have been measured, by other noise, of a network with these numbers. For simulations alone."""
        drawn = np.rint(expected) + noise(self.law, len(self.values), generator)
        return NoisyNumbers(values=tuple(int(value) for value in drawn.tolist()), law=self.law)


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkMeasurements:
    """The noisy numbers of a network. Blocks are the groups of nodes by a public attribute, else one of all nodes.

    degrees: for each of `thresholds` the nodes with at least so many edges. edges: those between each two blocks, in
    the order of `Mixing.pairs`. by_block: as `degrees`, block after block, at the few thresholds `coarse`; none where
    there is one block. persons: a noisy number of nodes; sizes: the public one of each block; where there is neither,
    nodes are those with an edge. limit: how many edges of a node were counted, at most.
    """

    unit: Unit
    thresholds: tuple[int, ...]
    degrees: NoisyNumbers
    edges: NoisyNumbers
    labels: tuple[Label, ...] = ()
    by: str | None = None
    sizes: tuple[int, ...] | None = None
    coarse: tuple[int, ...] = ()
    by_block: NoisyNumbers | None = None
    persons: NoisyNumbers | None = None
    limit: int | None = None

    def __post_init__(self) -> None:
        _check_rising(self.thresholds)
        if len(self.degrees.values) != len(self.thresholds):
            raise ValueError("the number of noisy counts does not match the number of degrees")
        if (self.by is None) != (not self.labels) or len(self.labels) > MOST_GROUPS:
            raise ValueError("blocks and their attribute do not match, or there are too many blocks")
        if len(self.edges.values) != self.blocks * (self.blocks + 1) // 2:
            raise ValueError("the number of noisy counts does not match the number of pairs of blocks")
        self._check_sizes()
        if self.persons is not None and len(self.persons.values) != 1:
            raise ValueError("there must be exactly one noisy number of persons")
        if (self.by_block is None) != (self.blocks == 1):
            raise ValueError("degrees by block need several blocks")
        if self.by_block is not None:
            _check_rising(self.coarse)
            if not set(self.coarse) <= set(self.thresholds):
                raise ValueError("a threshold of the degrees by block is not a threshold of the degrees")
            if len(self.by_block.values) != self.blocks * len(self.coarse):
                raise ValueError("the number of noisy counts does not match the blocks and degrees")
        elif self.coarse:
            raise ValueError("there are degrees by block but no blocks")
        if (self.limit is not None) != (self.unit == "node"):
            raise ValueError("a limit needs node privacy")

    def _check_sizes(self) -> None:
        if self.sizes is None:
            if self.labels:
                raise ValueError("blocks must have public sizes")
            return
        if self.persons is not None or len(self.sizes) != self.blocks:
            raise ValueError("there must be one size for each block, either public or noisy")
        if min(self.sizes) < 0 or sum(self.sizes) > MOST_NODES:
            raise ValueError(f"a size is negative, or there are more than {MOST_NODES:,} nodes")

    @property
    def blocks(self) -> int:
        return len(self.labels) or 1


def noise(law: Law, size: int, generator: np.random.Generator) -> Floats:
    """Noise of a law by ordinary randomness: for simulations, where it protects nobody."""
    if isinstance(law, DiscreteLaplace):
        chance = -np.expm1(-1 / float(law.scale))
        one, other = (generator.geometric(chance, size=size) for _ in range(2))
        return (one - other).astype(np.float64)
    return np.rint(generator.normal(0.0, float(law.sigma2) ** 0.5, size=size))


def _check_rising(numbers: tuple[int, ...]) -> None:
    steps = (0, *numbers)
    if not numbers or any(low >= high for low, high in pairwise(steps)):
        raise ValueError("the degrees do not increase from 1")
    if numbers[-1] > _MOST_NUMBER:
        raise ValueError("a degree is too large")
