"""The card of a release: whose presence is hidden, what is guaranteed, what is not protected, who got which share."""

from __future__ import annotations

import re
from typing import Any

from discreet import exact
from discreet.accounting.events import ReservationEvent
from discreet.graph.graph_shape import GraphShape
from discreet.graph.graph_source import GraphSource
from discreet.graph.public_nodes import PublicNodes

#: What a terminal obeys instead of showing it: control characters, ends of lines, turns of the way of writing; and
#: halves of characters, which it cannot be sent at all.
_COMMANDS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def card_of(
    shape: GraphShape, source: GraphSource, nodes: PublicNodes | None, event: ReservationEvent
) -> dict[str, Any]:
    """Public facts alone."""
    return {
        "unit": "one edge" if shape.unit == "edge" else "one person and all their edges",
        "guarantee": _guarantee(event),
        "protected": _protected(shape, source),
        "not_protected": _not_protected(shape, nodes),
        "shares": {name: round(float(share), 4) for name, share in shape.shares.items()},
    }


def _guarantee(event: ReservationEvent) -> str:
    if event.epsilon is not None:
        return f"epsilon {exact.show(event.epsilon, up=True)}, pure"
    return f"rho {exact.show(event.rho, up=True)} (zero-concentrated)"


def _protected(shape: GraphShape, source: GraphSource) -> str:
    if shape.unit == "node":
        return "whether somebody is in the network at all, and whom they are linked to"
    ends = " and ".join(source.ends or ())
    return f"whether two nodes are linked: all rows that name the same {ends}" + (
        ", in this order" if shape.directed else ", in either order"
    )


def _not_protected(shape: GraphShape, nodes: PublicNodes | None) -> list[str]:
    if shape.unit == "node":
        return []
    facts = ["that somebody has many edges: each edge is hidden, and all of one person's together are not"]
    if nodes is None:
        return facts
    what = f"who the nodes are and what {nodes.table!r} says of them"
    return [*facts, f"{what}: that table is declared public"]


def warnings_of(shape: GraphShape, nodes: PublicNodes | None, limit: int | None) -> list[str]:
    """What the numbers are not, beside their noise."""
    ways = "" if shape.directed else ", whichever way round"
    warnings = [f"rows that repeat an edge{ways} count once, and those from a node to itself not at all"]
    if limit is not None:
        warnings.append(
            f"of somebody with more than {limit:,} edges the others are left out; intervals speak of the noise alone, "
            "and not of those"
        )
    if limit is not None and shape.chooses:
        warnings.append(
            f"the limit of {limit:,} was bought with a quarter of this; rows_per_person = {limit} in discreet.toml, "
            "and a refresh, keep it for all further questions"
        )
    if shape.nodes is None and not shape.counted and {"nodes", "density", "mean_degree"} & set(shape.statistics):
        warnings.append(_uncounted(shape))
    if nodes is not None:
        warnings.append(f"edges with an end that {nodes.table!r} does not have are left out")
    return warnings


def _uncounted(shape: GraphShape) -> str:
    """Whom the number of nodes leaves out, where no table says who there is."""
    if shape.unit == "node":
        return (
            "nodes whom the limit leaves no edge are not counted, nor those that have none: --nodes names a private "
            "table of all of them"
        )
    return "nodes without an edge are in no row, and are not counted: --nodes names a table that has them"


def plain(text: str) -> str:
    """Text of others, such as a group's name, as a terminal may show it: without what would command it.

    >>> plain("Basel\\x1b[2J")
    'Basel?[2J'
    """
    return _COMMANDS.sub("?", text)


def is_plain(text: str) -> bool:
    return _COMMANDS.search(text) is None
