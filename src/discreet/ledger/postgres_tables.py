"""The ledger's tables in PostgreSQL: the columns, checks and append-only triggers of the ones in SQLite.

What a catalog says of a ledger is compared with what it says of the same tables, made as temporary ones by the same
server and thrown away: a trigger that was dropped or disabled, a check that was relaxed, a rule, a policy, a function
with another body. Conditions stand in the functions' bodies, where the catalog shows them as they were written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from discreet.errors import LedgerFault
from discreet.ledger.chain import GENESIS, KINDS

if TYPE_CHECKING:
    from psycopg import Connection

    CatalogConnection = Connection[tuple[Any, ...]]

#: The version of the tables below. Another one needs a migration, never a silent change.
VERSION = 1

_MARK = "discreet ledger "
_KINDS = ", ".join(f"'{kind}'" for kind in sorted(KINDS))
_TEXT = 'text COLLATE "C" NOT NULL'  # Python's order, and no two texts equal that differ in a byte
_BALANCES = ("pure", "rho", "pure_sum", "rho_sum")
TABLES = ("entries", "populations", "segments", "charges", "answers")

#: `@` stands for the schema and the prefix.
_SCHEMA = (
    f"""CREATE TABLE @entries (
        seq bigint PRIMARY KEY CHECK (seq > 0),
        time {_TEXT},
        kind {_TEXT} CHECK (kind IN ({_KINDS})),
        body {_TEXT},
        previous {_TEXT} CHECK (length(previous) = 64),
        digest {_TEXT} CHECK (length(digest) = 64),
        mac {_TEXT} CHECK (length(mac) = 64)
    )""",
    f"""CREATE TABLE @populations (
        name {_TEXT} PRIMARY KEY,
        epsilon {_TEXT},
        delta {_TEXT},
        delta_limit bigint NOT NULL CHECK (delta_limit BETWEEN 0 AND 1000000000000000000),
        delta_spent bigint NOT NULL CHECK (delta_spent BETWEEN 0 AND delta_limit),
        used bigint NOT NULL CHECK (used BETWEEN 0 AND 1000000000000),
        charges bigint NOT NULL CHECK (charges >= 0),
        seq bigint NOT NULL REFERENCES @entries (seq)
    )""",
    f"""CREATE TABLE @segments (
        population {_TEXT} REFERENCES @populations (name),
        table_name {_TEXT},
        version bigint NOT NULL CHECK (version > 0),
        pure bigint NOT NULL CHECK (pure BETWEEN 1 AND pure_sum),
        rho bigint NOT NULL CHECK (rho BETWEEN 1 AND rho_sum),
        pure_sum bigint NOT NULL CHECK (pure_sum <= 1000000000000000000),
        rho_sum bigint NOT NULL CHECK (rho_sum <= 1000000000000000000),
        seq bigint NOT NULL REFERENCES @entries (seq),
        PRIMARY KEY (population, table_name, version)
    )""",
    f"""CREATE TABLE @charges (
        seq bigint PRIMARY KEY REFERENCES @entries (seq),
        id {_TEXT} UNIQUE CHECK (id LIKE 'r-____________%'),
        population {_TEXT} REFERENCES @populations (name),
        table_name {_TEXT},
        version bigint NOT NULL CHECK (version > 0),
        analyst text COLLATE "C",
        question {_TEXT},
        price {_TEXT},
        pure bigint NOT NULL CHECK (pure BETWEEN 1 AND 1000000000000 OR pure = 1000000000000000000),
        rho bigint NOT NULL CHECK (rho BETWEEN 1 AND 500000000000000000),
        delta bigint NOT NULL CHECK (delta BETWEEN 0 AND 999999999999999999)
    )""",
    f"""CREATE TABLE @answers (
        id {_TEXT} PRIMARY KEY,
        sha256 {_TEXT} CHECK (length(sha256) = 64),
        payload bytea NOT NULL
    )""",
    """CREATE FUNCTION @keep() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        RAISE EXCEPTION 'history is append-only' USING ERRCODE = '23000';
    END $$""",
    f"""CREATE FUNCTION @follow() RETURNS trigger LANGUAGE plpgsql AS $$
    DECLARE
        last bigint;
        before text;
    BEGIN
        EXECUTE format('SELECT seq, digest FROM %I.%I ORDER BY seq DESC LIMIT 1', TG_TABLE_SCHEMA, TG_TABLE_NAME)
            INTO last, before;
        IF NEW.seq IS DISTINCT FROM coalesce(last, 0) + 1 OR NEW.previous IS DISTINCT FROM coalesce(before, '{GENESIS}')
        THEN
            RAISE EXCEPTION 'entries follow one another' USING ERRCODE = '23000';
        END IF;
        RETURN NEW;
    END $$""",
    """CREATE FUNCTION @belong() RETURNS trigger LANGUAGE plpgsql AS $$
    DECLARE
        known boolean;
    BEGIN
        EXECUTE format('SELECT EXISTS (SELECT 1 FROM %1$I.discreet_ledger_charges WHERE id = split_part($1, ''.'', 1))'
            ' OR EXISTS (SELECT 1 FROM %1$I.discreet_ledger_entries WHERE kind = ''invariant'''
            ' AND strpos(body, ''"id":"'' || $1 || ''"'') > 0)', TG_TABLE_SCHEMA)
            INTO known USING NEW.id;
        IF NOT known THEN
            RAISE EXCEPTION 'an answer belongs to a charge, to a step of it, or to an invariant'
                USING ERRCODE = '23000';
        END IF;
        RETURN NEW;
    END $$""",
    f"""CREATE FUNCTION @rise() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF {" OR ".join(f"NEW.{name} < OLD.{name}" for name in _BALANCES)} THEN
            RAISE EXCEPTION 'a balance never falls' USING ERRCODE = '23000';
        END IF;
        RETURN NEW;
    END $$""",
    *(
        f"CREATE TRIGGER keep BEFORE UPDATE OR DELETE ON @{table} FOR EACH ROW EXECUTE FUNCTION @keep()"
        for table in ("entries", "charges", "answers")
    ),
    *(f"CREATE TRIGGER whole BEFORE TRUNCATE ON @{table} EXECUTE FUNCTION @keep()" for table in TABLES),
    "CREATE TRIGGER follow BEFORE INSERT ON @entries FOR EACH ROW EXECUTE FUNCTION @follow()",
    "CREATE TRIGGER belong BEFORE INSERT ON @answers FOR EACH ROW EXECUTE FUNCTION @belong()",
    "CREATE TRIGGER rise BEFORE UPDATE ON @segments FOR EACH ROW EXECUTE FUNCTION @rise()",
    f"COMMENT ON TABLE @entries IS '{_MARK}{VERSION}'",
)

_OURS = "c.relnamespace = %(space)s::oid AND c.relname LIKE 'discreet\\_ledger\\_%%'"
#: Every line is (what, table, name, and how it is).
_DESCRIBE = f"""
    SELECT 'relation', c.relname::text, c.relkind::text, concat_ws(' ', c.relrowsecurity, c.relforcerowsecurity)
        FROM pg_class c WHERE {_OURS}
    UNION ALL
    SELECT 'column', c.relname::text, a.attname::text, concat_ws(' ', a.attnum, format_type(a.atttypid, a.atttypmod),
            a.attnotnull, l.collname, a.atthasdef, a.attidentity, a.attgenerated)
        FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid LEFT JOIN pg_collation l ON l.oid = a.attcollation
        WHERE {_OURS} AND c.relkind <> 'i' AND a.attnum > 0
    UNION ALL
    SELECT 'constraint', c.relname::text, k.conname::text, concat_ws(' ', k.convalidated, pg_get_constraintdef(k.oid))
        FROM pg_class c JOIN pg_constraint k ON k.conrelid = c.oid WHERE {_OURS} AND k.contype <> 'n'
    UNION ALL
    SELECT 'trigger', c.relname::text, t.tgname::text, concat_ws(' ', t.tgtype, t.tgenabled, t.tgattr, t.tgnargs,
            t.tgqual IS NULL, p.proname, p.prosecdef, p.proconfig, l.lanname, p.prosrc)
        FROM pg_class c JOIN pg_trigger t ON t.tgrelid = c.oid JOIN pg_proc p ON p.oid = t.tgfoid
            JOIN pg_language l ON l.oid = p.prolang
        WHERE {_OURS} AND NOT t.tgisinternal
    UNION ALL
    SELECT 'keys', c.relname::text, t.tgtype::text, t.tgenabled::text
        FROM pg_class c JOIN pg_trigger t ON t.tgrelid = c.oid WHERE {_OURS} AND t.tgisinternal
    UNION ALL
    SELECT 'rule', c.relname::text, r.rulename::text, '' FROM pg_class c JOIN pg_rewrite r ON r.ev_class = c.oid
        WHERE {_OURS}
    UNION ALL
    SELECT 'child', c.relname::text, '', '' FROM pg_class c JOIN pg_inherits i ON i.inhparent = c.oid
        WHERE {_OURS} AND c.relkind <> 'I'
    ORDER BY 1, 2, 3, 4"""


def quote_name(name: str) -> str:
    """A name as SQL writes it."""
    return '"' + name.replace('"', '""') + '"'


def table(schema: str, name: str) -> str:
    """A table's full name in SQL: nothing depends on a search path."""
    return f"{quote_name(schema)}.discreet_ledger_{name}"


