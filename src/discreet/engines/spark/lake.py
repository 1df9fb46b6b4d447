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

from discreet.engines.spark.alone import LOCK
from discreet.engines.spark.session import Session
from discreet.engines.spark.source import read_files
from discreet.engines.spark.store import Store, is_local, plain
from discreet.engines.stored import PERSON
from discreet.errors import LedgerFault, UsageError

_MANIFEST = "manifest.json"
_ENDING = ".lake"

#: What a making or an erasure writes before there is a manifest; nothing else is ever swept away beside a table.
_OURS = re.compile(rf"(rows|persons|work)-[0-9a-f]{{16}}/.*|{re.escape(LOCK)}|\.{re.escape(_MANIFEST)}\.[0-9a-f]{{16}}")

#: How long another process that is at work on a table is waited for.
_PATIENCE_S = 60.0

_PERSONS = [("number", "long"), ("tag", "binary"), ("rows", "long")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A folder of Parquet files: its name, and their names and sizes."""

    folder: str
    files: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What a declared table consists of. `columns`: names and Spark's types, in declared order."""

    columns: tuple[tuple[str, str], ...]
    rows: Part
    persons: Part | None = None

    def written(self) -> bytes:
        return json.dumps(
            {
                "columns": self.columns,
                "rows": [self.rows.folder, self.rows.files],
                "persons": None if self.persons is None else [self.persons.folder, self.persons.files],
            }
        ).encode()

    @staticmethod
    def read(content: bytes) -> Manifest:
        told = json.loads(content)
        return Manifest(
            columns=tuple((name, type_) for name, type_ in told["columns"]),
            rows=_part(told["rows"]),
            persons=None if told["persons"] is None else _part(told["persons"]),
        )


def _part(told: Any) -> Part:
    folder, files = told
    return Part(folder=folder, files=tuple((name, int(size)) for name, size in files))


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """The declared table in a folder of a store."""

    store: Store
    folder: str

    def manifest(self) -> Manifest | None:
        """What the table consists of; None where there is none."""
        content = self.store.read(f"{self.folder}/{_MANIFEST}")
        return None if content is None else Manifest.read(content)

    def whole(self) -> Manifest:
        """Its manifest, where every file is there and has its size. Reads no row."""
        with suppress(ValueError, KeyError, TypeError):
            found = self.manifest()
            if found is not None and all(self._is_whole(part) for part in (found.rows, found.persons) if part):
                return found
        raise LedgerFault("a declared table is not whole in the lake any more", hint="bring its folder back")

    def _is_whole(self, part: Part) -> bool:
        return self.part(part.folder) == part

    def part(self, folder: str) -> Part:
        """A folder of the table as it lies there now."""
        found = self.store.files(f"{self.folder}/{folder}")
        named = [(entry.path.rsplit("/", 1)[-1], entry.size) for entry in found]
        return Part(folder=folder, files=tuple(pair for pair in named if not pair[0].startswith(("_", "."))))

    @contextmanager
    def making(self) -> Iterator[str]:
        """A mark for the names of new parts; they become the table by `become`, or vanish. Nobody else is at work."""
        self.store.make(self.folder)
        with self.store.alone(self.folder, patience_s=_PATIENCE_S) as free:
            if free is False:
                raise UsageError("another process is at work on this declared table", hint="try again when it is done")
            try:
                self._sweep_beside()
                yield secrets.token_hex(8)
            finally:
                self.sweep()

    def become(self, manifest: Manifest, *, after: Manifest | None = None) -> None:
        """These parts are the table from now on, if it is still what it was `after` which they were made."""
        for part in (manifest.rows, manifest.persons):
            if part is not None:
                self.store.settle(f"{self.folder}/{part.folder}")
        self.store.settle(self.folder)
        if self.manifest() != after:
            raise UsageError("the declared table was replaced meanwhile", hint="try again: nothing is half done")
        self.store.write(f"{self.folder}/{_MANIFEST}", manifest.written())

    def sweep(self) -> None:
        """Take away what is not the table; all of it, where there is none."""
        found = self.manifest()
        if found is None:
            self.store.drop(self.folder)
            return
        named = {part.folder for part in (found.rows, found.persons) if part}
        for folder in set(self.store.folders(self.folder)) - named:
            self.store.drop(f"{self.folder}/{folder}")

    def _sweep_beside(self) -> None:
        """Take away what a killed process left in tables beside this one. Where somebody is at work, nothing."""
        if not is_local(self.folder):
            return
        above, _, own = self.folder.rstrip("/").rpartition("/")
        for name in self.store.folders(above):
            if name.endswith(_ENDING) and name != own:
                Table(store=self.store, folder=f"{above}/{name}")._sweep_left()

    def _sweep_left(self) -> None:
        with suppress(OSError, ValueError, KeyError, TypeError, UsageError):  # it is not what was asked for
            if not self._has_leftovers():
                return
            with self.store.alone(self.folder, patience_s=0.0) as free:
                if free and self._has_leftovers():
                    self.sweep()

    def _has_leftovers(self) -> bool:
        """Whether something of ours lies here that no manifest names; and, where there is none, nothing else."""
        found = self.manifest()
        if found is None:
            start = len(plain(self.folder)) + 1
            return all(_OURS.fullmatch(entry.path[start:]) for entry in self.store.files(self.folder))
        named = {part.folder for part in (found.rows, found.persons) if part}
        return any(_OURS.fullmatch(f"{folder}/") for folder in set(self.store.folders(self.folder)) - named)

    def rows(self, session: Session, manifest: Manifest) -> Any:
        """The declared table as a data frame, with its columns' own names."""
        fields = [(f"c{place}", type_) for place, (_, type_) in enumerate(manifest.columns)]
        names = [name for name, _ in manifest.columns]
        if manifest.persons is not None:
            fields, names = [*fields, ("person", "long")], [*names, PERSON]
        return self._frame(session, manifest.rows, fields).toDF(*names)

    def persons(self, session: Session, manifest: Manifest) -> Any:
        """The persons: number, tag, rows."""
        assert manifest.persons is not None
        return self._frame(session, manifest.persons, _PERSONS)

    def _frame(self, session: Session, part: Part, fields: list[tuple[str, str]]) -> Any:
        """A part by its folder's name: one name, however many files. Spark lists them, and must find all of them."""
        listed = [{"name": name, "type": type_, "nullable": True, "metadata": {}} for name, type_ in fields]
        frame = read_files(session, [f"{self.folder}/{part.folder}"] if part.files else [], listed)
        if sorted(file.rsplit("/", 1)[-1] for file in frame.inputFiles()) != sorted(name for name, _ in part.files):
            raise LedgerFault("a declared table is not whole in the lake any more", hint="bring its folder back")
        return frame
