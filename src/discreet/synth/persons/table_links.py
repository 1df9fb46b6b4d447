"""Tables that share their persons: which is whose, by the declarations alone, and how their rows are read together.

One table has one row a person: the *main* one, whose columns are the traits of persons. Others have several rows, and
are *linked* to the person. A table whose persons are reached through a linked one *refers* to its rows, by an id.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from discreet.errors import Command, Message, Refused, UsageError
from discreet.kernel.joined_persons import JoinedRows, ReferringRows
from discreet.kernel.version import Version
from discreet.plan.cell_statistics import RowCount
from discreet.plan.expressions import Code, Expression
from discreet.plan.relation import (
    JoinPerson,
    PerPerson,
    Plan,
    computed_column_name,
    joined_column_name,
)
from discreet.schema.address import engine_kind
from discreet.schema.column import Column, NumberColumn, TextColumn
from discreet.schema.privacy_unit import OURS
from discreet.sql.typed_expression import column_expression
from discreet.synth.attribute import Attribute, attribute_of
from discreet.synth.persons.person_layout import rows_attribute

#: At most so many rows that refer to one row are told apart.
MOST_REFERRING = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferringTable:
    """A table whose rows refer to rows of a linked one by the column `on`, which both have."""

    version: Version
    on: str

    @property
    def name(self) -> str:
        return self.version.table


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkedTable:
    """A table with several rows of a person, and the tables that refer to its rows."""

    version: Version
    referring: tuple[ReferringTable, ...] = ()

    @property
    def name(self) -> str:
        return self.version.table

    @property
    def ids(self) -> tuple[str, ...]:
        """The columns by which others refer to its rows."""
        return tuple(dict.fromkeys(each.on for each in self.referring))


@dataclass(frozen=True, slots=True, kw_only=True)
class TableLinks:
    """The tables of a fit."""

    main: Version
    linked: tuple[LinkedTable, ...]

    @property
    def versions(self) -> tuple[Version, ...]:
        """All tables, the main one first."""
        others = [version for each in self.linked for version in (each.version, *(r.version for r in each.referring))]
        return (self.main, *others)


def link_tables(versions: Sequence[Version]) -> TableLinks:
    """Which table is whose. What does not hang together is refused, before anything is paid."""
    _refuse(versions)
    main = next(version for version in versions if version.schema.unit.rows == 1)
    others = [version for version in versions if version is not main]
    names = {version.table.lower() for version in others}
    direct = [version for version in others if (version.schema.unit.through or "").lower() not in names]
    linked = []
    for version in direct:
        referring = [other for other in others if (other.schema.unit.through or "").lower() == version.table.lower()]
        linked.append(LinkedTable(version=version, referring=tuple(_referring(other, version) for other in referring)))
    reached = {main.table, *(version.table for each in linked for version in _versions(each))}
    if left := next((version for version in versions if version.table not in reached), None):
        raise UsageError(
            f"{left.table!r} refers to a table that refers to another: only one such step can be modelled",
            hint=f"leave {left.table!r} out",
        )
    return TableLinks(main=main, linked=tuple(linked))


def _versions(linked: LinkedTable) -> tuple[Version, ...]:
    return (linked.version, *(each.version for each in linked.referring))


def _refuse(versions: Sequence[Version]) -> None:
    if len({version.table for version in versions}) != len(versions):
        raise UsageError("a table is named twice")
    for version in versions:
        unit = version.schema.unit
        if unit.is_row or unit.ends:
            raise UsageError(
                f"{version.table!r} has no person, so its rows belong to nobody in the other tables",
                hint='declare person = "patient_id"',
            )
        if engine_kind(version.engine) == "spark":
            raise Refused(
                f"{version.table!r} is on spark, but models of persons are fitted only on duckdb and postgresql"
            )
    if len({version.population for version in versions}) > 1:
        raise UsageError("the tables are about different populations", hint="declare one population for all of them")
    if len({version.engine for version in versions}) > 1:
        raise UsageError("the tables are on different engines", hint="declare them on one engine")
    if sum(version.schema.unit.rows == 1 for version in versions) != 1:
        raise UsageError(
            "exactly one of the tables must have one row a person",
            hint=Message(
                "declare rows_per_person = 1 in the table of the persons themselves, then run ",
                Command("refresh", "TABLE"),
            ),
        )


def _referring(version: Version, parent: Version) -> ReferringTable:
    on = version.schema.unit.on
    columns = [schema.column(name) for name in on for schema in (version.schema, parent.schema)]
    if len(on) != 1 or not all(isinstance(column, NumberColumn) and column.step == 1 for column in columns):
        raise UsageError(
            f"{version.table!r} refers to rows of {parent.table!r} by {' and '.join(on)}, which must be one column of "
            "whole numbers that is declared in both tables",
            hint=f'[tables.{version.table}.columns.{on[0]}] type = "integer", and the same in {parent.table!r}',
        )
    return ReferringTable(version=version, on=on[0])


# Columns.


def own_columns(version: Version, *, without: Sequence[str]) -> tuple[Column, ...]:
    """The columns of a table that are modelled as its own."""
    left_out = {name.lower() for name in without}
    return tuple(column for column in version.schema.columns if column.name.lower() not in left_out)


def shared_columns(version: Version, main: Version) -> tuple[str, ...]:
    """Columns that a table repeats from the main one: they take their values from there."""
    repeated = []
    for column in version.schema.columns:
        other = main.schema.column(column.name)
        if other is not None and replace(other, constant=False) == replace(column, constant=False):
            repeated.append(column.name)
    return tuple(repeated)


def declared_attributes(columns: Sequence[Column]) -> tuple[tuple[Attribute, ...], tuple[str, ...]]:
    """The columns that can be modelled as they are declared, and the names of the others."""
    attributes = [(column, None if isinstance(column, TextColumn) else attribute_of(column)) for column in columns]
    return (
        tuple(attribute for _, attribute in attributes if attribute is not None),
        tuple(column.name for column, attribute in attributes if attribute is None),
    )


def qualified(table: str, attribute: Attribute) -> str:
    """What a column of one table is called in the model of another."""
    return f"{table}.{attribute.name}"


def brought_along(attribute: Attribute, table: str, place: int) -> Attribute:
    """A column of one table as it comes with the rows of another, by join number `place`."""
    of = column_expression(attribute.column, name=joined_column_name(place, attribute.name)).expression
    column = replace(attribute.column, name=qualified(table, attribute))
    return replace(attribute, column=column, of=of)


def number_attribute(version: Version, place: int) -> Attribute:
    """How many rows a person has in a linked table; NULL where none."""
    cells = rows_attribute(version.schema.unit.rows, ())
    column = NumberColumn(name=number_name(version.table), type="integer", low=1, high=version.schema.unit.rows)
    of = Code(joined_column_name(place, "rows"), 1, version.schema.unit.rows, null=True)
    return Attribute(column=column, edges=cells.edges, null=True, of=of)


def referring_attribute(referring: ReferringTable) -> Attribute:
    """By how many rows of another table a row is referred to."""
    most = min(referring.version.schema.unit.rows, MOST_REFERRING)
    name = number_name(referring.name)
    column = NumberColumn(name=name, type="integer", low=0, high=most)
    of = Code(f"{OURS}{name}", 0, most, null=False)
    return Attribute(column=column, edges=tuple(range(most + 2)), null=False, of=of)


def number_name(table: str) -> str:
    """What a number of rows of a table is called."""
    return f"number of rows in {table}"


# How rows are read.


def main_rows(links: TableLinks) -> JoinedRows:
    """The rows of the main table, each with its person's number of rows in every linked one."""
    plan: Plan = links.main.scan
    for place, each in enumerate(links.linked):
        most = each.version.schema.unit.rows
        numbers = PerPerson(source=each.version.scan, keys=(), values=((computed_column_name(0), RowCount()),))
        brought = ((joined_column_name(place, "rows"), Code(computed_column_name(0), 1, most, null=False)),)
        plan = JoinPerson(source=plan, place=place, other=numbers, columns=brought, outer=True)
    return JoinedRows(plan=plan, most_rows=1)


