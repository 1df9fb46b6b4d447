"""Tables and views of DuckDB files, as batches of rows with their types.

Guarantee: a row depends on that row of the table alone.
Because: each value comes as it is; whole numbers of 128 bits, for which Arrow has no type, as their digits: two of them
    may be two persons. The file is opened for reading alone, by a database that reaches no
    other file: a view in it reads nothing else. Columns of lists, structures and bytes are left out, by name.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb

from discreet.engines.content_fault import ContentFault
from discreet.engines.named_tables import choose_table, open_elsewhere
from discreet.schema.source_layout import SourceLayout
from discreet.sql.dialect import identifier, text_literal

_ROWS_AT_ONCE = 122_880
_WIDE = ("HUGEINT", "UHUGEINT")


def duckdb_tables(file: Path) -> tuple[str, ...]:
    """The tables and views in a file; with their schema where it is not the main one."""
    with _open(file) as connection:
        return tuple(_listed(connection))


def duckdb_columns(file: Path, layout: SourceLayout) -> tuple[dict[str, str], tuple[str, ...]]:
    """The columns of the declared table, or the only one, with their DuckDB types; and those that are no columns."""
    from discreet.engines.duckdb_conversion import kind_of

    with _open(file) as connection:
        tables = _listed(connection)
        table = tables[choose_table(file, tuple(tables), layout)]
        described = connection.execute(f"DESCRIBE SELECT * FROM {table}").fetchall()
    columns = {name: type_ for name, type_, *_ in described if kind_of(type_) is not None}
    return columns, tuple(name for name, *_ in described if name not in columns)


def duckdb_batches(file: Path, names: Sequence[str], layout: SourceLayout) -> Iterator[Any]:
    """These columns of all rows, as Arrow batches."""
    types, _ = duckdb_columns(file, layout)
    listed = ", ".join(f"{_value_sql(identifier(name), types[name])} AS {identifier(name)}" for name in names)
    with _open(file) as connection:
        tables = _listed(connection)
        table = tables[choose_table(file, tuple(tables), layout)]
        yield from connection.sql(f"SELECT {listed} FROM {table}").to_arrow_reader(_ROWS_AT_ONCE)


def duckdb_schema(file: Path, names: Sequence[str], layout: SourceLayout) -> Any:
    """The Arrow types of these columns."""
    types, _ = duckdb_columns(file, layout)
    listed = ", ".join(f"{_value_sql(identifier(name), types[name])} AS {identifier(name)}" for name in names)
    with _open(file) as connection:
        tables = _listed(connection)
        table = tables[choose_table(file, tuple(tables), layout)]
        return connection.sql(f"SELECT {listed} FROM {table} LIMIT 0").to_arrow_reader(1).schema


def _value_sql(value: str, type_: str) -> str:
    is_text = type_ in _WIDE or type_.startswith("ENUM(") or type_ == "JSON"
    return f"CAST({value} AS VARCHAR)" if is_text else value


def _listed(connection: duckdb.DuckDBPyConnection) -> dict[str, str]:
    """The tables and views by their names, and how SQL names them."""
    rows = connection.execute(
        "SELECT table_schema, table_name FROM information_schema.tables WHERE table_catalog = 'source' ORDER BY ALL"
    ).fetchall()
    return {
        name if schema == "main" else f"{schema}.{name}": f"source.{identifier(schema)}.{identifier(name)}"
        for schema, name in rows
    }


@contextmanager
def _open(file: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    beside = file.with_name(f"{file.name}.wal")
    if beside.exists() and beside.stat().st_size:
        raise open_elsewhere(file, beside)
    config: dict[str, Any] = {
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
        "allow_community_extensions": False,
        "allow_persistent_secrets": False,
        "python_enable_replacements": False,
        "temp_directory": "",
    }
    try:
        with duckdb.connect(":memory:", config=config) as connection:
            connection.execute("SET TimeZone = 'UTC'")
            connection.execute(f"ATTACH {text_literal(str(file))} AS source (READ_ONLY)")
            connection.execute("SET enable_external_access = false")
            connection.execute("SET lock_configuration = true")
            yield connection
    except duckdb.Error:  # its words may quote a value
        raise ContentFault(
            f"{file.name} cannot be read as DuckDB: it is damaged, of another version, open in another program, or a "
            "view in it fails"
        ) from None
