"""What analysts of a clinic ask over months: totals, breakdowns, drill-downs, ranges, the same again. And who is in it."""

from __future__ import annotations

import random

import numpy as np

from discreet.accounting.region import ANYTHING, Box, Region, ValueSet
from discreet.inference.reconcile import ColumnDomains, MeasuredNumber

CATEGORIES = {"sex": 2, "smoker": 2, "marital": 5, "insurance": 4, "region": 12, "ward": 20, "disease": 30}
CLOSED = {"sex", "smoker", "region"}
NUMBERS = {"age": (0, 120, 10), "income": (0, 200_000, 25_000), "admitted": (18_000, 20_000, 250)}
COLUMNS = [*CATEGORIES, *NUMBERS]
POPULARITY = [3, 2, 2, 1, 2, 1, 1, 3, 1, 1]
DOMAIN = ColumnDomains(
    columns={name: ValueSet(((0, size),), name not in CLOSED) for name, size in CATEGORIES.items()}
    | {name: ValueSet(((low, high + 1),), True) for name, (low, high, _) in NUMBERS.items()}
)


class QuestionLog:
    """A log of counts, asked in sessions: a group of people, then questions about it."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(f"log {seed}")

    def boxes(self, count: int) -> list[Box]:
        asked: list[Box] = []
        while len(asked) < count:
            if asked and self.random.random() < 0.15:
                asked.append(self.random.choice(asked))
                continue
            group = self.random.choice(asked) if asked and self.random.random() < 0.7 else Box()
            asked += self.session(group if len(group.sides) < 4 else Box())
        return asked[:count]

    def session(self, group: Box) -> list[Box]:
        """A breakdown of the group, of a part of it, how many up to here and there, or one question."""
        column = self.column(group)
        kind = self.random.random()
        if kind < 0.2:
            return [group & Box({column: side}) for side in self.parts(column)]
        if kind < 0.4:
            narrow = group & Box({column: self.random.choice(self.parts(column))})
            other = self.column(narrow)
            return [narrow, *(narrow & Box({other: side}) for side in self.parts(other)[: self.random.randint(2, 6)])]
        if kind < 0.6:
            return [group & Box({column: side}) for side in self.prefixes(column)]
        return [self.box(group)]

    def column(self, group: Box) -> str:
        """One that the group does not narrow."""
        free = [name not in group.sides for name in COLUMNS]
        return self.random.choices(COLUMNS, [a * b for a, b in zip(POPULARITY, free, strict=True)])[0]

    def box(self, group: Box) -> Box:
        for _ in range(self.random.randint(1, 3)):
            name = self.column(group)
            group &= Box({name: ValueSet.union(self.random.choices(self.parts(name), k=self.random.randint(1, 2)))})
        return group

    def parts(self, column: str) -> list[ValueSet]:
        """The column in parts, NULL among them where it can be."""
        if column in CATEGORIES:
            sides = [ValueSet.of([code]) for code in range(CATEGORIES[column])]
        else:
            low, high, step = NUMBERS[column]
            sides = [ValueSet.interval(at, min(at + step, high + 1)) for at in range(low, high, step)]
        return sides if column in CLOSED else [*sides, ValueSet((), null=True)]

    def prefixes(self, column: str) -> list[ValueSet]:
        low, high, step = NUMBERS.get(column, (0, CATEGORIES.get(column, 0), 1))
        cuts = sorted(self.random.sample(range(low + step, high, step), k=min(3, (high - low) // step - 1)))
        return [ValueSet.interval(low, cut) for cut in cuts]

    def regions(self, count: int) -> list[Region]:
        return [
            Region((box, self.box(Box()))) if self.random.random() < 0.04 else Region((box,))
            for box in self.boxes(count)
        ]


class People:
    """Records of the clinic, many alike: each column skewed, some leaning on another."""

    def __init__(self, size: int, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.codes: dict[str, np.ndarray] = {}
        lean = rng.random(size)
        for name, count in CATEGORIES.items():
            share = np.arange(1, count + 1) ** -1.0
            at = np.clip(0.6 * rng.random(size) + 0.4 * lean, 0, 1 - 1e-9)
            self.codes[name] = np.searchsorted(np.cumsum(share / share.sum()), at).clip(0, count - 1)
        for name, (low, high, _) in NUMBERS.items():
            self.codes[name] = (low + (high - low) * (0.5 * rng.beta(2, 4, size) + 0.5 * lean)).astype(np.int64)
        self.null = {name: rng.random(size) < (0.0 if name in CLOSED else 0.03) for name in COLUMNS}

    def side(self, name: str, allowed: ValueSet) -> np.ndarray:
        found = np.zeros(len(self.codes[name]), dtype=bool)
        for low, high in allowed.runs:
            codes = self.codes[name]
            found |= (codes >= (-1 if low is None else low)) & (codes < (10**9 if high is None else high))
        return np.where(self.null[name], allowed.null, found)

    def count(self, region: Region) -> int:
        held = np.zeros(len(self.codes["sex"]), dtype=bool)
        for box in region.boxes:
            inside = np.ones_like(held)
            for name, allowed in box.sides.items():
                if allowed != ANYTHING:
                    inside &= self.side(name, allowed)
            held |= inside
        return int(held.sum())


def measured(regions: list[Region], truth: np.ndarray, seed: int) -> list[MeasuredNumber]:
    """Counts with Laplace noise of scale 10 to 50 (rounded to whole numbers, which adds 1/12 to the variance)."""
    rng = np.random.default_rng([seed, len(regions)])
    scale = rng.choice([10.0, 20.0, 50.0], len(regions))
    noisy = np.rint(truth + rng.laplace(0, scale))
    return [
        MeasuredNumber(region=region, value=int(value), variance=2.0 * b * b + 1.0 / 12.0)
        for region, value, b in zip(regions, noisy, scale, strict=True)
    ]
