"""A source that is a table of the server's: which one is meant, its columns and their types. No row is read here.

What is looked up are names and types of the catalog. Sentences are for the owner and name tables and columns.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from discreet.engines.header import Header
from discreet.engines.postgres.conversion import PostgresKind, kind_of
from discreet.engines.postgres.session import PostgresSession
from discreet.engines.table_location import PostgresTable
from discreet.errors import SchemaError, UsageError
from discreet.schema.schema import closest_name_hint
from discreet.sql.dialect import identifier

#: The schema that declared tables lie in.
OURS = "discreet"

_KINDS = {"r": "table", "p": "partitioned table", "m": "materialized view"}
_PART = re.compile(r'"((?:[^"]|"")+)"|([^."]+)')

#: Rows that are fetched together.
_ROWS_AT_ONCE = 50_000

_COLUMNS = """
WITH RECURSIVE based AS (
  SELECT a.attnum, t.oid, t.typbasetype, t.typtype, a.atttypmod AS modifier
  FROM pg_attribute AS a JOIN pg_type AS t ON t.oid = a.atttypid
  WHERE a.attrelid = $1 AND a.attnum > 0 AND NOT a.attisdropped
  UNION ALL
  SELECT b.attnum, t.oid, t.typbasetype, t.typtype, d.typtypmod
  FROM based AS b JOIN pg_type AS d ON d.oid = b.oid JOIN pg_type AS t ON t.oid = d.typbasetype
  WHERE b.typtype = 'd'
)
SELECT a.attname::text, format_type(a.atttypid, a.atttypmod), t.typname::text, t.typtype::text,
  n.nspname = 'pg_catalog', b.modifier, coalesce(c.collisdeterministic, true), a.attgenerated = 'v'
FROM based AS b
JOIN pg_attribute AS a ON a.attrelid = $1 AND a.attnum = b.attnum
JOIN pg_type AS t ON t.oid = b.oid JOIN pg_namespace AS n ON n.oid = t.typnamespace
LEFT JOIN pg_collation AS c ON c.oid = a.attcollation
WHERE b.typtype <> 'd'
ORDER BY a.attnum
"""

#: The schemas of all that a materialized view reads, through other views as well.
_READ = """
WITH RECURSIVE reached AS (
  SELECT $1::oid AS oid
  UNION
  SELECT d.refobjid FROM reached JOIN pg_rewrite AS r ON r.ev_class = reached.oid AND r.ev_type = '1'
  JOIN pg_depend AS d ON d.classid = 'pg_rewrite'::regclass AND d.objid = r.oid AND d.refclassid = 'pg_class'::regclass
)
SELECT DISTINCT c.relnamespace::regnamespace::text FROM reached JOIN pg_class AS c USING (oid)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceColumn:
    """A column of the source. `kind`: None for what no column can be made of; `exact`: may name a person.

    `computed`: nowhere stored, but computed when it is read, which may fail on a row.
    """

    name: str
    type: str
    kind: PostgresKind | None
    is_whole: bool
    exact: bool
    computed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresSource(Header):
    """A table, a partitioned table or a materialized view, as the owner wrote it, found."""

    oid: int
    relation: PostgresTable
    columns: tuple[SourceColumn, ...]
    #: A materialized view has no lock of its own: to read it is to hold it.
    lockable: bool

    @property
    def sql(self) -> str:
        return qualified_name(self.relation)


def qualified_name(relation: PostgresTable) -> str:
    """A table's quoted name, with its schema."""
    return f"{identifier(relation.schema)}.{identifier(relation.name)}"


def find(session: PostgresSession, source: str) -> PostgresSource:
    """The source as the owner wrote it: `table`, found in the role's own search path, or `schema.table`."""
    relation, oid, kind = _find_relation(session, source)
    if kind == "v":
        # A view computes its rows while we read: it may fail on one, mix all of them, or read what nobody can trace.
        raise UsageError(
            f"{source} is a view: its rows are computed each time they are read",
            hint=f"CREATE MATERIALIZED VIEW … AS SELECT … FROM {qualified_name(relation)}, "
            "with each person's rows made from that person's rows alone, and declare that view",
        )
    if kind not in _KINDS:
        what = "a foreign table" if kind == "f" else "not a table"
        raise UsageError(f"{source} is {what}", hint="copy it to a table or a materialized view, and declare that")
    if relation.schema == OURS:
        raise _own_table_refusal(source)
    if kind == "m" and any(schema == OURS for (schema,) in fetch_rows(session, _READ, [oid])):
        raise _own_table_refusal(source)
    _check_readable(session, source, relation, oid)
    columns = _columns(session, oid)
    names = tuple(column.name for column in columns)
    return PostgresSource(
        shown=source,
        names=names,
        types=tuple(column.type for column in columns),
        oid=oid,
        relation=relation,
        columns=columns,
        lockable=kind != "m",
    )


def _own_table_refusal(source: str) -> UsageError:
    return UsageError(f"{source} is one of Discreet's own tables", hint="declare the table that it was made from")


def require_stored(column: SourceColumn, source: PostgresSource) -> SourceColumn:
    """The column, refused where it is computed when it is read: of one row its expression may make an error."""
    if column.computed:
        raise SchemaError(
            f"{column.name!r} of {source.shown} is a virtual generated column, computed each time it is read",
            hint="make it STORED, or leave it out of the declaration",
        )
    return column


