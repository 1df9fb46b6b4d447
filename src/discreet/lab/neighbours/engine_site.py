"""Where the same rows lie for each engine, and how one looks at what was made of them.

A site takes a source (`SourceRows`), names a place for a declared table, and reads the table back, by other means than
the engine's own.
"""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, Protocol

import pyarrow.parquet as pq

from discreet.engines.engine import DeclarationOutcome, Engine
from discreet.engines.table_file import PERSON, persons_file
from discreet.engines.table_location import TableLocation
from discreet.lab.neighbours.source_rows import SourceRows
from discreet.schema.schema import Table

#: Generated persons need no secret.
KEY, TAG_KEY = bytes(range(32)), bytes(range(100, 132))

_numbers = count()
#: On a server other tests may run at the same time.
_PROCESS = secrets.token_hex(4)


class EngineSite(Protocol):
    """An engine, and the place where its sources and its declared tables lie."""

    @property
    def engine(self) -> Engine: ...

    @property
    def folder(self) -> Path: ...

    def lay(self, file: SourceRows, name: str) -> str:
        """Put rows where the engine finds them; what a declaration calls them."""

    def stored(self, place: Any) -> list[dict[str, Any]]:
        """The rows of a declared table, as they are stored."""

    def side(self, place: Any) -> list[dict[str, Any]]:
        """The rows of its side table: number, tag, rows."""


@dataclass(frozen=True, kw_only=True, eq=False)
class FileSite:
    """Files: the reference, and DuckDB."""

    name: str
    engine: Engine
    folder: Path

    def lay(self, file: SourceRows, name: str) -> str:
        return file.write(self.folder, name)

    def gap(self, file: SourceRows) -> str:
        """Why these rows cannot lie here at all; nothing where they can."""
        return ""

    def stored(self, place: Path) -> list[dict[str, Any]]:
        return read_parquet(place)

    def side(self, place: Path) -> list[dict[str, Any]]:
        return read_parquet(persons_file(place))


def read_parquet(file: Path) -> list[dict[str, Any]]:
    """The rows of a Parquet file."""
    rows: list[dict[str, Any]] = pq.read_table(file, partitioning=None).to_pylist()
    return rows


def new_place(site: EngineSite) -> TableLocation:
    """A place where no table lies yet."""
    return site.engine.place(f"made-{_PROCESS}-{next(_numbers)}{site.engine.ending}", folder=site.folder)


def declare_table(
    site: EngineSite, table: Table, path: tuple[Table, ...] = (), forgotten: Collection[bytes] = ()
) -> tuple[DeclarationOutcome, TableLocation]:
    """A declared table of a source that was laid, with the keys that all generated persons share."""
    place = new_place(site)
    if table.schema.unit.is_row:
        return site.engine.declare(table, folder=site.folder, target=place), place
    outcome = site.engine.declare(
        table, folder=site.folder, target=place, key=KEY, tag_key=TAG_KEY, path=path, forgotten=forgotten
    )
    return outcome, place


def contents(site: EngineSite, place: TableLocation, *, persons: bool) -> tuple[Counter[Any], Mapping[bytes, int]]:
    """The stored rows as a multiset, each under its person's tag; and how many rows everybody had."""
    stored = site.stored(place)
    if not persons:
        return Counter((b"", tuple(row.items())) for row in stored), {}
    side = site.side(place)
    tags = {row["number"]: row["tag"] for row in side}
    if not len(set(tags.values())) == len(tags) == len(side):
        raise AssertionError("a person of a declared table has two numbers or two tags")
    if {row[PERSON] for row in stored} != set(tags):
        raise AssertionError("a person of a declared table has no row, or a row has no person")
    rows = Counter((tags[row.pop(PERSON)], tuple(row.items())) for row in stored)
    return rows, {row["tag"]: row["rows"] for row in side}
