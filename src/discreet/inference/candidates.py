"""Many marginals of one model at once, in and out of its cliques: what AIM and MST score in every round.

For each set of attributes a clique is chosen from which no two of them lie behind the same edge. Sets with the same
clique, the same attributes in it and the same edges form a group: one marginal of the clique's table, one matrix
product for each edge with all that is wanted behind it, and the group's tables are cut from the result. Groups are made
one after the other and dropped, so memory stays bounded.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from discreet.inference.axes import Axes, Table, cells_of, check_attributes, product
from discreet.inference.behind import STACK, Marginals, Stack, Surroundings
from discreet.inference.tree import Calibrated

#: A group's result is at most about this many cells (32 MB); a larger one is made in parts.
MOST_AT_ONCE = 2**22

#: What stands between two products is at most about this many cells (128 MB); a larger one is made in slices.
MOST_BETWEEN = 2**24

#: How many multiplications take as long as copying one number.
COPY = 10


def projections(calibrated: Calibrated, sets: Sequence[Sequence[int]]) -> Iterator[tuple[Axes, Table]]:
    """The model's marginal for each set, as `calibrated.project` gives it, in no particular order.

    A table is a view of a larger one: copy what is kept.
    """
    checked = [check_attributes(calibrated.sizes, attributes) for attributes in dict.fromkeys(map(tuple, sets))]
    surroundings = Surroundings(calibrated)
    chosen: dict[int, list[Axes]] = defaultdict(list)
    for attributes, place in zip(checked, _choices(surroundings, checked), strict=True):
        chosen[place].append(attributes)
    for attributes in chosen.pop(-1, []):
        yield attributes, calibrated.project(attributes)
    for place, members in chosen.items():
        yield from _at_clique(surroundings, place, members)


def _choices(surroundings: Surroundings, sets: list[Axes]) -> list[int]:
    """For each set the clique from which it costs least; -1 where there is none."""
    found = [-1] * len(sets)
    by_length: dict[int, list[int]] = defaultdict(list)
    for number, attributes in enumerate(sets):
        by_length[len(attributes)].append(number)
    for length, numbers in by_length.items():
        if length:
            table = np.array([sets[number] for number in numbers])
            for number, place in zip(numbers, _cheapest(surroundings, table), strict=True):
                found[number] = place
    return found


def _cheapest(surroundings: Surroundings, sets: NDArray[np.int64]) -> list[int]:
    """The choice for sets of one length, all at once: by the cells of the marginal that the products start from."""
    best = np.full(len(sets), np.inf)
    choice = np.full(len(sets), -1)
    sizes = surroundings.calibrated.sizes
    for place, clique in enumerate(surroundings.calibrated.cliques):
        toward = surroundings.toward(place)
        needed = np.array([_needed(surroundings, place, attribute, edge) for attribute, edge in enumerate(toward)])
        edges = np.array(toward)[sets]
        union = needed[sets].any(axis=1)
        weights = np.log([sizes[attribute] for attribute in clique.attributes])
        cost = np.where(union, weights, 0).sum(axis=1) + 0.1 * (edges >= 0).sum(axis=1)
        for left, right in itertools.combinations(range(sets.shape[1]), 2):
            cost[(edges[:, left] == edges[:, right]) & (edges[:, left] >= 0)] = np.inf
        better = cost < best
        best[better], choice[better] = cost[better], place
    return [int(place) for place in choice]


def _needed(surroundings: Surroundings, place: int, attribute: int, edge: int) -> list[bool]:
    """Which axes of the clique's table this attribute needs: its own, or the separator that it lies behind."""
    wanted = surroundings.edges[place][edge][1] if edge >= 0 else (attribute,)
    return [held in wanted for held in surroundings.calibrated.cliques[place].attributes]


def _at_clique(surroundings: Surroundings, place: int, members: list[Axes]) -> Iterator[tuple[Axes, Table]]:
    """The sets that were given to this clique, group by group; large marginals first, for small ones come from them."""
    clique, toward = surroundings.calibrated.cliques[place], surroundings.toward(place)
    groups: dict[tuple[frozenset[int], Axes], list[Axes]] = defaultdict(list)
    for attributes in members:
        own = frozenset(attribute for attribute in attributes if toward[attribute] < 0)
        edges = tuple(sorted(toward[attribute] for attribute in attributes if toward[attribute] >= 0))
        groups[own, edges].append(attributes)

    def start(own: frozenset[int], edges: Axes) -> set[int]:
        return {*own, *(held for edge in edges for held in surroundings.edges[place][edge][1])}

    margins = Marginals(clique.attributes, clique.table)
    sizes = surroundings.calibrated.sizes
    for own, edges in sorted(groups, key=lambda group: -cells_of(sizes, start(*group))):
        stacks = [surroundings.stack(place, edge) for edge in edges]
        yield from _group(margins.of(start(own, edges)), own, stacks, groups[own, edges], sizes)


