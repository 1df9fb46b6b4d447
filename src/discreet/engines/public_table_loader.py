"""Public tables: read as they are. Their domains come from their data, which is no secret.

So do their columns, where none are declared, and the grid of their decimals: 0.01, or as fine as their values need.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import islice, repeat
from pathlib import Path
from typing import Any

from discreet.engines.engine import Engine
from discreet.engines.source_values import canonical_value, cell_code, parse_number
from discreet.errors import UsageError
from discreet.schema.column import CategoryColumn, Column, MomentColumn, NumberColumn, TextColumn
from discreet.schema.grid_step import STORED_STEP
from discreet.schema.project_file import read_column
from discreet.schema.schema import Table
from discreet.sql.catalog import PublicTable

#: A public table is held in memory and coded for each join.
MOST_ROWS = 1_000_000

#: No finer than this, and with room for products of its codes: about 12 digits of the largest value.
_FINEST, _MOST_FINE = Fraction(1, 10**12), 2**40


def load_public_table(table: Table, *, folder: Path, engine: Engine) -> PublicTable:
    """Read a public table: texts become categories, numbers get the bounds that they have.

    Without declared columns it has those of its source, of the types that `discreet add` proposes.
    """
    declared = table.schema.columns or _proposed(table, folder=folder, engine=engine)
    names = [column.name for column in declared]
    rows = list(islice(engine.rows(table.source, names, folder=folder, layout=table.layout), MOST_ROWS + 1))
    if len(rows) > MOST_ROWS:
        raise UsageError(f"public table {table.name!r} has more than {MOST_ROWS:,} rows")
    columns, codes = [], {}
    for column, given in zip(declared, zip(*rows, strict=True) if rows else repeat(()), strict=False):
        column = _on_fine_grid(column, given)
        made, coded = _coded(column, _codes(column, given))
        columns.append(made)
        codes[made.name] = tuple(coded)
    return PublicTable(name=table.name, columns=tuple(columns), codes=codes)


def _proposed(table: Table, *, folder: Path, engine: Engine) -> tuple[Column, ...]:
    """The columns of the source."""
    proposed = engine.columns(table.source, folder=folder, layout=table.layout)
    where = f"[tables.{table.name}]"
    return tuple(read_column(name, settings, where=where) for name, settings in proposed.items())


def _on_fine_grid(column: Column, given: Sequence[Any]) -> Column:
    """A decimal column of the usual step, on a finer grid where its values are not on that one."""
    if not isinstance(column, NumberColumn) or column.type == "integer" or column.step != STORED_STEP:
        return column
    texts = {canonical_value(column, each) for each in given if isinstance(each, str | int)}
    read = [parse_number(str(value)) for value in texts]
    values = [value for value in read if isinstance(value, Fraction)]
    largest, step = max(map(abs, values), default=Fraction(0)), column.step
    while any((each / step).denominator > 1 for each in values):
        if step <= _FINEST or largest > _MOST_FINE * step / 10:
            break
        step /= 10
    return replace(column, step=step, low=None, high=None, edges=None)


def _codes(column: Column, given: Sequence[Any]) -> list[Any]:
    """The codes of a column's values. A text that comes often is read once."""
    code_by_text = {value: cell_code(column, value) for value in {each for each in given if isinstance(each, str)}}
    return [code_by_text[value] if isinstance(value, str) else cell_code(column, value) for value in given]


def _coded(column: Column, given: list[Any]) -> tuple[Column, list[Any]]:
    """A column with the domain that its values have, and their codes in it."""
    match column:
        case TextColumn():
            words = sorted({word for word in given if word is not None}) or [""]
            places = {word: place for place, word in enumerate(words)}
            made = CategoryColumn(name=column.name, values=tuple(words))
            return made, [None if word is None else places[word] for word in given]
        case NumberColumn() | MomentColumn():
            present_codes = [code for code in given if code is not None] or [0]
            low, high = min(present_codes), max(present_codes)
            if max(abs(low), abs(high)) > 2**60:
                raise UsageError(f"column {column.name!r} of a public table has numbers larger than 60 bits")
            return replace(column, low=low, high=high, edges=None), given
        case _:
            return column, given
