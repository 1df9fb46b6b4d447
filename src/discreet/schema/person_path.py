"""How a table reaches its persons: through another table, and that one through a third, up to four."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from discreet.errors import SchemaError
from discreet.schema.schema import Table, closest_name_hint

#: How many tables may stand on the way to a person.
MOST_THROUGH = 4


def path_of(table: Table, tables: Mapping[str, Table]) -> tuple[Table, ...]:
    """The tables on the way from `table` to its persons, nearest first; none where it names them itself."""
    table_of = {name.lower(): each for name, each in tables.items()}
    path: list[Table] = []
    here = table
    while here.schema.unit.through is not None and len(path) <= MOST_THROUGH:
        through = here.schema.unit.through
        if through.lower() not in table_of:
            raise SchemaError(
                f"{here.name!r} identifies people through {through!r}, which is not declared",
                hint=closest_name_hint(through, tables),
            )
        here = table_of[through.lower()]
        path.append(here)
    check_path(table, path)
    return tuple(path)


def check_path(table: Table, path: Sequence[Table]) -> None:
    """Refuse a path that does not lead from `table` to a person of the same population."""
    if len(path) > MOST_THROUGH:
        raise SchemaError(
            f"{table.name!r} does not reach a person within {MOST_THROUGH} tables",
            hint="join some of them in the source",
        )
    for here, there in pairwise((table, *path)):
        if (here.schema.unit.through or "").lower() != there.name.lower():
            raise SchemaError(f"{here.name!r} does not identify people through {there.name!r}")
        if there.population != table.population or there.public:
            raise SchemaError(
                f"{here.name!r} identifies people through {there.name!r}, which is in another population",
                hint=f'population = "{table.population}" in both: they are about the same people',
            )
    last = path[-1] if path else table
    if last.schema.unit.through is not None:
        raise SchemaError(f"{last.name!r} identifies people through {last.schema.unit.through!r}, which is not given")
    if path and last.schema.unit.ends:
        raise SchemaError(
            f"{table.name!r} identifies people through {last.name!r}, where a row has two persons",
            hint="name the person of its rows in the table itself",
        )
    if path and last.schema.unit.is_row:
        raise SchemaError(
            f"{table.name!r} identifies people through {last.name!r}, which has no person column",
            hint='declare person = "patient_id" there',
        )
