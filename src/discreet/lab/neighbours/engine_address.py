"""The engine that a neighbour test runs on, by its address: files, a schema of its own on a server, a folder."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from discreet.engines.duckdb import DuckDBEngine
from discreet.engines.engine import Engine
from discreet.engines.memory import MemoryEngine
from discreet.engines.table_file import PERSON
from discreet.errors import Flag, Message, UsageError
from discreet.lab.neighbours.engine_site import EngineSite, FileSite, read_parquet
from discreet.lab.neighbours.source_rows import SourceRows
from discreet.schema.address import DEFAULT, check_address, engine_kind
from discreet.sql.dialect import identifier
from discreet.storage.postgres_connection import connect

#: The slow, obvious engine that the others must agree with.
MEMORY = "memory"

_numbers = count()


@contextmanager
def open_site(address: str, folder: Path) -> Iterator[EngineSite]:
    """The engine at an address, with a place for generated tables, which are gone when it is left."""
    if address == MEMORY:
        yield FileSite(name=MEMORY, engine=MemoryEngine(), folder=folder)
        return
    if "://" not in address and address != DEFAULT:
        raise UsageError(
            f"there is no engine {address[:60]!r}",
            hint=Message(Flag("engine"), " duckdb, memory, or an address such as postgresql://host/database"),
        )
    address = check_address(address, where="the engine")
    if address == DEFAULT:
        engine = DuckDBEngine(threads=1)
        try:
            yield FileSite(name=DEFAULT, engine=engine, folder=folder)
        finally:
            engine.close()
    elif engine_kind(address) == "postgresql":
        with _postgres_site(address, folder) as site:
            yield site
    else:
        with _spark_site(address, folder) as site:
            yield site


@dataclass(frozen=True, kw_only=True, eq=False)
class PostgresSite:
    """Tables of PostgreSQL, in a schema of its own: all columns are text, as an import of a CSV has them."""

    engine: Engine
    folder: Path
    connection: Any
    schema: str
    texts: bool = True

    def lay(self, file: SourceRows, name: str) -> str:
        rows = file.typed().rows
        table = f"{identifier(self.schema)}.{identifier(f'{name[:40]}_{next(_numbers)}')}"
        columns = ", ".join(f"{identifier(each)} text" for each in file.names)
        self.connection.execute(f"CREATE TABLE {table} ({columns})")
        marks = ", ".join(["%s"] * len(file.names))
        with self.connection.cursor() as cursor:
            cursor.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)
        return table

    def stored(self, place: Any) -> list[dict[str, Any]]:
        return self._read(place)

    def side(self, place: Any) -> list[dict[str, Any]]:
        from discreet.engines.postgres.schema_tables import side_table

        return [row | {"tag": bytes(row["tag"])} for row in self._read(side_table(place))]

    def _read(self, place: Any) -> list[dict[str, Any]]:
        from discreet.engines.postgres.postgres_source import qualified_name

        cursor = self.connection.execute(f"SELECT * FROM {qualified_name(place)}")
        names = [column.name for column in cursor.description]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


@contextmanager
def _postgres_site(address: str, folder: Path) -> Iterator[PostgresSite]:
    """A schema that is made for the test, and dropped after it."""
    from discreet.engines.postgres.postgres_engine import PostgresEngine
    from discreet.engines.postgres.server_errors import ENGINE_SERVER

    connection = connect(address, ENGINE_SERVER)
    schema = f"discreet_neighbours_{secrets.token_hex(6)}"
    engine = PostgresEngine(address)
    try:
        connection.autocommit = True
        _make_schema(connection, schema)
        yield PostgresSite(engine=engine, folder=folder, connection=connection, schema=schema)
    finally:
        engine.close()
        connection.execute(f"DROP SCHEMA IF EXISTS {identifier(schema)} CASCADE")
        connection.close()


def _make_schema(connection: Any, schema: str) -> None:
    import psycopg

    try:
        connection.execute(f"SET TimeZone = 'UTC'; CREATE SCHEMA {identifier(schema)}")
    except psycopg.errors.InsufficientPrivilege:
        raise UsageError(
            "generated tables need a schema of their own, and this role may not create one",
            hint=Message("GRANT CREATE ON DATABASE, or run the test on files: ", Flag("engine", DEFAULT)),
        ) from None


@dataclass(frozen=True, kw_only=True, eq=False)
class SparkSite:
    """Folders of Parquet files, which Spark on this machine can read."""

    engine: Engine
    folder: Path

    def lay(self, file: SourceRows, name: str) -> str:
        place = self.folder / f"{name}-{next(_numbers)}"
        place.mkdir(parents=True)
        pq.write_table(file.typed().arrow(), place / "part-0.parquet")
        return place.name

    def stored(self, place: Any) -> list[dict[str, Any]]:
        manifest = self._manifest(place)
        names = {f"c{number}": name for number, (name, _) in enumerate(manifest.columns)} | {"person": PERSON}
        return [{names[name]: cell for name, cell in row.items()} for row in self._read(place, manifest.rows.folder)]

    def side(self, place: Any) -> list[dict[str, Any]]:
        return self._read(place, self._manifest(place).persons.folder)

    @staticmethod
    def _manifest(place: Any) -> Any:
        from discreet.engines.spark.lake import LakeManifest

        return LakeManifest.read((Path(place.folder) / "manifest.json").read_bytes())

    @staticmethod
    def _read(place: Any, part: str) -> list[dict[str, Any]]:
        files = sorted((Path(place.folder) / part).glob("*.parquet"))
        return [row for file in files for row in read_parquet(file)]


@contextmanager
def _spark_site(address: str, folder: Path) -> Iterator[SparkSite]:
    """Spark on this machine: a cluster could not read the folder."""
    from discreet.engines.spark.spark_engine import SparkEngine

    if address.partition("?")[0] != "spark://local":
        raise UsageError(
            "generated tables lie in a folder of this machine, which a Spark cluster cannot read",
            hint=Message(Flag("engine", "spark://local"), " runs the same engine here"),
        )
    engine = SparkEngine(address)
    try:
        yield SparkSite(engine=engine, folder=folder)
    finally:
        engine.close()
