"""Workloads for the overlap: a clinic's questions, worst cases, small worlds that can be counted out."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from discreet.accounting.region import NOT_NULL, ONLY_NULL, Box, Region, Value, ValueSet
from discreet.exact import UNBOUNDED


@dataclass(frozen=True, slots=True, kw_only=True)
class Charge:
    """A question's region and losses."""

    region: Region
    pure: int
    rho: int

    @property
    def third(self) -> int:
        """The loss in a third arm, which neither of the others makes needless."""
        return min(self.pure, 3 * self.rho)


# A clinic: ten columns, popular values, one to four columns a question.

CATEGORIES = {"sex": 2, "smoker": 2, "marital": 5, "insurance": 4, "region": 12, "ward": 40, "disease": 60}
NUMBERS = {"age": (0, 120, 5), "income": (0, 200_000, 1000), "admitted": (18_000, 20_000, 30)}
COLUMNS = [*CATEGORIES, *NUMBERS]
POPULARITY = [2, 1, 1, 1, 2, 1, 2, 2, 1, 1]


class Clinic:
    """Questions as analysts ask them. `skew`: how much the first values of a category are preferred; 0 is
    evenly, which is harder, since then no corner of the space stands out."""

    def __init__(self, seed: int, *, skew: float = 0.7) -> None:
        self.random = random.Random(f"clinic {seed}")
        self.skew = skew

    def charges(self, count: int) -> list[Charge]:
        return [self.charge() for _ in range(count)]

    def charge(self) -> Charge:
        thousandths = self.random.choices([5, 10, 20, 50], [35, 35, 20, 10])[0]
        return Charge(region=self.region(), pure=thousandths * 10**6, rho=thousandths**2 * 10**6 // 2)

    def region(self) -> Region:
        kind = self.random.random()
        if kind < 0.03:
            return Region.whole()
        boxes = self.random.randint(2, 3) if kind < 0.09 else 1
        return Region.of([self.box() for _ in range(boxes)])

    def box(self) -> Box:
        wanted = self.random.choices([1, 2, 3, 4], [30, 35, 25, 10])[0]
        columns: dict[str, None] = {}
        while len(columns) < wanted:
            columns[self.random.choices(COLUMNS, POPULARITY)[0]] = None
        return Box({column: self.side(column) for column in columns})

    def side(self, column: str) -> ValueSet:
        return self.category(CATEGORIES[column]) if column in CATEGORIES else self.number(*NUMBERS[column])

    def category(self, size: int) -> ValueSet:
        kind = self.random.random()
        if kind < 0.72 or size == 2:
            return ValueSet.of(self.values(size, 1))
        if kind < 0.92:
            return ValueSet.of(self.values(size, self.random.randint(2, 5)))
        if kind < 0.97:
            return NOT_NULL & ValueSet.of(self.values(size, 1)).complement()
        return self.random.choice([ONLY_NULL, NOT_NULL])

    def values(self, size: int, count: int) -> list[int]:
        return self.random.choices(range(size), [(place + 1) ** -self.skew for place in range(size)], k=count)

    def number(self, low: int, high: int, step: int) -> ValueSet:
        kind = self.random.random()
        one, other = sorted((self.endpoint(low, high, step), self.endpoint(low, high, step)))
        if kind < 0.25:
            return ValueSet.interval(one, None)
        if kind < 0.4:
            return ValueSet.interval(None, one)
        return ValueSet.interval(one, other + 1) if kind < 0.85 else ValueSet.of([one])

    def endpoint(self, low: int, high: int, step: int) -> int:
        if self.random.random() < 0.3:
            return self.random.randrange(low, high)
        return self.random.randrange(low, high, step * self.random.choice([1, 4]))


# Worst cases: no corner of the space stands out and every pair of columns pulls its own way.


def random_boxes(count: int, seed: int, *, columns: int = 10) -> list[Charge]:
    """Wide intervals on three of ten columns."""
    source = random.Random(f"boxes {seed}")
    charges = []
    for _ in range(count):
        sides = {}
        for column in source.sample(range(columns), 3):
            low = source.randrange(0, 60)
            sides[f"c{column}"] = ValueSet.interval(low, low + source.randrange(20, 60))
        charges.append(Charge(region=Region.of([Box(sides)]), pure=source.randrange(5, 15) * 10**6, rho=10**6))
    return charges


def grid(count: int, seed: int, *, columns: int = 10, size: int = 12) -> list[Charge]:
    """Half of the values of one column and half of those of another, as IN lists."""
    source = random.Random(f"grid {seed}")
    charges = []
    for _ in range(count):
        sides = {f"c{c}": ValueSet.of(source.sample(range(size), size // 2)) for c in source.sample(range(columns), 2)}
        charges.append(Charge(region=Region.of([Box(sides)]), pure=10**7, rho=10**6))
    return charges


def clique(count: int, seed: int, *, columns: int = 10, size: int = 6) -> list[Charge]:
    """Edges of a random graph with a part for each column: the fullest record is the densest choice of vertices."""
    source = random.Random(f"clique {seed}")
    charges = []
    for _ in range(count):
        sides = {f"c{c}": ValueSet.of([source.randrange(size)]) for c in source.sample(range(columns), 2)}
        charges.append(Charge(region=Region.of([Box(sides)]), pure=10**7, rho=10**6))
    return charges


# Small worlds: few enough cells that every one of them can be looked at.


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """A history and a question, with the values of each column that tell all its cells apart."""

    charges: tuple[Charge, ...]
    question: Region
    values: dict[str, tuple[Value | None, ...]]

    @property
    def points(self) -> int:
        return int(np.prod([len(values) for values in self.values.values()], dtype=np.int64))

    def holds(self, region: Region) -> np.ndarray:
        """Of every point, does it lie in the region? Asks the region's own values, not the cells under test."""
        found = np.zeros([len(values) for values in self.values.values()], dtype=bool)
        for box in region.boxes:
            inside = np.ones_like(found)
            for axis, (column, values) in enumerate(self.values.items()):
                if column in box.sides:
                    along = [1] * found.ndim
                    along[axis] = len(values)
                    inside &= np.array([value in box.sides[column] for value in values]).reshape(along)
            found |= inside
        return found

    def loads(self, arm: str) -> np.ndarray:
        """Of every point of the question, exactly what it has lost."""
        load = np.zeros([len(values) for values in self.values.values()], dtype=object)
        for charge in self.charges:
            load[self.holds(charge.region)] += getattr(charge, arm)
        return load[self.holds(self.question)]


TEXTS = ["", "a", "a\0", "ab", "b", "ba", "c"]


class SmallWorlds:
    """Random small worlds: one to five columns of numbers or text, unions, complements, NULL, repeats, ties."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(f"worlds {seed}")

    def world(self) -> World:
        while True:
            kinds = [self.random.random() < 0.3 for _ in range(self.random.randint(1, 5))]
            columns = [f"{'t' if text else 'n'}{number}" for number, text in enumerate(kinds)]
            charges = tuple(self.charges(columns))
            question = self.region(columns)
            world = World(
                charges=charges, question=question, values=telling([*(c.region for c in charges), question], columns)
            )
            if world.points <= 3000:
                return world

    def charges(self, columns: Sequence[str]) -> list[Charge]:
        size = self.random.choice([1, 3, 20, 10**9])
        unbounded = self.random.random() < 0.2
        charges: list[Charge] = []
        for _ in range(self.random.randint(1, 13)):
            region = self.random.choice(charges).region if charges and self.chance(0.1) else self.region(columns)
            pure = UNBOUNDED if unbounded and self.chance(0.3) else self.random.randint(0, size)
            charges.append(Charge(region=region, pure=pure, rho=self.random.randint(0, size)))
        return charges

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def region(self, columns: Sequence[str]) -> Region:
        kind = self.random.random()
        if kind < 0.04:
            return Region.whole()
        boxes = [self.box(columns) for _ in range(self.random.choice([1, 1, 1, 2, 3]))]
        return Region.of(boxes) if kind < 0.9 else Region(tuple(boxes))

    def box(self, columns: Sequence[str]) -> Box:
        some = self.random.sample(columns, self.random.randint(1, min(3, len(columns))))
        return Box({column: self.side(column) for column in some})

    def side(self, column: str) -> ValueSet:
        pool: Sequence[Value] = TEXTS if column.startswith("t") else range(6)
        low, high = sorted(self.random.sample(pool, 2))
        side = self.random.choice(
            [
                ValueSet.of([low]),
                ValueSet.of(self.random.sample(pool, 3)),
                ValueSet.interval(low, high),
                ValueSet.interval(low, None),
                ValueSet.interval(None, high),
                NOT_NULL,
                ONLY_NULL,
            ]
        )
        if self.chance(0.2):
            side = side.complement()
        return side | ONLY_NULL if self.chance(0.2) else side


def telling(regions: Sequence[Region], columns: Sequence[str]) -> dict[str, tuple[Value | None, ...]]:
    """For each column NULL, every endpoint, and one value below them all."""
    found: dict[str, tuple[Value | None, ...]] = {}
    for column in columns:
        sides = [box.sides[column] for region in regions for box in region.boxes if column in box.sides]
        ends = {end for side in sides for run in side.runs for end in run if end is not None}
        below: Value = "" if column.startswith("t") else min(ends, default=0) - 1  # type: ignore[operator]
        found[column] = (None, *sorted(ends | {below}))  # type: ignore[type-var]
    return found
