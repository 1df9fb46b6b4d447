"""From the marginals that were measured to the shape of the model: a junction tree.

Attributes measured together are joined; the graph is made chordal, and its cliques are joined to a tree.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from discreet.inference.axes import Axes
from discreet.inference.elimination import CliqueSizes, EliminationGraph, bits


@dataclass(frozen=True, slots=True, kw_only=True)
class JunctionTree:
    """The structure of a model, without its tables: see `tree.Clique` for the order of attributes, and of cliques."""

    sizes: tuple[int, ...]
    cliques: tuple[Axes, ...]
    separators: tuple[int, ...]
    parents: tuple[int, ...]

    def smallest_clique_with(self, attributes: Iterable[int]) -> int:
        """The smallest clique that holds all these attributes."""
        needed = set(attributes)
        candidates = [place for place, clique in enumerate(self.cliques) if needed <= set(clique)]
        return min(candidates, key=lambda place: math.prod(self.sizes[attribute] for attribute in self.cliques[place]))


def model_cells(sizes: Sequence[int], factors: Iterable[Sequence[int]]) -> int:
    """How many cells the tables of the model would have together.

    >>> model_cells((2, 3, 4), [(0, 1), (1, 2)]), model_cells((2, 3, 4), [(0, 1), (1, 2), (0, 2)])
    (18, 24)
    """
    return EliminationGraph(sizes, factors).cells()


def build_junction_tree(sizes: Sequence[int], factors: Iterable[Sequence[int]]) -> JunctionTree:
    """The junction tree in which every factor lies within a clique and every attribute in at least one."""
    weights = CliqueSizes(sizes)
    cliques = sorted(EliminationGraph(sizes, factors).cliques(), key=lambda clique: (-weights[clique], clique))
    order, parents = _spanning_tree(cliques)
    axes: list[Axes] = []
    separators: list[int] = []
    for clique, parent in zip(order, parents, strict=True):
        shared = tuple(attribute for attribute in axes[parent] if clique >> attribute & 1) if parent >= 0 else ()
        new = sorted(set(bits(clique)) - set(shared), key=lambda attribute: (sizes[attribute], attribute))
        axes.append((*shared, *new))
        separators.append(len(shared))
    return JunctionTree(sizes=tuple(sizes), cliques=tuple(axes), separators=tuple(separators), parents=tuple(parents))


def _spanning_tree(cliques: list[int]) -> tuple[list[int], list[int]]:
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
