"""The versions of a project's declared tables: which there are, how a new one is made, who is forgotten in them.

Questions are read against a version, and mean what its own schema says. A new version is a public act: `refresh`
makes it, and only the very first one is made inside somebody's question. What a making says about rows is
for the owner; what headers, declarations and the ledger say may be told to anybody.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from discreet.curator import Curator, Version
from discreet.declaring import (
    Sources,
    refuse_forgotten_sources,
    refuse_other_unit,
    refuse_second_budget,
    refuse_second_unit,
)
from discreet.engines.engine import Making, Tables, Trace
from discreet.engines.fingerprint import fingerprint, shared, trace_of
from discreet.engines.header import Header
from discreet.engines.person_keys import MARK
from discreet.engines.public import load
from discreet.errors import DiscreetError, LedgerFault, UsageError
from discreet.ledger.ledger import Ledger
from discreet.ledger.records import Version as Held
from discreet.leftovers import sweep
from discreet.plan.relation import Scan
from discreet.schema.address import DEFAULT, kind
from discreet.schema.file import DEFAULT_LEDGER, NAME, ProjectFile, plain, read_table
from discreet.schema.network import forgotten_in
from discreet.schema.path import path_of
from discreet.schema.schema import Schema, Table
from discreet.schema.step import with_steps
from discreet.schema.unit_naming import KINDS, REACHED, WAY, kinds_of, naming_of, reached
from discreet.sql.asked import Asked
from discreet.sql.catalog import Known, PublicTable
from discreet.standing import declared, difference, guarantee
from discreet.version import is_named_after

#: What of a table's declaration a version keeps: the rest (budget, population) belongs to the ledger.
_VERSIONED = ("source", "person", "ends", "directed", "rows_per_person", "columns", "invariants")

#: Which of it says whom the version protects.
_UNIT = ("person", "ends", "directed")

#: Under which a version says what kind of engine it was made on. Host, user and database are nobody's business.
_ENGINE = "engine"


@dataclass(frozen=True, slots=True, kw_only=True)
class Forgotten:
    """What forgetting a person erased. Exact: for the owner only.

    `others`: further tables of the same population, in which nobody was forgotten. `missing`: versions that are not
    where they were made, so that nobody could be erased from them; wherever they lie, they hold everybody. `left`: what
    killed makings left, from which nobody could be erased: see `leftovers`.
    """

    tables: tuple[str, ...]
    exact_versions: int
    others: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    left: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Versions:
    """The versions of the tables that `file` declares. Public tables have none: they are read as they are."""

    folder: Path
    file: ProjectFile
    curator: Curator
    _publics: dict[str, tuple[object, PublicTable]] = field(default_factory=dict, repr=False)
    _schemas: dict[tuple[str, int, str], Schema] = field(default_factory=dict, repr=False)
    _caught_up: set[tuple[str, frozenset[str]]] = field(default_factory=set, repr=False)

    @property
    def ledger(self) -> Ledger:
        return self.curator.ledger

    def catalog(self) -> dict[str, Known]:
        """What questions may name, as it stands now: the newest versions, else the declarations."""
        self.ledger.refresh()
        return {name: self._entry(table) for name, table in self.file.tables.items()}

    def _entry(self, table: Table) -> Known:
        if table.public:
            return Known(schema=table.schema, public=lambda: self._public(table))
        version = self.known(table.name)
        return Known(schema=version.schema, version=version.number, population=version.population)

    def _public(self, table: Table) -> PublicTable:
        """A public table, read; looked at anew when its files have changed, or what the ledger knows as private."""
        engine = self.curator.engine.at(table.engine)
        trace = engine.trace(table.source, folder=self.folder), sum(map(len, self.ledger.state.versions.values()))
        known = self._publics.get(table.name)
        if known is None or known[0] != trace:
            self.refuse_second_budget(table)
            known = self._publics[table.name] = (trace, load(table, folder=self.folder, engine=engine))
        return known[1]

    def settled(self, asked: list[Asked], again: Callable[[], list[Asked]]) -> tuple[list[Asked], list[list[Version]]]:
        """Questions as read against versions that exist, and those versions; first ones are made where none is.

        `again` reads them anew, against the catalog as it stands then.
        """
        self.ledger.refresh()
        versions = [[self.newest(scan.table) for scan in each.tables] for each in asked]
        while not all(map(_read_against, asked, versions)):
            asked = again()
            versions = [[self.newest(scan.table) for scan in each.tables] for each in asked]
        return asked, versions

    def newest(self, name: str) -> Version:
        """The newest version of a table; the first one is made when it is first needed."""
        table = self.file.table(name)
        if self._held(table) is None:
            self._make_first(table)
        held, found = self._held(table), self._version(table)
        assert held is not None and found is not None
        self._catch_up(table, held)
        return found

    def known(self, name: str) -> Version:
        """The version that questions are read against: the newest, else what the first one would be."""
        table = self.file.table(name)
        return self._version(table) or Version(
            table=table.name, number=1, population=table.population, schema=table.schema, file="", engine=table.engine
        )

    def refresh(self, name: str) -> tuple[int, Making]:
        """Make a new version of a declared table from its source. An act of the owner."""
        making = self._make(name)
        with suppress(DiscreetError):  # the version is made; `forget` says what cannot be reached
            self._sweep({self.file.table(name).engine})
        return self.newest(name).number, making

    def forget(self, name: str, person: Sequence[str]) -> Forgotten:
        """Erase a person from every version of a table and of the tables that reach their persons through it.

        And of networks: see `forgotten_in`. An act of the owner. Versions, stored answers and losses stay; a tombstone
        survives refresh.
        """
        table = self.file.table(name)
        _check_nameable(table, person)
        tables = self.file.tables
        reached = [
            other.name
            for other in tables.values()
            if other.name != table.name and table.name in forgotten_in(other, tables)
        ]
        if table.name not in self.ledger.refresh().versions:
            raise UsageError(
                f"{table.name!r} has no version yet, so there is nobody to forget",
                hint=f"discreet refresh {table.name}",
            )
        erasing = (table.name, *reached)
        others = tuple(
            other.name
            for other in tables.values()
            if other.name not in erasing and not other.public and other.population == table.population
        )
        lying = {(held.table, held.number): place for held, place in self._lying(erasing)}
        missing = tuple(f"version {number} of {name}" for (name, number), place in lying.items() if self._gone(*place))
        erased = self.curator.forget(tuple(person), erasing, lying=list(lying.values()))
        engines = {self.file.table(name).engine for name in erasing} | {address for address, _ in lying.values()}
        left = self._sweep(engines)
        return Forgotten(tables=erasing, exact_versions=erased, others=others, missing=missing, left=left)

    def _sweep(self, engines: Collection[str]) -> tuple[str, ...]:
        """Look after what killed makings left at these engines; what could not be reached there."""

        def forgotten(name: str) -> Collection[bytes]:
            tables = [table for table in self.file.tables.values() if is_named_after(name, table.name)]
            names = {name for table in tables for name in forgotten_in(table, self.file.tables)}
            return [bytes.fromhex(tag) for tag in self.ledger.state.tombstones(names)]

        engine, folder = self.curator.engine, self.curator.folder
        return sweep(engines, ledger=self.ledger, engine=engine, folder=folder, forgotten=forgotten)

    def _gone(self, address: str, name: str) -> bool:
        """Whether a version is not where it was made."""
        engine = self.curator.engine.at(address)
        place = engine.place(name, folder=self.curator.folder)
        try:
            engine.ready(Tables(files={Scan(table=name, version=1): place}, engine=address))
        except LedgerFault:
            return True
        return False

    def _lying(self, tables: Sequence[str]) -> Iterator[tuple[Held, tuple[str, str]]]:
        """All versions of these tables and where they lie: the addresses of their engines, and their names there."""
        for name in tables:
            table = self.file.table(name)
            for held in self.ledger.state.versions.get(name, {}).values():
                made = held.schema.get(_ENGINE, DEFAULT)
                if made not in (DEFAULT, kind(table.engine)):
                    raise UsageError(
                        f"version {held.number} of {name!r} lies on {made}, which {NAME} does not name any more",
                        hint=f"name that engine again for [tables.{name}], and forget; then change it back",
                    )
                yield held, (_address(held, table), held.file)

    def _catch_up(self, table: Table, held: Held) -> None:
        """Erase from a file of ours whom another machine that shares the ledger has forgotten since."""
        if not self.ledger.shared or _ENGINE in held.schema:
            return
        gone = frozenset(self.ledger.state.tombstones(forgotten_in(table, self.file.tables)))
        if gone and (held.file, gone) not in self._caught_up:
            engine = self.curator.engine.at(DEFAULT)
            place = engine.place(held.file, folder=self.curator.folder)
            engine.erase(place, [bytes.fromhex(tag) for tag in gone])
            self._caught_up.add((held.file, gone))

    def source_changed(self, name: str) -> bool:
        """Whether the source is not what the newest version was made from. For the owner's eyes only."""
        table = self.file.table(name)
        self.ledger.refresh()
        held = self._held(table)
        now = self._fingerprint(table)
        return (
            held is not None
            and {key: held.source[key] for key in held.source if key not in (MARK, REACHED, KINDS, WAY)} != now
        )

    def made_from(self, file: Path) -> bool:
        """Whether a file that is there is, or is part of, a source of one of the tables."""
        if not file.exists():
            return False
        engine, here = self.curator.engine.at(DEFAULT), Trace(same=(), files=(file,))
        sources = [table.source for table in self.file.tables.values()]
        return any(shared(trace_of(source, folder=self.folder, engine=engine), here) for source in sources)

    def warnings(self, name: str) -> list[str]:
        """Where discreet.toml and the ledger differ. Public facts: nothing here is read from data."""
        table = self.file.table(name)
        self.ledger.refresh()
        held = self._held(table)
        if held is None:
            return []
        told = []
        if held.schema != self._declaration(table):
            told.append(self._what_changed(table, held))
        if held.population != table.population:
            told.append(
                f"the ledger has {table.name!r} in population {held.population!r}, whose budget its questions spend; "
                f"{NAME} says {table.population!r}: correct the file"
            )
            return told  # what the file says of another population's limit is no difference to this one's
        return [*told, *filter(None, [difference(self.held(table), self.ledger)])]

    def _what_changed(self, table: Table, held: Held) -> str:
        """Why a version is not as declared: the file has changed, or the step that follows from bounds has."""
        if self._names_others(table, held):
            return (
                f"{NAME} names another person for {table.name!r} than the ledger protects, so `discreet refresh "
                f"{table.name}` refuses it: declare `person` as in version {held.number}"
            )
        applies = f"`discreet refresh {table.name}` applies it"
        if held.schema != self._declaration(table, steps=False):
            return f"{NAME} has changed since version {held.number}; {applies}"
        known = read_table(table.name, {key: part for key, part in held.schema.items() if key != _ENGINE}).schema
        finer = [column.name for column in table.schema.columns if column not in known.columns]
        return (
            f"version {held.number} rounds {', '.join(finer)} to steps of 0.01, which is coarse for the declared "
            f"bounds; Discreet now derives the step from low and high; {applies}"
        )

    def _names_others(self, table: Table, version: Held) -> bool:
        """Whether a changed declaration protects others than the ledger does for good: `refresh` refuses it."""
        declared_now = self._declaration(table)
        if all(version.schema.get(key) == declared_now.get(key) for key in _UNIT):
            return False
        try:
            naming = self._sources(table).naming
        except DiscreetError:  # `refresh` says what is wrong with the source
            return False
        try:
            refuse_other_unit(table, naming, state=self.ledger.state)
        except UsageError:
            return True
        return False

    def held(self, table: Table) -> Table:
        """A table as the ledger has it: of the population, and with the unit, of its newest version."""
        version = self._version(table)
        return table if version is None else replace(table, population=version.population, schema=version.schema)

    def _make(self, name: str, *, number: int | None = None) -> Making:
        table = self.file.table(name)
        if table.public:
            raise UsageError(f"{table.name!r} is public and is read directly", hint="only private tables have versions")
        self._check_population(table)
        path = path_of(table, self.file.tables)
        return self.curator.make(
            table,
            schema=self._declaration(table),
            source=self._fingerprint(table) | self._persons(table, path),
            base=self.folder,
            guarantee=guarantee(table, self.ledger),
            number=number,
            path=path,
            whose=forgotten_in(table, self.file.tables),
        )

    def _persons(self, table: Table, path: Sequence[Table]) -> dict[str, Any]:
        """What a version keeps, beside its declaration, of the columns that identify its persons."""
        kinds = kinds_of((table, *path), lambda step, name: self._header(step).kind_of(name))
        way = [{"source": step.source, **self._engine(step), **self._fingerprint(step)} for step in path]
        return reached(path) | kinds | ({WAY: way} if way else {})

    def _make_first(self, table: Table) -> None:
        """Make the first version inside somebody's question (version 1, or the next after a rollback).

        What the header and the declaration say is told in detail. What a row says is not: it is for the
        owner, and for `refresh`. A question must not fail in a way that tells of one person.
        """
        number = self.ledger.next_version(table.name)
        if table.schema.unit.ends:  # whether it is too large is for the owner, too
            raise UsageError(
                f"table {table.name!r} has no version yet", hint=f"the owner runs discreet refresh {table.name}"
            )
        self._check_headers(table)
        declared(table)
        self._check_population(table)
        try:
            self._make(table.name, number=number)
        except UsageError:
            self.ledger.refresh()
            if self._held(table) is None:  # else another process was first, and made the same
                raise UsageError(
                    f"table {table.name!r} could not be made from its source",
                    hint=f"the owner runs discreet refresh {table.name}, which says why",
                ) from None

    def _check_headers(self, table: Table) -> None:
        """Refuse where a declared column, or one on the way to the person, stands in no header."""
        found = self._header(table)
        for column in table.schema.columns:
            found.place(column.name)
        came_by: tuple[str, ...] = ()
        for step in (table, *path_of(table, self.file.tables)):
            found = self._header(step)
            for name in (*came_by, *step.schema.unit.person, *step.schema.unit.on, *step.schema.unit.ends):
                found.place(name)
            came_by = step.schema.unit.on

    def _header(self, table: Table) -> Header:
        return self.curator.engine.at(table.engine).header(table.source, folder=self.folder)

    def _fingerprint(self, table: Table) -> dict[str, Any]:
        engine = self.curator.engine.at(table.engine)
        return fingerprint(trace_of(table.source, folder=self.folder, engine=engine), seal=self.ledger.seal)

    def _check_population(self, table: Table) -> None:
        """Refuse what the ledger would refuse, before a source is read and in more words."""
        self.refuse_second_budget(table)
        state, sources = self.ledger.state, self._sources(table)
        refuse_other_unit(table, sources.naming, state=state)
        refuse_second_unit(sources, state=state)
        refuse_forgotten_sources(table, state=state)

    def refuse_second_budget(self, table: Table) -> None:
        """Refuse a table whose people the ledger knows under another population."""
        versions = self.ledger.refresh().versions
        refuse_second_budget(self._sources(table), versions=versions, begun=self.begun)

    def _sources(self, table: Table) -> Sources:
        """What a table is made from; of a public one, which has no persons and may not be in the file yet, its own."""
        path = () if table.public else path_of(table, self.file.tables)
        persons = None if table.public else self._persons(table, path)
        return Sources(
            tables=(table, *path),
            naming=[] if persons is None else naming_of(table.name, self._declaration(table), persons),
            folder=self.folder,
            engine=self.curator.engine,
            seal=self.ledger.seal,
        )

    @property
    def begun(self) -> bool:
        """Whether the ledger holds what must not be lost, or lies where nobody should take it away."""
        state = self.ledger.state
        return self.file.ledger != DEFAULT_LEDGER or bool(state.charges or state.forgotten or state.invariants)

    def _declaration(self, table: Table, *, steps: bool = True) -> dict[str, Any]:
        """What a version keeps of a table's declaration, as the ledger writes it: of its engine the kind alone.

        steps: those that follow from bounds are spelled out, as every version has them now.
        """
        raw = self.file.raw[table.name]
        raw = with_steps(raw) if steps else raw
        return {key: plain(raw[key]) for key in _VERSIONED if key in raw} | self._engine(table)

    def _engine(self, table: Table) -> dict[str, str]:
        """The kind of a table's engine, where it is not that of files here."""
        return {} if table.engine == DEFAULT else {_ENGINE: kind(table.engine)}

    def _held(self, table: Table) -> Held | None:
        """The newest version that the ledger knows."""
        versions = self.ledger.state.versions.get(table.name)
        return versions[max(versions)] if versions else None

    def _version(self, table: Table) -> Version | None:
        held = self._held(table)
        if held is None:
            return None
        key = (table.name, held.number, held.time)
        if key not in self._schemas:
            told = {name: part for name, part in held.schema.items() if name != _ENGINE}
            self._schemas[key] = read_table(table.name, told).schema
        return Version(
            table=table.name,
            number=held.number,
            population=held.population,
            schema=self._schemas[key],
            file=held.file,
            engine=_address(held, table),
        )