def ledger_exists(connection: CatalogConnection, schema: str) -> bool:
    """Whether a ledger lies in a schema."""
    return connection.execute("SELECT to_regclass(%s)", (table(schema, "entries"),)).fetchone() != (None,)


def create_tables(connection: CatalogConnection, schema: str) -> None:
    """Make the tables, in the transaction that is open."""
    _make(connection, quote_name(schema))


def check_catalog(connection: CatalogConnection, schema: str) -> None:
    """Refuse tables that are not the ones we made. Needs a transaction, which must be thrown away after it."""
    entries = table(schema, "entries")
    comment_row = connection.execute("SELECT obj_description(%s::regclass, 'pg_class')", (entries,)).fetchone()
    stored_version = str(comment_row[0] if comment_row else "").removeprefix(_MARK)
    if stored_version.isdecimal() and int(stored_version) > VERSION:
        raise LedgerFault("a newer version of Discreet wrote this ledger", hint="upgrade")
    connection.execute(f"SET LOCAL search_path = {quote_name(schema)}")
    stored_catalog = _describe_catalog(
        connection, "SELECT relnamespace FROM pg_class WHERE oid = %s::regclass", entries
    )
    lasting = connection.execute(
        "SELECT bool_and(c.relpersistence = 'p') FROM pg_class c"
        " WHERE c.relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = %s::regclass)"
        " AND c.relname LIKE 'discreet\\_ledger\\_%%'",
        (entries,),
    ).fetchone()
    connection.execute("SET LOCAL search_path = pg_temp")
    _make(connection, "pg_temp")
    expected_catalog = _describe_catalog(connection, "SELECT pg_my_temp_schema() WHERE %s <> ''", entries)
    if stored_catalog != expected_catalog or stored_version != str(VERSION) or lasting != (True,):
        raise LedgerFault("the ledger's tables, checks or triggers are not the ones that Discreet made")


def _make(connection: CatalogConnection, space: str) -> None:
    for statement in _SCHEMA:
        connection.execute(statement.replace("@", f"{space}.discreet_ledger_"))


def _describe_catalog(connection: CatalogConnection, select: str, entries: str) -> list[tuple[Any, ...]]:
    namespace_row = connection.execute(select, (entries,)).fetchone()
    assert namespace_row is not None
    return connection.execute(_DESCRIBE, {"space": namespace_row[0]}).fetchall()
