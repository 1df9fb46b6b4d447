"""The DuckDB engine. It runs only SQL that we wrote, on a connection that can reach only the folders it needs.

DuckDB is no sandbox and need not be one: the analyst's text never comes here. What is switched off
is what could let a mistake of ours grow: other files, Python variables as tables, extensions,
further settings, files on the side. A question that memory cannot hold is asked once more with a folder for
its owner only, beside the tables, which vanishes with the answer: how many persons there are must not decide
whether there is one. Long because the engine's protocol is one class; what its methods do lies in the files beside it.
"""

from __future__ import annotations

import ctypes
import glob
import os
import threading
import weakref
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from discreet.accounting.region import Region, Value
from discreet.engines import deadline, stop_signal
from discreet.engines import file_source as sources
from discreet.engines.dense_cells import dense_cells
from discreet.engines.earlier_version import EarlierVersion
from discreet.engines.engine import (
    NULL_CODE,
    CodedRows,
    DeclarationOutcome,
    Engine,
    EngineFailure,
    ExactCells,
    ExactKeys,
    PersonRows,
    TableLocations,
)
from discreet.engines.file_backed_engine import FileBackedEngine, folders, path_of
from discreet.engines.file_source import FileSource
from discreet.engines.ownership import Ownership
from discreet.engines.reference_proposal import propose_columns
from discreet.engines.table_file import PERSON, persons_file, working_folder
from discreet.engines.table_location import TableLocation
from discreet.errors import DiscreetError
from discreet.plan.cells import Axis, Cells, DiscoveredAxis, KeyWeights
from discreet.plan.expressions import Expression, Words
from discreet.plan.relation import Plan, Scan
from discreet.schema.schema import Table
from discreet.schema.source_layout import UNDECLARED, SourceLayout
from discreet.sql.dialect import DuckDBDialect, identifier, text_literal
from discreet.sql.emitter import Emitter
from discreet.sql.sql_writer import PLACE, SqlTableNames, SqlWriter, key_name

if TYPE_CHECKING:
    import duckdb

    from discreet.engines.network.exact_graph import ExactGraph, ExactTraits

    _Databases = dict[tuple[str, ...], duckdb.DuckDBPyConnection]

#: Open databases kept, each for one set of folders.
_MOST_OPEN = 8

#: Coded rows come so many at a time.
_ROWS_AT_ONCE = 122_880

Result = TypeVar("Result")


