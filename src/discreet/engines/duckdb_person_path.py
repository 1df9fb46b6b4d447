"""Whose row it is, as SQL: by columns of the row itself, or through other tables, joined untruncated.

Guarantee: whose a row is depends on that row and, for each person, on that person's rows of the tables on the way.
Because: keys are compared as they are, byte for byte, and NULL meets nobody; links are distinct pairs of
    a key and a person, so a row comes out once under each person whom it reaches, and another person's
    rows of the same table add and remove no pair of theirs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import duckdb

from discreet.engines import duckdb_declared_table
from discreet.engines.declared_table_sql import RowSelection, select_sql
from discreet.engines.duckdb_conversion import DuckDBKind, matches, whole_sql
from discreet.engines.duckdb_declared_table import retry_single_threaded, source_columns, translate_read_errors
from discreet.engines.file_source import FileSource
from discreet.engines.missing_values import declared_marks
from discreet.engines.ownership import Ownership
from discreet.errors import SchemaError
from discreet.schema.schema import Schema
from discreet.sql.dialect import identifier

_WHOLE = {
    *("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT"),
    *("UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT"),
}
_AS_THEY_ARE = _WHOLE | {"BOOLEAN", "UUID"}


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyPart:
    """One part of a key: an expression, and the type that it has."""

    sql: str
    type: str

    @property
    def text(self) -> str:
        """The text that tags are made of: see `keyed`."""
        return self.sql if self.type == "VARCHAR" else f"CAST({self.sql} AS VARCHAR)"

    def same(self, other: KeyPart) -> str:
        """Whether two parts are the same; not true where one is NULL."""
        if self.type == other.type or {self.type, other.type} <= _WHOLE:
            return f"{self.sql} = {other.sql}"
        return f"{self.text} = {other.text}"

    def renamed(self, name: str) -> KeyPart:
        return KeyPart(sql=name, type=self.type)


KeyParts = tuple[KeyPart, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonPath:
    """Who owns the rows of the source s: a key, NULL for nobody's, and what has to be joined for it."""

    key: KeyParts
    joins: tuple[str, ...] = ()

    @property
    def names(self) -> list[str]:
        """What the parts of the key are called in tables of persons."""
        return [f"key_{place}" for place in range(len(self.key))]

    def key_columns(self) -> dict[str, str]:
        """The parts of the key by name."""
        return {name: part.sql for name, part in zip(self.names, self.key, strict=True)}

    def key_of(self, persons: str) -> KeyParts:
        """The key in a table of persons."""
        return tuple(part.renamed(f"{persons}.{name}") for name, part in zip(self.names, self.key, strict=True))

    def same_person_sql(self, persons: str) -> str:
        """Whether a row's key is that of a person."""
        return _all(mine.same(theirs) for mine, theirs in zip(self.key, self.key_of(persons), strict=True))

    def has_person_sql(self) -> str:
        """Whether a row is somebody's."""
        return _all(f"{part.sql} IS NOT NULL" for part in self.key)


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnedRows:
    """The rows of a source in codes, with what has to be joined to say whose they are."""

    schema: Schema
    values: list[str]
    kinds: list[DuckDBKind]
    reach: PersonPath

    def sql(
        self,
        rows: str,
        *,
        beside: Mapping[str, str],
        join: str | None = None,
        where: str = "true",
        places: tuple[int, ...] | None = None,
        with_counts: bool = False,
    ) -> str:
        """Their SELECT. `join`: a kind of join and a table of persons, to be joined by their keys."""
        joins = [*self.reach.joins, *([f"{join} ON {self.reach.same_person_sql(join.split()[-1])}"] if join else [])]
        return select_sql(
            self.schema,
            self.values,
            self.kinds,
            source=rows,
            forms=duckdb_declared_table.FORMS,
            selection=RowSelection(joins=joins, beside=beside, where=where, places=places, with_counts=with_counts),
        )


def prepare_owned_rows(
    cursor: duckdb.DuckDBPyConnection, ownership: Ownership, chain: tuple[FileSource, ...]
) -> OwnedRows:
    """Look at the first source of `chain`, and make what its rows are joined with."""
    values, kinds = duckdb_declared_table.prepare_source(cursor, ownership.schema, chain[0])
    reach = build_person_path(cursor, ownership, chain)
    return OwnedRows(schema=ownership.schema, values=values, kinds=kinds, reach=reach)


