"""Programs: releases that take steps from a reservation. How far a unit moves each step, where the bundle holds enough.

A unit has at most so many rows of the declared table, and what is measured of counts moves that many times as far as by
one row. Noise for fewer rows is broken; what a bundle does not say stays open.
"""

from fractions import Fraction
from itertools import pairwise
from math import ceil, isqrt
from typing import Any

from measured import SIZES, digest, hashed, ladder, noise_of, norms, numbers, parted, positive, ratio
from relation import Broken, Node, Open, column, unit, whole

#: By how much an edge moves the width of a ladder's rungs.
STEPS = {"triangles": 1, "wedges": 2}
#: The decay of a ladder is so many parts of its epsilon; a root that is paid in rho is rounded down to this grid.
PARTS, GRID = 1024, 10**12


def moved(plan: Node, stored: Any, events: list[Node], drawn: list[Any], axes: Any) -> str:
    """What is derived of the steps of what was reserved, in words. Raises Broken, or Open with what is not derived.

    axes: of marginals, by what their tables are, or None.
    """
    kind, declared = plan["kind"], plan["schemas"][plan["table"]]["declared"]
    reserved, step = plan["event"], (plan["steps"] or [None])[0]
    _, rows = unit(declared)
    if kind == "ranges" and stored["adaptive"] is False and len(events) == 1:
        columns, law = norms(stored["strategy"]), stored["law"]
        far = max(one for one, _ in columns), max(two for _, two in columns)
        if noise(law["kind"].removeprefix("discrete-"), law.get("scale", law.get("sigma2")), far, rows) != events[0]:
            raise Broken("the sensitivity of the strategy does not follow from its columns")
        return "the sensitivity of the strategy's columns is at most what its event states"
    written = axes is not None and digest(counted(kind, stored, axes)) == step["of"]
    if axes is not None and not written:
        raise Broken("the step measured something other than these tables of these columns")
    if kind == "marginals" and len(events) == 1:
        sizes = [cells(declared["columns"], name) for name in stored["columns"]]
        marginals(stored, parted(events[0]), sizes if axes is None else [*map(size_of, axes)], rows)
        words = f"the noise covers {rows} rows per unit on the named parts; of what was measured, only a digest is here"
    elif kind == "batch":
        words = grids(stored, events)
    elif kind == "publish":
        for event, values in zip(events, drawn, strict=True):
            tables(event, values["noisy"], rows)
        words = f"the noise covers {rows} rows per unit on tables that count a row once; what was measured is not here"
    elif kind in ("model", "description", "comparison"):
        words = "an older version wrote this bundle, which does not say what they measured"
    else:
        if kind == "graph":
            climbed(stored["shape"], events, drawn, reserved)
        for part in [part for event in events for part in parted(event)]:
            if part.get("l1", 0) % rows or part.get("l2_squared", 0) % rows**2:
                raise Broken(f"the noise covers fewer than {rows} rows per unit")
        words = "their sensitivities are taken from their events, and not derived here"
    if written:
        return f"the noise covers {rows} rows per unit on all tables, which are what the step measured"
    raise Open(f"steps lose no more than was reserved; {words}")


def climbed(shape: Node, events: list[Node], drawn: list[Any], reserved: Node) -> None:
    """The last steps of a network are its ladders: an edge moves those of triangles by a step of 1, of wedges by 2."""
    floored = shape.get("floored") is True  # those of before were drawn by an exponential mechanism
    names = [name for name in STEPS if name in shape["shares"]]
    others, last = events[: len(events) - len(names)], events[len(events) - len(names) :]
    kinds = [("ladder", STEPS[name]) if floored else ("exponential", None) for name in names]
    if [(event["kind"], event.get("step")) for event in last] != kinds or any(e["kind"] == "ladder" for e in others):
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


def grids(stored: Any, events: list[Node]) -> str:
    """Each grid of a batch is one step: its event is noise of its law on a whole multiple of what one row moves."""
    if len(events) != stored["steps"] or len(stored["grids"]) > len(events):
        raise Broken("the number of steps differs from the number of grids and groups")
    for grid, event in zip(stored["grids"], events, strict=False):
        columns, law = norms(grid["strategy"]), grid["law"]
        far = max(one for one, _ in columns), max(two for _, two in columns)
        kind = law["kind"].removeprefix("discrete-")
        if kind not in SIZES or event["kind"] != kind or event[SIZES[kind]] != law[SIZES[kind]]:
            raise Broken("the event of a grid names another noise than its law")
        times = whole(event["l1"]) // far[0] if kind == "laplace" else isqrt(whole(event["l2_squared"]) // far[1])
        if times < 1 or noise(kind, law[SIZES[kind]], far, times) != event:
            raise Broken("the sensitivity of a grid does not follow from the columns of its strategy")
    return "each grid's event follows from its strategy's columns; what one unit adds to its cells is not derived here"