def _check_readable(session: PostgresSession, source: str, relation: PostgresTable, oid: int) -> None:
    ((allowed, hidden, role),) = fetch_rows(
        session,
        "SELECT has_table_privilege($1::oid, 'SELECT'), row_security_active($1::oid), current_user::text",
        [oid],
    )
    if not allowed:
        raise UsageError(
            f"this role is not allowed to read {source}",
            hint=f"GRANT SELECT ON {qualified_name(relation)} TO {identifier(role)}",
        )
    if hidden:
        raise UsageError(
            f"row-level security hides rows of {source} from this role",
            hint="ALTER ROLE … BYPASSRLS, or declare a materialized view made by a role that sees all rows",
        )


def _find_relation(session: PostgresSession, source: str) -> tuple[PostgresTable, int, str]:
    """The relation, its oid and its kind. A name in capital or small letters is found where one alone has it."""
    schemas, name = _parse_source_name(session, source)
    relations = fetch_rows(
        session,
        """SELECT n.nspname::text, c.relname::text, c.oid::bigint, c.relkind::text
        FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
        WHERE n.nspname = ANY($1) AND has_schema_privilege(n.oid, 'USAGE')
          AND c.relkind IN ('r', 'p', 'v', 'm', 'f')""",
        [list(schemas)],
    )
    same = [row for row in relations if row[1] == name] or [row for row in relations if row[1].lower() == name.lower()]
    if not same:
        raise UsageError(f"there is no table {source} in the database", hint=_hint(name, schemas, relations))
    if len(same) > 1:
        listed = ", ".join(sorted(f"{row[0]}.{row[1]}" for row in same))
        raise UsageError(f"{source} could be one of several tables: {listed}", hint="write schema.table")
    schema, table, oid, kind = same[0]
    return PostgresTable(schema=schema, name=table), oid, kind


def _parse_source_name(session: PostgresSession, source: str) -> tuple[Sequence[str], str]:
    """The schemas to look in, and the table's name. Quoted names may hold a dot."""
    parts = _PART.findall(source)
    spelt = ".".join(f'"{quoted}"' if quoted else plain for quoted, plain in parts)
    names = [(quoted.replace('""', '"') if quoted else plain.strip()) for quoted, plain in parts]
    if spelt != source or not 1 <= len(names) <= 2 or not all(names) or "\0" in source:
        raise UsageError(f"{source[:80]!r} is not the name of a table", hint="write table, or schema.table")
    if len(names) == 1:
        return [schema for schema in session.path if schema != OURS], names[0]
    schema_names = [row[0] for row in fetch_rows(session, "SELECT nspname::text FROM pg_namespace", [])]
    schemas = [name for name in schema_names if name == names[0]]
    schemas = schemas or [name for name in schema_names if name.lower() == names[0].lower()]
    if not schemas:
        ours = [name for name in schema_names if not name.startswith("pg_") and name != "information_schema"]
        raise UsageError(f"there is no schema {names[0]!r} in the database", hint=closest_name_hint(names[0], ours))
    return schemas, names[1]


def _hint(name: str, schemas: Sequence[str], relations: Sequence[Any]) -> str:
    near = closest_name_hint(name, {row[1] for row in relations})
    where = f"searched {', '.join(schemas)}; write schema.table for another" if schemas else "write schema.table"
    return near or where


def _columns(session: PostgresSession, oid: int) -> tuple[SourceColumn, ...]:
    """The columns in their order, domains as what they are made of."""
    columns = []
    for name, shown, type_, typtype, ours, modifier, deterministic, computed in fetch_rows(session, _COLUMNS, [oid]):
        own = type_ if ours or type_ == "citext" else ""
        kind: PostgresKind | None = "text" if typtype == "e" else kind_of(own)
        whole = own in ("int2", "int4", "int8") or (own == "numeric" and modifier >= 4 and (modifier - 4) & 0x7FF == 0)
        texts = typtype == "e" or own in ("text", "varchar", "bpchar", "name", "uuid")
        exact = (whole or texts or own in ("bool", "date")) and deterministic
        columns.append(SourceColumn(name=name, type=shown, kind=kind, is_whole=whole, exact=exact, computed=computed))
    return tuple(columns)


def fetch_rows(session: PostgresSession, sql: str, given: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
    """What a statement returns; `given` are its $1, $2, ..."""
    import psycopg

    return psycopg.RawCursor(session.connection).execute(sql, given).fetchall()


def execute(session: PostgresSession, sql: str, given: Sequence[Any] = ()) -> int:
    """How many rows a statement touched."""
    import psycopg

    return psycopg.RawCursor(session.connection).execute(sql, given).rowcount


def stream_rows(session: PostgresSession, sql: str) -> Iterator[list[tuple[Any, ...]]]:
    """What a SELECT without parameters returns, some rows at once, inside a transaction: no side holds them all.

    (COPY sends a message a row, which psycopg takes one by one: nine times our processor time.)
    """
    import psycopg

    with psycopg.ServerCursor(session.connection, "streamed") as cursor:
        cursor.execute(sql, binary=True)
        while batch := cursor.fetchmany(_ROWS_AT_ONCE):
            yield batch
