"""What a sample is: tables as CSV files, each with a code book that says what everybody may know of its columns.

A code book is a CSV file too, with one line for each column: its type, low and high for numbers and dates, the values
of a category (`1=first;2=second` where codes have labels), and a label; where a table needs it also how dates are
written, which words mean NULL, and which column says whose row it is.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

#: One row of a sample table, as it is written.
SampleRow = Sequence[object]

#: The headings that every code book has.
CODE_BOOK = ("column", "type", "low", "high", "values", "label")

#: The headings that a code book has where a column needs one.
AS_NEEDED = ("format", "null", "person", "rows_per_person")


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleColumn:
    """A line of a code book. `values`: codes with their labels, or without. `rows_per_person`: of the column that says
    whose row it is, and of no other.
    """

    name: str
    type: str
    label: str
    low: object = ""
    high: object = ""
    values: Mapping[str, str] | Sequence[str] = ()
    format: str = ""
    null: str = ""
    rows_per_person: int | None = None

    def code_book_cells(self) -> Mapping[str, object]:
        """What the code book says of this column, by heading."""
        values = self.values
        words = [f"{code}={label}" for code, label in values.items()] if isinstance(values, Mapping) else values
        is_person = self.rows_per_person is not None
        return {
            "column": self.name,
            "type": self.type,
            "low": self.low,
            "high": self.high,
            "values": ";".join(words),
            "format": self.format,
            "null": self.null,
            "person": "yes" if is_person else "",
            "rows_per_person": self.rows_per_person if is_person else "",
            "label": self.label,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleTable:
    """A table: `add_flags` are those that `discreet add` needs beside the code book."""

    name: str
    columns: Sequence[SampleColumn]
    add_flags: Sequence[tuple[str, object]] = ()

    @property
    def file(self) -> str:
        return f"{self.name}.csv"

    @property
    def code_book(self) -> str:
        return f"codebook-{self.name}.csv"

    def write(self, folder: Path, rows: Iterable[SampleRow]) -> int:
        """Write the table and its code book; how many rows it has."""
        lines = [column.code_book_cells() for column in self.columns]
        headings = [*CODE_BOOK, *(heading for heading in AS_NEEDED if any(line[heading] != "" for line in lines))]
        _write_csv(folder / self.code_book, headings, ([line[heading] for heading in headings] for line in lines))
        return _write_csv(folder / self.file, [column.name for column in self.columns], rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """Tables that belong together. `rows`: as many as the first has, unless another number is given.

    `generate` gives the rows of each table, by its name, for a number of rows of the first one.
    """

    name: str
    about: str
    tables: Sequence[SampleTable]
    rows: int
    generate: Callable[[int], Mapping[str, Iterable[SampleRow]]] = field(repr=False)

    @property
    def files(self) -> tuple[str, ...]:
        """The names of all files of this sample."""
        return tuple(name for table in self.tables for name in (table.file, table.code_book))


def _write_csv(path: Path, header: Iterable[object], rows: Iterable[SampleRow]) -> int:
    written = 0
    with path.open("x", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(header)
        for row in rows:
            writer.writerow(row)
            written += 1
    return written
