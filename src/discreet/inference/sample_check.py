"""The self-test of every sample: its tables are those of the model, up to chance.

Looks at every clique and, across every separator, at pairs of attributes that are no clique: a sampler whose rounding
correlates columns gets every clique right and such pairs wrong. Public arithmetic on the model and its sample.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from discreet.inference.axes import Axes, Table, cells_of, shape_of
from discreet.inference.calibrated_tree import AGREEMENT, CalibratedTree

#: The chance that a sample of independent rows, which varies more than ours, fails at one of its tables: exp(-32).
_UNLIKELY = 32.0
#: Pairs of attributes with more cells than this are not looked at.
_MOST_PAIR_CELLS = 2**16


class SampleMismatch(AssertionError):
    """A sample is not of its model: a fault of this package, never of its user."""


def check(calibrated: CalibratedTree, codes: NDArray[np.unsignedinteger]) -> None:
    """Raise SampleWrong unless the sample's tables are within chance of the model's.

    Because: of n independent rows a cell of expectation e is within L/3 + sqrt(L^2/9 + 2 L e) of e but for a chance of
        2 exp(-L) (Bernstein), and a table's total variation exceeds its mean, at most sum(sqrt(p (1 - p) / n)) / 2, by
        sqrt(L / (2 n)) with chance at most exp(-L) (McDiarmid: one row moves it by 1/n).
    """
    n, columns = codes.shape
    if columns != len(calibrated.sizes):
        raise SampleMismatch("a sample has one column an attribute")
    if not n:
        return
    cliques = calibrated.cliques
    tables: Iterator[tuple[Axes, Table]] = ((clique.attributes, clique.table) for clique in cliques)
    for attributes, table in tables:
        _compare(calibrated, codes, attributes, table)
    for pair in _pairs(calibrated):
        _compare(calibrated, codes, pair, calibrated.project(pair))


def _compare(calibrated: CalibratedTree, codes: NDArray[np.unsignedinteger], attributes: Axes, table: Table) -> None:
    n = len(codes)
    counts = count_rows(codes, attributes, calibrated.sizes)
    share = table.ravel() / calibrated.total
    slack = AGREEMENT * len(calibrated.cliques)
    away = np.abs(counts - n * share)
    length = _UNLIKELY + math.log(2 * len(share))
    if (counts[share == 0] > 0).any():
        raise SampleMismatch(f"a sample has rows that the model excludes: attributes {attributes}")
    if (away > length / 3 + np.sqrt(length**2 / 9 + 2 * length * n * share) + slack * n).any():
        raise SampleMismatch(f"a sample's count is not the model's: attributes {attributes}")
    variation = away.sum() / (2 * n)
    most = np.sqrt(share * np.maximum(1 - share, 0) / n).sum() / 2 + math.sqrt(_UNLIKELY / (2 * n))
    if variation > most + slack:
        raise SampleMismatch(f"a sample's table is not the model's: attributes {attributes}")


def count_rows(codes: NDArray[np.unsignedinteger], attributes: Axes, sizes: tuple[int, ...]) -> NDArray[np.int64]:
    """How many rows each combination of values has, flat."""
    shape = shape_of(sizes, attributes)
    places = np.zeros(len(codes), dtype=np.int64)
    for attribute, size in zip(attributes, shape, strict=True):
        places *= size
        places += codes[:, attribute]
    return np.bincount(places, minlength=math.prod(shape))


def _pairs(calibrated: CalibratedTree) -> Iterator[Axes]:
    """Pairs that meet only across a separator: a new attribute with one of the parent's, and with a sibling's."""
    cliques, sizes = calibrated.cliques, calibrated.sizes
    sibling: dict[int, int] = {}
    for clique in cliques[1:]:
        above = [attribute for attribute in cliques[clique.parent].attributes if attribute not in clique.shared]
        others = ([min(above, key=sizes.__getitem__)] if above else []) + [
            attribute for attribute in (sibling.get(clique.parent),) if attribute is not None
        ]
        new = min(clique.new, key=lambda attribute: (sizes[attribute] < 2, sizes[attribute]))
        sibling[clique.parent] = new
        yield from ((new, other) for other in others if cells_of(sizes, (new, other)) <= _MOST_PAIR_CELLS)
