"""The PostgreSQL engine: declared tables lie in schema `discreet`, beside their sources, and are counted there.

See docs/engines/postgres.md for the role that it wants, and docs/engines/postgres-matrix.md for what fails there.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.accounting.region import Region, Value
from discreet.engines.dense import dense
from discreet.engines.engine import Coded, Engine, EngineFailure, Exact, ExactKeys, ExactPersons, Making, Tables, Trace
from discreet.engines.keyed import TAG_BYTES
from discreet.engines.ownership import Ownership
from discreet.engines.place import Place, Relation
from discreet.engines.postgres import ask
from discreet.engines.postgres import declare as making
from discreet.engines.postgres import source as sources
from discreet.engines.postgres import tables as relations
from discreet.engines.postgres.ask import relation_of
from discreet.engines.postgres.faults import quietly, told, untold
from discreet.engines.postgres.public import proposed, public_rows
from discreet.engines.postgres.session import CONNECT_S, Session, Sessions
from discreet.engines.postgres.source import Source, named, streamed
from discreet.engines.postgres.trace import trace
from discreet.errors import LedgerFault, UsageError
from discreet.plan.cells import Axis, Cells
from discreet.plan.expressions import Expression
from discreet.plan.relation import Plan
from discreet.schema.network import refuse_elsewhere
from discreet.schema.schema import Table

if TYPE_CHECKING:
    from discreet.engines.network.exact import ExactGraph


class PostgresEngine:
    """Makes declared tables on one server, and counts in them."""

    ending = ""

    def __init__(self, address: str, *, deadline_s: float = 60.0) -> None:
        """`address`: a URL without a password, which libpq finds in PGPASSWORD or ~/.pgpass. Nothing is opened yet."""
        self._sessions = Sessions(address)
        self._deadline_s = deadline_s

    def at(self, address: str) -> Engine:
        """Itself."""
        return self

    def header(self, source: str, *, folder: Path) -> Source:
        """The names of a source's columns, and their types."""
        with self._sessions.session() as session, told(source), _looking(session):
            return sources.find(session, source)

    def columns(self, source: str, *, folder: Path) -> Mapping[str, str]:
        """The names of a source's columns and the types proposed for them, by their own types alone."""
        return proposed(self.header(source, folder=folder))

    def trace(self, source: str, *, folder: Path) -> Trace:
        """By what the source is known again: see `trace`."""
        with self._sessions.session() as session, told(source), _looking(session):
            return trace(session, sources.find(session, source))

    def rows(self, source: str, names: Sequence[str], *, folder: Path) -> Iterator[Sequence[Any]]:
        """The rows of a public source, these columns in this order."""
        with self._sessions.session() as session, told(source):
            with _looking(session):
                found = sources.find(session, source)
            with session.transaction(read_only=True, deadline_s=None, locks=_locks([found])):
                yield from public_rows(session, found, names)

    def place(self, name: str, *, folder: Path) -> Relation:
        """A table of our schema."""
        return relations.place(name)

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
        """Make the declared table at `target`: see `declare`."""
        if table.schema.unit.ends:
            refuse_elsewhere(table.name, "postgresql")
        relation, schema = relation_of(target), table.schema
        ownership = Ownership.of(table, path=path, key=key, tag_key=tag_key, forgotten=forgotten)
        making.check_columns(schema)
        steps = (table,) if ownership is None else (table, *path)
        with self._sessions.session() as session, told(table.source):
            with _looking(session):
                chain = [sources.find(session, one.source) for one in steps]
            relations.prepare(session)
            try:
                with session.transaction(read_only=False, deadline_s=None, locks=_locks(chain)):
                    _hold(session, chain)
                    made = making.declare(session, schema, ownership, chain, target=relation)
            except BaseException:
                if session.connection.broken:  # perhaps while it was committed: nobody may know the table, so it goes
                    quietly(lambda: self.drop(relation))
                raise
            made_tables = [relation] if ownership is None else [relation, relations.beside(relation)]
            quietly(lambda: relations.tidy(session, made_tables))
        return made

    def ready(self, tables: Tables) -> None:
        """Refuse where the server cannot be reached, or a declared table is not there or cannot be read."""
        places = {scan: relation_of(place) for scan, place in tables.files.items()}
        with self._sessions.session() as session, told(), _looking(session):
            held = relations.held(session, set(places.values()))
        for scan, place in places.items():
            if place not in held:
                raise LedgerFault(
                    f"version {scan.version} of {scan.table!r} is not in the database any more",
                    hint=f"bring schema {sources.OURS} back, or discreet refresh {scan.table}",
                )
            if not held[place]:
                raise UsageError(
                    f"this role may not read version {scan.version} of {scan.table!r}",
                    hint=f"use the role that made it, or GRANT SELECT ON ALL TABLES IN SCHEMA {sources.OURS}",
                )

    def erase(self, place: Place, tags: Collection[bytes]) -> int:
        """Erase persons from both tables of a declared table; nobody where it is not there."""
        with self._sessions.session() as session, told():
            return relations.erase(session, relation_of(place), tags)

    def persons(self, place: Place) -> ExactPersons:
        """What the side table holds."""
        side = relations.beside(relation_of(place))
        with self._sessions.session() as session, told():
            with _looking(session):
                if relation_of(place) not in relations.held(session, [relation_of(place)]):
                    raise LedgerFault(
                        "the newest version of the table is not in the database any more",
                        hint="bring it back, or discreet refresh",
                    )
            with session.transaction(read_only=True, deadline_s=None, locks=[named(side)]):
                return _persons(streamed(session, f'SELECT tag, "rows" FROM {named(side)}'))

    def drop(self, place: Place) -> None:
        """Drop both tables."""
        with self._sessions.session() as session, told():
            relations.drop(session, relation_of(place))

    def listed(self, ledger: str, *, folder: Path) -> Collection[str]:
        """Tables of our schema, and side tables by the names of theirs."""
        with self._sessions.session() as session, told(), _looking(session):
            return relations.listed(session, ledger)

    def count(self, cells: Cells, region: Region, *, tables: Tables) -> Exact:
        """The exact cells. Fails only as EngineFailure."""

        def counted() -> Exact:
            with self._sessions.session() as session:
                return Exact(dense(ask.count(session, cells, region, tables, deadline_s=self._deadline_s), cells))

        return untold("the declared table could not be counted", counted)

    def coded(self, plan: Plan, axes: tuple[Axis, ...], region: Region, *, tables: Tables) -> Coded:
        """The rows as numbers of cells. Fails only as EngineFailure."""

        def read() -> Coded:
            with self._sessions.session() as session:
                columns = ask.coded(session, plan, axes, region, tables, deadline_s=self._deadline_s)
            return Coded(columns, tuple(axis.size for axis in axes))

        return untold("the declared table could not be read", read)

    def keys(
        self, plan: Plan, keys: tuple[Expression, ...], region: Region, *, persons: bool, tables: Tables
    ) -> ExactKeys:
        """The keys that exist, sorted, and the exact number of persons of each. Fails only as EngineFailure."""

        def found() -> ExactKeys:
            with self._sessions.session() as session:
                known = ask.keys(session, plan, keys, region, tables, persons=persons, deadline_s=self._deadline_s)
            return ExactKeys(*known)

        return untold("the declared table could not be counted", found)

    def graph(
        self, place: Place, ends: tuple[str, str] | None, *, directed: bool, nodes: Sequence[Value] | None = None
    ) -> ExactGraph:
        """None: graphs are read from files of ours alone, and `refuse_elsewhere` says so before any charge."""
        raise EngineFailure("no graph is read here")

    def close(self) -> None:
        """Close every connection that nobody uses."""
        self._sessions.close()


