"""The Spark engine: declared tables in a lake, one job a question, and only whole numbers come back.

It runs only SQL that we wrote, in a session of our own (`session`), which is started when it is first needed, and again
when the one before has died. A message of Spark's may quote a cell: none leaves this file.
"""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from discreet.accounting.region import Region, Value
from discreet.engines import deadline, stopping
from discreet.engines.dense import dense
from discreet.engines.engine import (
    Coded,
    Engine,
    EngineFailure,
    Exact,
    ExactKeys,
    ExactPersons,
    Making,
    Tables,
    Trace,
)
from discreet.engines.header import Header
from discreet.engines.keyed import TAG_BYTES
from discreet.engines.ownership import Ownership
from discreet.engines.place import Lake, Place
from discreet.engines.spark import source as sources
from discreet.engines.spark.connect import cut, is_remote
from discreet.engines.spark.declare import declare, named
from discreet.engines.spark.erase import erase
from discreet.engines.spark.lake import Manifest
from discreet.engines.spark.lake import Table as LakeTable
from discreet.engines.spark.named import Named
from discreet.engines.spark.persons import declare_persons
from discreet.engines.spark.seen import check_seen, unseen
from discreet.engines.spark.session import LOCAL, Session, forget, interrupt, is_alive, marked, session
from discreet.engines.spark.store import is_local, plain, store_of
from discreet.engines.tallied import Tallied
from discreet.errors import DiscreetError, LedgerFault, SchemaError, UsageError
from discreet.plan.cells import Axis, Cells
from discreet.plan.expressions import Expression
from discreet.plan.relation import Plan
from discreet.plan.statistics import Rows
from discreet.schema.address import take_apart
from discreet.schema.network import refuse_elsewhere
from discreet.schema.schema import Table
from discreet.sql.emit import Emitter
from discreet.sql.spark import Spark
from discreet.sql.write import Writer

