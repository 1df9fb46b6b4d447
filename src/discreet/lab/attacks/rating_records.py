"""Sparse records: who rated what, how, and when; indexed by item and by user, so that one known item is one slice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from discreet.errors import Flag, Message, UsageError
from discreet.lab.table_reader import select_columns

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

COLUMNS = ("user", "item", "stars", "day")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RatingRecords:
    """Ratings, ordered by item and then by user; a user rates an item once. Unknown stars or days are infinite."""

    user: Integers
    item: Integers
    stars: Floats
    day: Floats
    #: Where each item's ratings begin; one more at the end.
    starts: Integers
    #: The places of each user's ratings, one user after the other, and where each user's begin.
    places: Integers
    user_starts: Integers
    #: What 1 / log(support) says of each item.
    weights: Floats
    #: What users and items are called in the table.
    user_names: Any
    item_names: Any

    @property
    def users(self) -> int:
        return len(self.user_starts) - 1

    def of(self, user: int) -> Integers:
        """The places of one user's ratings."""
        return self.places[self.user_starts[user] : self.user_starts[user + 1]]

    def of_users(self, kept: Integers) -> RatingRecords:
        """The records of some users, sorted, who are numbered anew; items keep their numbers."""
        number = np.full(self.users, -1, dtype=np.int64)
        number[kept] = np.arange(len(kept))
        rows = number[self.user] >= 0
        user, item = number[self.user[rows]], self.item[rows]
        support = np.bincount(item, minlength=len(self.item_names))
        return RatingRecords(
            user=user,
            item=item,
            stars=self.stars[rows],
            day=self.day[rows],
            starts=np.concatenate([[0], np.cumsum(support)]),
            places=np.argsort(user, kind="stable"),
            user_starts=np.concatenate([[0], np.cumsum(np.bincount(user, minlength=len(kept)))]),
            weights=1 / np.log(np.maximum(support, 2)),
            user_names=self.user_names.take(kept),
            item_names=self.item_names,
        )

    def is_top(self, number: int) -> Flags:
        """Which items are among so many that were rated most often; of items rated equally often the first."""
        top = np.zeros(len(self.item_names), dtype=bool)
        top[np.argsort(-np.diff(self.starts), kind="stable")[:number]] = True
        return top


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AuxiliaryInformation:
    """What somebody knows of one person: items, with stars and days that may be wrong or (NaN) not known."""

    items: Integers
    stars: Floats
    days: Floats


def index_ratings(table: pa.Table, names: Sequence[str] = COLUMNS, *, of: str = "the table") -> RatingRecords:
    """The records in a table with these columns: user, item, stars and, where days are known, day."""
    _check_columns(names)
    chosen = select_columns(table, names, of=of)
    users, user_names = _codes(chosen[names[0]], names[0], of)
    items, item_names = _codes(chosen[names[1]], names[1], of)
    # One sort does it all: by item, then by user; of a user's ratings of one item the first is kept.
    pair, first = np.unique(items * len(user_names) + users, return_index=True)
    item, user = pair // len(user_names), pair % len(user_names)
    support = np.bincount(item, minlength=len(item_names))
    ratings_per_user = np.bincount(user, minlength=len(user_names))
    return RatingRecords(
        user=user,
        item=item,
        stars=_numbers(chosen[names[2]], names[2], of)[first],
        day=_numbers(chosen[names[3]], names[3], of)[first] if len(names) > 3 else np.full(len(pair), np.inf),
        starts=np.concatenate([[0], np.cumsum(support)]),
        places=np.argsort(user, kind="stable"),
        user_starts=np.concatenate([[0], np.cumsum(ratings_per_user)]),
        # An item that one user rated would weigh infinitely much: it weighs as one that two rated.
        weights=1 / np.log(np.maximum(support, 2)),
        user_names=user_names,
        item_names=item_names,
    )


def read_auxiliary(
    records: RatingRecords, about: pa.Table, names: Sequence[str] = COLUMNS, *, of: str = "the table"
) -> tuple[list[Any], list[AuxiliaryInformation]]:
    """What a table says of each person in it; items that nobody in the records rated say nothing and are left out."""
    _check_columns(names)
    chosen = select_columns(about, names, of=of)
    people, person_names = _codes(chosen[names[0]], names[0], of)
    kind = records.item_names.type
    about_items, rated_items = chosen[names[1]], records.item_names
    if about_items.type != kind:
        about_items, rated_items = about_items.cast(pa.string()), rated_items.cast(pa.string())
    item = pc.index_in(about_items, value_set=rated_items).fill_null(-1).to_numpy().astype(np.int64)
    if not (item >= 0).any():
        raise UsageError(f"no item of {of} occurs in the ratings", hint="check how each file writes its items")
    stars = _numbers(chosen[names[2]], names[2], of)
    days = _numbers(chosen[names[3]], names[3], of) if len(names) > 3 else np.full(len(item), np.inf)
    order = np.flatnonzero(item >= 0)
    order = order[np.argsort(people[order], kind="stable")]
    bounds = np.searchsorted(people[order], np.arange(len(person_names) + 1))
    parts = [order[low:high] for low, high in pairwise(bounds.tolist())]
    return person_names.to_pylist(), [
        AuxiliaryInformation(items=item[part], stars=stars[part], days=days[part]) for part in parts
    ]


def _check_columns(names: Sequence[str]) -> None:
    if len(names) not in (3, 4):
        raise UsageError(
            f"ratings need 3 or 4 columns, not {len(names)}",
            hint=Message(Flag("columns", ("user", "item", "stars", "day"))),
        )


def _codes(column: Any, name: str, of: str) -> tuple[Integers, Any]:
    """A column as numbers from 0, and what they stand for."""
    if column.null_count:
        raise UsageError(f"{of}: {name!r} is missing in {column.null_count:,} rows", hint="remove those rows")
    coded = pa.concat_arrays(column.chunks).dictionary_encode()
    return coded.indices.to_numpy().astype(np.int64), coded.dictionary


def _numbers(column: Any, name: str, of: str) -> Floats:
    """A column of numbers, or of dates as days; what is missing is infinitely far from everything."""
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.date32(), safe=False)
    kind = column.type
    if pa.types.is_date(kind):
        column = column.cast(pa.date32()).cast(pa.int32())
    elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        raise UsageError(f"{of}: {name!r} has neither numbers nor dates", hint="write days as 2006-10-02, stars as 4")
    numbers: Floats = column.cast(pa.float64()).fill_null(np.inf).to_numpy()
    return np.where(np.isnan(numbers), np.inf, numbers)
