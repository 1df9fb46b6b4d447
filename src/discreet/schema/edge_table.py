"""Tables whose rows are edges: what discreet.toml may say of them, and what cannot be asked of them.

ends = ["from", "to"]   a person is protected with all edges that touch them (node privacy)
neither ends nor person  each row is protected, which is one edge (edge privacy)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from discreet.errors import Command, Flag, Message, Refused, SchemaError
from discreet.schema.address import DEFAULT
from discreet.schema.person_path import path_of
from discreet.schema.privacy_unit import MOST_EDGES, PrivacyUnit
from discreet.schema.schema import Schema, Table

#: What the two ends of an edge are often called.
PAIRS = (("from", "to"), ("source", "target"), ("src", "dst"))


def read_ends_unit(data: Mapping[str, Any]) -> PrivacyUnit:
    """The unit of a [tables.NAME] with `ends`. Without a limit a person may have as many edges as there are."""
    match data["ends"]:
        case [str() as first, str() as second] if first and second:
            ends = (first, second)
        case _:
            raise SchemaError("ends must name two columns", hint='ends = ["from", "to"]')
    if "person" in data:
        raise SchemaError(
            "a table has either a person or two ends that are persons, not both",
            hint="keep ends if a row is an edge between two persons",
        )
    rows = data.get("rows_per_person", MOST_EDGES)
    if "rows_per_person" in data and rows >= MOST_EDGES:
        raise SchemaError(
            f"rows_per_person must be below {MOST_EDGES:,}", hint="it bounds how many edges one person may have"
        )
    return PrivacyUnit(ends=ends, rows=rows)


def look_like_ends(names: Iterable[str]) -> tuple[str, str] | None:
    """Two columns that are called as ends of edges are. From names alone.

    >>> look_like_ends(["Source", "weight", "target"])
    ('Source', 'target')
    """
    spelling = {name.lower(): name for name in names}
    return next(
        ((spelling[first], spelling[second]) for first, second in PAIRS if first in spelling and second in spelling),
        None,
    )


def check_network(table: Table, *, where: str) -> None:
    """Refuse what is said of edges where there are none, or where no graph is read."""
    unit = table.schema.unit
    if table.public and unit.ends:
        raise SchemaError(f"{where} is public and has ends", hint="remove one: a public table protects nobody")
    if table.schema.directed and (table.public or not (unit.ends or unit.is_row)):
        raise SchemaError(
            f"{where} directed is for tables whose rows are edges", hint='ends = ["from", "to"], instead of person'
        )


def version_engine(table: Table) -> str:
    """The address where the versions of a table lie: beside the ledger if it has `ends`, else where its source is.

    Because: no server of ours puts edges in the order of keyed hashes, or erases both ends of one.
    """
    return DEFAULT if table.schema.unit.ends else table.engine


def refuse_edge_table(schema: Schema) -> None:
    """Refuse every question but a graph's about a table of `ends`. All other verbs pass here before a charge.

    Because: a row of it belongs to two persons, so that no limit on the rows of each keeps what others have: of a path
        of 41 edges, where everybody keeps one, one person more at its end replaces every kept edge by another one.
    """
    if schema.unit.ends:
        raise Refused(
            f"{schema.table!r} has ends: each edge belongs to two persons, and one person can change which edges of "
            "all others a limit keeps. Only graph statistics can be computed from it",
            hint=Message(Command("graph stats", schema.table, Flag("epsilon", 1))),
        )


def tables_naming_alike(table: Table, others: Iterable[Table]) -> Iterator[str]:
    """The tables of a population that surely name persons as this one does, where it or they have ends.

    The ends of a network are persons of its population by the same texts as in tables whose person is one column, so
    whoever is erased from the one must not live on in the other. Of two tables without ends nothing says so.
    """
    if table.public or not (table.schema.unit.ends or len(table.schema.unit.person) == 1):
        return
    for other in others:
        one = other.schema.unit.ends or (table.schema.unit.ends and len(other.schema.unit.person) == 1)
        if one and not other.public and other.population == table.population:
            yield other.name


def tables_with_same_persons(table: Table, tables: Mapping[str, Table]) -> list[str]:
    """The tables of whose forgotten persons none may be in this one: itself, those on the way to its persons, and those
    that name persons alike (whenever they were declared: whoever was erased before comes into no later network)."""
    steps = (table, *path_of(table, tables))
    names = [step.name for step in steps]
    names += [name for step in steps for name in tables_naming_alike(step, tables.values())]
    return list(dict.fromkeys(names))
