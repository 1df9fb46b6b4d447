"""What a network is like, as it is released: numbers with intervals, and what they protect and do not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.graph.graph_estimates import (
    CONFIDENCE,
    DegreeCurve,
    GraphEstimate,
    at_most,
    curve,
    estimate_count,
    estimate_ladder_count,
    public_number,
    ratio,
    rounded,
)
from discreet.graph.graph_shape import GraphShape, most_degree, thresholds
from discreet.graph.mixing_matrix import MixingMatrix, assortativity, matrix
from discreet.graph.statistic_parts import DrawnStatistics, widest_rung
from discreet.release import Spending

#: Two estimates that hold at once, for a ratio: each has half of the doubt.
_BOTH = 1 - (1 - CONFIDENCE) / 2


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphStats:
    """Statistics of a network. What was not asked for is None.

    unit: whose presence is hidden, an "edge" or a "node". limit: how many edges of a node are counted at most, under
    node privacy; `chosen`: privately, since none was declared. Directed networks have two curves of degrees. price:
    what the release costs by itself; cost: what this call took from the budget.
    """

    release: str
    table: str
    version: int
    unit: str
    directed: bool
    statistics: tuple[str, ...]
    nodes: GraphEstimate | None = None
    edges: GraphEstimate | None = None
    density: GraphEstimate | None = None
    mean_degree: GraphEstimate | None = None
    degrees: DegreeCurve | None = None
    in_degrees: DegreeCurve | None = None
    out_degrees: DegreeCurve | None = None
    mixing: MixingMatrix | None = None
    assortativity: GraphEstimate | None = None
    homophily: GraphEstimate | None = None
    triangles: GraphEstimate | None = None
    wedges: GraphEstimate | None = None
    clustering: GraphEstimate | None = None
    limit: int | None = None
    chosen: bool = False
    card: Mapping[str, Any]
    price: Spending
    cost: Spending
    cached: bool = False
    warnings: tuple[str, ...] = ()

    def to_data(self) -> dict[str, Any]:
        """Everything as JSON data."""
        released_estimates = {name: getattr(self, name) for name in (*_STATISTIC_FIELDS,)}
        return {
            "release": self.release,
            "table": self.table,
            "version": self.version,
            "unit": self.unit,
            "directed": self.directed,
            "limit": None if self.limit is None else {"edges": self.limit, "chosen": self.chosen},
            "statistics": {name: each.to_data() for name, each in released_estimates.items() if each is not None},
            "confidence": float(CONFIDENCE),
            "card": dict(self.card),
            "price": self.price.to_data(up=True),
            "cost": self.cost.to_data(up=True),
            "cached": self.cached,
            "warnings": list(self.warnings),
        }


_STATISTIC_FIELDS = (
    "nodes", "edges", "density", "mean_degree", "degrees", "out_degrees", "in_degrees", "mixing", "assortativity",
    "homophily", "triangles", "wedges", "clustering",
)  # fmt: skip


def estimates(shape: GraphShape, drawn: DrawnStatistics, codes: NDArray[np.int64] | None = None) -> dict[str, Any]:
    """All estimates of a release, by name; those that were not asked for are left out.

    codes: the groups of public nodes that an edge can have. They bound the edges between two groups.
    """
    estimates_by_name: dict[str, Any] = {}
    sizes = () if codes is None else tuple(np.bincount(codes, minlength=len(shape.labels)).tolist())
    reading = _EstimateReader(shape=shape, drawn=drawn, sizes=sizes)
    for name in shape.statistics:
        estimates_by_name |= reading.estimates_of(name)
    return estimates_by_name


@dataclass(frozen=True, slots=True, kw_only=True)
class _EstimateReader:
    shape: GraphShape
    drawn: DrawnStatistics
    sizes: tuple[int, ...] = ()

    def estimates_of(self, name: str) -> dict[str, Any]:
        match name:
            case "nodes":
                return {name: self._nodes(CONFIDENCE)}
            case "edges":
                return {name: self._edges(CONFIDENCE)}
            case "density" | "mean_degree":
                return {name: self._per_node(name)}
            case "degrees":
                parts = [part for part in ("degrees", "out_degrees", "in_degrees") if part in self.drawn.noisy]
                return {part: self._curve(part) for part in parts}
            case "mixing":
                return {name: self._matrix()}
            case "assortativity":
                noisy, law, groups = self.drawn.noisy["mixing"], self.drawn.laws["mixing"], len(self.shape.labels)
                return {name: assortativity(noisy, law, groups, directed=self.shape.directed)}
            case "homophily":
                return {name: self._homophily()}
            case "clustering":
                shares = (Fraction(3, 4), Fraction(1, 4)) if self.shape.planned else (Fraction(1, 2), Fraction(1, 2))
                sure, surer = (1 - (1 - CONFIDENCE) * share for share in shares)
                top, bottom = self._climbed("triangles", sure), self._climbed("wedges", surer)
                return {name: ratio(top, bottom, times=3.0, most=1.0)}
            case _:
                return {name: self._climbed(name, CONFIDENCE)}

    def _nodes(self, confidence: Fraction) -> GraphEstimate:
        """Public; or the persons of a table; or nodes with an edge, which the first entry of degrees is, too."""
        if self.shape.nodes is not None:
            return public_number(self.shape.nodes)
        part = next(part for part in ("persons", "nodes", "degrees") if part in self.drawn.noisy)
        return estimate_count(int(self.drawn.noisy[part][0]), self.drawn.laws[part], confidence=confidence)

    def _edges(self, confidence: Fraction) -> GraphEstimate:
        most = None if self.shape.nodes is None else self._pairs(self.shape.nodes)
        return estimate_count(
            int(self.drawn.noisy["edges"][0]), self.drawn.laws["edges"], most=most, confidence=confidence
        )

    def _pairs(self, nodes: int) -> int:
        return nodes * (nodes - 1) // (1 if self.shape.directed else 2)

    def _per_node(self, name: str) -> GraphEstimate:
        """Edges for each pair of nodes, or ends of edges for each node."""
        nodes = self._nodes(_BOTH)
        edges = self._edges(CONFIDENCE if nodes.exact else _BOTH)
        if name == "mean_degree":
            return ratio(edges, nodes, times=1.0 if self.shape.directed else 2.0)
        low, value, high = (
            self._pairs(max(2, int(each))) for each in (nodes.interval[0], nodes.value, nodes.interval[1])
        )
        return ratio(edges, GraphEstimate(value=value, interval=(low, high), exact=nodes.exact), most=1.0)

    def _curve(self, part: str) -> DegreeCurve:
        rising = thresholds(most_degree(self.shape, self.drawn.limit))
        return curve(self.drawn.noisy[part], self.drawn.laws[part], rising, nodes=self.shape.nodes)

    def _matrix(self) -> MixingMatrix:
        mixing_matrix = matrix(
            self.drawn.noisy["mixing"],
            self.drawn.laws["mixing"],
            by=str(self.shape.by),
            labels=self.shape.labels,
            directed=self.shape.directed,
        )
        if not self.sizes:
            return mixing_matrix
        rows = tuple(
            tuple(at_most(each, self._between(one, other)) for other, each in enumerate(row))
            for one, row in enumerate(mixing_matrix.edges)
        )
        return replace(mixing_matrix, edges=rows)

    def _homophily(self) -> GraphEstimate:
        """Edges within groups over all: of two counts that hold at once, so the ends of their box."""
        law = self.drawn.laws["homophily"]
        same, different = (estimate_count(int(each), law, confidence=_BOTH) for each in self.drawn.noisy["homophily"])

        def share(alike: float, others: float) -> float:
            return alike / (alike + others) if alike + others > 0 else 0.5

        ends = share(same.interval[0], different.interval[1]), share(same.interval[1], different.interval[0])
        if same.interval[0] + different.interval[0] <= 0:  # there may be no edges at all
            ends = 0.0, 1.0
        return rounded(min(max(share(same.value, different.value), ends[0]), ends[1]), *ends)

    def _between(self, one: int, other: int) -> int:
        """How many edges there can be between two groups; directed, from the one to the other."""
        return self._pairs(self.sizes[one]) if one == other else self.sizes[one] * self.sizes[other]

    def _climbed(self, name: str, confidence: Fraction) -> GraphEstimate:
        """Any three nodes are one triangle at most; two edges at a node lead to two of the others."""
        nodes, most = self.shape.nodes, None
        if nodes is not None:
            most = comb(nodes, 3) if name == "triangles" else nodes * comb(max(0, nodes - 1), 2)
        return estimate_ladder_count(
            int(self.drawn.noisy[name][0]),
            int(self.drawn.noisy[f"{name}_width"][0]),
            self.drawn.laws[f"{name}_width"],
            self.drawn.ladders[name],
            plan=self.drawn.plans[name],
            widest=widest_rung(name, nodes),
            most=most,
            confidence=confidence,
        )
