"""Makes the declared table beside its source, in one transaction of one snapshot.

    code each row of the source -> (group by person -> rank the rows of those who need it) -> insert -> count

Guarantee: as `declare` and `persons` say for DuckDB. The source is read once, in one statement: its rows in codes,
    with their persons' keys and what the owner is told, are a temporary table, from which all the rest comes.
Because: see `conversion` for values, `build_person_path` for persons and `keyed` for which rows are kept. The temporary
    table vanishes with the transaction, and the declared table with its side table comes to be with it, or not at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from discreet.engines.declared_table_sql import EVERYTHING, MARK, NULLED, ConversionForms, RowSelection, select_sql
from discreet.engines.dominant_person import find_dominant_person
from discreet.engines.engine import DeclarationOutcome
from discreet.engines.keyed_hashes import hmac_pads
from discreet.engines.ownership import Ownership
from discreet.engines.postgres.conversion import PostgresKind, missing_sql, raw_sql, takes, value_sql, word_sql
from discreet.engines.postgres.keyed_hash_sql import kept_sql, secret_sql, tag_sql
from discreet.engines.postgres.postgres_person_path import PostgresPersonPath, build_person_path
from discreet.engines.postgres.postgres_source import (
    PostgresSource,
    execute,
    fetch_rows,
    qualified_name,
    require_stored,
)
from discreet.engines.postgres.schema_tables import check_names, create, side_table, stored_type
from discreet.engines.postgres.session import PostgresSession
from discreet.engines.rounding_notes import is_rounded, make_rounding_notes
from discreet.engines.table_file import check_declarable
from discreet.engines.table_location import PostgresTable
from discreet.errors import SchemaError
from discreet.schema.column import CategoryColumn, Column, MomentColumn, NumberColumn, TextColumn, type_name
from discreet.schema.schema import Schema
from discreet.sql.dialect import identifier
from discreet.sql.postgres_dialect import PostgreSQLDialect

#: Beyond this a SELECT would have more columns than the server lets it have: each has a code, and what is told of it.
MOST_COLUMNS = 450
#: A row has to fit into a page of 8 kB, whatever it holds: a text outside it still needs a pointer, and a number, with
#: whether it was read and how it was moved beside it, is padded to 16 bytes. (What is left is for the key, which NULLs
#: there are, and the head.)
_MOST_WIDTH, _TEXT_WIDTH, _NUMBER_WIDTH = 7500, 28, 16

#: How PostgreSQL makes codes of values. The fence keeps a value's form from being written, and computed, once a use.
FORMS = ConversionForms(
    raw=raw_sql,
    word=word_sql,
    storage=lambda column: "TEXT" if isinstance(column, TextColumn) else stored_type(column),
    missing=missing_sql,
    wide="NUMERIC",
    fence="\n  OFFSET 0",
    alias=" AS raw",
)


def declare(
    session: PostgresSession,
    schema: Schema,
    ownership: Ownership | None,
    chain: Sequence[PostgresSource],
    *,
    target: PostgresTable,
) -> DeclarationOutcome:
    """Make the declared table of the first source of `chain` at `target`, within a transaction that has begun.

    `check_columns` has passed.
    """
    person_path = None if ownership is None else build_person_path(session, ownership, chain)
    _code(session, schema, chain[0], person_path)
    create(session, schema, target)
    if ownership is None or person_path is None:
        _insert(session, target, f"SELECT {_listed(schema)} FROM coded")
        total, outcome_counts = _conversion_counts(session, schema, "coded")
        return DeclarationOutcome(exact_rows=total, **outcome_counts)
    return _PostgresPersonTable(session, ownership, person_path).make(target)


def check_columns(schema: Schema) -> None:
    """Refuse a declaration of which PostgreSQL has no table: by its columns alone, never by what a row holds."""
    check_declarable(schema)
    check_names(schema)
    width = sum(_TEXT_WIDTH if isinstance(column, TextColumn) else _NUMBER_WIDTH for column in schema.columns)
    if len(schema.columns) > MOST_COLUMNS or width > _MOST_WIDTH:
        raise SchemaError(
            f"table {schema.table!r} declares more columns than a PostgreSQL table can have",
            hint=f"declare at most {MOST_COLUMNS}, and at most {_MOST_WIDTH // _TEXT_WIDTH} of them as text",
        )


def _code(
    session: PostgresSession, schema: Schema, source: PostgresSource, person_path: PostgresPersonPath | None
) -> None:
    """The temporary table `coded`: of each row its codes, what is told of it, and its persons' keys."""
    source_columns = [require_stored(source.columns[source.place(column.name)], source) for column in schema.columns]
    kinds = [
        _kind(column, one.kind, one.type, source) for column, one in zip(schema.columns, source_columns, strict=True)
    ]
    values = [value_sql(f"s.{identifier(one.name)}", kind) for one, kind in zip(source_columns, kinds, strict=True)]
    lists, given = _lists(schema)
    selection = (
        EVERYTHING if person_path is None else RowSelection(joins=person_path.joins, beside=person_path.key_columns())
    )
    select = select_sql(schema, values, kinds, source=source.sql, forms=FORMS, selection=selection)
    execute(session, f"CREATE TEMP TABLE coded ON COMMIT DROP AS {lists}{select}", given)
    session.connection.execute("ANALYZE coded")


