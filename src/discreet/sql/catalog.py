"""What a question may name: declared tables with their versions, and public tables with their content."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, assert_never

from discreet.accounting.region import Value
from discreet.plan.relation import joined_column_name, match_column_name
from discreet.schema.column import BooleanColumn, CategoryColumn, Column, Label, MomentColumn, NumberColumn, TextColumn
from discreet.schema.schema import Schema
from discreet.sql.typed_expression import (
    DAY_US,
    BooleanKind,
    CategoryKind,
    DateKind,
    Kind,
    NumericKind,
    TextKind,
    TimestampKind,
)

if TYPE_CHECKING:
    import pyarrow


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicTable:
    """A public table, read: columns with the domains its data have, and codes. Exact, free, no secret."""

    name: str
    columns: tuple[Column, ...]
    codes: Mapping[str, tuple[Value | None, ...]]

    def labels(self, column: Column) -> list[Label]:
        """The values of a column as people read them."""
        if isinstance(column, TextColumn):
            return list(self.codes[column.name])
        return [None if code is None else column.label(int(code)) for code in self.codes[column.name]]

    def digest(self, names: Sequence[str]) -> str | None:
        """What its rows say in these columns, whatever their order; None where a column is gone."""
        by_name = {column.name.lower(): column for column in self.columns}
        matching_columns = [by_name.get(name.lower()) for name in names]
        listed = [self.labels(column) for column in matching_columns if column is not None]
        if len(listed) < len(names):
            return None
        rows = sorted(json.dumps([str(label) for label in row]) for row in zip(*listed, strict=True))
        return hashlib.sha256(json.dumps(rows).encode()).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogTable:
    """A table that a question may name. `public` reads a public table's rows, when they are needed."""

    schema: Schema
    version: int = 1
    population: str = ""
    public: Callable[[], PublicTable] | None = None


Catalog = Mapping[str, CatalogTable]


@dataclass(frozen=True, slots=True, kw_only=True)
class CodedPublicTable:
    """A public table made ready for one join: its keys in the codes of what it is joined to."""

    rows: pyarrow.Table
    fan_out: int
    content: str


def code_for_join(public: PublicTable, on: list[tuple[Kind, Column]], *, place: int) -> CodedPublicTable:
    """Code a public table for a join. Rows that can match nothing are left out."""
    import pyarrow as pa

    keys = [_codes(kind, _values(public, column)) for kind, column in on]
    kept = [row for row, key in enumerate(zip(*keys, strict=True)) if None not in key]
    met = [tuple(key[row] for key in keys) for row in kept]
    columns: dict[str, Any] = {}
    for number, (kind, _) in enumerate(on):
        type_ = pa.string() if isinstance(kind, TextKind) else pa.int64()
        columns[match_column_name(place, number)] = pa.array([key[number] for key in met], type=type_)
    for column in public.columns:
        codes = public.codes[column.name]
        columns[joined_column_name(place, column.name)] = pa.array([codes[row] for row in kept], type=pa.int64())
    listed = json.dumps([table.to_pylist() for table in columns.values()], separators=(",", ":"))
    return CodedPublicTable(
        rows=pa.table(columns),
        fan_out=max(Counter(met).values(), default=0),
        content=hashlib.sha256(listed.encode()).hexdigest(),
    )


def can_equal(kind: Kind, column: Column) -> bool:
    """Whether values of this kind can equal values of a public column."""
    match column:
        case NumberColumn():
            return isinstance(kind, NumericKind)
        case MomentColumn():
            return isinstance(kind, DateKind | TimestampKind)
        case BooleanColumn():
            return isinstance(kind, BooleanKind)
        case CategoryColumn() | TextColumn():
            return isinstance(kind, CategoryKind | TextKind)
        case _:
            assert_never(column)


def _values(public: PublicTable, column: Column) -> list[Any]:
    """The values of a column: numbers as exact ones, moments as codes, the rest as labels."""
    codes = public.codes[column.name]
    if isinstance(column, NumberColumn):
        return [None if code is None else int(code) * column.step for code in codes]
    if isinstance(column, MomentColumn):  # in microseconds, whatever it is declared as
        size = DAY_US if column.type == "date" else 1
        return [None if code is None else int(code) * size for code in codes]
    return public.labels(column)


def _codes(kind: Kind, values: list[Any]) -> list[Value | None]:
    """Public values in the codes of a private expression; None where one can match nothing."""
    if isinstance(kind, CategoryKind):
        places = {word: place for place, word in enumerate(kind.values)}
        return [None if value is None else places.get(str(value)) for value in values]
    return [_code(kind, value) for value in values]


def _code(kind: NumericKind | DateKind | TimestampKind | BooleanKind | TextKind, value: Any) -> Value | None:
    if value is None:
        return None
    match kind:
        case NumericKind(step=step):
            number = Fraction(value) / step if isinstance(value, int | Fraction) else None
            return int(number) if number is not None and number.denominator == 1 and abs(number) < 2**62 else None
        case DateKind():
            whole = isinstance(value, int) and not isinstance(value, bool) and value % DAY_US == 0
            return value // DAY_US if whole else None
        case TimestampKind():
            return value if isinstance(value, int) and not isinstance(value, bool) else None
        case BooleanKind():
            return int(value) if isinstance(value, bool) else None
        case TextKind():
            return str(value)
        case _:
            assert_never(kind)
