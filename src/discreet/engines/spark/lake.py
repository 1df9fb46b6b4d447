"""A declared table in a lake: a folder with a manifest, which says what else in the folder is the table.

    NAME.lake/manifest.json       the columns, and the names below
    NAME.lake/rows-…/*.parquet    the codes, under c0, c1, ...; whose they are, under person
    NAME.lake/persons-…/*.parquet number, tag and rows of each person

Guarantee: the table is the one that the manifest names, whole; without a manifest there is none.
Because: what is written has a name that nothing had before, and is on the disk before the manifest, which is replaced
    as one file, and only by what was made of it; what no manifest names is nobody's, and is swept away where nobody is
    at work: on this machine's files by who made it, or after a kill by the next one who makes a table beside it.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from discreet.engines.spark.folder_lock import LOCK
from discreet.engines.spark.lake_store import LakeStore, is_local, local_path
from discreet.engines.spark.session import SparkSession
from discreet.engines.spark.spark_source import read_files
from discreet.engines.table_file import PERSON
from discreet.errors import LedgerFault, UsageError

_MANIFEST = "manifest.json"
_ENDING = ".lake"

#: What a making or an erasure writes before there is a manifest; nothing else is ever swept away beside a table.
_OURS = re.compile(rf"(rows|persons|work)-[0-9a-f]{{16}}/.*|{re.escape(LOCK)}|\.{re.escape(_MANIFEST)}\.[0-9a-f]{{16}}")

#: How long another process that is at work on a table is waited for.
_PATIENCE_S = 60.0

_PERSONS = [("number", "long"), ("tag", "binary"), ("rows", "long")]


@dataclass(frozen=True, slots=True, kw_only=True)
class LakePart:
    """A folder of Parquet files: its name, and their names and sizes."""

    folder: str
    files: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LakeManifest:
    """What a declared table consists of. `columns`: names and Spark's types, in declared order."""

    columns: tuple[tuple[str, str], ...]
    rows: LakePart
    persons: LakePart | None = None

    def to_bytes(self) -> bytes:
        return json.dumps(
            {
                "columns": self.columns,
                "rows": [self.rows.folder, self.rows.files],
                "persons": None if self.persons is None else [self.persons.folder, self.persons.files],
            }
        ).encode()

    @staticmethod
    def read(content: bytes) -> LakeManifest:
        fields = json.loads(content)
        return LakeManifest(
            columns=tuple((name, type_) for name, type_ in fields["columns"]),
            rows=_part(fields["rows"]),
            persons=None if fields["persons"] is None else _part(fields["persons"]),
        )


def _part(folder_and_files: Any) -> LakePart:
    folder, files = folder_and_files
    return LakePart(folder=folder, files=tuple((name, int(size)) for name, size in files))


