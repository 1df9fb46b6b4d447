"""People in places, one target in each, or one group of targets: what differencing and averaging attack.

A place is a clinic, or a university; its target's trait is set by a coin, so that whoever guesses is right half the
time by chance, and targets of different places are independent trials. Generated rows protect nobody: they may be
seeded.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.errors import Flag, Message, UsageError
from discreet.lab.table_reader import select_columns

#: Days since a person came; the target came on the first. A question may stop at any of them.
DAYS = 365
#: The class of the lecture: students, those of rich families, and both again when one has left.
CLASS, RICH = 3_005, 202


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetPlaces:
    """One row a person: their place, whether they are its target, the trait, and the day on which they came.

    `mark` is the column and the value by which a question tells the targets from all others. Where a place has several
    targets, every place has as many, and those of one place share the trait: all have it, or none.
    """

    place: NDArray[np.int64]
    target: NDArray[np.bool_]
    trait: NDArray[np.bool_]
    day: NDArray[np.int64]
    mark: tuple[str, str] = ("name", "John Ramos")

    def __post_init__(self) -> None:
        if not len(self.place) == len(self.target) == len(self.trait) == len(self.day):
            raise ValueError("the columns have different lengths")
        if self.group < 1 or not np.array_equal(np.bincount(self.place, self.target), np.full(self.count, self.group)):
            raise ValueError("every place must have one target, or as many as every other")
        if not np.isin(np.bincount(self.place, self.target & self.trait), (0, self.group)).all():
            raise ValueError("the targets of a place must share the trait")

    @property
    def count(self) -> int:
        """How many places there are."""
        return int(self.place.max()) + 1

    @property
    def group(self) -> int:
        """How many targets each place has."""
        return int(np.count_nonzero(self.target)) // self.count

    @property
    def secrets(self) -> NDArray[np.bool_]:
        """The trait of each place's target: what an attack is after."""
        target_traits = np.zeros(self.count, dtype=np.bool_)
        target_traits[self.place[self.target]] = self.trait[self.target]
        return target_traits

    def holders(self, *, until: int, keep: NDArray[np.bool_]) -> NDArray[np.int64]:
        """The exact number with the trait in each place, of those to `keep` who came until that day."""
        kept = self.trait & keep & (self.day <= until)
        return np.bincount(self.place[kept], minlength=self.count)

    def table(self, *, without_targets: bool = False) -> pa.Table:
        """The rows as a data owner holds them."""
        column, value = self.mark
        keep = ~self.target if without_targets else np.ones(len(self.place), dtype=np.bool_)
        marked = np.where(self.target, value, "somebody else")
        return pa.table(
            {
                "place": [f"p{number}" for number in self.place[keep]],
                column: marked[keep].tolist(),
                "trait": self.trait[keep],
                "day": self.day[keep],
            }
        )


def clinics(
    count: int, *, mark: tuple[str, str] = ("name", "John Ramos"), group: int = 1, seed: int = 3005
) -> TargetPlaces:
    """Clinics of 20 to 60 patients, a sixth of them with the trait; in each, one patient whom the attacker is after.

    `group`: so many, who share the trait.
    """
    chance = np.random.default_rng(seed)
    return _generate_places(chance.integers(20, 61, count), share=1 / 6, mark=mark, chance=chance, group=group)


def classes(count: int, *, seed: int = 3005) -> TargetPlaces:
    """Freshman classes; the first has 3,005 students of whom 202 are rich, and John, who is, leaves it in March."""
    chance = np.random.default_rng(seed)
    sizes = chance.integers(20, 61, count)
    sizes[0] = CLASS
    made = _generate_places(sizes, share=RICH / CLASS, mark=("name", "John"), chance=chance)
    trait = made.trait.copy()
    trait[:CLASS] = False
    trait[:RICH] = True  # the target is the first row of its place
    return TargetPlaces(place=made.place, target=made.target, trait=trait, day=made.day, mark=made.mark)


def deal_rows(table: pa.Table, trait: str, value: str | None, targets: int, *, seed: int | None = None) -> TargetPlaces:
    """A user's own rows, dealt into places of about equal size; the targets have and lack the trait in equal parts.

    Because: only then is a blind guess right half the time, whatever the trait's share in the file is.
    """
    chance = np.random.default_rng(seed)
    bits = trait_bits(table, trait, value)
    have, lack = (chance.permutation(np.flatnonzero(bits == side)) for side in (True, False))
    pairs = min(len(have), len(lack), max(1, targets // 2))
    if pairs == 0:
        raise UsageError(
            f"everybody has the same value in {trait!r}, so there is nothing to guess", hint="choose another column"
        )
    picked = chance.permutation(np.concatenate([have[:pairs], lack[:pairs]]))
    others = chance.permutation(np.setdiff1d(np.arange(len(bits)), picked))
    order = np.concatenate([picked, others])
    target = np.arange(len(order)) < len(picked)
    return TargetPlaces(
        place=np.arange(len(order)) % len(picked),
        target=target,
        trait=bits[order],
        day=np.where(target, 0, chance.integers(0, DAYS, len(order))),
        mark=("name", "the target"),
    )


def trait_bits(table: pa.Table, trait: str, value: str | None) -> NDArray[np.bool_]:
    """Who has the trait: the column's cells that equal `value`, or that are true or 1 where none is named."""
    cells: list[Any] = select_columns(table, [trait], of="the file")[trait].to_pylist()
    if all(cell is None for cell in cells):
        raise UsageError(f"every cell of {trait!r} is empty")
    if value is not None:
        has_value = np.array([cell is not None and str(cell) == value for cell in cells])
        if not has_value.any():
            raise UsageError(
                f"no cell of {trait!r} is {value!r}", hint=Message(Flag("value"), " takes a value of that column")
            )
        return has_value
    truth_words = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
    words = [str(cell).lower() for cell in cells if cell is not None]
    if any(word not in truth_words for word in words):
        raise UsageError(
            f"{trait!r} is not a yes/no column",
            hint=Message(Flag("value", "VALUE"), ", to say which of its values is the trait"),
        )
    return np.array([cell is not None and truth_words[str(cell).lower()] for cell in cells])


def _generate_places(
    sizes: NDArray[np.int64], *, share: float, mark: tuple[str, str], chance: np.random.Generator, group: int = 1
) -> TargetPlaces:
    """Places of these sizes; the first rows of each are its targets, whose trait is a coin."""
    place = np.repeat(np.arange(len(sizes)), sizes)
    firsts = np.cumsum(sizes) - sizes
    target = np.zeros(len(place), dtype=np.bool_)
    target[(firsts[:, None] + np.arange(group)).ravel()] = True
    coins = (chance.random(len(place)) < 0.5)[firsts]  # the coin of the first target, for all of its place
    trait = np.where(target, coins[place], chance.random(len(place)) < share)
    day = np.where(target, 0, chance.integers(0, DAYS, len(place)))
    return TargetPlaces(place=place, target=target, trait=trait, day=day, mark=mark)
