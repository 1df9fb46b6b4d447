"""The versions of a project's declared tables: which there are, how a new one is made, who is forgotten in them.

Questions are read against a version, and mean what its own schema says. A new version is a public act: `refresh`
makes it, and only the very first one is made inside somebody's question. What a making says about rows is
for the owner; what headers, declarations and the ledger say may be told to anybody.

One file, long as it is: a version is made, remembered and forgotten under the same rules, which are checked together.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from discreet.engines.engine import DeclarationOutcome, SourceTrace, TableLocations
from discreet.engines.fingerprint import content_of, fingerprint, has_content, is_same_source, trace_of
from discreet.engines.header import Header
from discreet.engines.person_keys import MARK
from discreet.engines.public_table_loader import load_public_table
from discreet.errors import Command, DiscreetError, LedgerFault, Message, UsageError
from discreet.kernel.curator import Curator, Version
from discreet.kernel.erasure import erase_person, person_keys
from discreet.kernel.version import is_named_after
from discreet.ledger.chain import canonical_json
from discreet.ledger.ledger import Ledger
from discreet.ledger.owner_acts import refuse_fixed_table
from discreet.ledger.records import VersionRecord as VersionRecord
from discreet.plan.relation import Scan
from discreet.project.budget import declared_limit, guarantee, limit_difference
from discreet.project.declaration import (
    TableSources,
    refuse_forgotten_sources,
    refuse_needed_table,
    refuse_other_unit,
    refuse_second_budget,
    refuse_second_unit,
)
from discreet.project.orphaned_tables import drop_orphaned_tables
from discreet.schema.address import DEFAULT, engine_kind
from discreet.schema.edge_table import tables_with_same_persons
from discreet.schema.grid_step import with_steps
from discreet.schema.person_identity import KINDS, REACHED, WAY, kinds_of, naming_of, reached
from discreet.schema.person_path import path_of
from discreet.schema.project_file import NAME, ProjectFile, plain, read_table
from discreet.schema.schema import Schema, Table
from discreet.schema.value_format import INHERITED_KEYS
from discreet.sql.catalog import CatalogTable, PublicTable
from discreet.sql.parsed_query import ParsedQuery

#: What of a table's declaration a version keeps: the rest (budget, population) belongs to the ledger.
_VERSIONED = (
    *("source", "person", "ends", "directed", "rows_per_person", "columns", "invariants"),
    *sorted(INHERITED_KEYS),
)

#: Which of it says whom the version protects.
_UNIT = ("person", "ends", "directed")

#: Under which a version says what kind of engine it was made on. Host, user and database are nobody's business.
_ENGINE = "engine"

#: Under which a version keeps the content of its sources, sealed: its own first, then those on the way to its persons.
_CONTENT = "content"


@dataclass(frozen=True, slots=True, kw_only=True)
class ErasureReport:
    """What forgetting a person erased. Exact: for the owner only.

    `others`: further tables of the same population, in which nobody was forgotten. `missing`: versions that are not
    where they were made, so that nobody could be erased from them; wherever they lie, they hold everybody. `left`: what
    killed makings left, from which nobody could be erased: see `orphaned_tables`.
    """

    tables: tuple[str, ...]
    exact_versions: int
    others: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    orphaned: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RemovalReport:
    """What removing a table took away. `missing`: files of its versions that could not be deleted."""

    table: str
    versions: int
    missing: tuple[str, ...] = ()


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

    def catalog(self) -> dict[str, CatalogTable]:
        """What questions may name, as it stands now: the newest versions, else the declarations."""
        self.ledger.refresh()
        return {name: self._catalog_entry(table) for name, table in self.file.tables.items()}

    def _catalog_entry(self, table: Table) -> CatalogTable:
        if table.public:
            return CatalogTable(schema=table.schema, public=lambda: self._public(table))
        version = self.peek(table.name)
        return CatalogTable(schema=version.schema, version=version.number, population=version.population)

    def _public(self, table: Table) -> PublicTable:
        """A public table, read; looked at anew when its files have changed, or what the ledger knows as private."""
        engine = self.curator.engine.at(table.engine)
        trace = engine.trace(table.source, folder=self.folder), sum(map(len, self.ledger.state.versions.values()))
        cached = self._publics.get(table.name)
        if cached is None or cached[0] != trace:
            self.refuse_second_budget(table)
            cached = self._publics[table.name] = (trace, load_public_table(table, folder=self.folder, engine=engine))
        return cached[1]

    def settle_queries(
        self, queries: list[ParsedQuery], again: Callable[[], list[ParsedQuery]]
    ) -> tuple[list[ParsedQuery], list[list[Version]]]:
        """Questions as read against versions that exist, and those versions; first ones are made where none is.

        `again` reads them anew, against the catalog as it stands then.
        """
        self.ledger.refresh()
        versions = [[self.newest(scan.table) for scan in each.tables] for each in queries]
        while not all(map(_read_against, queries, versions)):
            queries = again()
            versions = [[self.newest(scan.table) for scan in each.tables] for each in queries]
        return queries, versions

    def newest(self, name: str) -> Version:
        """The newest version of a table; the first one is made when it is first needed."""
        table = self.file.table(name)
        if self._newest_record(table) is None:
            self._make_first(table)
        record, version = self._newest_record(table), self._version(table)
        assert record is not None and version is not None
        self._catch_up(table, record)
        return version

    def peek(self, name: str) -> Version:
        """The version that questions are read against: the newest, else what the first one would be."""
        table = self.file.table(name)
        return self._version(table) or Version(
            table=table.name, number=1, population=table.population, schema=table.schema, file="", engine=table.engine
        )

    def refresh(self, name: str, *, force: bool = False) -> tuple[int, DeclarationOutcome | None]:
        """Make a new version of a declared table from its source. An act of the owner.

        While nothing was released about the people, the population and the limit become those that the file declares.
        No version is made, and None is returned, if it would be the same as the newest: stored answers belong to a
        version, so on a needless one every question would be charged again. `force` makes one in any case.
        """
        self._correct(self.file.table(name))
        making = None if not force and self.is_up_to_date(name) else self._make(name)
        with suppress(DiscreetError):  # the version is made; `forget` says what cannot be reached
            self._drop_orphaned_tables({self.file.table(name).engine})
        return self.newest(name).number, making

    def _correct(self, table: Table) -> None:
        """Apply what the file says of a table's population and limit, where the ledger lets both be corrected.

        The ledger decides, under its lock; the checks here only say whether to ask it.
        """
        state = self.ledger.refresh()
        if table.public or table.budget is None:
            return
        earlier = state.population_of_table.get(table.name, table.population)
        if earlier != table.population and not state.is_fixed(earlier):
            self._check_headers(table)
            self.remove_versions(table.name)
            state = self.ledger.refresh()
        limit = declared_limit(table)
        if table.population in state.accounts and not state.is_fixed(table.population):
            self.ledger.correct(table.population, limit)

    def removable_table(self, name: str) -> str:
        """The name, as it is declared, of a table that may be removed. Refused otherwise."""
        state = self.ledger.refresh()
        table = next((each for each in self.file.tables if each.lower() == name.lower()), name)
        if table not in {*self.file.tables, *state.versions}:
            self.file.table(table)  # says that there is none, and which there are
        if table in self.file.tables:
            refuse_needed_table(table, self.file.tables, charges=state.charges)
        refuse_fixed_table(state, table)
        return table

    def remove_versions(self, name: str) -> RemovalReport:
        """Take a table out of its population, and delete the files of its versions. Its source stays where it is.

        The ledger goes first: no question reads files that a crash leaves behind, and `orphaned_tables` lists them.
        """
        removed, missing = self.ledger.remove_table(name), []
        declared_table = self.file.tables.get(name)
        for record in removed:
            try:
                if declared_table is None and _ENGINE in record.schema:
                    raise UsageError("the engine of this table is not declared any more")
                address = DEFAULT if declared_table is None else _address(record, declared_table)
                engine = self.curator.engine.at(address)
                engine.drop(engine.place(record.file, folder=self.curator.folder))
            except (DiscreetError, OSError):
                missing.append(record.file)
        return RemovalReport(table=name, versions=len(removed), missing=tuple(missing))

    def forget(self, name: str, person: Sequence[str]) -> ErasureReport:
        """Erase a person from every version of a table and of the tables that reach their persons through it.

        And of networks: see `tables_with_same_persons`. An act of the owner. Versions, stored answers and losses stay;
        a tombstone survives refresh.
        """
        self.refuse_forgetting(name, person)
        table, tables = self.file.table(name), self.file.tables
        reached = [
            other.name
            for other in tables.values()
            if other.name != table.name and table.name in tables_with_same_persons(other, tables)
        ]
        erasing = (table.name, *reached)
        others = tuple(
            other.name
            for other in tables.values()
            if other.name not in erasing and not other.public and other.population == table.population
        )
        locations = {(record.table, record.number): place for record, place in self._locate_versions(erasing)}
        missing = tuple(
            f"version {number} of {name}" for (name, number), place in locations.items() if self._is_missing(*place)
        )
        curator = self.curator
        erased = erase_person(
            tuple(person),
            erasing,
            locations=list(locations.values()),
            ledger=curator.ledger,
            engine=curator.engine,
            folder=curator.folder,
        )
        engines = {self.file.table(name).engine for name in erasing} | {address for address, _ in locations.values()}
        orphaned = self._drop_orphaned_tables(engines)
        return ErasureReport(tables=erasing, exact_versions=erased, others=others, missing=missing, orphaned=orphaned)

    def refuse_forgetting(self, name: str, person: Sequence[str]) -> None:
        """Refuse to forget somebody whom a table does not name, or in a table that has no version."""
        table = self.file.table(name)
        _check_nameable(table, person)
        if table.name not in self.ledger.refresh().versions:
            raise UsageError(
                f"{table.name!r} has no version yet, so there is nobody to forget",
                hint=Message(Command("refresh", table.name)),
            )

    def _drop_orphaned_tables(self, engines: Collection[str]) -> tuple[str, ...]:
        """Look after what killed makings left at these engines; what could not be reached there."""

        def forgotten(name: str) -> Collection[bytes]:
            tables = [table for table in self.file.tables.values() if is_named_after(name, table.name)]
            names = {name for table in tables for name in tables_with_same_persons(table, self.file.tables)}
            return [bytes.fromhex(tag) for tag in self.ledger.state.tombstones(names)]

        engine, folder = self.curator.engine, self.curator.folder
        return drop_orphaned_tables(engines, ledger=self.ledger, engine=engine, folder=folder, forgotten=forgotten)

    def _is_missing(self, address: str, name: str) -> bool:
        """Whether a version is not where it was made."""
        engine = self.curator.engine.at(address)
        place = engine.place(name, folder=self.curator.folder)
        try:
            engine.ready(TableLocations(files={Scan(table=name, version=1): place}, engine=address))
        except LedgerFault:
            return True
        return False

    def _locate_versions(self, tables: Sequence[str]) -> Iterator[tuple[VersionRecord, tuple[str, str]]]:
        """All versions of these tables and where they lie: the addresses of their engines, and their names there."""
        for name in tables:
            table = self.file.table(name)
            for record in self.ledger.state.versions.get(name, {}).values():
                made = record.schema.get(_ENGINE, DEFAULT)
                if made not in (DEFAULT, engine_kind(table.engine)):
                    raise UsageError(
                        f"version {record.number} of {name!r} is on engine {made}, which {NAME} no longer names",
                        hint=Message(
                            f"set that engine again in [tables.{name}] and run ",
                            Command("forget"),
                            "; then change it back",
                        ),
                    )
                yield record, (_address(record, table), record.file)

    def _catch_up(self, table: Table, record: VersionRecord) -> None:
        """Erase from a file of ours whom another machine that shares the ledger has forgotten since."""
        if not self.ledger.shared or _ENGINE in record.schema:
            return
        gone = frozenset(self.ledger.state.tombstones(tables_with_same_persons(table, self.file.tables)))
        if gone and (record.file, gone) not in self._caught_up:
            engine = self.curator.engine.at(DEFAULT)
            place = engine.place(record.file, folder=self.curator.folder)
            engine.erase(place, [bytes.fromhex(tag) for tag in gone])
            self._caught_up.add((record.file, gone))

    def is_up_to_date(self, name: str) -> bool | None:
        """Whether a new version would be made from the same source by the same declaration. For the owner's eyes only.

        None: no change is visible, but rows may have changed. A file that was written to has another time or size,
        and where only its time differs it is read; a server knows of its newest rows some seconds late, and a lake's
        times are coarse. Where an erasure broke off, its rows are still there.
        """
        table = self.file.table(name)
        state = self.ledger.refresh()
        record = self._newest_record(table)
        if table.public or record is None or state.is_stale(record) or state.refinements.erasing:
            return False
        declared = (record.schema, record.population, record.number + 1)
        if declared != (self._declaration(table), table.population, state.next_version(table.name)):
            return False
        path = path_of(table, self.file.tables)
        try:
            source = self._fingerprint(table) | self._persons(table, path)
            is_missing = self._is_missing(_address(record, table), record.file)
            if MARK in record.source and person_keys(self.ledger, self.curator.folder).mark != record.source[MARK]:
                return False
        except (DiscreetError, OSError):  # whoever makes it says what is wrong
            return False
        stored = {key: part for key, part in record.source.items() if key not in (MARK, _CONTENT)}
        source = self._with_known_files(source, record, (table, *path))
        if is_missing or not source["files"] or canonical_json(stored) != canonical_json(source):
            return False
        steps = (table, *path)
        if not all(step.engine == DEFAULT for step in steps):
            return None
        return True if not self._is_touched(steps, record) else self._has_same_content(steps, record)

    def _has_same_content(self, steps: Sequence[Table], record: VersionRecord) -> bool | None:
        """Whether the files of these tables hold what a version was made from; None where it kept no digest of that."""
        contents = record.source.get(_CONTENT, ())
        if len(contents) != len(steps):
            return None
        traces = [self._trace(step) for step in steps]
        return all(
            has_content(trace, content, seal=self.ledger.keyed_digest)
            for trace, content in zip(traces, contents, strict=True)
        )

    def _is_touched(self, tables: Sequence[Table], record: VersionRecord) -> bool:
        """Whether anything was done to a file of these tables after a version was made: written, moved here, its times
        set. The time of that is the system's own, which nobody sets back.
        """
        engine, made = self.curator.engine.at(DEFAULT), datetime.fromisoformat(record.time).timestamp()
        files = [file for table in tables for file in trace_of(table.source, folder=self.folder, engine=engine).files]
        return any(file.stat().st_ctime >= made + 1 for file in files)  # the ledger's times are whole seconds

    def changed_sources(self, names: Collection[str]) -> list[str] | None:
        """Which of these tables have files that changed since their newest version. For the owner's eyes only.

        None: unknown for one of them, because it is on another engine or cannot be reached. A file is read only where
        its size is the same and its time is not.
        """
        changed = []
        self.ledger.refresh()
        for table in (self.file.table(name) for name in names):
            record = self._newest_record(table)
            if table.public or record is None:
                continue
            now = self._fingerprint(table) if table.engine == DEFAULT else {"files": []}
            if not now["files"]:
                return None
            if record.source.get("files") != self._with_known_files(now, record, (table,))["files"]:
                changed.append(table.name)
        return changed

    def source_changed(self, name: str) -> bool:
        """Whether the source is not what the newest version was made from. For the owner's eyes only."""
        table = self.file.table(name)
        self.ledger.refresh()
        record = self._newest_record(table)
        if record is None:
            return False
        if not (now := self._fingerprint(table))["files"]:  # it cannot be read, and this says why
            self.curator.engine.at(table.engine).trace(table.source, folder=self.folder)
        now = self._with_known_files(now, record, (table,))
        kept = {key: record.source[key] for key in record.source if key not in (MARK, REACHED, KINDS, WAY, _CONTENT)}
        return kept != now

    def _with_known_files(
        self, source: dict[str, Any], record: VersionRecord, steps: Sequence[Table]
    ) -> dict[str, Any]:
        """Sources as they are now, where files with another time and the same content count as those of the version."""
        kept = [record.source, *record.source.get(WAY, ())]
        now: list[dict[str, Any]] = [source, *source.get(WAY, ())]
        contents = record.source.get(_CONTENT, ())
        for place, (step, content) in enumerate(zip(steps, contents, strict=False)):
            if place >= min(len(kept), len(now)) or kept[place].get("files") == now[place]["files"]:
                continue
            if step.engine == DEFAULT and has_content(self._trace(step), content, seal=self.ledger.keyed_digest):
                now[place] = now[place] | {"files": kept[place]["files"]}
        return now[0] | ({WAY: now[1:]} if now[1:] else {})

    def is_source_file(self, file: Path) -> bool:
        """Whether a file that is there is, or is part of, a source of one of the tables."""
        if not file.exists():
            return False
        engine, here = self.curator.engine.at(DEFAULT), SourceTrace(same=(), files=(file,))
        sources = [table.source for table in self.file.tables.values()]
        return any(is_same_source(trace_of(source, folder=self.folder, engine=engine), here) for source in sources)

    def warnings(self, name: str) -> list[str]:
        """Where discreet.toml and the ledger differ. Public facts: nothing here is read from data."""
        table = self.file.table(name)
        self.ledger.refresh()
        record = self._newest_record(table)
        if record is None:
            return []
        notes = []
        if record.schema != self._declaration(table):
            notes.append(self._what_changed(table, record))
        if record.population != table.population:
            applies = [] if self.ledger.state.is_fixed(record.population) else [self._applies(table)]
            notes.append(
                Message(
                    f"the ledger has {table.name!r} in population {record.population!r}, and queries spend that "
                    f"budget; {NAME} says {table.population!r}: correct the file",
                    *applies,
                )
            )
            return notes  # what the file says of another population's limit is no difference to this one's
        return [*notes, *filter(None, [limit_difference(self.ledger_table(table), self.ledger)])]

    @staticmethod
    def _applies(table: Table) -> Message:
        return Message(", or run ", Command("refresh", table.name), " to apply it: nothing was released yet")

    def _what_changed(self, table: Table, record: VersionRecord) -> str:
        """Why a version is not as declared: the file has changed, or the step that follows from bounds has."""
        if self._names_others(table, record):
            return Message(
                f"{NAME} declares another `person` for {table.name!r} than the ledger protects, so `",
                Command("refresh", table.name),
                f"` refuses it: declare `person` as in version {record.number}",
            )
        applies = Message("`", Command("refresh", table.name), "` applies it")
        if record.schema != self._declaration(table, steps=False):
            return Message(f"{NAME} has changed since version {record.number}; ", applies)
        recorded_schema = read_table(
            table.name, {key: part for key, part in record.schema.items() if key != _ENGINE}
        ).schema
        finer = [column.name for column in table.schema.columns if column not in recorded_schema.columns]
        return Message(
            f"version {record.number} rounds {', '.join(finer)} to steps of 0.01, which is coarse for the declared "
            "bounds; Discreet now derives the step from low and high; ",
            applies,
        )

    def _names_others(self, table: Table, version: VersionRecord) -> bool:
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

    def ledger_table(self, table: Table) -> Table:
        """A table as the ledger has it: of the population, and with the unit, of its newest version."""
        version = self._version(table)
        return table if version is None else replace(table, population=version.population, schema=version.schema)

    def _make(self, name: str, *, number: int | None = None) -> DeclarationOutcome:
        table = self.file.table(name)
        if table.public:
            raise UsageError(f"{table.name!r} is public and is read directly", hint="only private tables have versions")
        self._check_population(table)
        path = path_of(table, self.file.tables)
        return self.curator.make(
            table,
            schema=self._declaration(table),
            source=self._fingerprint(table) | self._persons(table, path) | self._contents((table, *path)),
            base=self.folder,
            guarantee=guarantee(table, self.ledger),
            number=number,
            path=path,
            whose=tables_with_same_persons(table, self.file.tables),
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
                f"table {table.name!r} has no version yet",
                hint=Message("ask the owner to run ", Command("refresh", table.name)),
            )
        self._check_headers(table)
        declared_limit(table)
        self._check_population(table)
        try:
            self._make(table.name, number=number)
        except UsageError:
            self.ledger.refresh()
            if self._newest_record(table) is None:  # else another process was first, and made the same
                raise UsageError(
                    f"table {table.name!r} could not be made from its source",
                    hint=Message("ask the owner to run ", Command("refresh", table.name), ", which says why"),
                ) from None

    def _check_headers(self, table: Table) -> None:
        """Refuse where a declared column, or one on the way to the person, stands in no header."""
        header = self._header(table)
        for column in table.schema.columns:
            header.place(column.name)
        came_by: tuple[str, ...] = ()
        for step in (table, *path_of(table, self.file.tables)):
            header = self._header(step)
            for name in (*came_by, *step.schema.unit.person, *step.schema.unit.on, *step.schema.unit.ends):
                header.place(name)
            came_by = step.schema.unit.on

    def _header(self, table: Table) -> Header:
        return self.curator.engine.at(table.engine).header(table.source, folder=self.folder, layout=table.layout)

    def _fingerprint(self, table: Table) -> dict[str, Any]:
        return fingerprint(self._trace(table), seal=self.ledger.keyed_digest)

    def _trace(self, table: Table) -> SourceTrace:
        return trace_of(table.source, folder=self.folder, engine=self.curator.engine.at(table.engine))

    def _contents(self, steps: Sequence[Table]) -> dict[str, Any]:
        """The content of what a version is made from, sealed; of files here alone, for only they are compared by it."""
        seal = self.ledger.keyed_digest
        return {
            _CONTENT: [content_of(self._trace(step), seal=seal) if step.engine == DEFAULT else None for step in steps]
        }

    def _check_population(self, table: Table) -> None:
        """Refuse what the ledger would refuse, before a source is read and in more words."""
        self.refuse_second_budget(table)
        state, sources = self.ledger.state, self._sources(table)
        refuse_other_unit(table, sources.naming, state=state)
        refuse_second_unit(sources, state=state)
        refuse_forgotten_sources(table, state=state)

    def refuse_second_budget(self, table: Table) -> None:
        """Refuse a table whose people the ledger knows under another population."""
        state = self.ledger.refresh()
        refuse_second_budget(self._sources(table), versions=state.versions, is_fixed=state.is_fixed)

    def _sources(self, table: Table) -> TableSources:
        """What a table is made from; of a public one, which has no persons and may not be in the file yet, its own."""
        path = () if table.public else path_of(table, self.file.tables)
        persons = None if table.public else self._persons(table, path)
        return TableSources(
            tables=(table, *path),
            naming=[] if persons is None else naming_of(table.name, self._declaration(table), persons),
            folder=self.folder,
            engine=self.curator.engine,
            seal=self.ledger.keyed_digest,
        )

    def _declaration(self, table: Table, *, steps: bool = True) -> dict[str, Any]:
        """What a version keeps of a table's declaration, as the ledger writes it: of its engine the kind alone.

        steps: those that follow from bounds are spelled out, as every version has them now.
        """
        raw = self.file.raw[table.name]
        raw = with_steps(raw) if steps else raw
        return {key: plain(raw[key]) for key in _VERSIONED if key in raw} | self._engine(table)

    def _engine(self, table: Table) -> dict[str, str]:
        """The kind of a table's engine, where it is not that of files here."""
        return {} if table.engine == DEFAULT else {_ENGINE: engine_kind(table.engine)}

    def _newest_record(self, table: Table) -> VersionRecord | None:
        """The newest version that the ledger knows."""
        versions = self.ledger.state.versions.get(table.name)
        return versions[max(versions)] if versions else None

    def _version(self, table: Table) -> Version | None:
        record = self._newest_record(table)
        if record is None:
            return None
        key = (table.name, record.number, record.time)
        if key not in self._schemas:
            declaration = {name: part for name, part in record.schema.items() if name != _ENGINE}
            self._schemas[key] = read_table(table.name, declaration).schema
        return Version(
            table=table.name,
            number=record.number,
            population=record.population,
            schema=self._schemas[key],
            file=record.file,
            engine=_address(record, table),
        )


