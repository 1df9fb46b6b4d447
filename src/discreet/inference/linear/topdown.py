"""From estimates to tables that can be: whole numbers, none negative, that add up exactly at every level.

From the root down, a node's cells, once whole, are shared out among its children: for each cell the nearest numbers
that are not negative and have that sum, then rounded so that they keep it (`round_to_sums`). Where totals of nodes are
known exactly as well, both sums are kept. What is estimated at zero or a little above cannot come out negative, so
these tables have a bias upwards in cells that are nearly empty, and downwards in the others; the estimates beside them
have none. `round_to_total` does the same for one table and its total.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from discreet.inference.linear.simplex import project_to_sums
from discreet.inference.linear.transport import TableMargins, balance, round_to_margins
from discreet.inference.linear.tree_least_squares import NodeTree

Floats = NDArray[np.float64]
Wholes = NDArray[np.int64]

#: The golden ratio's fraction: its multiples fall evenly into [0, 1).
_GOLDEN = 0.6180339887498949


def whole_tables(
    tree: NodeTree, cells: Sequence[Floats], variances: Sequence[Floats], totals: Mapping[int, Wholes]
) -> list[Wholes]:
    """Whole, non-negative tables of every level, cells by nodes, in which children add up to their parents exactly.

    `cells`: estimates, cells by nodes, level by level. `variances`: of each from its own subtree, one column where a
    level's nodes are alike. `totals`: the exact totals of the nodes of some levels; from the root down without a gap.

    Guarantee: every sum over children, and every total in `totals`, is exact; nothing is negative.
    """
    root = cells[0][:, 0]
    total = totals[0] if totals else np.array([max(0, round(float(root.sum())))])
    tables = [_share_out(root, total, np.array([len(root)]), _positive(variances[0][:, 0]))[:, None]]
    for level, fan_outs in enumerate(tree.fan_outs):
        children, spread = cells[level + 1], _positive(variances[level + 1])
        if level + 1 in totals:
            margins = TableMargins(rows=totals[level + 1], columns=tables[level].T, sizes=fan_outs)
            tables.append(_share_with_totals(children, spread, margins))
            continue
        made = np.empty(children.shape, dtype=np.int64)
        for cell, sums in enumerate(tables[level]):  # one at a time: its numbers stay in the processor's cache
            own = None if spread.shape[1] == 1 else spread[cell]
            made[cell] = _share_out(children[cell], sums, fan_outs, own, first=cell * len(sums))
        tables.append(made)
    return tables


def _positive(variances: Floats) -> Floats:
    """Variances as weights: one that is 0 counts as the least that is not."""
    least = float(np.min(variances, initial=np.inf, where=variances > 0))
    return np.maximum(variances, least if np.isfinite(least) else 1.0)


def _share_out(values: Floats, sums: Wholes, sizes: Wholes, variances: Floats | None, *, first: int = 0) -> Wholes:
    return round_to_sums(project_to_sums(values, sums, sizes, variances), sums, sizes, first=first)


def _share_with_totals(children: Floats, spread: Floats, margins: TableMargins) -> Wholes:
    """The same where the total of each node is known too."""
    wide = np.broadcast_to(spread, children.shape)
    near = balance(np.ascontiguousarray(children.T), margins, np.ascontiguousarray(wide.T))
    columns = [
        _share_out(np.ascontiguousarray(column), sums, margins.sizes, None, first=cell * len(sums))
        for cell, (column, sums) in enumerate(zip(near.T, margins.columns.T, strict=True))
    ]
    return np.ascontiguousarray(round_to_margins(near, np.stack(columns, axis=1), margins).T)


def round_to_sums(values: Floats, targets: Wholes, sizes: Wholes, *, first: int = 0) -> Wholes:
    """Whole numbers >= 0 near `values` >= 0, which sum to `targets` over consecutive segments, exactly.

    Running sums are rounded, so every run of neighbours in a segment sums to within 1 of what it should. Where a
    running sum is rounded up differs from segment to segment, evenly over all of them: nobody gains on average.
    `first`: the number of the first segment among all. The same values are always rounded the same way.

    Because: a segment's running sums are cut to lie between 0 and its target, and end at it; they do not fall, so
    neither do they rounded, and their steps are whole numbers >= 0 that sum to the target.

    >>> round_to_sums(np.array([0.4, 0.4, 0.4, 1.8]), np.array([1, 2]), np.array([2, 2])).tolist()
    [1, 0, 0, 2]
    """
    ends = np.cumsum(sizes)
    after = np.cumsum(targets)
    turns = np.arange(first + 1, first + 1 + len(sizes)) * _GOLDEN % 1.0
    running = np.cumsum(values)
    # Rounding errors of the long sum are set right at the head of every segment.
    drift = np.concatenate([[0.0], running[ends[:-1] - 1]]) - (after - targets)
    running += np.repeat(turns - drift, sizes)
    whole = np.floor(running, out=running).astype(np.int64)
    np.minimum(whole, np.repeat(after, sizes), out=whole)
    np.maximum(whole, np.repeat(after - targets, sizes), out=whole)
    whole[ends - 1] = after
    return np.diff(whole, prepend=0)


def round_to_total(table: NDArray[np.float64], total: int) -> NDArray[np.int64]:
    """Whole numbers of at least 0 that sum to `total`, near the table.

    The nearest table of numbers of at least 0 with that sum (all cells are lowered by one amount, and what falls
    below 0 is 0), its fractions rounded so that the sum is kept: the largest go up, ties by the order of cells.

    >>> round_to_total(np.array([[2.6, -1.0], [1.3, 0.2]]), 3).tolist()
    [[2, 0], [1, 0]]
    """
    if total < 0:
        raise ValueError("a total cannot be negative")
    values = _project_to_total(table.ravel(), float(total))
    counts = np.floor(values).astype(np.int64)
    left = total - int(counts.sum())
    # Float errors can leave the sum of floors one or so above the total; then the smallest fractions give.
    order = np.argsort(-(values - counts), kind="stable")
    if left >= 0:
        counts[order[: left % counts.size]] += 1
        counts += left // counts.size
    else:
        full = order[counts[order] > 0]
        counts[full[left:]] -= 1
    return counts.reshape(table.shape)


def _project_to_total(values: NDArray[np.float64], total: float) -> NDArray[np.float64]:
    """max(0, values - amount) with the amount at which they sum to `total`."""
    falling = np.sort(values)[::-1]
    amounts = (np.cumsum(falling) - total) / np.arange(1, len(falling) + 1)
    kept = int(np.flatnonzero(falling - amounts >= 0)[-1]) if total > 0 else 0
    return np.asarray(np.maximum(0.0, values - amounts[kept]))
