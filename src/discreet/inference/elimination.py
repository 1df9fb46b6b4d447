"""Making a graph chordal: attributes are eliminated one by one, and what each leaves behind is joined.

What is eliminated together is a clique. The best order is hard to find, so there are two greedy ones: least weight
first, which is quick, and least fill first, which is sometimes better. Sets of attributes are the bits of an int here:
AIM asks by the thousand whether a model has room for one marginal more.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence

from discreet.inference.axes import check_attributes

#: Least fill first is tried where least weight first comes to at most so many times the room: it seldom wins by more.
FILL_TRIED_WITHIN = 2

#: An order takes the graph and gives the cliques: the maximal ones, or more than `most` cells of them.
Order = Callable[["CliqueSizes", Sequence[int], float], list[int]]


class CliqueSizes(dict[int, int]):
    """The cells of each set of attributes, counted once."""

    def __init__(self, sizes: Sequence[int]) -> None:
        super().__init__()
        self._sizes = tuple(sizes)

    def __missing__(self, mask: int) -> int:
        self[mask] = cells = math.prod(self._sizes[attribute] for attribute in bits(mask))
        return cells

    def of(self, cliques: Iterable[int]) -> int:
        """The cells of some cliques together."""
        return sum(self[clique] for clique in cliques)


class EliminationGraph:
    """Which attributes are joined, because some factor holds both; and whether a model has room for more."""

    def __init__(self, sizes: Sequence[int], factors: Iterable[Sequence[int]] = ()) -> None:
        self._weights = CliqueSizes(sizes)
        self._sizes = tuple(sizes)
        self._graph = [0] * len(sizes)
        self._needed: dict[Sequence[int], int] = {}
        for factor in factors:
            self._join(factor)

    def _join(self, factor: Sequence[int]) -> None:
        check_attributes(self._sizes, factor)
        together = sum(1 << attribute for attribute in factor)
        for attribute in factor:
            self._graph[attribute] |= together & ~(1 << attribute)

    def with_factor(self, factor: Sequence[int]) -> EliminationGraph:
        """This one and a factor more."""
        extended = EliminationGraph(self._sizes)
        extended._weights, extended._graph, extended._needed = self._weights, list(self._graph), self._needed
        extended._join(factor)
        return extended

    def holds(self, factor: Sequence[int]) -> bool:
        """Whether the factor joins nothing that is not joined already."""
        together = sum(1 << attribute for attribute in factor)
        return all(not together & ~(self._graph[attribute] | 1 << attribute) for attribute in factor)

    def fits(self, factor: Sequence[int], most: float) -> bool:
        """Whether the model with this factor has at most so many cells, or is as large without it.

        What did not fit is taken to need as many cells in every larger model, too: it is not tried again for less.
        """
        if self.holds(factor):
            return True
        if self._needed.get(factor, 0) > most:
            return False
        after = self.with_factor(factor)
        cells = after._weights.of(eliminate_by_weight(after._weights, after._graph, FILL_TRIED_WITHIN * most))
        if most < cells <= FILL_TRIED_WITHIN * most:
            cells = min(cells, after._weights.of(eliminate_by_fill(after._weights, after._graph, most)))
        if cells > most:
            self._needed[factor] = cells
        return cells <= most

    def cliques(self) -> list[int]:
        """The cliques of the smaller of both models."""
        both_models = [
            order(self._weights, self._graph, math.inf) for order in (eliminate_by_weight, eliminate_by_fill)
        ]
        return min(both_models, key=self._weights.of)

    def cells(self) -> int:
        """How many cells the tables of the model have together."""
        return self._weights.of(self.cliques())


def eliminate_by_weight(weights: CliqueSizes, graph: Sequence[int], most: float) -> list[int]:
    """The attribute first whose clique has the fewest cells."""
    present = list(graph)
    waiting = {attribute: weights[near | 1 << attribute] for attribute, near in enumerate(present)}
    cliques, total = list[int](), 0
    while waiting and total <= most:
        attribute = min(waiting, key=waiting.__getitem__)
        cells = waiting.pop(attribute)
        near, bit = present[attribute], 1 << attribute
        if not _is_held(near | bit, cliques):
            cliques.append(near | bit)
            total += cells
        left = near
        while left:  # written out: this is what an elimination spends its time on
            low = left & -left
            left ^= low
            other = low.bit_length() - 1
            joined = (present[other] | near) & ~bit
            waiting[other] = weights[joined]
            present[other] = joined & ~low
    return cliques


def _is_held(clique: int, cliques: Sequence[int]) -> bool:
    """Whether one of these cliques holds another."""
    for other in cliques:  # noqa: SIM110  # written out, as above
        if not clique & ~other:
            return True
    return False


def eliminate_by_fill(weights: CliqueSizes, graph: Sequence[int], most: float) -> list[int]:
    """The attribute first whose neighbours are joined already, but for the fewest pairs; of those the lightest."""
    present = list(graph)
    waiting = {attribute: _fill(weights, present, attribute) for attribute in range(len(graph))}
    cliques, total = list[int](), 0
    while waiting and total <= most:
        attribute = min(waiting, key=waiting.__getitem__)
        del waiting[attribute]
        near = present[attribute]
        clique = near | 1 << attribute
        if not _is_held(clique, cliques):
            cliques.append(clique)
            total += weights[clique]
        changed = near
        for other in bits(near):
            present[other] = (present[other] | near) & ~(1 << attribute | 1 << other)
            changed |= present[other]
        for other in bits(changed):
            waiting[other] = _fill(weights, present, other)
    return cliques


def _fill(weights: CliqueSizes, present: Sequence[int], attribute: int) -> tuple[int, int]:
    """Twice the number of pairs of neighbours that are not joined yet; and the cells of the clique."""
    near, clique, missing = present[attribute], present[attribute] | 1 << attribute, 0
    left = near
    while left:  # written out: this is what an elimination spends its time on
        low = left & -left
        missing += (near & ~present[low.bit_length() - 1] & ~low).bit_count()
        left ^= low
    return missing, weights[clique]


def bits(mask: int) -> Iterator[int]:
    """The attributes of a set, rising."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low
