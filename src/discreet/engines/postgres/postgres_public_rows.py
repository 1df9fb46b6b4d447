"""What may be told of a source for nothing: the types of its columns, and the rows of one that is public."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from discreet.engines.missing_values import WrittenNumber
from discreet.engines.postgres.conversion import PostgresKind, value_sql, word_sql
from discreet.engines.postgres.postgres_source import PostgresSource, SourceColumn, stream_rows
from discreet.engines.postgres.session import PostgresSession
from discreet.engines.source_values import SourceMoment, SourceValue
from discreet.errors import SchemaError
from discreet.sql.dialect import identifier

_FOR_KIND: dict[PostgresKind | None, str] = {
    "boolean": "boolean",
    "integer": "integer",
    "numeric": "decimal",
    "float": "decimal",
    "date": "date",
    "timestamp": "timestamp",
}


def propose_types(source: PostgresSource) -> dict[str, str]:
    """The columns of a source and the types proposed for them. Only types: no row is looked at."""
    column_by_name = dict(zip(source.names, source.columns, strict=True))
    return {
        name: "integer" if column_by_name[name].is_whole else _FOR_KIND.get(column_by_name[name].kind, "text")
        for name in source.distinct_names()
    }


def public_rows(session: PostgresSession, source: PostgresSource, names: Sequence[str]) -> Iterator[list[SourceValue]]:
    """The rows of a public source, as `values.code_of` takes them."""
    columns = [source.columns[source.place(name)] for name in names]
    listed = [sql for one in columns for sql in _forms(one, source)]
    for rows in stream_rows(session, f"SELECT {', '.join(listed)} FROM {source.sql} AS s"):
        for row in rows:
            values = iter(row)
            yield [_given(one, next(values), next(values)) for one in columns]


def _forms(column: SourceColumn, source: PostgresSource) -> tuple[str, str]:
    """A value as text, and the microseconds of a moment."""
    if column.kind is None:
        raise SchemaError(
            f"column {column.name!r} of {source.shown} holds {column.type}, which is not supported",
            hint="convert it in a materialized view",
        )
    value = value_sql(f"s.{identifier(column.name)}", column.kind)
    if column.kind not in ("date", "timestamp"):
        return word_sql(value, column.kind), "NULL"
    moment = f"CASE WHEN isfinite({value}) THEN CAST(trunc(extract(epoch FROM {value}) * 1000000) AS TEXT) END"
    shown = f"CASE WHEN {value} IS NOT NULL THEN coalesce({word_sql(value, column.kind)}, '?') END"
    return shown, moment


def _given(column: SourceColumn, text: str | None, micros: str | None) -> SourceValue:
    if text is None:
        return None
    match column.kind:
        case "boolean":
            return text == "true"
        case "integer":
            return int(text)
        case "float" | "numeric":
            return WrittenNumber(text)
        case "date" | "timestamp":
            return SourceMoment(None if micros is None else int(micros) * 1000, text)
        case _:
            return text
