"""Graphs from a model: the degrees and blocks that were asked for, simple, and the same by the same seed."""

import numpy as np
import pytest

from discreet.graph.model import graph_sampler
from discreet.graph.model.block_model_fit import fit_network
from discreet.graph.model.graph_sampler import sample_graph
from graph.networks import blocky, measured, model


def degrees(graph):
    return np.bincount(graph.ends.ravel(), minlength=graph.nodes)


def test_degrees_and_edges_between_blocks_are_those_of_the_network():
    one, other, codes = blocky(sizes=(300, 150, 50), inside=0.05, outside=0.005)
    found = fit_network(measured(one, other, codes))
    graph = sample_graph(found, np.random.default_rng(1))
    assert graph.nodes == 500 and np.array_equal(graph.blocks, codes)
    mixing = np.zeros((3, 3), dtype=int)
    blocks = np.sort(graph.blocks[graph.ends], axis=0)
    np.add.at(mixing, (blocks[0], blocks[1]), 1)
    assert np.abs(mixing - found.edges).max() <= 1  # what could not be mended
    true = np.bincount(np.concatenate([one, other]), minlength=500)
    for block in range(3):
        here, there = np.sort(degrees(graph)[codes == block]), np.sort(true[codes == block])
        assert here.sum() == pytest.approx(there.sum(), abs=2)
        assert np.abs(here - there).mean() < 1


def test_one_block_has_the_degrees_of_the_network_nearly_exactly():
    one, other, codes = blocky(sizes=(400, 200), inside=0.03)
    graph = sample_graph(fit_network(measured(one, other, codes, blocks=False)), np.random.default_rng(2))
    true = np.sort(np.bincount(np.concatenate([one, other]), minlength=600))
    assert np.abs(np.sort(degrees(graph)) - true).mean() < 0.1 and len(one) - 2 <= graph.ends.shape[1] <= len(one)


def test_between_thresholds_degrees_follow_a_power():
    # From 100 on there are thresholds at every tenth alone; a tail with the power 1.5 keeps it between them.
    generator = np.random.default_rng(3)
    wanted = np.floor(100 * (1 - generator.random(4000)) ** (-1 / 1.5)).astype(int).clip(max=3999)
    told = measured(*blocky(sizes=(4000,), inside=0.0))
    found = fit_network(told)
    curve = np.array([[(wanted >= degree).sum() for degree in found.thresholds]], dtype=float)
    object.__setattr__(found, "at_least", curve)
    drawn = graph_sampler._degrees(found, 0, generator)
    shares = [0.1, 0.3, 0.5, 0.7, 0.9, 0.99]
    assert np.quantile(drawn, shares) == pytest.approx(np.quantile(wanted, shares), rel=0.03)


def test_loops_and_doubles_are_mended_and_no_degree_changes():
    generator = np.random.default_rng(4)
    ends = generator.integers(0, 60, size=(2, 300))
    ends[:, :40] = 7  # loops
    ends[:, 40:80] = np.array([[3], [4]])  # doubles
    before = np.bincount(ends.ravel(), minlength=60)
    found = graph_sampler._simple(ends.copy(), np.zeros(300, dtype=np.int64), 60, generator)
    keys = found.min(axis=0) * 60 + found.max(axis=0)
    assert len(set(keys.tolist())) == found.shape[1] and (found[0] != found[1]).all()
    after = np.bincount(found.ravel(), minlength=60)
    assert (after <= before).all()
    mild = np.array([[0, 1, 2, 3, 4, 5, 6, 0], [1, 2, 3, 4, 5, 6, 0, 1]])
    mended = graph_sampler._simple(mild.copy(), np.zeros(8, dtype=np.int64), 7, generator)
    assert mended.shape[1] == 8 and np.array_equal(np.bincount(mended.ravel()), np.bincount(mild.ravel()))


def test_edges_stay_between_their_blocks_when_they_are_mended():
    graph = sample_graph(
        fit_network(measured(*blocky(sizes=(8, 8), inside=0.9, outside=0.8))), np.random.default_rng(5)
    )
    assert graph.ends.shape[1] > 60
    assert set(map(tuple, np.sort(graph.blocks[graph.ends], axis=0).T.tolist())) == {(0, 0), (0, 1), (1, 1)}


@pytest.mark.parametrize("wanted", [1, 7, 50, 51, 400])
def test_degrees_get_any_sum(wanted):
    generator = np.random.default_rng(wanted)
    found = graph_sampler._summing(np.array([0, 0, 30, 15, 5] + [1] * 5), wanted, 500, generator)
    assert found.sum() == wanted and (found >= 0).all()
    if wanted >= 10:
        assert (found[:2] == 0).all() and (found[2:] >= 1).all()


def test_a_sample_is_a_table_and_a_seed_repeats_it():
    found = model()
    table = found.sample(seed=3)
    assert table.column_names == ["from", "to", "from_block", "to_block"]
    assert table.equals(found.sample(seed=3)) and not table.equals(found.sample(seed=4))
    assert not found.sample().equals(found.sample())
    pairs = list(zip(table["from"].to_pylist(), table["to"].to_pylist(), strict=True))
    assert pairs == sorted(set(pairs)) and all(one < other for one, other in pairs)
    assert min(table["from"].to_pylist()) >= 1 and max(table["to"].to_pylist()) <= 100
    assert {"b0", "b1", "b2"} == set(table["from_block"].to_pylist()) | set(table["to_block"].to_pylist())