def _address(record: VersionRecord, table: Table) -> str:
    """Where a version lies: files of ours stay; another engine's is looked for where it is declared to be now.

    A server may move. If the engine is of another kind by now, the version is not there, and that is said.
    """
    return table.engine if _ENGINE in record.schema else DEFAULT


def _check_nameable(table: Table, person: Sequence[str]) -> None:
    """Refuse to forget somebody whom this table does not name."""
    unit = table.schema.unit
    if unit.is_row:
        raise UsageError(
            f"{table.name!r} protects rows, not persons, so there is no person to forget",
            hint=Message("remove the row from the source, then run ", Command("refresh")),
        )
    if unit.ends and len(person) != 1:
        raise UsageError(f"a person of {table.name!r} is one end of an edge: give one value")
    if not unit.person and not unit.ends:
        raise UsageError(
            f"{table.name!r} identifies people through {unit.through!r}",
            hint=Message(Command("forget", unit.through or "TABLE", "PERSON")),
        )
    if not unit.ends and len(person) != len(unit.person):
        raise UsageError(
            f"to identify a person of {table.name!r}, give {' and '.join(unit.person)}, of one person at a time",
            hint=Message(Command("forget", table.name, *person[: len(unit.person)])) if len(unit.person) == 1 else "",
        )


def _read_against(query: ParsedQuery, versions: Sequence[Version]) -> bool:
    """Whether a question was read against these versions: their numbers, and the schemas that they have."""
    return all(
        (scan.table, scan.version) == (version.table, version.number) and query.schemas[scan.table] == version.schema
        for scan, version in zip(query.tables, versions, strict=True)
    )
