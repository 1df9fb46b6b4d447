"""Marginals of a table that is the product of three smaller ones, without the table.

Three marginals that overlap in a circle are what makes a clique large: T(a, b, c) = X(a, b) Y(b, c) Z(a, c). Of T only
sums over an axis are wanted, and each is a matrix product: sum over c of T = X * (Y Z). That takes a quarter of the
time of writing T and summing it, and differs by rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from discreet.inference.axes import Axes, Table, broadcast_over, product

#: A table of fewer cells is written: there the calls cost more than the cells.
LEAST_CELLS = 50_000

#: A matrix product in one of many batches must have so many multiplications to be worth its call.
LEAST_MULTIPLICATIONS = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class TriangleFactor:
    """One of three tables whose product is summed: its axes, in the clique's order, and where its marginal goes."""

    axes: Axes
    table: Table
    marginal: Table


class TriangleSums:
    """The marginals of a product of three tables, over the axes of each."""

    def __init__(self, factors: Sequence[TriangleFactor]) -> None:
        self._factors = tuple(factors)

    def fill(self) -> None:
        """Sum what the three tables hold now."""
        for place, factor in enumerate(self._factors):
            left, right = (other for number, other in enumerate(self._factors) if number != place)
            others, axes = product(left.table, left.axes, right.table, right.axes, factor.axes)
            np.multiply(factor.table, broadcast_over(others, axes, factor.axes), out=factor.marginal)


def plan_triangle(cells: int, factors: Sequence[TriangleFactor]) -> TriangleSums | None:
    """The sums, where a table of so many cells is a product of three and is better not written; else None."""
    if cells < LEAST_CELLS or len(factors) != 3:
        return None
    sizes = {axis: size for factor in factors for axis, size in zip(factor.axes, factor.table.shape, strict=True)}
    in_all = set.intersection(*(set(factor.axes) for factor in factors))
    batches = int(np.prod([sizes[axis] for axis in in_all], dtype=np.int64))
    return TriangleSums(factors) if cells >= LEAST_MULTIPLICATIONS * batches else None