def _lists(schema: Schema) -> tuple[str, list[Any]]:
    """Each category's list as a table to join, and its words as parameters. A text with a NUL is no text here."""
    tables, given = [], []
    for place, column in enumerate(schema.columns):
        if isinstance(column, CategoryColumn):
            words = {word: code for code, word in enumerate(column.values) if PostgreSQLDialect().can_hold(word)}
            given += [list(words), list(words.values())]
            tables.append(
                f"list_{place} (word, code) AS MATERIALIZED "
                f"(SELECT * FROM unnest(${len(given) - 1}::text[], ${len(given)}::bigint[]))"
            )
    return (f"WITH {', '.join(tables)} " if tables else ""), given


def _kind(column: Column, kind: PostgresKind | None, type_: str, source: PostgresSource) -> PostgresKind:
    if kind is None or not takes(column, kind):
        raise SchemaError(
            f"column {column.name!r} is declared {type_name(column)}, but it is {type_} in {source.shown}",
            hint="declare another type, or convert it in a materialized view",
        )
    return kind


class _PostgresPersonTable:
    """The steps for a table of persons, in their order."""

    def __init__(self, session: PostgresSession, ownership: Ownership, person_path: PostgresPersonPath) -> None:
        self._session = session
        self._ownership = ownership
        self._reach = person_path

    def make(self, target: PostgresTable) -> DeclarationOutcome:
        """Both tables, and what the owner is told."""
        self._group()
        exact_rows = _insert(self._session, target, self._others())
        exact_rows += _insert(self._session, target, self._ranked(), list(hmac_pads(self._ownership.key).values()))
        _insert(self._session, side_table(target), 'SELECT number, tag, "rows" FROM owners WHERE NOT forgotten')
        limit = self._ownership.unit.rows
        counts = f'count(*), coalesce(sum(least("rows", {limit})), 0), coalesce(sum("rows"), 0)'
        (totals,) = fetch_rows(self._session, f"SELECT {counts} FROM owners WHERE NOT forgotten")
        exact_persons, exact_kept, exact_all = map(int, totals)
        if exact_rows != exact_kept:
            raise ValueError("the number of rows written does not match the rows of the persons: this is a defect")
        total, outcome_counts = _conversion_counts(self._session, self._ownership.schema, self._remembered())
        return DeclarationOutcome(
            exact_rows=exact_rows,
            exact_truncated=exact_all - exact_rows,
            exact_without_person=total - exact_all,
            exact_persons=exact_persons,
            exact_dominant=find_dominant_person(self._first(), persons=exact_persons, rows=exact_all),
            **outcome_counts,
        )

    def _group(self) -> None:
        """Everybody who has a row: number, tag, rows; whether forgotten; whether `apart`, to be ranked."""
        keys, limit = ", ".join(self._reach.names), self._ownership.unit.rows
        constants = [f"stored_{place}" for place in self._ownership.constants]
        apart = " OR ".join([f"count(*) > {limit}", *map(_disagree, constants)])
        tag = tag_sql(f"grouped.{name}" for name in self._reach.names)
        execute(
            self._session,
            f"""CREATE TEMP TABLE owners ON COMMIT DROP AS
            SELECT *, tag = ANY($3::bytea[]) AS forgotten FROM (
              SELECT *, CAST(row_number() OVER () - 1 AS INTEGER) AS number, {tag} AS tag FROM (
                SELECT {keys}, count(*) AS "rows", {apart} AS apart
                FROM coded WHERE {self._reach.has_person_sql("coded")} GROUP BY {keys}
              ) AS grouped OFFSET 0
            ) AS numbered""",
            [*hmac_pads(self._ownership.tag_key).values(), list(self._ownership.forgotten)],
        )
        self._session.connection.execute("ANALYZE owners")

    def _first(self) -> tuple[list[str], int] | None:
        """Who has the most rows, and how many."""
        keys = ", ".join(self._reach.names)
        sql = f'SELECT "rows", {keys} FROM owners WHERE NOT forgotten ORDER BY "rows" DESC, {keys} LIMIT 1'
        top_rows = fetch_rows(self._session, sql)
        return (list(top_rows[0][1:]), int(top_rows[0][0])) if top_rows else None

    def _others(self) -> str:
        """The rows of those who are within the limit and agree with themselves, as they come."""
        met = self._reach.same_person_sql("coded", "owners")
        return (
            f"SELECT {_listed(self._ownership.schema)}, number FROM coded JOIN owners ON {met} "
            "WHERE NOT apart AND NOT forgotten"
        )

    def _ranked(self) -> str:
        """The rows that are kept of everybody else."""
        columns = self._ownership.schema.columns
        codes = {f"stored_{place}": isinstance(column, TextColumn) for place, column in enumerate(columns)}
        secret = secret_sql(f"owners.{name}" for name in self._reach.names)
        keys = ", ".join(self._reach.names)
        apart = f"(SELECT {keys}, number, {secret} AS own FROM owners WHERE apart AND NOT forgotten OFFSET 0) AS one"
        same_person = self._reach.same_person_sql("coded", "one")
        given = f"(SELECT {', '.join(codes)}, number, own FROM coded JOIN {apart} ON {same_person})"
        constants = [f"stored_{place}" for place in self._ownership.constants]
        person, own, limit = "number", "own", self._ownership.unit.rows
        kept = kept_sql(given, person=person, secret=own, codes=codes, limit=limit, constants=constants)
        return f"SELECT {', '.join(codes)}, number FROM ({kept}) AS kept"

    def _remembered(self) -> str:
        """The rows of all who were not forgotten, and nobody's."""
        if not self._ownership.forgotten:
            return "coded"
        met = self._reach.same_person_sql("coded", "owners")
        return f"(SELECT coded.* FROM coded LEFT JOIN owners ON {met} WHERE forgotten IS NOT TRUE) AS coded"


