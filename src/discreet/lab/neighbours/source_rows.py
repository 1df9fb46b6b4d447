"""Rows of a source as an owner could have them: a CSV of texts, or a typed Parquet file."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from discreet.schema.schema import Schema, Table

Row = tuple[object, ...]


@dataclass(frozen=True, kw_only=True)
class SourceRows:
    """Names, rows, and the types of a Parquet file; None for a CSV."""

    names: tuple[str, ...]
    rows: tuple[Row, ...]
    types: tuple[pa.DataType, ...] | None = None

    def with_rows(self, rows: Iterable[Row]) -> SourceRows:
        """The same file with other rows."""
        return replace(self, rows=tuple(rows))

    def write(self, folder: Path, name: str) -> str:
        """Write the file; what a declaration calls it."""
        file = folder / (f"{name}.csv" if self.types is None else f"{name}.parquet")
        if self.types is None:
            with file.open("w", encoding="utf-8", newline="") as stream:
                csv.writer(stream).writerows([self.names, *self.rows])
        else:
            pq.write_table(self.arrow(), file)
        return file.name

    def arrow(self) -> pa.Table:
        """The rows of a Parquet file."""
        arrays = [pa.array([row[place] for row in self.rows], type_) for place, type_ in enumerate(self.types or ())]
        return pa.Table.from_arrays(arrays, names=list(self.names))

    def typed(self) -> SourceRows:
        """A CSV's texts as typed ones: an empty field is NULL."""
        if self.types is not None:
            return self
        rows = tuple(tuple(None if cell in ("", None) else str(cell) for cell in row) for row in self.rows)
        return replace(self, rows=rows, types=(pa.string(),) * len(self.names))


@dataclass(frozen=True, kw_only=True)
class GeneratedTable:
    """One table: its declaration, and a file's columns and rows. `path`: the tables on the way to its persons."""

    table: Table
    names: tuple[str, ...]
    rows: tuple[Row, ...]
    types: tuple[pa.DataType, ...] | None = None
    path: tuple[Table, ...] = ()

    @property
    def schema(self) -> Schema:
        return self.table.schema

    @property
    def file(self) -> SourceRows:
        """The rows without the declaration."""
        return SourceRows(names=self.names, rows=self.rows, types=self.types)

    def write(self, folder: Path) -> None:
        """Write the file under the table's name."""
        self.file.write(folder, self.table.name)


@dataclass(frozen=True, kw_only=True)
class World:
    """Tables, and the same tables without one unit, their rows in another order.

    `person`: the unit's id; None where it is `row`, of one table. `changed`: the tables where that unit has other rows.
    """

    sources: Mapping[str, GeneratedTable]
    publics: Mapping[str, GeneratedTable] = field(default_factory=dict)
    without: Mapping[str, tuple[Row, ...]]
    changed: Mapping[str, tuple[Row, ...]] = field(default_factory=dict)
    person: tuple[str, ...] | None = None
    row: Row | None = None

    def neighbour(self) -> Mapping[str, GeneratedTable]:
        """The private tables when the unit has gone."""
        return {name: replace(source, rows=self.without[name]) for name, source in self.sources.items()}

    def other(self) -> Mapping[str, GeneratedTable]:
        """The private tables when the unit has other rows."""
        return {name: replace(source, rows=self.changed[name]) for name, source in self.sources.items()}
