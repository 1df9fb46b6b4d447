"""Small worlds to be private in: declared tables, strange rows, and one unit that comes and goes.

Two kinds. In the one a unit is a row. In the other it is a person, whose rows lie in `visits`, in `bills`, and in
`items`, which reach her through the visits they name. Both have a public table whose keys repeat.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from fractions import Fraction

import pyarrow as pa
from hypothesis import strategies as st

from discreet.schema.column import BooleanColumn, CategoryColumn, Column, MomentColumn, NumberColumn, TextColumn
from discreet.schema.privacy_unit import PrivacyUnit
from discreet.schema.schema import Schema, Table
from engines.persons_tables import File

NAN, INFINITY = float("nan"), float("inf")
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

#: Ids that a careless engine takes for one another.
IDS = ("a", "A", "a ", " a", "á", "a\u0301", "1", "01", "1.0", "NULL", "'", '"', "a,b", "\U0001f600", "ß", "ss")

#: Ids that one file holds as numbers and another as texts.
NUMBERED = ("1", "-2", "10", "9223372036854775807", "0")

WORDS = ("flu", "Flu", "FLU ", "mumps", "é", "e\u0301", "ß", "SS", "1", "true", "it's", "a%b", "_", "")
TEXTS = (*WORDS, "\\", "%", "flu\u0000x", "\u200b", "\U0001f600", "İ", "ﬁ", "x" * 300, "NaN", "-0")

#: What a CSV may hold where a number, a moment or a truth is declared.
NUMBERS = ("nan", "NaN", "inf", "-Infinity", "1e400", "-1e400", "1e-400", "9223372036854775807", "-9223372036854775808",
           "99999999999999999999999999", "-0", "-0.0", "0.5", "-0.5", "2.5", "1e3", "0x10", "1_000", " 3", "3 ", "--5", "x")  # fmt: skip
MOMENTS = ("2020-02-30", "0000-01-01", "9999-12-31", "2020-02-29", "2020-03-15 23:59:59.999999", "infinity", "epoch",
           "2020-01-31T10:00:00+02:00", "1969-12-31", "-0001-01-01", "2020-13-01", "20200105")  # fmt: skip
TRUTHS = ("true", "FALSE", "t", "yes", "1", "0", "2", "on", "")


@dataclass(frozen=True, kw_only=True)
class Source:
    """One table: its declaration, and a file's columns and rows. Without `types` the file is a CSV of texts."""

    table: Table
    names: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]
    types: tuple[pa.DataType, ...] | None = None
    path: tuple[Table, ...] = ()

    @property
    def schema(self) -> Schema:
        return self.table.schema

    @property
    def file(self) -> File:
        return File(names=self.names, rows=self.rows, types=self.types)

    def write(self, folder) -> None:
        self.file.write(folder, self.table.name)


@dataclass(frozen=True, kw_only=True)
class World:
    """Tables, and the same tables without one unit. `person`: its id; None where the unit is `row`, of one table."""

    sources: Mapping[str, Source]
    publics: Mapping[str, Source]
    without: Mapping[str, tuple[tuple[object, ...], ...]]
    person: tuple[str, ...] | None = None
    row: tuple[object, ...] | None = None

    def neighbour(self) -> Mapping[str, Source]:
        """The private tables when the unit has gone."""
        return {name: replace(source, rows=self.without[name]) for name, source in self.sources.items()}


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


#: What a Parquet file may call the type of a declared column.
ARROW = {
    "integer": [pa.int64(), pa.float64(), pa.int16()],
    "decimal": [pa.float64(), pa.decimal128(20, 3), pa.float32()],
    "date": [pa.date32()],
    "timestamp": [pa.timestamp("us"), pa.timestamp("ms", "UTC")],
    "boolean": [pa.bool_(), pa.int8()],
    "category": [pa.string()],
    "text": [pa.string()],
}


def cells_of(column: Column, type_: pa.DataType | None):
    """Values for a column: likely ones, those at its bounds, and strange ones."""
    likely = _texts(column) if type_ is None else _typed(column, type_)
    return st.one_of(likely, likely, likely, st.none())


def _texts(column: Column):
    match column:
        case NumberColumn():
            low, high = column.low or -50, column.high or 50
            codes = st.one_of(st.integers(low, high), st.sampled_from([low, high, low - 1, high + 1, 0]))
            return st.one_of(codes.map(lambda code: _decimal(code * column.step)), st.sampled_from(NUMBERS))
        case MomentColumn():
            scale = 86_400_000_000 if column.type == "timestamp" else 1
            low, high = (column.low or 0) // scale, (column.high or 0) // scale
            days = st.integers(low - 1, high + 1).map(iso)
            return st.one_of(days, days, st.sampled_from(MOMENTS))
        case BooleanColumn():
            return st.sampled_from(TRUTHS)
        case CategoryColumn(values=values):
            return st.sampled_from([*values, *values, *WORDS])
        case _:
            return st.sampled_from(TEXTS).filter(lambda text: "\0" not in text)


