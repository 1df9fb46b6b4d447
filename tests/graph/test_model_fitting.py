"""From noisy numbers to a network: true without noise, possible with any, and no hubs made of noise."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from discreet.graph.graph_shape import thresholds
from discreet.graph.model.block_model_fit import fit_network, simulate_measurements
from discreet.graph.model.graph_sampler import sample_graph
from discreet.graph.model.network_measurements import NetworkMeasurements, NoisyNumbers, noise
from discreet.graph.model.recipe import COARSE
from discreet.mechanisms.gaussian import DiscreteGaussian
from discreet.mechanisms.laplace import DiscreteLaplace
from graph.networks import blocky, measured


def test_without_noise_the_numbers_are_the_network():
    one, other, codes = blocky()
    found = fit_network(measured(one, other, codes))
    degrees = np.bincount(np.concatenate([one, other]), minlength=len(codes))
    assert found.sizes.tolist() == [60, 30, 10] and found.nodes == 100
    for block in range(3):
        for place, degree in enumerate(found.thresholds):
            if degree in COARSE:
                assert found.at_least[block, place] == pytest.approx((degrees[codes == block] >= degree).sum(), abs=0.5)
    mixing = np.zeros((3, 3), dtype=int)
    np.add.at(mixing, (codes[one], codes[other]), 1)
    assert np.array_equal(found.edges, mixing)
    assert found.stubs.tolist() == [int(degrees[codes == block].sum()) for block in range(3)]


@pytest.mark.thin(3)
@pytest.mark.parametrize("scale", ["1/2", "5", "100", "10000"])
@pytest.mark.parametrize("blocks", [True, False])
def test_with_any_noise_it_is_a_network(scale, blocks):
    for seed in range(15):
        told = measured(*blocky(seed, sizes=(40, 9, 1)), scale=scale, seed=seed, blocks=blocks)
        found = fit_network(told)
        pairs = np.outer(found.sizes, found.sizes) - np.diag(found.sizes * (found.sizes + 1) // 2)
        assert (found.edges >= 0).all() and (found.edges <= pairs).all()
        assert np.array_equal(found.edges, np.triu(found.edges))
        assert (np.diff(found.at_least, axis=1) <= 1e-9).all()
        assert (found.at_least >= 0).all() and (found.at_least <= found.sizes[:, None] + 1e-9).all()
        graph = sample_graph(found, np.random.default_rng(seed))
        keys = graph.ends.min(axis=0) * found.nodes + graph.ends.max(axis=0)
        assert len(set(keys.tolist())) == graph.ends.shape[1] and (graph.ends[0] != graph.ends[1]).all()


def test_edges_keep_their_sum_though_none_is_below_zero():
    told = measured(*blocky(sizes=(20,) * 8, outside=0.0), scale="20", seed=3)
    found = fit_network(told)
    assert min(told.edges.values) < 0
    assert found.edges.sum() == pytest.approx(sum(told.edges.values), abs=len(told.edges.values) / 2)


def test_noise_makes_no_hubs():
    # Nobody has more than 4 edges, and degrees up to a million are told: noise there is not somebody.
    rising, law = thresholds(2**20), DiscreteLaplace(scale=Fraction(20))
    exact = np.array([{1: 9000, 2: 6000, 3: 4000, 4: 1000}.get(degree, 0) for degree in rising])
    for seed in range(10):
        generator = np.random.default_rng(seed)
        noisy = NoisyNumbers(values=tuple((exact + noise(law, len(rising), generator)).astype(int).tolist()), law=law)
        told = NetworkMeasurements(
            unit="edge", thresholds=rising, degrees=noisy, edges=NoisyNumbers(values=(10_000,), law=law)
        )
        graph = sample_graph(fit_network(told), generator)
        degrees = np.bincount(graph.ends.ravel())
        assert abs(graph.nodes - 9000) < 300 and degrees.max() < 40


def test_blocks_are_believed_as_far_as_their_noise_allows():
    # One block of pairs, one of a crowd: degrees differ; little noise tells them apart, much noise does not.
    one, other, codes = blocky(sizes=(50, 50), inside=0.0, outside=0.0)
    pairs = np.arange(0, 50, 2)
    crowd = np.triu_indices(50, 1)
    one = np.concatenate([one, pairs, 50 + crowd[0][::3]])
    other = np.concatenate([other, pairs + 1, 50 + crowd[1][::3]])
    sharp = fit_network(measured(one, other, codes))
    place = sharp.thresholds.index(3)
    assert sharp.at_least[0, place] < 1 and sharp.at_least[1, place] > 45
    told = measured(one, other, codes)
    junk = replace(told.by_block, values=(0,) * len(told.by_block.values), law=DiscreteLaplace(scale=Fraction(10**6)))
    blurred = fit_network(replace(told, by_block=junk))
    assert blurred.at_least[1, place] > 20  # nothing of that zero is believed


def test_a_network_of_nobody_and_one_of_nothing_but_edges():
    law, rising = DiscreteLaplace(scale=Fraction(50)), thresholds(99)
    none = NoisyNumbers(values=(-40,) * len(rising), law=law)
    told = NetworkMeasurements(unit="edge", thresholds=rising, degrees=none, edges=NoisyNumbers(values=(-3,), law=law))
    assert fit_network(told).nodes == 0 and sample_graph(fit_network(told), np.random.default_rng(0)).ends.shape == (
        2,
        0,
    )
    public = replace(told, sizes=(100,), edges=NoisyNumbers(values=(150,), law=law))
    assert sample_graph(fit_network(public), np.random.default_rng(0)).ends.shape == (2, 150)
    persons = replace(told, persons=NoisyNumbers(values=(70,), law=law))
    assert fit_network(persons).nodes == 70 and fit_network(persons).edges.sum() == 0


@pytest.mark.parametrize("law", [DiscreteLaplace(scale=Fraction(7)), DiscreteGaussian(sigma2=Fraction(98))])
def test_noise_drawn_anew_is_that_of_the_law(law):
    drawn = noise(law, 200_000, np.random.default_rng(5))
    assert drawn.mean() == pytest.approx(0, abs=0.15) and drawn.var() == pytest.approx(law.variance(), rel=0.03)
    assert np.array_equal(drawn, np.rint(drawn))
    told = measured(*blocky(), scale="7")
    found = fit_network(told)
    moved = [
        simulate_measurements(told, found, np.random.default_rng(seed)).edges.floats - found.expected["edges"]
        for seed in range(400)
    ]
    assert np.var(moved) == pytest.approx(DiscreteLaplace(scale=Fraction(7)).variance(), rel=0.3)
    again = simulate_measurements(told, found, np.random.default_rng(1))
    assert again.by_block.values != told.by_block.values and again.sizes == told.sizes


@pytest.mark.parametrize(
    "wrong",
    [
        {"thresholds": ()},
        {"thresholds": (3, 2, 1)},
        {"thresholds": (0, 1, 2)},
        {"labels": ()},
        {"by": None},
        {"sizes": None},
        {"sizes": (1, 2)},
        {"sizes": (-1, 50, 50)},
        {"sizes": (10**7, 1, 1)},
        {"coarse": ()},
        {"coarse": (1, 500)},
        {"by_block": None},
        {"limit": 3},
        {"unit": "node"},
        {"edges": NoisyNumbers(values=(1, 2), law=DiscreteLaplace(scale=Fraction(1)))},
        {"persons": NoisyNumbers(values=(1,), law=DiscreteLaplace(scale=Fraction(1)))},
    ],
)
def test_what_does_not_fit_together_is_no_measurement(wrong):
    with pytest.raises(ValueError):
        replace(measured(*blocky()), **wrong)
    with pytest.raises(ValueError, match="too large"):
        NoisyNumbers(values=(2**60,), law=DiscreteLaplace(scale=Fraction(1)))
