"""Networks: how far an edge, or a node with all of its edges, moves each statistic; a ladder's floor and decay."""

from fractions import Fraction
from itertools import pairwise
from math import ceil, isqrt
from typing import Any

from measured import check_noise, ladder, numbers, parted, positive, ratio
from relation import Broken, Node, Open, listed, same, unit, whole

#: By how much an edge moves the width of a ladder's rungs.
STEPS = {"triangles": 1, "wedges": 2}
#: The decay of a ladder is so many parts of its epsilon; a root that is paid in rho is rounded down to this grid.
PARTS, GRID = 1024, 10**12


class Network:
    """The steps of a release of a network, in their order: its unit is an edge, or a node with all of its edges.

    limit: so many edges of a node count, as is declared, or as an earlier step chose. labels: a private trait's values.
    """

    def __init__(self, plan: Node, stored: Node) -> None:
        self.declared, counted = plan["schemas"][plan["table"]]["declared"], stored.get("counted")
        self.of_nodes, self.of_persons = "ends" in self.declared, "person" in self.declared
        self.limit, self.is_planned = self.declared.get("rows_per_person"), plan["kind"] == "graph"
        self.directed, word = self.declared.get("directed", False), "node" if self.of_nodes else "edge"
        form: Node = stored.get("shape") or stored.get("recipe") or {}
        if {told.get("unit", word) for told in (stored, form)} != {word}:
            raise Broken(f"the release says that it protects something other than one {word}")
        self.labels, self.trait = list[Any](), None
        if not self.of_nodes:
            return
        if "counted" not in stored:
            raise Open("an older bundle, which does not name the tables beside a network")
        beside: Node = {} if counted is None else plan["schemas"][counted]
        if form["by"] is not None:
            self.labels, self.trait = trait(beside["declared"], form["by"]), [counted, beside["version"], form["by"]]
        own = [stored["counted_version"], form.get("counted", counted is not None), form["labels"], form["limit"]]
        own += [form.get("directed", self.directed), stored["public"]]
        own += [form.get(name) for name in ("nodes", "sizes", "labelled", "label_limit")]
        wanted = [beside.get("version"), counted is not None, self.labels, self.limit, self.directed] + [None] * 5
        same(own, wanted, "what is said of the nodes, who are protected,")

    def check(self, kind: str, content: Node, events: list[Node], values: Any) -> None:
        """One step: its network is that of the declared table, and its noise is for one edge, or for one node."""
        of = content["of"]
        own = {name: each for name, each in of.items() if name != "trait"} | {"ends": of["ends"] or []}
        if self.of_nodes:
            own = {"ends": None, "keys": None} | ({"trait": self.trait} if "trait" in of else {})
        same(of, own | {"directed": self.directed}, "the network of a step")
        if kind == "limits":
            self.choose(content["limits"], events, values["chosen"])
        elif kind == "climbed":
            self.climb(content, events, values)
        else:
            node = self.limit, self.labels if "trait" in of else []
            moved = [node_moves(*node, *each) if self.of_nodes else edge_moves(*each) for each in content["network"]]
            check_noise(events, values["noisy"], moved)

    def choose(self, content: Node, events: list[Node], chosen: Any) -> None:
        """A limit, by scores in each of which a node moves the difference of two projections by both limits at most."""
        charged = [{"kind": "exponential", "epsilon": as_ratio(content["epsilon"])}]
        if not self.of_nodes or self.limit is not None or events != charged:
            raise Broken("a limit on the edges of nodes that was not chosen by its epsilon, or was there before")
        if min(content["candidates"]) < 1 or chosen not in content["candidates"]:
            raise Broken("a limit that was not among those to choose from")
        self.limit = whole(chosen)

    def climb(self, content: Node, events: list[Node], values: Any) -> None:
        """A ladder, whose floor and decay are derived from the noisy width of its rungs."""
        if self.of_nodes or not self.is_planned:  # only the shape of statistics says which floor and decay it has
            raise Broken("a ladder in a release that plans none")
        if [event["kind"] for event in events] not in (["ladder"], ["exponential"]) or len(values["noisy"]) != 1:
            raise Broken("a count that was not drawn by a ladder")
        if content["climbed"] not in (["triangles"], ["wedges"]) or content.get("floor") != events[0].get("floor"):
            raise Broken("a ladder to another count, or on another floor, than was charged")


def trait(declared: Node, name: str) -> list[Any]:
    """The values of a private trait: a column of a table with one row for each person, so that nobody has two."""
    column = declared["columns"][name]
    if unit(declared) != (False, 1) or len(listed(declared["person"])) != 1:
        raise Broken("a trait of which a person can have several values")
    return [False, True] if column["type"] == "boolean" else list(column["values"])


def rising(thresholds: list[Any]) -> int:
    """How many thresholds there are. A degree that changes by one passes one of them, else it would pass several."""
    if any(whole(one) >= whole(two) for one, two in pairwise([0, *thresholds])):
        raise Broken("thresholds that do not rise")
    return len(thresholds)


def entries(groups: int, directed: Any, alike: Any) -> int:
    """How many pairs of groups there are; alike: of one group, and of two."""
    return 2 if alike else groups**2 if directed else groups * (groups + 1) // 2


def node_moves(most: int | None, labels: list[Any], name: str, *more: Any) -> tuple[int, int, int]:
    """How many numbers there are, and how far one node moves them (theorems 1 and 3 of proofs/graphs.md).

    The projection keeps so many of its edges at most, each of which moves one other degree by one in the end. By a
    trait each pair of groups is projected alone, and a node has a part in those with its own group.
    """
    right = True
    if name == "edges":
        (limit,) = more
        moved = 1, limit, limit**2
    elif name == "at least":
        (thresholds, limit, *plain), many = more, rising(more[0])
        right = plain == ["both", None, 1] and thresholds[-1] <= limit
        moved = many, limit + many, (limit + 1) ** 2 + many - 1
    elif name == "trait mixing":
        groups, limit, directed, alike = more
        own = 2 if alike else 2 * groups - 1 if directed else groups
        right = groups == len(labels) > 0 and {type(directed), type(alike)} == {bool} and directed + alike < 2
        moved = entries(groups, directed, alike), own * limit, own * limit**2
    else:
        raise Broken(f"one node can change this number of edges without limit: {name}")
    if not right or whole(limit) != most:
        raise Broken("thresholds, groups or a limit on the edges of a node that were not declared or chosen")
    return moved


def edge_moves(name: str, *more: Any) -> tuple[int, int, int]:
    """How many numbers there are, and how far one edge moves them: in sum, in squared length (proofs/graphs.md)."""
    if name == "at least":  # nodes of so many edges: an edge has two ends, or one that counts, and each passes one
        thresholds, limit, direction, _, groups = more
        ends = {"both": 2, "out": 1, "in": 1}[direction]
        unlimited(limit)
        return rising(thresholds) * whole(groups), ends, ends**2
    if name in ("mixing", "label mixing"):
        groups, limit, directed, alike = (more[1], None, more[2], more[3:] == ("alike",)) if name == "mixing" else more
        count = entries(groups, directed, alike)
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
    share = ratio(as_ratio(shares[name]))
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


def as_ratio(told: str) -> str:
    """A ratio as text, as it is charged; what a step says of itself leaves out the stroke of whole numbers."""
    return told if "/" in told else f"{told}/1"


def root(square: Fraction) -> Fraction:
    """A square root, rounded down."""
    return Fraction(isqrt(square.numerator * GRID**2 // square.denominator), GRID)
