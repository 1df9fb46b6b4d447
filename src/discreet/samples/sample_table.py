"""What a sample is: tables as CSV files, each with a code book that says what everybody may know of its columns.

A code book is a CSV file too, with one line for each column: its type, low and high for numbers and dates, the values
of a category (`1=first;2=second` where codes have labels), how dates are written, which words mean NULL, and a label.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

#: One row of a sample table, as it is written.
SampleRow = Sequence[object]

#: The columns of a code book.
CODE_BOOK = ("column", "type", "low", "high", "values", "format", "null", "label")


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleColumn:
    """A line of a code book. `values`: codes with their labels, or without."""

    name: str
    type: str
    label: str
    low: object = ""
    high: object = ""
    values: Mapping[str, str] | Sequence[str] = ()
    format: str = ""
    null: str = ""

    def code_book_line(self) -> SampleRow:
        """What the code book says of this column."""
        values = self.values
        words = [f"{code}={label}" for code, label in values.items()] if isinstance(values, Mapping) else values
        return [self.name, self.type, self.low, self.high, ";".join(words), self.format, self.null, self.label]


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleTable:
    """A table: `add_flags` are those that `discreet add` needs beside the code book, such as whose row it is."""

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
        _write_csv(folder / self.code_book, CODE_BOOK, (column.code_book_line() for column in self.columns))
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
