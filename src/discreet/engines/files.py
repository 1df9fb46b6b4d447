"""What engines share whose declared tables are files of ours, and whose sources are files."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from discreet.engines import source as sources
from discreet.engines.engine import ExactPersons, Tables, Trace
from discreet.engines.forget import erase
from discreet.engines.keyed import TAG_BYTES
from discreet.engines.place import Place
from discreet.engines.source import Source
from discreet.engines.stored import persons_file
from discreet.engines.values import rows
from discreet.errors import LedgerFault, SchemaError

#: What the names of side files end in: see `stored.persons_file`.
_BESIDE = ".persons.parquet"


class Files:
    """Sources and declared tables that are files."""

    ending = ".parquet"

    def header(self, source: str, *, folder: Path) -> Source:
        """The names of a source's columns."""
        return sources.find(source, folder=folder)

    def trace(self, source: str, *, folder: Path) -> Trace:
        """The sizes and times of a source's files: a moved file is known again."""
        found = sources.find(source, folder=folder)
        return Trace(same=tuple(f"{size} {time}" for size, time, *_ in found.stamp()), files=found.files)

    def rows(self, source: str, names: Sequence[str], *, folder: Path) -> Iterator[Sequence[Any]]:
        """The rows of a public source, these columns in this order."""
        found = sources.find(source, folder=folder)
        places = [found.place(name) for name in names]
        for row in rows(found):
            yield tuple([row[place] for place in places])  # of which the collector keeps no count

    def place(self, name: str, *, folder: Path) -> Path:
        """A file in the folder of declared tables."""
        return folder / name

    def ready(self, tables: Tables) -> None:
        """Refuse where a declared table is not on the disk."""
        for scan, place in tables.files.items():
            if not path_of(place).is_file():
                raise LedgerFault(
                    f"version {scan.version} of {scan.table!r} is not on the disk any more",
                    hint=f"bring the folder back, or discreet refresh {scan.table}",
                )

    def erase(self, place: Place, tags: Collection[bytes]) -> int:
        """Erase persons from both files of a declared table; nobody where it is not there."""
        file = path_of(place)
        return erase(file, tags) if file.is_file() else 0

    def persons(self, place: Place) -> ExactPersons:
        """What the side file holds."""
        return read_persons(persons_file(path_of(place)))

    def drop(self, place: Place) -> None:
        """Unlink both files."""
        for file in (path_of(place), persons_file(path_of(place))):
            file.unlink(missing_ok=True)

    def listed(self, ledger: str, *, folder: Path) -> Collection[str]:
        """Files by their names, and side files by those of their tables."""
        found = {file.name for file in folder.glob(f"*-{ledger}-*{self.ending}")}
        return {name.replace(_BESIDE, self.ending) for name in found}


def read_persons(file: Path) -> ExactPersons:
    """The persons of a side file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        found = pq.read_table(file, columns=["tag", "rows"], partitioning=None)
    except (OSError, pa.ArrowException):
        raise LedgerFault(
            "the newest version of the table is not whole on the disk", hint="bring it back, or discreet refresh"
        ) from None
    tags = found.column("tag").combine_chunks().cast(pa.binary(TAG_BYTES))
    return ExactPersons(tags, found.column("rows").to_numpy().astype(np.int64))


def path_of(place: Place) -> Path:
    """The file at a place."""
    if not isinstance(place, Path):
        raise SchemaError("this version was made on another engine", hint="discreet refresh makes one on this")
    return place


def folders(tables: Tables) -> set[Path]:
    """The folders that a question's files lie in."""
    return {path_of(place).parent for place in tables.files.values()}
