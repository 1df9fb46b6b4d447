"""Few tables that cover many: under a pure epsilon one table of four columns often tells six pairs better than six.

Laplace noise on the tables of a cover, each wish read off one of them: with the epsilon split at best, the sum of
squared errors is 2 (sum over tables of (cells * weight)^(1/3))^3 / epsilon^2, where the weight is that of the wishes
that are read off the table. So a table's price is a cube root, and the greedy choice grows a table as long as what
it costs falls against what its wishes would cost alone.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from discreet.inference.linear.residual_part import Axes, informative_axes
from discreet.tables.marginals.marginal_workload import MarginalWorkload

#: No table of a cover has more cells than this.
MOST_CELLS = 100_000
#: Only so many of the smallest axes are tried at each step: larger ones cost more than they tell.
_TRIED = 24


def cover(workload: MarginalWorkload, *, slack: float) -> list[Axes]:
    """Tables of which every wish is a marginal. With slack a table goes on growing past where it is cheapest."""
    open_: dict[Axes, float] = {}
    for axes, weight in zip(workload.sets, workload.weights, strict=True):
        own = informative_axes(axes, workload.sizes)
        open_[own] = open_.get(own, 0.0) + weight
    most = max(map(len, open_))
    smallest = sorted(
        informative_axes(range(len(workload.sizes)), workload.sizes), key=lambda axis: workload.sizes[axis]
    )[:_TRIED]
    tables = []
    for seed in sorted(open_, key=lambda axes: (_cells(axes, workload), axes)):
        if seed in open_:
            table = _grow(seed, open_, workload, smallest, most, slack)
            tables.append(table)
            for covered in list(_within(table, open_, most)):
                del open_[covered]
    return tables


def _grow(
    seed: Axes, open_: dict[Axes, float], workload: MarginalWorkload, smallest: list[int], most: int, slack: float
) -> Axes:
    table = kept = seed
    best = _price(table, open_, workload, most)
    while True:
        wider = [tuple(sorted((*table, axis))) for axis in smallest if axis not in table]
        prices = [(_price(each, open_, workload, most), each) for each in wider if _cells(each, workload) <= MOST_CELLS]
        if not prices:
            return kept
        price, table = min(prices)
        if price > slack * best:
            return kept
        if price <= best or slack > 1:
            kept = table
        best = min(best, price)


def _price(table: Axes, open_: dict[Axes, float], workload: MarginalWorkload, most: int) -> float:
    """What the table costs, against what those of its wishes that are still open cost alone."""
    inside = list(_within(table, open_, most))
    alone = sum((_cells(axes, workload) * open_[axes]) ** (1 / 3) for axes in inside)
    weight = sum(open_[axes] for axes in inside)
    return float((_cells(table, workload) * weight) ** (1 / 3) / alone)


def _within(table: Axes, open_: dict[Axes, float], most: int) -> Iterator[Axes]:
    for size in range(min(most, len(table)) + 1):
        for axes in itertools.combinations(table, size):
            if axes in open_:
                yield axes


def _cells(axes: Axes, workload: MarginalWorkload) -> int:
    count = 1
    for axis in axes:
        count *= workload.sizes[axis]
    return count
