"""A PostgreSQL server for tests of the engine, and sources on it. Import the fixtures where they are needed."""

from __future__ import annotations

import atexit
import itertools
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from datetime import date, datetime
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pyarrow as pa
import pytest

from discreet.engines.engine import TableLocations
from discreet.engines.postgres.postgres_engine import PostgresEngine
from discreet.engines.postgres.postgres_source import qualified_name
from discreet.engines.postgres.schema_tables import side_table
from discreet.engines.table_file import PERSON
from discreet.engines.table_location import PostgresTable
from discreet.sql.dialect import identifier
from surveys.collector.database import server

NOWHERE = Path("/")
_numbers = itertools.count()
#: Roles, and a server that was given, are shared by processes.
_PROCESS = secrets.token_hex(4)


@cache
def started() -> str:
    """A database of this process's own, on $DISCREET_TEST_POSTGRES or on a server from a wheel; its address."""
    running = ExitStack()
    atexit.register(running.close)
    return running.enter_context(_database())


@contextmanager
def _database() -> Iterator[str]:
    name = f"discreet_{_PROCESS}"
    with server() as address:
        execute(address, f"CREATE DATABASE {name} ENCODING 'UTF8' TEMPLATE template0")
        try:
            yield urlsplit(address)._replace(path=f"/{name}").geturl()
        finally:
            with suppress(psycopg.OperationalError):  # a wheel's server may be gone already, with all that it held
                execute(address, f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(scope="session")
def postgres_address() -> str:
    """The address of a server."""
    return started()


@pytest.fixture(scope="session")
def postgres_engine(postgres_address: str) -> Iterator[PostgresEngine]:
    """The engine on that server."""
    engine = PostgresEngine(postgres_address, deadline_s=60)
    yield engine
    engine.close()


def new_name(what: str = "t") -> str:
    """A name that no table has."""
    return f"{what}_{_PROCESS}_{next(_numbers)}"


def execute(address: str, *statements: str) -> list[tuple[Any, ...]]:
    """Run statements as somebody else, each on its own; the rows of the last."""
    with psycopg.connect(address, autocommit=True) as connection:
        for statement in statements:
            cursor = connection.execute(statement)
        return cursor.fetchall() if cursor.description else []


def load(
    address: str,
    rows: pa.Table | Sequence[Mapping[str, Any]],
    *,
    name: str | None = None,
    types: Mapping[str, str] | None = None,
) -> str:
    """Rows as a table of the server's, in schema public; its name, quoted, which is a source.

    Of an Arrow table the types are kept, as far as there are such; of dicts they are those of the first value of each
    name that is not None, unless `types` says one. No text may hold a NUL.
    """
    name = name or new_name("source")
    columns = _of_arrow(rows) if isinstance(rows, pa.Table) else _of_dicts(rows, types or {})
    table = f"public.{identifier(name)}"
    listed = ", ".join(f"{identifier(column)} {type_}" for column, type_, _, _, _ in columns)
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(f"SET TimeZone = 'UTC'; DROP TABLE IF EXISTS {table}; CREATE TABLE {table} ({listed})")
        arrays = ", ".join(f"${place + 1}::{given}[]" for place, (_, _, given, _, _) in enumerate(columns))
        names = ", ".join(f"c{place}" for place in range(len(columns)))
        values = ", ".join(form.format(f"c{place}") for place, (_, _, _, form, _) in enumerate(columns))
        psycopg.RawCursor(connection).execute(
            f"INSERT INTO {table} SELECT {values} FROM unnest({arrays}) AS given ({names})",
            [given for *_, given in columns],
        )
    return identifier(name)


def _of_dicts(
    rows: Sequence[Mapping[str, Any]], types: Mapping[str, str]
) -> list[tuple[str, str, str, str, list[Any]]]:
    names = list(dict.fromkeys([*(name for row in rows for name in row), *types]))
    found = []
    for name in names:
        values = [row.get(name) for row in rows]
        type_ = types.get(name) or next((_type(value) for value in values if value is not None), "text")
        found.append(
            (
                name,
                type_,
                "text",
                f"CAST({{0}} AS {type_.partition(' COLLATE')[0]})",
                [_text(value) for value in values],
            )
        )
    return found


def _type(value: Any) -> str:
    match value:
        case bool():
            return "boolean"
        case int():
            return "bigint" if -(2**63) <= value < 2**63 else "numeric(38, 0)"
        case float():
            return "float8"
        case Decimal():
            return "numeric"
        case datetime():
            return "timestamp" if value.tzinfo is None else "timestamptz"
        case date():
            return "date"
        case _:
            return "text"


def _text(value: Any) -> str | None:
    return None if value is None else repr(value) if isinstance(value, float) else str(value)


def _of_arrow(table: pa.Table) -> list[tuple[str, str, str, str, list[Any]]]:
    return [
        (field.name, *_arrow(field.type), _values(table.column(place).combine_chunks()))
        for place, field in enumerate(table.schema)
    ]


_DAY = "CASE WHEN {0} = 2147483647 THEN DATE 'infinity' WHEN {0} = -2147483647 THEN DATE '-infinity' ELSE DATE '1970-01-01' + {0} END"
_STAMP = (
    "CASE WHEN {0} = 9223372036854775807 THEN TIMESTAMP 'infinity' WHEN {0} = -9223372036854775807 THEN TIMESTAMP '-infinity' "
    "ELSE CAST(DATE '1970-01-01' + CAST(floor({0}::numeric / 86400000000) AS INTEGER) AS TIMESTAMP) "
    "+ INTERVAL '1 microsecond' * CAST({0}::numeric - floor({0}::numeric / 86400000000) * 86400000000 AS FLOAT8) END"
)


def _arrow(type_: pa.DataType) -> tuple[str, str, str]:
    """The type on the server, that of the array that brings the values, and how one becomes the other."""
    plain = {
        pa.bool_(): "boolean",
        pa.int8(): "smallint",
        pa.int16(): "smallint",
        pa.int32(): "integer",
        pa.int64(): "bigint",
        pa.uint8(): "smallint",
        pa.uint16(): "integer",
        pa.uint32(): "bigint",
        pa.uint64(): "numeric(20, 0)",
        pa.float32(): "float4",
        pa.float64(): "float8",
        pa.uuid(): "uuid",
    }
    if type_ in plain:
        return plain[type_], plain[type_], "{0}"
    if pa.types.is_decimal(type_):
        return f"numeric({type_.precision}, {type_.scale})", "numeric", "{0}"
    if pa.types.is_date(type_):
        return "date", "integer", _DAY
    if pa.types.is_timestamp(type_):
        return ("timestamp", "bigint", _STAMP) if type_.tz is None else ("timestamptz", "bigint", _STAMP)
    return "text", "text", "{0}"


def _values(column: pa.Array) -> list[Any]:
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_date(column.type):
        return column.cast("int32").to_pylist()
    if pa.types.is_timestamp(column.type):
        size, divided = {"s": (10**6, 1), "ms": (10**3, 1), "us": (1, 1), "ns": (1, 1000)}[column.type.unit]
        counts = column.cast("int64").to_pylist()
        # The first and the last are infinities, as elsewhere.
        return [count if count is None or abs(count) == 2**63 - 1 else count * size // divided for count in counts]
    return column.to_pylist()


def declared_rows(address: str, place: PostgresTable) -> list[dict[str, Any]]:
    """What a declared table holds; the tags of its persons stand for their numbers."""
    with psycopg.connect(address, autocommit=True, row_factory=psycopg.rows.dict_row) as connection:
        found = connection.execute(f"SELECT * FROM {qualified_name(place)}").fetchall()
        if found and PERSON in found[0]:
            beside_ = connection.execute(f"SELECT number, tag FROM {qualified_name(side_table(place))}").fetchall()
            tags = {row["number"]: row["tag"] for row in beside_}
            return [{**row, PERSON: tags[row[PERSON]]} for row in found]
        return found


def lying(scan: Any, place: PostgresTable, **how: Any) -> TableLocations:
    """The tables of a question about one."""
    return TableLocations(files={scan: place}, engine="postgresql://", **how)
