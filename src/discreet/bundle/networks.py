"""What a stored release of a network says of itself, for its card: what is public, who is counted, which limit held."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

#: What releases of networks are stored as.
KINDS = ("graph", "graph model")

#: Stands for the name of a public table, in a release that was stored before names were.
_UNNAMED = "of its nodes"


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeLimit:
    """With how many edges a person counted, and whether that was chosen by the release itself."""

    edges: int
    chosen: bool

    def __str__(self) -> str:
        return "1 edge" if self.edges == 1 else f"{self.edges:,} edges"


def publics_of(stored: Mapping[str, Any]) -> tuple[str, ...]:
    """The public table of nodes, which nothing protects; none where there is none."""
    request = _request_of(stored)
    if "public" in stored:
        return () if stored["public"] is None else (str(stored["public"]),)
    public_nodes = request.get("nodes") if "nodes" in request else request.get("sizes")
    return () if public_nodes is None else (_UNNAMED,)


def counted_of(stored: Mapping[str, Any]) -> tuple[str, int] | None:
    """The private table whose persons are the nodes, and its version; None where none is, or it was not stored."""
    if stored.get("counted") is None:
        return None
    return str(stored["counted"]), int(stored["counted_version"])


def limit_of(kind: str, release: str, payloads: Mapping[str, str]) -> EdgeLimit | None:
    """The limit on a person's edges that a release was counted under; None where it counted no edges of persons."""
    if kind not in KINDS:
        return None
    request = _request_of(json.loads(payloads[release]))
    if request["unit"] != "node" or set(request["shares"]) <= {"persons"}:
        return None
    if request["limit"] is not None:
        return EdgeLimit(edges=int(request["limit"]), chosen=False)
    return EdgeLimit(edges=int(json.loads(payloads[f"{release}.1"])["chosen"]), chosen=True)


def _request_of(stored: Mapping[str, Any]) -> Mapping[str, Any]:
    """What was asked of a network: the shape of statistics, or the recipe of a model."""
    request: Mapping[str, Any] = stored["shape"] if "shape" in stored else stored["recipe"]
    return request
