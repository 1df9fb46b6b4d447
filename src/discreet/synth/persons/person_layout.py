"""How a table of persons becomes records and steps: what is constant, what orders rows, and which columns follow.

From public facts and what was described already. A column of moments other than the time of a row is kept as how much
later it is than that time: a length of stay is right in size, and its sign too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from discreet.errors import UsageError
from discreet.kernel.person_table import PersonColumn, PersonReader
from discreet.kernel.program import Program
from discreet.plan.cells import Axis
from discreet.plan.expressions import Expression
from discreet.schema.column import Column, MomentColumn, NumberColumn
from discreet.schema.schema import closest_name_hint
from discreet.sql.typed_expression import DAY_US, column_expression
from discreet.synth.attribute import Attribute

#: Where differences of time are cut, in days; and in seconds, below a day, where codes are so fine.
DAYS = (*range(9), 11, 15, 22, 31, 46, 61, 91, 121, 151, 181, 271, 366, 548, 731, 1096, 1461, 1827, 2557, 3653, 7305)
SECONDS = (0, 1, 60, 600, 1800, 3600, 7200, 14400, 28800, 43200)

#: Up to so many rows a person each number of rows has a cell of its own; above, cells grow by a quarter.
MOST_NUMBERS = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonLayout:
    """The columns of records and steps.

    `attributes`: those of the table, in its order. `constants`: names of columns that do not change within a person.
    `time`: the column that orders a person's rows, if there is one. `afters`: columns of moments kept as differences
    from it; `later`: those of them that are never earlier. `rows`: the number of rows.
    """

    attributes: tuple[Attribute, ...]
    constants: tuple[str, ...]
    time: str | None
    afters: tuple[str, ...]
    rows: Attribute
    later: tuple[str, ...] = ()

    @property
    def changing(self) -> tuple[Attribute, ...]:
        """The attributes that change from row to row, but for moments."""
        apart = {*self.constants, self.time, *self.afters}
        return tuple(attribute for attribute in self.attributes if attribute.name not in apart)

    @property
    def traits(self) -> tuple[Attribute, ...]:
        return tuple(attribute for attribute in self.attributes if attribute.name in self.constants)

    def attribute(self, name: str) -> Attribute:
        return next(attribute for attribute in self.attributes if attribute.name == name)

    @property
    def gap(self) -> Attribute | None:
        """The time since the row before."""
        return None if self.time is None else difference(self.attribute(self.time), gap_name(self.time), signed=False)

    def after(self, name: str) -> Attribute:
        """How much later a moment is than the row's time."""
        assert self.time is not None
        return difference(self.attribute(self.time), after_name(name, self.time), signed=name not in self.later)

    def record_attributes(self) -> tuple[Attribute, ...]:
        """The attributes of a record: those of the first row, in the table's order, then the number of rows."""
        first = [self.after(each.name) if each.name in self.afters else each for each in self.attributes]
        return (*first, self.rows)

    def record_columns(self) -> list[PersonColumn]:
        """How records come from rows, in the same order."""
        return [*map(self._record_column, self.attributes), PersonColumn(of="rows", axis=self.rows.axis(outside=True))]

    def _record_column(self, attribute: Attribute) -> PersonColumn:
        if attribute.name in self.afters:
            axis = self.after(attribute.name).axis(outside=True)
            return PersonColumn(of="after", axis=axis, code=1 + self.afters.index(attribute.name))
        return PersonColumn(of="row", axis=attribute.axis(outside=True))

    def reader(self, program: Program) -> PersonReader:
        """The rows with their persons, cut by the table's attributes."""
        axes = [each.axis(outside=True) for each in self.attributes if each.name not in self.afters]
        return PersonReader(program, axes, self._codes(program))

    def _codes(self, program: Program) -> list[Expression]:
        names = [name for name in (self.time, *self.afters) if name is not None]
        columns = [program.version.schema.column(name) for name in names]
        return [column_expression(column).expression for column in columns if column is not None]


def gap_name(time: str) -> str:
    """What people call the time between two rows of a person."""
    return f"time since the last {time}"


