"""Declared tables as tables of the schema `discreet`: how they come to be, for whom, and how they go."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress

from discreet.engines.postgres.postgres_source import OURS, execute, fetch_rows, qualified_name
from discreet.engines.postgres.server_errors import quietly
from discreet.engines.postgres.session import LOCK_S, PostgresSession
from discreet.engines.table_file import PERSON, duckdb_type
from discreet.engines.table_location import PostgresTable
from discreet.errors import LedgerFault, SchemaError, UsageError
from discreet.schema.column import Column, TextColumn
from discreet.schema.schema import Schema
from discreet.sql.dialect import identifier
from discreet.sql.postgres_dialect import PostgreSQLDialect

#: Bytes of a name; the server cuts longer ones off.
MOST_NAME = 63
_BESIDE = "-tags"
#: Where erased rows are still seen by somebody's old snapshot when VACUUM runs, the server takes them away by itself
#: later, however few they are.
_TIDY = ", ".join(
    f"{of}autovacuum_vacuum_{what} = 0" for of in ("", "toast.") for what in ("threshold", "scale_factor")
)
#: What every table of PostgreSQL has already.
_TAKEN = {"ctid", "xmin", "xmax", "cmin", "cmax", "tableoid"}


def side_table(table: PostgresTable) -> PostgresTable:
    """The side table of a table of persons: `number`, `tag` and, before truncation, `fetch_rows` of each person."""
    return PostgresTable(schema=table.schema, name=f"{table.name}{_BESIDE}")


def location_of(name: str) -> PostgresTable:
    """Where the declared table of this name lies."""
    if len(f"{name}{_BESIDE}".encode()) > MOST_NAME:
        raise ValueError("the name of a version is too long for PostgreSQL")
    return PostgresTable(schema=OURS, name=name)


def stored_type(column: Column) -> str:
    """The type that holds every code of a column."""
    return 'TEXT COLLATE "C"' if isinstance(column, TextColumn) else duckdb_type(column)


def check_names(schema: Schema) -> None:
    """Refuse names that PostgreSQL would not take for a column."""
    for column in schema.columns:
        if column.name in _TAKEN:
            raise SchemaError(
                f"PostgreSQL does not allow a column named {column.name!r}", hint="rename it in a materialized view"
            )


def prepare(session: PostgresSession) -> None:
    """See that the role may make tables in our schema, which is made where it is missing and that is allowed."""
    facts = """SELECT current_user::text, current_database()::text, pg_is_in_recovery(),
        has_database_privilege(current_database(), 'TEMPORARY'), has_database_privilege(current_database(), 'CREATE'),
        (SELECT has_schema_privilege(oid, 'CREATE') AND has_schema_privilege(oid, 'USAGE')
         FROM pg_namespace WHERE nspname = $1)"""
    with session.transaction(read_only=True, deadline_s=LOCK_S):
        ((role, database, is_copy, temporary, may_make, allowed),) = fetch_rows(session, facts, [OURS])
    if is_copy:
        raise UsageError("the PostgreSQL server is a read-only replica", hint="connect to the primary server")
    if allowed is None and may_make:
        _make_schema(session)
    elif not allowed:
        how = "GRANT USAGE, CREATE ON SCHEMA {} TO {}" if allowed is False else "CREATE SCHEMA {} AUTHORIZATION {}"
        raise UsageError(
            f"this role is not allowed to create tables in schema {OURS}, where declared tables are stored",
            hint=f"ask the database administrator to run: {how.format(OURS, identifier(role))}",
        )
    if not temporary:
        raise UsageError(
            "this role is not allowed to create temporary tables, which Discreet needs to make a declared table",
            hint="ask the database administrator to run: "
            f"GRANT TEMPORARY ON DATABASE {identifier(database)} TO {identifier(role)}",
        )


def _make_schema(session: PostgresSession) -> None:
    import psycopg

    # IF NOT EXISTS is no help where two do it at the same moment.
    same_moment = (psycopg.errors.UniqueViolation, psycopg.errors.DuplicateSchema)
    with suppress(*same_moment), session.transaction(read_only=False, deadline_s=LOCK_S):
        session.connection.execute(f"CREATE SCHEMA IF NOT EXISTS {OURS}")


def create(session: PostgresSession, schema: Schema, target: PostgresTable) -> None:
    """An empty declared table, and a side table where its units are persons, for their owner only."""
    name = PostgreSQLDialect().identifier
    columns = {name(column.name): stored_type(column) for column in schema.columns}
    if schema.unit.is_row:
        _create(session, target, columns)
        return
    _create(session, target, {**columns, name(PERSON): "INTEGER NOT NULL"})
    _create(
        session,
        side_table(target),
        {"number": "INTEGER NOT NULL", "tag": "BYTEA NOT NULL", '"rows"': "BIGINT NOT NULL"},
    )


def _create(session: PostgresSession, table: PostgresTable, columns: Mapping[str, str]) -> None:
    listed = ", ".join(f"{name} {type_}" for name, type_ in columns.items())
    session.connection.execute(f"CREATE TABLE {qualified_name(table)} ({listed}) WITH ({_TIDY})")
    # Default privileges may have let others in: an analysts' group that reads all new tables, say.
    grantees = """SELECT DISTINCT CASE WHEN grantee = 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END
        FROM pg_class, aclexplode(relacl) WHERE oid = $1::regclass AND grantee <> relowner"""
    for (grantee,) in fetch_rows(session, grantees, [qualified_name(table)]):
        session.connection.execute(f"REVOKE ALL ON {qualified_name(table)} FROM {grantee} CASCADE")


def present_tables(session: PostgresSession, tables: Collection[PostgresTable]) -> dict[PostgresTable, bool]:
    """Which of these tables are there, and whether the role may read each; a table of persons has its side table."""
    catalog_rows = fetch_rows(
        session,
        """SELECT c.relname::text, has_table_privilege(c.oid, 'SELECT'),
          EXISTS (SELECT FROM pg_attribute WHERE attrelid = c.oid AND attname = $3 AND NOT attisdropped)
        FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
        WHERE n.nspname = $1 AND c.relkind = 'r' AND c.relname = ANY($2)""",
        [OURS, [one.name for table in tables for one in (table, side_table(table))], PERSON],
    )
    facts_by_name = {name: (allowed, persons) for name, allowed, persons in catalog_rows}
    listed = {}
    for table in tables:
        if table.name in facts_by_name and (
            not facts_by_name[table.name][1] or side_table(table).name in facts_by_name
        ):
            sides = [table.name, *([side_table(table).name] if facts_by_name[table.name][1] else [])]
            listed[table] = all(facts_by_name[name][0] for name in sides)
    return listed


def tables_of_ledger(session: PostgresSession, ledger: str) -> set[str]:
    """The names of the tables of our schema that hold a ledger's id; of a side table, that of its table."""
    catalog_rows = fetch_rows(
        session,
        """SELECT c.relname::text FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
        WHERE n.nspname = $1 AND c.relkind = 'r' AND strpos(c.relname::text, $2) > 0""",
        [OURS, f"-{ledger}-"],
    )
    return {name.removesuffix(_BESIDE) for (name,) in catalog_rows}


