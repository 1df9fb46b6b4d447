"""The PostgreSQL engine: declared tables lie in schema `discreet`, beside their sources, and are counted there.

See docs/engines/postgres.md for the role that it wants, and docs/engines/postgres-matrix.md for what fails there.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.accounting.region import Region, Value
from discreet.engines import stop_signal
from discreet.engines.dense_cells import dense_cells
from discreet.engines.engine import (
    CodedRows,
    DeclarationOutcome,
    Engine,
    EngineFailure,
    ExactCells,
    ExactKeys,
    ExactPersons,
    PersonRows,
    SourceTrace,
    TableLocations,
)
from discreet.engines.keyed_hashes import TAG_BYTES
from discreet.engines.ownership import Ownership
from discreet.engines.postgres import cell_queries
from discreet.engines.postgres import declared_table as making
from discreet.engines.postgres import postgres_source as sources
from discreet.engines.postgres import schema_tables as relations
from discreet.engines.postgres.cell_queries import postgres_table_of
from discreet.engines.postgres.postgres_public_rows import propose_types, public_rows
from discreet.engines.postgres.postgres_source import PostgresSource, qualified_name, stream_rows
from discreet.engines.postgres.server_errors import as_engine_failure, quietly, translate_errors
from discreet.engines.postgres.session import CONNECT_S, PostgresSession, PostgresSessionPool
from discreet.engines.postgres.trace import trace
from discreet.engines.table_location import PostgresTable, TableLocation
from discreet.errors import Command, LedgerFault, Message, UsageError
from discreet.plan.cells import Axis, Cells, KeyWeights
from discreet.plan.expressions import Expression
from discreet.plan.relation import Plan
from discreet.schema.schema import Table
from discreet.schema.source_layout import UNDECLARED, SourceLayout, refuse_layout

if TYPE_CHECKING:
    from discreet.engines.network.exact_graph import ExactGraph, ExactTraits


class PostgresEngine:
    """Makes declared tables on one server, and counts in them."""

    ending = ""

    def __init__(self, address: str, *, deadline_s: float = 60.0) -> None:
        """`address`: a URL without a password, which libpq finds in PGPASSWORD or ~/.pgpass. Nothing is opened yet."""
        self._sessions = PostgresSessionPool(address)
        self._deadline_s = deadline_s

    def at(self, address: str) -> Engine:
        """Itself."""
        return self

    def header(self, source: str, *, folder: Path, layout: SourceLayout = UNDECLARED) -> PostgresSource:
        """The names of a source's columns, and their types."""
        refuse_layout(source, layout, engine="PostgreSQL")
        with self._sessions.session() as session, translate_errors(source), _catalog_transaction(session):
            return sources.find(session, source)

    def columns(
        self, source: str, *, folder: Path, layout: SourceLayout = UNDECLARED
    ) -> Mapping[str, Mapping[str, Any]]:
        """The names of a source's columns and the types proposed for them, by their own types alone."""
        types = propose_types(self.header(source, folder=folder, layout=layout))
        return {name: {"type": type_} for name, type_ in types.items()}

    def trace(self, source: str, *, folder: Path) -> SourceTrace:
        """By what the source is known again: see `trace`."""
        with self._sessions.session() as session, translate_errors(source), _catalog_transaction(session):
            return trace(session, sources.find(session, source))

    def rows(
        self, source: str, names: Sequence[str], *, folder: Path, layout: SourceLayout = UNDECLARED
    ) -> Iterator[Sequence[Any]]:
        """The rows of a public source, these columns in this order."""
        refuse_layout(source, layout, engine="PostgreSQL")
        with self._sessions.session() as session, translate_errors(source):
            with _catalog_transaction(session):
                table_source = sources.find(session, source)
            with session.transaction(read_only=True, deadline_s=None, locks=_locks([table_source])):
                yield from public_rows(session, table_source, names)

    def place(self, name: str, *, folder: Path) -> PostgresTable:
        """A table of our schema."""
        return relations.location_of(name)

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
        """Make the declared table at `target`: see `declare`."""
        if table.schema.unit.ends:
            raise ValueError("networks of persons are kept beside the ledger")
        relation, schema = postgres_table_of(target), table.schema
        ownership = Ownership.of(table, path=path, key=key, tag_key=tag_key, forgotten=forgotten)
        making.check_columns(schema)
        steps = (table,) if ownership is None else (table, *path)
        for one in steps:
            refuse_layout(one.source, one.layout, engine="PostgreSQL")
        with self._sessions.session() as session, translate_errors(table.source):
            with _catalog_transaction(session):
                chain = [sources.find(session, one.source) for one in steps]
            relations.prepare(session)
            try:
                with (
                    session.transaction(read_only=False, deadline_s=None, locks=_locks(chain)),
                    session.interruptible(),
                ):
                    _check_unchanged(session, chain)
                    made = making.declare(session, schema, ownership, chain, target=relation)
            except BaseException:
                if session.connection.broken:  # perhaps while it was committed: nobody may know the table, so it goes
                    with stop_signal.unstoppable():
                        quietly(lambda: self.drop(relation))
                raise
            made_tables = [relation] if ownership is None else [relation, relations.side_table(relation)]
            quietly(lambda: relations.vacuum(session, made_tables))
        return made

    def ready(self, tables: TableLocations) -> None:
        """Refuse where the server cannot be reached, or a declared table is not there or cannot be read."""
        places = {scan: postgres_table_of(place) for scan, place in tables.files.items()}
        with self._sessions.session() as session, translate_errors(), _catalog_transaction(session):
            may_read = relations.present_tables(session, set(places.values()))
        for scan, place in places.items():
            if place not in may_read:
                raise LedgerFault(
                    f"version {scan.version} of {scan.table!r} is no longer in the database",
                    hint=Message(f"restore schema {sources.OURS}, or run ", Command("refresh", scan.table)),
                )
            if not may_read[place]:
                raise UsageError(
                    f"this role is not allowed to read version {scan.version} of {scan.table!r}",
                    hint=f"use the role that made it, or GRANT SELECT ON ALL TABLES IN SCHEMA {sources.OURS}",
                )

    def erase(self, place: TableLocation, tags: Collection[bytes]) -> int:
        """Erase persons from both tables of a declared table; nobody where it is not there."""
        with self._sessions.session() as session, translate_errors():
            return relations.erase(session, postgres_table_of(place), tags)

    def persons(self, place: TableLocation) -> ExactPersons:
        """What the side table holds."""
        side = relations.side_table(postgres_table_of(place))
        with self._sessions.session() as session, translate_errors():
            with _catalog_transaction(session):
                if postgres_table_of(place) not in relations.present_tables(session, [postgres_table_of(place)]):
                    raise LedgerFault(
                        "the newest version of the table is no longer in the database",
                        hint=Message("restore it, or run ", Command("refresh")),
                    )
            with session.transaction(read_only=True, deadline_s=None, locks=[qualified_name(side)]):
                return _persons(stream_rows(session, f'SELECT tag, "rows" FROM {qualified_name(side)}'))

    def drop(self, place: TableLocation) -> None:
        """Drop both tables."""
        with self._sessions.session() as session, translate_errors():
            relations.drop(session, postgres_table_of(place))

    def table_names(self, ledger: str, *, folder: Path) -> Collection[str]:
        """Tables of our schema, and side tables by the names of theirs."""
        with self._sessions.session() as session, translate_errors(), _catalog_transaction(session):
            return relations.tables_of_ledger(session, ledger)

    def count(self, cells: Cells, region: Region, *, tables: TableLocations) -> ExactCells:
        """The exact cells. Fails only as EngineFailure."""

        def counted() -> ExactCells:
            with self._sessions.session() as session:
                return ExactCells(
                    dense_cells(cell_queries.count(session, cells, region, tables, deadline_s=self._deadline_s), cells)
                )

        return as_engine_failure("the declared table could not be counted", counted)

    def coded(self, plan: Plan, axes: tuple[Axis, ...], region: Region, *, tables: TableLocations) -> CodedRows:
        """The rows as numbers of cells. Fails only as EngineFailure."""

        def read() -> CodedRows:
            with self._sessions.session() as session:
                columns = cell_queries.coded(session, plan, axes, region, tables, deadline_s=self._deadline_s)
            return CodedRows(columns, tuple(axis.size for axis in axes))

        return as_engine_failure("the declared table could not be read", read)

    def person_rows(
        self,
        plan: Plan,
        axes: tuple[Axis, ...],
        codes: tuple[Expression, ...],
        region: Region,
        *,
        tables: TableLocations,
    ) -> PersonRows:
        """The rows as numbers of cells, with codes and persons. Fails only as EngineFailure."""

        def read() -> PersonRows:
            with self._sessions.session() as session:
                return cell_queries.person_rows(session, plan, axes, codes, region, tables, deadline_s=self._deadline_s)

        return as_engine_failure("the declared table could not be read", read)

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
        """The keys that exist, sorted, and the exact number of persons of each. Fails only as EngineFailure."""

        def fetch_keys() -> ExactKeys:
            with self._sessions.session() as session:
                keys_and_counts = cell_queries.keys(
                    session,
                    plan,
                    keys,
                    region,
                    tables,
                    persons=persons,
                    deadline_s=self._deadline_s,
                    weights=weights,
                )
            return ExactKeys(*keys_and_counts)

        return as_engine_failure("the declared table could not be counted", fetch_keys)

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
        """The simple graph of a declared table of rows: its columns come here. Fails only as EngineFailure.

        Tables with `ends` are kept beside the ledger.
        """
        if ends is None or traits is not None:
            raise EngineFailure("the network of protected persons is not kept in PostgreSQL")
        names = (*ends, *(labels or ()))

        def read() -> ExactGraph:
            from discreet.engines.network.graph_reader import graph_of_columns

            with self._sessions.session() as session:
                columns = cell_queries.columns(session, postgres_table_of(place), names, deadline_s=self._deadline_s)
            return graph_of_columns(columns, directed=directed, nodes=nodes)

        return as_engine_failure("the declared table could not be read", read)

    def traits(self, place: TableLocation, column: str) -> ExactTraits:
        """What a declared table of persons says of them in a column. Fails only as EngineFailure."""
        from discreet.engines.postgres.postgres_network import read_traits

        def read() -> ExactTraits:
            with self._sessions.session() as session:
                return read_traits(session, postgres_table_of(place), column, deadline_s=self._deadline_s)

        return as_engine_failure("the declared table could not be read", read)

    def end_texts(self, table: Table, *, folder: Path) -> Generator[Any]:
        """The ends of a source's edges, of one snapshot. It is locked, but nothing is written on the server."""
        from discreet.engines.postgres.postgres_network import end_rows

        source = self.header(table.source, folder=folder, layout=table.layout)
        with (
            self._sessions.session() as session,
            translate_errors(table.source),
            session.transaction(read_only=True, deadline_s=None, locks=_locks([source])),
            session.interruptible(),
        ):
            _check_unchanged(session, [source])
            yield from end_rows(session, source, table)

    def close(self) -> None:
        """Close every connection that nobody uses."""
        self._sessions.close()


