"""Public tables: read as they are. Their domains come from their data, which is no secret."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice, repeat
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
    names = [column.name for column in table.schema.columns]
    rows = list(islice(engine.rows(table.source, names, folder=folder), MOST_ROWS + 1))
    if len(rows) > MOST_ROWS:
        raise UsageError(f"public table {table.name!r} has more than {MOST_ROWS:,} rows")
    columns, codes = [], {}
    for column, given in zip(table.schema.columns, zip(*rows, strict=True) if rows else repeat(()), strict=False):
        made, coded = _coded(column, _codes(column, given))
        columns.append(made)
        codes[made.name] = tuple(coded)
    return PublicTable(name=table.name, columns=tuple(columns), codes=codes)


def _codes(column: Column, given: Sequence[Any]) -> list[Any]:
    """The codes of a column's values. A text that comes often is read once."""
    known = {value: code_of(column, value) for value in {each for each in given if isinstance(each, str)}}
    return [known[value] if isinstance(value, str) else code_of(column, value) for value in given]


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
