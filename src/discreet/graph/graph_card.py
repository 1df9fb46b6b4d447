"""The card of a release: whose presence is hidden, what is guaranteed, what is not protected, who got which share."""

from __future__ import annotations

import re
from typing import Any

from discreet import exact
from discreet.accounting.events import ReservationEvent
from discreet.errors import Flag, Message
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
    if shape.unit == "node" and shape.by is not None:
        return f"whether any one person is in the network, whom they are linked to, and what their {shape.by} is"
    if shape.unit == "node":
        return "whether any one person is in the network, and whom they are linked to"
    ends = " and ".join(source.ends or ())
    links = f"whether two nodes are linked: all rows with the same {ends}" + (
        ", in this order" if shape.directed else ", in either order"
    )
    if shape.labelled and shape.label_limit is not None:
        return f"{links}; and what all rows that name a node say of it in {shape.by}, together"
    return links


def _not_protected(shape: GraphShape, nodes: PublicNodes | None) -> list[str]:
    if shape.unit == "node":
        return []
    facts = ["whether a person has many edges: each single edge is protected, but not all edges of one person together"]
    if shape.labelled and shape.label_limit is None:
        facts.append(
            f"what all edges of a person say of them in {shape.by} together: each edge hides it, but a person with "
            "many edges has it in many"
        )
    if nodes is None:
        return facts
    what = f"who the nodes are, and their attributes in {nodes.table!r}"
    return [*facts, f"{what}: that table is declared public"]


def warnings_of(shape: GraphShape, nodes: PublicNodes | None, limit: int | None) -> list[str]:
    """What the numbers are not, beside their noise."""
    ways = "" if shape.directed else " in either direction"
    warnings = [f"rows that repeat an edge{ways} count once; rows from a node to itself are not counted"]
    if limit is not None:
        warnings.append(
            f"at most {limit:,} edges per person are counted; the confidence intervals cover the added noise, not the "
            "edges that are left out"
        )
    if shape.labelled and {"mixing", "homophily"} & set(shape.shares):
        most = "" if shape.label_limit is None else f"; at most {shape.label_limit:,} edges of a node are counted there"
        warnings.append(f"edges whose rows do not say what both ends are, or disagree, are in no group{most}")
    if limit is not None and {"mixing", "homophily"} & set(shape.shares):
        warnings.append(
            f"for each pair of groups of {plain(str(shape.by))}, at most {limit:,} edges per person are counted; edges "
            "with somebody whose group is not known are not counted there"
        )
    if limit is not None and shape.chooses:
        warnings.append(
            f"a quarter of this price paid for choosing the limit of {limit:,}; to keep it for later queries, set "
            f"rows_per_person = {limit} in discreet.toml and refresh the table"
        )
    if shape.nodes is None and not shape.counted and {"nodes", "density", "mean_degree"} & set(shape.statistics):
        warnings.append(_uncounted(shape))
    if nodes is not None:
        warnings.append(f"edges with an end that is not in {nodes.table!r} are left out")
    return warnings


def _uncounted(shape: GraphShape) -> str:
    """Whom the number of nodes leaves out, where no table says who there is."""
    if shape.unit == "node":
        return Message(
            "nodes without an edge, and nodes left without one by the limit, are not counted: to count them, name a "
            "private table of all nodes with ",
            Flag("nodes"),
        )
    return Message(
        "nodes without an edge are not counted: to count them, name a table of all nodes with ", Flag("nodes")
    )


def plain(text: str) -> str:
    """Text of others, such as a group's name, as a terminal may show it: without what would command it.

    >>> plain("Basel\\x1b[2J")
    'Basel?[2J'
    """
    return _COMMANDS.sub("?", text)


def is_plain(text: str) -> bool:
    return _COMMANDS.search(text) is None