def _group(
    base: tuple[Table, Axes], own: frozenset[int], stacks: list[Stack], members: list[Axes], sizes: tuple[int, ...]
) -> Iterator[tuple[Axes, Table]]:
    """Multiply the base by each stack, and cut the tables out."""
    stacks = [_narrowed(stack, members, cells_of(sizes, base[1])) for stack in stacks]
    stacks.sort(key=lambda stack: stack.table.shape[-1])  # what stands between two products is then smallest
    widths = [stack.table.shape[-1] for stack in stacks]
    result = cells_of(sizes, own) * math.prod(widths)
    if len(members) > 1 and (result > MOST_AT_ONCE or _between(own, stacks, sizes) > MOST_BETWEEN):
        widest = stacks[int(np.argmax([len(stack.starts) for stack in stacks]))]
        for part in _halves(members, widest):
            yield from _group(base, own, stacks, part, sizes)
        return
    table, axes = _multiplied(base, own, stacks, sizes)
    for attributes in members:
        yield attributes, _cut(table, axes, attributes, stacks)


def _between(own: frozenset[int], stacks: list[Stack], sizes: tuple[int, ...]) -> int:
    """The most cells that stand between two products."""
    width, most = 1, 0
    for number, stack in enumerate(stacks):
        width *= stack.table.shape[-1]
        later = {held for other in stacks[number + 1 :] for held in other.separator}
        most = max(most, cells_of(sizes, {*own, *later}) * width)
    return most


def _multiplied(
    base: tuple[Table, Axes], own: frozenset[int], stacks: list[Stack], sizes: tuple[int, ...]
) -> tuple[Table, Axes]:
    """The base times each stack; slice by slice of the first one where all of it would not fit."""
    width = stacks[0].table.shape[-1] if stacks else 1
    step = max(1, width * MOST_BETWEEN // max(1, _between(own, stacks, sizes)))
    if step >= width:
        return _product(base, own, stacks)
    first, *others = stacks
    slices = [
        _product(base, own, [replace(first, table=first.table[..., start : start + step]), *others])
        for start in range(0, width, step)
    ]
    axes = slices[0][1]
    return np.concatenate([table for table, _ in slices], axis=axes.index(STACK)), axes


def _product(base: tuple[Table, Axes], own: frozenset[int], stacks: list[Stack]) -> tuple[Table, Axes]:
    table, axes = base
    for number, stack in enumerate(stacks):
        later = {held for other in stacks[number + 1 :] for held in other.separator}
        stack_axes = (*stack.separator, STACK - number)
        table, axes = product(table, axes, stack.table, stack_axes, {*own, *later, *range(STACK - number, 0)})
    return table, axes


def _narrowed(stack: Stack, members: list[Axes], cells: int) -> Stack:
    """The stack without what no member wants, where the copy costs less than multiplying in vain."""
    wanted = [attribute for attribute in stack.starts if any(attribute in attributes for attributes in members)]
    needed = sum(stack.stops[attribute] - stack.starts[attribute] for attribute in wanted)
    rows = cells / (stack.table.size / stack.table.shape[-1])
    worth = rows * (stack.table.shape[-1] - needed) > COPY * needed
    return stack.only(wanted) if worth else stack


def _halves(members: list[Axes], stack: Stack) -> Iterator[list[Axes]]:
    """The members by which attribute of the stack they hold, in two parts; by number where all hold the same."""
    held = sorted({attribute for attributes in members for attribute in attributes if attribute in stack.starts})
    first = set(held[: len(held) // 2])
    parts = [attributes for attributes in members if first & set(attributes)]
    others = [attributes for attributes in members if not first & set(attributes)]
    if not parts or not others:
        parts, others = members[: len(members) // 2], members[len(members) // 2 :]
    yield parts
    yield others


def _cut(table: Table, axes: Axes, attributes: Axes, stacks: list[Stack]) -> Table:
    """One set's table, its axes in the order asked."""
    place = {attribute: axes.index(attribute) for attribute in attributes if attribute in axes}
    window: list[slice] = [slice(None)] * len(axes)
    for number, stack in enumerate(stacks):
        attribute = next(attribute for attribute in attributes if attribute in stack.starts)
        place[attribute] = axes.index(STACK - number)
        window[place[attribute]] = slice(stack.starts[attribute], stack.stops[attribute])
    return table[tuple(window)].transpose([place[attribute] for attribute in attributes])
