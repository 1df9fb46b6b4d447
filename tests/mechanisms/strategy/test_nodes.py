"""Tables of nodes: what they say of their own columns is true of their matrix."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.mechanisms.strategy.node_tables import NodeStrategy


@st.composite
def tables(draw):
    sides = []
    for most in (6, 5):
        count = draw(st.integers(1, 4))
        groups = draw(st.lists(st.integers(-1, count - 1), min_size=1, max_size=most).filter(lambda own: max(own) >= 0))
        sides.append((np.array(groups, dtype=np.int64), count))
    (places, nodes), (groups, kinds) = sides
    return NodeStrategy(places=places, nodes=nodes, groups=groups, kinds=kinds)


def written_out(table):
    """The matrix by its definition."""
    found = np.zeros((table.rows, table.cells), dtype=np.int64)
    for place, node in enumerate(table.places.tolist()):
        for cell, kind in enumerate(table.groups.tolist()):
            if node >= 0 and kind >= 0:
                found[node * table.kinds + kind, place * len(table.groups) + cell] = 1
    return found


def check(table, rows=2):
    matrix = table.matrix()
    assert (matrix == written_out(table)).all()
    assert table.column_l1.tolist() == np.abs(matrix).sum(axis=0).tolist()
    assert table.column_l2_squared.tolist() == (matrix**2).sum(axis=0).tolist()
    moves = table.sensitivity(rows)
    assert (moves.l1, moves.l2_squared) == (rows * matrix.sum(axis=0).max(), rows**2 * (matrix**2).sum(axis=0).max())
    assert table.largest == matrix.max()


@given(tables())
def test_norms_are_those_of_the_matrix(table):
    check(table)


@given(tables(), st.data())
def test_counts_are_summed_exactly(table, data):
    counts = np.array(
        data.draw(st.lists(st.integers(0, 2**61), min_size=table.cells, max_size=table.cells)), dtype=object
    )
    assert list(table.apply(counts)) == list(written_out(table).astype(object) @ counts)


def test_counts_in_64_bits_are_summed_without_overflow():
    table = NodeStrategy(places=np.zeros(4, dtype=np.int64), nodes=1, groups=np.array([0]), kinds=1)
    for counts in ([2**62, 2**62, 2**62, 5], [1, 2, 3, 4], [-(2**63), 0, 0, -1]):
        assert [int(each) for each in table.apply(np.array(counts, dtype=np.int64))] == [sum(counts)]
    with pytest.raises(ValueError, match="another number of cells"):
        table.apply(np.zeros(3, dtype=np.int64))


def test_a_cell_that_is_counted_twice_is_caught(monkeypatch):
    table = NodeStrategy(places=np.array([0, 1, 1]), nodes=2, groups=np.array([0, -1, 1]), kinds=2)
    check(table)
    known = NodeStrategy.multiply
    monkeypatch.setattr(NodeStrategy, "multiply", lambda self, values: 2 * known(self, values))
    with pytest.raises(AssertionError):
        check(table)


def test_equal_tables_have_equal_data():
    def make(groups):
        return NodeStrategy(places=np.array([0, 1]), nodes=2, groups=np.array(groups), kinds=2)

    assert make([0, 1]).to_data() == make([0, 1]).to_data() != make([1, 0]).to_data()
    with pytest.raises(ValueError, match="does not exist"):
        make([0, 2])
    with pytest.raises(ValueError, match="does not exist"):
        make([-1, -1])
