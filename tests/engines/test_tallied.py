"""Marginals that an engine counts one by one are those of the coded rows."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from discreet.engines.engine import CodedRows, narrowest
from discreet.engines.remote_coded_rows import RemoteCodedRows, merge_neighbours
from discreet.plan.cells import Axis
from discreet.plan.expressions import Code

ROWS = 500
EDGES = [(0, 1, 2, 3, 4, 5), (0, 10, 11, 40), (-7, -2, 0, 9)]
NULLS = [False, True, True]


def axis_over(name: str, edges: tuple[int, ...], null: bool) -> Axis:
    return Axis(of=Code(name, edges[0], edges[-1] - 1, null=null), edges=edges, null=null, labels=())


AXES = tuple(axis_over(f"x{place}", edges, null) for place, (edges, null) in enumerate(zip(EDGES, NULLS, strict=True)))


class Rows:
    """Codes, NULL as None, and a slow tally of them that keeps what it was asked for."""

    def __init__(self) -> None:
        generator = np.random.default_rng(3)
        self.codes: dict[str, list[Any]] = {}
        for axis in AXES:
            drawn = generator.integers(axis.edges[0], axis.edges[-1], ROWS).tolist()
            nulls = generator.random(ROWS) < 0.1
            column = [None if axis.null and null else code for code, null in zip(drawn, nulls, strict=True)]
            self.codes[axis.of.column] = column  # type: ignore[union-attr]
        self.asked: list[int] = []

    def cells(self, axis: Axis) -> list[int]:
        bins = len(axis.edges) - 1
        codes = self.codes[axis.of.column]  # type: ignore[union-attr]
        return [
            bins if code is None else next(place for place in range(bins) if code < axis.edges[place + 1])
            for code in codes
        ]

    def tally(self, axes: tuple[Axis, ...]) -> NDArray[np.int64]:
        found = np.zeros([axis.size for axis in axes], dtype=np.int64)
        for row in zip(*map(self.cells, axes), strict=True) if axes else [()] * ROWS:
            found[row] += 1
        self.asked.append(found.size)
        return found.ravel()

    def coded(self) -> CodedRows:
        return CodedRows(
            tuple(narrowest(np.array(self.cells(axis))) for axis in AXES), tuple(axis.size for axis in AXES)
        )


PLACES = [places for many in range(4) for places in itertools.permutations(range(3), many)]

#: As they are; neighbours merged; far ones and NULL merged with others.
GROUPS: list[tuple[list[int], ...]] = [
    ([0, 1, 2, 3, 4], [0, 1, 2, 3], [0, 1, 2, 3]),
    ([0, 0, 1, 1, 1], [0, 0, 0, 1], [0, 1, 1, 2]),
    ([1, 0, 1, 2, 0], [0, 1, 0, 0], [1, 1, 0, 1]),
]


@pytest.mark.parametrize("groups", GROUPS)
def test_marginals_are_those_of_the_rows(groups: tuple[list[int], ...]) -> None:
    rows = Rows()
    merges = tuple(map(np.array, groups))
    tallied, coded = RemoteCodedRows(rows.tally, AXES).merged(merges), rows.coded().merged(merges)
    assert tallied.sizes == coded.sizes
    for places in PLACES:
        assert np.array_equal(tallied.count(places), coded.count(places))


def test_unmerged_marginals_are_those_of_the_rows() -> None:
    rows = Rows()
    for places in PLACES:
        assert np.array_equal(RemoteCodedRows(rows.tally, AXES).count(places), rows.coded().count(places))


def test_the_engine_counts_runs_and_not_finer_cells() -> None:
    """A thousand values in two groups of neighbours are two cells and NULL, wherever they come from."""
    axis = axis_over("x", tuple(range(1001)), True)
    coarse, group = merge_neighbours(axis, np.array([0] * 400 + [1] * 600 + [0]))
    assert (coarse.edges, coarse.null, coarse.size) == ((0, 400, 1000), True, 3)
    assert group.tolist() == [0, 1, 0]


def test_what_was_counted_is_kept() -> None:
    rows = Rows()
    tallied = RemoteCodedRows(rows.tally, AXES)
    tallied.count((0, 1)), tallied.count((0, 1))
    assert rows.asked == [20]


def test_it_cannot_be_printed_or_sent() -> None:
    tallied = RemoteCodedRows(Rows().tally, AXES)
    assert repr(tallied) == "<exact cells, not shown>"
    with pytest.raises(TypeError):
        tallied.__reduce__()
