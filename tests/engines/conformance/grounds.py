"""Where the same rows lie for each engine, and how a test looks at what was made of them.

A ground lays a source (`persons_tables.File`), names a place for a declared table, and reads the table back, by other
means than the engine's own. All grounds of one test run are laid from the same rows.
"""

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any, Protocol

import psycopg
import pyarrow as pa
import pyarrow.parquet as pq

from discreet.engines.engine import DeclarationOutcome, Engine
from discreet.engines.postgres.postgres_source import qualified_name
from discreet.engines.postgres.schema_tables import side_table
from discreet.engines.spark.lake import LakeManifest
from discreet.engines.table_file import PERSON, persons_file
from discreet.engines.table_location import LakeFolder, PostgresTable, TableLocation
from discreet.schema.schema import Table
from engines.conformance.laying import unheld
from engines.persons_tables import KEY, TAG_KEY, File
from engines.postgres.server import load
from engines.spark import server as spark

_numbers = count()


class Ground(Protocol):
    """An engine, and the place where its sources and its declared tables lie."""

    name: str
    engine: Engine
    folder: Path

    def lay(self, file: File, name: str) -> str:
        """Put rows where the engine finds them; what a declaration calls them."""

    def gap(self, file: File) -> str:
        """Why these rows cannot lie here at all; nothing where they can."""

    def stored(self, place: TableLocation) -> list[dict[str, Any]]:
        """The rows of a declared table, as they are stored."""

    def side(self, place: TableLocation) -> list[dict[str, Any]]:
        """The rows of its side table: number, tag, rows."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Disk:
    """Files: the reference, and DuckDB."""

    name: str
    engine: Engine
    folder: Path

    def lay(self, file: File, name: str) -> str:
        return file.write(self.folder, name)

    def gap(self, file: File) -> str:
        return ""

    def stored(self, place: Path) -> list[dict[str, Any]]:
        return _rows(place)

    def side(self, place: Path) -> list[dict[str, Any]]:
        return _rows(persons_file(place))


@dataclass(frozen=True, kw_only=True, eq=False)
class Server:
    """Tables of PostgreSQL, in its schema `public`."""

    name: str
    engine: Engine
    folder: Path
    address: str

    def lay(self, file: File, name: str) -> str:
        return load(self.address, typed(file).arrow(), name=f"{name}_{self.folder.name}")

    def gap(self, file: File) -> str:
        return unheld(file)

    def stored(self, place: PostgresTable) -> list[dict[str, Any]]:
        return self._read(place)

    def side(self, place: PostgresTable) -> list[dict[str, Any]]:
        return [row | {"tag": bytes(row["tag"])} for row in self._read(side_table(place))]

    def _read(self, place: PostgresTable) -> list[dict[str, Any]]:
        with psycopg.connect(self.address, row_factory=psycopg.rows.dict_row) as connection:
            return connection.execute(f"SELECT * FROM {qualified_name(place)}").fetchall()


@dataclass(frozen=True, kw_only=True, eq=False)
class Shore:
    """Folders of Parquet files: a lake that this machine holds."""

    name: str
    engine: Engine
    folder: Path

    def lay(self, file: File, name: str) -> str:
        told = f"{name}-{next(_numbers)}"
        return spark.load(typed(file).arrow(), self.folder, told)

    def gap(self, file: File) -> str:
        return ""

    def stored(self, place: LakeFolder) -> list[dict[str, Any]]:
        manifest = LakeManifest.read((Path(place.folder) / "manifest.json").read_bytes())
        names = {f"c{number}": name for number, (name, _) in enumerate(manifest.columns)} | {"person": PERSON}
        return [{names[name]: cell for name, cell in row.items()} for row in self._read(place, manifest.rows.folder)]

    def side(self, place: LakeFolder) -> list[dict[str, Any]]:
        manifest = LakeManifest.read((Path(place.folder) / "manifest.json").read_bytes())
        assert manifest.persons is not None
        return self._read(place, manifest.persons.folder)

    def _read(self, place: LakeFolder, part: str) -> list[dict[str, Any]]:
        files = sorted((Path(place.folder) / part).glob("*.parquet"))
        return [row for file in files for row in _rows(file)]


def typed(file: File) -> File:
    """A CSV's texts as typed ones: an empty field is NULL."""
    if file.types is not None:
        return file
    rows = tuple(tuple(None if cell in ("", None) else str(cell) for cell in row) for row in file.rows)
    return replace(file, rows=rows, types=(pa.string(),) * len(file.names))


def _rows(file: Path) -> list[dict[str, Any]]:
    return pq.read_table(file, partitioning=None).to_pylist()


def fresh(ground: Ground) -> TableLocation:
    """A place where no table lies yet."""
    return ground.engine.place(f"made-{next(_numbers)}{ground.engine.ending}", folder=ground.folder)


def declared(
    ground: Ground, table: Table, path: tuple[Table, ...] = (), forgotten: Collection[bytes] = ()
) -> tuple[DeclarationOutcome, TableLocation]:
    """A declared table of a source that has been laid, with the keys that are everybody's in tests."""
    place = fresh(ground)
    how: dict[str, Any] = {}
    if not table.schema.unit.is_row:
        how = {"key": KEY, "tag_key": TAG_KEY, "path": path, "forgotten": forgotten}
    return ground.engine.declare(table, folder=ground.folder, target=place, **how), place


def contents(ground: Ground, place: TableLocation, *, persons: bool) -> tuple[Counter[Any], dict[bytes, int]]:
    """The stored rows as a multiset, each under its person's tag; and how many rows everybody had."""
    stored = ground.stored(place)
    if not persons:
        return Counter((b"", tuple(row.items())) for row in stored), {}
    side = ground.side(place)
    tags = {row["number"]: row["tag"] for row in side}
    assert len(set(tags.values())) == len(tags) == len(side), "one number, one tag"
    assert {row[PERSON] for row in stored} == set(tags), "everybody has a row, and a row is somebody's"
    rows = Counter((tags[row.pop(PERSON)], tuple(row.items())) for row in stored)
    return rows, {row["tag"]: row["rows"] for row in side}
