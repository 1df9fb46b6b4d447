"""Whether a table's new version can build on its newest: files were added to its source, and nothing else changed.

Guarantee: what an earlier version is offered for is a source whose other files hold, byte for byte, what that version
    was made from; declared, converted and keyed as then.
Because: each of these files has the digest that the version kept of its content; the files of tables on the way to the
    persons are the same ones, by their digests; the declaration, the columns' kinds, the population, the keys of
    persons and the program are those that it was made by. Where any of it is unknown, nothing is offered. A version
    keeps digests only if no file came, went or changed from before they were taken until it was made
    (`Versions._make`): so they are those of the files that were read, of all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version as installed_version
from typing import Any

from discreet.engines.earlier_version import EarlierVersion
from discreet.engines.file_source import stamp_of
from discreet.engines.fingerprint import has_content, matching_files
from discreet.engines.person_keys import MARK
from discreet.errors import DiscreetError
from discreet.kernel.erasure import person_keys
from discreet.ledger.chain import canonical_json
from discreet.ledger.records import VersionRecord
from discreet.project.version_records import CONTENT, PROGRAM, VersionRecords, engine_address
from discreet.schema.address import DEFAULT
from discreet.schema.person_identity import WAY
from discreet.schema.schema import Table
from discreet.storage.program_version import VERSION

#: What of a source says which files it has, and not how they are read.
_FILES = ("files", "state")


def program() -> str:
    """What makes declared tables: another program may convert a value in another way."""
    return f"discreet {VERSION}, duckdb {installed_version('duckdb')}"


def earlier_version(records: VersionRecords, table: Table, path: Sequence[Table]) -> EarlierVersion | None:
    """The newest version, if a new one can build on it."""
    record, state = records.newest_record(table), records.ledger.refresh()
    if record is None or state.is_stale(record) or state.refinements.erasing:
        return None
    if table.schema.unit.ends or not all(step.engine == DEFAULT for step in (table, *path)):
        return None
    declared = (record.schema, record.population, record.number + 1)
    if declared != (records.declaration(table), table.population, state.next_version(table.name)):
        return None
    try:
        return _unchanged_part(records, record, table, path)
    except (DiscreetError, OSError):  # whoever makes the version says what is wrong
        return None


def _unchanged_part(
    records: VersionRecords, record: VersionRecord, table: Table, path: Sequence[Table]
) -> EarlierVersion | None:
    contents, seal = record.source.get(CONTENT, ()), records.ledger.keyed_digest
    if record.source.get(PROGRAM) != program() or len(contents) != 1 + len(path):
        return None
    if MARK in record.source and person_keys(records.ledger, records.curator.folder).mark != record.source[MARK]:
        return None
    now = records.fingerprint(table) | records.persons(table, path)
    if canonical_json(_without_files(record.source)) != canonical_json(_without_files(now)):
        return None
    traces = [records.trace(step) for step in path]
    way = tuple(file for each in traces for file in each.files)
    way_stamps = stamp_of(way)  # before they are read
    if not all(has_content(each, content, seal=seal) for each, content in zip(traces, contents[1:], strict=True)):
        return None
    address = engine_address(record, table)
    trace = records.trace(table)
    stamps = dict(zip(trace.files, stamp_of(trace.files), strict=True))
    files = matching_files(trace, contents[0], seal=seal)
    if not files or len(files) == len(trace.files) or records.is_missing(address, record.file):
        return None
    place = records.curator.engine.at(address).place(record.file, folder=records.curator.folder)
    old_stamps = tuple(stamps[file] for file in files)
    return EarlierVersion(place=place, files=files, way=way, stamps=(*old_stamps, *way_stamps))


def _without_files(source: dict[str, Any]) -> dict[str, Any]:
    """How a source is read, of which columns and kinds, and on which way persons are reached."""
    kept = {key: part for key, part in source.items() if key not in (*_FILES, MARK, CONTENT, PROGRAM)}
    way = [{key: part for key, part in step.items() if key not in _FILES} for step in kept.get(WAY, ())]
    return kept | ({WAY: way} if way else {})
