"""Many marginals of one model at once, in and out of its cliques: what AIM and MST score in every round.

For each set of attributes a clique is chosen from which no two of them lie behind the same edge. Sets with the same
clique, the same attributes in it and the same edges form a group: one marginal of the clique's table, one matrix
product for each edge with all that is wanted behind it, and the group's tables are cut from the result (`products`).
Groups are made one after the other and dropped, so memory stays bounded.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from discreet.inference.axes import Axes, Table, cells_of, check_attributes
from discreet.inference.calibrated_tree import CalibratedTree
from discreet.inference.projection_groups import ProjectedSet, ProjectionGroup
from discreet.inference.separator_conditionals import CliqueMarginals, EdgeConditionals


def projections(calibrated: CalibratedTree, sets: Sequence[Sequence[int]]) -> Iterator[tuple[Axes, Table]]:
    """The model's marginal for each set, as `calibrated.project` gives it, in no particular order.

    A table is a view of a larger one: copy what is kept.
    """
    checked = [check_attributes(calibrated.sizes, attributes) for attributes in dict.fromkeys(map(tuple, sets))]
    surroundings = EdgeConditionals(calibrated)
    chosen: dict[int, list[Axes]] = defaultdict(list)
    for attributes, place in zip(checked, _choose_cliques(surroundings, checked), strict=True):
        chosen[place].append(attributes)
    for attributes in chosen.pop(-1, []):
        yield attributes, calibrated.project(attributes)
    for place, members in chosen.items():
        yield from _at_clique(surroundings, place, members)


def _choose_cliques(surroundings: EdgeConditionals, sets: list[Axes]) -> list[int]:
    """For each set the clique from which it costs least; -1 where there is none."""
    chosen = [-1] * len(sets)
    by_length: dict[int, list[int]] = defaultdict(list)
    for number, attributes in enumerate(sets):
        by_length[len(attributes)].append(number)
    for length, numbers in by_length.items():
        if length:
            table = np.array([sets[number] for number in numbers])
            for number, place in zip(numbers, _cheapest_cliques(surroundings, table), strict=True):
                chosen[number] = place
    return chosen


def _cheapest_cliques(surroundings: EdgeConditionals, sets: NDArray[np.int64]) -> list[int]:
    """The choice for sets of one length, all at once: by the cells of the marginal that the products start from."""
    best = np.full(len(sets), np.inf)
    choice = np.full(len(sets), -1)
    sizes = surroundings.calibrated.sizes
    for place, clique in enumerate(surroundings.calibrated.cliques):
        toward = surroundings.edge_by_attribute(place)
        needed = np.array([_needed_axes(surroundings, place, attribute, edge) for attribute, edge in enumerate(toward)])
        edges = np.array(toward)[sets]
        union = needed[sets].any(axis=1)
        weights = np.log([sizes[attribute] for attribute in clique.attributes])
        cost = np.where(union, weights, 0).sum(axis=1) + 0.1 * (edges >= 0).sum(axis=1)
        for left, right in itertools.combinations(range(sets.shape[1]), 2):
            cost[(edges[:, left] == edges[:, right]) & (edges[:, left] >= 0)] = np.inf
        better = cost < best
        best[better], choice[better] = cost[better], place
    return [int(place) for place in choice]


def _needed_axes(surroundings: EdgeConditionals, place: int, attribute: int, edge: int) -> list[bool]:
    """Which axes of the clique's table this attribute needs: its own, or the separator that it lies behind."""
    needed = surroundings.edges[place][edge][1] if edge >= 0 else (attribute,)
    return [clique_attribute in needed for clique_attribute in surroundings.calibrated.cliques[place].attributes]


def _at_clique(surroundings: EdgeConditionals, place: int, members: list[Axes]) -> Iterator[tuple[Axes, Table]]:
    """The sets that were given to this clique, group by group; large marginals first, for small ones come from them."""
    clique, toward = surroundings.calibrated.cliques[place], surroundings.edge_by_attribute(place)
    groups: dict[tuple[frozenset[int], Axes], list[ProjectedSet]] = defaultdict(list)
    for attributes in members:
        own = frozenset(attribute for attribute in attributes if toward[attribute] < 0)
        far = sorted((toward[attribute], attribute) for attribute in attributes if toward[attribute] >= 0)
        behind = tuple(attribute for _, attribute in far)
        groups[own, tuple(edge for edge, _ in far)].append(ProjectedSet(attributes=attributes, behind=behind))

    def start(own: frozenset[int], edges: Axes) -> set[int]:
        return {*own, *(attribute for edge in edges for attribute in surroundings.edges[place][edge][1])}

    margins = CliqueMarginals(clique.attributes, clique.table)
    sizes = surroundings.calibrated.sizes
    for own, edges in sorted(groups, key=lambda group: -cells_of(sizes, start(*group))):
        base, axes = margins.of(start(own, edges))
        stacks = tuple(surroundings.stack(place, edge) for edge in edges)
        yield from ProjectionGroup(base=base, axes=axes, own=own, stacks=stacks, sizes=sizes).tables(groups[own, edges])