class DuckDBEngine(FileBackedEngine):
    """Makes declared tables as Parquet files and counts in them."""

    def __init__(self, *, threads: int | None = None, memory_mb: int = 2048, deadline_s: float = 60.0) -> None:
        """`deadline_s` bounds one question; `threads` is as many as this process may use, unless given."""
        self._threads = threads or _usable_processors()
        self._memory_mb = memory_mb
        self._deadline_s = deadline_s
        self._lock = threading.Lock()
        self._spilling = threading.Lock()
        self._process = os.getpid()
        self._open: _Databases = {}
        weakref.finalize(self, _close, self._open, os.getpid())

    def at(self, address: str) -> Engine:
        """Itself: see `engines` for others."""
        return self

    def columns(
        self, source: str, *, folder: Path, layout: SourceLayout = UNDECLARED
    ) -> Mapping[str, Mapping[str, Any]]:
        """The names of a source's columns and the settings proposed for them, for `discreet add`."""
        from discreet.engines.type_proposal import propose

        file_source = sources.find(source, folder=folder, layout=layout)
        if not all(part.is_native for part in file_source.single_files()):
            return propose_columns(file_source)
        with self._cursor({file.parent for file in file_source.files}) as cursor:
            return propose(cursor, file_source)

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
        """Make the declared table at `target`: see `declare`, `persons` for persons with many rows, and `network`."""
        from discreet.engines.duckdb_declared_table import Unreadable, declare
        from discreet.engines.duckdb_person_table import declare_persons
        from discreet.engines.network.network_table import declare_network, keep_network
        from discreet.engines.readable_copies import readable

        file = path_of(target)
        ownership = Ownership.of(table, path=path, key=key, tag_key=tag_key, forgotten=forgotten)
        if ownership is not None and ownership.unit.ends and (there := self.at(table.engine)) is not self:
            sent = there.end_texts(table, folder=folder)
            with self._spilling_database(set(), file) as connection, closing(sent), _interruptible(connection):
                return keep_network(connection, ownership, sent, target=file)

        def make(connection: duckdb.DuckDBPyConnection, chain: tuple[FileSource, ...]) -> DeclarationOutcome:
            with _interruptible(connection):
                if ownership is None:
                    return declare(connection, table.schema, chain[0], target=file)
                if ownership.unit.ends:
                    return declare_network(connection, ownership, chain[0], target=file)
                return declare_persons(connection, ownership, chain, target=file)

        path = () if ownership is None else path
        with readable(sources.find_tables((table, *path), folder=folder), target=file) as chain:
            try:
                near = _folders(chain)
                # A database that is kept open reaches folders that stay: copies lie in one that does not.
                is_kept = ownership is None and not any(source.is_repaired for source in chain)
                with self._cursor(near) if is_kept else self._spilling_database(near, file) as connection:
                    return make(connection, chain)
            except Unreadable:
                from discreet.engines.repaired_sources import repair_sources

                with working_folder(file) as copies:
                    chain = repair_sources(chain, copies)
                    with self._spilling_database(_folders(chain), file) as connection:
                        return make(connection, chain)

    def extend(
        self,
        table: Table,
        *,
        folder: Path,
        target: TableLocation,
        earlier: EarlierVersion,
        key: bytes | None = None,
        tag_key: bytes | None = None,
        path: tuple[Table, ...] = (),
        forgotten: Collection[bytes] = (),
    ) -> DeclarationOutcome | None:
        """Make the declared table from an earlier version and added files: see `duckdb_table_growth`.

        None where there are cells that cannot be read, files that are read as copies, or ends of edges; and where
        anything fails: `declare` then says what is wrong with the source, or that it was the earlier version.
        """
        from discreet.engines import duckdb_table_growth as growth
        from discreet.engines.readable_copies import readable

        file, old = path_of(target), path_of(earlier.place)
        ownership = Ownership.of(table, path=path, key=key, tag_key=tag_key, forgotten=forgotten)
        if table.schema.unit.ends or not (old.is_file() and (ownership is None or persons_file(old).is_file())):
            return None
        chain = sources.find_tables((table, *(() if ownership is None else path)), folder=folder)
        halves = growth.split_source(table, chain[0], earlier.files)
        if halves is None or not all(part.is_native for source in chain for part in source.single_files()):
            return None
        near = _folders(chain) | {old.parent, file.parent}
        try:
            with (
                growth.unchanged_since((*earlier.files, *earlier.way), earlier.stamps),
                readable(chain, target=file),
                self._spilling_database(near, file) as connection,
                _interruptible(connection),
            ):
                added, older = halves
                if ownership is None:
                    return growth.extend_rows(connection, table.schema, added, earlier=old, target=file)
                return growth.extend_persons(
                    connection, ownership, (added, *chain[1:]), older=older, earlier=old, target=file
                )
        except (growth.CannotExtend, DiscreetError):
            self.drop(file)
            stop_signal.check_stop()
            return None

    def count(self, cells: Cells, region: Region, *, tables: TableLocations) -> ExactCells:
        """The exact cells. Fails only as EngineFailure."""

        def ask(cursor: duckdb.DuckDBPyConnection) -> Mapping[str, Any]:
            names = _DuckDBTableNames(tables=tables)
            if cells.discovered_axis is not None:
                _register_discovered_keys(cursor, cells.discovered_axis)
            _publics(cursor, tables)
            sql = SqlWriter(emitter=Emitter(dialect=DuckDBDialect()), names=names.names()).count(cells, region)
            return cursor.execute(sql, names.files).fetchnumpy()

        try:
            return ExactCells(dense_cells(self._run_query(tables, ask), cells))
        except Exception as problem:  # Whatever it is, the question was charged, and the cause may hold a cell.
            raise EngineFailure("the declared table could not be counted") from problem

    def coded(self, plan: Plan, axes: tuple[Axis, ...], region: Region, *, tables: TableLocations) -> CodedRows:
        """The rows as numbers of cells. Fails only as EngineFailure."""
        try:
            with self._cursor(folders(tables)) as cursor, self._deadline(cursor):
                names = _DuckDBTableNames(tables=tables)
                sql = SqlWriter(emitter=Emitter(dialect=DuckDBDialect()), names=names.names()).places(
                    plan, axes, region
                )
                columns = _concatenate_batches(cursor.sql(sql, params=names.files).to_arrow_reader(_ROWS_AT_ONCE))
            return CodedRows(columns, tuple(axis.size for axis in axes))
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
        """The rows as numbers of cells, with codes and persons. Fails only as EngineFailure."""
        try:
            with self._cursor(folders(tables)) as cursor, self._deadline(cursor):
                names = _DuckDBTableNames(tables=tables)
                writer = SqlWriter(emitter=Emitter(dialect=DuckDBDialect()), names=names.names())
                sql = writer.person_places(plan, axes, codes, region, null=NULL_CODE)
                columns = _concatenate_batches(cursor.sql(sql, params=names.files).to_arrow_reader(_ROWS_AT_ONCE))
            return PersonRows(columns[: len(axes)], columns[len(axes) : -1], columns[-1])
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
        """The keys that exist, sorted, and the exact number of persons of each. Fails only as EngineFailure."""

        def ask(cursor: duckdb.DuckDBPyConnection) -> list[Any]:
            names = _DuckDBTableNames(tables=tables)
            _publics(cursor, tables)
            writer = SqlWriter(emitter=Emitter(dialect=DuckDBDialect()), names=names.names())
            return cursor.execute(
                writer.keys(plan, keys, region, persons=persons, weights=weights), names.files
            ).fetchall()

        try:
            rows = self._run_query(tables, ask)
            counts = np.array([row[-1] for row in rows], dtype=np.int64)
            return ExactKeys(tuple(tuple(row[:-1]) for row in rows), counts)
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
        from discreet.engines.network.graph_reader import read_graph

        try:
            return read_graph(path_of(place), ends, directed=directed, nodes=nodes, traits=traits, labels=labels)
        except Exception as problem:
            raise EngineFailure("the declared table could not be read") from problem

    def traits(self, place: TableLocation, column: str) -> ExactTraits:
        """What a table of persons says of them in a column. Fails only as EngineFailure."""
        from discreet.engines.network.graph_reader import read_traits

        try:
            return read_traits(path_of(place), column)
        except Exception as problem:
            raise EngineFailure("the declared table could not be read") from problem

    def close(self) -> None:
        """Close every open database."""
        with self._lock:
            _close(self._open, self._process)

    def _run_query(self, tables: TableLocations, ask: Callable[[duckdb.DuckDBPyConnection], Result]) -> Result:
        """What `ask` brings from the tables; once more where memory does not hold it, one such question at a time."""
        import duckdb

        near = folders(tables)
        try:
            with self._cursor(near) as cursor, self._deadline(cursor):
                return ask(cursor)
        except duckdb.OutOfMemoryException:
            beside = path_of(next(iter(tables.files.values())))
            with self._spilling, self._spilling_database(near, beside) as cursor, self._deadline(cursor):
                return ask(cursor)

    @contextmanager
    def _spilling_database(self, folders: set[Path], target: Path) -> Iterator[duckdb.DuckDBPyConnection]:
        """A database of its own. What is grouped and ranked may need more than memory holds: it may
        use a folder beside `target`."""
        key = tuple(sorted(map(str, folders)))
        with working_folder(target) as spill:
            connection = _connect(key, threads=self._threads, memory_mb=self._memory_mb, spill=spill)
            try:
                yield connection
            finally:
                connection.close()

    @contextmanager
    def _cursor(self, folders: set[Path]) -> Iterator[duckdb.DuckDBPyConnection]:
        """A connection of its own to a database that reaches only `folders`."""
        key = tuple(sorted(str(folder) for folder in folders))
        with self._lock:
            if self._process != os.getpid():
                _abandon(self._open)
                self._process = os.getpid()
            if key not in self._open:
                while len(self._open) >= _MOST_OPEN:
                    self._open.pop(next(iter(self._open)))
                self._open[key] = _connect(key, threads=self._threads, memory_mb=self._memory_mb)
            cursor = self._open[key].cursor()
        try:
            yield cursor
        except BaseException:
            self._drop_if_dead(key)
            raise
        finally:
            cursor.close()

    def _drop_if_dead(self, key: tuple[str, ...]) -> None:
        """After an internal error DuckDB answers nothing more on a database; the next call opens another."""
        import duckdb

        with self._lock:
            try:
                if key in self._open:
                    self._open[key].execute("SELECT 1")
            except duckdb.Error:
                self._open.pop(key, None)

    @contextmanager
    def _deadline(self, cursor: duckdb.DuckDBPyConnection) -> Iterator[None]:
        import duckdb

        note = deadline.expiry_callback()

        def end() -> None:
            note()
            with suppress(duckdb.Error):  # it may have ended, and been closed, this very moment
                cursor.interrupt()

        timer = threading.Timer(self._deadline_s, end)
        timer.daemon = True
        timer.start()
        try:
            with _interruptible(cursor):
                yield
        finally:
            timer.cancel()


