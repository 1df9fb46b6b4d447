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
from typing import Any, TypeVar
from urllib.parse import parse_qsl

import numpy as np

from discreet.accounting.region import Region
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
from discreet.engines.spark.declare import declare, named
from discreet.engines.spark.erase import erase
from discreet.engines.spark.lake import Table as LakeTable
from discreet.engines.spark.named import Named
from discreet.engines.spark.persons import declare_persons
from discreet.engines.spark.session import Session, forget, interrupt, is_alive, marked, session
from discreet.engines.spark.store import plain, store_of
from discreet.engines.tallied import Tallied
from discreet.errors import LedgerFault, SchemaError, UsageError
from discreet.plan.cells import Axis, Cells
from discreet.plan.expressions import Expression
from discreet.plan.relation import Plan
from discreet.plan.statistics import Rows
from discreet.schema.schema import Table
from discreet.sql.emit import Emitter
from discreet.sql.spark import Spark
from discreet.sql.write import Writer

Result = TypeVar("Result")

#: One table is made at a time: what it joins is called by names of the session's.
_MAKING = threading.Lock()

_numbers = itertools.count()


class SparkEngine:
    """Makes declared tables as folders of Parquet and counts in them."""

    ending = ".lake"

    def __init__(
        self, address: str, *, deadline_s: float = 60.0, threads: int | None = None, memory_mb: int = 2048
    ) -> None:
        """`address`: see `session`; behind a question mark `declared=`, the folder of declared tables in the lake."""
        self._address, _, settings = address.partition("?")
        self._declared = dict(parse_qsl(settings)).get("declared")
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
                forget(self._session)
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
        ownership = None
        if not table.schema.unit.is_row:
            ownership = Ownership(
                table=table, path=path, key=key or b"", tag_key=tag_key or b"", forgotten=frozenset(forgotten)
            )
        lake = self._table(target)
        if lake.manifest() is not None:
            raise ValueError("a declared table is made under a name of its own")
        chain = tuple(self._find(each.source, folder) for each in (table, *(path if ownership else ())))
        with _MAKING:
            if ownership is None:
                return declare(self.session(), table.schema, chain[0], target=lake)
            return declare_persons(self.session(), ownership, chain, target=lake)

    def ready(self, tables: Tables) -> None:
        """Refuse where a declared table is not whole in the lake, or no Spark answers. Reads no row."""
        self.session()
        for scan, place in tables.files.items():
            try:
                self._table(place).whole()
            except (LedgerFault, OSError):
                raise LedgerFault(
                    f"version {scan.version} of {scan.table!r} is not whole in the lake any more",
                    hint=f"bring the folder back, or discreet refresh {scan.table}",
                ) from None

    def erase(self, place: Place, tags: Collection[bytes]) -> int:
        """Erase persons from both parts of a declared table; nobody where it is not there."""
        with _MAKING:
            return erase(self.session, self._table(place), tags)

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

    def close(self) -> None:
        """Let go of the session, and end the Spark that it started."""
        with self._lock:
            if self._session is not None:
                forget(self._session)
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
        mark, ended = f"discreet-{os.getpid()}-{next(_numbers)}", threading.Event()

        def watch() -> None:
            if ended.wait(self._deadline_s):
                return
            while not ended.wait(0.2):
                with suppress(Exception):  # it may have ended, or died, this very moment
                    interrupt(found, mark)

        with marked(found, mark):
            threading.Thread(target=watch, daemon=True).start()
            try:
                yield
            finally:
                ended.set()


def _numbers_of(found: Any) -> dict[str, Any]:
    """The columns of a result. Nothing but whole numbers may leave Spark."""
    import pyarrow as pa

    columns = {name: found.column(name) for name in found.column_names}
    if not all(pa.types.is_integer(column.type) and column.null_count == 0 for column in columns.values()):
        raise ValueError("a question's result that is not of whole numbers")
    return {name: column.to_numpy() for name, column in columns.items()}