def _address(held: Held, table: Table) -> str:
    """Where a version lies: files of ours stay; another engine's is looked for where it is declared to be now.

    A server may move. If the engine is of another kind by now, the version is not there, and that is said.
    """
    return table.engine if _ENGINE in held.schema else DEFAULT


def _check_nameable(table: Table, person: Sequence[str]) -> None:
    """Refuse to forget somebody whom this table does not name."""
    unit = table.schema.unit
    if unit.is_row:
        raise UsageError(
            f"{table.name!r} protects rows, which have no person to forget",
            hint="take the row out of the source, and refresh",
        )
    if unit.ends and len(person) != 1:
        raise UsageError(f"a person of {table.name!r} is what stands at an end of an edge: one value")
    if not unit.person and not unit.ends:
        raise UsageError(
            f"{table.name!r} reaches its persons through {unit.through!r}",
            hint=f"discreet forget {unit.through} PERSON",
        )
    if not unit.ends and len(person) != len(unit.person):
        raise UsageError(f"a person of {table.name!r} is {' and '.join(unit.person)}")


def _read_against(asked: Asked, versions: Sequence[Version]) -> bool:
    """Whether a question was read against these versions: their numbers, and the schemas that they have."""
    return all(
        (scan.table, scan.version) == (version.table, version.number) and asked.schemas[scan.table] == version.schema
        for scan, version in zip(asked.tables, versions, strict=True)
    )