def after_name(name: str, time: str) -> str:
    """What people call how much later one moment is than another."""
    return f"{name} after {time}"


def difference(attribute: Attribute, name: str, *, signed: bool) -> Attribute:
    """Differences of the moments of a column: fine cells near zero, wide ones far from it; and NULL."""
    column = attribute.column
    assert isinstance(column, MomentColumn)
    span = attribute.edges[-1] - attribute.edges[0]
    is_date = column.type == "date"
    inner = DAYS if is_date else (*(second * 10**6 for second in SECONDS), *(day * DAY_US for day in DAYS[1:]))
    ends = [edge for edge in inner if edge < span] + [max(span, 1)]
    edges = tuple(sorted({*ends, *(1 - edge for edge in ends if edge > 0)})) if signed else tuple(ends)
    low, high = edges[0], edges[-1] - 1
    of = NumberColumn(
        name=name,
        type="integer" if is_date else "decimal",
        step=Fraction(1) if is_date else Fraction(1, 10**6),
        low=low,
        high=high,
    )
    return Attribute(column=of, edges=edges, null=True)


def rows_attribute(most_rows: int, taken: Sequence[str]) -> Attribute:
    """The number of rows of a person, by a name that no column has."""
    name = "number of rows"
    while name.lower() in {each.lower() for each in taken}:
        name += " of a person"
    edges = list(range(1, min(most_rows, MOST_NUMBERS) + 2))
    while edges[-1] <= most_rows:
        edges.append(min(edges[-1] + edges[-1] // 4, most_rows + 1))
    column = NumberColumn(name=name, type="integer", low=1, high=most_rows)
    return Attribute(column=column, edges=tuple(edges), null=False)


def layout_of(
    attributes: Sequence[Attribute], *, constants: Sequence[str], time: str | None, rows: Attribute
) -> PersonLayout:
    """The layout of a table whose constants are known. `rows`: the number of rows of a person."""
    moments = [each.name for each in attributes if isinstance(each.column, MomentColumn) and each.name not in constants]
    return PersonLayout(
        attributes=tuple(attributes),
        constants=tuple(each.name for each in attributes if each.name in constants),
        time=time if time in moments else None,
        afters=_afters(attributes, moments, time),
        rows=rows,
    )


def _afters(attributes: Sequence[Attribute], moments: Sequence[str], time: str | None) -> tuple[str, ...]:
    """The other moments of the time's own type."""
    types = {each.name: each.column.type for each in attributes if isinstance(each.column, MomentColumn)}
    if time is None or time not in moments:
        return ()
    return tuple(name for name in moments if name != time and types[name] == types[time])


def time_column(columns: Sequence[Column], constants: Sequence[str], named: str | None) -> str | None:
    """The column that orders a person's rows: the one that is named, or the first of moments that may change."""
    moments = [
        column.name
        for column in columns
        if isinstance(column, MomentColumn) and not column.constant and column.name not in constants
    ]
    if named is None:
        return moments[0] if moments else None
    column_name = next((name for name in moments if name.lower() == named.lower()), None)
    if column_name is None:
        raise UsageError(
            f"{named[:60]!r} cannot order a person's rows: it must be a date or a timestamp that changes from row to "
            "row",
            hint=closest_name_hint(named, moments),
        )
    return column_name


def declared_constants(columns: Sequence[Column], named: Sequence[str]) -> tuple[str, ...]:
    """Columns that do not change within a person, as declared and as named now."""
    names = {column.name.lower(): column.name for column in columns}
    for name in named:
        if name.lower() not in names:
            raise UsageError(
                f"column {name[:60]!r} is not modelled", hint=closest_name_hint(name, list(names.values()))
            )
    lowered = {name.lower() for name in named}
    return tuple(column.name for column in columns if column.constant or column.name.lower() in lowered)


def renamed(attribute: Attribute, name: str) -> Attribute:
    """The same cells under another name. Not to be counted by."""
    return replace(attribute, column=replace(attribute.column, name=name))


def axis_of(attribute: Attribute) -> Axis:
    """The axis that an attribute's cells are counted on."""
    return attribute.axis(outside=True)
