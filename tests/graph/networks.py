"""Networks as numbers, for tests of models: exact graphs, and what is measured of them under noise of any size."""

from fractions import Fraction

import numpy as np

from discreet.engines.network.exact_graph import ExactGraph
from discreet.graph.graph_shape import thresholds
from discreet.graph.graph_statistics import AtLeast, Edges, Mixing
from discreet.graph.model.graph_model import GraphModel, GraphModelCard
from discreet.graph.model.network_measurements import NetworkMeasurements, NoisyNumbers, noise
from discreet.graph.model.recipe import COARSE
from discreet.mechanisms.laplace import DiscreteLaplace

CARD = GraphModelCard(table="friends", version=1, release="r-test", epsilon=Fraction(1), rho=Fraction(1, 2))


def blocky(seed=1, sizes=(60, 30, 10), inside=0.2, outside=0.02):
    """A random network of blocks, as ends and the block of each node."""
    generator = np.random.default_rng(seed)
    codes = np.repeat(np.arange(len(sizes)), sizes)
    one, other = np.triu_indices(len(codes), 1)
    kept = generator.random(len(one)) < np.where(codes[one] == codes[other], inside, outside)
    return one[kept], other[kept], codes


def measured(one, other, codes, *, scale="1/1000", seed=0, blocks=True):
    """What is measured of it. The least scale there is gives no noise at all, nearly always."""
    generator = np.random.default_rng(seed)
    graph = ExactGraph(one.astype(np.int64), other.astype(np.int64), exact_nodes=len(codes))
    law, groups = DiscreteLaplace(scale=Fraction(scale)), int(codes.max()) + 1
    rising = thresholds(len(codes) - 1)
    coarse = tuple(degree for degree in COARSE if degree in rising)

    def noisy(statistic):
        values = statistic.apply(graph) + noise(law, len(statistic.apply(graph)), generator)
        return NoisyNumbers(values=tuple(int(value) for value in values.tolist()), law=law)

    if not blocks or groups == 1:
        return NetworkMeasurements(
            unit="edge",
            thresholds=rising,
            degrees=noisy(AtLeast(thresholds=rising)),
            edges=noisy(Edges()),
            sizes=(len(codes),),
        )
    return NetworkMeasurements(
        unit="edge",
        thresholds=rising,
        degrees=noisy(AtLeast(thresholds=rising)),
        edges=noisy(Mixing(codes=codes, groups=groups)),
        labels=tuple(f"b{group}" for group in range(groups)),
        by="block",
        sizes=tuple(np.bincount(codes).tolist()),
        coarse=coarse,
        by_block=noisy(AtLeast(thresholds=coarse, codes=codes, groups=groups)),
    )


def model(scale="1/1000", **more):
    return GraphModel(card=CARD, measured=measured(*blocky(), scale=scale, **more))
