"""The rows of a rehearsal: of private tables made up, of public ones as they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from sqlglot import exp

from discreet.engines.engine_registry import EngineRegistry
from discreet.engines.public_table_loader import load_public_table
from discreet.errors import DiscreetError, LedgerFault, UsageError
from discreet.rehearse.lookalike import MOST_ROWS, ROWS, look_alike
from discreet.rehearse.row_sources import RowSource
from discreet.rehearse.source_values import NULL, arrow_column
from discreet.schema.column import CategoryColumn
from discreet.schema.person_path import path_of
from discreet.schema.schema import Schema, Table
from discreet.sql.catalog import Catalog, CatalogTable, PublicTable
from discreet.sql.parsed_query import ParsedQuery
from discreet.sql.query_text import parse_statement

if TYPE_CHECKING:
    from discreet.project.project import Project

#: A public table is read for a rehearsal no longer than this.
_DEADLINE_S = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RehearsalRows:
    """Rows by table."""

    private: Mapping[str, pa.Table]
    public: Mapping[str, pa.Table]


def declared_tables(project: Project) -> tuple[dict[str, Table], Catalog]:
    """All tables as questions are read against them: as their newest versions say, else as discreet.toml does."""
    tables, catalog = {}, {}
    engine = EngineRegistry(deadline_s=_DEADLINE_S)
    for name, declared in project.file.tables.items():
        if declared.public:
            catalog[name] = CatalogTable(schema=declared.schema, public=partial(_read, project, declared, engine))
            tables[name] = declared
            continue
        try:
            version = project.peek_version(name)
            schema, number = _order_columns(version.schema, declared.schema), version.number
        except DiscreetError:  # there is no ledger to ask, and none is needed
            schema, number = declared.schema, 1
        tables[name] = replace(declared, schema=schema)
        catalog[name] = CatalogTable(schema=schema, version=number, population=declared.population)
    return tables, catalog


def _order_columns(schema: Schema, like: Schema) -> Schema:
    """A version's schema with its columns in the order in which people know them, as the file has it."""
    places = {column.name.lower(): place for place, column in enumerate(like.columns)}
    order = sorted(schema.columns, key=lambda column: places.get(column.name.lower(), len(places)))
    return replace(schema, columns=tuple(order))


def _read(project: Project, table: Table, engine: EngineRegistry) -> PublicTable:
    """A public table, read as it is; the project may have read it already."""
    try:
        return project.public(table.name)
    except LedgerFault:  # public tables need no ledger
        return load_public_table(table, folder=project.folder, engine=engine.at(table.engine))


def narrow_tables(tables: Mapping[str, Table], query: ParsedQuery) -> dict[str, Table]:
    """The tables with the columns that a question may name: of a wide one no more is made up than is needed.

    A join of persons brings all columns of the other table along.
    """
    if len(query.tables) > 1:
        return dict(tables)
    text = query.text.lower()
    return {name: replace(table, schema=_narrow(table.schema, text)) for name, table in tables.items()}


def _narrow(schema: Schema, text: str) -> Schema:
    named = tuple(column for column in schema.columns if column.name.lower() in text)
    return replace(schema, columns=named or schema.columns[:1])


def make_rows(
    query: ParsedQuery,
    tables: Mapping[str, Table],
    catalog: Catalog,
    row_sources: Mapping[str, RowSource],
    *,
    rows: int | None,
) -> RehearsalRows:
    """Rows for every table that a question needs, those on the way to its persons included."""
    public = _publics(query, catalog)
    words = {
        column.name.lower(): column.values
        for each in public.values()
        for column in each.columns
        if isinstance(column, CategoryColumn)
    }
    row_count = _size(rows, row_sources.get(query.table))
    needed: dict[str, Table] = {}
    for scan in query.tables:
        table = tables[scan.table]
        needed |= {each.name: each for each in (table, *path_of(table, tables))}
    private = {}
    for name, table in needed.items():
        made = look_alike(tables, name, rows=row_count, words=words)
        private[name] = _replace_released_columns(made, table, row_sources[name]) if name in row_sources else made
    return RehearsalRows(private=private, public={name: _arrow(each) for name, each in public.items()})


def _size(rows: int | None, row_source: RowSource | None) -> int:
    """How many rows: as guessed, else as many as releases tell, else the usual number. Never the real one."""
    if rows is not None:
        if not 1 <= rows <= MOST_ROWS:
            raise UsageError(f"a rehearsal must have 1 to {MOST_ROWS:,} rows, got {rows:,}", hint="a guess is enough")
        return rows
    return ROWS if row_source is None else min(MOST_ROWS, max(100, round(row_source.total)))


def _replace_released_columns(made: pa.Table, table: Table, row_source: RowSource) -> pa.Table:
    """Look-alike rows, with the columns that releases tell about in their place."""
    codes = row_source.codes(table.schema, made.num_rows)
    keys = {name.lower() for name in (*table.schema.unit.person, *table.schema.unit.on)}
    for place, name in enumerate(made.column_names):
        column = table.schema.column(name)
        if name in codes and column is not None and name.lower() not in keys:
            made = made.set_column(place, name, arrow_column(column, codes[name]))
    return made


def _publics(query: ParsedQuery, catalog: Catalog) -> dict[str, PublicTable]:
    """The public tables that a question names."""
    _, tree = parse_statement(query.text)
    named = {str(table.name).lower() for table in tree.find_all(exp.Table)}
    return {name: each.public() for name, each in catalog.items() if each.public is not None and name.lower() in named}


def _arrow(public: PublicTable) -> pa.Table:
    columns = {}
    for column in public.columns:
        codes = [NULL if code is None else int(code) for code in public.codes[column.name]]
        columns[column.name] = arrow_column(column, np.array(codes, dtype=np.int64))
    return pa.table(columns)
