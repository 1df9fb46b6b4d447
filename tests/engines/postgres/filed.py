"""The engine as tests of files know engines: sources are files, laid on the server; declared tables are read back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import reject

from discreet.engines import file_source as sources
from discreet.engines.engine import TableLocations
from discreet.engines.postgres.postgres_engine import PostgresEngine
from discreet.engines.postgres.postgres_source import qualified_name
from discreet.engines.postgres.schema_tables import side_table
from discreet.engines.source_values import source_rows
from discreet.engines.table_file import arrow_schema, persons_file, persons_schema
from discreet.engines.table_location import PostgresTable
from engines.postgres.server import NOWHERE, load, new_name


class Filed:
    """Makes and counts on the server what a test has written into files."""

    def __init__(self, engine: PostgresEngine, address: str) -> None:
        self.engine = engine
        self.address = address
        self._places: dict[Path, PostgresTable] = {}

    def laid(self, source: str, folder: Path) -> str:
        """A file's rows as a table; what the server cannot hold is not tried."""
        found = sources.find(source, folder=folder)
        if found.kind == "parquet":
            table = pq.read_table(found.files[0], partitioning=None)
        else:
            read = list(source_rows(found))
            columns = [pa.array([row[place] for row in read], pa.string()) for place in range(len(found.names))]
            table = pa.Table.from_arrays(columns, names=list(found.names))
        try:
            return load(self.address, table)
        except (psycopg.DataError, pa.ArrowInvalid):  # a NUL, a day before 4714 BC
            reject()

    def declare(self, table: Any, *, folder: Path, target: Path, path: tuple[Any, ...] = (), **how: Any) -> Any:
        laid = [replace(one, source=self.laid(one.source, folder)) for one in (table, *path)]
        place = self._places[target] = self.engine.place(new_name("made"), folder=NOWHERE)
        making = self.engine.declare(laid[0], folder=NOWHERE, target=place, path=tuple(laid[1:]), **how)
        pq.write_table(self._read(place, arrow_schema(table.schema)), target)
        if not table.schema.unit.is_row:
            pq.write_table(self._read(side_table(place), persons_schema()), persons_file(target))
        with psycopg.connect(self.address, autocommit=True) as connection:
            connection.execute(f"DROP TABLE {', '.join(one.source for one in laid)}")
        return making

    def _read(self, place: PostgresTable, schema: Any) -> Any:
        with psycopg.connect(self.address, autocommit=True) as connection:
            found = connection.execute(f"SELECT * FROM {qualified_name(place)}").fetchall()
        columns = [pa.array([row[at] for row in found], type_) for at, type_ in enumerate(schema.types)]
        return pa.Table.from_arrays(columns, schema=schema)

    def count(self, cells: Any, region: Any, *, tables: TableLocations) -> Any:
        return self.engine.count(cells, region, tables=self._lying(tables))

    def keys(self, plan: Any, keys: Any, region: Any, *, tables: TableLocations, **more: Any) -> Any:
        return self.engine.keys(plan, keys, region, tables=self._lying(tables), **more)

    def coded(self, plan: Any, axes: Any, region: Any, *, tables: TableLocations) -> Any:
        return self.engine.coded(plan, axes, region, tables=self._lying(tables))

    def person_rows(self, plan: Any, axes: Any, codes: Any, region: Any, *, tables: TableLocations) -> Any:
        return self.engine.person_rows(plan, axes, codes, region, tables=self._lying(tables))

    def _lying(self, tables: TableLocations) -> TableLocations:
        files: Mapping[Any, Any] = {scan: self._places[file] for scan, file in tables.files.items()}
        return replace(tables, files=files)
