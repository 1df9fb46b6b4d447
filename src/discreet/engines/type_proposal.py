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
from discreet.engines.missing_values import MISSING, is_missing
from discreet.engines.reference_proposal import ROWS_LOOKED_AT
from discreet.schema.column import Column, MomentColumn, NumberColumn
from discreet.sql.dialect import identifier

_FOR_KIND: dict[DuckDBKind | None, str] = {
    "boolean": "boolean",
    "integer": "integer",
    "decimal": "decimal",
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
    """The first type that every value looked at fits; else how the texts are written, or text.

    Some first rows leave few types to try for a column, mostly one; only these are asked of all rows looked at.
    """
    values = [f"value_{place}" for place in range(len(names))]
    listed = ", ".join(f"{identifier(name)} AS {value}" for name, value in zip(names, values, strict=True))
    with translate_read_errors(source):
        cursor.execute(
            f"CREATE OR REPLACE TEMP TABLE looked_at AS SELECT {listed} "
            f"FROM (SELECT * FROM {source_sql(source)} LIMIT {ROWS_LOOKED_AT})"
        )
    first_rows = cursor.execute(f"SELECT * FROM looked_at LIMIT {_FIRST_ROWS}").fetchall()
    words = [{str(row[place]) for row in first_rows if not is_missing(row[place])} for place in range(len(names))]
    open_types = [reference_proposal.fitting_types(each) for each in words]
    types = _first_fitting(cursor, values, open_types)
    settings: list[dict[str, Any]] = [{"type": type_} for type_ in types]
    for place, value in enumerate(values):
        if types[place] == "text":
            seen = cursor.execute(f"SELECT DISTINCT {value} FROM looked_at").fetchall()
            texts = [word for (word,) in seen if not is_missing(word)]
            settings[place] = (propose_format(texts, delimiter=source.delimiter) if texts else None) or settings[place]
    cursor.execute("DROP TABLE looked_at")
    return settings


def _first_fitting(
    cursor: duckdb.DuckDBPyConnection, values: list[str], open_types: list[tuple[str, ...]]
) -> list[str]:
    """The first of each column's types that no value misses; text where there is none, or no value at all."""
    left = [list(each) for each in open_types]
    types = ["text"] * len(values)
    open_places = [place for place in range(len(values)) if left[place]]
    while open_places:
        tests = [(values[place], left[place].pop(0)) for place in open_places]
        counts: list[tuple[int, int]] = []
        for start in range(0, len(tests), _TESTS_AT_ONCE):  # planning one long query takes the square of its length
            some_counts = ", ".join(_counts(value, type_) for value, type_ in tests[start : start + _TESTS_AT_ONCE])
            numbers = cursor.execute(f"SELECT {some_counts} FROM looked_at").fetchone() or ()
            counts += zip(numbers[::2], numbers[1::2], strict=True)
        missed = []
        for place, (_, type_), (given, fitting) in zip(open_places, tests, counts, strict=True):
            if given and given == fitting:
                types[place] = type_
            elif given and left[place]:
                missed.append(place)
        open_places = missed
    return types


#: So many rows leave few types to try.
_FIRST_ROWS = 200

#: Tests of a type in one query.
_TESTS_AT_ONCE = 24


def _counts(value: str, type_: str) -> str:
    """How many values there are, and how many of them fit a type."""
    given = f"(CASE WHEN NOT {missing_text_sql(value, MISSING)} THEN {value} END)"
    return f"count({given}), count(CASE WHEN {given} IS NOT NULL AND {_condition(value, type_)} THEN 1 END)"


def _condition(value: str, type_: str) -> str:
    if type_ == "boolean":
        return f"lower({value}) IN ('true', 'false')"
    if type_ in ("integer", "decimal"):
        # 007 is a name that looks like a number: as a number it would lose its zeros.
        number = NumberColumn(name="", type="integer" if type_ == "integer" else "decimal")
        return f"NOT regexp_matches({value}, '^[^.1-9]*0[0-9]') AND {_fits(number, value)}"
    moment = _fits(MomentColumn(name="", type="timestamp"), value)
    return f"{matches(value, DAY)} AND {moment}" if type_ == "date" else moment


def _fits(column: Column, value: str) -> str:
    return f"({raw_sql(column, value, 'text')}) IS NOT NULL"
