"""What may be told of a source for nothing: the types of its columns, and the rows of one that is public."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from discreet.engines.postgres.conversion import Kind, value_sql, word_sql
from discreet.engines.postgres.session import Session
from discreet.engines.postgres.source import Held, Source, streamed
from discreet.engines.values import Given, Instant
from discreet.errors import SchemaError
from discreet.sql.dialect import identifier

_FOR_KIND: dict[Kind | None, str] = {
    "boolean": "boolean",
    "integer": "integer",
    "numeric": "decimal",
    "float": "decimal",
    "date": "date",
    "timestamp": "timestamp",
}


def proposed(source: Source) -> dict[str, str]:
    """The columns of a source and the types proposed for them. Only types: no row is looked at."""
    found = dict(zip(source.names, source.columns, strict=True))
    return {
        name: "integer" if found[name].is_whole else _FOR_KIND.get(found[name].kind, "text")
        for name in source.distinct_names()
    }


def public_rows(session: Session, source: Source, names: Sequence[str]) -> Iterator[list[Given]]:
    """The rows of a public source, as `values.code_of` takes them."""
    held = [source.columns[source.place(name)] for name in names]
    listed = [sql for one in held for sql in _forms(one, source)]
    for rows in streamed(session, f"SELECT {', '.join(listed)} FROM {source.sql} AS s"):
        for row in rows:
            values = iter(row)
            yield [_given(one, next(values), next(values)) for one in held]


def _forms(held: Held, source: Source) -> tuple[str, str]:
    """A value as text, and the microseconds of a moment."""
    if held.kind is None:
        raise SchemaError(
            f"column {held.name!r} of {source.shown} holds {held.type}, of which no column can be made",
            hint="convert it in a materialized view",
        )
    value = value_sql(f"s.{identifier(held.name)}", held.kind)
    if held.kind not in ("date", "timestamp"):
        return word_sql(value, held.kind), "NULL"
    moment = f"CASE WHEN isfinite({value}) THEN CAST(trunc(extract(epoch FROM {value}) * 1000000) AS TEXT) END"
    shown = f"CASE WHEN {value} IS NOT NULL THEN coalesce({word_sql(value, held.kind)}, '?') END"
    return shown, moment


def _given(held: Held, text: str | None, micros: str | None) -> Given:
    if text is None:
        return None
    match held.kind:
        case "boolean":
            return text == "true"
        case "integer":
            return int(text)
        case "date" | "timestamp":
            return Instant(None if micros is None else int(micros) * 1000, text)
        case _:
            return text
