"""Generated schemas, strange rows, questions, and the files that hold them. For every engine's tests."""

import csv
import math
from dataclasses import dataclass, replace
from fractions import Fraction

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import strategies as st

from discreet.accounting.region import NOT_NULL, ONLY_NULL, ValueSet
from discreet.plan.cells import Cells
from discreet.plan.predicate import TRUE, every, member, some, span
from discreet.schema.column import (
    BooleanColumn,
    CategoryColumn,
    Column,
    MomentColumn,
    NumberColumn,
    TextColumn,
    domain,
    moment_code,
)
from discreet.schema.privacy_unit import PrivacyUnit
from discreet.schema.schema import Schema, Table
from discreet.schema.value_format import BooleanFormat, MomentFormat, NumberFormat
from discreet.sql.group_keys import axis_order, declared_axis
from discreet.sql.typed_expression import column_expression
from engines.asking import asked, width_axis

#: Names that collide with keywords, with the engine's own aliases, or with quoting.
NAMES = [
    "age",
    "select",
    "cell",
    "rows",
    "raw_0",
    "c1",
    "s",
    'the "x"',
    "naïve",
    "a b",
    "it's",
    "1",
    "%s",
    "list_0.code",
]
WORDS = [
    "a",
    "A",
    "a ",
    " a",
    "b",
    "é",
    "e\u0301",
    "ß",
    "SS",
    "1",
    "1.0",
    "true",
    "NULL",
    "x'y",
    'x"y',
    "a,b",
    "a\nb",
    "\U0001f600",
]
STEPS = [
    "0.01",
    "0.1",
    "0.25",
    "0.05",
    "0.02",
    "2",
    "5",
    "1000",
    "0.125",
    "0.000001",
    "0.000000000001",
    "99999",
    "0.0008",
]

_NUMBERS = """12.0 12. .5 +5 -0 -0.0 00012 1e3 1E+3 5e-1 -2.5e0 1e400 -1e400 1e-400 nan NaN inf -Infinity 1_000 0x10
    ١٢ １２ 1,000 - + . e5 1e 1e99999 0.005 0.015 -0.005 0.285 1.005 2.5 -2.5 0.5 99.5 100.4999999999999999999999
    9223372036854775807 -9223372036854775808 9223372036854775808 1152921504606846976 1e18 12a --5"""
_MOMENTS = """2020-01-05 0000-02-29 0000-01-01 0001-01-01 9999-12-31 2020-02-30 2021-02-29 2020-1-5 20200105 2020/01/05
    12345-01-01 -0001-01-01 epoch infinity 2020-01-05T10:00 2020-01-05T10:00:00Z 2020-01-05T10:00:00.5Z 2020-13-01
    2020-01-05T24:00:00 2020-01-05T23:59:60 2020-01-05T10:00:00+02 2020-01-05T10:00+0230 2020-01-05T10:00:00-23:59
    2020-01-05T10:00:00+99:99 2020-01-05T10:00:00.123456789 2020-01-05t10:00:00z 2020-01-05T1:2:3 2020-01-05T10
    1969-12-31T23:59:59.9999999 0001-01-01T00:00:00+14:00 9999-12-31T23:59:59.999999-12:00"""
_FLAGS = "true TRUE False t F yes No y n 1 0 1.0 0.0 2 on -1 01 ye\u017f"

texts = st.text(st.characters(codec="utf-8"), max_size=6)
numbers = st.one_of(
    st.integers(-150, 150).map(str),
    st.integers(-(10**22), 10**22).map(str),
    st.decimals(allow_nan=False, allow_infinity=False, min_value=-1000, max_value=1000, places=4).map(str),
    st.floats().map(repr),
    st.sampled_from(_NUMBERS.split()),
    st.sampled_from(
        [
            " 12",
            "12 ",
            "\t7\n",
            "\u00a07",
            "- 5",
            "1 2",
            "\v3\f",
            "7\0",
            "9" * 60,
            "-" + "9" * 60,
            "0." + "0" * 50 + "1",
        ]
    ),
)
moments = st.one_of(
    st.datetimes().map(str),
    st.dates().map(str),
    st.sampled_from(_MOMENTS.split()),
    st.sampled_from(
        [" 2020-01-05 ", "2020-01-05 10:00:00 +02:30", "2020-01-05 10:00:00 Europe/Berlin", "2020-01-05 (BC)"]
    ),
)
flags = st.sampled_from([*_FLAGS.split(), " true ", "\ttrue", "y es"])


