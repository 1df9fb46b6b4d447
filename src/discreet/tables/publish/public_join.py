"""Places that no declaration lists, because they are too many: a public table that lists them is joined to the rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from discreet.kernel.curator import Version
from discreet.plan.cells import Axis
from discreet.plan.expressions import Code, Expression
from discreet.plan.relation import JoinPublic, Scan, joined_column_name, match_column_name
from discreet.schema.column import CategoryColumn, Column, domain
from discreet.sql.catalog import PublicTable, can_equal, code_for_join
from discreet.sql.typed_expression import column_expression
from discreet.tables.publish.plan_file import PublicationPlan

if TYPE_CHECKING:
    import pyarrow

#: The number of the one join.
_PLACE = 1


@dataclass(frozen=True, kw_only=True)
class PublicPlaceJoin:
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


def joined_axis(
    plan: PublicationPlan, column: Column, key: Column, public: PublicTable
) -> tuple[Axis, PublicPlaceJoin]:
    """The places that a public table lists as an axis, and the table to be joined for it."""
    typed_column = column_expression(column)
    limits = domain(key)
    if not can_equal(typed_column.kind, key) or limits is None or not isinstance(key, CategoryColumn):
        raise plan.fault(
            f"column {key.name!r} of {public.name!r} and column {column.name!r} have different types",
            hint="declare both as text",
        )
    made = code_for_join(replace(public, columns=(key,)), [(typed_column.kind, key)], place=_PLACE)
    if made.fan_out != 1:
        raise plan.fault(f"table {public.name!r} must have exactly one row for each value of {key.name!r}")
    name = joined_column_name(_PLACE, key.name)
    size = limits[1]
    axis = Axis(
        of=Code(name, 0, size - 1, null=True),
        edges=tuple(range(size + 1)),
        null=True,
        labels=(*key.values, None),
    )
    joined = PublicPlaceJoin(
        table=public.name,
        content=made.content,
        on=((typed_column.expression, match_column_name(_PLACE, 0)),),
        columns=(name,),
        rows=made.rows,
    )
    return axis, joined


def row_source(version: Version, joined: PublicPlaceJoin | None) -> dict[str, Any]:
    """Where a program's rows come from: the declared table as it is, or joined with the table of its places.

    A row meets at most one row of the public table, and is kept where it meets none: `reach` says so to the program.
    """
    if joined is None:
        return {}
    return {
        "plan": joined.plan(Scan(table=version.table, version=version.number)),
        "publics": {_PLACE: joined.rows},
    }
