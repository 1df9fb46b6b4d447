"""Proposes a type for each column of a source, and how its texts are written, for the owner to write down or change.

Bounds and categories are never proposed here: they would be facts about people, read from their data.
"""

from __future__ import annotations

from typing import Any

import duckdb

from discreet.engines import reference_proposal
from discreet.engines.duckdb_conversion import DAY, DuckDBKind, kind_of, matches, missing_text_sql, raw_sql
from discreet.engines.duckdb_declared_table import Unreadable, source_columns, source_sql, translate_read_errors
from discreet.engines.file_source import FileSource
from discreet.engines.format_proposal import propose_format
from discreet.engines.missing_values import MISSING
from discreet.engines.reference_proposal import ROWS_LOOKED_AT
from discreet.schema.column import Column, MomentColumn, NumberColumn
from discreet.sql.dialect import identifier

_FOR_KIND: dict[DuckDBKind | None, str] = {
    "boolean": "boolean",
    "integer": "integer",
    "number": "decimal",
    "date": "date",
    "timestamp": "timestamp",
    "nanoseconds": "timestamp",
}


def propose(cursor: duckdb.DuckDBPyConnection, source: FileSource) -> dict[str, dict[str, Any]]:
    """The columns of a source and the settings proposed for them."""
    columns = source.distinct_names()
    with translate_read_errors(source):
        names, types = source_columns(cursor, source)
    if not source.is_text:
        settings = [{"type": _parquet_type(type_)} for type_ in types]
    else:
        try:
            settings = _csv_settings(cursor, source, names)
        except Unreadable:  # not all of it is UTF-8
            return reference_proposal.propose_columns(source)
    return {name: settings[source.names.index(name)] for name in columns}


def _parquet_type(source_type: str) -> str:
    if source_type in ("UBIGINT", "HUGEINT", "UHUGEINT") or (
        source_type.startswith("DECIMAL(") and source_type.endswith(",0)")
    ):
        return "integer"
    return _FOR_KIND.get(kind_of(source_type), "text")


def _csv_settings(cursor: duckdb.DuckDBPyConnection, source: FileSource, names: list[str]) -> list[dict[str, Any]]:
    """The first type that every value looked at fits; else how the texts are written, or text."""
    given = [f"given_{place}" for place in range(len(names))]
    listed = ", ".join(f"{_given(identifier(name))} AS {alias}" for name, alias in zip(names, given, strict=True))
    with translate_read_errors(source):
        cursor.execute(
            f"CREATE OR REPLACE TEMP TABLE looked_at AS SELECT {listed} "
            f"FROM (SELECT * FROM {source_sql(source)} LIMIT {ROWS_LOOKED_AT})"
        )
    counts: list[int] = []
    for start in range(0, len(names), _COLUMNS_AT_ONCE):  # planning one long query takes the square of its length
        tests = [test for alias in given[start : start + _COLUMNS_AT_ONCE] for test in _tests(alias)]
        counts += (
            cursor.execute(f"SELECT {', '.join(f'count({test})' for test in tests)} FROM looked_at").fetchone() or ()
        )
    each = len(_TYPES) + 1
    settings: list[dict[str, Any]] = [
        {"type": _first(*counts[start : start + each])} for start in range(0, len(counts), each)
    ]
    texts = [place for place, one in enumerate(settings) if one["type"] == "text" and counts[place * each]]
    for place in texts:
        words = cursor.execute(f"SELECT DISTINCT {given[place]} FROM looked_at").fetchall()
        texts_seen = [word for (word,) in words if word is not None]
        settings[place] = propose_format(texts_seen, delimiter=source.delimiter) or settings[place]
    cursor.execute("DROP TABLE looked_at")
    return settings


#: Columns whose types are tried in one query.
_COLUMNS_AT_ONCE = 8

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
    return f"(CASE WHEN NOT {missing_text_sql(value, MISSING)} THEN {value} END)"


def _fits(column: Column, value: str) -> str:
    return f"({raw_sql(column, value, 'text')}) IS NOT NULL"


def _first(given: int, *fitting: int) -> str:
    if not given:
        return "text"
    return next((type_ for type_, count in zip(_TYPES, fitting, strict=True) if count == given), "text")
