"""Noisy marginals made to agree with each other, by least squares, before any model is fitted.

A table splits into effects: for each subset of its attributes a part that sums to 0 along each of them. Tables agree if
and only if they have the same effects wherever they share attributes. Noise that is alike in all cells of a table falls
on its effects independently, so the least-squares answer is, effect by effect, the mean by inverse variance.

Because: the model's marginals agree, whatever the model. By Pythagoras the distance from them to the noisy marginals is
the distance to the ones that agree plus a constant, so the best model is the same, and the search for it is shorter.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping

import numpy as np

from discreet.inference.axes import Axes, Table, broadcast_over, sum_to


def make_consistent(
    noisy: Mapping[Axes, tuple[Table, float]], exact_marginals: Mapping[Axes, Table], total: float
) -> dict[Axes, Table]:
    """The nearest tables that agree with each other, with what is known exactly, and with the total.

    >>> both = make_consistent({(0,): (np.array([3.0, 5.0]), 1.0), (1,): (np.array([7.0, 2.0]), 1.0)}, {}, 10.0)
    >>> both[0,], both[1,]
    (array([4., 6.]), array([7.5, 2.5]))
    """
    effects = _effects(noisy, exact_marginals)
    consistent: dict[Axes, Table] = {}
    for axes, (values, _) in noisy.items():
        table = np.full(values.shape, total / values.size)
        for subset in _subsets(axes):
            effect = effects[subset]
            table += broadcast_over(effect, subset, axes) * (effect.size / values.size)
        consistent[axes] = table
    return consistent | dict(exact_marginals)


def _effects(noisy: Mapping[Axes, tuple[Table, float]], exact_marginals: Mapping[Axes, Table]) -> dict[Axes, Table]:
    """The best estimate of each effect, as a marginal; one that is known exactly needs no estimate."""
    sums: dict[Axes, tuple[Table, float]] = {}
    for axes, (values, variance) in noisy.items():
        for subset in _subsets(axes):
            marginal = sum_to(values, axes, subset)
            weight = marginal.size / (values.size * variance)  # each cell is a sum of values.size / marginal.size
            weighted, precision = sums.get(subset, (np.zeros(marginal.shape), 0.0))
            sums[subset] = weighted + weight * marginal, precision + weight
    means = {subset: weighted / precision for subset, (weighted, precision) in sums.items()}
    for axes, counts in exact_marginals.items():
        means |= {subset: sum_to(counts, axes, subset) for subset in _subsets(axes) if subset in means}
    return {subset: _centred(mean) for subset, mean in means.items()}


def _centred(table: Table) -> Table:
    for axis in range(table.ndim):
        table = table - table.mean(axis=axis, keepdims=True)
    return table


def _subsets(axes: Axes) -> Iterator[Axes]:
    for length in range(1, len(axes) + 1):
        yield from itertools.combinations(axes, length)
