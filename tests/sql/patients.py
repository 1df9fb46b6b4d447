"""A table to ask scalar expressions of: its declaration, records of codes, and the values they stand for."""

import functools
import random
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction

import duckdb
import pyarrow as pa

from discreet.schema.column import BooleanColumn, CategoryColumn, MomentColumn, NumberColumn, TextColumn
from discreet.schema.project_file import read_table
from discreet.schema.schema import closest_name_hint
from discreet.sql.expression_reader import ExpressionReader
from discreet.sql.query_text import parse_statement
from discreet.sql.typed_expression import (
    BooleanKind,
    CategoryKind,
    DateKind,
    NumericKind,
    TextKind,
    TimestampKind,
    column_expression,
)

COLUMNS = {
    "age": {"type": "integer", "low": 0, "high": 120},
    "n": {"type": "integer", "low": -50, "high": 50},
    "m": {"type": "integer", "low": -4, "high": 4},
    "cost": {"type": "decimal", "low": -500, "high": 20000, "step": "0.01"},
    "weight": {"type": "decimal", "low": 0, "high": 300, "step": "0.5"},
    "wide": {"type": "integer", "low": -(2**60), "high": 2**60},
    "open": {"type": "integer"},
    "disease": {"type": "category", "values": ["Mumps", "flu", "allergy", "ÉTÉ", ""]},
    "other": {"type": "category", "values": ["flu", "10", "x%", " flu ", "2020-02-30", "2020-02-29", "-1.5e1", "yes"]},
    "sex": {"type": "category", "values": ["F", "M"], "closed": True},
    "smoker": {"type": "boolean"},
    "alive": {"type": "boolean", "closed": True},
    "born": {"type": "date", "low": "1890-02-03", "high": "2026-12-31"},
    "died": {"type": "date", "low": "1969-12-25", "high": "1972-03-05"},
    "seen": {"type": "timestamp", "low": "1968-12-28 03:04:05", "high": "2030-01-01"},
    "left_at": {"type": "timestamp"},
    "note": {"type": "text"},
}
SCHEMA = read_table("patients", {"source": "p.csv", "columns": COLUMNS}).schema
TEXTS = [
    None, "", " ", "a", "A", "ab", "aB%", "a_b", "a\\", "\\", "%", "_", "it's", "é", "É", "ß", "İ", "ΑΣ", "ﬁ",
    "a\0b", "\0", "😀a", "e\u0301", "\u00a0x\u2003", "\t x ", "xxabxx", "0", "1e5", "NaN", "null", "a" * 300,
]  # fmt: skip


class Names:
    """What names mean: the declared columns."""

    def __init__(self, source):
        self.source = source

    def column(self, node):
        found = SCHEMA.column(node.name)
        if found is None or node.table:
            raise self.source.refusal(
                f"there is no column {node.name!r}",
                at=node,
                hint=closest_name_hint(node.name, [column.name for column in SCHEMA.columns]),
            )
        return column_expression(found)


def read(text):
    """A reader, and the syntax tree of one expression."""
    source, tree = parse_statement(f"SELECT {text}")
    return ExpressionReader(source=source, scope=Names(source)), tree.expressions[0]


def scalar(text):
    """The typed expression that a text means."""
    reader, node = read(text)
    return reader.typed(node)


#: The same, read once a process: to choose samples by. What a test has replaced is not seen here.
sample_expression = functools.cache(scalar)


def condition(text, *, wanted=True):
    """The predicate for when a condition is TRUE, or FALSE."""
    reader, node = read(text)
    return reader.predicate(node, truth_value=wanted)


def ends(column):
    """The least and the largest code that a column's storage holds."""
    found = column_expression(column).expression
    return -(2**63) + 2 if found.low is None else found.low, 2**63 - 2 if found.high is None else found.high


def records(count, seed):
    """Records of codes: the ends of columns and what is near 0 more often, and NULLs."""
    chance = random.Random(seed)

    def code(column):
        if chance.random() < 0.12 and not getattr(column, "closed", False):
            return None
        if isinstance(column, TextColumn):
            return chance.choice(TEXTS)
        low, high = ends(column)
        near = min(max(low, chance.choice([-2, -1, 0, 1, 2])), high)
        return chance.choice([low, high, near, chance.randint(low, high), chance.randint(low, high)])

    return [{column.name: code(column) for column in SCHEMA.columns} for _ in range(count)]


def coded(rows):
    """The declared table: codes and texts."""
    return pa.table(
        {
            "row": pa.array(range(len(rows)), pa.int32()),
            **{
                column.name: pa.array(
                    [row[column.name] for row in rows], pa.string() if isinstance(column, TextColumn) else pa.int64()
                )
                for column in SCHEMA.columns
            },
        }
    )


def given(rows):
    """The values that the codes stand for, in the types that they have."""
    columns = {"row": pa.array(range(len(rows)), pa.int32())}
    for column in SCHEMA.columns:
        type_ = {
            "integer": pa.int64(),
            "decimal": pa.decimal128(18, 2),
            "date": pa.date32(),
            "timestamp": pa.timestamp("us"),
        }.get(getattr(column, "type", ""), pa.bool_() if isinstance(column, BooleanColumn) else pa.string())
        codes = [row[column.name] for row in rows]
        columns[column.name] = pa.array([None if code is None else meaning(column, code) for code in codes], type_)
    return pa.table(columns)


def meaning(column, code):
    """The value that a code stands for."""
    match column:
        case NumberColumn(type="integer"):
            return code
        case NumberColumn(step=step):
            return Decimal((code * step).numerator) / (code * step).denominator
        case MomentColumn(type="date"):
            return date(1970, 1, 1) + timedelta(days=code)
        case MomentColumn():  # without bounds it may lie outside the calendar, and then at its end
            micros = min(max(code, -62_000_000_000_000_000), 250_000_000_000_000_000)
            return datetime(1970, 1, 1) + timedelta(microseconds=micros)
        case BooleanColumn():
            return bool(code)
        case CategoryColumn(values=values):
            return values[code]
        case TextColumn():
            return code


def shown(found, code):
    """The value that a code of a typed expression stands for, as DuckDB would give it."""
    if code is None:
        return None
    match found.kind:
        case NumericKind(step=step):
            return Fraction(code) * step
        case DateKind():
            return date(1970, 1, 1) + timedelta(days=code)
        case TimestampKind():
            return datetime(1970, 1, 1) + timedelta(microseconds=code)
        case BooleanKind():
            return bool(code)
        case CategoryKind(values=values):
            return values[code]
        case TextKind():
            return code


def connect():
    """A database in which a whole quotient by zero is NULL, as it is here."""
    connection = duckdb.connect(config={"threads": 1})
    connection.execute("SET error_on_division_by_zero = false")
    connection.execute("SET TimeZone = 'UTC'")
    return connection
