"""Where a network comes from: a declared table, its columns of ends, and, where they are public, its nodes."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from discreet.accounting.region import Value
from discreet.engines.network.exact_graph import ExactGraph
from discreet.graph.graph_statistics import Unit
from discreet.kernel.curator import Curator, Version


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphSource:
    """How the exact network of a version is read.

    ends: the two columns that name the ends of an edge; None where the table is declared with `ends`.
    keys: the public nodes, in the codes of the ends, which number them; edges to others are left out.
    trait: of nodes that are persons, the table of the same population and its column that sorts them.
    labels: of edges that are rows, the columns that say what either end is.

    Guarantee: neighbours under the version's unit have networks that differ by one edge (`unit` "edge"), or by one
        node and all its edges ("node").
    Because: without `ends` a row names one pair, and the simple graph has a pair once however many rows name it; with
        `ends` the declared table keeps the whole simple graph, in which a person is a node.
    """

    version: Version
    ends: tuple[str, str] | None
    directed: bool = False
    keys: tuple[Value, ...] | None = field(default=None, repr=False)
    trait: tuple[Version, str] | None = None
    labels: tuple[str, str] | None = None

    def __post_init__(self) -> None:
        if self.ends is None and self.keys is not None:
            raise ValueError("nodes whose presence is protected cannot be public")
        if self.trait is not None and (self.ends is not None or self.trait[0].population != self.version.population):
            raise ValueError("a private trait belongs to persons of the same population")
        if self.labels is not None and self.ends is None:
            raise ValueError("the ends of protected persons have no labels")

    @property
    def unit(self) -> Unit:
        return "node" if self.ends is None else "edge"

    def exact_graph(self, curator: Curator) -> ExactGraph:
        """The exact network. For draws that are paid, in `graph_steps`."""
        engine = curator.engine.at(self.version.engine)
        place = engine.place(self.version.file, folder=curator.folder)
        traits = None
        if self.trait is not None:
            beside, column = self.trait
            there = curator.engine.at(beside.engine)
            traits = there.traits(there.place(beside.file, folder=curator.folder), column)
        return engine.graph(
            place, self.ends, directed=self.directed, nodes=self.keys, traits=traits, labels=self.labels
        )

    def to_data(self) -> dict[str, Any]:
        """What it is, for the digest of a step. Public facts."""
        keys = None if self.keys is None else digest(self.keys)
        source: dict[str, Any] = {"ends": self.ends, "directed": self.directed, "keys": keys}
        if self.labels is not None:
            source["labels"] = list(self.labels)
        if self.trait is None:
            return source
        return source | {"trait": [self.trait[0].table, self.trait[0].number, self.trait[1]]}


@lru_cache(maxsize=8)  # of a million nodes it takes a second, and every step asks for it
def digest(keys: tuple[Any, ...]) -> str:
    """By what public values are known again."""
    return hashlib.sha256(json.dumps(keys).encode()).hexdigest()