def _interruptible(cursor: duckdb.DuckDBPyConnection) -> AbstractContextManager[None]:
    """What runs on this connection inside is interrupted where this thread's stop is pulled."""
    return stop_signal.interrupting(lambda: cursor.interrupt())


def _folders(chain: tuple[FileSource, ...]) -> set[Path]:
    return {file.parent for source in chain for file in source.files}


def _usable_processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _connect(
    folders: tuple[str, ...], *, threads: int, memory_mb: int, spill: Path | None = None
) -> duckdb.DuckDBPyConnection:
    """A database in memory that can read these folders and nothing else, for good. `spill`: what memory cannot hold."""
    import duckdb  # slow to load: a budget is shown without

    # A path is read as a glob, so it is asked for in its escaped spelling and opened in its own.
    reached = dict.fromkeys([*folders, *(glob.escape(folder) for folder in folders)])
    connection = duckdb.connect(
        ":memory:",
        config={
            "threads": threads,
            "memory_limit": f"{memory_mb}MB",
            "temp_directory": str(spill or ""),
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            "allow_community_extensions": False,
            "allow_persistent_secrets": False,
            "python_enable_replacements": False,
        },
    )
    for statement in (
        "SET TimeZone = 'UTC'",
        "SET enable_external_file_cache = false",  # a file may be replaced under the same name
        # A CSV's size is guessed too small, and the source must not become the side held in memory.
        # What one side of a join holds must not decide how much is read of the other: it would tell of one person.
        "SET disabled_optimizers = 'join_order,build_side_probe_side,join_filter_pushdown'",
        f"SET allowed_directories = [{', '.join(text_literal(folder) for folder in reached)}]",
        "SET enable_external_access = false",
        "SET lock_configuration = true",
    ):
        connection.execute(statement)
    return connection


