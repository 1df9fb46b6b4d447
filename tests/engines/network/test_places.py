"""Numbers are found among the nodes by a table, or by hashing where they lie apart: alike."""

import numpy as np
import pyarrow as pa
import pytest

from discreet.engines.network import graph_reader
from discreet.engines.network.distinct_numbers import distinct


def column(values):
    return pa.chunked_array([pa.array(values, pa.int64())])


@pytest.mark.parametrize("seed", range(20))
def test_places_are_those_of_the_nodes(seed, monkeypatch):
    draw = np.random.default_rng(seed)
    count = int(draw.integers(1, 30))
    nodes = (draw.permutation(3 * count)[:count] - int(draw.integers(50))).tolist()
    values = draw.integers(-120, 120, 200).tolist()
    found = graph_reader._places(column(values), nodes).tolist()
    assert found == [nodes.index(value) if value in nodes else -1 for value in values]
    assert graph_reader._table(nodes) is not None
    monkeypatch.setattr(graph_reader, "_CLOSE", 0)
    assert graph_reader._table(nodes) is None
    assert graph_reader._places(column(values), nodes).tolist() == found


def test_far_numbers_and_no_nodes():
    ends = column([2**62, -(2**62), 0, 5])
    assert graph_reader._places(ends, [0, 1, 5]).tolist() == [-1, -1, 0, 2]
    assert graph_reader._places(ends, [2**62, 0]).tolist() == [0, -1, 1, -1]
    assert graph_reader._places(ends, []).tolist() == [-1] * 4


@pytest.mark.parametrize("values", [[], [7], [3, 1, 3, 2, 1], [-(2**62), 2**62, 0, 2**62]])
def test_distinct(values):
    assert distinct(np.array(values, dtype=np.int64)).tolist() == sorted(set(values))
