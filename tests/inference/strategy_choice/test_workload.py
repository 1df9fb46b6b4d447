"""Workloads against their own matrices, written out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import UsageError
from discreet.inference.strategy_choice.workload import AllRanges, GivenRanges, Prefixes, ProductWorkload, Workload
from tiers import examples


def written(workload: Workload) -> np.ndarray:
    """The 0/1 matrix itself."""
    match workload:
        case ProductWorkload():
            return np.kron(written(workload.first), written(workload.second))
        case AllRanges():
            pairs = [(low, high) for low in range(workload.size) for high in range(low, workload.size)]
        case Prefixes():
            pairs = [(0, high) for high in range(workload.size)]
        case GivenRanges():
            pairs = list(zip(workload.lows.tolist(), workload.highs.tolist(), strict=True))
    place = np.arange(workload.cells)
    return np.array([(place >= low) & (place <= high) for low, high in pairs], dtype=float)


def given_ranges(cells: int) -> st.SearchStrategy[GivenRanges]:
    end = st.integers(0, cells - 1)
    pairs = st.lists(st.tuples(end, end).map(sorted), min_size=1, max_size=12)
    return pairs.map(lambda p: GivenRanges(cells, np.array([a for a, _ in p]), np.array([b for _, b in p])))


lines = st.integers(1, 17).flatmap(
    lambda cells: st.one_of(st.just(AllRanges(cells)), st.just(Prefixes(cells)), given_ranges(cells))
)


@given(
    st.one_of(lines, st.tuples(lines, lines).map(lambda pair: ProductWorkload(*pair))),
    st.randoms(use_true_random=False),
)
@settings(max_examples=examples(150), deadline=None)
def test_what_planning_reads_is_that_of_the_matrix(workload, random):
    matrix = written(workload)
    gram = matrix.T @ matrix
    assert matrix.shape == (workload.queries, workload.cells)
    assert np.array_equal(workload.gram(), gram)
    assert np.array_equal(workload.uses(), gram.diagonal())
    values = np.array([[random.uniform(-1, 1) for _ in range(workload.cells)] for _ in range(2)])
    assert np.allclose(workload.times(values), values @ gram)


@given(lines, st.integers(1, 20))
@settings(max_examples=examples(200), deadline=None)
def test_block_energies_are_those_of_averaged_queries(workload, size):
    matrix = written(workload)
    padded = np.pad(matrix, ((0, 0), (0, -workload.cells % size)))
    averaged = padded.reshape(len(matrix), -1, size).sum(axis=2) / np.sqrt(size)
    assert workload.block_energy(size) == pytest.approx((averaged**2).sum(), rel=1e-12)


def test_what_is_no_workload_is_refused():
    for wrong in (
        lambda: AllRanges(0),
        lambda: Prefixes(2**30),
        lambda: GivenRanges(4, np.array([0]), np.array([4])),
        lambda: GivenRanges(4, np.array([2]), np.array([1])),
        lambda: GivenRanges(4, np.array([-1]), np.array([1])),
        lambda: GivenRanges(4, np.array([], dtype=int), np.array([], dtype=int)),
        lambda: GivenRanges(4, np.array([0.5]), np.array([1.0])),
        lambda: ProductWorkload(ProductWorkload(AllRanges(2), AllRanges(2)), AllRanges(2)),
    ):
        with pytest.raises(UsageError):
            wrong()
    with pytest.raises(TypeError):
        ProductWorkload(AllRanges(2), AllRanges(2)).block_energy(2)
