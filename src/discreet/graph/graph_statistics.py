"""What can be asked of a graph as whole numbers, and how far each moves when a unit comes or goes.

Two units. An *edge*: neighbours differ by one edge (a row can add no more than one). A *node*: neighbours differ by one
node and all its edges; then degrees are bounded first, by the projection of `engines.network.projection`.

Every bound is proved in docs/proofs/graphs.md and tried on all small graphs in tests/graph/test_statistics.py.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from discreet.accounting.sensitivity import Sensitivity
from discreet.engines.network import triangles
from discreet.engines.network.exact_graph import ExactGraph
from discreet.engines.network.projection import project
from discreet.mechanisms.integer_arrays import Integers

Unit = Literal["edge", "node"]
Direction = Literal["both", "in", "out"]

#: Why under node privacy nothing but the number of edges and degrees is counted.
NOT_STABLE = "adding one node can replace every edge that the limit keeps"


@dataclass(frozen=True, slots=True, kw_only=True)
class Edges:
    """The number of edges; with `limit`, of those that the projection to this degree keeps."""

    limit: int | None = None

    def __post_init__(self) -> None:
        _check_limit(self.limit)

    def apply(self, graph: ExactGraph) -> Integers:
        return np.array([_projected(graph, self.limit).exact_from.size], dtype=np.int64)

    def sensitivity(self, unit: Unit) -> Sensitivity:
        """Guarantee: 1 for an edge; `limit` for a node.

        Because: a node keeps at most `limit` edges, and each of them makes at most one further one stay or go away
            (a chain of replacements, which begins with one more edge, changes the number by 0 or 1).
        """
        if unit == "edge":
            return _alone(_unprojected(self.limit, 1), "a row is one edge at most")
        most = _projected_to(self.limit)
        return _alone(most, f"a person keeps at most {most} edges, each of which replaces others one for one")

    def to_data(self) -> Any:
        return ["edges", self.limit]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AtLeast:
    """For each group of nodes and each threshold k, the number of nodes of degree k or more; groups one after another.

    `codes` are the groups of the nodes, public, by their numbers. `direction`: which edges count, if they have one.
    """

    thresholds: tuple[int, ...]
    limit: int | None = None
    direction: Direction = "both"
    codes: NDArray[np.int64] | None = None
    groups: int = 1

    def __post_init__(self) -> None:
        _check_limit(self.limit)
        steps = (0, *self.thresholds)
        if not self.thresholds or any(low >= high for low, high in pairwise(steps)):
            raise ValueError("thresholds must be at least 1 and increase")
        if self.limit is not None and self.thresholds[-1] > self.limit:
            raise ValueError("a threshold is above the limit on edges")
        _check_codes(self.codes, self.groups)

    def apply(self, graph: ExactGraph) -> Integers:
        exact_degrees = degrees(_projected(graph, self.limit), self.direction)
        size = len(self.thresholds) + 1
        reached = np.searchsorted(np.array(self.thresholds), exact_degrees, side="right")
        if self.codes is not None:
            reached = reached + size * _of_nodes(self.codes, graph)
        counts = np.bincount(reached, minlength=size * self.groups).reshape(self.groups, size)
        return np.asarray(counts[:, :0:-1].cumsum(axis=1)[:, ::-1].ravel(), dtype=np.int64)

    def sensitivity(self, unit: Unit) -> Sensitivity:
        """Guarantee, for T thresholds: an edge moves 2 entries by 1, or one by 2 (1 and 1 where it counts at one end
            only). A node moves all entries by at most limit + T in sum, and by (limit + 1)^2 + T - 1 in squares.

        Because: a degree that changes by one crosses at most one threshold, and an edge changes two degrees. A node
            adds 1 to each entry at most, and the degrees of others change by `limit` in sum: one for each kept edge.
        """
        if unit == "edge":
            ends = _unprojected(self.limit, 2 if self.direction == "both" else 1)
            because = f"an edge changes {ends} degree{'s'[: ends - 1]} by one, and each crosses one threshold at most"
            return Sensitivity(l0=ends, l1=ends, l2_squared=ends**2, linf=ends, because=(because,))
        most, entries = _projected_to(self.limit), len(self.thresholds)
        if self.direction != "both" or self.codes is not None:
            raise ValueError(NOT_STABLE)
        return Sensitivity(
            l0=entries,
            l1=most + entries,
            l2_squared=(most + 1) ** 2 + entries - 1,
            linf=most + 1,
            because=(
                f"a person adds 1 to each of {entries} entries at most",
                f"and keeps at most {most} edges, each of which changes one other degree by one in the end",
            ),
        )

    def to_data(self) -> Any:
        return ["at least", list(self.thresholds), self.limit, self.direction, _digest(self.codes), self.groups]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Mixing:
    """The number of edges between each two groups of nodes: from (row) to (column), or with both ways in one entry.

    `codes` are the groups of the nodes, public, by their numbers. `pairs` says what each entry counts. `alike`: two
    entries alone, edges within groups and between them.
    """

    codes: NDArray[np.int64]
    groups: int
    directed: bool = False
    alike: bool = False

    def __post_init__(self) -> None:
        _check_codes(self.codes, self.groups)

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """The two groups of each entry, in order; undirected, the first is not above the second."""
        return [
            (one, other)
            for one in range(self.groups)
            for other in range(0 if self.directed else one, self.groups)
        ]  # fmt: skip

    def apply(self, graph: ExactGraph) -> Integers:
        if self.directed and not graph.directed:
            raise ValueError("these edges have no direction")
        codes = _of_nodes(self.codes, graph)
        one, other = codes[graph.exact_from], codes[graph.exact_to]
        if self.alike:
            return np.bincount((one != other).astype(np.int64), minlength=2).astype(np.int64)
        if not self.directed:
            one, other = np.minimum(one, other), np.maximum(one, other)
        counts = np.bincount(one * self.groups + other, minlength=self.groups**2).reshape(self.groups, self.groups)
        return np.asarray(counts.ravel() if self.directed else counts[np.triu_indices(self.groups)], dtype=np.int64)

    def sensitivity(self, unit: Unit) -> Sensitivity:
        """Guarantee: 1 for an edge. Because: it lies between one pair of groups."""
        return _alone(_of_edges(unit, 1), "an edge lies between one pair of groups")

    def to_data(self) -> Any:
        return ["mixing", _digest(self.codes), self.groups, self.directed, *(["alike"] if self.alike else [])]


@dataclass(frozen=True, slots=True, kw_only=True)
class TraitMixing:
    """The number of edges between each two groups of nodes by a private trait, which comes and goes with the node.

    The edges between two groups are a graph of their own, and each such graph is projected to the limit by itself.
    Edges with an end of unknown trait are in none. `alike`: two entries alone, edges within groups and between them.
    """

    groups: int
    limit: int
    directed: bool = False
    alike: bool = False

    def __post_init__(self) -> None:
        _check_mixing(self.groups, self.limit)

    def apply(self, graph: ExactGraph) -> Integers:
        if graph.exact_traits is None or (self.directed and not graph.directed):
            raise ValueError("these edges have no traits, or no direction")
        one, other = graph.exact_traits[graph.exact_from], graph.exact_traits[graph.exact_to]
        if not self.directed:
            one, other = np.minimum(one, other), np.maximum(one, other)
        cells = np.where(one == other, 0, 1) if self.alike else one * self.groups + other
        cells = np.where((one < 0) | (other < 0), -1, cells)
        order = np.argsort(cells, kind="stable")  # within an entry edges stay in the order of the projection
        entries = np.array(self._cells())
        starts, ends = (np.searchsorted(cells[order], entries, side=side) for side in ("left", "right"))
        parts = (order[start:end] for start, end in zip(starts, ends, strict=True))
        return np.array([self._kept(graph, part) for part in parts], dtype=np.int64)

    def sensitivity(self, unit: Unit) -> Sensitivity:
        """Guarantee, for a node: `limit` in each entry that its group has a part in, and there are so many of these:
            all groups; directed twice as many but one; 2 of edges within and between groups.

        Because: in the graph of one entry a node moves the number of kept edges by at most `limit`, as in `Edges`, and
            the graphs of the entries that its group has no part in do not have it.
        """
        if unit != "node":
            raise ValueError("a private trait is protected together with its node")
        entries = 2 if self.alike else 2 * self.groups - 1 if self.directed else self.groups
        return Sensitivity(
            l0=entries,
            l1=entries * self.limit,
            l2_squared=entries * self.limit**2,
            linf=self.limit,
            because=(
                f"a person is in the edges of {entries} entries at most",
                f"and moves each by at most {self.limit}: the edges of an entry are projected by themselves",
            ),
        )

    def to_data(self) -> Any:
        return ["trait mixing", self.groups, self.limit, self.directed, self.alike]

    def _cells(self) -> list[int]:
        if self.alike:
            return [0, 1]
        ranges = ((one, other) for one in range(self.groups) for other in range(self.groups))
        return [one * self.groups + other for one, other in ranges if self.directed or one <= other]

    def _kept(self, graph: ExactGraph, places: NDArray[np.int64]) -> int:
        """How many edges the projection of the graph of one entry keeps."""
        part = ExactGraph(
            graph.exact_from[places], graph.exact_to[places], exact_nodes=graph.exact_nodes, directed=graph.directed
        )
        return int(project(part, self.limit).exact_from.size)


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelMixing:
    """The number of edges between each two groups, where the rows of edges themselves say what their ends are.

    Edges whose rows do not say it, or not of one mind, are in none. `limit`: an edge counts where it is among the
    first so many of both its ends, in an order that labels have no part in. `alike`: edges within groups, and between.
    """

    groups: int
    limit: int | None = None
    directed: bool = False
    alike: bool = False

    def __post_init__(self) -> None:
        _check_mixing(self.groups, self.limit)

    def apply(self, graph: ExactGraph) -> Integers:
        labels = graph.exact_labels
        if labels is None or (self.directed and not graph.directed):
            raise ValueError("these edges have no labels, or no direction")
        counted = labels.exact_from >= 0
        if self.limit is not None:
            counted &= labels.exact_later < self.limit
        one, other = labels.exact_from[counted], labels.exact_to[counted]
        if self.alike:
            return np.bincount((one != other).astype(np.int64), minlength=2).astype(np.int64)
        if not self.directed:
            one, other = np.minimum(one, other), np.maximum(one, other)
        counts = np.bincount(one * self.groups + other, minlength=self.groups**2).reshape(self.groups, self.groups)
        return np.asarray(counts.ravel() if self.directed else counts[np.triu_indices(self.groups)], dtype=np.int64)

    def sensitivity(self, unit: Unit) -> Sensitivity:
        """Guarantee: 1 for an edge, without a limit. With one, 2 limit in sum and 2 limit^2 in squares (3 and 5 at
            least): for an edge, and also for the label of one node in all rows that name it.

        Because: a row changes one pair, which is in one entry or none. With a limit it also drives out at most one edge
            at either end: 1 and 2 in three entries. The label of a node moves at most `limit` edges, each from one
            entry to another; which edges count does not depend on it.
        """
        most = _of_edges(unit, 1)
        if self.limit is None:
            return _alone(most, "a row is one edge at most, and lies between one pair of groups")
        entries = 2 if self.alike else self.groups**2
        return Sensitivity(
            l0=min(entries, max(3, 2 * self.limit)),
            l1=max(3, 2 * self.limit),
            l2_squared=max(5, 2 * self.limit**2),
            linf=max(2, self.limit),
            because=(
                f"a node has {self.limit} edges that count at most, and its label moves each of them to another entry",
                "an edge more is counted, and drives out one at either end at most",
            ),
        )

    def to_data(self) -> Any:
        return ["label mixing", self.groups, self.limit, self.directed, self.alike]


@dataclass(frozen=True, slots=True, kw_only=True)
class TouchedNodes:
    """The number of nodes with an edge."""

    def apply(self, graph: ExactGraph) -> Integers:
        return np.array([np.count_nonzero(degrees(graph))], dtype=np.int64)

    def sensitivity(self, unit: Unit) -> Sensitivity:
        """Guarantee: 2 for an edge. Because: it has two ends."""
        return _alone(_of_edges(unit, 2), "an edge has two ends, which may have no other")

    def to_data(self) -> Any:
        return ["touched nodes"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LargestCommon:
    """The largest number of common neighbours that any two nodes have: how far an edge moves the triangles at most."""

    def apply(self, graph: ExactGraph) -> Integers:
        return np.array([triangles.largest_common(graph)], dtype=np.int64)

    def sensitivity(self, unit: Unit) -> Sensitivity:
        """Guarantee: 1 for an edge. Because: what two nodes share changes by one of its ends at most."""
        return _alone(_of_edges(unit, 1), "an edge gives any two nodes one more common neighbour at most")

    def to_data(self) -> Any:
        return ["largest common"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LargestDegrees:
    """The two largest degrees in sum: how far an edge moves the wedges at most."""

    def apply(self, graph: ExactGraph) -> Integers:
        return np.array([triangles.largest_degrees(graph)], dtype=np.int64)

    def sensitivity(self, unit: Unit) -> Sensitivity:
        """Guarantee: 2 for an edge. Because: it changes two degrees by one, and the largest sum of two by no more."""
        return _alone(_of_edges(unit, 2), "an edge changes two degrees by one")

    def to_data(self) -> Any:
        return ["largest degrees"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Triangles:
    """Triangles, for a `Ladder` of this step: their number, and the most that an edge can move it by (edges alone).

    Guarantee: what `Ladder` asks for. Because: an edge makes or breaks a triangle with each common neighbour of its
        ends, so from either of two neighbouring graphs the number moves by at most its `LargestCommon`.
    """

    step: ClassVar[int] = 1
    first: ClassVar[LargestCommon] = LargestCommon()

    def apply(self, graph: ExactGraph) -> Integers:
        return np.array([triangles.triangles(graph), triangles.largest_common(graph)], dtype=np.int64)

    def to_data(self) -> Any:
        return ["triangles"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wedges:
    """Paths of two edges, for a `Ladder` of this step: their number, and the most that an edge can move it by.

    Guarantee: what `Ladder` asks for. Because: an edge more makes a path with each edge at its ends, so from the graph
        without it the number moves by the sum of two degrees, at most `LargestDegrees` there, and no less with it.
    """

    step: ClassVar[int] = 2
    first: ClassVar[LargestDegrees] = LargestDegrees()

    def apply(self, graph: ExactGraph) -> Integers:
        return np.array([triangles.wedges(graph), triangles.largest_degrees(graph)], dtype=object)

    def to_data(self) -> Any:
        return ["wedges"]


Statistic = Edges | AtLeast | Mixing | TraitMixing | LabelMixing | TouchedNodes | LargestCommon | LargestDegrees
LadderCount = Triangles | Wedges


def apply_statistics(statistics: Sequence[Statistic], graph: ExactGraph) -> list[Integers]:
    """What each statistic is of a graph; a projection that several ask for is made once.

    Because: projecting what is projected to the same limit changes nothing, and is quick.
    """
    limits = [statistic.limit if isinstance(statistic, Edges | AtLeast) else None for statistic in statistics]
    projections = {limit: _projected(graph, limit) for limit in set(limits)}
    return [statistic.apply(projections[limit]) for statistic, limit in zip(statistics, limits, strict=True)]


def degrees(graph: ExactGraph, direction: Direction = "both") -> NDArray[np.int64]:
    """The exact degree of each node: the edges at it, or those of a direction alone."""
    if direction != "both" and not graph.directed:
        raise ValueError("these edges have no direction")
    exact_degrees = np.zeros(graph.exact_nodes, dtype=np.int64)
    if direction != "in":
        exact_degrees += np.bincount(graph.exact_from, minlength=graph.exact_nodes)
    if direction != "out":
        exact_degrees += np.bincount(graph.exact_to, minlength=graph.exact_nodes)
    return exact_degrees


def _projected(graph: ExactGraph, limit: int | None) -> ExactGraph:
    return graph if limit is None else project(graph, limit)


def _projected_to(limit: int | None) -> int:
    if limit is None:
        raise ValueError("a person may have any number of edges, so the sensitivity is not bounded")
    return limit


def _unprojected(limit: int | None, moves: int) -> int:
    """`moves`, of a graph as it is. A projection has no use where an edge is the unit, and moves further."""
    if limit is not None:
        raise ValueError("if the privacy unit is an edge, edges are counted without a limit")
    return moves


def _of_edges(unit: Unit, moves: int) -> int:
    """`moves`, where an edge is the unit."""
    if unit != "edge":
        raise ValueError(NOT_STABLE)
    return moves


def _alone(moves: int, because: str) -> Sensitivity:
    """One entry moves so far, and no other."""
    return Sensitivity(l0=1, l1=moves, l2_squared=moves**2, linf=moves, because=(because,))


def _check_mixing(groups: int, limit: int | None) -> None:
    _check_limit(limit)
    if groups < 2:
        raise ValueError("mixing needs two groups")


def _check_limit(limit: int | None) -> None:
    if limit is not None and limit < 1:
        raise ValueError("a limit on edges must be at least 1")


def _check_codes(codes: NDArray[np.int64] | None, groups: int) -> None:
    if groups < 1 or (codes is None and groups != 1):
        raise ValueError("groups need codes")
    if codes is not None and codes.size and not 0 <= codes.min() <= codes.max() < groups:
        raise ValueError("a code must be the number of a group")


def _of_nodes(codes: NDArray[np.int64], graph: ExactGraph) -> NDArray[np.int64]:
    """Codes, one for each node. Their number is public, and so is that of the nodes that have them."""
    if codes.size != graph.exact_nodes:
        raise ValueError("every node needs a code")
    return codes


def _digest(codes: NDArray[np.int64] | None) -> str | None:
    """Which codes: they are many, and public."""
    return None if codes is None else hashlib.sha256(codes.astype("<i8").tobytes()).hexdigest()