def _disagree(value: str) -> str:
    """Whether a person's rows differ in a column; one NULL among values differs."""
    return f"min({value}) IS DISTINCT FROM max({value}) OR count({value}) NOT IN (0, count(*))"


def _listed(schema: Schema) -> str:
    return ", ".join(f"stored_{place}" for place in range(len(schema.columns)))


def _insert(session: PostgresSession, target: PostgresTable, select: str, given: Sequence[Any] = ()) -> int:
    """How many rows were inserted."""
    return execute(session, f"INSERT INTO {qualified_name(target)} {select}", given)


def _conversion_counts(session: PostgresSession, schema: Schema, coded: str) -> tuple[int, dict[str, Any]]:
    """How many rows there are, what did not fit, what was clamped and what was rounded."""
    columns = list(enumerate(schema.columns))
    counts = {"rows": "count(*)"} | {f"nulled {place}": _where(f"unread_{place} = {NULLED}") for place, _ in columns}
    counts |= {f"marked {place}": _where(f"unread_{place} = {MARK}") for place, _ in columns}
    for place, column in columns:
        if is_rounded(column):
            counts[f"clamped {place}"] = _where(f"moved_{place} = -1")
            counts[f"rounded {place}"] = _where(f"moved_{place} > 0")
            counts[f"most {place}"] = f"coalesce(max(moved_{place}), 0)"
        elif isinstance(column, NumberColumn | MomentColumn):
            counts[f"clamped {place}"] = _where(f"clamped_{place}")
    ((*count_values,),) = fetch_rows(session, f"SELECT {', '.join(counts.values())} FROM {coded}")
    totals = dict(zip(counts, map(int, count_values), strict=True))
    moves = {
        column: (totals[f"rounded {place}"], max(totals[f"most {place}"], 0))
        for place, column in columns
        if isinstance(column, NumberColumn) and is_rounded(column)
    }
    return totals["rows"], {
        "exact_nulled": {column.name: totals[f"nulled {place}"] for place, column in columns},
        "exact_clamped": {
            column.name: totals[f"clamped {place}"] for place, column in columns if f"clamped {place}" in totals
        },
        "exact_rounded": make_rounding_notes(moves),
        "exact_marked": {column.name: totals[f"marked {place}"] for place, column in columns},
    }


def _where(condition: str) -> str:
    return f"count(*) FILTER (WHERE {condition})"
