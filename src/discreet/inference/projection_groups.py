"""The tables of one group of sets: a clique's marginal times what lies behind some of its edges.

All members of a group have the same attributes in the clique and one attribute behind each of the same edges. One
product makes every combination of what is behind the edges, wanted or not; where members want few of them (large
attributes only together with small ones, say), the group is split until what is made in vain costs less than a split.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from discreet.inference.axes import Axes, Table, cells_of, product
from discreet.inference.separator_conditionals import STACK, ConditionalStack

#: A group's result is at most about this many cells (32 MB); a larger one is made in parts.
MOST_AT_ONCE = 2**22

#: What stands between two products is at most about this many cells (32 MB); a larger one is made in slices.
MOST_BETWEEN = 2**22

#: How many multiplications take as long as copying one number, as writing a new one, and as one more part.
COPY, WRITE, PART = 10, 16, 2_000_000

#: Where the first order of the edges takes so few multiplications, no other is looked for: that would take longer.
FEW_MULTIPLICATIONS = 50_000

#: A split must save this share of a group's cost; more edges than this are taken as they come.
SAVED, MOST_ORDERED = 0.1, 4


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectedSet:
    """A set of a group: its attributes, and which of them lies behind each edge."""

    attributes: Axes
    behind: Axes


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectionGroup:
    """What a group's tables are made of: a clique's marginal and its axes, those wanted themselves, and the edges."""

    base: Table
    axes: Axes
    own: frozenset[int]
    stacks: tuple[ConditionalStack, ...]
    sizes: tuple[int, ...]

    def tables(self, members: Sequence[ProjectedSet]) -> Iterator[tuple[Axes, Table]]:
        """The table of every member: views of larger ones."""
        first, *others = _orders(len(self.stacks))
        orders = [_Order.of(self, first)]
        whole = _GroupPart.of(list(members), self, orders)
        if others and whole.cost > FEW_MULTIPLICATIONS:
            orders += [_Order.of(self, order) for order in others]
            whole = _GroupPart.of(list(members), self, orders)
        waiting = [whole]
        while waiting:
            part = waiting.pop()
            parts = part.split(self, orders)
            if parts:
                waiting += parts
            else:
                yield from self._project_part(part)

    def _project_part(self, part: _GroupPart) -> Iterator[tuple[Axes, Table]]:
        stacks = [self._drop_unneeded(self.stacks[place], part.needed[place]) for place in part.order.places]
        table, axes = self._multiplied(stacks)
        for member in part.members:
            behind = [member.behind[place] for place in part.order.places]
            yield member.attributes, _slice_table(table, axes, member.attributes, behind, stacks)

    def _drop_unneeded(self, stack: ConditionalStack, attributes: set[int]) -> ConditionalStack:
        """The stack without what no member wants, where the copy costs less than multiplying in vain."""
        needed = sum(stack.stops[attribute] - stack.starts[attribute] for attribute in attributes)
        rows = self.base.size / (stack.table.size / stack.table.shape[-1])
        worth = (rows + COPY) * (stack.table.shape[-1] - needed) > COPY * needed  # a product may copy it, too
        return (
            stack.restricted_to([attribute for attribute in stack.starts if attribute in attributes])
            if worth
            else stack
        )

    def _multiplied(self, stacks: list[ConditionalStack]) -> tuple[Table, Axes]:
        """The base times each stack; slice by slice of the first one where all of it would not fit."""
        width = stacks[0].table.shape[-1] if stacks else 1
        step = max(1, width * MOST_BETWEEN // max(1, self._between(stacks)))
        if step >= width:
            return self._product(stacks)
        first, *others = stacks
        slices = [
            self._product([replace(first, table=first.table[..., start : start + step]), *others])
            for start in range(0, width, step)
        ]
        axes = slices[0][1]
        return np.concatenate([table for table, _ in slices], axis=axes.index(STACK)), axes

    def _between(self, stacks: list[ConditionalStack]) -> int:
        """The most cells that stand between two products: the result itself is counted elsewhere."""
        width, most = 1, 0
        for number, stack in enumerate(stacks[:-1]):
            width *= stack.table.shape[-1]
            later = {attribute for other in stacks[number + 1 :] for attribute in other.separator}
            most = max(most, cells_of(self.sizes, {*self.own, *later}) * width)
        return most

    def _product(self, stacks: list[ConditionalStack]) -> tuple[Table, Axes]:
        table, axes = self.base, self.axes
        for number, stack in enumerate(stacks):
            later = {attribute for other in stacks[number + 1 :] for attribute in other.separator}
            stack_axes = (*stack.separator, STACK - number)
            table, axes = product(table, axes, stack.table, stack_axes, {*self.own, *later, *range(STACK - number, 0)})
        return table, axes


@dataclass(frozen=True, slots=True, kw_only=True)
class _Order:
    """An order of the edges: for each product the cells that are multiplied and those that come out, for width 1."""

    places: Axes
    multiplied: Axes
    made: Axes

    @classmethod
    def of(cls, group: ProjectionGroup, places: Axes) -> _Order:
        multiplied, made = [], []
        for number, place in enumerate(places):
            later = {attribute for other in places[number + 1 :] for attribute in group.stacks[other].separator}
            made.append(cells_of(group.sizes, {*group.own, *later}))
            multiplied.append(cells_of(group.sizes, {*group.own, *later, *group.stacks[place].separator}))
        return cls(places=places, multiplied=tuple(multiplied), made=tuple(made))

    def cost(self, widths: Sequence[int]) -> int:
        """In multiplications."""
        total, width = 0, 1
        for place, multiplied, made in zip(self.places, self.multiplied, self.made, strict=True):
            width *= widths[place]
            total += width * (multiplied + WRITE * made)
        return total


@dataclass(frozen=True, slots=True, kw_only=True)
class _GroupPart:
    """Some members of a group, what they want behind each edge, and the order of the edges that costs least."""

    members: list[ProjectedSet]
    needed: list[set[int]]
    order: _Order
    cost: int
    result: int

    @classmethod
    def of(cls, members: list[ProjectedSet], group: ProjectionGroup, orders: Sequence[_Order]) -> _GroupPart:
        needed = [{member.behind[place] for member in members} for place in range(len(group.stacks))]
        widths = [sum(group.sizes[attribute] for attribute in attributes) for attributes in needed]
        costs = [order.cost(widths) for order in orders]
        cost = min(costs)
        return cls(
            members=members,
            needed=needed,
            order=orders[costs.index(cost)],
            cost=cost,
            result=cells_of(group.sizes, group.own) * math.prod(widths),
        )

    def split(self, group: ProjectionGroup, orders: Sequence[_Order]) -> list[_GroupPart]:
        """Two parts where they cost clearly less, or where the result would be too large; else none."""
        large = self.result > MOST_AT_ONCE
        if len(self.members) < 2 or not (large or self.cost > PART / SAVED):
            return []
        splits: list[list[_GroupPart]] = [
            [_GroupPart.of(members, group, orders) for members in halves]
            for halves in self._halves(group.sizes)
            if all(halves)
        ]
        best = min(splits, key=_cost, default=[])
        if large and not best:
            middle = len(self.members) // 2
            return [_GroupPart.of(members, group, orders) for members in (self.members[:middle], self.members[middle:])]
        return best if large or (best and _cost(best) + PART < (1 - SAVED) * self.cost) else []

    def _halves(self, sizes: tuple[int, ...]) -> Iterator[tuple[list[ProjectedSet], list[ProjectedSet]]]:
        """By what lies behind one edge: small attributes and large ones, of about the same width together."""
        for place, attributes in enumerate(self.needed):
            ordered = sorted(attributes, key=lambda attribute: (sizes[attribute], attribute))
            ends = list(itertools.accumulate(sizes[attribute] for attribute in ordered))
            small = {attribute for attribute, end in zip(ordered, ends, strict=True) if 2 * end <= ends[-1]}
            yield (
                [member for member in self.members if member.behind[place] in small],
                [member for member in self.members if member.behind[place] not in small],
            )


def _cost(parts: list[_GroupPart]) -> int:
    return sum(part.cost for part in parts)


def _orders(edges: int) -> list[Axes]:
    """The orders to choose from."""
    return list(itertools.permutations(range(edges))) if edges <= MOST_ORDERED else [tuple(range(edges))]


def _slice_table(
    table: Table, axes: Axes, attributes: Axes, behind: Sequence[int], stacks: list[ConditionalStack]
) -> Table:
    """One set's table, its axes in the order asked."""
    place = {attribute: axes.index(attribute) for attribute in attributes if attribute in axes}
    window: list[slice] = [slice(None)] * len(axes)
    for number, (attribute, stack) in enumerate(zip(behind, stacks, strict=True)):
        place[attribute] = axes.index(STACK - number)
        window[place[attribute]] = slice(stack.starts[attribute], stack.stops[attribute])
    return table[tuple(window)].transpose([place[attribute] for attribute in attributes])
