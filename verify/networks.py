"""Networks: how far an edge moves each statistic, and which floor and decay a ladder has.

Of networks whose units are nodes, each with all of its rows, a bundle says too little: they stay open.
"""

from fractions import Fraction
from itertools import pairwise
from math import ceil, isqrt
from typing import Any

from measured import check_noise, ladder, numbers, parted, positive, ratio
from relation import Broken, Node, Open, whole

#: By how much an edge moves the width of a ladder's rungs.
STEPS = {"triangles": 1, "wedges": 2}
#: The decay of a ladder is so many parts of its epsilon; a root that is paid in rho is rounded down to this grid.
PARTS, GRID = 1024, 10**12


def check_network(content: Node, events: list[Node], values: Any, rows: int) -> None:
    """Statistics of edges, each of which is a row and a unit; of nodes as units a bundle says too little."""
    check_noise(events, values["noisy"], [edge_moves(*own) for own in content["network"]])


def edge_moves(name: str, *more: Any) -> tuple[int, int, int]:
    """How many numbers there are, and how far one edge moves them: in sum, in squared length (proofs/graphs.md)."""
    if name == "at least":  # nodes of so many edges: an edge has two ends, or one that counts, and each passes one
        thresholds, limit, direction, _, groups = more
        ends = {"both": 2, "out": 1, "in": 1}[direction]
        unlimited(limit)
        if any(whole(one) >= whole(two) for one, two in pairwise([0, *thresholds])):  # else it would pass several
            raise Broken("thresholds that do not rise")
        return len(thresholds) * whole(groups), ends, ends**2
    if name in ("mixing", "label mixing"):
        groups, limit, directed, alike = (more[1], None, more[2], more[3:] == ("alike",)) if name == "mixing" else more
        count = 2 if alike else groups**2 if directed else groups * (groups + 1) // 2
        if limit is None:
            return count, 1, 1
        return count, max(3, 2 * limit), max(5, 2 * limit**2)  # the label of a node moves all of its edges that count
    if name == "edges":
        unlimited(*more)
    far = {"edges": 1, "largest common": 1, "touched nodes": 2, "largest degrees": 2}
    if name not in far:
        raise Open(f"an unknown statistic of a network: {name}")
    return 1, far[name], far[name] ** 2


def unlimited(limit: Any) -> None:
    if limit is not None:
        raise Broken("a limit on the edges of nodes, where an edge is the unit")


def check_ladder(content: Node, events: list[Node], values: Any, rows: int) -> None:
    """A ladder, whose floor and decay are derived from the noisy width of its rungs (programs.py)."""
    if [event["kind"] for event in events] not in (["ladder"], ["exponential"]) or len(values["noisy"]) != 1:
        raise Broken("a count that was not drawn by a ladder")
    if content["climbed"] not in (["triangles"], ["wedges"]) or content.get("floor") != events[0].get("floor"):
        raise Broken("a ladder to another count, or on another floor, than was charged")


def check_ladders(shape: Node, events: list[Node], drawn: list[Any], reserved: Node) -> None:
    """The last steps of a network are its ladders: an edge moves those of triangles by a step of 1, of wedges by 2."""
    floored = shape.get("floored") is True  # those of before were drawn by an exponential mechanism
    names = [name for name in STEPS if name in shape["shares"]]
    others, last = events[: len(events) - len(names)], events[len(events) - len(names) :]
    kinds = [("ladder", STEPS[name]) if floored else ("exponential", None) for name in names]
    if [(event["kind"], event.get("step")) for event in last] != kinds or any(
        e["kind"] == "ladder" for each in others for e in parted(each)
    ):
        raise Broken("a ladder is made for less than one edge, or was never drawn")
    for name, event in zip(names, last, strict=True):
        if floored:
            rungs(name, event, shape, events, drawn, reserved)


def rungs(name: str, event: Node, shape: Node, events: list[Node], drawn: list[Any], reserved: Node) -> None:
    """The floor and the decay of a ladder follow from its share, and from the noisy width of rungs drawn before it.

    The decay is the largest that loses no more than the share at this floor. Before, floors and decays were those of
    the share alone.
    """
    step, shares, pure = STEPS[name], shape["shares"], reserved["epsilon"] is not None
    parts, first = [part for part in shares if part not in ("limit", "persons", *STEPS)], "limit" in shares
    place = parts.index(f"{name}_width")
    measured = parted(events[first])[place]
    far = ("laplace", step, None) if pure else ("gaussian", None, step**2)
    if (measured["kind"], measured.get("l1"), measured.get("l2_squared")) != far:
        raise Broken("the width of the rungs of a ladder was measured for less than one edge")
    share = ratio(shares[name] if "/" in shares[name] else f"{shares[name]}/1")
    epsilon = positive(ratio(reserved["epsilon"]) * share if pure else root(2 * ratio(reserved["rho"]) * share))
    decay, floor = ratio(event["decay"]), whole(event["floor"])
    if shape.get("planned") is True:
        (width,) = numbers(drawn[first]["noisy"][place])
        if shape["nodes"] is not None:  # an edge makes no more than so many
            others = whole(shape["nodes"]) - 2
            width = min(width, max(0, others if name == "triangles" else 2 * (others + 1)))
        wanted = max(step, ceil(7 * step / epsilon), width + ceil(4 * step / epsilon))
        many = decay * PARTS / epsilon
        best = many.denominator == 1 and many < PARTS and ladder(decay, step, floor) <= epsilon
        best = best and (many == PARTS - 1 or ladder(decay + epsilon / PARTS, step, floor) > epsilon)
    else:
        wanted = max(step, ceil(6 * step / epsilon))
        best = decay == epsilon - Fraction(step, wanted)
    if floor != wanted or not (best if pure else decay == epsilon):
        raise Broken("the floor or the decay of a ladder does not follow from its share and the noisy width of rungs")


def root(square: Fraction) -> Fraction:
    """A square root, rounded down."""
    return Fraction(isqrt(square.numerator * GRID**2 // square.denominator), GRID)
