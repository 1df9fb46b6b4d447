"""From the marginals that were measured to the shape of the model: a junction tree.

Attributes measured together are joined; the graph is made chordal by eliminating attributes one by one, joining what
each leaves behind; what is eliminated together is a clique. The best order is hard to find, so two greedy ones are
tried and the smaller model is taken. Sets of attributes are the bits of an int here: AIM asks for sizes by the hundred.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from discreet.inference.axes import Axes, check_attributes

Score = Callable[[int, int], tuple[int, int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class JunctionTree:
    """The structure of a model, without its tables: see `tree.Clique` for the order of attributes, and of cliques."""

    sizes: tuple[int, ...]
    cliques: tuple[Axes, ...]
    separators: tuple[int, ...]
    parents: tuple[int, ...]

    def holder(self, attributes: Iterable[int]) -> int:
        """The smallest clique that holds all these attributes."""
        wanted = set(attributes)
        found = [place for place, clique in enumerate(self.cliques) if wanted <= set(clique)]
        return min(found, key=lambda place: math.prod(self.sizes[attribute] for attribute in self.cliques[place]))


def cells(sizes: Sequence[int], factors: Iterable[Sequence[int]]) -> int:
    """How many cells the tables of the model would have together.

    >>> cells((2, 3, 4), [(0, 1), (1, 2)]), cells((2, 3, 4), [(0, 1), (1, 2), (0, 2)])
    (18, 24)
    """
    graph = _graph(sizes, factors)
    return min(_weight(sizes, found) for found in _triangulations(sizes, graph))


def cliques_of(sizes: Sequence[int], factors: Iterable[Sequence[int]]) -> JunctionTree:
    """The junction tree in which every factor lies within a clique and every attribute in at least one."""
    graph = _graph(sizes, factors)
    cliques = min(_triangulations(sizes, graph), key=lambda found: _weight(sizes, found))
    cliques.sort(key=lambda clique: (-_cells(sizes, clique), clique))
    order, parents = _spanning(cliques)
    axes: list[Axes] = []
    separators: list[int] = []
    for clique, parent in zip(order, parents, strict=True):
        shared = tuple(attribute for attribute in axes[parent] if clique >> attribute & 1) if parent >= 0 else ()
        new = sorted(set(_bits(clique)) - set(shared), key=lambda attribute: (sizes[attribute], attribute))
        axes.append((*shared, *new))
        separators.append(len(shared))
    return JunctionTree(sizes=tuple(sizes), cliques=tuple(axes), separators=tuple(separators), parents=tuple(parents))


def _graph(sizes: Sequence[int], factors: Iterable[Sequence[int]]) -> list[int]:
    """For each attribute the others that some factor joins it to."""
    neighbours = [0] * len(sizes)
    for factor in factors:
        check_attributes(sizes, factor)
        together = sum(1 << attribute for attribute in factor)
        for attribute in factor:
            neighbours[attribute] |= together
    return [found & ~(1 << attribute) for attribute, found in enumerate(neighbours)]


def _triangulations(sizes: Sequence[int], graph: list[int]) -> Iterator[list[int]]:
    """The maximal cliques by least weight first, and by least fill first."""
    weights: dict[int, int] = {}

    def weight(attribute: int, neighbours: int) -> int:
        clique = neighbours | 1 << attribute
        if clique not in weights:
            weights[clique] = _cells(sizes, clique)
        return weights[clique]

    by_weight = _eliminate(graph, lambda attribute, present: (weight(attribute, present[attribute]), attribute))
    yield by_weight
    yield _eliminate(
        graph, lambda attribute, present: (_fill(attribute, present), weight(attribute, present[attribute]))
    )


def _eliminate(graph: list[int], score: Callable[[int, list[int]], tuple[int, int]]) -> list[int]:
    """Take away the attribute of least score, joining its neighbours, until none is left: the maximal cliques."""
    present = list(graph)
    scores = {attribute: score(attribute, present) for attribute in range(len(graph))}
    found: list[int] = []
    while scores:
        attribute = min(scores, key=scores.__getitem__)
        del scores[attribute]
        neighbours = present[attribute]
        clique = neighbours | 1 << attribute
        if not any(clique & ~other == 0 for other in found):
            found.append(clique)
        changed = neighbours
        for neighbour in _bits(neighbours):
            present[neighbour] = (present[neighbour] | neighbours) & ~(1 << attribute | 1 << neighbour)
            changed |= present[neighbour]
        for other in _bits(changed):
            scores[other] = score(other, present)
    return found


def _fill(attribute: int, present: list[int]) -> int:
    """Twice the number of pairs of neighbours that are not joined yet."""
    neighbours = present[attribute]
    return sum((neighbours & ~present[other] & ~(1 << other)).bit_count() for other in _bits(neighbours))


def _spanning(cliques: list[int]) -> tuple[list[int], list[int]]:
    """The cliques with parents first, and the parents: a spanning tree of most shared attributes (Prim).

    Because: a tree over the maximal cliques of a chordal graph has the running intersection if and only if the sizes of
    its separators sum to the most there is (Jensen and Jensen 1994).
    """
    waiting = dict.fromkeys(range(1, len(cliques)), (0, 0))  # how much is shared, with whom
    order, parents = cliques[:1], [-1][: len(cliques)]
    latest = 0
    while waiting:
        for place, (most, _) in waiting.items():
            shared = (cliques[place] & order[latest]).bit_count()
            if shared > most:
                waiting[place] = shared, latest
        place = max(waiting, key=lambda place: waiting[place][0])
        _, parent = waiting.pop(place)
        order.append(cliques[place])
        parents.append(parent)
        latest = len(order) - 1
    return order, parents


def _weight(sizes: Sequence[int], cliques: list[int]) -> int:
    return sum(_cells(sizes, clique) for clique in cliques)


def _cells(sizes: Sequence[int], clique: int) -> int:
    return math.prod(sizes[attribute] for attribute in _bits(clique))


def _bits(mask: int) -> Iterator[int]:
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low
