"""The reference engine: plain Python, slow and obvious. Every other engine must agree with it.

Read it to know what a declared table is and what a count means.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from discreet.accounting.region import Value
from discreet.engines import source as sources
from discreet.engines.engine import EngineFailure, Exact, Making
from discreet.engines.stored import arrow_schema, bounds, check_declarable, new_file
from discreet.engines.values import Given, code_of, propose, rows
from discreet.plan.cells import Axis, Cells
from discreet.plan.predicate import holds
from discreet.schema.column import Boolean, Category, Column, Moment, Number, Text
from discreet.schema.schema import Schema, Table

Record = Mapping[str, Value | None]


class MemoryEngine:
    """Makes declared tables row by row and counts them row by row."""

    def columns(self, source: Path) -> Mapping[str, str]:
        """The names of a source's columns and the types proposed for them, for `discreet add`."""
        return propose(sources.find(str(source), folder=Path()))

    def declare(self, table: Table, *, folder: Path, target: Path) -> Making:
        """Make the declared table of `table` (its source is relative to `folder`) at `target`."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        check_declarable(table.schema)
        source = sources.find(table.source, folder=folder)
        columns = {column: source.place(column.name) for column in table.schema.columns}
        records: list[Record] = []
        nulled: Counter[str] = Counter()
        clamped: Counter[str] = Counter()
        with new_file(target) as stream, source.at_rest():
            for row in rows(source):
                given = {column: row[place] for column, place in columns.items()}
                records.append({column.name: stored(column, value) for column, value in given.items()})
                nulled.update(column.name for column, value in given.items() if lost(column, value))
                clamped.update(column.name for column, value in given.items() if outside(column, value))
            pq.write_table(pa.Table.from_pylist(records, schema=arrow_schema(table.schema)), stream)
        ordered = [column.name for column in columns if isinstance(column, Number | Moment)]
        return Making(
            exact_rows=len(records),
            exact_nulled={column.name: nulled[column.name] for column in columns},
            exact_clamped={name: clamped[name] for name in ordered},
        )

    def count(self, cells: Cells, schema: Schema, *, file: Path) -> Exact:
        """The exact cells over the declared table in `file`."""
        import pyarrow.parquet as pq

        try:
            exact_values = np.zeros(cells.size, dtype=np.int64)
            for record in pq.read_table(file, partitioning=None).to_pylist():
                places = [place(axis, record[axis.column]) for axis in cells.axes]
                if holds(cells.plan.where, record) and None not in places:
                    exact_values[flat(cells.shape, places)] += 1
            return Exact(exact_values)
        except Exception as problem:
            raise EngineFailure("the declared table could not be counted") from problem


def stored(column: Column, value: Given) -> Value | None:
    """What the declared table holds for a source value."""
    code = code_of(column, value)
    match column:
        case Number() | Moment():
            low, high = bounds(column) or (0, 0)
            return None if code is None else min(max(int(code), low), high)
        case Category() if code is None and value is not None and column.other is not None:
            return column.values.index(column.other)
        case Category() | Boolean():
            return 0 if code is None and column.closed else code
        case Text():
            return code


def lost(column: Column, value: Given) -> bool:
    """Whether a value was given and did not fit."""
    kept = isinstance(column, Category) and column.other is not None
    return value is not None and code_of(column, value) is None and not kept


def outside(column: Column, value: Given) -> bool:
    """Whether a value was clamped."""
    code = code_of(column, value)
    limits = bounds(column)
    return isinstance(code, int) and limits is not None and not limits[0] <= code <= limits[1]


def place(axis: Axis, code: Value | None) -> int | None:
    """The number of the cell that a code lies in; None where it lies in none."""
    if code is None:
        return axis.size - 1 if axis.null else None
    if not isinstance(code, int) or not axis.edges[0] <= code < axis.edges[-1]:
        return None
    return bisect_right(axis.edges, code) - 1


def flat(shape: tuple[int, ...], places: list[int | None]) -> int:
    """The number of a cell among all cells: the last axis varies fastest."""
    number = 0
    for size, here in zip(shape, places, strict=True):
        number = number * size + (here or 0)
    return number