#: Formats of each kind, and texts that are written in them, or nearly.
NUMBER_FORMATS = [
    NumberFormat(decimal=","),
    NumberFormat(decimal=",", thousands="."),
    NumberFormat(decimal=",", thousands=" "),
    NumberFormat(thousands=","),
    NumberFormat(thousands="'", symbols=("CHF", "Fr")),
    NumberFormat(thousands="_"),
    NumberFormat(symbols=("€", "%", "kg", "$", "e", "(", "*")),
    NumberFormat(decimal=",", thousands=".", symbols=("EUR", "E", "€")),
]
MOMENT_FORMATS = [
    MomentFormat(words=words, last_year=last_year)
    for words, last_year in [
        ("%d.%m.%Y", 2068), ("%d/%m/%Y", 2068), ("%m/%d/%Y", 2068), ("%m/%d/%y", 2010), ("%y%m%d", 50), ("%d%m%Y", 2068),
        ("%d-%b-%Y", 2068), ("%d. %B %y", 1999), ("%Y/%m/%d %H:%M", 2068), ("%m/%d/%Y %I:%M %p", 2068),
        ("%d.%m.%Y %H:%M:%S.%f", 2068), ("%Y", 2068), ("%m-%Y", 2068), ("%YT%H", 2068), ("%b (%Y) %d, %I%p", 2068),
    ]
]  # fmt: skip
BOOLEAN_FORMATS = [
    BooleanFormat(true=("yes",), false=("no",)),
    BooleanFormat(true=("Y", "-"), false=("N", "?")),
    BooleanFormat(true=("1",), false=("2", "0")),
    BooleanFormat(true=("oui", "SÍ"), false=("a.b", "n(o)", "x y")),
]
NULLS = [None, None, None, (), ("-9", "999", "NA"), ("0", "1", "a", "yes"), (" NA", "01.02.2020", "ß")]

_LOCAL_NUMBERS = [
    "1,5",
    "1.234,5",
    "1.234.567,89",
    "1,234.5",
    "1,23",
    "1,234",
    "12,345,678",
    "0,123",
    "1234,5",
    "1.23.456",
    "1..234",
    ",5",
    "5,",
    "-1,5",
    "+1,5",
    "-€5",
    "€-5",
    "€5",
    "5€",
    "-5%",
    "%5%",
    "5%%",
    "12kg",
    "kg12",
    "5e3",
    "5e",
    "5E2",
    "1,5e3",
    "$1,234.50",
    "1'234.5",
    "CHF1'234",
    "1'23",
    "1_000",
    "1_00",
    "5EUR",
    "EUR5EUR",
    "1.234E",
    "-9",
    "999",
    "-5-€",
    "--5",
    "€--5",
    "€€5",
    "*5",
    "(5",
    "5(",
    "0.123",
    "1e5",
    "1,234e2",
    "1,234,56",
    "1,2345",
    "00,123",
    "000.123,5",
    "١,٥",
    "１,５",
]
_BLANK_NUMBERS = ["1 234,5", "1\u00a0234\u202f567,5", "1  234", "12 34", "5 €", "€ 5", "5\u00a0€", "- 5 €", " 1,5 ", "\u00a05,5",
                  "\u202f7\u00a0", "CHF 1'234.50", "5 % %", "1 234 kg", "5\u2003€", "5 €\n", "1,5\0", "1" * 1001, "1" + ",234" * 240]  # fmt: skip
_LOCAL_MOMENTS = [
    "31.01.2020",
    "1.2.2020",
    "01.02.2020",
    "30.02.2020",
    "29.02.2020",
    "29.02.2021",
    "31/1/2020",
    "12/31/2020",
    "1/2/20",
    "4/18/47",
    "4/18/10",
    "4/18/11",
    "01/02/00",
    "1/2/2020",
    "500101",
    "510101",
    "01022020",
    "1022020",
    "5-Jan-2020",
    "05-JANUARY-2020",
    "5-sept-2020",
    "31-Feb-2020",
    "5-Jän-2020",
    "2020",
    "0000",
    "99999",
    "1-2020",
    "13-2020",
    "2020T9",
    "2020T24",
    "2020T09",
    "00.01.2020",
    "01.00.2020",
    "1.1.0000",
    "1.1.20",
    "01.02.20200",
    "٠١.٠٢.٢٠٢٠",
    "5-maY-2020",
    "5-May.-2020",
    "may",
    "mar",
    "marc",
]
_BLANK_MOMENTS = ["5. May 99", "5. March 00", "5.  may\u00a098", "2020/1/31 9:05", "2020/01/31 24:00", "2020/01/31 09:60", "2020/1/31  9:05",
                  "1/2/2020 12:00 AM", "1/2/2020 12:30 pm", "1/2/2020 1:05 P.M.", "1/2/2020 13:05 PM", "1/2/2020 0:05 AM", "1/2/2020 01:05 am",
                  "31.12.1999 23:59:59.5", "31.12.1999 23:59:59.123456789", "31.12.1999 23:59:59.1234567890", "31.12.1999 23:59:60.1",
                  " 01.02.2020\t", "\u00a001.02.2020", "01.02. 2020", "May (2020) 5, 12am", "maY (2020) 05, 1P.M", "01.02.2020\n"]  # fmt: skip
