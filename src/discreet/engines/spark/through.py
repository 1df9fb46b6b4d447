"""Whose row it is, on Spark: `engines.through`, with Spark's texts of ids and its joins.

Guarantee: whose a row is depends on that row and, for each person, on that person's rows of the tables on the way.
Because: as there. Keys are compared as they are, byte for byte, and NULL meets nobody; links are distinct pairs.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from discreet.engines.ownership import Ownership
from discreet.engines.spark.conversion import missing_sql, whole_sql, word_sql
from discreet.engines.spark.declare import named
from discreet.engines.spark.session import Session
from discreet.engines.spark.source import Source
from discreet.engines.through import Key, Part, Reach
from discreet.errors import SchemaError

_WHOLE = {"byte": "TINYINT", "short": "SMALLINT", "integer": "INTEGER", "long": "BIGINT"}


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkPart(Part):
    """A part of a key, whose text Spark writes."""

    @property
    def text(self) -> str:
        return self.sql if self.type == "VARCHAR" else f"CAST({self.sql} AS STRING)"

    def named(self, name: str) -> Part:
        return SparkPart(sql=name, type=self.type)


def reach(ownership: Ownership, chain: tuple[Source, ...]) -> Reach:
    """How the rows of the first source reach their persons; needs the tables that `links` makes."""
    if len(chain) == 1:
        return Reach(key=source_key(chain[0], ownership.person))
    own = source_key(chain[0], ownership.unit.on)
    return _joined(own, ownership, chain, depth=1)


def _joined(own: Key, ownership: Ownership, chain: tuple[Source, ...], *, depth: int) -> Reach:
    """A key of rows, joined to the links at a depth."""
    tables = (ownership.table, *ownership.path)
    there = source_key(chain[depth], tables[depth - 1].schema.unit.on)
    links = [part.named(f"links_{depth}.on_{place}") for place, part in enumerate(there)]
    met = " AND ".join(left.same(right) for left, right in zip(own, links, strict=True))
    person = source_key(chain[-1], ownership.person)
    key = tuple(part.named(f"links_{depth}.key_{place}") for place, part in enumerate(person))
    return Reach(key=key, joins=(f"LEFT JOIN links_{depth} ON {met}",))


@contextmanager
def links(session: Session, ownership: Ownership, chain: tuple[Source, ...]) -> Iterator[None]:
    """For each source on the way a table of distinct pairs: what is pointed at in a row, and a person who owns it."""
    tables = (ownership.table, *ownership.path)
    with ExitStack() as stack:
        for depth in range(len(chain) - 1, 0, -1):
            source, on = chain[depth], tables[depth - 1].schema.unit.on
            last = depth == len(chain) - 1
            own = ownership.person if last else tables[depth].schema.unit.on
            found = Reach(key=source_key(source, own))
            if not last:
                found = _joined(found.key, ownership, chain, depth=depth + 1)
            parts = {f"on_{place}": part.sql for place, part in enumerate(source_key(source, on))}
            parts |= {f"key_{place}": part.sql for place, part in enumerate(found.key)}
            listed = ", ".join(f"{sql} AS {name}" for name, sql in parts.items())
            kept = " AND ".join(f"{sql} IS NOT NULL" for sql in parts.values())
            places = sorted({source.place(name) for name in (*on, *own)})
            stack.enter_context(named(session, {f"discreet_way_{depth}": source.frame(session, places)}))
            sql = f"SELECT DISTINCT {listed} FROM discreet_way_{depth} AS s {' '.join(found.joins)} WHERE {kept}"
            pairs = session.sql(sql).persist()
            stack.callback(pairs.unpersist)
            stack.enter_context(named(session, {f"links_{depth}": pairs}))
        yield


def source_key(source: Source, columns: tuple[str, ...]) -> Key:
    """These columns of the source s as a key."""
    return tuple(_part(source, source.place(column)) for column in columns)


def _part(source: Source, place: int) -> Part:
    reading = source.readings[place]
    value = reading.value(f"s.c{place}")
    if not reading.exact or reading.kind is None:
        raise SchemaError(
            f"{source.names[place]!r} of {source.shown} holds {reading.shown}, and whose a row is must be exact",
            hint="write ids as text or as whole numbers",
        )
    match reading.kind.family:
        case "integer":
            return SparkPart(sql=value, type=_WHOLE[reading.type])
        case "boolean" | "decimal":
            return SparkPart(sql=value, type=reading.type)
        case "days":
            # Outside these years the text of a date is the engine's own affair: such a date names nobody.
            years = f"{value} BETWEEN -719162 AND 2932896"
            return SparkPart(sql=f"CASE WHEN {years} THEN {word_sql(value, reading.kind)} END", type="VARCHAR")
        case "text":
            # Two damaged ids may be two persons': as one they would share a limit, and each move the other's rows.
            word = word_sql(value, reading.kind)
            named = f"CASE WHEN NOT {missing_sql(word, reading.kind)} THEN {whole_sql(word, of=word)} END"
            return SparkPart(sql=named, type="VARCHAR")
        case _:
            return SparkPart(sql=word_sql(value, reading.kind), type="VARCHAR")
