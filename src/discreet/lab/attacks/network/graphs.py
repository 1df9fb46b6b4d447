"""Small networks, made up, and their exact statistics: what an owner without noise would publish.

Generated people are nobody: they may be seeded.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class SmallGraph:
    """Links between people 0 .. people - 1: who knows whom, each pair once."""

    people: int
    links: frozenset[tuple[int, int]]

    def __post_init__(self) -> None:
        if not all(0 <= one < other < self.people for one, other in self.links):
            raise ValueError("a link must go from a lower number to a higher one")

    def with_links(self, *links: tuple[int, int]) -> SmallGraph:
        """With more links, and with whoever they bring."""
        new = frozenset((min(link), max(link)) for link in links)
        return SmallGraph(people=max(self.people, *(high + 1 for _, high in new)), links=self.links | new)

    @property
    def neighbours(self) -> list[set[int]]:
        """Those whom each one knows."""
        neighbours: list[set[int]] = [set() for _ in range(self.people)]
        for one, other in self.links:
            neighbours[one].add(other)
            neighbours[other].add(one)
        return neighbours

    def at_least(self, numbers: tuple[int, ...]) -> list[int]:
        """How many people have at least so many links."""
        degrees = [len(each) for each in self.neighbours]
        return [sum(degree >= number for degree in degrees) for number in numbers]

    @property
    def triangles(self) -> int:
        """How many times three all know each other."""
        friends = self.neighbours
        return sum(len(friends[one] & friends[other]) for one, other in self.links) // 3


def random_town(people: int, links: int, *, most: int, seed: int = 10) -> SmallGraph:
    """A town in which everybody knows a few others by chance, and nobody more than `most`."""
    draw = np.random.default_rng(seed)
    chosen_links: set[tuple[int, int]] = set()
    degrees = [0] * people
    while len(chosen_links) < links:
        one, other = sorted(draw.integers(people, size=2).tolist())
        if one < other and (one, other) not in chosen_links and max(degrees[one], degrees[other]) < most:
            chosen_links.add((one, other))
            degrees[one] += 1
            degrees[other] += 1
    return SmallGraph(people=people, links=frozenset(chosen_links))