_LOCAL_FLAGS = ["yes", "YES", " Yes ", "no", "NO\u00a0", "-", "?", "y", "N", "2", "0", "1", "oui", "OUI", "SÍ", "sí", "sÍ", "a.b", "aXb",
                "A.B", "n(o)", "no", "x y", "X Y", "x  y", "ye\u017f", "\u212a", "\u0130", "true", "1.0"]  # fmt: skip


@st.composite
def columns(draw, name: str) -> Column:
    """A column of any type, with and without bounds, bins, other, closed, a format and marks of its own."""
    column = draw(_unformatted_columns(name))
    if draw(st.integers(0, 2)):
        return column
    column = replace(column, null=draw(st.sampled_from(NULLS)))
    match column:
        case NumberColumn():
            return replace(column, format=draw(st.sampled_from([None, *NUMBER_FORMATS])))
        case MomentColumn():
            return replace(column, format=draw(st.sampled_from([None, *MOMENT_FORMATS])))
        case BooleanColumn():
            return replace(column, format=draw(st.sampled_from([None, *BOOLEAN_FORMATS])))
    return column


def _written(column: Column):
    """Texts in some declared format."""
    match column:
        case NumberColumn():
            return st.sampled_from([*_LOCAL_NUMBERS, *_BLANK_NUMBERS])
        case MomentColumn():
            listed = st.sampled_from([*_LOCAL_MOMENTS, *_BLANK_MOMENTS])
            words = st.sampled_from([format_.words for format_ in MOMENT_FORMATS])
            return listed | st.builds(lambda moment, form: moment.strftime(form), st.datetimes(), words)
        case _:
            return st.sampled_from(_LOCAL_FLAGS)


@st.composite
def _unformatted_columns(draw, name: str) -> Column:
    match draw(st.sampled_from(["integer", "decimal", "date", "timestamp", "boolean", "category", "text"])):
        case "integer":
            low, high = draw(bounds(st.one_of(st.integers(-130, 130), st.integers(-(2**60), 2**60))))
            return NumberColumn(name=name, type="integer", low=low, high=high, edges=draw(edges(low, high)))
        case "decimal":
            low, high = draw(bounds(st.one_of(st.integers(-3000, 3000), st.integers(-(2**60), 2**60))))
            step = Fraction(draw(st.sampled_from(STEPS)))
            return NumberColumn(name=name, type="decimal", step=step, low=low, high=high, edges=draw(edges(low, high)))
        case "date":
            low, high = draw(bounds(st.integers(-25_000, 25_000)))
            return MomentColumn(name=name, type="date", low=low, high=high, edges=draw(edges(low, high)))
        case "timestamp":
            micros = st.datetimes().map(lambda moment: int(moment_code(moment, "timestamp")))
            low, high = draw(bounds(micros))
            return MomentColumn(name=name, type="timestamp", low=low, high=high, edges=draw(edges(low, high)))
        case "boolean":
            return BooleanColumn(name=name, closed=draw(st.booleans()))
        case "category":
            values = draw(st.lists(st.one_of(st.sampled_from(WORDS), texts), min_size=1, max_size=6, unique=True))
            other = draw(st.one_of(st.none(), st.sampled_from(values)))
            return CategoryColumn(name=name, values=tuple(values), other=other, closed=draw(st.booleans()))
        case _:
            return TextColumn(name=name)


@st.composite
def bounds(draw, codes):
    low, high = sorted([draw(codes), draw(codes)])
    return draw(st.sampled_from([(low, high), (low, high), (low, None), (None, high), (None, None)]))


