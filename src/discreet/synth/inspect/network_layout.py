"""Where the columns of a network are drawn: in layers, parents before children, with few lines that cross.

After Sugiyama, Tagawa and Toda (1981): layers by the longest way from a column without parents; a line over several
layers passes through points of its own in those between; in each layer places follow the mean of their neighbours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

Point = tuple[float, float]
#: A column, or the place at which the line from one to another passes a layer.
Spot = str | tuple[str, str, int]

#: Layers are drawn one below the other if the widest is no wider than this; else side by side.
WIDEST = 820.0
#: The height of a column's box, and the least distance between boxes, lines and layers.
BOX, BETWEEN, LINE, DEEP = 30.0, 22.0, 14.0, 64.0
_SWEEPS = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkLayout:
    """The middle of each column's box, the points of each edge from border to border, and the size of it all.

    `downwards`: layers lie one below the other; else they lie side by side, from left to right.
    """

    boxes: Mapping[str, Point]
    lines: Mapping[tuple[str, str], tuple[Point, ...]]
    width: float
    height: float
    downwards: bool


def lay_out(widths: Mapping[str, float], edges: Sequence[tuple[str, str]]) -> NetworkLayout:
    """Lay out columns whose boxes are so wide. `edges`: from a column to one that comes after it in `widths`.

    Columns without edges stand below all others, in lines.
    """
    joined = [name for name in widths if any(name in edge for edge in edges)]
    depth = _depths(joined, edges)
    layers = _layers(joined, edges, depth)
    across = _places(layers, edges, depth, widths, downwards=True)
    downwards = not across or max(across.values()) - min(across.values()) <= WIDEST - max(widths.values())
    if not downwards:
        across = _places(layers, edges, depth, widths, downwards=False)
    boxes, lines, width, height = _positions(joined, edges, depth, across, widths, downwards=downwards)
    alone = [name for name in widths if name not in depth]
    width, height = _below(alone, widths, boxes, width, height)
    return NetworkLayout(boxes=boxes, lines=lines, width=width, height=height, downwards=downwards)


def _depths(joined: Sequence[str], edges: Sequence[tuple[str, str]]) -> dict[str, int]:
    """How many edges the longest way to each column has."""
    depth: dict[str, int] = {}
    for name in joined:
        depth[name] = max((depth[parent] + 1 for parent, child in edges if child == name), default=0)
    return depth


def _spots(edge: tuple[str, str], depth: Mapping[str, int]) -> list[Spot]:
    """What an edge passes, from its parent to its child."""
    parent, child = edge
    return [parent, *((parent, child, level) for level in range(depth[parent] + 1, depth[child])), child]


def _level(spot: Spot, depth: Mapping[str, int]) -> int:
    return depth[spot] if isinstance(spot, str) else spot[2]


def _layers(joined: Sequence[str], edges: Sequence[tuple[str, str]], depth: Mapping[str, int]) -> list[list[Spot]]:
    layers: list[list[Spot]] = [[] for _ in range(max(depth.values(), default=-1) + 1)]
    for spot in (*joined, *(spot for edge in edges for spot in _spots(edge, depth)[1:-1])):
        layers[_level(spot, depth)].append(spot)
    near = _neighbours(edges, depth)
    for sweep in range(_SWEEPS):
        steps = list(range(1, len(layers))) if sweep % 2 == 0 else list(range(len(layers) - 2, -1, -1))
        for level in steps:
            other = level - 1 if sweep % 2 == 0 else level + 1
            at = {spot: place for place, spot in enumerate(layers[other])}
            before = {spot: float(place) for place, spot in enumerate(layers[level])}
            means = {
                spot: _mean([float(at[each]) for each in near[spot] if each in at], before[spot])
                for spot in layers[level]
            }
            layers[level].sort(key=means.__getitem__)
    return layers


def _neighbours(edges: Sequence[tuple[str, str]], depth: Mapping[str, int]) -> dict[Spot, list[Spot]]:
    near: dict[Spot, list[Spot]] = {}
    for edge in edges:
        spots = _spots(edge, depth)
        for one, other in pairwise(spots):
            near.setdefault(one, []).append(other)
            near.setdefault(other, []).append(one)
    return near


def _mean(numbers: Sequence[float], otherwise: float) -> float:
    return sum(numbers) / len(numbers) if numbers else otherwise


def _size(spot: Spot, widths: Mapping[str, float], *, downwards: bool) -> float:
    """How much room a spot takes across its layer."""
    if not isinstance(spot, str):
        return LINE
    return (widths[spot] if downwards else BOX) + BETWEEN


def _places(
    layers: Sequence[Sequence[Spot]],
    edges: Sequence[tuple[str, str]],
    depth: Mapping[str, int],
    widths: Mapping[str, float],
    *,
    downwards: bool,
) -> dict[Spot, float]:
    """Where each spot is across its layer: near the mean of its neighbours, in order, with room between."""
    near = _neighbours(edges, depth)
    at: dict[Spot, float] = {}
    for layer in layers:
        _put(layer, [0.0] * len(layer), at, widths, downwards=downwards)
    for sweep in range(_SWEEPS):
        for layer in layers if sweep % 2 == 0 else reversed(layers):
            goals = [_mean([at[each] for each in near[spot]], at[spot]) for spot in layer]
            _put(layer, goals, at, widths, downwards=downwards)
    return at


def _put(
    layer: Sequence[Spot],
    goals: Sequence[float],
    at: dict[Spot, float],
    widths: Mapping[str, float],
    *,
    downwards: bool,
) -> None:
    """As near to the goals as order and room allow: least squares, by pooling those that would overlap."""
    ends = list(accumulate(_size(spot, widths, downwards=downwards) for spot in layer))
    middles = [end - _size(spot, widths, downwards=downwards) / 2 for spot, end in zip(layer, ends, strict=True)]
    pools: list[tuple[float, int]] = []  # the mean of goals less middles, and of how many
    for goal, middle in zip(goals, middles, strict=True):
        mean, count = goal - middle, 1
        while pools and pools[-1][0] >= mean:
            before, many = pools.pop()
            mean, count = (before * many + mean * count) / (many + count), many + count
        pools.append((mean, count))
    starts = [mean for mean, count in pools for _ in range(count)]
    at.update({spot: start + middle for spot, start, middle in zip(layer, starts, middles, strict=True)})


def _positions(
    joined: Sequence[str],
    edges: Sequence[tuple[str, str]],
    depth: Mapping[str, int],
    across: Mapping[Spot, float],
    widths: Mapping[str, float],
    *,
    downwards: bool,
) -> tuple[dict[str, Point], dict[tuple[str, str], tuple[Point, ...]], float, float]:
    """Numbers across and along the layers as points of the drawing."""
    if not joined:
        return {}, {}, 0.0, 0.0
    sizes = {spot: LINE if not isinstance(spot, str) else widths[spot] if downwards else BOX for spot in across}
    least = min(place - sizes[spot] / 2 for spot, place in across.items())
    most = max(place + sizes[spot] / 2 for spot, place in across.items())
    thick = BOX if downwards else max(widths[name] for name in joined)
    step = thick + DEEP

    def point(spot: Spot, shift: float = 0.0, along: float = 0.0) -> Point:
        place = across[spot] - least + shift
        # Side by side, boxes begin at one line, so that no edge to a narrow one runs behind a wide one.
        half_box = widths[spot] / 2 if isinstance(spot, str) and not downwards else thick / 2
        deep = _level(spot, depth) * step + half_box + along
        return (place, deep) if downwards else (deep, place)

    boxes = {name: point(name) for name in joined}
    lines = {}
    for edge in edges:
        parent, child = edge
        half = BOX / 2 if downwards else widths[parent] / 2
        child_half = BOX / 2 if downwards else widths[child] / 2
        start = point(parent, _shift(edge, parent, edges, across, sizes), half)
        end = point(child, _shift(edge, child, edges, across, sizes), -child_half)
        lines[edge] = (start, *(point(spot) for spot in _spots(edge, depth)[1:-1]), end)
    deepest = (max(depth.values()) + 1) * step - DEEP
    return boxes, lines, *((most - least, deepest) if downwards else (deepest, most - least))


def _shift(
    edge: tuple[str, str],
    name: str,
    edges: Sequence[tuple[str, str]],
    across: Mapping[Spot, float],
    sizes: Mapping[Spot, float],
) -> float:
    """How far from the middle of a box an edge begins or ends: those that meet there keep their order."""
    side = 0 if edge[0] == name else 1
    beside = sorted((other for other in edges if other[side] == name), key=lambda other: across[other[1 - side]])
    return sizes[name] * 0.5 * ((beside.index(edge) + 0.5) / len(beside) - 0.5)


def _below(
    alone: Sequence[str], widths: Mapping[str, float], boxes: dict[str, Point], width: float, height: float
) -> tuple[float, float]:
    """Columns without edges, in lines below the others. Adds their boxes; returns the new size."""
    if not alone:
        return width, height
    room, x, y = max(width, WIDEST * 0.75), 0.0, height + (DEEP / 2 if height else 0.0) + BOX / 2
    for name in alone:
        if x and x + widths[name] > room:
            x, y = 0.0, y + BOX + BETWEEN / 2
        boxes[name] = (x + widths[name] / 2, y)
        x += widths[name] + BETWEEN
        width = max(width, x - BETWEEN)
    return width, y + BOX / 2
