"""From estimates to tables that can be: whole numbers, none negative, that add up exactly at every level.

From the root down, a node's cells, once whole, are shared out among its children: for each cell the nearest numbers
that are not negative and have that sum, then rounded so that they keep it. Where totals of nodes are known exactly as
well, both sums are kept. What is estimated at zero or a little above cannot come out negative, so these tables have a
bias upwards in cells that are nearly empty, and downwards in the others; the estimates beside them have none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from discreet.inference.linear.controlled_rounding import round_to_sums
from discreet.inference.linear.simplex import project_to_sums
from discreet.inference.linear.transport import TableMargins, balance, round_to_margins
from discreet.inference.linear.tree_least_squares import NodeTree

Floats = NDArray[np.float64]
Wholes = NDArray[np.int64]


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