def _catalog_transaction(session: PostgresSession) -> Any:
    """A transaction for looking at the catalog."""
    return session.transaction(read_only=True, deadline_s=CONNECT_S)


def _locks(chain: Sequence[PostgresSource]) -> list[str]:
    return sorted({one.sql for one in chain if one.lockable})


def _check_unchanged(session: PostgresSession, chain: Sequence[PostgresSource]) -> None:
    """See that the sources are still what was found, now that they are locked."""
    for one in chain:
        if not one.lockable:
            session.connection.execute(f"SELECT FROM {one.sql} LIMIT 0")
        if sources.find(session, one.shown) != one:
            raise UsageError(f"{one.shown} changed while it was checked", hint="try again when nothing is changing it")


def _persons(batches: Iterable[list[tuple[Any, ...]]]) -> ExactPersons:
    import pyarrow as pa

    tags, counts = bytearray(), [np.zeros(0, dtype=np.int64)]
    for rows in batches:
        tags += b"".join(tag for tag, _ in rows)
        counts.append(np.array([many for _, many in rows], dtype=np.int64))
    exact_rows = np.concatenate(counts)
    if len(tags) != len(exact_rows) * TAG_BYTES:
        raise ValueError("the tag has the wrong length")
    column = pa.Array.from_buffers(pa.binary(TAG_BYTES), len(exact_rows), [None, pa.py_buffer(bytes(tags))])
    return ExactPersons(column, exact_rows)
