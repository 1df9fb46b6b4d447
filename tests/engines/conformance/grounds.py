"""Where the same rows lie for each engine, and how a test looks at what was made of them.

A ground lays a source (`persons_tables.File`), names a place for a declared table, and reads the table back, by other
means than the engine's own. All grounds of one test run are laid from the same rows.
"""

from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, Protocol

import psycopg

from discreet.engines.engine import Engine
from discreet.engines.postgres.postgres_source import qualified_name
from discreet.engines.postgres.schema_tables import side_table
from discreet.engines.spark.lake import LakeManifest
from discreet.engines.table_file import PERSON
from discreet.engines.table_location import LakeFolder, PostgresTable
from discreet.lab.neighbours.engine_site import EngineSite, contents, read_parquet
from discreet.lab.neighbours.engine_site import FileSite as Disk
from discreet.lab.neighbours.engine_site import declare_table as declared
from engines.conformance.laying import unheld
from engines.persons_tables import File
from engines.postgres.server import load
from engines.spark import server as spark

__all__ = ["Disk", "Ground", "Server", "Shore", "contents", "declared", "typed"]

_numbers = count()


class Ground(EngineSite, Protocol):
    """A site of an engine that is compared with others."""

    name: str

    def gap(self, file: File) -> str:
        """Why these rows cannot lie here at all; nothing where they can."""


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
        return [row for file in files for row in read_parquet(file)]


def typed(file: File) -> File:
    """A CSV's texts as typed ones: an empty field is NULL."""
    return file.typed()
