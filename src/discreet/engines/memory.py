"""The reference engine: plain Python, slow and obvious. Every other engine must agree with it.

Read it to know what a declared table is and what a count means.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from discreet.accounting.region import Region, Value
from discreet.engines import source as sources
from discreet.engines.engine import Coded, Engine, EngineFailure, Exact, ExactKeys, Making, Tables, narrowest
from discreet.engines.files import Files, path_of
from discreet.engines.memory_count import Counting
from discreet.engines.missing import is_missing
from discreet.engines.ownership import Ownership
from discreet.engines.place import Place
from discreet.engines.rounding import Rounded, finer, moved, roundings, rounds
from discreet.engines.stored import arrow_schema, bounds, check_declarable, new_file
from discreet.engines.values import Given, code_of, propose, rows
from discreet.plan.cells import Axis, Cells
from discreet.plan.expressions import Expression
from discreet.plan.relation import Plan
from discreet.schema.column import Boolean, Category, Column, Moment, Number, Text
from discreet.schema.schema import Table

if TYPE_CHECKING:
    from discreet.engines.network.exact import ExactGraph

Record = Mapping[str, Value | None]


class MemoryEngine(Files):
    """Makes declared tables row by row and counts them row by row."""

    def at(self, address: str) -> Engine:
        """Itself."""
        return self

    def columns(self, source: str, *, folder: Path) -> Mapping[str, str]:
        """The names of a source's columns and the types proposed for them, for `discreet add`."""
        return propose(sources.find(source, folder=folder))

    def declare(
        self,
        table: Table,
        *,
        folder: Path,
        target: Place,
        key: bytes | None = None,
        tag_key: bytes | None = None,
        path: tuple[Table, ...] = (),
        forgotten: Collection[bytes] = (),
    ) -> Making:
        """Make the declared table of `table` (its source is relative to `folder`) at `target`."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        ownership = Ownership.of(table, path=path, key=key, tag_key=tag_key, forgotten=forgotten)
        if ownership is not None and ownership.unit.ends:
            from discreet.engines.network.plain import declare_network

            return declare_network(ownership, folder=folder, target=path_of(target))
        if ownership is not None:
            from discreet.engines.memory_persons import declare_persons

            return declare_persons(ownership, folder=folder, target=path_of(target))
        check_declarable(table.schema)
        source = sources.find(table.source, folder=folder)
        columns = {column: source.place(column.name) for column in table.schema.columns}
        records: list[Record] = []
        nulled: Counter[str] = Counter()
        clamped: Counter[str] = Counter()
        marks: Counter[str] = Counter()
        moves: dict[Column, list[int]] = {column: [] for column in columns if rounds(column)}
        with new_file(path_of(target)) as stream, source.at_rest():
            for row in rows(source):
                given = {column: row[place] for column, place in columns.items()}
                records.append({column.name: stored(column, value) for column, value in given.items()})
                nulled.update(column.name for column, value in given.items() if lost(column, value))
                clamped.update(column.name for column, value in given.items() if outside(column, value))
                marks.update(column.name for column, value in given.items() if marked(column, value))
                for column, found in moves.items():
                    found.append(moved_by(column, given[column]))
            pq.write_table(pa.Table.from_pylist(records, schema=arrow_schema(table.schema)), stream)
        ordered = [column.name for column in columns if isinstance(column, Number | Moment)]
        return Making(
            exact_rows=len(records),
            exact_nulled={column.name: nulled[column.name] for column in columns},
            exact_clamped={name: clamped[name] for name in ordered},
            exact_rounded=rounded(moves),
            exact_marked={column.name: marks[column.name] for column in columns},
        )

    def count(self, cells: Cells, region: Region, *, tables: Tables) -> Exact:
        """The exact cells."""
        try:
            return Exact(Counting(tables=tables, region=region).cells(cells))
        except Exception as problem:
            raise EngineFailure("the declared table could not be counted") from problem

    def coded(self, plan: Plan, axes: tuple[Axis, ...], region: Region, *, tables: Tables) -> Coded:
        """The rows as numbers of cells."""
        try:
            rows = Counting(tables=tables, region=region).places(plan, axes)
            numbers = np.array(rows, dtype=np.int64).reshape(len(rows), len(axes))
            return Coded(tuple(narrowest(column) for column in numbers.T), tuple(axis.size for axis in axes))
        except Exception as problem:
            raise EngineFailure("the declared table could not be read") from problem

    def keys(
        self, plan: Plan, keys: tuple[Expression, ...], region: Region, *, persons: bool, tables: Tables
    ) -> ExactKeys:
        """The keys that exist, sorted, and the exact number of persons of each."""
        try:
            found, counts = Counting(tables=tables, region=region).keys(plan, keys, persons=persons)
            return ExactKeys(tuple(found), np.array(counts, dtype=np.int64))
        except Exception as problem:
            raise EngineFailure("the declared table could not be counted") from problem

    def graph(
        self, place: Place, ends: tuple[str, str] | None, *, directed: bool, nodes: Sequence[Value] | None = None
    ) -> ExactGraph:
        """The simple graph of a declared table: see `network`. Fails only as EngineFailure."""
        from discreet.engines.network.plain import read_graph

        try:
            return read_graph(path_of(place), ends, directed=directed, nodes=nodes)
        except Exception as problem:
            raise EngineFailure("the declared table could not be read") from problem


def stored(column: Column, value: Given) -> Value | None:
    """What the declared table holds for a source value. One that is missing is no other value, and fits."""
    code = code_of(column, value)
    match column:
        case Number() | Moment():
            low, high = bounds(column) or (0, 0)
            return None if code is None else min(max(int(code), low), high)
        case Category() if code is None and not is_missing(value) and column.other is not None:
            return column.values.index(column.other)
        case Category() | Boolean():
            return 0 if code is None and column.closed else code
        case Text():
            return None if is_missing(value) else code


def lost(column: Column, value: Given) -> bool:
    """Whether a value was given and did not fit."""
    kept = isinstance(column, Category) and column.other is not None
    return not is_missing(value) and code_of(column, value) is None and not kept


def marked(column: Column, value: Given) -> bool:
    """Whether a value is a mark such as NA, and is read as missing. A category that lists one means it."""
    unread = isinstance(column, Text) or code_of(column, value) is None
    return value is not None and value != "" and is_missing(value) and unread


def outside(column: Column, value: Given) -> bool:
    """Whether a value was clamped."""
    code = code_of(column, value)
    limits = bounds(column)
    return isinstance(code, int) and limits is not None and not limits[0] <= code <= limits[1]


def moved_by(column: Column, value: Given) -> int:
    """By how many parts of a step a value was rounded; 0 where it was clamped, or is none."""
    if not isinstance(column, Number) or outside(column, value):
        return 0
    code, fine = code_of(column, value), code_of(finer(column), value)
    return moved(column, code, fine) if isinstance(code, int) and isinstance(fine, int) else 0


def rounded(moves: Mapping[Column, Sequence[int]]) -> dict[str, Rounded]:
    """What the owner is told of values that were rounded."""
    columns = {column: found for column, found in moves.items() if isinstance(column, Number)}
    return roundings(
        {column: (sum(each > 0 for each in found), max(found, default=0)) for column, found in columns.items()}
    )
