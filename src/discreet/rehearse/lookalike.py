"""Look-alike rows: what a table could hold, made from its declaration alone, so that SQL can be written against it.

The generator is fixed: the same declaration gives the same rows on every visit. This is no private path. Nothing here
is noise, and nothing is hidden by chance: the rows are made up, and say nothing about anybody.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, assert_never

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.errors import UsageError
from discreet.rehearse.source_values import NULL, arrow_column, words_of
from discreet.schema.column import (
    BooleanColumn,
    CategoryColumn,
    Column,
    MomentColumn,
    NumberColumn,
    TextColumn,
    nullable,
)
from discreet.schema.person_path import path_of
from discreet.schema.schema import Table

Codes = NDArray[np.int64]

#: How many rows a look-alike has unless told, and at most.
ROWS = 5_000
MOST_ROWS = 50_000

#: What is assumed where the declaration says nothing, in words for whoever sees the rows.
ASSUMED = (
    "most numbers are near the middle of their bounds, and one in fifty is slightly outside them",
    "the values of a category are equally common, and one in fifty is a value that is not declared",
    "one value in fifty is missing",
    "most persons have fewer rows than rows_per_person, and one in twenty has more",
)

#: Of the values of a column so many are missing, and so many are outside of what is declared.
_MISSING = 0.02
_OUTSIDE = 0.02
#: Of the persons so many have more rows than may count.
_MANY = 0.05

#: What a column is taken to hold whose bounds are not declared: numbers from 0 on, and days from 2020 on.
_NUMBERS = (0, 99)
_DAYS = (18_262, 21_914)
_DAY_US = 86_400_000_000


def look_alike(
    tables: Mapping[str, Table], name: str, *, rows: int = ROWS, words: Mapping[str, Sequence[str]] | None = None
) -> pa.Table:
    """Rows that a declared table could have, as an Arrow table: its keys first, then its columns in their order.

    `tables`: all that are declared, for a table may reach its persons through another. `words`: what texts of a column
    are drawn from, by the column's name in small letters; from public tables, so that joins find something.
    """
    if not 1 <= rows <= MOST_ROWS:
        raise UsageError(f"a look-alike table must have 1 to {MOST_ROWS:,} rows, got {rows:,}")
    columns = _RowMaker(tables=tables, rows=rows, words=words or {}).columns(name)
    return pa.table(columns)


class _RowMaker:
    """Makes tables that join: persons of one population have the same names in all its tables."""

    def __init__(self, *, tables: Mapping[str, Table], rows: int, words: Mapping[str, Sequence[str]]) -> None:
        self._tables = {table.name.lower(): table for table in tables.values()}
        self._rows = rows
        self._words = words
        self._owned: dict[str, tuple[Codes, dict[str, Codes]]] = {}

    def columns(self, name: str) -> dict[str, pa.Array]:
        """The columns of a table, keys first."""
        table = self._tables[name.lower()]
        persons, keys = self.owners_and_keys(table)
        taken = {key.lower() for key in keys}
        arrays = {key: arrow_column(NumberColumn(name=key, type="integer"), codes) for key, codes in keys.items()}
        for column in table.schema.columns:
            if column.name.lower() in taken:
                continue
            generator = _generator(table.name, repr(column))
            words = self._words.get(column.name.lower(), ()) if isinstance(column, TextColumn) else ()
            codes = column_codes(column, len(persons), generator, words=len(words_of(column, words)))
            if column.constant and not table.schema.unit.is_row:
                codes = _constant(codes, persons, generator)
            arrays[column.name] = arrow_column(column, codes, words=words)
        return arrays

    def owners_and_keys(self, table: Table) -> tuple[Codes, dict[str, Codes]]:
        """Whose each row is, and the key columns that say so: of persons, and of ways to them and from others."""
        if table.name not in self._owned:
            path = path_of(table, self._tables)
            persons, keys = self._through(table, path[0]) if path else self._own(table)
            for name in self._reached_by(table):
                keys.setdefault(name, np.arange(1, len(persons) + 1))
            self._owned[table.name] = persons, keys
        return self._owned[table.name]

    def _own(self, table: Table) -> tuple[Codes, dict[str, Codes]]:
        """Rows of a table that names its persons, or whose rows are all there is."""
        unit = table.schema.unit
        if unit.is_row:
            return np.arange(1, self._rows + 1), {}
        if unit.ends:
            generator, most = _generator(table.name, repr(unit)), self._rows // 4 + 2
            return np.arange(1, self._rows + 1), {end: generator.integers(1, most, self._rows) for end in unit.ends}
        persons = owners(self._rows, unit.rows, _generator(table.name, repr(table.schema.unit)))
        return persons, person_keys(unit.person, persons)

    def _through(self, table: Table, other: Table) -> tuple[Codes, dict[str, Codes]]:
        """Rows that each belong to a row of another table; one in fifty belongs to none."""
        owners_there, keys_there = self.owners_and_keys(other)
        generator = _generator(table.name, repr(table.schema.unit))
        on = table.schema.unit.on
        reachable_keys = next(codes for name, codes in keys_there.items() if name.lower() == on[0].lower())
        chosen = generator.integers(0, len(reachable_keys), size=self._rows)
        lost = generator.random(self._rows) < _MISSING
        reached = np.where(lost, len(reachable_keys) + 1, reachable_keys[chosen])
        return np.where(lost, 0, owners_there[chosen]), dict.fromkeys(on, reached)

    def _reached_by(self, table: Table) -> list[str]:
        """The columns on which other tables reach their persons through this one."""
        units = [other.schema.unit for other in self._tables.values()]
        own = {name.lower() for name in (*table.schema.unit.person, *table.schema.unit.on)}
        key_names = [name for unit in units if (unit.through or "").lower() == table.name.lower() for name in unit.on]
        return [name for name in dict.fromkeys(key_names) if name.lower() not in own]


def owners(rows: int, most: int, generator: np.random.Generator) -> Codes:
    """Whose each row is: persons from 1 on, most with fewer than `most` rows, one in twenty with more."""
    sizes: list[int] = []
    while sum(sizes) < rows:
        many = generator.random() < _MANY
        size = most + 1 + int(generator.random() * most) if many else 1 + int(most * generator.random() ** 3)
        sizes.append(min(size, max(2, rows // 20)))  # a few rows shall not be one person's
    persons = np.repeat(np.arange(1, len(sizes) + 1), sizes)[:rows]
    return generator.permutation(persons)


def person_keys(names: Sequence[str], persons: Codes) -> dict[str, Codes]:
    """The columns that identify persons; of several the first says where, and the others who."""
    if len(names) == 1:
        return {names[0]: persons}
    return {name: persons % 7 + 1 if place == 0 else persons for place, name in enumerate(names)}


def column_codes(column: Column, size: int, generator: np.random.Generator, *, words: int = 0) -> Codes:
    """Codes of a column, some missing and some outside of what is declared."""
    match column:
        case NumberColumn():
            codes = _spread(column.low, column.high, _NUMBERS, size, generator)
        case MomentColumn():
            usual = _DAYS if column.type == "date" else (_DAYS[0] * _DAY_US, _DAYS[1] * _DAY_US)
            codes = _spread(column.low, column.high, usual, size, generator)
        case BooleanColumn():
            codes = generator.integers(0, 2, size)
        case CategoryColumn(values=values):
            codes = generator.integers(0, len(values), size)  # shares that nobody takes for those of people
            codes = np.where(generator.random(size) < _OUTSIDE, len(values), codes)  # a value that is not listed
        case TextColumn():
            codes = _ranked(words, size, generator)
        case _:
            assert_never(column)
    if nullable(column) or isinstance(column, CategoryColumn):
        codes = np.where(generator.random(size) < _MISSING, NULL, codes)
    return codes


def _spread(
    low: int | None, high: int | None, usual: tuple[int, int], size: int, generator: np.random.Generator
) -> Codes:
    """Codes that gather in the middle of their bounds, some a little outside."""
    width = usual[1] - usual[0]
    start = low if low is not None else usual[0] if high is None else high - width
    end = high if high is not None else start + width
    parts = (generator.random(size) + generator.random(size)) / 2
    beyond = generator.random(size) < _OUTSIDE
    side = np.where(generator.random(size) < 0.5, -0.1, 1.1)
    parts = np.where(beyond, np.where(side < 0, side * generator.random(size), 1 + 0.1 * generator.random(size)), parts)
    reach = np.float64(end - start + 1)
    codes: Codes = np.floor(parts * reach).astype(np.int64) + start
    return codes


def _ranked(count: int, size: int, generator: np.random.Generator) -> Codes:
    """Places among `count` values, the first the most common: the weight of the n-th is 1 / n."""
    weights = np.cumsum(1 / np.arange(1, count + 1))
    ranks: Codes = np.searchsorted(weights, generator.random(size) * weights[-1]).astype(np.int64)
    return ranks


def _constant(codes: Codes, persons: Codes, generator: np.random.Generator) -> Codes:
    """One value for each person, but for one row in fifty: a declaration is no proof."""
    _, firsts, places = np.unique(persons, return_index=True, return_inverse=True)
    return np.where(generator.random(len(codes)) < _OUTSIDE, codes, codes[firsts][places])


def _generator(table: str, declared: str) -> np.random.Generator:
    """The same numbers for the same declaration. No column disturbs another."""
    seed_text = f"{table}\n{declared}".encode()
    return np.random.default_rng(int.from_bytes(hashlib.sha256(seed_text).digest()[:8], "big"))


def sample(rows: Any, count: int = 10) -> tuple[list[str], list[list[Any]]]:
    """The first rows of an Arrow table for a page: names, and values as JSON has them."""
    head = rows.slice(0, count).to_pylist()
    return list(rows.column_names), [[_shown(row[name]) for name in rows.column_names] for row in head]


def _shown(value: Any) -> Any:
    return value if value is None or isinstance(value, bool | int | str) else str(value)
