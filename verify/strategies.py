"""Strategies: what is made of the cells of a table. How many numbers, and how far a row in each cell moves them."""

from typing import Any

from measured import SIZES, hashed, numbers, small
from relation import Broken, Node, Open, whole


def plain(told: Node) -> Node:
    """Single cells are blocks of one, and groups are merged cells of which each is counted."""
    if told["kind"] == "identity":
        return {"kind": "levels", "size": told["size"], "levels": [[1, 1]]}
    if told["kind"] == "groups":
        return {"kind": "merged", "groups": told["groups"], "inner": {"kind": "identity", "size": told["count"]}}
    return told


def norms(told: Node) -> tuple[list[tuple[int, int]], int]:
    """For each cell the l1 norm and the squared length of its column in a strategy: how far a row there moves it.

    Also how many numbers the strategy makes.
    """
    told = plain(told)
    kind = told["kind"]
    if kind == "levels":
        weights, size = [whole(weight) for _, weight in told["levels"]], small(told["size"])
        far = sum(map(abs, weights)), sum(weight**2 for weight in weights)
        return [far] * size, sum(-(-size // whole(block)) for block, _ in told["levels"])
    if kind == "diagonal":
        pairs = [(abs(weight), weight**2) for weight in numbers(told["weights"])]
        return pairs, len(pairs)
    if kind == "matrix":
        entries, cells = numbers(told["entries"]), small(told["cells"])
        lines = [entries[place::cells] for place in range(cells)]
        return [(sum(map(abs, line)), sum(each**2 for each in line)) for line in lines], len(entries) // cells
    if kind == "merged":
        (inner, count), groups = norms(told["inner"]), numbers(told["groups"])  # -1: in none
        if not -1 <= min(groups) <= max(groups) < len(inner):
            raise Broken("cells that are put together have no numbers")
        inner.append((0, 0))
        return [inner[place] for place in groups], count
    if kind not in ("stack", "product"):
        raise Open(f"an unknown kind of strategy: {kind}")
    inside = told["parts" if kind == "stack" else "factors"]
    if len(inside) > 100:
        raise Open("a strategy with too many parts")
    parts = map(norms, inside)
    if kind == "stack":
        every, counts = zip(*parts, strict=True)
        cells_ = zip(*every, strict=True)
        return [(sum(one for one, _ in cell), sum(two for _, two in cell)) for cell in cells_], sum(counts)
    found, count = [(1, 1)], 1
    for factor, many in parts:
        small(len(found) * len(factor))
        found, count = [(one * left, two * right) for one, two in found for left, right in factor], count * many
    return found, count


def law_of(event: Node) -> Node:
    name = SIZES.get(event["kind"], "")
    return {"kind": f"discrete-{event['kind']}", name: event[name]}


def far_by(linear: list[Any], written: list[Node], size: int, added: int) -> list[tuple[int, int, int]]:
    """Of strategies by their short forms how many numbers each makes, and how far they move: each column says how far
    what is added to one cell moves them all. added: by a unit to all cells.
    """
    every = [reach(short, written) for short in linear]
    if any(cells != size for cells, *_ in every):
        raise Broken("a strategy of other cells than were measured")
    return [(count, added * l1, added**2 * l2_squared) for _, count, l1, l2_squared in every]


def reach(short: Any, written: list[Any]) -> tuple[int, int, int, int]:
    """Of a strategy its cells, how many numbers it makes, and how far one row moves them: in sum, in squared length.

    Unevenness: for each block of s cells a unit / s of the sum of |s count - sum|, which a row moves by 2 (s - 1). The
    evenest partition is the least of sums in which a row is in one block.
    """
    if short[0] in ("unevenness", "evenest"):
        (name, size, blocks), price = (short, 0) if short[0] == "unevenness" else short[1:]
        if [name, type(price)] != ["unevenness", int]:
            raise Broken("a strategy with unknown or missing parts")
        if any(whole(block) < 2 or block & (block - 1) for block in blocks):
            raise Broken("blocks whose sizes are not powers of two")
        unit = max(blocks)
        if short[0] == "evenest":
            return size, 1, 2 * unit, 4 * unit**2
        far = [2 * (unit - unit // block) for block in blocks]
        padded = -(-size // unit) * unit
        return size, sum(padded // block for block in blocks), sum(far), sum(each**2 for each in far)
    columns, count = norms(described(short, written))
    return len(columns), count, max(one for one, _ in columns), max(two for _, two in columns)


def described(short: Any, written: list[Any]) -> Node:
    """A strategy as it is written whole, by its short form in what was charged."""
    kind, *parts = short
    if kind in ("identity", "levels"):
        return {"kind": kind} | dict(zip(("size", "levels"), parts, strict=kind == "levels"))
    for strategy in written:
        if shortened(strategy) == short:
            return dict(strategy)
    if kind == "merged":
        return {"kind": kind, "groups": parts[0], "inner": described(parts[1], written)}
    if kind == "product":
        return {"kind": kind, "factors": [described(each, written) for each in parts[0]]}
    raise Broken("a strategy that is not in the bundle")


def shortened(strategy: Node) -> list[Any]:
    """The short form of a strategy: long lists by their digests."""
    kind = strategy["kind"]
    if kind in ("identity", "levels"):
        return [kind, strategy["size"], *([strategy["levels"]] if kind == "levels" else [])]
    if kind == "groups":
        return [kind, strategy["count"], hashed(numbers(strategy["groups"]))]
    if kind == "diagonal":
        return [kind, hashed(numbers(strategy["weights"]))]
    if kind == "matrix":
        entries = numbers(strategy["entries"])
        return [kind, len(entries) // strategy["cells"], hashed(entries)]
    if kind == "merged":
        return [kind, numbers(strategy["groups"]), shortened(strategy["inner"])]
    return [kind, [shortened(each) for each in strategy["parts" if kind == "stack" else "factors"]]]
