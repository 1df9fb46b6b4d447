"""The version that a new one builds on, where files were only added to a table's source."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

from discreet.engines.engine import DeclarationOutcome
from discreet.engines.table_location import TableLocation
from discreet.schema.schema import Table


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierVersion:
    """A version of the same table, made by the same declaration, keys and program from some of its files.

    way: the files of the tables on the way to its persons.
    stamps: those of all these files before their content was compared with what the version was made from.
    """

    place: TableLocation
    files: tuple[Path, ...]
    way: tuple[Path, ...] = ()
    stamps: tuple[tuple[int, int, int], ...]


@runtime_checkable
class ExtendingEngine(Protocol):
    """An engine that makes a version from an earlier one and the files that were added since."""

    def extend(
        self,
        table: Table,
        *,
        folder: Path,
        target: TableLocation,
        earlier: EarlierVersion,
        key: bytes | None = None,
        tag_key: bytes | None = None,
        path: tuple[Table, ...] = (),
        forgotten: Collection[bytes] = (),
    ) -> DeclarationOutcome | None:
        """Make the declared table that `declare` would make; None, and nothing at `target`, where it has to be made
        from all of the source.
        """
