"""What the first numbers of a publication count, for whoever reads its release without its plan. Public facts alone."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.mechanisms.packed_integers import pack_integers
from discreet.tables.publish.layout import Layout

#: More numbers than this are not named: nobody reads them one by one.
MOST = 10_000


def cell_names(layout: Layout) -> dict[str, Any] | None:
    """The cells of the first query of the topmost level that is measured, in the order of its numbers.

    Columns, their labels, and which label each number has: places first, then the attributes that the query tells
    apart. None where there are too many.
    """
    level = next(level for level, queries in enumerate(layout.queries) if queries)
    query, nodes = layout.queries[level][0], layout.places.tree.sizes[level]
    if nodes * query.kinds > MOST:
        return None
    one = np.unique(query.groups, return_index=True)[1]  # a cell of each group
    path = zip(layout.levels[1 : level + 1], layout.places.path(level), strict=True)
    columns = [(name, labels, np.repeat(at, query.kinds)) for name, (at, labels) in path]
    columns += [
        (name, labels, np.tile(at[one], nodes))
        for name, labels, at in layout.cell_labels()
        if (at == at[one][query.groups]).all()
    ]
    return {
        "numbers": nodes * query.kinds,
        "columns": [name for name, _, _ in columns],
        "labels": [list(labels) for _, labels, _ in columns],
        "codes": [pack_integers(codes) for _, _, codes in columns],
    }
