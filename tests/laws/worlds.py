"""Small worlds to be private in: random declarations, and the rows that `discreet audit neighbours` makes of them.

Two kinds. In the one a unit is a row. In the other it is a person, whose rows lie in `visits`, in `bills`, and in
`items`, which reach her through the visits they name. Both have a public table whose keys repeat.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from random import Random

from hypothesis import strategies as st

from discreet.lab.neighbours.generated_values import NAN, WORDS, iso
from discreet.lab.neighbours.generated_world import WorldMaker
from discreet.lab.neighbours.source_rows import GeneratedTable as Source
from discreet.lab.neighbours.source_rows import World
from discreet.schema.column import BooleanColumn, CategoryColumn, Column, MomentColumn, NumberColumn, TextColumn
from discreet.schema.privacy_unit import PrivacyUnit
from discreet.schema.schema import Schema, Table

__all__ = ["NAN", "POPULATION", "Source", "World", "iso", "loud_worlds", "person_worlds", "table_of", "worlds"]

POPULATION = "people"

#: Names that could be taken for ours, for SQL's, or for another column's.
ODD_NAMES = (
    "select",
    "a b",
    "person",
    "mine",
    "yours",
    "on0",
    "cell",
    "place",
    "k0",
    "s0",
    'the "x"',
    "number",
    "rows",
    "1.age",
    "own 0",
)

#: Bounds of whole numbers: most of them small, so that groups and bins are met.
RANGES = (*[(0, 12), (-7, 7), (-3, 40)] * 4, (5, 5), (0, 2**40), (-(2**59), 2**59))


def table_of(schema: Schema, *, parquet: bool = False, public: bool = False) -> Table:
    file = f"{schema.table}.{'parquet' if parquet else 'csv'}"
    return Table(schema=schema, source=file, public=public, population=POPULATION, budget=None)


# Columns


@st.composite
def columns(draw, name: str, kind: str, *, constant: bool = False) -> Column:
    """A declared column, with and without bounds, bins, `other` and `closed`."""
    match kind:
        case "integer":
            low, high = draw(st.sampled_from(RANGES))
            bounded = draw(st.integers(0, 5)) > 0
            edges = draw(edges_of(low, high)) if bounded else None
            ends = {"low": low, "high": high} if bounded else {}
            return NumberColumn(name=name, type="integer", edges=edges, constant=constant, **ends)
        case "decimal":
            step = Fraction(draw(st.sampled_from(["0.25", "0.01", "0.1"])))
            low, high = draw(st.sampled_from([(0, 40), (-20, 20), (-300, 7)]))
            return NumberColumn(name=name, type="decimal", step=step, low=low, high=high, constant=constant)
        case "date":
            low, high = draw(st.sampled_from([(18_200, 18_400), (18_300, 18_310), (-40, 30)]))
            return MomentColumn(name=name, type="date", low=low, high=high, constant=constant)
        case "timestamp":
            low, high = draw(st.sampled_from([(18_300, 18_330), (-2, 2)]))
            bounds = (
                {} if draw(st.integers(0, 4)) == 0 else {"low": low * 86_400_000_000, "high": high * 86_400_000_000}
            )
            return MomentColumn(name=name, type="timestamp", constant=constant, **bounds)
        case "boolean":
            return BooleanColumn(name=name, closed=draw(st.booleans()), constant=constant)
        case "category":
            values = tuple(draw(st.lists(st.sampled_from(WORDS), min_size=1, max_size=4, unique=True)))
            other = draw(st.sampled_from([None, None, values[0]]))
            return CategoryColumn(name=name, values=values, other=other, closed=draw(st.booleans()), constant=constant)
        case _:
            return TextColumn(name=name, constant=constant)


@st.composite
def edges_of(draw, low: int, high: int):
    if high - low > 100 or high == low or draw(st.booleans()):
        return None
    return (low, *sorted(draw(st.sets(st.integers(low + 1, high), max_size=3))), high + 1)


# Worlds


KINDS = ("integer", "integer", "decimal", "date", "timestamp", "boolean", "category", "text", "text")
PLAIN = {"integer": "age", "decimal": "cost", "date": "day", "timestamp": "moment", "boolean": "flag",
         "category": "sort", "text": "note"}  # fmt: skip


@dataclass
class _Naming:
    """Names that no table has twice; now and then an odd one."""

    draw: object
    used: set = field(default_factory=set)

    def name(self, kind: str) -> str:
        plain = PLAIN[kind]
        number = sum(name.startswith(plain) for name in self.used)
        wanted = f"{plain}{number or ''}"
        if self.draw(st.integers(0, 9)) == 0:
            wanted = self.draw(st.sampled_from(ODD_NAMES))
            wanted = wanted if wanted not in self.used else f"{plain}{number or ''}"
        self.used.add(wanted)
        return wanted


@st.composite
def declared(
    draw, *, constants: bool, most: int = 5, always: tuple[str, ...] = ("integer", "category")
) -> tuple[tuple[str, Column], ...]:
    """Columns with their kinds."""
    naming = _Naming(draw)
    kinds = [*always, *draw(st.lists(st.sampled_from(KINDS), min_size=1, max_size=most - 2))]
    return tuple(
        (kind, draw(columns(naming.name(kind), kind, constant=constants and draw(st.integers(0, 2)) == 0)))
        for kind in kinds
    )


@st.composite
def publics(draw, sorts: Sequence[str]) -> Source:
    """A public table: words and numbers to join with, some of them more than once."""
    schema = Schema(
        table="regions",
        columns=(
            TextColumn(name="sort"),
            NumberColumn(name="age", type="integer"),
            TextColumn(name=draw(st.sampled_from(["region", "region", "on0", "person", "mine"]))),
            NumberColumn(name="people", type="integer"),
        ),
        unit=PrivacyUnit(),
    )
    row = st.tuples(
        st.sampled_from([*sorts, None]),
        st.integers(0, 7),
        st.sampled_from(["north", "south", None]),
        st.integers(-9, 50),
    )
    rows = tuple(draw(st.lists(row, min_size=1, max_size=6)))
    names = tuple(column.name for column in schema.columns)
    return Source(table=table_of(schema, public=True), names=names, rows=rows)


def words_of(columns: Sequence[Column]) -> list[str]:
    return [value for column in columns if isinstance(column, CategoryColumn) for value in column.values if value] or [
        "flu"
    ]


@st.composite
def row_worlds(draw) -> World:
    """A table of rows, each of which is a unit."""
    found = draw(declared(constants=False))
    schema = Schema(table="visits", columns=tuple(column for _, column in found), unit=PrivacyUnit())
    world = _made(draw, {"visits": table_of(schema)}, loud=False)
    return replace(world, publics={"regions": draw(publics(words_of(schema.columns)))})


@st.composite
def person_worlds(draw, *, loud: bool) -> World:
    """Persons with rows in four tables; one of them comes and goes. A loud one has all the rows she may have, or more."""
    parts = draw(st.sampled_from([("pid",), ("pid",), ("pid", "clinic")]))
    always = ("integer", "category", *["text"] * loud)
    tables = {name: _table(draw, name, always, person=parts) for name in ("visits", "bills")}
    tables["items"] = _table(draw, "items", through="visits", on=("key",))
    tables["crates"] = _table(draw, "crates", through="items", on=("lot",))
    world = _made(draw, tables, loud=loud)
    regions = draw(publics([value for table in tables.values() for value in words_of(table.schema.columns)]))
    return replace(world, publics={"regions": regions})


def _table(draw, name: str, always=("integer", "category"), **unit) -> Table:
    found = draw(declared(constants=True, most=4, always=always))
    declared_unit = PrivacyUnit(rows=draw(st.integers(1, 4)), **unit)
    return table_of(Schema(table=name, columns=tuple(column for _, column in found), unit=declared_unit))


def _made(draw, tables: dict[str, Table], *, loud: bool) -> World:
    return WorldMaker(tables=tables, random=Random(draw(st.integers(0, 2**60))), loud=loud).make()


worlds = st.one_of(person_worlds(loud=False), person_worlds(loud=True), row_worlds())
loud_worlds = st.one_of(person_worlds(loud=True), person_worlds(loud=True), row_worlds())