def _typed(column: Column, type_: pa.DataType):
    if pa.types.is_floating(type_):
        assert isinstance(column, NumberColumn)
        near = [float(code * column.step) for code in (column.low or 0, column.high or 9, 0, 3)]
        strange = [NAN, INFINITY, -INFINITY, -0.0, 5e-324, 3.3e38, 0.285]
        return st.sampled_from([*near, *near, *strange])
    if pa.types.is_integer(type_):
        reach = 2 ** (type_.bit_width - 1)
        ends = [-reach, reach - 1]
        near = [column.low or 0, column.high or 9] if isinstance(column, NumberColumn) else [0, 1]
        kept = [code for code in (*near, *near, 0, 1, 2, 3, *ends) if -reach <= code < reach]
        return st.sampled_from(kept)
    if pa.types.is_decimal(type_):
        return st.decimals(-60, 60, places=3, allow_nan=False)
    if pa.types.is_date(type_):
        near = range((column.low or 0) - 1, (column.low or 0) + 40)
        return st.sampled_from([code for code in (*near, -(2**31) + 2, 2**31 - 2, 2_932_896) if abs(code) < 2**31])
    if pa.types.is_timestamp(type_):
        unit = 1_000 if type_.unit == "ms" else 1_000_000
        start = (column.low or 0) // 1_000_000 * unit
        return st.sampled_from([*(start + hours * 3600 * unit + 7 for hours in range(-3, 400, 31)), 2**45, -(2**45)])
    if pa.types.is_boolean(type_):
        return st.booleans()
    return st.sampled_from(column.values + WORDS if isinstance(column, CategoryColumn) else TEXTS)


def _decimal(value: Fraction) -> str:
    return str(int(value)) if value.denominator == 1 else f"{float(value):.2f}"


def iso(day: int) -> str:
    """A day as it is written."""
    return datetime.fromtimestamp(day * 86_400, tz=UTC).date().isoformat()


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
def typed(draw, found: Sequence[tuple[str, Column]]) -> tuple[pa.DataType, ...] | None:
    if draw(st.booleans()):
        return None
    return tuple(draw(st.sampled_from(ARROW[kind])) for kind, _ in found)


def row_of(draw, found, types) -> tuple[object, ...]:
    kinds = [None] * len(found) if types is None else types
    return tuple(draw(cells_of(column, type_)) for (_, column), type_ in zip(found, kinds, strict=True))


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
    types = draw(typed(found))
    schema = Schema(table="visits", columns=tuple(column for _, column in found), unit=PrivacyUnit())
    unit = row_of(draw, found, types)
    others = [row_of(draw, found, types) for _ in range(draw(st.integers(0, 6)))]
    twins = [unit] * draw(st.integers(0, 1))
    rows = (*others[:3], unit, *twins, *others[3:])
    names = tuple(column.name for column in schema.columns)
    source = Source(table=table_of(schema, parquet=types is not None), names=names, rows=rows, types=types)
    left = [*others, *twins]
    random.Random(7).shuffle(left)
    return World(
        sources={"visits": source},
        publics={"regions": draw(publics(words_of(schema.columns)))},
        without={"visits": tuple(left)},
        row=unit,
    )


@st.composite
def person_worlds(draw, *, loud: bool) -> World:
    """Persons with rows in four tables; one of them comes and goes. A loud one has all the rows she may have, or more."""
    parts = draw(st.sampled_from([("pid",), ("pid",), ("pid", "clinic")]))
    known = draw(st.sampled_from([IDS, IDS, NUMBERED]))
    ids = draw(st.lists(st.tuples(*[st.sampled_from(known)] * len(parts)), min_size=2, max_size=5, unique=True))
    made = {name: draw(_owned(name, parts, ids, loud, numbered=known is NUMBERED)) for name in ("visits", "bills")}
    made["items"] = draw(_reached("items", ("key",), ("lot",), (made["visits"].table,)))
    made["crates"] = draw(_reached("crates", ("lot",), (), (made["items"].table, made["visits"].table)))
    without = {name: _without(made[name].rows, len(parts), ids[0]) for name in ("visits", "bills")}
    without |= {name: made[name].rows for name in ("items", "crates")}
    if draw(st.booleans()):  # rows that reach nobody any more may go as well: they are nobody's
        kept = {row[len(parts)] for row in without["visits"]}
        without["items"] = tuple(row for row in made["items"].rows if row[0] in kept)
    shuffled = {}
    for name, rows in without.items():
        left = list(rows)
        random.Random(len(left)).shuffle(left)
        shuffled[name] = tuple(left)
    regions = draw(publics([value for name in made for value in words_of(made[name].schema.columns)]))
    return World(sources=made, publics={"regions": regions}, without=shuffled, person=ids[0])