def drop(session: PostgresSession, table: PostgresTable) -> None:
    """Take both tables away, where they are."""
    with session.transaction(read_only=False, deadline_s=LOCK_S):
        session.connection.execute(f"DROP TABLE IF EXISTS {qualified_name(table)}, {qualified_name(side_table(table))}")


def erase(session: PostgresSession, table: PostgresTable, tags: Collection[bytes]) -> int:
    """Erase the persons of these tags from both tables, in one transaction; how many they were.

    Guarantee: afterwards neither table holds a row or the tag of these persons, nor do the server's statistics.
    Because: both are deleted from at once, or not at all. VACUUM then takes the dead rows away, as soon as no older
        snapshot of anybody's can see them, and is run whether or not somebody was found: a second run
        finishes the work of one that broke off. ANALYZE replaces what common values were kept.
    """
    side = side_table(table)
    with session.transaction(read_only=True, deadline_s=LOCK_S):
        if not _is_whole(session, table):
            return 0
    with session.transaction(read_only=False, deadline_s=None):
        numbers = [
            row[0]
            for row in fetch_rows(
                session, f"SELECT number FROM {qualified_name(side)} WHERE tag = ANY($1)", [list(tags)]
            )
        ]
        for relation, column in ((table, identifier(PERSON)), (side, "number")):
            execute(session, f"DELETE FROM {qualified_name(relation)} WHERE {column} = ANY($1)", [numbers])
    vacuum(session, (table, side))
    return len(numbers)


def _is_whole(session: PostgresSession, table: PostgresTable) -> bool:
    """Whether both tables are there. One alone is a fault: rows without tags are somebody's, and none can say whose."""
    names = {table.name, side_table(table).name}
    names_sql = "SELECT relname::text FROM pg_class WHERE relnamespace = to_regnamespace($1) AND relname = ANY($2)"
    present_names = {name for (name,) in fetch_rows(session, names_sql, [OURS, list(names)])}
    if present_names and present_names != names:
        raise LedgerFault(
            f"table {(names - present_names).pop()} is no longer in schema {OURS}, "
            "so nobody can be erased from the table that belongs to it",
            hint=f"restore it, or drop {present_names.pop()} as well",
        )
    return bool(present_names)


def vacuum(session: PostgresSession, tables: Collection[PostgresTable]) -> None:
    """Take dead rows away, and let the server learn how the tables are."""
    # Outside a transaction there is no SET LOCAL, and the role's own limit may be short.
    session.connection.execute("SET statement_timeout = 0")
    try:
        for table in tables:
            session.connection.execute(f"VACUUM (ANALYZE) {qualified_name(table)}")
    finally:
        quietly(lambda: session.connection.execute("RESET statement_timeout"))
