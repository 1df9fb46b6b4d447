"""How wrong marginals are that were made to agree by least squares (`consistency`): the variance of every cell.

Each agreed cell is a fixed sum of noisy cells. What a noisy cell b of a table B counts for in an agreed cell c of a
table A depends only on which attributes of both tables the two cells agree in:

    f(m) = sum over S within A and B of  (n_S / n_A) * (w_BS / W_S) * product over i in S of (m_i - 1 / d_i)

n: numbers of cells; d: of values; m_i is 1 where the cells have the same value of attribute i, else 0; w_BS / W_S: what
B counts for in the estimate of the effect S. The variance of c is the sum of f(m)^2 times the variance of b. As m is
made of zeros and ones, f^2 is a sum of products of some m_i, and each of those picks a marginal of B's variances.

Guarantee: exact for independent noise, whatever the variance of each cell; what is known exactly adds nothing.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from discreet.inference.axes import Axes, Table, broadcast_over, cells_of, sum_to


def agreement_variances(
    sizes: Sequence[int], noisy: Mapping[Axes, Table], exact_sets: Sequence[Axes], *, total_is_exact: bool
) -> dict[Axes, Table]:
    """The variance of every cell of `make_consistent`. `noisy`: the variances of the noise, by sorted attributes.

    >>> one = np.ones(2)
    >>> agreement_variances((2, 2), {(0,): one, (1,): one}, (), total_is_exact=False)[0,]
    array([0.75, 0.75])
    """
    weights = {axes: 1 / float(variances.mean()) / variances.size for axes, variances in noisy.items()}
    exact_effects = {subset for axes in exact_sets for subset in _subsets(axes)} | ({()} if total_is_exact else set())
    precisions: dict[Axes, float] = {}
    for axes, weight in weights.items():
        for subset in _subsets(axes):
            precisions[subset] = precisions.get(subset, 0.0) + weight * cells_of(sizes, subset)
    answer = {}
    for axes, variances in noisy.items():
        table = np.zeros(variances.shape)
        for other, other_variances in noisy.items():
            shared = tuple(attribute for attribute in axes if attribute in other)
            shares = {
                subset: cells_of(sizes, subset) ** 2 * weights[other] / (variances.size * precisions[subset])
                for subset in _subsets(shared)
                if subset not in exact_effects
            }
            for subset, factor in _squared(sizes, shared, shares).items():
                table += factor * broadcast_over(sum_to(other_variances, other, subset), subset, axes)
        answer[axes] = table
    return answer


def _squared(sizes: Sequence[int], shared: Axes, shares: Mapping[Axes, float]) -> dict[Axes, float]:
    """f^2 as a sum over sets of attributes of a factor times the product of their m_i."""
    squares = {
        same: math.fsum(
            share * math.prod((attribute in same) - 1 / sizes[attribute] for attribute in subset)
            for subset, share in shares.items()
        )
        ** 2
        for same in _subsets(shared)
    }
    return {
        subset: math.fsum((-1) ** (len(subset) - len(part)) * squares[part] for part in _subsets(subset))
        for subset in _subsets(shared)
    }


def degrees_of_disagreement(
    sizes: Sequence[int], noisy: Sequence[Axes], exact_sets: Sequence[Axes], *, total_is_exact: bool
) -> int:
    """How many of the noisy numbers follow from the others: about what the chi-square of their disagreement is."""
    exact_effects = {subset for axes in exact_sets for subset in _subsets(axes)} | ({()} if total_is_exact else set())
    free = {subset for axes in noisy for subset in _subsets(axes)} - exact_effects
    free_numbers = sum(math.prod(sizes[attribute] - 1 for attribute in subset) for subset in free)
    return sum(cells_of(sizes, axes) for axes in noisy) - free_numbers


def _subsets(axes: Axes) -> Iterator[Axes]:
    """All subsets, the empty one included."""
    for length in range(len(axes) + 1):
        yield from itertools.combinations(axes, length)
