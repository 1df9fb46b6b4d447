"""Public tables: read as they are. Their domains come from their data, which is no secret."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from discreet.engines.engine import Engine
from discreet.engines.values import code_of
from discreet.errors import UsageError
from discreet.schema.column import Category, Column, Moment, Number, Text
from discreet.schema.schema import Table
from discreet.sql.catalog import PublicTable

#: A public table is held in memory and coded for each join.
MOST_ROWS = 1_000_000


def load(table: Table, *, folder: Path, engine: Engine) -> PublicTable:
    """Read a public table: texts become categories, numbers get the bounds that they have."""
    values: dict[Column, list[Any]] = {column: [] for column in table.schema.columns}
    for number, row in enumerate(engine.rows(table.source, [column.name for column in values], folder=folder)):
        if number >= MOST_ROWS:
            raise UsageError(f"public table {table.name!r} has more than {MOST_ROWS:,} rows")
        for column, value in zip(values, row, strict=True):
            values[column].append(code_of(column, value))
    columns, codes = [], {}
    for column, given in values.items():
        made, coded = _coded(column, given)
        columns.append(made)
        codes[made.name] = tuple(coded)
    return PublicTable(name=table.name, columns=tuple(columns), codes=codes)


def _coded(column: Column, given: list[Any]) -> tuple[Column, list[Any]]:
    """A column with the domain that its values have, and their codes in it."""
    match column:
        case Text():
            words = sorted({word for word in given if word is not None}) or [""]
            places = {word: place for place, word in enumerate(words)}
            made = Category(name=column.name, values=tuple(words))
            return made, [None if word is None else places[word] for word in given]
        case Number() | Moment():
            known = [code for code in given if code is not None] or [0]
            low, high = min(known), max(known)
            if max(abs(low), abs(high)) > 2**60:
                raise UsageError(f"column {column.name!r} of a public table holds numbers beyond 60 bits")
            return replace(column, low=low, high=high, edges=None), given
        case _:
            return column, given
