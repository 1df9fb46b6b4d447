"""An exact graph, as an engine reads it. It does not leave a draw."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.engines.secret import Secret


class EdgeLabels(Secret):
    """Of each edge, what its rows say of both its ends, -1 for unknown; and how late it comes at the end where it comes
    later, in an order of all edges that labels have no part in.
    """

    __slots__ = ("exact_from", "exact_later", "exact_to")

    def __init__(
        self, exact_from: NDArray[np.int64], exact_to: NDArray[np.int64], exact_later: NDArray[np.int64]
    ) -> None:
        self.exact_from = exact_from
        self.exact_to = exact_to
        self.exact_later = exact_later


class ExactGraph(Secret):
    """Edges between nodes 0 .. exact_nodes - 1, each once and none from a node to itself.

    Undirected: `exact_from` < `exact_to` in every edge. Directed: an edge and the one back are two.
    Of a table with `ends` the edges stand in the order of a keyed hash of their ends, by which they are projected;
    of others in any order. `exact_traits`: a code for each node, where a trait was asked for; -1 for those that have
    none. `exact_labels`: where the rows of edges say what their ends are. `exact_largest_common` is kept once it is
    known: it takes long, and is asked for twice.
    """

    __slots__ = (
        "directed",
        "exact_from",
        "exact_labels",
        "exact_largest_common",
        "exact_nodes",
        "exact_to",
        "exact_traits",
    )

    def __init__(
        self,
        exact_from: NDArray[np.int64],
        exact_to: NDArray[np.int64],
        *,
        exact_nodes: int,
        directed: bool = False,
        exact_traits: NDArray[np.int64] | None = None,
        exact_labels: EdgeLabels | None = None,
    ) -> None:
        self.exact_from = exact_from
        self.exact_to = exact_to
        self.exact_nodes = exact_nodes
        self.directed = directed
        self.exact_traits = exact_traits
        self.exact_labels = exact_labels
        self.exact_largest_common: int | None = None


class ExactTraits(Secret):
    """The tags of persons who have a value in a column, an Arrow array of bytes, and its code for each."""

    __slots__ = ("exact_codes", "exact_tags")

    def __init__(self, exact_tags: Any, exact_codes: NDArray[np.int64]) -> None:
        self.exact_tags = exact_tags
        self.exact_codes = exact_codes