def _looking(session: Session) -> Any:
    """A transaction for looking at the catalog."""
    return session.transaction(read_only=True, deadline_s=CONNECT_S)


def _locks(chain: Sequence[Source]) -> list[str]:
    return sorted({one.sql for one in chain if one.lockable})


def _hold(session: Session, chain: Sequence[Source]) -> None:
    """See that the sources are still what was found, now that they are locked."""
    for one in chain:
        if not one.lockable:
            session.connection.execute(f"SELECT FROM {one.sql} LIMIT 0")
        if sources.find(session, one.shown) != one:
            raise UsageError(f"{one.shown} changed while it was looked at", hint="try again when it is at rest")


def _persons(found: Iterable[list[tuple[Any, ...]]]) -> ExactPersons:
    import pyarrow as pa

    tags, counts = bytearray(), [np.zeros(0, dtype=np.int64)]
    for rows in found:
        tags += b"".join(tag for tag, _ in rows)
        counts.append(np.array([many for _, many in rows], dtype=np.int64))
    exact_rows = np.concatenate(counts)
    if len(tags) != len(exact_rows) * TAG_BYTES:
        raise ValueError("a tag of another length")
    column = pa.Array.from_buffers(pa.binary(TAG_BYTES), len(exact_rows), [None, pa.py_buffer(bytes(tags))])
    return ExactPersons(column, exact_rows)
