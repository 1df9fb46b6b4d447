"""What a version keeps of its table: as the ledger has it, and as it would be by the declaration and sources of now.

A declaration goes into the ledger without budget and population, which belong to the people, and without where its
engine is. Sources go in by their fingerprints, sealed with the ledger's key: nobody without it learns a file's size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from discreet.engines.engine import SourceTrace, TableLocations
from discreet.engines.file_source import stamp_of
from discreet.engines.fingerprint import content_of, fingerprint, trace_of
from discreet.engines.header import Header
from discreet.errors import LedgerFault
from discreet.kernel.curator import Curator, Version
from discreet.ledger.ledger import Ledger
from discreet.ledger.records import VersionRecord
from discreet.plan.relation import Scan
from discreet.project.declaration import TableSources
from discreet.schema.address import DEFAULT, engine_kind
from discreet.schema.grid_step import with_steps
from discreet.schema.person_identity import WAY, kinds_of, naming_of, reached
from discreet.schema.person_path import path_of
from discreet.schema.project_file import ProjectFile, plain, read_table
from discreet.schema.schema import Schema, Table
from discreet.schema.source_layout import LAYOUT_KEYS
from discreet.schema.value_format import INHERITED_KEYS

#: What of a table's declaration a version keeps: the rest (budget, population) belongs to the ledger.
_VERSIONED = (
    *("source", "person", "ends", "directed", "rows_per_person", "columns", "invariants"),
    *sorted(INHERITED_KEYS | LAYOUT_KEYS),
)

#: Under which a version says what kind of engine it was made on. Host, user and database are nobody's business.
ENGINE = "engine"

#: Under which a version keeps the content of its sources, sealed: its own first, then those on the way to its persons.
CONTENT = "content"

#: Under which a version names what made it: `version_growth` builds on no other program's version.
PROGRAM = "program"


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionRecords:
    """What the ledger has of the versions of the tables that `file` declares, and what it would have of new ones."""

    folder: Path
    file: ProjectFile
    curator: Curator
    _schemas: dict[tuple[str, int, str], Schema] = field(default_factory=dict, repr=False)

    @property
    def ledger(self) -> Ledger:
        return self.curator.ledger

    def newest_record(self, table: Table) -> VersionRecord | None:
        """The newest version that the ledger knows."""
        versions = self.ledger.state.versions.get(table.name)
        return versions[max(versions)] if versions else None

    def version(self, table: Table) -> Version | None:
        record = self.newest_record(table)
        if record is None:
            return None
        key = (table.name, record.number, record.time)
        if key not in self._schemas:
            declaration = {name: part for name, part in record.schema.items() if name != ENGINE}
            self._schemas[key] = read_table(table.name, declaration).schema
        return Version(
            table=table.name,
            number=record.number,
            population=record.population,
            schema=self._schemas[key],
            file=record.file,
            engine=engine_address(record, table),
        )

    def ledger_table(self, table: Table) -> Table:
        """A table as the ledger has it: of the population, and with the unit, of its newest version."""
        version = self.version(table)
        return table if version is None else replace(table, population=version.population, schema=version.schema)

    def declaration(self, table: Table, *, steps: bool = True) -> dict[str, Any]:
        """What a version keeps of a table's declaration, as the ledger writes it: of its engine the kind alone.

        steps: those that follow from bounds are spelled out, as every version has them now.
        """
        raw = self.file.raw[table.name]
        raw = with_steps(raw) if steps else raw
        return {key: plain(raw[key]) for key in _VERSIONED if key in raw} | self.engine(table)

    def engine(self, table: Table) -> dict[str, str]:
        """The kind of a table's engine, where it is not that of files here."""
        return {} if table.engine == DEFAULT else {ENGINE: engine_kind(table.engine)}

    def persons(self, table: Table, path: Sequence[Table]) -> dict[str, Any]:
        """What a version keeps, beside its declaration, of the columns that identify its persons."""
        kinds = kinds_of((table, *path), lambda step, name: self.header(step).kind_of(name))
        way = [
            {"source": step.source, **self.engine(step), **_read_as(step), **self.fingerprint(step)} for step in path
        ]
        return reached(path) | kinds | ({WAY: way} if way else {})

    def header(self, table: Table) -> Header:
        return self.curator.engine.at(table.engine).header(table.source, folder=self.folder, layout=table.layout)

    def fingerprint(self, table: Table) -> dict[str, Any]:
        return fingerprint(self.trace(table), seal=self.ledger.keyed_digest)

    def trace(self, table: Table) -> SourceTrace:
        return trace_of(table.source, folder=self.folder, engine=self.curator.engine.at(table.engine))

    def stamps(self, steps: Sequence[Table]) -> list[tuple[Path, tuple[int, int, int]]] | None:
        """Which files here these tables are made from, and what changes when one is written to; None where one goes."""
        files = [file for step in steps if step.engine == DEFAULT for file in self.trace(step).files]
        try:
            return list(zip(files, stamp_of(files), strict=True))
        except OSError:
            return None

    def contents(self, steps: Sequence[Table]) -> dict[str, Any]:
        """The content of what a version is made from, sealed; of files here alone, for only they are compared by it."""
        seal = self.ledger.keyed_digest
        return {
            CONTENT: [content_of(self.trace(step), seal=seal) if step.engine == DEFAULT else None for step in steps]
        }

    def sources(self, table: Table) -> TableSources:
        """What a table is made from; of a public one, which has no persons and may not be in the file yet, its own."""
        path = () if table.public else path_of(table, self.file.tables)
        persons = None if table.public else self.persons(table, path)
        return TableSources(
            tables=(table, *path),
            naming=[] if persons is None else naming_of(table.name, self.declaration(table), persons),
            folder=self.folder,
            engine=self.curator.engine,
            seal=self.ledger.keyed_digest,
        )

    def is_missing(self, address: str, name: str) -> bool:
        """Whether a version is not where it was made."""
        engine = self.curator.engine.at(address)
        place = engine.place(name, folder=self.curator.folder)
        try:
            engine.ready(TableLocations(files={Scan(table=name, version=1): place}, engine=address))
        except LedgerFault:
            return True
        return False


def _read_as(step: Table) -> dict[str, Any]:
    """How the file of a table on the way is read, where that is declared: other rows, and other persons, follow."""
    return step.layout.settings() | ({} if step.null is None else {"null": list(step.null)})


def engine_address(record: VersionRecord, table: Table) -> str:
    """Where a version lies: files of ours stay; another engine's is looked for where it is declared to be now.

    A server may move. If the engine is of another kind by now, the version is not there, and that is said.
    """
    return table.engine if is_elsewhere(record) else DEFAULT


def is_elsewhere(record: VersionRecord) -> bool:
    """Whether a version lies on another engine than that of files: not if it has `ends`, wherever its source is."""
    return ENGINE in record.schema and "ends" not in record.schema
