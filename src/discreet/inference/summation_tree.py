"""A summation tree: all the marginals that are wanted of one table, sharing what they have in common.

Summing a table of a million cells costs a millisecond, whatever is left; so marginals that overlap are summed from
their union, which is small, and the large table is read as few times as can be. Run backwards (adding potentials, where
a table is the sum of its spread marginals) the same tree saves the same work.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from discreet.inference.axes import Axes, Table

#: What one more table costs beside its cells, in cells: the price of two calls.
_CALL = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class SummationNode:
    """A marginal of the table: its axes, in the table's order, and the node that it is summed from (-1: the table)."""

    axes: Axes
    parent: int


def plan_sums(sizes: Sequence[int], top: Axes, marginals: Iterable[Iterable[int]]) -> tuple[SummationNode, ...]:
    """The tree, parents first. The first node is the table itself.

    Greedy: the two marginals whose union is smallest are summed from that union, as long as that pays.
    """
    masks = {1 << place: sizes[attribute] for place, attribute in enumerate(top)}
    everything = (1 << len(top)) - 1
    most = math.prod(masks.values())
    parents: dict[int, int] = {}
    loose = {sum(1 << top.index(attribute) for attribute in attributes) for attributes in marginals} - {everything}

    def cells(mask: int) -> int:
        return math.prod(size for bit, size in masks.items() if mask & bit)

    unions = {(a, b): cells(a | b) for a in loose for b in loose if a < b}
    while unions:
        (a, b), size = min(unions.items(), key=lambda item: (item[1], item[0]))
        union = a | b
        if union not in (a, b) and 2 * size + _CALL > most:
            del unions[a, b]
            continue
        for part in {a, b} - {union}:
            parents[part] = union
        loose = (loose - {a, b}) | {union}
        unions = {pair: cells_of_union for pair, cells_of_union in unions.items() if a not in pair and b not in pair}
        unions |= {(min(union, c), max(union, c)): cells(union | c) for c in loose if c != union}
    parents |= dict.fromkeys(loose - {everything}, everything)
    return _ordered(top, everything, parents)


def _ordered(top: Axes, everything: int, parents: dict[int, int]) -> tuple[SummationNode, ...]:
    order = [everything, *sorted(parents, key=lambda mask: (-mask.bit_count(), mask))]
    places = {mask: place for place, mask in enumerate(order)}
    return tuple(
        SummationNode(
            axes=tuple(attribute for place, attribute in enumerate(top) if mask >> place & 1),
            parent=places[parents[mask]] if mask in parents else -1,
        )
        for mask in order
    )


def sum_into(source: Table, axes: Axes, target: Table, keep: Axes) -> list[tuple[Table, Table]]:
    """The steps that sum `source` down to `keep`, a part of its axes in the same order: einsum("ijk->ik") of each pair.

    One run of neighbouring axes at a time, that of most cells first: einsum reads a table seen as (before, gone, after)
    at the speed of memory even where `gone` or `after` is short, which `sum` over such an axis does not.
    """
    steps: list[tuple[Table, Table]] = []
    while axes != keep:
        start, stop = max(_gaps(axes, keep), key=lambda gap: math.prod(source.shape[gap[0] : gap[1]]))
        axes = axes[:start] + axes[stop:]
        shape = source.shape[:start] + source.shape[stop:]
        before, after = math.prod(source.shape[:start]), math.prod(source.shape[stop:])
        summed = target if axes == keep else np.empty(shape)
        steps.append((source.reshape(before, -1, after), summed.reshape(before, after)))
        source = summed
    return steps


def marginal(table: Table, axes: Axes, keep: Axes) -> Table:
    """The table summed down to `keep`, a part of its axes in the same order."""
    if axes == keep:
        return table
    axis_sizes = dict(zip(axes, table.shape, strict=True))
    target = np.empty([axis_sizes[attribute] for attribute in keep])
    for source, into in sum_into(np.ascontiguousarray(table), axes, target, keep):
        np.einsum("ijk->ik", source, out=into)
    return target


def _gaps(axes: Axes, keep: Axes) -> list[tuple[int, int]]:
    """Runs of neighbouring axes that are not kept."""
    gaps: list[tuple[int, int]] = []
    for place, attribute in enumerate(axes):
        if attribute in keep:
            continue
        if gaps and gaps[-1][1] == place:
            gaps[-1] = gaps[-1][0], place + 1
        else:
            gaps.append((place, place + 1))
    return gaps
