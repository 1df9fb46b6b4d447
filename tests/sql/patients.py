"""A table to ask scalar expressions of: its declaration, records of codes, and the values they stand for."""

from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction

import duckdb
from hypothesis import strategies as st

from discreet.schema.column import Boolean, Category, Moment, Number, Text
from discreet.schema.file import read_table
from discreet.schema.schema import closest
from discreet.sql.text import parse
from discreet.sql.typed import Choice, Day, Instant, Numeric, Truth, Words, typed
from discreet.sql.where import Reader

COLUMNS = {
    "age": {"type": "integer", "low": 0, "high": 120},
    "n": {"type": "integer", "low": -50, "high": 50},
    "m": {"type": "integer", "low": -4, "high": 4},
    "cost": {"type": "decimal", "low": -500, "high": 20000, "step": "0.01"},
    "weight": {"type": "decimal", "low": 0, "high": 300, "step": "0.5"},
    "wide": {"type": "integer", "low": -(2**60), "high": 2**60},
    "open": {"type": "integer"},
    "disease": {"type": "category", "values": ["Mumps", "flu", "allergy", "ÉTÉ", ""]},
    "other": {"type": "category", "values": ["flu", "10", "x%", " flu "]},
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
                hint=closest(node.name, [column.name for column in SCHEMA.columns]),
            )
        return typed(found)


def _read(text):
    source, tree = parse(f"SELECT {text}")
    return Reader(source=source, scope=Names(source)), tree.expressions[0]


def scalar(text):
    """The typed expression that a text means."""
    reader, node = _read(text)
    return reader.typed(node)


def condition(text, *, wanted=True):
    """The predicate for when a condition is TRUE, or FALSE."""
    reader, node = _read(text)
    return reader.predicate(node, wanted=wanted)


def codes(column):
    """The codes that a column can hold, its ends and what lies around 0 more often, and NULL."""
    match column:
        case Number() | Moment():
            low = -(2**63) + 2 if column.low is None else column.low
            high = 2**63 - 2 if column.high is None else column.high
            near = [code for code in (-2, -1, 0, 1, 2, 10, 86_400) if low <= code <= high]
            found = st.one_of(st.sampled_from([low, low + 1, high - 1, high, *near]), st.integers(low, high))
        case Boolean():
            found = st.sampled_from([0, 1])
        case Category(values=values):
            found = st.sampled_from(range(len(values)))
        case Text():
            return st.one_of(st.sampled_from(TEXTS), st.text(st.characters(codec="utf-8"), max_size=5))
    return found if getattr(column, "closed", False) else st.one_of(st.none(), found)


records = st.fixed_dictionaries({column.name: codes(column) for column in SCHEMA.columns})

_STORED = {Text: "VARCHAR"}
_DECLARED = {"integer": "BIGINT", "decimal": "DECIMAL(18, 2)", "date": "DATE", "timestamp": "TIMESTAMP"}


def create(connection, rows):
    """Two tables: `coded`, as a declared table is stored, and `given`, the values themselves."""
    stored, given = [], []
    for column in SCHEMA.columns:
        text = isinstance(column, Text)
        stored.append(f'"{column.name}" {"VARCHAR" if text else "BIGINT"}')
        kind = "BOOLEAN" if isinstance(column, Boolean) else _DECLARED.get(getattr(column, "type", ""), "VARCHAR")
        given.append(f'"{column.name}" {kind}')
    for name, listed in (("coded", stored), ("given", given)):
        connection.execute(f"CREATE OR REPLACE TABLE {name} (row INTEGER, {', '.join(listed)})")
    places = ", ".join("?" * (len(SCHEMA.columns) + 1))
    for number, row in enumerate(rows):
        connection.execute(f"INSERT INTO coded VALUES ({places})", [number, *row.values()])
        values = [
            None if code is None else meaning(column, code)
            for column, code in zip(SCHEMA.columns, row.values(), strict=True)
        ]
        connection.execute(f"INSERT INTO given VALUES ({places})", [number, *values])


def meaning(column, code):
    """The value that a code stands for."""
    match column:
        case Number(type="integer"):
            return code
        case Number(step=step):
            return Decimal((code * step).numerator) / (code * step).denominator
        case Moment(type="date"):
            return date(1970, 1, 1) + timedelta(days=code)
        case Moment():
            micros = min(max(code, -62_000_000_000_000_000), 250_000_000_000_000_000)
            return datetime(1970, 1, 1) + timedelta(microseconds=micros)
        case Boolean():
            return bool(code)
        case Category(values=values):
            return values[code]
        case Text():
            return code


def shown(found, code):
    """The value that a code of a typed expression stands for, as DuckDB would give it."""
    if code is None:
        return None
    match found.kind:
        case Numeric(step=step):
            return Fraction(code) * step
        case Day():
            return date(1970, 1, 1) + timedelta(days=code)
        case Instant():
            return datetime(1970, 1, 1) + timedelta(microseconds=code)
        case Truth():
            return bool(code)
        case Choice(values=values):
            return values[code]
        case Words():
            return code


def connect():
    """A database where a quotient by zero is NULL, as it is here."""
    connection = duckdb.connect()
    connection.execute("SET error_on_division_by_zero = false")
    connection.execute("SET TimeZone = 'UTC'")
    return connection
