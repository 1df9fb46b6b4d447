"""Whether a source changed since a version was made from it.

Sizes and times are compared first, and files are read only where those leave it open: one that was copied or touched
holds the same rows. All of it is for the owner's eyes: that a file changed is a bit about the people in it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from discreet.engines.engine import SourceTrace
from discreet.engines.fingerprint import has_content, is_same_source, trace_of
from discreet.engines.person_keys import MARK
from discreet.errors import DiscreetError
from discreet.kernel.erasure import person_keys
from discreet.ledger.chain import canonical_json
from discreet.ledger.records import VersionRecord
from discreet.project.version_records import CONTENT, PROGRAM, VersionRecords, engine_address
from discreet.schema.address import DEFAULT
from discreet.schema.person_identity import KINDS, REACHED, WAY
from discreet.schema.person_path import path_of
from discreet.schema.schema import Table


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceChanges:
    """What the sources of a project's tables are now, compared with what their versions were made from."""

    records: VersionRecords

    def is_up_to_date(self, name: str) -> bool | None:
        """Whether a new version would be made from the same source by the same declaration. For the owner's eyes only.

        None: no change is visible, but rows may have changed. A file that was written to has another time or size,
        and where only its time differs it is read; a server knows of its newest rows some seconds late, and a lake's
        times are coarse. Where an erasure broke off, its rows are still there.
        """
        table = self.records.file.table(name)
        state = self.records.ledger.refresh()
        record = self.records.newest_record(table)
        if table.public or record is None or state.is_stale(record) or state.refinements.erasing:
            return False
        declared = (record.schema, record.population, record.number + 1)
        if declared != (self.records.declaration(table), table.population, state.next_version(table.name)):
            return False
        path = path_of(table, self.records.file.tables)
        try:
            source = self.records.fingerprint(table) | self.records.persons(table, path)
            is_missing = self.records.is_missing(engine_address(record, table), record.file)
            keys_folder = self.records.curator.folder
            if MARK in record.source and person_keys(self.records.ledger, keys_folder).mark != record.source[MARK]:
                return False
        except (DiscreetError, OSError):  # whoever makes it says what is wrong
            return False
        stored = {key: part for key, part in record.source.items() if key not in (MARK, CONTENT, PROGRAM)}
        source = self._with_known_files(source, record, (table, *path))
        if is_missing or not source["files"] or canonical_json(stored) != canonical_json(source):
            return False
        steps = (table, *path)
        if not all(step.engine == DEFAULT for step in steps):
            return None
        return True if not self._is_touched(steps, record) else self._has_same_content(steps, record)

    def _has_same_content(self, steps: Sequence[Table], record: VersionRecord) -> bool | None:
        """Whether the files of these tables hold what a version was made from; None where it kept no digest of that."""
        contents = record.source.get(CONTENT, ())
        if len(contents) != len(steps):
            return None
        traces = [self.records.trace(step) for step in steps]
        return all(
            has_content(trace, content, seal=self.records.ledger.keyed_digest)
            for trace, content in zip(traces, contents, strict=True)
        )

    def _is_touched(self, tables: Sequence[Table], record: VersionRecord) -> bool:
        """Whether anything was done to a file of these tables after a version was made: written, moved here, its times
        set. The time of that is the system's own, which nobody sets back.
        """
        engine, made = self.records.curator.engine.at(DEFAULT), datetime.fromisoformat(record.time).timestamp()
        folder = self.records.folder
        files = [file for table in tables for file in trace_of(table.source, folder=folder, engine=engine).files]
        return any(file.stat().st_ctime >= made + 1 for file in files)  # the ledger's times are whole seconds

    def changed_sources(self, names: Collection[str]) -> list[str] | None:
        """Which of these tables have files that changed since their newest version. For the owner's eyes only.

        None: unknown for one of them, because it is on another engine or cannot be reached. A file is read only where
        its size is the same and its time is not.
        """
        changed = []
        self.records.ledger.refresh()
        for table in (self.records.file.table(name) for name in names):
            record = self.records.newest_record(table)
            if table.public or record is None:
                continue
            now = self.records.fingerprint(table) if table.engine == DEFAULT else {"files": []}
            if not now["files"]:
                return None
            if record.source.get("files") != self._with_known_files(now, record, (table,))["files"]:
                changed.append(table.name)
        return changed

    def source_changed(self, name: str) -> bool:
        """Whether the source is not what the newest version was made from. For the owner's eyes only."""
        table = self.records.file.table(name)
        self.records.ledger.refresh()
        record = self.records.newest_record(table)
        if record is None:
            return False
        if not (now := self.records.fingerprint(table))["files"]:  # it cannot be read, and this says why
            self.records.curator.engine.at(table.engine).trace(table.source, folder=self.records.folder)
        now = self._with_known_files(now, record, (table,))
        kept = {
            key: record.source[key] for key in record.source if key not in (MARK, REACHED, KINDS, WAY, CONTENT, PROGRAM)
        }
        return kept != now

    def _with_known_files(
        self, source: dict[str, Any], record: VersionRecord, steps: Sequence[Table]
    ) -> dict[str, Any]:
        """Sources as they are now, where files with another time and the same content count as those of the version."""
        kept = [record.source, *record.source.get(WAY, ())]
        now: list[dict[str, Any]] = [source, *source.get(WAY, ())]
        contents = record.source.get(CONTENT, ())
        seal = self.records.ledger.keyed_digest
        for place, (step, content) in enumerate(zip(steps, contents, strict=False)):
            if place >= min(len(kept), len(now)) or kept[place].get("files") == now[place]["files"]:
                continue
            if step.engine == DEFAULT and has_content(self.records.trace(step), content, seal=seal):
                now[place] = now[place] | {"files": kept[place]["files"]}
        return now[0] | ({WAY: now[1:]} if now[1:] else {})

    def is_source_file(self, file: Path) -> bool:
        """Whether a file that is there is, or is part of, a source of one of the tables."""
        if not file.exists():
            return False
        engine, here = self.records.curator.engine.at(DEFAULT), SourceTrace(same=(), files=(file,))
        sources = [table.source for table in self.records.file.tables.values()]
        folder = self.records.folder
        return any(is_same_source(trace_of(source, folder=folder, engine=engine), here) for source in sources)
