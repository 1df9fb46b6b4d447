"""The reference engine: plain Python, slow and obvious. Every other engine must agree with it.

Read it to know what a declared table is and what a count means.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from discreet.accounting.region import Region, Value
from discreet.engines import file_source as sources
from discreet.engines.engine import (
    CodedRows,
    DeclarationOutcome,
    Engine,
    EngineFailure,
    ExactCells,
    ExactKeys,
    PersonRows,
    TableLocations,
    narrowest,
)
from discreet.engines.file_backed_engine import FileBackedEngine, path_of
from discreet.engines.memory_counter import MemoryCounter
from discreet.engines.memory_values import (
    is_clamped,
    is_lost,
    is_missing_mark,
    rounding_notes_of,
    rounding_parts,
    stored_code,
)
from discreet.engines.ownership import Ownership
from discreet.engines.reference_proposal import propose_columns
from discreet.engines.rounding_notes import (
    is_rounded,
)
from discreet.engines.source_values import source_rows
from discreet.engines.table_file import arrow_schema, check_declarable, new_file
from discreet.engines.table_location import TableLocation
from discreet.plan.cells import Axis, Cells, KeyWeights
from discreet.plan.expressions import Expression
from discreet.plan.relation import Plan
from discreet.schema.column import Column, MomentColumn, NumberColumn
from discreet.schema.schema import Table
from discreet.schema.source_layout import UNDECLARED, SourceLayout

if TYPE_CHECKING:
    from discreet.engines.network.exact_graph import ExactGraph, ExactTraits

Record = Mapping[str, Value | None]


class MemoryEngine(FileBackedEngine):
    """Makes declared tables row by row and counts them row by row."""

    def at(self, address: str) -> Engine:
        """Itself."""
        return self

    def columns(
        self, source: str, *, folder: Path, layout: SourceLayout = UNDECLARED
    ) -> Mapping[str, Mapping[str, Any]]:
        """The names of a source's columns and the settings proposed for them, for `discreet add`."""
        return propose_columns(sources.find(source, folder=folder, layout=layout))

    def declare(
        self,
        table: Table,
        *,
        folder: Path,
        target: TableLocation,
        key: bytes | None = None,
        tag_key: bytes | None = None,
        path: tuple[Table, ...] = (),
        forgotten: Collection[bytes] = (),
    ) -> DeclarationOutcome:
        """Make the declared table of `table` (its source is relative to `folder`) at `target`."""
        ownership = Ownership.of(table, path=path, key=key, tag_key=tag_key, forgotten=forgotten)
        if ownership is not None and ownership.unit.ends:
            from discreet.engines.network.memory_network import declare_network

            return declare_network(ownership, folder=folder, target=path_of(target))
        if ownership is not None:
            from discreet.engines.memory_person_table import declare_persons

            return declare_persons(ownership, folder=folder, target=path_of(target))
        check_declarable(table.schema)
        source = sources.find_tables([table], folder=folder)[0]
        columns = {column: source.place(column.name) for column in table.schema.columns}
        records: list[Record] = []
        nulled: Counter[str] = Counter()
        clamped: Counter[str] = Counter()
        marks: Counter[str] = Counter()
        moves: dict[Column, list[int]] = {column: [] for column in columns if is_rounded(column)}
        with new_file(path_of(target)) as stream, source.ensure_unchanged():
            for row in source_rows(source):
                given = {column: row[place] for column, place in columns.items()}
                records.append({column.name: stored_code(column, value) for column, value in given.items()})
                nulled.update(column.name for column, value in given.items() if is_lost(column, value))
                clamped.update(column.name for column, value in given.items() if is_clamped(column, value))
                marks.update(column.name for column, value in given.items() if is_missing_mark(column, value))
                for column, distances in moves.items():
                    distances.append(rounding_parts(column, given[column]))
            pq.write_table(pa.Table.from_pylist(records, schema=arrow_schema(table.schema)), stream)
        ordered = [column.name for column in columns if isinstance(column, NumberColumn | MomentColumn)]
        return DeclarationOutcome(
            exact_rows=len(records),
            exact_nulled={column.name: nulled[column.name] for column in columns},
            exact_clamped={name: clamped[name] for name in ordered},
            exact_rounded=rounding_notes_of(moves),
            exact_marked={column.name: marks[column.name] for column in columns},
        )

    def count(self, cells: Cells, region: Region, *, tables: TableLocations) -> ExactCells:
        """The exact cells."""
        try:
            return ExactCells(MemoryCounter(tables=tables, region=region).cells(cells))
        except Exception as problem:
            raise EngineFailure("the declared table could not be counted") from problem

    def coded(self, plan: Plan, axes: tuple[Axis, ...], region: Region, *, tables: TableLocations) -> CodedRows:
        """The rows as numbers of cells."""
        try:
            rows = MemoryCounter(tables=tables, region=region).places(plan, axes)
            numbers = np.array(rows, dtype=np.int64).reshape(len(rows), len(axes))
            return CodedRows(tuple(narrowest(column) for column in numbers.T), tuple(axis.size for axis in axes))
        except Exception as problem:
            raise EngineFailure("the declared table could not be read") from problem

    def person_rows(
        self,
        plan: Plan,
        axes: tuple[Axis, ...],
        codes: tuple[Expression, ...],
        region: Region,
        *,
        tables: TableLocations,
    ) -> PersonRows:
        """The rows as numbers of cells, with codes and persons."""
        try:
            rows = MemoryCounter(tables=tables, region=region).person_places(plan, axes, codes)
            numbers = np.array([own for own, _, _ in rows], dtype=np.int64).reshape(len(rows), len(axes))
            exact_codes = np.array([own for _, own, _ in rows], dtype=np.int64).reshape(len(rows), len(codes))
            return PersonRows(
                tuple(narrowest(column) for column in numbers.T),
                tuple(np.ascontiguousarray(column) for column in exact_codes.T),
                np.array([person for _, _, person in rows], dtype=np.int64),
            )
        except Exception as problem:
            raise EngineFailure("the declared table could not be read") from problem

    def keys(
        self,
        plan: Plan,
        keys: tuple[Expression, ...],
        region: Region,
        *,
        persons: bool,
        tables: TableLocations,
        weights: KeyWeights | None = None,
    ) -> ExactKeys:
        """The keys that exist, sorted, and the exact number of persons of each."""
        try:
            existing_keys, counts = MemoryCounter(tables=tables, region=region).keys(
                plan, keys, persons=persons, weights=weights
            )
            return ExactKeys(tuple(existing_keys), np.array(counts, dtype=np.int64))
        except Exception as problem:
            raise EngineFailure("the declared table could not be counted") from problem

    def graph(
        self,
        place: TableLocation,
        ends: tuple[str, str] | None,
        *,
        directed: bool,
        nodes: Sequence[Value] | None = None,
        traits: ExactTraits | None = None,
        labels: tuple[str, str] | None = None,
    ) -> ExactGraph:
        """The simple graph of a declared table: see `network`. Fails only as EngineFailure."""
        from discreet.engines.network.memory_network import read_graph

        try:
            return read_graph(path_of(place), ends, directed=directed, nodes=nodes, traits=traits, labels=labels)
        except Exception as problem:
            raise EngineFailure("the declared table could not be read") from problem

    def traits(self, place: TableLocation, column: str) -> ExactTraits:
        """What a table of persons says of them in a column. Fails only as EngineFailure."""
        from discreet.engines.network.memory_network import read_traits

        try:
            return read_traits(path_of(place), column)
        except Exception as problem:
            raise EngineFailure("the declared table could not be read") from problem
