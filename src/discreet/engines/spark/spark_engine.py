"""The Spark engine: declared tables in a lake, one job a question, and only whole numbers come back.

It runs only SQL that we wrote, in a session of our own (`open_session`), which is started when it is first needed, and
again when the one before has died. A message of Spark's may quote a cell: none leaves this file.
"""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from discreet.accounting.region import Region, Value
from discreet.engines import deadline, stop_signal
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
from discreet.engines.header import Header
from discreet.engines.keyed_hashes import TAG_BYTES
from discreet.engines.ownership import Ownership
from discreet.engines.remote_coded_rows import RemoteCodedRows
from discreet.engines.spark import spark_source as sources
from discreet.engines.spark.cluster_executors import check_executors, has_executors
from discreet.engines.spark.declared_table import declare, temporary_views
from discreet.engines.spark.lake import LakeManifest
from discreet.engines.spark.lake import LakeTable as LakeTable
from discreet.engines.spark.lake_erasure import erase
from discreet.engines.spark.lake_store import is_local, local_path, store_of
from discreet.engines.spark.person_table import declare_persons
from discreet.engines.spark.session import LOCAL, SparkSession, end_session, interrupt, is_alive, open_session, tag_jobs
from discreet.engines.spark.shared_folder_check import check_folder_shared, folder_not_shared
from discreet.engines.spark.spark_connect import cut_connection, is_remote
from discreet.engines.spark.table_names import SparkTableNames
from discreet.engines.table_location import LakeFolder, TableLocation
from discreet.errors import Command, DiscreetError, LedgerFault, Message, SchemaError, UsageError
from discreet.plan.cell_statistics import RowCount
from discreet.plan.cells import Axis, Cells, KeyWeights
from discreet.plan.expressions import Expression
from discreet.plan.relation import Plan, Scan
from discreet.schema.address import parse_address
from discreet.schema.schema import Table
from discreet.schema.source_layout import UNDECLARED, SourceLayout, refuse_layout
from discreet.sql.emitter import Emitter
from discreet.sql.spark_dialect import SparkDialect
from discreet.sql.sql_writer import SqlWriter

if TYPE_CHECKING:
    from discreet.engines.network.exact_graph import ExactGraph, ExactTraits

Result = TypeVar("Result")

#: One table is made at a time: what it joins is called by names of the session's.
_MAKING = threading.Lock()

_numbers = itertools.count()

#: How long a Connect server that was told to end a question is waited for. Then it is let go of.
_GRACE_S = 15.0