@st.composite
def edges(draw, low, high):
    if low is None or high is None or draw(st.booleans()):
        return None
    if draw(st.booleans()):
        bins = draw(st.integers(1, min(9, high - low + 1)))
        return tuple(low + place * (high - low + 1) // bins for place in range(bins + 1))
    inner = draw(st.sets(st.integers(low, high), max_size=6)) - {low}
    return (low, *sorted(inner), high + 1)


@st.composite
def schemas(draw, most: int = 4) -> Schema:
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=most, unique=True))
    return Schema(table="people", columns=tuple(draw(columns(name)) for name in names), unit=PrivacyUnit())


def cells_of_text(column: Column):
    """Strange texts that a CSV may hold where `column` is declared."""
    match column:
        case NumberColumn():
            near = [
                code
                for limit in (column.low, column.high)
                if limit is not None
                for code in (limit - 1, limit, limit + 1)
            ]
            steps = [code * column.step for code in near] + [(code + Fraction(1, 2)) * column.step for code in near]
            likely = st.one_of(numbers, st.sampled_from([decimal(value) for value in steps])) if near else numbers
        case MomentColumn():
            likely = moments
        case BooleanColumn():
            likely = flags
        case CategoryColumn(values=values):
            changed = [*values, *(word.upper() for word in values), *(word + " " for word in values)]
            likely = st.one_of(st.sampled_from(changed), st.sampled_from(values))
        case TextColumn():
            likely = st.one_of(st.sampled_from(WORDS), texts)
    if column.null:
        likely = st.one_of(likely, st.sampled_from(column.null))
    if getattr(column, "format", None) is not None:
        likely = st.one_of(likely, _written(column), _written(column), _written(column))
    return st.one_of(st.none(), likely, likely, likely, texts)


def decimal(value: Fraction) -> str:
    """A decimal fraction written out."""
    places = next(places for places in range(60) if (value * 10**places).denominator == 1)
    digits = str(abs(int(value * 10**places))).rjust(places + 1, "0")
    text = f"{digits[: len(digits) - places]}.{digits[len(digits) - places :]}" if places else digits
    return "-" * (value < 0) + text


@dataclass(frozen=True, kw_only=True)
class Rows:
    """Source rows, with what a Parquet file would call their types (None: the rows are texts for a CSV)."""

    schema: Schema
    types: tuple[pa.DataType, ...] | None
    rows: tuple[tuple[object, ...], ...]

    def without(self, place: int) -> "Rows":
        return Rows(schema=self.schema, types=self.types, rows=self.rows[:place] + self.rows[place + 1 :])

    def write(self, folder, name: str = "source") -> Table:
        """The rows as a file in `folder`, and the table that reads it."""
        file = folder / (f"{name}.csv" if self.types is None else f"{name}.parquet")
        if self.types is None:
            with file.open("w", encoding="utf-8", newline="") as stream:
                writer = csv.writer(stream)
                writer.writerow([column.name for column in self.schema.columns])
                writer.writerows(self.rows)
        else:
            arrays = [pa.array([row[place] for row in self.rows], type_) for place, type_ in enumerate(self.types)]
            pq.write_table(pa.Table.from_arrays(arrays, names=[column.name for column in self.schema.columns]), file)
        return Table(schema=self.schema, source=file.name, population="people", budget=None)


def _arrow(column: Column):
    """Arrow types a column can be made from, each with its strange values."""
    small = st.integers(-(2**31), 2**31 - 1)
    integers = [
        (pa.int64(), st.one_of(st.integers(-200, 200), st.integers(-(2**63), 2**63 - 1))),
        (pa.uint64(), st.integers(0, 2**64 - 1)),
        (pa.int8(), st.integers(-128, 127)),
    ]
    floats = [
        (pa.float64(), st.one_of(st.floats(), st.sampled_from([0.285, 1.005, 0.5, -2.5, 12.0, 1e22, 5e-5, math.nan]))),
        (pa.float32(), st.one_of(st.floats(width=32), st.integers(-99, 99).map(float))),
    ]
    decimals = [(pa.decimal128(20, 3), st.decimals(-(10**16), 10**16, places=3, allow_nan=False))]
    text = [(pa.string(), cells_of_text(column))]
    dates = [(pa.date32(), st.one_of(st.integers(-30_000, 30_000), small))]
    stamps = [
        (pa.timestamp(unit, zone), st.integers(-(10**digits), 10**digits))
        for unit, digits in (("ms", 14), ("us", 17), ("ns", 18))
        for zone in (None, "UTC")
    ]
    ends = st.sampled_from([2**63 - 1, 2**63 - 2, -(2**63), -(2**63) + 1, -1, 0])
    stamps += [(pa.timestamp("us"), ends), (pa.timestamp("ns", "UTC"), ends)]
    match column:
        case NumberColumn():
            return [*integers, *floats, *decimals, (pa.bool_(), st.booleans()), *text]
        case MomentColumn():
            return [*dates, *stamps, *text]
        case BooleanColumn():
            return [
                (pa.bool_(), st.booleans()),
                (pa.int8(), st.integers(-1, 2)),
                (pa.float64(), st.sampled_from([0.0, 1.0, math.nan, 0.5])),
                *text,
            ]
        case _:
            return [
                (pa.int64(), st.integers(0, 2)),
                (pa.bool_(), st.booleans()),
                (pa.float64(), st.sampled_from([1.0, 0.1, 1e20, 1e-7])),
                *text,
                *text,
            ]


