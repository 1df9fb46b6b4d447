"""The versions of a project's declared tables: which there are, and how a new one is made.

Questions are read against a version, and mean what its own schema says. A new version is a public act: `refresh`
makes it, and only the very first one is made inside somebody's question. What a making says about rows is
for the owner; what headers, declarations and the ledger say may be told to anybody.

`version_records` knows what a version keeps, `source_changes` whether its source is another by now, `file_differences`
whether its declaration is, and `version_erasure` how a person is forgotten in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from discreet.engines import stop_signal
from discreet.engines.content_fault import ContentFault
from discreet.engines.engine import DeclarationOutcome
from discreet.engines.public_table_loader import load_public_table
from discreet.errors import Command, DiscreetError, Message, UsageError
from discreet.kernel.curator import Curator, TableOrigin, Version
from discreet.ledger.ledger import Ledger
from discreet.ledger.owner_acts import refuse_fixed_table
from discreet.ledger.records import VersionRecord
from discreet.project.budget import declared_limit, guarantee
from discreet.project.declaration import (
    refuse_forgotten_sources,
    refuse_needed_table,
    refuse_other_unit,
    refuse_second_budget,
    refuse_second_unit,
)
from discreet.project.file_differences import FileDifferences
from discreet.project.query_cache import QueryCache
from discreet.project.source_changes import SourceChanges
from discreet.project.version_erasure import VersionErasure
from discreet.project.version_growth import earlier_version, program
from discreet.project.version_records import CONTENT, PROGRAM, VersionRecords, engine_address, is_elsewhere
from discreet.schema.address import DEFAULT
from discreet.schema.edge_table import tables_with_same_persons, version_engine
from discreet.schema.person_path import path_of
from discreet.schema.project_file import ProjectFile
from discreet.schema.schema import Table
from discreet.sql.catalog import CatalogTable, PublicTable
from discreet.sql.parsed_query import ParsedQuery


@dataclass(frozen=True, slots=True, kw_only=True)
class RemovalReport:
    """What removing a table took away. `missing`: files of its versions that could not be deleted."""

    table: str
    versions: int
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Versions:
    """The versions of the tables that `file` declares. Public tables have none: they are read as they are."""

    folder: Path
    file: ProjectFile
    curator: Curator
    query_cache: QueryCache = field(default_factory=QueryCache, repr=False)
    _publics: dict[str, tuple[object, PublicTable]] = field(default_factory=dict, repr=False)

    @cached_property
    def records(self) -> VersionRecords:
        """What versions keep of their tables."""
        return VersionRecords(folder=self.folder, file=self.file, curator=self.curator)

    @cached_property
    def changes(self) -> SourceChanges:
        """Whether sources changed since."""
        return SourceChanges(records=self.records)

    @cached_property
    def differences(self) -> FileDifferences:
        """Where the file and the ledger differ."""
        return FileDifferences(records=self.records)

    @cached_property
    def erasure(self) -> VersionErasure:
        """How people are forgotten in them."""
        return VersionErasure(records=self.records)

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
        if self.records.newest_record(table) is None:
            self._make_first(table)
        record, version = self.records.newest_record(table), self.records.version(table)
        assert record is not None and version is not None
        self.erasure.catch_up(table, record)
        return version

    def peek(self, name: str) -> Version:
        """The version that questions are read against: the newest, else what the first one would be."""
        table = self.file.table(name)
        return self.records.version(table) or Version(
            table=table.name,
            number=1,
            population=table.population,
            schema=table.schema,
            file="",
            engine=version_engine(table),
        )

    def refresh(self, name: str, *, force: bool = False) -> tuple[int, DeclarationOutcome | None]:
        """Make a new version of a declared table from its source. An act of the owner.

        While nothing was released about the people, the population and the limit become those that the file declares.
        No version is made, and None is returned, if it would be the same as the newest: stored answers belong to a
        version, so on a needless one every question would be charged again. `force` makes one in any case, from all of
        the source; else, where files were only added, it builds on the newest version: see `version_growth`.

        It can be stopped until the version is entered (`Curator.make`), and says so as `stop_signal.MakingStopped`.
        """
        with self.stoppable_making(name):
            is_moving = self._correct(self.file.table(name))
            is_unchanged = not force and self.changes.is_up_to_date(name)
            stop_signal.check_stop()
            making = None if is_unchanged else self._make(name, builds_on=not force, is_moving=is_moving)
        with stop_signal.unstoppable():
            with suppress(DiscreetError):  # the version is made; `forget` says what cannot be reached
                self.erasure.drop_orphaned_tables({version_engine(self.file.table(name))})
            return self.newest(name).number, making

    @contextmanager
    def stoppable_making(self, name: str) -> Iterator[None]:
        """A stop within says that no new version was made. Also around what looks at a source before `refresh`."""
        try:
            with stop_signal.orderly():
                stop_signal.check_stop()
                yield
        except stop_signal.Stopped:
            raise self.stopped(name) from None

    def stopped(self, name: str) -> stop_signal.MakingStopped:
        """What becomes of a table whose new version is not made because somebody stopped it."""
        versions = self.ledger.refresh().versions.get(self.file.table(name).name)
        return stop_signal.MakingStopped(self.file.table(name).name, in_use=max(versions) if versions else None)

    def _correct(self, table: Table) -> bool:
        """Apply what the file says of a table's limit, where the ledger lets it be corrected; whether its population is
        corrected, too: by the new version, before which the others are in use.

        The ledger decides, under its lock; the checks here only say whether to ask it.
        """
        state = self.ledger.refresh()
        if table.public or table.budget is None:
            return False
        earlier = state.population_of_table.get(table.name, table.population)
        is_moving = earlier != table.population and not state.is_fixed(earlier)
        if is_moving:
            self._check_headers(table)
        limit = declared_limit(table)
        if table.population in state.accounts and not state.is_fixed(table.population):
            self.ledger.correct(table.population, limit)
        return is_moving

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
        removed = self.ledger.remove_table(name)
        return RemovalReport(table=name, versions=len(removed), missing=self._drop_files(name, removed))

    def retirable_table(self, name: str) -> str:
        """The name, as it is declared, of a table that may be retired. Refused otherwise."""
        table, state = self.file.table(name), self.ledger.refresh()
        refuse_needed_table(table.name, self.file.tables, charges=state.charges)
        population = state.population_of_table.get(table.name)
        if population is None or not state.is_fixed(population):
            raise UsageError(
                f"nothing was released about the people of {table.name!r} yet, so it need not be retired",
                hint=Message("run ", Command("remove", table.name), ", which leaves nothing of it"),
            )
        return table.name

    def retire_versions(self, name: str) -> RemovalReport:
        """Delete the files of all versions of a table. The ledger keeps its versions, charges and answers.

        Guarantee: nobody gets a second budget: whoever declares the source again, by whatever name, meets the versions
            that the ledger knows it by (`refuse_second_budget`), and the budget that is left of it.
        """
        records = list(self.ledger.refresh().versions.get(name, {}).values())
        return RemovalReport(table=name, versions=len(records), missing=self._drop_files(name, records))

    def _drop_files(self, name: str, records: Iterable[VersionRecord]) -> tuple[str, ...]:
        """Delete the files of versions; those that could not be reached."""
        missing = []
        declared_table = self.file.tables.get(name)
        for record in records:
            try:
                if declared_table is None and is_elsewhere(record):
                    raise UsageError("the engine of this table is not declared any more")
                address = DEFAULT if declared_table is None else engine_address(record, declared_table)
                engine = self.curator.engine.at(address)
                engine.drop(engine.place(record.file, folder=self.curator.folder))
            except (DiscreetError, OSError):
                missing.append(record.file)
        return tuple(missing)

    def _make(
        self, name: str, *, number: int | None = None, builds_on: bool = False, is_moving: bool = False
    ) -> DeclarationOutcome:
        """Make a version, and keep the content of its files if they are the same before and after it.

        Else a file that came between would be taken for an added one later, and its rows would stand there twice.
        `is_moving`: into another population, which takes the versions in the one before out of the ledger.
        """
        table = self.file.table(name)
        if table.public:
            raise UsageError(
                f"{table.name!r} is public, so queries read its source as it is now: there is nothing to refresh",
                hint="only private tables have versions; a query can join it with one of them",
            )
        self._check_population(table, is_moving=is_moving)
        path = path_of(table, self.file.tables)
        records, steps = self.records, (table, *path)
        stamps = records.stamps(steps)

        def confirm(source: dict[str, Any]) -> dict[str, Any]:
            """What was read is not known to be what was digested where files came or changed meanwhile."""
            is_same = stamps is not None and records.stamps(steps) == stamps
            return {key: part for key, part in source.items() if is_same or key != CONTENT}

        removed: list[VersionRecord] = []

        def give_way() -> None:
            if (
                self.ledger.refresh().population_of_table.get(name) != table.population
            ):  # else another process was first
                removed.extend(self.ledger.remove_table(name))

        try:
            return self.curator.make(
                table,
                schema=records.declaration(table),
                source=records.fingerprint(table)
                | records.persons(table, path)
                | records.contents(steps)
                | {PROGRAM: program()},
                origin=TableOrigin(
                    folder=self.folder,
                    path=path,
                    whose=tables_with_same_persons(table, self.file.tables),
                    earlier=earlier_version(records, table, path) if builds_on else None,
                    confirm=confirm,
                ),
                guarantee=guarantee(table, self.ledger),
                number=number,
                before_entry=give_way if is_moving else None,
            )
        finally:
            with stop_signal.unstoppable():
                self._drop_files(name, removed)

    def _make_first(self, table: Table) -> None:
        """Make the first version inside somebody's question (version 1, or the next after a rollback).

        What the header and the declaration say is told in detail. What a row says is not: it is for the
        owner, and for `refresh`. A question must not fail in a way that tells of one person.
        """
        number = self.ledger.next_version(table.name)
        if self.records.newest_record(table) is not None:  # another process made it since we looked
            return
        if table.schema.unit.ends:  # whether it is too large is for the owner, too
            raise UsageError(
                f"table {table.name!r} has no version yet",
                hint=Message("ask the owner to run ", Command("refresh", table.name)),
            )
        try:
            self._check_headers(table)
            declared_limit(table)
            self._check_population(table)
        except ContentFault:
            raise _not_made(table) from None
        try:
            with stop_signal.orderly():
                self._make(table.name, number=number)
        except stop_signal.Stopped:  # of the question: it tells no more than that, see `stop_signal`
            raise
        except UsageError:
            self.ledger.refresh()
            if self.records.newest_record(table) is None:  # else another process was first, and made the same
                raise _not_made(table) from None

    def _check_headers(self, table: Table) -> None:
        """Refuse where a declared column, or one on the way to the person, stands in no header."""
        header = self.records.header(table)
        for column in table.schema.columns:
            header.place(column.name)
        came_by: tuple[str, ...] = ()
        for step in (table, *path_of(table, self.file.tables)):
            header = self.records.header(step)
            for name in (*came_by, *step.schema.unit.person, *step.schema.unit.on, *step.schema.unit.ends):
                header.place(name)
            came_by = step.schema.unit.on

    def _check_population(self, table: Table, *, is_moving: bool = False) -> None:
        """Refuse what the ledger would refuse, before a source is read and in more words."""
        self.refuse_second_budget(table, is_moving=is_moving)
        state, sources = self.ledger.state, self.records.sources(table)
        refuse_other_unit(table, sources.naming, state=state)
        refuse_second_unit(sources, state=state)
        refuse_forgotten_sources(table, state=state)

    def refuse_second_budget(self, table: Table, *, is_moving: bool = False) -> None:
        """Refuse a table whose people the ledger knows under another population. `is_moving`: from there."""
        state = self.ledger.refresh()
        others = {name: made for name, made in state.versions.items() if not (is_moving and name == table.name)}
        refuse_second_budget(self.records.sources(table), versions=others, is_fixed=state.is_fixed)


def _not_made(table: Table) -> UsageError:
    """What whoever asks is told where the rows of a table keep it from being made."""
    return UsageError(
        f"table {table.name!r} could not be made from its source",
        hint=Message("ask the owner to run ", Command("refresh", table.name), ", which says why"),
    )


def _read_against(query: ParsedQuery, versions: Sequence[Version]) -> bool:
    """Whether a question was read against these versions: their numbers, and the schemas that they have."""
    return all(
        (scan.table, scan.version) == (version.table, version.number) and query.schemas[scan.table] == version.schema
        for scan, version in zip(query.tables, versions, strict=True)
    )