class SparkEngine:
    """Makes declared tables as folders of Parquet and counts in them."""

    ending = ".lake"

    def __init__(
        self, address: str, *, deadline_s: float = 60.0, threads: int | None = None, memory_mb: int = 2048
    ) -> None:
        """`address`: see `open_session`; after a question mark `declared=`, the lake's folder of declared tables."""
        self._address = address.partition("?")[0]
        self._declared = dict(parse_address(address).settings).get("declared")
        self._deadline_s = deadline_s
        self._threads, self._memory_mb = threads, memory_mb
        self._lock = threading.Lock()
        self._process = os.getpid()
        self._session: SparkSession | None = None
        self._has_failed = False

    def at(self, address: str) -> Engine:
        """Itself: see `engines` for others."""
        return self

    def session(self) -> SparkSession:
        """The session, alive: the one there is, else a new one."""
        with self._lock:
            if self._session is not None and (self._process != os.getpid() or not is_alive(self._session)):
                end_session(self._session, process=self._process)
                self._session = None
            if self._session is None:
                check = None if self._address == LOCAL else check_executors
                self._session = open_session(
                    self._address, threads=self._threads, memory_mb=self._memory_mb, check=check
                )
                self._process = os.getpid()
            return self._session

    def header(self, source: str, *, folder: Path, layout: SourceLayout = UNDECLARED) -> Header:
        """The names of a source's columns. Reads no row."""
        return self._find(source, folder, layout)

    def columns(
        self, source: str, *, folder: Path, layout: SourceLayout = UNDECLARED
    ) -> Mapping[str, Mapping[str, Any]]:
        """The names of a source's columns and the types proposed for them, by the types that they have."""
        table_source = self._find(source, folder, layout)
        return {
            name: {"type": table_source.spark_columns[table_source.names.index(name)].proposed}
            for name in table_source.distinct_names()
        }

    def trace(self, source: str, *, folder: Path) -> SourceTrace:
        """The sizes and times of a source's files: a moved one is known again; and, elsewhere, their names."""
        return self._find(source, folder).trace()

    def rows(
        self, source: str, names: Sequence[str], *, folder: Path, layout: SourceLayout = UNDECLARED
    ) -> Iterator[Sequence[Any]]:
        """The rows of a public source, these columns in this order."""
        from discreet.engines.spark.spark_public_rows import public_rows

        table_source = self._find(source, folder, layout)
        return public_rows(table_source, [table_source.place(name) for name in names], session=self.session)

    def place(self, name: str, *, folder: Path) -> LakeFolder:
        """A folder beside the other declared tables: in the lake where the address says so, else with the project's."""
        return LakeFolder(
            folder=f"{self._declared.rstrip('/')}/{name}" if self._declared else str(folder.absolute() / name)
        )

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
        """Make the declared table at `target`: see `declare`, and `persons` for persons with many rows."""
        if table.schema.unit.ends:
            raise ValueError("networks of persons are kept beside the ledger")
        ownership = Ownership.of(table, path=path, key=key, tag_key=tag_key, forgotten=forgotten)
        lake = self._table(target)
        if lake.manifest() is not None:
            raise ValueError("a declared table needs a new name")
        chain = tuple(self._find(each.source, folder, each.layout) for each in (table, *(path if ownership else ())))
        with _MAKING:
            self._check_executors()
            self._check_folder_shared(lake)
            spark_session, mark = self.session(), _new_mark()
            with tag_jobs(spark_session, mark), stop_signal.interrupting(lambda: interrupt(spark_session, mark)):
                if ownership is None:
                    return declare(spark_session, table.schema, chain[0], target=lake)
                return declare_persons(spark_session, ownership, chain, target=lake)

    def ready(self, tables: TableLocations) -> None:
        """Refuse where a declared table is not whole in the lake, or no Spark answers. Reads no row."""
        session = self._check_executors()
        for scan, place in tables.files.items():
            try:
                table = self._table(place)
                manifest = table.whole_manifest()
                if is_remote(session):
                    _check_files_visible(session, table, manifest)
            except (LedgerFault, OSError):
                raise LedgerFault(
                    f"version {scan.version} of {scan.table!r} is no longer complete in the lake",
                    hint=Message("restore the folder, or run ", Command("refresh", scan.table)),
                ) from None

    def erase(self, place: TableLocation, tags: Collection[bytes]) -> int:
        """Erase persons from both parts of a declared table; nobody where it is not there."""
        table = self._table(place)
        with _MAKING:
            if table.manifest() is not None:
                self._check_executors()
                self._check_folder_shared(table)
            return erase(self.session, table, tags)

    def persons(self, place: TableLocation) -> ExactPersons:
        """What the persons' part holds."""
        import pyarrow as pa

        table = self._table(place)
        try:
            manifest = table.whole_manifest()
            person_table = table.persons(self.session(), manifest).select("tag", "rows").toArrow()
        except UsageError:
            raise
        except Exception:
            raise LedgerFault(
                "the newest version of the table is not complete in the lake",
                hint=Message("restore it, or run ", Command("refresh")),
            ) from None
        tags = person_table.column("tag").combine_chunks().cast(pa.binary(TAG_BYTES))
        return ExactPersons(tags, person_table.column("rows").to_numpy().astype(np.int64))

    def drop(self, place: TableLocation) -> None:
        """Take away the whole folder."""
        table = self._table(place)
        table.store.drop(table.folder)

    def table_names(self, ledger: str, *, folder: Path) -> Collection[str]:
        """Folders of declared tables, with or without a manifest."""
        one = self._table(self.place(f"any{self.ending}", folder=folder))
        folder_names = one.store.folders(one.folder.rpartition("/")[0])
        return [name for name in folder_names if f"-{ledger}-" in name and name.endswith(self.ending)]

    def count(self, cells: Cells, region: Region, *, tables: TableLocations) -> ExactCells:
        """The exact cells. Fails only as EngineFailure."""

        def counted(session: SparkSession, names: SparkTableNames) -> ExactCells:
            names.add_discovered_keys(cells.discovered_axis)
            sql = self._writer(names).count(cells, region)
            return ExactCells(dense_cells(_numbers_of(session.sql(sql).toArrow()), cells))

        return self._run_query(tables, counted, "the declared table could not be counted")

    def coded(self, plan: Plan, axes: tuple[Axis, ...], region: Region, *, tables: TableLocations) -> CodedRows:
        """The rows over some axes, of which none comes here: each marginal is a job, where they lie."""

        def tally(own: tuple[Axis, ...]) -> Any:
            cells = Cells(plan=plan, axes=own, statistics=(RowCount(),))
            return self.count(cells, region, tables=tables).exact_values[0]

        return RemoteCodedRows(tally, axes)

    def person_rows(
        self,
        plan: Plan,
        axes: tuple[Axis, ...],
        codes: tuple[Expression, ...],
        region: Region,
        *,
        tables: TableLocations,
    ) -> PersonRows:
        """None: no row leaves the lake, and `refuse_far_rows` of `synth.persons` says so before any charge."""
        raise EngineFailure("rows cannot be read from Spark")

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

        def fetch_keys(session: SparkSession, names: SparkTableNames) -> ExactKeys:
            sql = self._writer(names).keys(plan, keys, region, persons=persons, weights=weights)
            columns = [column.to_pylist() for column in session.sql(sql).toArrow().columns]
            rows = list(zip(*columns, strict=True))
            counts = np.array([row[-1] for row in rows], dtype=np.int64)
            return ExactKeys(tuple(tuple(row[:-1]) for row in rows), counts)

        return self._run_query(tables, fetch_keys, "the declared table could not be counted")

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
        from discreet.engines.network.graph_reader import graph_of_columns
        from discreet.engines.spark.spark_network import edge_columns

        if ends is None or traits is not None:
            raise EngineFailure("the network of protected persons is not kept on Spark")

        def read(session: SparkSession, _: SparkTableNames) -> ExactGraph:
            columns = edge_columns(session, self._table(place), (*ends, *(labels or ())))
            return graph_of_columns(columns, directed=directed, nodes=nodes)

        return self._run_query(_only(place), read, "the declared table could not be read")

    def traits(self, place: TableLocation, column: str) -> ExactTraits:
        """What a declared table of persons says of them in a column. Fails only as EngineFailure."""
        from discreet.engines.spark.spark_network import read_traits

        def read(session: SparkSession, _: SparkTableNames) -> ExactTraits:
            return read_traits(session, self._table(place), column)

        return self._run_query(_only(place), read, "the declared table could not be read")

    def end_texts(self, table: Table, *, folder: Path) -> Generator[Any]:
        """The ends of a source's edges. Nothing is written into the lake."""
        from discreet.engines.spark.spark_network import end_rows

        yield from end_rows(self.session(), self._find(table.source, folder, table.layout), table)

    def close(self) -> None:
        """Let go of the session, and end the Spark that it started."""
        with self._lock:
            if self._session is not None:
                end_session(self._session, process=self._process)
            self._session = None

    def _writer(self, names: SparkTableNames) -> SqlWriter:
        return SqlWriter(emitter=Emitter(dialect=SparkDialect()), names=names.names())

    def _find(self, source: str, folder: Path, layout: SourceLayout = UNDECLARED) -> sources.SparkSource:
        refuse_layout(source, layout, engine="Spark")
        return sources.find(source, folder=folder, session=self.session)

    def _table(self, place: TableLocation) -> LakeTable:
        if not isinstance(place, LakeFolder):
            raise SchemaError(
                "this version was made on another engine", hint=Message("run ", Command("refresh"), " to make one here")
            )
        store = store_of(None if self._is_here(place) else self.session(), place.folder)
        return LakeTable(store=store, folder=place.folder)

    def _check_executors(self) -> SparkSession:
        """The session, where somebody counts for it. A cluster without executors, or that just failed, is tried."""
        session = self.session()
        if self._address != LOCAL and (self._has_failed or not has_executors(session)):
            check_executors(session)
        self._has_failed = False
        return session

    def _check_folder_shared(self, table: LakeTable) -> None:
        """Refuse a folder of this machine's that a Spark elsewhere does not see."""
        if is_local(table.folder) and self._address != LOCAL:
            check_folder_shared(self.session(), table.store, table.folder.rstrip("/").rpartition("/")[0])

    def _is_here(self, place: LakeFolder) -> bool:
        return Path(local_path(place.folder)).is_absolute()

    def _run_query(
        self, tables: TableLocations, act: Callable[[SparkSession, SparkTableNames], Result], sentence: str
    ) -> Result:
        """What a question brings. If persons are erased meanwhile, it is asked again, of what is there then."""
        try:
            before = self._manifests(tables)
            try:
                return self._whole_once(tables, act)
            except Exception:
                if self._manifests(tables) == before:
                    raise
            return self._whole_once(tables, act)
        except Exception as problem:  # Whatever it is, the question was charged, and the cause may hold a cell.
            self._has_failed = True
            raise EngineFailure(sentence) from problem

    def _manifests(self, tables: TableLocations) -> list[object]:
        return [self._table(place).manifest() for place in tables.files.values()]

    def _whole_once(self, tables: TableLocations, act: Callable[[SparkSession, SparkTableNames], Result]) -> Result:
        """What a question brings, if no file went while it was asked: Spark Connect lists files whenever it likes."""
        before = self._manifests(tables)
        outcome = self._once(tables, act)
        if [self._table(place).whole_manifest() for place in tables.files.values()] != before:
            raise LedgerFault("persons were erased from the declared table while it was read")
        return outcome

    def _once(self, tables: TableLocations, act: Callable[[SparkSession, SparkTableNames], Result]) -> Result:
        spark_session = self.session()
        names = SparkTableNames(
            session=spark_session, prefix=f"discreet_{next(_numbers)}", tables=tables, lake=self._table
        )
        with self._deadline(spark_session), temporary_views(spark_session, names.frames):
            return act(spark_session, names)

    @contextmanager
    def _deadline(self, spark_session: SparkSession) -> Iterator[None]:
        """Jobs of this thread are cancelled when their time is over. Planning cannot be; what it leads to is."""
        mark, ended, note = _new_mark(), threading.Event(), deadline.expiry_callback()

        def watch() -> None:
            if ended.wait(self._deadline_s):
                return
            note()
            while not ended.wait(0.2):
                with suppress(Exception):  # it may have ended, or died, this very moment
                    interrupt(spark_session, mark)

        last = threading.Timer(self._deadline_s + _GRACE_S, cut_connection, (spark_session,))
        last.daemon = True
        with tag_jobs(spark_session, mark):
            threading.Thread(target=watch, daemon=True).start()
            if is_remote(spark_session):
                last.start()
            try:
                with stop_signal.interrupting(lambda: interrupt(spark_session, mark)):
                    yield
            finally:
                ended.set()
                last.cancel()


def _new_mark() -> str:
    """A mark of its own for jobs that are interrupted together."""
    return f"discreet-{os.getpid()}-{next(_numbers)}"


def _only(place: TableLocation) -> TableLocations:
    """One declared table, as a question of it alone has it."""
    return TableLocations(files={Scan(table="edges", version=1): place}, engine="spark")


def _check_files_visible(session: SparkSession, table: LakeTable, manifest: LakeManifest) -> None:
    """Refuse where a server does not see the files of a declared table. It lists them, and reads no row."""
    try:
        table.rows(session, manifest)
    except DiscreetError:
        raise
    except Exception:  # Spark's own: there is no such folder
        raise folder_not_shared() from None


def _numbers_of(arrow_table: Any) -> dict[str, Any]:
    """The columns of a result. Nothing but whole numbers may leave Spark."""
    import pyarrow as pa

    columns = {name: arrow_table.column(name) for name in arrow_table.column_names}
    if not all(pa.types.is_integer(column.type) and column.null_count == 0 for column in columns.values()):
        raise ValueError("the result of a query is not whole numbers")
    return {name: column.to_numpy() for name, column in columns.items()}
