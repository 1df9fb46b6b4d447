"""The same question in plain SQL, on made-up rows as they are: no bounds, no limits, no noise.

Only a statement that our reader took comes here, and not as it was typed: as it was understood, written anew. It runs
on a database in memory that holds made-up and public rows alone, can reach no file, and is stopped after a while.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import duckdb

from discreet.release import Cell
from discreet.sql.dialect import identifier
from discreet.sql.query_text import parse_statement

if TYPE_CHECKING:
    import pyarrow as pa

#: Plain SQL runs no longer than this.
DEADLINE_S = 3.0

_SETTINGS = (
    "SET threads = 1",
    "SET memory_limit = '512MB'",
    "SET python_enable_replacements = false",
    "SET autoinstall_known_extensions = false",
    "SET autoload_known_extensions = false",
    "SET TimeZone = 'UTC'",
    "SET enable_external_access = false",
    "SET lock_configuration = true",
)

#: What picks some groups of an answer: left out, so that groups can be compared.
_PICKING = ("having", "order", "limit", "offset")


def plain_rows(text: str, tables: Mapping[str, pa.Table]) -> list[tuple[Cell, ...]] | None:
    """All groups of a statement's answer; None where plain SQL has another meaning, or none, for it."""
    _, tree = parse_statement(text)
    for part in _PICKING:
        tree.set(part, None)
    connection = duckdb.connect(":memory:", config={"temp_directory": ""})
    timer = threading.Timer(DEADLINE_S, connection.interrupt)
    try:
        seal_connection(connection, tables)
        timer.start()
        answer_rows = connection.execute(tree.sql(dialect="duckdb")).fetchall()
    except (duckdb.Error, RuntimeError):
        return None
    finally:
        timer.cancel()
        connection.close()
    return [tuple(map(cell_of, row)) for row in answer_rows]


def seal_connection(connection: Any, tables: Mapping[str, pa.Table]) -> None:
    """Put tables into a database in memory, and let it reach nothing else."""
    for name, rows in tables.items():
        connection.register("given", rows)
        connection.execute(f"CREATE TABLE {identifier(name)} AS SELECT * FROM given")
        connection.unregister("given")
    for setting in _SETTINGS:
        connection.execute(setting)


def cell_of(value: Any) -> Cell:
    """A value of DuckDB's as an answer has it."""
    if isinstance(value, datetime):
        return value.replace(tzinfo=None).isoformat(sep=" ")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return int(value) if value == int(value) else float(value)
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return None if value != value else value
    return str(value)
