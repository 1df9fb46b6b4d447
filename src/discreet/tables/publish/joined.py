"""Places that no declaration lists, because they are too many: a public table that lists them is joined to the rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from discreet.curator import Version
from discreet.plan.cells import Axis
from discreet.plan.expressions import Code, Expression
from discreet.plan.relation import JoinPublic, Scan, brought, matched
from discreet.schema.column import Category, Column, domain
from discreet.sql.catalog import PublicTable, coded, meets
from discreet.sql.typed import typed
from discreet.tables.publish.told import Told

if TYPE_CHECKING:
    import pyarrow

#: The number of the one join.
_PLACE = 1


@dataclass(frozen=True, kw_only=True)
class Joined:
    """A public table made ready to be joined: a row of the private one meets at most one of its rows."""

    table: str
    content: str
    on: tuple[tuple[Expression, str], ...]
    columns: tuple[str, ...]
    rows: pyarrow.Table

    def plan(self, scan: Scan) -> JoinPublic:
        """The rows of a table, each once: with what the public table says of its place, or NULL."""
        return JoinPublic(
            source=scan,
            place=_PLACE,
            table=self.table,
            content=self.content,
            columns=self.columns,
            on=self.on,
            fan_out=1,
            size=self.rows.num_rows,
            outer=True,
        )


def joined_axis(told: Told, column: Column, key: Column, public: PublicTable) -> tuple[Axis, Joined]:
    """The places that a public table lists as an axis, and the table to be joined for it."""
    found = typed(column)
    limits = domain(key)
    if not meets(found.kind, key) or limits is None or not isinstance(key, Category):
        raise told.fault(
            f"column {key.name!r} of {public.name!r} is of another type than {column.name!r}",
            hint="declare both as text",
        )
    made = coded(replace(public, columns=(key,)), [(found.kind, key)], place=_PLACE)
    if made.fan_out != 1:
        raise told.fault(f"table {public.name!r} has two rows for one value of {key.name!r}, or none")
    name = brought(_PLACE, key.name)
    size = limits[1]
    axis = Axis(
        of=Code(name, 0, size - 1, null=True),
        edges=tuple(range(size + 1)),
        null=True,
        labels=(*key.values, None),
    )
    joined = Joined(
        table=public.name,
        content=made.content,
        on=((found.expression, matched(_PLACE, 0)),),
        columns=(name,),
        rows=made.rows,
    )
    return axis, joined


def source_of(version: Version, joined: Joined | None) -> dict[str, Any]:
    """Where a program's rows come from: the declared table as it is, or joined with the table of its places.

    A row meets at most one row of the public table, and is kept where it meets none: `reach` says so to the program.
    """
    if joined is None:
        return {}
    return {
        "plan": joined.plan(Scan(table=version.table, version=version.number)),
        "publics": {_PLACE: joined.rows},
    }