if TYPE_CHECKING:
    from discreet.engines.network.exact import ExactGraph

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
        """`address`: see `session`; behind a question mark `declared=`, the folder of declared tables in the lake."""
        self._address = address.partition("?")[0]
        self._declared = dict(take_apart(address).settings).get("declared")
        self._deadline_s = deadline_s
        self._threads, self._memory_mb = threads, memory_mb
        self._lock = threading.Lock()
        self._process = os.getpid()
        self._session: Session | None = None

    def at(self, address: str) -> Engine:
        """Itself: see `engines` for others."""
        return self

    def session(self) -> Session:
        """The session, alive: the one there is, else a new one."""
        with self._lock:
            if self._session is not None and (self._process != os.getpid() or not is_alive(self._session)):
                forget(self._session, process=self._process)
                self._session = None
            if self._session is None:
                self._session = session(self._address, threads=self._threads, memory_mb=self._memory_mb)
                self._process = os.getpid()
            return self._session

    def header(self, source: str, *, folder: Path) -> Header:
        """The names of a source's columns. Reads no row."""
        return self._find(source, folder)

    def columns(self, source: str, *, folder: Path) -> Mapping[str, str]:
        """The names of a source's columns and the types proposed for them, by the types that they have."""
        found = self._find(source, folder)
        return {name: found.readings[found.names.index(name)].proposed for name in found.distinct_names()}

    def trace(self, source: str, *, folder: Path) -> Trace:
        """The sizes and times of a source's files: a moved one is known again; and, elsewhere, their names."""
        return self._find(source, folder).trace()

    def rows(self, source: str, names: Sequence[str], *, folder: Path) -> Iterator[Sequence[Any]]:
        """The rows of a public source, these columns in this order."""
        from discreet.engines.spark.public import public_rows

        found = self._find(source, folder)
        return public_rows(found, [found.place(name) for name in names], session=self.session)

    def place(self, name: str, *, folder: Path) -> Lake:
        """A folder beside the other declared tables: in the lake where the address says so, else with the project's."""
        return Lake(folder=f"{self._declared.rstrip('/')}/{name}" if self._declared else str(folder.absolute() / name))

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
        """Make the declared table at `target`: see `declare`, and `persons` for persons with many rows."""
        if table.schema.unit.ends:
            refuse_elsewhere(table.name, "spark")
        ownership = Ownership.of(table, path=path, key=key, tag_key=tag_key, forgotten=forgotten)
        lake = self._table(target)
        if lake.manifest() is not None:
            raise ValueError("a declared table is made under a name of its own")
        chain = tuple(self._find(each.source, folder) for each in (table, *(path if ownership else ())))
        with _MAKING:
            self._check_seen(lake)
            if ownership is None:
                return declare(self.session(), table.schema, chain[0], target=lake)
            return declare_persons(self.session(), ownership, chain, target=lake)

    def ready(self, tables: Tables) -> None:
        """Refuse where a declared table is not whole in the lake, or no Spark answers. Reads no row."""
        session = self.session()
        for scan, place in tables.files.items():
            try:
                table = self._table(place)
                manifest = table.whole()
                if is_remote(session):
                    _listed(session, table, manifest)
            except (LedgerFault, OSError):
                raise LedgerFault(
                    f"version {scan.version} of {scan.table!r} is not whole in the lake any more",
                    hint=f"bring the folder back, or discreet refresh {scan.table}",
                ) from None

    def erase(self, place: Place, tags: Collection[bytes]) -> int:
        """Erase persons from both parts of a declared table; nobody where it is not there."""
        table = self._table(place)
        with _MAKING:
            if table.manifest() is not None:
                self._check_seen(table)
            return erase(self.session, table, tags)

    def persons(self, place: Place) -> ExactPersons:
        """What the persons' part holds."""
        import pyarrow as pa

        table = self._table(place)
        try:
            manifest = table.whole()
            found = table.persons(self.session(), manifest).select("tag", "rows").toArrow()
        except UsageError:
            raise
        except Exception:
            raise LedgerFault(
                "the newest version of the table is not whole in the lake", hint="bring it back, or discreet refresh"
            ) from None
        tags = found.column("tag").combine_chunks().cast(pa.binary(TAG_BYTES))
        return ExactPersons(tags, found.column("rows").to_numpy().astype(np.int64))

    def drop(self, place: Place) -> None:
        """Take away the whole folder."""
        table = self._table(place)
        table.store.drop(table.folder)

    def listed(self, ledger: str, *, folder: Path) -> Collection[str]:
        """Folders of declared tables, with or without a manifest."""
        one = self._table(self.place(f"any{self.ending}", folder=folder))
        found = one.store.folders(one.folder.rpartition("/")[0])
        return [name for name in found if f"-{ledger}-" in name and name.endswith(self.ending)]

    def count(self, cells: Cells, region: Region, *, tables: Tables) -> Exact:
        """The exact cells. Fails only as EngineFailure."""

        def counted(session: Session, names: Named) -> Exact:
            names.find(cells.found)
            sql = self._writer(names).count(cells, region)
            return Exact(dense(_numbers_of(session.sql(sql).toArrow()), cells))

        return self._asked(tables, counted, "the declared table could not be counted")

    def coded(self, plan: Plan, axes: tuple[Axis, ...], region: Region, *, tables: Tables) -> Coded:
        """The rows over some axes, of which none comes here: each marginal is a job, where they lie."""

        def tally(own: tuple[Axis, ...]) -> Any:
            cells = Cells(plan=plan, axes=own, statistics=(Rows(),))
            return self.count(cells, region, tables=tables).exact_values[0]

        return Tallied(tally, axes)

    def keys(
        self, plan: Plan, keys: tuple[Expression, ...], region: Region, *, persons: bool, tables: Tables
    ) -> ExactKeys:
        """The keys that exist, sorted, and the exact number of persons of each. Fails only as EngineFailure."""

        def found(session: Session, names: Named) -> ExactKeys:
            sql = self._writer(names).keys(plan, keys, region, persons=persons)
            columns = [column.to_pylist() for column in session.sql(sql).toArrow().columns]
            rows = list(zip(*columns, strict=True))
            counts = np.array([row[-1] for row in rows], dtype=np.int64)
            return ExactKeys(tuple(tuple(row[:-1]) for row in rows), counts)

        return self._asked(tables, found, "the declared table could not be counted")

    def graph(
        self, place: Place, ends: tuple[str, str] | None, *, directed: bool, nodes: Sequence[Value] | None = None
    ) -> ExactGraph:
        """None: graphs are read from files of ours alone, and `refuse_elsewhere` says so before any charge."""
        raise EngineFailure("no graph is read here")

    def close(self) -> None:
        """Let go of the session, and end the Spark that it started."""
        with self._lock:
            if self._session is not None:
                forget(self._session, process=self._process)
            self._session = None

    def _writer(self, names: Named) -> Writer:
        return Writer(emitter=Emitter(dialect=Spark()), names=names.names())

    def _find(self, source: str, folder: Path) -> sources.Source:
        return sources.find(source, folder=folder, session=self.session)

    def _table(self, place: Place) -> LakeTable:
        if not isinstance(place, Lake):
            raise SchemaError("this version was made on another engine", hint="discreet refresh makes one on this")
        store = store_of(None if self._is_here(place) else self.session(), place.folder)
        return LakeTable(store=store, folder=place.folder)

    def _check_seen(self, table: LakeTable) -> None:
        """Refuse a folder of this machine's that a Spark elsewhere does not see."""
        if is_local(table.folder) and self._address != LOCAL:
            check_seen(self.session(), table.store, table.folder.rstrip("/").rpartition("/")[0])

    def _is_here(self, place: Lake) -> bool:
        return Path(plain(place.folder)).is_absolute()

    def _asked(self, tables: Tables, act: Callable[[Session, Named], Result], sentence: str) -> Result:
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
            raise EngineFailure(sentence) from problem

    def _manifests(self, tables: Tables) -> list[object]:
        return [self._table(place).manifest() for place in tables.files.values()]

    def _whole_once(self, tables: Tables, act: Callable[[Session, Named], Result]) -> Result:
        """What a question brings, if no file went while it was asked: Spark Connect lists files whenever it likes."""
        before = self._manifests(tables)
        found = self._once(tables, act)
        if [self._table(place).whole() for place in tables.files.values()] != before:
            raise LedgerFault("persons were erased from the declared table while it was read")
        return found

    def _once(self, tables: Tables, act: Callable[[Session, Named], Result]) -> Result:
        found = self.session()
        names = Named(session=found, prefix=f"discreet_{next(_numbers)}", tables=tables, lake=self._table)
        with self._deadline(found), named(found, names.frames):
            return act(found, names)

    @contextmanager
    def _deadline(self, found: Session) -> Iterator[None]:
        """Jobs of this thread are cancelled when their time is over. Planning cannot be; what it leads to is."""
        mark, ended, note = f"discreet-{os.getpid()}-{next(_numbers)}", threading.Event(), deadline.noting()

        def watch() -> None:
            if ended.wait(self._deadline_s):
                return
            note()
            while not ended.wait(0.2):
                with suppress(Exception):  # it may have ended, or died, this very moment
                    interrupt(found, mark)

        last = threading.Timer(self._deadline_s + _GRACE_S, cut, (found,))
        last.daemon = True
        with marked(found, mark):
            threading.Thread(target=watch, daemon=True).start()
            if is_remote(found):
                last.start()
            try:
                with stopping.interrupting(lambda: interrupt(found, mark)):
                    yield
            finally:
                ended.set()
                last.cancel()


def _listed(session: Session, table: LakeTable, manifest: Manifest) -> None:
    """Refuse where a server does not see the files of a declared table. It lists them, and reads no row."""
    try:
        table.rows(session, manifest)
    except DiscreetError:
        raise
    except Exception:  # Spark's own: there is no such folder
        raise unseen() from None


def _numbers_of(found: Any) -> dict[str, Any]:
    """The columns of a result. Nothing but whole numbers may leave Spark."""
    import pyarrow as pa

    columns = {name: found.column(name) for name in found.column_names}
    if not all(pa.types.is_integer(column.type) and column.null_count == 0 for column in columns.values()):
        raise ValueError("a question's result that is not of whole numbers")
    return {name: column.to_numpy() for name, column in columns.items()}
