"""Tables whose axes carry attribute numbers: sum some away, spread over more, multiply two.

A table here is an array and, beside it, the tuple of attributes that its axes stand for. Every name of an axis is
public; the arithmetic is plain.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from discreet.errors import UsageError

Table = NDArray[np.float64]
Axes = tuple[int, ...]

#: No table larger than this is made on the way to an answer: 2**27 cells are one gigabyte.
MOST_CELLS = 2**27


def shape_of(sizes: Sequence[int], attributes: Sequence[int]) -> tuple[int, ...]:
    """The shape of a table over these attributes."""
    return tuple(sizes[attribute] for attribute in attributes)


def cells_of(sizes: Sequence[int], attributes: Collection[int]) -> int:
    """How many cells a table over these attributes has."""
    return math.prod(sizes[attribute] for attribute in attributes)


def check_attributes(sizes: Sequence[int], attributes: Sequence[int]) -> Axes:
    """The attributes as a tuple of plain ints: in range, none twice."""
    axes = tuple(int(attribute) for attribute in attributes)
    if len(set(axes)) != len(axes) or any(not 0 <= attribute < len(sizes) for attribute in axes):
        raise ValueError(f"attributes must be distinct and below {len(sizes)}, got {axes}")
    return axes


def refuse_large(cells: int) -> None:
    """Refuse to make a table beyond `MOST_CELLS`."""
    if cells > MOST_CELLS:
        raise UsageError(
            f"this needs a table of {cells:,} cells; the maximum is {MOST_CELLS:,}",
            hint="request fewer attributes at a time",
        )


def sum_to(table: Table, axes: Axes, keep: Sequence[int]) -> Table:
    """The table summed down to `keep`, its axes in that order.

    >>> sum_to(np.array([[1.0, 2.0], [3.0, 4.0]]), (5, 7), (7,))
    array([4., 6.])
    """
    gone = tuple(place for place, attribute in enumerate(axes) if attribute not in keep)
    left = [attribute for attribute in axes if attribute in keep]
    marginal = table.sum(axis=gone) if gone else table
    return np.asarray(marginal).transpose([left.index(attribute) for attribute in keep])


def broadcast_over(table: Table, axes: Axes, over: Axes) -> Table:
    """The table as a view that broadcasts against one with the axes `over`, which hold all of its own."""
    order = sorted(range(len(axes)), key=lambda place: over.index(axes[place]))
    axis_sizes = dict(zip(axes, table.shape, strict=True))
    return table.transpose(order).reshape([axis_sizes.get(attribute, 1) for attribute in over])


def ratio(above: Table, below: Table) -> Table:
    """above / below, and 0 where below is 0: no mass is left there to share out."""
    return np.divide(above, below, out=np.zeros(np.broadcast(above, below).shape), where=below > 0)


def product(left: Table, left_axes: Axes, right: Table, right_axes: Axes, keep: Collection[int]) -> tuple[Table, Axes]:
    """The product of two tables, summed down to `keep`: one batched matrix product.

    Axes come out as: shared and kept, left alone, right alone.
    """
    left_axes, left = _sum_to_kept(left, left_axes, {*keep, *right_axes})
    right_axes, right = _sum_to_kept(right, right_axes, {*keep, *left_axes})
    larger = left_axes if left.size >= right.size else right_axes  # its axes then need no other order, and no copy
    shared = [attribute for attribute in larger if attribute in left_axes and attribute in right_axes]
    batch = [attribute for attribute in shared if attribute in keep]
    inner = [attribute for attribute in shared if attribute not in keep]
    rows = [attribute for attribute in left_axes if attribute not in shared]
    columns = [attribute for attribute in right_axes if attribute not in shared]
    axis_sizes = dict(zip(left_axes, left.shape, strict=True)) | dict(zip(right_axes, right.shape, strict=True))
    out = (*batch, *rows, *columns)
    refuse_large(math.prod(axis_sizes[attribute] for attribute in out))
    multiplied = np.matmul(
        _blocks(left, left_axes, batch, rows, inner), _blocks(right, right_axes, batch, inner, columns)
    )
    return multiplied.reshape([axis_sizes[attribute] for attribute in out]), out


def _sum_to_kept(table: Table, axes: Axes, keep: Collection[int]) -> tuple[Axes, Table]:
    kept = tuple(attribute for attribute in axes if attribute in keep)
    return kept, sum_to(table, axes, kept)


def _blocks(table: Table, axes: Axes, *groups: list[int]) -> Table:
    """The table with one axis for each group of attributes."""
    order = [axes.index(attribute) for group in groups for attribute in group]
    axis_sizes = dict(zip(axes, table.shape, strict=True))
    return table.transpose(order).reshape([math.prod(axis_sizes[attribute] for attribute in group) for group in groups])