def noise(kind: str, size: Any, far: tuple[int, int], rows: int) -> Node:
    """The event of noise of this size on what moves so far, by one row: in sum, and in squared length."""
    return noise_of({"kind": kind, SIZES.get(kind): size}, rows * far[0], rows**2 * far[1])


def tables(event: Node, values: Any, rows: int) -> None:
    """A step of tables, each under its own noise, in which a row is counted once. Choices say an epsilon alone."""
    parts = parted(event)
    if isinstance(values, list) and len(parts) != len(values):
        raise Broken("the number of tables differs from the number of events")
    for part in parts:
        if part["kind"] in SIZES and part != noise(part["kind"], part[SIZES[part["kind"]]], (1, 1), rows):
            raise Broken(f"the noise covers fewer than {rows} rows per unit")


def size_of(axis: Any) -> int:
    """How many cells a column has as it was measured: consecutive bins, in one of which each row lies; and NULL."""
    _, edges, null = axis
    if len(edges) < 2 or any(whole(low) >= whole(high) for low, high in pairwise(edges)):
        raise Broken("bins that are not consecutive")
    return len(edges) - 1 + (null is True)


def counted(kind: str, stored: Node, axes: list[Any]) -> Node:
    """What a step of marginals or of a publication says it measured; a row is in one cell of each of its tables."""
    sizes, inside = [size_of(axis) for axis in axes], stored["cells"] if kind == "publish" else {}
    names = stored["columns"] if kind == "marginals" else [*inside["places"], *inside["attributes"]]
    if [of for of, _, _ in axes] != [{"column": name} for name in names]:
        raise Broken("tables by something other than the columns that they name")
    if kind == "publish":
        pairs = [(numbers(level["nodes"]), numbers(groups)) for level in inside["levels"] for groups in level["groups"]]
        measured = [
            ["nodes", max(one) + 1, max(two) + 1, len(one), len(two), hashed(one), hashed(two)] for one, two in pairs
        ]
        return {"linear": measured, "axes": axes}

    def factor(size: int, centred: bool) -> list[Any]:
        return (["matrix", 1, hashed([1, -1])] if size == 2 else ["centred", size]) if centred else ["identity", size]

    factors = [[factor(sizes[axis], axis in centred) for axis in own] for own, centred in stored["parts"]]
    measured = [["product", each] if each else ["identity", 1] for each in factors]
    sets = [own for own, _ in stored["parts"]]
    return {"linear": measured, "sets": sets, "axes": axes, "groups": [[*range(size)] for size in sizes]}


def marginals(stored: Any, events: list[Node], sizes: list[int], rows: int) -> None:
    """Each part is a table, by contrasts along some columns: (1, -1) of two cells, n I - J of more."""
    if len(events) != len(stored["parts"]) or len(events) != len(stored["shares"]):
        raise Broken("the number of events differs from the number of parts")
    for event, (_, centred) in zip(events, stored["parts"], strict=True):
        far = [1, 1]
        for size in [sizes[axis] for axis in centred]:
            one, two = (1, 1) if size == 2 else (2 * (size - 1), size * (size - 1))
            far = [far[0] * one, far[1] * two]
        if event != noise(event["kind"], event[SIZES[event["kind"]]], (far[0], far[1]), rows):
            raise Broken(f"the noise covers fewer than {rows} rows per unit")
    if sum(map(ratio, stored["shares"])) > 1:
        raise Broken("the shares add up to more than the whole")


def cells(columns: Node, name: str) -> int:
    """How many cells a declared column has: its bins, or its single values; and NULL."""
    told = next(each for known, each in columns.items() if known.lower() == name.lower())
    if "bins" in told or "edges" in told:
        return int(told["bins"] if "bins" in told else len(told["edges"]) - 1) + 1
    low, high, null = column(told)
    return int(high - low + 1 + null)