def linked_rows(linked: LinkedTable, main: Version, traits: Sequence[Attribute]) -> JoinedRows:
    """The rows of a linked table with the traits of their persons, and by how many rows each is referred to."""
    plan = _with_columns(linked.version.scan, 0, main, [attribute.column for attribute in traits])
    return JoinedRows(
        plan=plan,
        most_rows=linked.version.schema.unit.rows,
        referring=tuple(_referring_rows(each, linked.version) for each in linked.referring),
    )


def _referring_rows(referring: ReferringTable, parent: Version) -> ReferringRows:
    key = _id_expression(referring.version, referring.on)
    most = referring.version.schema.unit.rows
    numbers = PerPerson(
        source=referring.version.scan,
        keys=((computed_column_name(0), key),),
        values=((computed_column_name(1), RowCount()),),
    )
    id_code, number = (
        Code(computed_column_name(0), None, None, null=True),
        Code(computed_column_name(1), 1, most, null=False),
    )
    brought = ((joined_column_name(0, "id"), id_code), (joined_column_name(0, "rows"), number))
    return ReferringRows(
        axis=referring_attribute(referring).axis(outside=True),
        plan=JoinPerson(source=parent.scan, place=0, other=numbers, columns=brought, outer=False),
        row_id=_id_expression(parent, referring.on),
        key=Code(joined_column_name(0, "id"), None, None, null=True),
        number=Code(joined_column_name(0, "rows"), 1, most, null=False),
    )


def referring_rows(
    referring: ReferringTable, parent: Version, columns: Sequence[Column], main: Version, traits: Sequence[Attribute]
) -> JoinedRows:
    """The rows of a table that refers to another, with the columns of the row that is meant, and traits."""
    id_column = parent.schema.column(referring.on)
    assert id_column is not None
    names = {column.name for column in columns}
    brought = [*columns, *([id_column] if id_column.name not in names else [])]
    plan = _with_columns(referring.version.scan, 0, parent, brought)
    plan = _with_columns(plan, 1, main, [attribute.column for attribute in traits])
    return JoinedRows(
        plan=plan,
        most_rows=referring.version.schema.unit.rows * parent.schema.unit.rows,
        same=(
            _id_expression(referring.version, referring.on),
            column_expression(id_column, name=joined_column_name(0, id_column.name)).expression,
        ),
    )


def _with_columns(source: Plan, place: int, other: Version, columns: Sequence[Column]) -> Plan:
    brought = tuple(
        (joined_column_name(place, column.name), column_expression(column).expression) for column in columns
    )
    return JoinPerson(source=source, place=place, other=other.scan, columns=brought, outer=False)


def _id_expression(version: Version, name: str) -> Expression:
    column = version.schema.column(name)
    assert column is not None
    return column_expression(column).expression