@st.composite
def tables(draw, least: int = 0, most: int = 8) -> Rows:
    """A schema and rows for it, in a CSV or a Parquet file."""
    schema = draw(schemas())
    if draw(st.booleans()):
        row = st.tuples(*(cells_of_text(column) for column in schema.columns))
        return Rows(schema=schema, types=None, rows=tuple(draw(st.lists(row, min_size=least, max_size=most))))
    chosen = [draw(st.sampled_from(range(len(_arrow(column))))) for column in schema.columns]
    kinds = [_arrow(column)[place] for column, place in zip(schema.columns, chosen, strict=True)]
    row = st.tuples(*(st.one_of(st.none(), values, values) for _, values in kinds))
    return Rows(
        schema=schema,
        types=tuple(type_ for type_, _ in kinds),
        rows=tuple(draw(st.lists(row, min_size=least, max_size=most))),
    )


def allowed(column: Column):
    """Sets of values to compare a column with: near its bounds, near likely values, far away, NULL."""
    if isinstance(column, TextColumn):
        value = st.one_of(st.sampled_from(WORDS), texts, st.just(""), st.just("a\0"), st.just("a\0b"))
    else:
        limits = domain(column) or (-100, 100)
        value = st.one_of(
            st.integers(limits[0] - 2, limits[1] + 2), st.sampled_from([-(2**63), 2**63, 10**30, -(10**30), 0, 1])
        )
    runs = st.one_of(
        st.tuples(value, value).map(lambda pair: ValueSet.interval(min(pair), max(pair))),
        value.map(lambda low: ValueSet.interval(low, None)),
        value.map(lambda high: ValueSet.interval(None, high)),
        st.lists(value, min_size=1, max_size=3).map(ValueSet.of),
        st.lists(value, min_size=1, max_size=2).map(lambda values: ValueSet.of(values).complement() & NOT_NULL),
        st.just(NOT_NULL),
    )
    return st.one_of(runs, runs, st.just(ONLY_NULL), runs.map(lambda found: found | ONLY_NULL))


def span_of(column: Column) -> ValueSet:
    """Every value that the declared table can hold in this column."""
    return (
        ValueSet(NOT_NULL.runs, True) if isinstance(column, TextColumn) else span(column_expression(column).expression)
    )


@st.composite
def predicates(draw, schema: Schema, depth: int = 2):
    spans = {column.name: span_of(column) for column in schema.columns}
    if depth == 0 or draw(st.integers(0, 2)) == 0:
        column = draw(st.sampled_from(schema.columns))
        return member(column.name, draw(allowed(column)), spans[column.name])
    parts = draw(st.lists(predicates(schema, depth - 1), min_size=1, max_size=3))
    return every(parts) if draw(st.booleans()) else some(parts, spans)


@st.composite
def questions(draw, schema: Schema) -> Cells:
    """Cells over a schema: any predicate, any of the axes that can be known keys."""
    known = [found for column in schema.columns if (found := declared_axis(column)) is not None]
    for column in schema.columns:
        if isinstance(column, NumberColumn) and domain(column):
            found = width_axis(column, draw(st.integers(1, 50)))
            known += [found] if found is not None else []
    known = [found for found in known if found.size <= 300]
    axes = draw(st.lists(st.sampled_from(known), max_size=2, unique_by=axis_order)) if known else []
    where = draw(st.one_of(st.just(TRUE), predicates(schema)))
    return asked(schema.table, where, sorted(axes, key=axis_order))