def build_person_path(
    cursor: duckdb.DuckDBPyConnection, ownership: Ownership, chain: tuple[FileSource, ...]
) -> PersonPath:
    """How the rows of the first source reach their persons; `chain` are the sources on the way, nearest first."""
    tables = (ownership.table, *ownership.path)
    marks = [declared_marks(table.null) for table in tables]
    person_path = PersonPath(key=source_key(cursor, chain[-1], ownership.person, marks=marks[-1]))
    for depth in range(len(chain) - 1, 0, -1):
        on = tables[depth - 1].schema.unit.on
        links = _link(cursor, person_path, chain[depth], on, name=f"links_{depth}", marks=marks[depth])
        own = source_key(cursor, chain[depth - 1], on, marks=marks[depth - 1])
        met = _all(left.same(right) for left, right in zip(own, links, strict=True))
        key = tuple(part.renamed(f"links_{depth}.key_{place}") for place, part in enumerate(person_path.key))
        person_path = PersonPath(key=key, joins=(f"LEFT JOIN links_{depth} ON {met}",))
    return person_path


def _link(
    cursor: duckdb.DuckDBPyConnection,
    person_path: PersonPath,
    source: FileSource,
    on: tuple[str, ...],
    *,
    name: str,
    marks: Sequence[str],
) -> KeyParts:
    """Make a table of distinct pairs: what `on` holds in a row of the source, and a person who owns the row."""
    key = source_key(cursor, source, on, marks=marks)
    parts = {f"on_{place}": part for place, part in enumerate(key)}
    parts |= {f"key_{place}": part for place, part in enumerate(person_path.key)}
    listed = ", ".join(f"{part.sql} AS {alias}" for alias, part in parts.items())
    kept = _all(f"{part.sql} IS NOT NULL" for part in parts.values())

    def make(rows: str) -> None:
        joins = " ".join(person_path.joins)
        cursor.execute(f"CREATE TEMP TABLE {name} AS SELECT DISTINCT {listed} FROM {rows} AS s {joins} WHERE {kept}")

    with translate_read_errors(source):
        retry_single_threaded(source, make)
    return tuple(part.renamed(f"{name}.{alias}") for alias, part in list(parts.items())[: len(on)])


def source_key(
    cursor: duckdb.DuckDBPyConnection, source: FileSource, columns: tuple[str, ...], *, marks: Sequence[str]
) -> KeyParts:
    """These columns of the source s as a key. `marks`: the texts that stand for nobody."""
    with translate_read_errors(source):
        names, types = source_columns(cursor, source)
    places = [source.place(column) for column in columns]
    return tuple(
        _part(f"s.{identifier(names[place])}", types[place], source.names[place], source, marks) for place in places
    )


def _part(value: str, source_type: str, name: str, source: FileSource, marks: Sequence[str]) -> KeyPart:
    if source_type in _AS_THEY_ARE or (source_type.startswith("DECIMAL(") and source_type.endswith(",0)")):
        return KeyPart(sql=value, type=source_type)
    if source_type == "VARCHAR":
        return KeyPart(sql=_named_sql(value, marks), type="VARCHAR")
    if source_type.startswith("ENUM("):
        return KeyPart(sql=_named_sql(f"CAST({value} AS VARCHAR)", marks), type="VARCHAR")
    if source_type == "DATE":
        # Outside these years the text of a date is the engine's own affair: such a date names nobody.
        years = f"{value} BETWEEN DATE '0001-01-01' AND DATE '9999-12-31'"
        return KeyPart(sql=f"CASE WHEN {years} THEN CAST({value} AS VARCHAR) END", type="VARCHAR")
    raise SchemaError(
        f"{name!r} of {source.shown} holds {source_type}, which does not identify people exactly",
        hint="store ids as text or as whole numbers",
    )


def _named_sql(text: str, marks: Sequence[str]) -> str:
    """An id as it is; NULL where it is missing or damaged.

    Two damaged ids may be two persons': as one they would share a limit, and each move the other's rows.

    Marks are matched by a pattern: in the condition of a join DuckDB turns a list of them into a cross product of both
    sides.
    """
    pattern = "|".join(re.escape(mark) for mark in marks)
    return f"CASE WHEN NOT {matches(text, pattern)} THEN {whole_sql(text)} END" if marks else whole_sql(text)


def _all(conditions: Iterable[str]) -> str:
    return " AND ".join(conditions)