def _without(rows, parts: int, person) -> tuple[tuple[object, ...], ...]:
    return tuple(row for row in rows if tuple(map(str, row[:parts])) != person)


@st.composite
def _owned(draw, name: str, parts, ids, loud: bool, numbered: bool) -> Source:
    """A table with the person's own columns; the first person has many rows, the others a few, some rows nobody."""
    found = draw(declared(constants=True, most=4, always=("integer", "category", *["text"] * loud)))
    types = draw(typed(found))
    unit = PrivacyUnit(person=parts, rows=draw(st.integers(1, 4)))
    schema = Schema(table=name, columns=tuple(column for _, column in found), unit=unit)
    many = draw(st.sampled_from([unit.rows, unit.rows + 1, 9] if loud else [0, 1, 2, 3, 5, 9]))
    manner = draw(st.sampled_from(["equal", "apart", "mixed"]))
    rows = [(*ids[0], draw(st.sampled_from(KEYS)), *row) for row in _many(draw, found, types, many, manner)]
    for person in ids[1:]:
        few = _many(draw, found, types, draw(st.integers(0, 4)), "mixed")
        rows += [(*person, draw(st.sampled_from(KEYS)), *row) for row in few]
    for _ in range(draw(st.integers(0, 2))):
        nobody = tuple(None if place == 0 else ids[0][place] for place in range(len(parts)))
        rows.append((*nobody, draw(st.sampled_from(KEYS)), *row_of(draw, found, types)))
    names = (*parts, "key", *(column.name for column in schema.columns))
    of_ids = pa.int64() if numbered else pa.string()
    if numbered and types is not None:
        rows = [
            (*(None if part is None else int(part) for part in row[: len(parts)]), *row[len(parts) :]) for row in rows
        ]
    return Source(
        table=table_of(schema, parquet=types is not None),
        names=names,
        rows=tuple(rows),
        types=None if types is None else (*[of_ids] * len(parts), pa.string(), *types),
    )


def _many(draw, found, types, size: int, manner: str) -> list[tuple[object, ...]]:
    """Rows of one person: all equal, all different, or mixed."""
    repeated = row_of(draw, found, types)
    if manner == "equal":
        return [repeated] * size
    rows = [repeated if number % 3 == 2 else row_of(draw, found, types) for number in range(size)]
    return rows if manner == "mixed" else [_apart(row, found, number) for number, row in enumerate(rows)]


def _apart(row: tuple[object, ...], found, number: int) -> tuple[object, ...]:
    """The row with texts and whole numbers that no other row of its person has."""
    changed = []
    for value, (kind, column) in zip(row, found, strict=True):
        if kind == "text":
            value = f"t{number}"
        elif kind == "integer" and not isinstance(value, float):
            start = 0 if abs(column.low or 0) > 2**14 else column.low or 0  # it must fit into the narrowest type
            value = type(value)(start + number) if isinstance(value, int | str) else value
        changed.append(value)
    return tuple(changed)


#: What an item may name of a visit: few, so that a visit's items are shared.
KEYS = ("k1", "k2", "K1", None)


@st.composite
def _reached(draw, name: str, on: tuple[str, ...], beside: tuple[str, ...], path: tuple[Table, ...]) -> Source:
    """A table that reaches its persons through another, by columns that both have."""
    found = draw(declared(constants=True, most=4))
    types = draw(typed(found))
    unit = PrivacyUnit(through=path[0].name, on=on, rows=draw(st.integers(1, 4)))
    schema = Schema(table=name, columns=tuple(column for _, column in found), unit=unit)
    keys = [*on, *beside]
    rows = [
        (*(draw(st.sampled_from(KEYS)) for _ in keys), *row_of(draw, found, types))
        for _ in range(draw(st.integers(0, 6)))
    ]
    return Source(
        table=table_of(schema, parquet=types is not None),
        names=(*keys, *(column.name for column in schema.columns)),
        rows=tuple(rows),
        types=None if types is None else (*[pa.string()] * len(keys), *types),
        path=path,
    )


worlds = st.one_of(person_worlds(loud=False), person_worlds(loud=True), row_worlds())
loud_worlds = st.one_of(person_worlds(loud=True), person_worlds(loud=True), row_worlds())
