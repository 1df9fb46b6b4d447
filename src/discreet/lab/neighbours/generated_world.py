"""Small tables of a declaration, and the same tables without one unit: the first, who does what can be done to be seen.

Where the unit is a row, there is one table. Where it is a person, the person's rows lie in all tables of the
declaration; rows of some tables reach their persons through rows of others, by the keys that they name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Literal

import pyarrow as pa

from discreet.lab.neighbours.generated_values import (
    IDS,
    NO_LITERALS,
    NUMBERED,
    Literals,
    draw_types,
    draw_value,
    plain_value,
)
from discreet.lab.neighbours.source_rows import GeneratedTable, Row, World
from discreet.schema.column import CategoryColumn, Column, NumberColumn, TextColumn
from discreet.schema.person_path import path_of
from discreet.schema.schema import Table

#: What a row may name of a row of another table: few, so that rows are shared.
KEYS = ("1", "k2", "K2", None)

#: No person is given more rows than this, whatever the limit.
MOST_ROWS = 60


@dataclass(frozen=True, kw_only=True)
class WorldMaker:
    """Makes worlds of declared tables. The same `random` makes the same ones.

    `loud`: the unit has all the rows that it may have, or more. `end`: they are equal, at that end of all bounds.
    `texts`: files are CSV alone.
    """

    tables: Mapping[str, Table]
    random: Random
    literals: Literals = NO_LITERALS
    loud: bool = True
    texts: bool = False
    end: Literal["low", "high", ""] = ""

    def make(self) -> World:
        """A world of all the tables, which have one unit of privacy."""
        if any(table.schema.unit.is_row for table in self.tables.values()):
            return self._rows_world()
        return self._persons_world()

    def _rows_world(self) -> World:
        """A table of rows, each of which is a unit."""
        ((name, table),) = self.tables.items()
        columns = table.schema.columns
        types = self._types(columns)
        bold = bool(self.end) or (self.loud and self.random.random() < 0.5)
        unit = self._row(columns, types, bold=bold, end=self.end)
        others = [self._row(columns, types) for _ in range(self.random.randint(0, 6))]
        twins = [unit] * self.random.randint(0, 1)
        other = self._row(columns, types, bold=self.random.random() < 0.5)
        left = self._shuffled([*others, *twins])
        source = GeneratedTable(
            table=_in_file(table, types),
            names=tuple(column.name for column in columns),
            rows=(*others[:3], unit, *twins, *others[3:]),
            types=types,
        )
        changed = {name: self._shuffled([*left, other])}
        return World(sources={name: source}, without={name: left}, changed=changed, row=unit)

    def _persons_world(self) -> World:
        """Persons with rows in all tables; one of them comes and goes."""
        parts = next(len(table.schema.unit.person) for table in self.tables.values() if table.schema.unit.person)
        numbered = self.random.random() < 1 / 3
        pool = [(each,) for each in (NUMBERED if numbered else IDS)]
        ids = [tuple(self.random.choice(pool)[0] for _ in range(parts)) for _ in range(self.random.randint(2, 5))]
        ids = list(dict.fromkeys(ids)) if len(set(ids)) > 1 else [ids[0], ("2" if numbered else "b",) * parts]
        makers = {
            name: self._owned if table.schema.unit.person else self._reached for name, table in self.tables.items()
        }
        made = {name: makers[name](table, ids, numbered=numbered) for name, table in self.tables.items()}
        without, changed = {}, {}
        for name, (source, other) in made.items():
            own = source.table.schema.unit.person
            left = self._shuffled(_without(source.rows, len(own), ids[0]) if own else source.rows)
            without[name], changed[name] = left, self._shuffled([*left, *other])
        self._drop_unreached({name: source for name, (source, _) in made.items()}, without)
        sources = {name: source for name, (source, _) in made.items()}
        return World(sources=sources, without=without, changed=changed, person=ids[0])

    def _drop_unreached(self, sources: Mapping[str, GeneratedTable], without: dict[str, tuple[Row, ...]]) -> None:
        """Rows that reach nobody any more may go as well: they are nobody's."""
        for name, source in sources.items():
            unit = source.schema.unit
            there = sources.get(unit.through or "")
            if there is None or not there.schema.unit.person or self.random.random() < 0.5:
                continue
            reached = {_key(row, there.names, unit.on) for row in without[there.table.name]}
            without[name] = tuple(row for row in without[name] if _key(row, source.names, unit.on) in reached)

    def _owned(
        self, table: Table, ids: Sequence[tuple[str, ...]], *, numbered: bool
    ) -> tuple[GeneratedTable, list[Row]]:
        """A table with the persons' own columns, and other rows for the first of them.

        The first person has many rows, the others a few, some rows nobody.
        """
        unit, keys, columns = table.schema.unit, self._keys_of(table), self._own_columns(table)
        parts, types = len(unit.person), self._types(columns)

        def rows_of(person: Sequence[str | None], rows: Sequence[Row]) -> list[Row]:
            return [(*person, *(self.random.choice(KEYS) for _ in keys), *row) for row in rows]

        limit = min(unit.rows, MOST_ROWS)
        sizes = [limit, limit + 1, max(9, limit)] if self.loud else [0, 1, 2, 3, 5, 9]
        rows = rows_of(ids[0], self._unit_rows(columns, types, self.random.choice(sizes)))
        other = rows_of(ids[0], self._many(columns, types, self.random.choice(sizes)))
        for person in ids[1:]:
            rows += rows_of(person, self._many(columns, types, self.random.randint(0, 4), manner="mixed"))
        for _ in range(self.random.randint(0, 2)):
            nobody = [None if place == 0 else ids[0][place] for place in range(parts)]
            rows += rows_of(nobody, [self._row(columns, types)])
        if numbered and types is not None:
            rows, other = [_with_numbers(row, parts) for row in rows], [_with_numbers(row, parts) for row in other]
        source = GeneratedTable(
            table=_in_file(table, types),
            names=(*unit.person, *keys, *(column.name for column in columns)),
            rows=tuple(rows),
            types=None if types is None else _key_types(parts, len(keys), types, numbered=numbered),
            path=(),
        )
        return source, other

    def _reached(
        self, table: Table, ids: Sequence[tuple[str, ...]], *, numbered: bool
    ) -> tuple[GeneratedTable, list[Row]]:
        """A table that reaches its persons through another, by columns that both have."""
        keys, columns = self._keys_of(table), self._own_columns(table)
        types = self._types(columns)
        size = self.random.randint(0, 6) if not self.loud else self.random.randint(2, 8)
        made = self._many(columns, types, size, manner=self.random.choice(["equal", "mixed"]) if self.loud else "mixed")
        rows = [(*(self.random.choice(KEYS) for _ in keys), *row) for row in made]
        source = GeneratedTable(
            table=_in_file(table, types),
            names=(*keys, *(column.name for column in columns)),
            rows=tuple(rows),
            types=None if types is None else _key_types(0, len(keys), types, numbered=False),
            path=path_of(table, self.tables),
        )
        return source, []

    def _keys_of(self, table: Table) -> list[str]:
        """The columns by which rows reach others and are reached, in the order of the declaration."""
        own = {name.lower() for name in table.schema.unit.person}
        units = [each.schema.unit for each in self.tables.values()]
        reached = [name for unit in units if (unit.through or "").lower() == table.name.lower() for name in unit.on]
        keys: dict[str, str] = {}
        for name in (*table.schema.unit.on, *reached):
            keys.setdefault(name.lower(), name)
        return [name for small, name in keys.items() if small not in own]

    def _own_columns(self, table: Table) -> tuple[Column, ...]:
        """The declared columns that are no keys."""
        keys = {name.lower() for name in self._keys_of(table)}
        return tuple(column for column in table.schema.columns if column.name.lower() not in keys)

    def _types(self, columns: Sequence[Column]) -> tuple[pa.DataType, ...] | None:
        return None if self.texts else draw_types(self.random, columns)

    def _row(
        self,
        columns: Sequence[Column],
        types: tuple[pa.DataType, ...] | None,
        *,
        bold: bool = False,
        end: Literal["low", "high", ""] = "",
    ) -> Row:
        kinds = zip(columns, [None] * len(columns) if types is None else types, strict=True)
        if bold:
            return tuple(plain_value(self.random, column, type_, self.literals, end=end) for column, type_ in kinds)
        return tuple(draw_value(self.random, column, type_, self.literals) for column, type_ in kinds)

    def _unit_rows(self, columns: Sequence[Column], types: tuple[pa.DataType, ...] | None, size: int) -> list[Row]:
        """Rows of the unit that comes and goes."""
        if self.end:
            return [self._row(columns, types, bold=True, end=self.end)] * size
        return self._many(columns, types, size)

    def _many(
        self, columns: Sequence[Column], types: tuple[pa.DataType, ...] | None, size: int, *, manner: str = ""
    ) -> list[Row]:
        """Rows of one person: all equal, all different, or mixed."""
        manner = manner or self.random.choice(
            ["equal", "equal", "apart", "mixed"] if self.loud else ["equal", "apart", "mixed"]
        )
        bold = self.loud and self.random.random() < 0.6
        repeated = self._row(columns, types, bold=bold)
        if manner == "equal":
            return [repeated] * size
        rows = [repeated if number % 3 == 2 else self._row(columns, types, bold=bold) for number in range(size)]
        return rows if manner == "mixed" else [_apart(row, columns, number) for number, row in enumerate(rows)]

    def _shuffled(self, rows: Sequence[Row]) -> tuple[Row, ...]:
        left = list(rows)
        self.random.shuffle(left)
        return tuple(left)


