"""What is measured for a model of a network, and which parts of a reservation pay for it: public constants.

A release keeps its recipe: it is read by it for ever, whatever these constants become.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.accounting.events import ReservationEvent
from discreet.errors import Refused, UsageError
from discreet.graph.graph_shape import CHOOSING, read_shares, thresholds
from discreet.graph.graph_source import GraphSource
from discreet.graph.graph_statistics import AtLeast, Edges, Mixing, Statistic, Unit
from discreet.graph.graph_steps import ONE, law_of
from discreet.graph.model.network_measurements import MOST_NODES
from discreet.graph.public_nodes import PublicNodes
from discreet.kernel.measurement import Law
from discreet.schema.column import Label

#: How the reservation is divided among what is measured; what is not measured leaves its share to the others.
WEIGHTS = {"degrees": 6, "by_block": 6, "edges": 2, "mixing": 8, "persons": 1}

#: The degrees that are measured for each block; how the many edges of few nodes are spread is measured for all at once.
COARSE = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)

#: Where the number of nodes is not public, nobody is said to have more edges than this.
_MOST_DEGREE = 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """What a model is read by. All of it is public. limit: the declared one; `chooses`: it is chosen privately."""

    unit: Unit
    shares: dict[str, Fraction]
    by: str | None = None
    labels: tuple[Label, ...] = ()
    sizes: tuple[int, ...] | None = None
    limit: int | None = None

    @property
    def chooses(self) -> bool:
        return "limit" in self.shares

    @property
    def parts(self) -> list[str]:
        """What gets noise of a law in one step, in order."""
        return [part for part in self.shares if part not in ("limit", "persons")]

    def thresholds(self, limit: int | None) -> tuple[int, ...]:
        """The degrees that are counted: up to the limit, or to all other nodes where their number is public."""
        if limit is not None:
            return thresholds(limit)
        return thresholds(_MOST_DEGREE if self.sizes is None else max(1, sum(self.sizes) - 1))

    def coarse(self, limit: int | None) -> tuple[int, ...]:
        all_thresholds = self.thresholds(limit)
        return tuple(degree for degree in COARSE if degree in all_thresholds) if "by_block" in self.shares else ()

    def statistic(self, part: str, limit: int | None, codes: NDArray[np.int64] | None) -> Statistic:
        """What a part measures. `codes`: the block of each node, by the public attribute."""
        match part:
            case "degrees":
                return AtLeast(thresholds=self.thresholds(limit), limit=limit)
            case "edges":
                return Edges(limit=limit)
            case "by_block" if codes is not None:
                return AtLeast(thresholds=self.coarse(limit), codes=codes, groups=len(self.labels))
            case "mixing" if codes is not None:
                return Mixing(codes=codes, groups=len(self.labels))
            case _:
                raise ValueError(f"no step measures {part!r}")

    def laws(self, event: ReservationEvent, limit: int | None) -> dict[str, Law]:
        """The noise on each part; refuses what cannot be drawn. How far one moves does not depend on who is where."""
        nobody = np.zeros(0, dtype=np.int64)
        part_laws = {
            part: law_of(self.statistic(part, limit, nobody).sensitivity(self.unit), event, self.shares[part])
            for part in self.parts
        }
        return part_laws | ({"persons": law_of(ONE, event, self.shares["persons"])} if "persons" in self.shares else {})

    def to_data(self) -> dict[str, Any]:
        return {
            "unit": self.unit,
            "shares": {name: str(share) for name, share in self.shares.items()},
            "by": self.by,
            "labels": list(self.labels),
            "sizes": None if self.sizes is None else list(self.sizes),
            "limit": self.limit,
        }

    @staticmethod
    def from_data(data: dict[str, Any]) -> Recipe:
        return Recipe(
            unit=data["unit"],
            shares=read_shares(data["shares"]),
            by=data["by"],
            labels=tuple(data["labels"]),
            sizes=None if data["sizes"] is None else tuple(data["sizes"]),
            limit=data["limit"],
        )


def recipe_of(source: GraphSource, nodes: PublicNodes | None, *, counted: bool) -> Recipe:
    """The recipe of a network; refuses, by public facts alone, what has no model."""
    if source.directed:
        raise Refused(
            f"table {source.version.table!r} is directed, but a model has only undirected edges",
            hint="to model its edges as undirected, remove directed = true from its declaration",
        )
    if nodes is not None and not 2 <= nodes.count <= MOST_NODES:
        raise UsageError(f"a model can have 2 to {MOST_NODES:,} nodes, but {nodes.table!r} has {nodes.count:,}")
    by = None if nodes is None else nodes.by
    blocks = nodes is not None and by is not None and len(nodes.labels) > 1
    limit = source.version.schema.unit.limit if source.unit == "node" else None
    chooses = source.unit == "node" and limit is None
    parts = ["degrees", *(["by_block", "mixing"] if blocks else ["edges"]), *(["persons"] if counted else [])]
    rest, total = 1 - (CHOOSING if chooses else 0), sum(WEIGHTS[part] for part in parts)
    shares = {part: rest * Fraction(WEIGHTS[part], total) for part in parts}
    return Recipe(
        unit=source.unit,
        shares=({"limit": CHOOSING} if chooses else {}) | shares,
        by=by,
        labels=() if nodes is None or by is None else nodes.labels,
        sizes=None if nodes is None else nodes.sizes if by is not None else (nodes.count,),
        limit=limit,
    )
