"""One noisy measurement of a marginal: cell by cell along some axes, by contrasts alone along others.

A table over axes splits into residuals, one for each subset S of its axes: the part that sums to 0 along every axis
of S and does not vary along the others. Every part says equally much about all directions of one residual, so that
one number for each S, its information, is all there is to know (docs/proofs/tables-marginals.md).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from discreet.mechanisms.strategy.contrasts import ContrastStrategy
from discreet.mechanisms.strategy.strategy import IdentityStrategy, MatrixStrategy, ProductStrategy, Strategy

Axes = tuple[int, ...]

#: Of two cells there is one contrast, so one row says it: half as many draws, and less of L1 than both rows take.
_DIFFERENCE = np.array([[1, -1]], dtype=np.int64)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResidualPart:
    """The marginal over `axes`, in rising order, of which those in `centred` are measured by their contrasts alone."""

    axes: Axes
    centred: Axes = ()

    def __post_init__(self) -> None:
        rising = all(list(axes) == sorted(set(axes)) for axes in (self.axes, self.centred))
        if not rising or not set(self.centred) <= set(self.axes):
            raise ValueError("a part must be a marginal")

    def strategy(self, sizes: Sequence[int]) -> Strategy:
        """What is measured, over the flat marginal."""
        factors = [self._factor(axis, sizes[axis]) for axis in self.axes]
        return ProductStrategy(tuple(factors)) if factors else IdentityStrategy(1)

    def _factor(self, axis: int, size: int) -> Strategy:
        if axis not in self.centred:
            return IdentityStrategy(size)
        return MatrixStrategy(_DIFFERENCE) if size == 2 else ContrastStrategy(size)

    def shape(self, sizes: Sequence[int]) -> tuple[int, ...]:
        """The numbers that it measures, an axis each."""
        return tuple(1 if axis in self.centred and sizes[axis] == 2 else sizes[axis] for axis in self.axes)

    def norms(self, sizes: Sequence[int]) -> tuple[int, int]:
        """The L1 and the squared L2 norm of every column: those of `strategy`, without writing it out."""
        one = [(1, 1) if sizes[k] == 2 else (2 * (sizes[k] - 1), sizes[k] * (sizes[k] - 1)) for k in self.centred]
        return math.prod(l1 for l1, _ in one), math.prod(l2 for _, l2 in one)

    def subsets(self, most: int | None = None) -> Iterator[Axes]:
        """The residuals that it says something about, of at most so many axes."""
        free = [axis for axis in self.axes if axis not in self.centred]
        last = len(free) if most is None else min(len(free), most - len(self.centred))
        for size in range(last + 1):
            for some in itertools.combinations(free, size):
                yield tuple(sorted((*some, *self.centred)))

    def information(self, subset: Axes, sizes: Sequence[int]) -> float:
        """One over the variance with which it alone tells the residual of `subset`, where a row's noise has variance 1.

        Because: summing n cells has n times the variance; n I - J is n times a projection, so that its noise counts
            1/n^2; and (1, -1) has squared length 2.
        """
        if not set(self.centred) <= set(subset) <= set(self.axes):
            return 0.0
        own = math.prod(float(2 if sizes[axis] == 2 else sizes[axis] ** 2) for axis in self.centred)
        return own / math.prod(float(sizes[axis]) for axis in self.axes if axis not in subset)


def subsets(axes: Sequence[int]) -> Iterator[Axes]:
    """All subsets of some axes, the empty one first."""
    for size in range(len(axes) + 1):
        yield from itertools.combinations(axes, size)


def informative_axes(axes: Sequence[int], sizes: Sequence[int]) -> Axes:
    """The axes with more than one cell: the others tell nothing and have no residual."""
    return tuple(axis for axis in axes if sizes[axis] > 1)