@dataclass(frozen=True, slots=True, kw_only=True)
class LakeTable:
    """The declared table in a folder of a store."""

    store: LakeStore
    folder: str

    def manifest(self) -> LakeManifest | None:
        """What the table consists of; None where there is none."""
        content = self.store.read(f"{self.folder}/{_MANIFEST}")
        return None if content is None else LakeManifest.read(content)

    def whole_manifest(self) -> LakeManifest:
        """Its manifest, where every file is there and has its size. Reads no row."""
        with suppress(ValueError, KeyError, TypeError):
            manifest = self.manifest()
            if manifest is not None and all(self._is_whole(part) for part in (manifest.rows, manifest.persons) if part):
                return manifest
        raise LedgerFault("a declared table is no longer complete in the lake", hint="restore its folder")

    def _is_whole(self, part: LakePart) -> bool:
        return self.part(part.folder) == part

    def part(self, folder: str) -> LakePart:
        """A folder of the table as it lies there now, by the files that lie in it themselves.

        Below it may lie files of the same names: a task that ran twice, and lost, writes into `_temporary` until it is
        ended, also after the others' files were taken over and that folder was removed.
        """
        entries = self.store.files(f"{self.folder}/{folder}")
        placed = [(entry.path.rsplit("/", 2), entry.size) for entry in entries]
        named = [(names[-1], size) for names, size in placed if names[-2] == folder]
        return LakePart(folder=folder, files=tuple(pair for pair in named if not pair[0].startswith(("_", "."))))

    @contextmanager
    def making(self) -> Iterator[str]:
        """A mark for the names of new parts; they become the table by `commit`, or vanish. Nobody else is at work."""
        self.store.make(self.folder)
        with self.store.lock_folder(self.folder, patience_s=_PATIENCE_S) as free:
            if free is False:
                raise UsageError("another process is working on this declared table", hint="try again when it is done")
            try:
                self._drop_orphans_beside()
                yield secrets.token_hex(8)
            finally:
                self.drop_orphans()

    def commit(self, manifest: LakeManifest, *, after: LakeManifest | None = None) -> None:
        """These parts are the table from now on, if it is still what it was `after` which they were made."""
        for part in (manifest.rows, manifest.persons):
            if part is not None:
                self.store.make_durable(f"{self.folder}/{part.folder}")
        self.store.make_durable(self.folder)
        if self.manifest() != after:
            raise UsageError("the declared table was replaced in the meantime", hint="try again: nothing is half done")
        self.store.write(f"{self.folder}/{_MANIFEST}", manifest.to_bytes())

    def drop_orphans(self) -> None:
        """Take away what is not the table; all of it, where there is none."""
        manifest = self.manifest()
        if manifest is None:
            self.store.drop(self.folder)
            return
        named = {part.folder for part in (manifest.rows, manifest.persons) if part}
        for folder in set(self.store.folders(self.folder)) - named:
            self.store.drop(f"{self.folder}/{folder}")

    def _drop_orphans_beside(self) -> None:
        """Take away what a killed process left in tables beside this one. Where somebody is at work, nothing."""
        if not is_local(self.folder):
            return
        above, _, own = self.folder.rstrip("/").rpartition("/")
        for name in self.store.folders(above):
            if name.endswith(_ENDING) and name != own:
                LakeTable(store=self.store, folder=f"{above}/{name}")._drop_own_orphans()

    def _drop_own_orphans(self) -> None:
        with suppress(OSError, ValueError, KeyError, TypeError, UsageError):  # it is not what was asked for
            if not self._has_orphans():
                return
            with self.store.lock_folder(self.folder, patience_s=0.0) as free:
                if free and self._has_orphans():
                    self.drop_orphans()

    def _has_orphans(self) -> bool:
        """Whether something of ours lies here that no manifest names; and, where there is none, nothing else."""
        manifest = self.manifest()
        if manifest is None:
            start = len(local_path(self.folder)) + 1
            return all(_OURS.fullmatch(entry.path[start:]) for entry in self.store.files(self.folder))
        named = {part.folder for part in (manifest.rows, manifest.persons) if part}
        return any(_OURS.fullmatch(f"{folder}/") for folder in set(self.store.folders(self.folder)) - named)

    def rows(self, session: SparkSession, manifest: LakeManifest) -> Any:
        """The declared table as a data frame, with its columns' own names."""
        fields = [(f"c{place}", type_) for place, (_, type_) in enumerate(manifest.columns)]
        names = [name for name, _ in manifest.columns]
        if manifest.persons is not None:
            fields, names = [*fields, ("person", "long")], [*names, PERSON]
        return self._frame(session, manifest.rows, fields).toDF(*names)

    def persons(self, session: SparkSession, manifest: LakeManifest) -> Any:
        """The persons: number, tag, rows."""
        assert manifest.persons is not None
        return self._frame(session, manifest.persons, _PERSONS)

    def _frame(self, session: SparkSession, part: LakePart, fields: list[tuple[str, str]]) -> Any:
        """A part by its folder's name: one name, however many files. Spark lists them, and must find all of them."""
        listed = [{"name": name, "type": type_, "nullable": True, "metadata": {}} for name, type_ in fields]
        frame = read_files(session, [f"{self.folder}/{part.folder}"] if part.files else [], listed)
        if sorted(file.rsplit("/", 1)[-1] for file in frame.inputFiles()) != sorted(name for name, _ in part.files):
            raise LedgerFault("a declared table is no longer complete in the lake", hint="restore its folder")
        return frame
