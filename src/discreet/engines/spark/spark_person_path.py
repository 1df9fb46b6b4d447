"""Whose row it is, on Spark: `engines.duckdb_person_path`, with Spark's texts of ids and its joins.

Guarantee: whose a row is depends on that row and, for each person, on that person's rows of the tables on the way.
Because: as there. Keys are compared as they are, byte for byte, and NULL meets nobody; links are distinct pairs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from discreet.engines.duckdb_person_path import KeyPart, KeyParts, PersonPath
from discreet.engines.missing_values import declared_marks
from discreet.engines.ownership import Ownership
from discreet.engines.spark.conversion import missing_text_sql, whole_sql, word_sql
from discreet.engines.spark.declared_table import temporary_views
from discreet.engines.spark.session import SparkSession
from discreet.engines.spark.spark_source import SparkSource
from discreet.errors import SchemaError
from discreet.schema.schema import Table

_WHOLE = {"byte": "TINYINT", "short": "SMALLINT", "integer": "INTEGER", "long": "BIGINT"}


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkKeyPart(KeyPart):
    """A part of a key, whose text Spark writes."""

    @property
    def text(self) -> str:
        return self.sql if self.type == "VARCHAR" else f"CAST({self.sql} AS STRING)"

    def renamed(self, name: str) -> KeyPart:
        return SparkKeyPart(sql=name, type=self.type)


def build_person_path(ownership: Ownership, chain: tuple[SparkSource, ...]) -> PersonPath:
    """How the rows of the first source reach their persons; needs the tables that `link_tables` makes."""
    if len(chain) == 1:
        return PersonPath(key=source_key(chain[0], ownership.person, ownership.table))
    own = source_key(chain[0], ownership.unit.on, ownership.table)
    return _joined(own, ownership, chain, depth=1)


def _joined(own: KeyParts, ownership: Ownership, chain: tuple[SparkSource, ...], *, depth: int) -> PersonPath:
    """A key of rows, joined to the links at a depth."""
    tables = (ownership.table, *ownership.path)
    there = source_key(chain[depth], tables[depth - 1].schema.unit.on, tables[depth])
    links = [part.renamed(f"links_{depth}.on_{place}") for place, part in enumerate(there)]
    met = " AND ".join(left.same(right) for left, right in zip(own, links, strict=True))
    person = source_key(chain[-1], ownership.person, tables[-1])
    key = tuple(part.renamed(f"links_{depth}.key_{place}") for place, part in enumerate(person))
    return PersonPath(key=key, joins=(f"LEFT JOIN links_{depth} ON {met}",))


@contextmanager
def link_tables(session: SparkSession, ownership: Ownership, chain: tuple[SparkSource, ...]) -> Iterator[None]:
    """For each source on the way a table of distinct pairs: what is pointed at in a row, and a person who owns it."""
    tables = (ownership.table, *ownership.path)
    with ExitStack() as stack:
        for depth in range(len(chain) - 1, 0, -1):
            source, on = chain[depth], tables[depth - 1].schema.unit.on
            last = depth == len(chain) - 1
            own = ownership.person if last else tables[depth].schema.unit.on
            person_path = PersonPath(key=source_key(source, own, tables[depth]))
            if not last:
                person_path = _joined(person_path.key, ownership, chain, depth=depth + 1)
            parts = {f"on_{place}": part.sql for place, part in enumerate(source_key(source, on, tables[depth]))}
            parts |= {f"key_{place}": part.sql for place, part in enumerate(person_path.key)}
            listed = ", ".join(f"{sql} AS {name}" for name, sql in parts.items())
            kept = " AND ".join(f"{sql} IS NOT NULL" for sql in parts.values())
            places = sorted({source.place(name) for name in (*on, *own)})
            stack.enter_context(temporary_views(session, {f"discreet_way_{depth}": source.frame(session, places)}))
            sql = f"SELECT DISTINCT {listed} FROM discreet_way_{depth} AS s {' '.join(person_path.joins)} WHERE {kept}"
            pairs = session.sql(sql).persist()
            stack.callback(pairs.unpersist)
            stack.enter_context(temporary_views(session, {f"links_{depth}": pairs}))
        yield


def source_key(source: SparkSource, columns: tuple[str, ...], table: Table) -> KeyParts:
    """These columns of the source s, which is the table's, as a key."""
    return tuple(_part(source, source.place(column), declared_marks(table.null)) for column in columns)


def _part(source: SparkSource, place: int, marks: Sequence[str]) -> KeyPart:
    reading = source.spark_columns[place]
    value = reading.value(f"s.c{place}")
    if not reading.exact or reading.kind is None:
        raise SchemaError(
            f"{source.names[place]!r} of {source.shown} holds {reading.shown}, which does not identify people exactly",
            hint="store ids as text or as whole numbers",
        )
    match reading.kind.family:
        case "integer":
            return SparkKeyPart(sql=value, type=_WHOLE[reading.type])
        case "boolean" | "decimal":
            return SparkKeyPart(sql=value, type=reading.type)
        case "days":
            # Outside these years the text of a date is the engine's own affair: such a date names nobody.
            years = f"{value} BETWEEN -719162 AND 2932896"
            return SparkKeyPart(sql=f"CASE WHEN {years} THEN {word_sql(value, reading.kind)} END", type="VARCHAR")
        case "text":
            # Two damaged ids may be two persons': as one they would share a limit, and each move the other's rows.
            word = word_sql(value, reading.kind)
            named = f"CASE WHEN NOT {missing_text_sql(word, marks)} THEN {whole_sql(word, of=word)} END"
            return SparkKeyPart(sql=named, type="VARCHAR")
        case _:
            return SparkKeyPart(sql=word_sql(value, reading.kind), type="VARCHAR")
