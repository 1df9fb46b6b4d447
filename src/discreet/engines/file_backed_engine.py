"""What engines share whose declared tables are files of ours, and whose sources are files."""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from discreet.engines import file_source as sources
from discreet.engines.engine import ExactPersons, SourceTrace, TableLocations
from discreet.engines.file_source import FileSource
from discreet.engines.keyed_hashes import TAG_BYTES
from discreet.engines.source_values import source_rows
from discreet.engines.table_file import persons_file
from discreet.engines.table_location import TableLocation
from discreet.errors import Command, LedgerFault, Message, SchemaError
from discreet.schema.schema import Table
from discreet.schema.source_layout import UNDECLARED, SourceLayout

#: What the names of side files end in: see `stored.persons_file`.
_BESIDE = ".persons.parquet"


class FileBackedEngine:
    """Sources and declared tables that are files."""

    ending = ".parquet"

    def header(self, source: str, *, folder: Path, layout: SourceLayout = UNDECLARED) -> FileSource:
        """The names of a source's columns; none of JSON lines, whose rows have them."""
        return sources.find(source, folder=folder, layout=layout, declared=())

    def trace(self, source: str, *, folder: Path) -> SourceTrace:
        """The sizes and times of a source's files: a moved file is known again."""
        files = sources.files_of(source, folder=folder)
        return SourceTrace(same=tuple(f"{size} {time}" for size, time, _ in sources.stamp_of(files)), files=files)

    def rows(
        self, source: str, names: Sequence[str], *, folder: Path, layout: SourceLayout = UNDECLARED
    ) -> Iterator[Sequence[Any]]:
        """The rows of a public source, these columns in this order."""
        file_source = sources.find(source, folder=folder, layout=layout, declared=names)
        places = [file_source.place(name) for name in names]
        for row in source_rows(file_source):
            yield tuple([row[place] for place in places])  # of which the collector keeps no count

    def place(self, name: str, *, folder: Path) -> Path:
        """A file in the folder of declared tables."""
        return folder / name

    def end_texts(self, table: Table, *, folder: Path) -> Generator[Any]:
        """None: networks are made from files where they are kept, by `declare`."""
        raise ValueError("the ends of edges in files are not sent anywhere")

    def ready(self, tables: TableLocations) -> None:
        """Refuse where a declared table is not on the disk."""
        for scan, place in tables.files.items():
            if not path_of(place).is_file():
                raise LedgerFault(
                    f"version {scan.version} of {scan.table!r} is no longer on disk",
                    hint=Message("restore the folder, or run ", Command("refresh", scan.table)),
                )

    def erase(self, place: TableLocation, tags: Collection[bytes]) -> int:
        """Erase persons from both files of a declared table; nobody where it is not there."""
        from discreet.engines.person_erasure import erase

        file = path_of(place)
        return erase(file, tags) if file.is_file() else 0

    def persons(self, place: TableLocation) -> ExactPersons:
        """What the side file holds."""
        return read_persons(persons_file(path_of(place)))

    def drop(self, place: TableLocation) -> None:
        """Unlink both files."""
        for file in (path_of(place), persons_file(path_of(place))):
            file.unlink(missing_ok=True)

    def table_names(self, ledger: str, *, folder: Path) -> Collection[str]:
        """Files by their names, and side files by those of their tables."""
        file_names = {file.name for file in folder.glob(f"*-{ledger}-*{self.ending}")}
        return {name.replace(_BESIDE, self.ending) for name in file_names}


def read_persons(file: Path) -> ExactPersons:
    """The persons of a side file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        person_table = pq.read_table(file, columns=["tag", "rows"], partitioning=None)
    except (OSError, pa.ArrowException):
        raise LedgerFault(
            "the newest version of the table is not complete on disk",
            hint=Message("restore it, or run ", Command("refresh")),
        ) from None
    tags = person_table.column("tag").combine_chunks().cast(pa.binary(TAG_BYTES))
    return ExactPersons(tags, person_table.column("rows").to_numpy().astype(np.int64))


def path_of(place: TableLocation) -> Path:
    """The file at a place."""
    if not isinstance(place, Path):
        raise SchemaError(
            "this version was made on another engine", hint=Message("run ", Command("refresh"), " to make one here")
        )
    return place


def folders(tables: TableLocations) -> set[Path]:
    """The folders that a question's files lie in."""
    return {path_of(place).parent for place in tables.files.values()}