def _close(databases: _Databases, process: int) -> None:
    """Close databases of this process."""
    if process == os.getpid():
        for connection in databases.values():
            connection.close()
        databases.clear()


def _abandon(databases: _Databases) -> None:
    """Forget the databases of a parent process. Their threads did not live through the fork, so that closing
    one crashes, even when the interpreter ends: each keeps one reference for ever."""
    for connection in databases.values():
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))
    databases.clear()


class _DuckDBTableNames:
    """Tables as functions over the files of a question, which are parameters: a path is never part of the SQL.

    A declared table is one file of ours: its folder's name must not add columns to it.
    """

    def __init__(self, tables: TableLocations) -> None:
        self._tables = tables
        self.files: dict[str, str] = {}

    def names(self) -> SqlTableNames:
        return SqlTableNames(
            scan=self._scan,
            persons=lambda scan: self._parquet(persons_file(path_of(self._tables.file(scan)))),
            public=lambda join: f"public_{join.place}",
        )

    def _scan(self, scan: Scan) -> str:
        if scan.roster:
            persons = self._parquet(persons_file(path_of(self._tables.file(scan))))
            return f'(SELECT number AS {identifier(PERSON)}, "rows" FROM {persons})'
        return self._parquet(path_of(self._tables.file(scan)))

    def _parquet(self, file: Path) -> str:
        path = glob.escape(str(file))
        name = next((name for name, registered in self.files.items() if registered == path), f"f{len(self.files)}")
        self.files[name] = path
        return f"read_parquet(${name}, hive_partitioning = false)"


def _concatenate_batches(batches: Any) -> tuple[NDArray[Any], ...]:
    """Columns without NULL from their batches. A result in one piece would be held twice before it is copied."""
    pieces: list[list[NDArray[Any]]] = [[np.zeros(0, dtype=kind.to_pandas_dtype())] for kind in batches.schema.types]
    for batch in batches:
        for own, column in zip(pieces, batch.columns, strict=True):
            own.append(_numbers_in_place(column, own[0].dtype))
    whole = []
    while pieces:
        whole.append(np.concatenate(pieces.pop(0)))
    return tuple(whole)


def _numbers_in_place(column: Any, kind: np.dtype[Any]) -> NDArray[Any]:
    """An Arrow column of numbers where it lies. `to_numpy` would load pandas, which takes longer than a small fit."""
    if column.null_count:
        raise ValueError("a column of codes has NULL")
    return np.frombuffer(column.buffers()[1], dtype=kind, count=len(column), offset=column.offset * kind.itemsize)


def _register_discovered_keys(cursor: duckdb.DuckDBPyConnection, discovered_keys: DiscoveredAxis) -> None:
    """The discovered keys as a table to join."""
    import pyarrow as pa

    columns: dict[str, Any] = {
        key_name(place): pa.array(
            [key[place] for key in discovered_keys.keys], type=pa.string() if isinstance(of, Words) else pa.int64()
        )
        for place, of in enumerate(discovered_keys.of)
    }
    cursor.register("found", pa.table({**columns, PLACE: pa.array(range(discovered_keys.size), type=pa.int64())}))


def _publics(cursor: duckdb.DuckDBPyConnection, tables: TableLocations) -> None:
    for place, rows in tables.publics.items():
        cursor.register(f"public_{place}", rows)
