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
NEAR = 2

#: An order takes the graph and gives the cliques: the maximal ones, or more than `most` cells of them.
Order = Callable[["Weights", Sequence[int], float], list[int]]


class Weights(dict[int, int]):
    """The cells of each set of attributes, counted once."""

    def __init__(self, sizes: Sequence[int]) -> None:
        super().__init__()
        self._sizes = tuple(sizes)

    def __missing__(self, mask: int) -> int:
        self[mask] = found = math.prod(self._sizes[attribute] for attribute in bits(mask))
        return found

    def of(self, cliques: Iterable[int]) -> int:
        """The cells of some cliques together."""
        return sum(self[clique] for clique in cliques)


class Shape:
    """Which attributes are joined, because some factor holds both; and whether a model has room for more."""

    def __init__(self, sizes: Sequence[int], factors: Iterable[Sequence[int]] = ()) -> None:
        self._weights = Weights(sizes)
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

    def with_(self, factor: Sequence[int]) -> Shape:
        """This one and a factor more."""
        found = Shape(self._sizes)
        found._weights, found._graph, found._needed = self._weights, list(self._graph), self._needed
        found._join(factor)
        return found

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
        after = self.with_(factor)
        cells = after._weights.of(by_weight(after._weights, after._graph, NEAR * most))
        if most < cells <= NEAR * most:
            cells = min(cells, after._weights.of(by_fill(after._weights, after._graph, most)))
        if cells > most:
            self._needed[factor] = cells
        return cells <= most

    def cliques(self) -> list[int]:
        """The cliques of the smaller of both models."""
        found = [order(self._weights, self._graph, math.inf) for order in (by_weight, by_fill)]
        return min(found, key=self._weights.of)

    def cells(self) -> int:
        """How many cells the tables of the model have together."""
        return self._weights.of(self.cliques())


def by_weight(weights: Weights, graph: Sequence[int], most: float) -> list[int]:
    """The attribute first whose clique has the fewest cells."""
    present = list(graph)
    waiting = {attribute: weights[near | 1 << attribute] for attribute, near in enumerate(present)}
    found, total = list[int](), 0
    while waiting and total <= most:
        attribute = min(waiting, key=waiting.__getitem__)
        del waiting[attribute]
        near = present[attribute]
        clique = near | 1 << attribute
        if not any(clique & ~other == 0 for other in found):
            found.append(clique)
            total += weights[clique]
        for other in bits(near):
            present[other] = (present[other] | clique) & ~(1 << attribute)
            waiting[other] = weights[present[other]]
            present[other] &= ~(1 << other)
    return found


def by_fill(weights: Weights, graph: Sequence[int], most: float) -> list[int]:
    """The attribute first whose neighbours are joined already, but for the fewest pairs; of those the lightest."""
    present = list(graph)
    waiting = {attribute: _fill(weights, present, attribute) for attribute in range(len(graph))}
    found, total = list[int](), 0
    while waiting and total <= most:
        attribute = min(waiting, key=waiting.__getitem__)
        del waiting[attribute]
        near = present[attribute]
        clique = near | 1 << attribute
        if not any(clique & ~other == 0 for other in found):
            found.append(clique)
            total += weights[clique]
        changed = near
        for other in bits(near):
            present[other] = (present[other] | near) & ~(1 << attribute | 1 << other)
            changed |= present[other]
        for other in bits(changed):
            waiting[other] = _fill(weights, present, other)
    return found


def _fill(weights: Weights, present: Sequence[int], attribute: int) -> tuple[int, int]:
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
