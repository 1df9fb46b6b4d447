"""What an engine is. Engines know data and no epsilon; they count, exactly, and say nothing else."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.accounting.region import Region, Value
from discreet.plan.cells import Cells
from discreet.plan.expressions import Expression
from discreet.plan.relation import Plan, Scan
from discreet.schema.schema import Table

#: Exact whole numbers: 64 bits wide, or Python's own where that is not enough.
Integers = NDArray[np.int64] | NDArray[np.object_]


class EngineFailure(Exception):
    """The engine could not finish. Its cause may hold data: for the owner's eyes, never in an answer."""


class _Secret:
    """Cannot be printed or pickled; only the curator opens it."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "<exact cells, not shown>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("exact cells do not leave the curator")


class Exact(_Secret):
    """Exact cells, one vector for each statistic, in row-major order over the axes."""

    __slots__ = ("exact_values",)

    def __init__(self, exact_values: tuple[Integers, ...]) -> None:
        self.exact_values = exact_values


class ExactKeys(_Secret):
    """The keys that exist, sorted, and the exact number of persons of each."""

    __slots__ = ("exact_keys", "exact_persons")

    def __init__(self, exact_keys: tuple[tuple[Value | None, ...], ...], exact_persons: Integers) -> None:
        self.exact_keys = exact_keys
        self.exact_persons = exact_persons


@dataclass(frozen=True, slots=True, kw_only=True)
class Tables:
    """Where the tables of a question lie: declared ones by version, public ones, coded, by the place of their join."""

    files: Mapping[Scan, Path]
    publics: Mapping[int, Any] = field(default_factory=dict)

    def file(self, scan: Scan) -> Path:
        return self.files[scan]

    def folders(self) -> set[Path]:
        return {file.parent for file in self.files.values()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Making:
    """What happened when a declared table was made. For the owner only: it is exact.

    Each row of the source is one of `exact_rows`, `exact_truncated` and `exact_without_person`, or belongs to
    a person who was forgotten and is counted nowhere; through another table, once under each person that it
    reaches. What was nulled and clamped is counted over all three. `exact_persons`: None where a unit is a row.
    """

    exact_rows: int
    exact_nulled: Mapping[str, int]
    exact_clamped: Mapping[str, int]
    exact_without_person: int = 0
    exact_truncated: int = 0
    exact_persons: int | None = None


class Engine(Protocol):
    """Makes declared tables and counts in them."""

    def columns(self, source: Path) -> Mapping[str, str]:
        """The names of a source's columns and the types proposed for them, for `discreet add`."""

    def declare(
        self,
        table: Table,
        *,
        folder: Path,
        target: Path,
        key: bytes | None = None,
        tag_key: bytes | None = None,
        path: tuple[Table, ...] = (),
        forgotten: Collection[bytes] = (),
    ) -> Making:
        """Make the declared table of `table` (sources are relative to `folder`) at `target`.

        Persons with many rows need two keys of 32 bytes, `key` to pick rows and `tag_key` to tag persons (see
        `keyed`), and the tables on the `path` to them, nearest first; those whose tags are `forgotten` are left
        out. Their side file lies beside the table: `stored.persons_file`.
        """

    def count(self, cells: Cells, region: Region, *, tables: Tables) -> Exact:
        """The exact cells; units outside `region` are in none."""

    def keys(
        self, plan: Plan, keys: tuple[Expression, ...], region: Region, *, persons: bool, tables: Tables
    ) -> ExactKeys:
        """The keys that exist, sorted, and the exact number of persons (else of rows) of each."""
