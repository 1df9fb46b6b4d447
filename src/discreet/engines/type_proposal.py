"""Proposes a type for each column of a source, for the owner to write down or change.

Only types are proposed. Bounds and categories would be facts about people, read from their data.
"""

from __future__ import annotations

import duckdb

from discreet.engines import source_values
from discreet.engines.duckdb_conversion import DAY, DuckDBKind, kind_of, matches, missing_sql, raw_sql
from discreet.engines.duckdb_declared_table import Unreadable, source_columns, source_sql, translate_read_errors
from discreet.engines.file_source import FileSource
from discreet.errors import UsageError
from discreet.schema.column import Column, MomentColumn, NumberColumn
from discreet.sql.dialect import identifier

#: How many rows of a CSV are looked at. A later value that does not fit is NULL, and the owner is told.
ROWS_LOOKED_AT = 20_000

_FOR_KIND: dict[DuckDBKind | None, str] = {
    "boolean": "boolean",
    "integer": "integer",
    "number": "decimal",
    "date": "date",
    "timestamp": "timestamp",
    "nanoseconds": "timestamp",
}


def propose(cursor: duckdb.DuckDBPyConnection, source: FileSource) -> dict[str, str]:
    """The columns of a source and the types proposed for them."""
    columns = source.distinct_names()
    with translate_read_errors(source):
        names, types = source_columns(cursor, source)
    if not source.is_text:
        types = [_parquet_type(type_) for type_ in types]
    else:
        types = _csv_types(cursor, source, names)
    return {name: types[source.names.index(name)] for name in columns}


def _parquet_type(source_type: str) -> str:
    if source_type in ("UBIGINT", "HUGEINT", "UHUGEINT") or (
        source_type.startswith("DECIMAL(") and source_type.endswith(",0)")
    ):
        return "integer"
    return _FOR_KIND.get(kind_of(source_type), "text")


def _csv_types(cursor: duckdb.DuckDBPyConnection, source: FileSource, names: list[str]) -> list[str]:
    """The first type that every value looked at fits; text where none does, or nothing was seen."""
    tests = [test for name in names for test in _tests(_given(identifier(name)))]
    counts = ", ".join(f"count({test})" for test in tests)

    def counted(rows: str) -> tuple[int, ...]:
        sql = f"SELECT {counts} FROM (SELECT * FROM {rows} LIMIT {ROWS_LOOKED_AT})"
        with translate_read_errors(source):
            return cursor.execute(sql).fetchone() or ()

    try:
        row = counted(source_sql(source))
    except Unreadable:  # every byte is a letter then, and no type but text takes other letters than plain ones
        try:
            row = counted(source_sql(source, encoding="latin-1"))
        except UsageError:  # DuckDB's Latin-1 leaves out 32 bytes, among them the quotes and the euro of Windows
            types = source_values.propose_types(source)
            return [types.get(name, "text") for name in source.names]
    each = len(_TYPES) + 1
    return [_first(row[start : start + each]) for start in range(0, len(row), each)]


_TYPES = ("boolean", "integer", "decimal", "date", "timestamp")


def _tests(value: str) -> list[str]:
    """The value, then the value where it could be of each type, else NULL."""
    # 007 is a name that looks like a number: as a number it would lose its zeros.
    number = f"NOT regexp_matches({value}, '^[^.1-9]*0[0-9]')"
    integer = _fits(NumberColumn(name="", type="integer"), value)
    decimal = _fits(NumberColumn(name="", type="decimal"), value)
    moment = _fits(MomentColumn(name="", type="timestamp"), value)
    conditions = [
        f"lower({value}) IN ('true', 'false')",
        f"{number} AND {integer}",
        f"{number} AND {decimal}",
        f"{matches(value, DAY)} AND {moment}",
        moment,
    ]
    return [value, *(f"CASE WHEN {condition} THEN 1 END" for condition in conditions)]


def _given(value: str) -> str:
    """A value; NULL where it is missing, so that it fits every type."""
    return f"(CASE WHEN NOT {missing_sql(value, 'text')} THEN {value} END)"


def _fits(column: Column, value: str) -> str:
    return f"({raw_sql(column, value, 'text')}) IS NOT NULL"


def _first(counts: tuple[int, ...]) -> str:
    given, *fitting = counts
    if not given:
        return "text"
    return next((type_ for type_, count in zip(_TYPES, fitting, strict=True) if count == given), "text")
