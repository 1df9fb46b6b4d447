"""What is asked of a network, and which parts of a reservation pay for it: public constants.

A release keeps its shares, and is read by them whatever they become here. By which degrees it is told is not kept:
`thresholds` must not change.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from discreet import exact
from discreet.errors import Flag, Message, Refused, UsageError
from discreet.graph.graph_source import GraphSource
from discreet.graph.graph_statistics import NOT_STABLE, Unit
from discreet.graph.private_trait import PrivateTrait, RowLabels
from discreet.graph.public_nodes import PublicNodes
from discreet.schema.schema import closest_name_hint

#: What can be asked, in the order in which it is told.
NAMES = (
    "nodes", "edges", "density", "mean_degree", "degrees", "mixing", "assortativity", "homophily", "triangles",
    "wedges", "clustering",
)  # fmt: skip

#: What a node's presence moves by any number: for these nothing but edge privacy will do.
OF_EDGES = ("triangles", "wedges", "clustering")

#: What needs groups of nodes.
OF_GROUPS = ("mixing", "assortativity", "homophily")

#: How the reservation is divided among what is measured.
WEIGHTS = {
    "persons": 1,
    "nodes": 1,
    "edges": 2,
    "degrees": 5,
    "out_degrees": 3,
    "in_degrees": 3,
    "mixing": 4,
    "homophily": 4,
    "triangles_width": 7,  # a fifth of what triangles get in all: measured, the narrowest intervals
    "triangles": 28,
    "wedges_width": 2,
    "wedges": 7,
}

#: The statistics that have parts of their own. Others are read from these, or from the parts of several.
OWN_PARTS = {
    "edges": ("edges",),
    "degrees": ("degrees", "out_degrees", "in_degrees"),
    "mixing": ("mixing",),
    "homophily": ("homophily",),
    "triangles": ("triangles_width", "triangles"),
    "wedges": ("wedges_width", "wedges"),
}

#: What the choice of a limit takes beforehand, where none is declared.
CHOOSING = Fraction(1, 4)

#: Degrees up to this are told one by one, others by about a tenth.
_ONE_BY_ONE = 32

#: Where the number of nodes is not public, nobody is told to have more edges than this.
_MOST_DEGREE = 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphShape:
    """What a release of statistics is read by. All of it is public.

    nodes: how many there are, where they are public. limit: the declared limit on a node's edges. counted: the number
    of nodes is that of a private table's persons. labels: the values of the attribute that edges are sorted by.
    labelled: the rows of edges say which of these their ends have, and `label_limit` edges of a node count at most.
    floored: the rungs of its ladders have a least width. planned: and their decay follows from it, as in all that are
    released now.
    """

    statistics: tuple[str, ...]
    unit: Unit
    directed: bool
    shares: dict[str, Fraction]
    nodes: int | None = None
    limit: int | None = None
    counted: bool = False
    by: str | None = None
    labels: tuple[Any, ...] = ()
    floored: bool = False
    labelled: bool = False
    label_limit: int | None = None
    planned: bool = False

    @property
    def chooses(self) -> bool:
        """Whether a limit is chosen privately."""
        return "limit" in self.shares

    def to_data(self) -> dict[str, Any]:
        labelled = {"labelled": True, "label_limit": self.label_limit} if self.labelled else {}
        return labelled | {
            "statistics": list(self.statistics),
            "unit": self.unit,
            "directed": self.directed,
            "shares": {name: str(share) for name, share in self.shares.items()},
            "nodes": self.nodes,
            "limit": self.limit,
            "counted": self.counted,
            "by": self.by,
            "labels": list(self.labels),
            "floored": self.floored,
            "planned": self.planned,
        }

    @staticmethod
    def from_data(data: dict[str, Any]) -> GraphShape:
        return GraphShape(
            statistics=tuple(data["statistics"]),
            unit=data["unit"],
            directed=data["directed"],
            shares=read_shares(data["shares"]),
            nodes=data["nodes"],
            limit=data["limit"],
            counted=data["counted"],
            by=data["by"],
            labels=tuple(data["labels"]),
            floored=data.get("floored", False),
            labelled=data.get("labelled", False),
            label_limit=data.get("label_limit"),
            planned=data.get("planned", False),
        )


def read_shares(data: dict[str, str]) -> dict[str, Fraction]:
    """Shares as they are stored: ratios, or whole numbers. Nothing else: an exponent would not fit in any memory."""
    return {name: exact.read(text if "/" in text else f"{text}/1") for name, text in data.items()}


def shape_of(
    only: str | Sequence[str] | None,
    source: GraphSource,
    nodes: PublicNodes | None,
    *,
    counted: bool,
    trait: PrivateTrait | RowLabels | None = None,
) -> GraphShape:
    """The shape of what is asked; refuses what cannot be, by public facts alone."""
    by, labels = (None, ()) if nodes is None else (nodes.by, nodes.labels)
    if trait is not None:
        by, labels = trait.column, trait.labels
    statistics = _read_statistics(only, source.unit, by)
    limit = source.version.schema.unit.limit if source.unit == "node" else None
    needed = _needed(
        statistics, nodes_are_public=nodes is not None, counted=counted, directed=source.directed, unit=source.unit
    )
    if not needed:
        raise UsageError(
            "nothing would be measured: the number of nodes is public, because it is the number of rows of "
            f"{'the table' if nodes is None else repr(nodes.table)}",
            hint="ask for edges or degrees as well",
        )
    chooses = source.unit == "node" and limit is None and any(part != "persons" for part in needed)
    rest, total = 1 - (CHOOSING if chooses else 0), sum(WEIGHTS[part] for part in needed)
    shares = {part: rest * Fraction(WEIGHTS[part], total) for part in needed}
    return GraphShape(
        statistics=statistics,
        unit=source.unit,
        directed=source.directed,
        shares=({"limit": CHOOSING} if chooses else {}) | shares,
        nodes=None if nodes is None else nodes.count,
        limit=limit,
        counted=counted,
        by=by,
        labels=labels,
        labelled=isinstance(trait, RowLabels),
        label_limit=trait.limit if isinstance(trait, RowLabels) else None,
        floored=True,
        planned=True,
    )


def shapes_alone(shape: GraphShape) -> list[GraphShape]:
    """What is asked, once for each statistic that has parts of its own and would get more if it were alone."""
    chosen = {part: share for part, share in shape.shares.items() if part == "limit"}
    total = sum(shape.shares.values()) - sum(chosen.values())
    alone = []
    for name in shape.statistics:
        own = {part: shape.shares[part] for part in OWN_PARTS.get(name, ()) if part in shape.shares}
        if own and sum(own.values()) < total:
            shares = {part: share * total / sum(own.values()) for part, share in own.items()}
            alone.append(replace(shape, statistics=(name,), shares=chosen | shares))
    return alone


def thresholds(most: int) -> tuple[int, ...]:
    """The degrees that a distribution is told at: one by one, then each about a tenth above the last.

    >>> thresholds(3), thresholds(40)[-5:]
    ((1, 2, 3), (31, 32, 35, 38, 40))
    """
    degrees = list(range(1, min(most, _ONE_BY_ONE) + 1))
    while degrees[-1] < most:
        degrees.append(min(most, degrees[-1] + max(1, degrees[-1] // 10)))
    return tuple(degrees)


def most_degree(shape: GraphShape, limit: int | None) -> int:
    """No degree above it is told."""
    if limit is not None:
        return limit
    if shape.nodes is None:
        return _MOST_DEGREE
    return max(1, shape.nodes - 1)


def _read_statistics(only: str | Sequence[str] | None, unit: Unit, by: str | None) -> tuple[str, ...]:
    if only is None:
        # Homophily came later: without a name it would make another question of one that was asked before.
        left_out: tuple[str, ...] = OF_EDGES if unit == "node" else ("homophily",)
        left_out += OF_GROUPS if by is None else ()
        return tuple(name for name in NAMES if name not in left_out)
    words = only.split(",") if isinstance(only, str) else list(only)
    names = [str(word).strip().lower().replace("-", "_").replace(" ", "_") for word in words]
    for name in names:
        if name not in NAMES:
            raise UsageError(f"unknown statistic {name[:40]!r}", hint=closest_name_hint(name, NAMES))
        if unit == "node" and name in OF_EDGES:
            raise Refused(
                f"{name} is not available under node privacy: it would be computed from the edges that a limit keeps, "
                f"and {NOT_STABLE}",
                hint="to protect single edges instead, leave ends out of the table's declaration: then it is available",
            )
    if by is None and set(OF_GROUPS) & set(names):
        raise UsageError(
            "mixing needs an attribute of the nodes: of a public table under edge privacy, of a private one under node "
            "privacy, or of the rows of edges themselves",
            hint=Message(Flag("nodes", "NODES"), " ", Flag("by", "ATTRIBUTE")),
        )
    if not names:
        raise UsageError(
            "no statistic is named", hint=Message(Flag("only", NAMES[:2]), f"; or any of {', '.join(NAMES)}")
        )
    return tuple(name for name in NAMES if name in names)


def _needed(
    statistics: tuple[str, ...], *, nodes_are_public: bool, counted: bool, directed: bool, unit: Unit
) -> list[str]:
    """The parts that are measured for what is asked."""
    degrees = ["out_degrees", "in_degrees"] if directed and unit == "edge" else ["degrees"]
    parts = list(degrees) if "degrees" in statistics else []
    if {"nodes", "density", "mean_degree"} & set(statistics) and not nodes_are_public:
        if counted:
            parts.append("persons")
        elif "degrees" not in parts:  # else their first entry tells it
            parts.append("nodes")
    if {"edges", "density", "mean_degree"} & set(statistics):
        parts.append("edges")
    if {"mixing", "assortativity"} & set(statistics):
        parts.append("mixing")
    if "homophily" in statistics:
        parts.append("homophily")
    for name in ("triangles", "wedges"):
        if name in statistics or "clustering" in statistics:
            parts += [f"{name}_width", name]
    return [part for part in WEIGHTS if part in parts]