def _in_file(table: Table, types: object) -> Table:
    """The declaration of a table that lies in a file of ours."""
    return replace(table, source=f"{table.name}.{'csv' if types is None else 'parquet'}")


def _key_types(parts: int, keys: int, types: Sequence[pa.DataType], *, numbered: bool) -> tuple[pa.DataType, ...]:
    return (*[pa.int64() if numbered else pa.string()] * parts, *[pa.string()] * keys, *types)


def _with_numbers(row: Row, parts: int) -> Row:
    return (*(None if part is None else int(str(part)) for part in row[:parts]), *row[parts:])


def _without(rows: Sequence[Row], parts: int, person: tuple[str, ...]) -> list[Row]:
    return [row for row in rows if tuple(map(str, row[:parts])) != person]


def _key(row: Row, names: Sequence[str], on: Sequence[str]) -> Row:
    places = {name.lower(): place for place, name in enumerate(names)}
    return tuple(row[places[name.lower()]] for name in on)


def _apart(row: Row, columns: Sequence[Column], number: int) -> Row:
    """The row with values that no other row of its person has, as far as there are so many."""
    changed: list[object] = []
    for value, column in zip(row, columns, strict=True):
        if isinstance(column, TextColumn):
            changed.append(f"t{number}")
        elif isinstance(column, CategoryColumn):
            changed.append([*column.values, None][number % (len(column.values) + 1)])
        elif isinstance(column, NumberColumn) and column.type == "integer" and isinstance(value, int | str):
            start = 0 if abs(column.low or 0) > 2**14 else column.low or 0  # it must fit into the narrowest type
            changed.append(type(value)(start + number))
        else:
            changed.append(value)
    return tuple(changed)
