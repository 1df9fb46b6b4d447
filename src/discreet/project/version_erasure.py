"""Whom a project forgets: a person is erased from every version there is, and from what killed makings left.

Versions, stored answers and losses stay. Machines that share a ledger each erase from their own files: the one that
forgets at once, the others before they next read theirs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

from discreet.errors import Command, Message, UsageError
from discreet.kernel.erasure import erase_person
from discreet.kernel.version import is_named_after
from discreet.ledger.records import VersionRecord
from discreet.project.orphaned_tables import drop_orphaned_tables
from discreet.project.version_records import ENGINE, VersionRecords, engine_address, is_elsewhere
from discreet.schema.address import DEFAULT, engine_kind
from discreet.schema.edge_table import tables_with_same_persons, version_engine
from discreet.schema.project_file import NAME
from discreet.schema.schema import Table


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
class VersionErasure:
    """Erases people from the versions of a project's tables."""

    records: VersionRecords
    _caught_up: set[tuple[str, frozenset[str]]] = field(default_factory=set, repr=False)

    def forget(self, name: str, person: Sequence[str]) -> ErasureReport:
        """Erase a person from every version of a table and of the tables that reach their persons through it.

        And of networks: see `tables_with_same_persons`. An act of the owner. Versions, stored answers and losses stay;
        a tombstone survives refresh.
        """
        self.refuse_forgetting(name, person)
        table, tables = self.records.file.table(name), self.records.file.tables
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
            f"version {number} of {name}"
            for (name, number), place in locations.items()
            if self.records.is_missing(*place)
        )
        curator = self.records.curator
        erased = erase_person(
            tuple(person),
            erasing,
            locations=list(locations.values()),
            ledger=curator.ledger,
            engine=curator.engine,
            folder=curator.folder,
        )
        engines = {version_engine(tables[name]) for name in erasing} | {address for address, _ in locations.values()}
        orphaned = self.drop_orphaned_tables(engines)
        return ErasureReport(tables=erasing, exact_versions=erased, others=others, missing=missing, orphaned=orphaned)

    def refuse_forgetting(self, name: str, person: Sequence[str]) -> None:
        """Refuse to forget somebody whom a table does not name, or in a table that has no version."""
        table = self.records.file.table(name)
        _check_nameable(table, person)
        if table.name not in self.records.ledger.refresh().versions:
            raise UsageError(
                f"{table.name!r} has no version yet, so there is nobody to forget",
                hint=Message(Command("refresh", table.name)),
            )

    def drop_orphaned_tables(self, engines: Collection[str]) -> tuple[str, ...]:
        """Look after what killed makings left at these engines; what could not be reached there."""

        def forgotten(name: str) -> Collection[bytes]:
            tables = [table for table in self.records.file.tables.values() if is_named_after(name, table.name)]
            names = {name for table in tables for name in tables_with_same_persons(table, self.records.file.tables)}
            return [bytes.fromhex(tag) for tag in self.records.ledger.state.tombstones(names)]

        curator = self.records.curator
        return drop_orphaned_tables(
            engines, ledger=curator.ledger, engine=curator.engine, folder=curator.folder, forgotten=forgotten
        )

    def _locate_versions(self, tables: Sequence[str]) -> Iterator[tuple[VersionRecord, tuple[str, str]]]:
        """All versions of these tables and where they lie: the addresses of their engines, and their names there."""
        for name in tables:
            table = self.records.file.table(name)
            for record in self.records.ledger.state.versions.get(name, {}).values():
                made = record.schema.get(ENGINE, DEFAULT)
                if is_elsewhere(record) and made != engine_kind(table.engine):
                    raise UsageError(
                        f"version {record.number} of {name!r} is on engine {made}, which {NAME} no longer names",
                        hint=Message(
                            f"set that engine again in [tables.{name}] and run ",
                            Command("forget"),
                            "; then change it back",
                        ),
                    )
                yield record, (engine_address(record, table), record.file)

    def catch_up(self, table: Table, record: VersionRecord) -> None:
        """Erase from a file of ours whom another machine that shares the ledger has forgotten since."""
        if not self.records.ledger.shared or is_elsewhere(record):
            return
        tables = self.records.file.tables
        gone = frozenset(self.records.ledger.state.tombstones(tables_with_same_persons(table, tables)))
        if gone and (record.file, gone) not in self._caught_up:
            engine = self.records.curator.engine.at(DEFAULT)
            place = engine.place(record.file, folder=self.records.curator.folder)
            engine.erase(place, [bytes.fromhex(tag) for tag in gone])
            self._caught_up.add((record.file, gone))


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
