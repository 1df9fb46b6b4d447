"""Whose row it is, as PostgreSQL SQL: by columns of the row itself, or through other tables, joined untruncated.

Guarantee: whose a row is depends on that row and, for each person, on that person's rows of the tables on the way.
Because: keys are compared as the texts that `keyed` defines, byte for byte, and NULL meets nobody; links are distinct
    pairs of a key and a person, so a row comes out once under each person whom it reaches, and another
    person's rows of the same table add and remove no pair of theirs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from discreet.engines.duckdb_conversion import DAMAGED
from discreet.engines.missing_values import declared_marks
from discreet.engines.ownership import Ownership
from discreet.engines.postgres.conversion import MOST_BYTES, missing_text_sql
from discreet.engines.postgres.postgres_source import PostgresSource, SourceColumn, require_stored
from discreet.engines.postgres.session import PostgresSession
from discreet.errors import SchemaError
from discreet.sql.dialect import identifier, quoted


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresPersonPath:
    """Who owns the rows of the source s: texts of a key, NULL for nobody's, and what has to be joined for it."""

    key: tuple[str, ...]
    joins: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """What the parts of the key are called in tables of ours."""
        return tuple(f"key_{place}" for place in range(len(self.key)))

    def key_columns(self) -> dict[str, str]:
        return dict(zip(self.names, self.key, strict=True))

    def same_person_sql(self, one: str, other: str) -> str:
        """Whether two tables of ours hold the same person."""
        return every(f"{one}.{name} = {other}.{name}" for name in self.names)

    def has_person_sql(self, table: str) -> str:
        """Whether a row is somebody's."""
        return every(f"{table}.{name} IS NOT NULL" for name in self.names)


def build_person_path(
    session: PostgresSession, ownership: Ownership, chain: Sequence[PostgresSource]
) -> PostgresPersonPath:
    """How the rows of the first source reach their persons; `chain` are the sources on the way, nearest first."""
    tables = (ownership.table, *ownership.path)
    marks = [declared_marks(table.null) for table in tables]
    person_path = PostgresPersonPath(key=key_of(chain[-1], ownership.person, marks=marks[-1]))
    for depth in range(len(chain) - 1, 0, -1):
        on = tables[depth - 1].schema.unit.on
        name = f"links_{depth}"
        _link(session, person_path, chain[depth], key_of(chain[depth], on, marks=marks[depth]), name=name)
        own = key_of(chain[depth - 1], on, marks=marks[depth - 1])
        met = every(f"{part} = {name}.on_{place}" for place, part in enumerate(own))
        key = tuple(f"{name}.{part}" for part in person_path.names)
        person_path = PostgresPersonPath(key=key, joins=(f"LEFT JOIN {name} ON {met}",))
    return person_path


def _link(
    session: PostgresSession, person_path: PostgresPersonPath, source: PostgresSource, on: tuple[str, ...], *, name: str
) -> None:
    """Make a table of distinct pairs: what `on`, texts of a key, is in a row of the source, and who owns the row."""
    parts = {f"on_{place}": part for place, part in enumerate(on)} | person_path.key_columns()
    listed = ", ".join(f"{part} AS {alias}" for alias, part in parts.items())
    kept = every(f"linked.{alias} IS NOT NULL" for alias in parts)
    session.connection.execute(
        f"CREATE TEMP TABLE {name} ON COMMIT DROP AS SELECT DISTINCT {', '.join(parts)} FROM "
        f"(SELECT {listed} FROM {source.sql} AS s {' '.join(person_path.joins)} OFFSET 0) AS linked WHERE {kept}"
    )
    session.connection.execute(f"ANALYZE {name}")


def key_of(source: PostgresSource, columns: Iterable[str], *, marks: Sequence[str]) -> tuple[str, ...]:
    """These columns of the source s as the texts of a key. `marks`: the texts that stand for nobody."""
    source_columns = [require_stored(source.columns[source.place(column)], source) for column in columns]
    return tuple(_text(one, source, marks) for one in source_columns)


def _text(column: SourceColumn, source: PostgresSource, marks: Sequence[str]) -> str:
    """The text of `keyed`, bytewise; NULL for what names nobody."""
    if not column.exact:
        texts = column.kind == "text"
        raise SchemaError(
            f"{column.name!r} of {source.shown} holds {column.type}, which does not identify people exactly",
            hint='texts with different bytes can be equal here: store lower(…), or a column COLLATE "C", in a table'
            if texts
            else "store ids as text or as whole numbers",
        )
    value = f"s.{identifier(column.name)}"
    text = f'(CAST({value} AS TEXT) COLLATE "C")'
    match column.kind:
        case "text":
            # Two damaged ids may be two persons': as one they would share a limit, and each move the other's rows.
            short = f"octet_length({text}) <= {MOST_BYTES}"
            whole = f"strpos({text}, {quoted(DAMAGED)}) = 0 AND NOT {missing_text_sql(text, marks)}"
            return f"CASE WHEN {short} AND {whole} THEN {text} END"
        case "numeric":
            return f"CASE WHEN {value} NOT IN ('NaN', 'Infinity', '-Infinity') THEN {text} END"
        case "date":
            # Outside these years the text of a date is the server's own affair: such a date names nobody.
            return f"CASE WHEN {value} BETWEEN DATE '0001-01-01' AND DATE '9999-12-31' THEN {text} END"
        case _:
            return text


def every(conditions: Iterable[str]) -> str:
    return " AND ".join(conditions)
