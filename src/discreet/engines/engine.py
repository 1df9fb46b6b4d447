"""What an engine is. Engines know data and no epsilon; they count, exactly, and say nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.plan.cells import Cells
from discreet.schema.schema import Schema, Table


class EngineFailure(Exception):
    """The engine could not finish. Its cause may hold data: for the owner's eyes, never in an answer."""


class Exact:
    """Exact cells, in row-major order over the axes. Cannot be printed or pickled; only the curator opens it."""

    __slots__ = ("exact_values",)

    def __init__(self, exact_values: NDArray[np.int64]) -> None:
        self.exact_values = exact_values

    def __repr__(self) -> str:
        return "<exact cells, not shown>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("exact cells do not leave the curator")


@dataclass(frozen=True, slots=True, kw_only=True)
class Making:
    """What happened when a declared table was made. For the owner only: it is exact."""

    exact_rows: int
    exact_nulled: Mapping[str, int]
    exact_clamped: Mapping[str, int]


class Engine(Protocol):
    """Makes declared tables and counts in them."""

    def columns(self, source: Path) -> Mapping[str, str]:
        """The names of a source's columns and the types proposed for them, for `discreet add`."""

    def declare(self, table: Table, *, folder: Path, target: Path) -> Making:
        """Make the declared table of `table` (its source is relative to `folder`) at `target`."""

    def count(self, cells: Cells, schema: Schema, *, file: Path) -> Exact:
        """The exact cells over the declared table in `file`."""
