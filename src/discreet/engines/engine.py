"""What an engine is. Engines know data and no epsilon; they count, exactly, and say nothing else."""

from __future__ import annotations

import math
from collections.abc import Collection, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypedDict

import numpy as np
from numpy.typing import NDArray

from discreet.accounting.region import Region, Value
from discreet.engines.dominant_person import DominantPerson
from discreet.engines.header import Header
from discreet.engines.network.exact_graph import ExactGraph, ExactTraits
from discreet.engines.rounding_notes import RoundingNote
from discreet.engines.secret import Secret
from discreet.engines.table_location import TableLocation
from discreet.plan.cells import Axis, Cells, KeyWeights
from discreet.plan.expressions import Expression
from discreet.plan.relation import Plan, Scan
from discreet.schema.schema import Table
from discreet.schema.source_layout import UNDECLARED, SourceLayout

#: Exact whole numbers: 64 bits wide, or Python's own where that is not enough.
Integers = NDArray[np.int64] | NDArray[np.object_]


#: So many counted cells are kept beside coded rows: a program scores the same marginals in every round.
_MOST_KEPT = 2**25

#: Rows are counted so many at a time: the numbers of their cells stay in the processor's cache, not beside all rows.
_ROWS_AT_ONCE = 2**18


#: NULL among the codes of `PersonRows`: below every other.
NULL_CODE = -(2**62)


class EngineFailure(Exception):
    """The engine could not finish. Its cause may hold data: for the owner's eyes, never in an answer."""


class ExactCells(Secret):
    """Exact cells, one vector for each statistic, in row-major order over the axes."""

    __slots__ = ("exact_values",)

    def __init__(self, exact_values: tuple[Integers, ...]) -> None:
        self.exact_values = exact_values


class ExactKeys(Secret):
    """The keys that exist, sorted, and the exact number of persons of each."""

    __slots__ = ("exact_keys", "exact_persons")

    def __init__(self, exact_keys: tuple[tuple[Value | None, ...], ...], exact_persons: Integers) -> None:
        self.exact_keys = exact_keys
        self.exact_persons = exact_persons


class ExactPersons(Secret):
    """The tags of persons, an Arrow array of 16 bytes each, and the exact number of rows of each."""

    __slots__ = ("exact_rows", "exact_tags")

    def __init__(self, exact_tags: Any, exact_rows: NDArray[np.int64]) -> None:
        self.exact_tags = exact_tags
        self.exact_rows = exact_rows


class PersonRows(Secret):
    """The rows of a declared table with their persons: numbers of cells, a column for each axis; and codes.

    A person's number is a name: only whether two are equal matters. `NULL_CODE` stands for NULL among codes. The rows
    come in no order. Exact: only a program counts in it.
    """

    __slots__ = ("exact_codes", "exact_columns", "exact_persons")

    def __init__(
        self,
        exact_columns: tuple[NDArray[Any], ...],
        exact_codes: tuple[NDArray[np.int64], ...],
        exact_persons: NDArray[np.int64],
    ) -> None:
        self.exact_columns = exact_columns
        self.exact_codes = exact_codes
        self.exact_persons = exact_persons


class CodedRows(Secret):
    """The rows of a declared table as numbers of cells, a column for each axis. Exact: only a program counts in it."""

    __slots__ = ("_exact_counts", "_room", "exact_columns", "sizes")

    def __init__(self, exact_columns: tuple[NDArray[Any], ...], sizes: tuple[int, ...]) -> None:
        self.exact_columns = exact_columns
        self.sizes = sizes
        self._exact_counts: dict[tuple[int, ...], NDArray[Any]] = {}
        self._room = _MOST_KEPT

    def count(self, places: tuple[int, ...]) -> NDArray[np.int64]:
        """The exact marginal over these axes, flat, row-major in the order given. What was counted is kept."""
        cached_marginal = self._exact_counts.get(places)
        if cached_marginal is None:
            marginal = self._count_marginal(places)
            if marginal.size <= self._room:
                self._room -= marginal.size
                self._exact_counts[places] = narrowest(marginal)
            return marginal
        return cached_marginal.astype(np.int64)

    def _count_marginal(self, places: tuple[int, ...]) -> NDArray[np.int64]:
        cells = math.prod(self.sizes[place] for place in places)
        if not places:
            return np.array([len(self.exact_columns[0])], dtype=np.int64)
        exact_counts = np.zeros(cells, dtype=np.int64)
        at_once = max(_ROWS_AT_ONCE, cells)
        kind = _cell_number_type(cells)
        for start in range(0, len(self.exact_columns[0]), at_once):
            columns = [self.exact_columns[place][start : start + at_once] for place in places]
            number = columns[0].astype(kind)
            for place, column in zip(places[1:], columns[1:], strict=True):
                np.multiply(number, kind.type(self.sizes[place]), out=number)
                np.add(number, column, out=number, casting="unsafe")  # no code is larger than the cells are many
            exact_counts += np.bincount(number, minlength=cells)
        return exact_counts

    def merged(self, groups: tuple[NDArray[np.int64], ...]) -> CodedRows:
        """The same rows over coarser cells: cell c of axis i becomes `groups[i][c]`."""
        columns = tuple(
            column if _is_same(group) else narrowest(group)[column]
            for column, group in zip(self.exact_columns, groups, strict=True)
        )
        return CodedRows(columns, tuple(int(group.max()) + 1 for group in groups))


def _cell_number_type(cells: int) -> np.dtype[Any]:
    """The type that numbers of cells are computed in: half the time of int64 where they are few.

    Because: on the way to the number of a cell every product and sum is at most the number of cells.
    """
    return np.dtype(np.uint16 if cells < 2**16 else np.uint32 if cells < 2**32 else np.int64)


def narrowest(numbers: NDArray[Any]) -> NDArray[Any]:
    """The same whole numbers from 0 on, in as few bytes as hold them."""
    return numbers.astype(np.min_scalar_type(int(numbers.max(initial=0))))


def _is_same(group: NDArray[np.int64]) -> bool:
    return bool(np.array_equal(group, np.arange(len(group))))


@dataclass(frozen=True, slots=True, kw_only=True)
class TableLocations:
    """Where the tables of a question lie: declared ones by version, public ones, coded, by the place of their join.

    All declared ones lie on one engine, whose address is `engine`.
    """

    files: Mapping[Scan, TableLocation]
    publics: Mapping[int, Any] = field(default_factory=dict)
    engine: str = "duckdb"

    def file(self, scan: Scan) -> TableLocation:
        return self.files[scan]


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceTrace:
    """By what a source is known again. For the owner alone: an exact size in bytes tells of one row.

    `same`: equal in part where two sources are one, whatever they are called. `files`: those that can be compared.
    `state`: another one when rows have changed, where `same` would not tell.
    """

    same: tuple[str, ...]
    files: tuple[Path, ...] = ()
    state: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclarationOutcome:
    """What happened when a declared table was made. For the owner only: it is exact.

    Each row of the source is one of `exact_rows`, `exact_truncated` and `exact_without_person`, or belongs to
    a person who was forgotten and is counted nowhere; through another table, once under each person that it
    reaches. What was nulled, clamped and rounded is counted over all three; so is `exact_marked`, cells that hold a
    mark such as NA and are read as missing. `exact_persons`: None where a unit is a row. `exact_dominant`: a person
    with far more rows than others, who is perhaps none.

    Of a table of `ends` a row is also one of `exact_loops`, from a person to themselves, or of `exact_doubles`, where
    the edge was there already; `exact_rows` are its different edges, of which `exact_one_way` stand there in one
    direction only (None where edges are directed).

    `exact_added`: so many rows were read, of files that were added since an earlier version, and all others were taken
    from there. What was nulled, clamped, rounded, marked or without a person is then counted in the added rows alone.
    """

    exact_rows: int
    exact_nulled: Mapping[str, int]
    exact_clamped: Mapping[str, int]
    exact_without_person: int = 0
    exact_truncated: int = 0
    exact_persons: int | None = None
    exact_loops: int = 0
    exact_doubles: int = 0
    exact_one_way: int | None = None
    exact_rounded: Mapping[str, RoundingNote] = field(default_factory=dict)
    exact_dominant: DominantPerson | None = None
    exact_marked: Mapping[str, int] = field(default_factory=dict)
    exact_added: int | None = None


class PersonCounts(TypedDict, total=False):
    """What is counted by persons when a declared table is made: see `DeclarationOutcome`."""

    exact_truncated: int
    exact_without_person: int
    exact_persons: int | None
    exact_dominant: DominantPerson | None
    exact_added: int | None


class Engine(Protocol):
    """Makes declared tables and counts in them, where the data lives. Only whole numbers come back from a question.

    A source is what the owner wrote: files relative to `folder`, or a table's name on the engine. Messages about
    it are for the owner; they name files, tables and columns, never a cell.
    """

    #: What the names of its declared tables end in.
    ending: str

    def at(self, address: str) -> Engine:
        """The engine at an address of discreet.toml: itself, where it is but one."""

    def header(self, source: str, *, folder: Path, layout: SourceLayout = UNDECLARED) -> Header:
        """The names of a source's columns. Reads no row."""

    def columns(
        self, source: str, *, folder: Path, layout: SourceLayout = UNDECLARED
    ) -> Mapping[str, Mapping[str, Any]]:
        """The names of a source's columns and the types proposed for them, for `discreet add`."""

    def trace(self, source: str, *, folder: Path) -> SourceTrace:
        """By what the source is known again."""

    def rows(
        self, source: str, names: Sequence[str], *, folder: Path, layout: SourceLayout = UNDECLARED
    ) -> Iterator[Sequence[Any]]:
        """The rows of a public source, these columns in this order, as `values.code_of` takes them."""

    def place(self, name: str, *, folder: Path) -> TableLocation:
        """Where the declared table of this name lies; `folder` is the project's, for tables that are files."""

    def declare(
        self,
        table: Table,
        *,
        folder: Path,
        target: TableLocation,
        key: bytes | None = None,
        tag_key: bytes | None = None,
        path: tuple[Table, ...] = (),
        forgotten: Collection[bytes] = (),
    ) -> DeclarationOutcome:
        """Make the declared table of `table` (its sources are relative to `folder`) at `target`, a new name.

        Persons with many rows need two keys of 32 bytes, `key` to pick rows and `tag_key` to tag persons (see
        `keyed`), and the tables on the `path` to them, nearest first; those whose tags are `forgotten` are left
        out. What is not whole is not there.
        """

    def ready(self, tables: TableLocations) -> None:
        """Refuse, before anything is charged, where the tables of a question are not there or cannot be reached.

        It reads no row, so that what it says tells of nobody.
        """

    def erase(self, place: TableLocation, tags: Collection[bytes]) -> int:
        """Erase the persons of these tags from a declared table of persons; how many they were. See `forget`."""

    def persons(self, place: TableLocation) -> ExactPersons:
        """The persons of a declared table: their tags, and how many rows each had before truncation."""

    def drop(self, place: TableLocation) -> None:
        """Take away a declared table that no ledger names, where it is there."""

    def table_names(self, ledger: str, *, folder: Path) -> Collection[str]:
        """The names of what lies where declared tables do, whole or in part, of those that hold this ledger's id.

        Another project's hold another's. Reads no row.
        """

    def count(self, cells: Cells, region: Region, *, tables: TableLocations) -> ExactCells:
        """The exact cells; units outside `region` are in none. Fails only as EngineFailure, as do the next two."""

    def coded(self, plan: Plan, axes: tuple[Axis, ...], region: Region, *, tables: TableLocations) -> CodedRows:
        """The rows as numbers of cells; units outside `region` have none, nor has a row outside an axis."""

    def person_rows(
        self,
        plan: Plan,
        axes: tuple[Axis, ...],
        codes: tuple[Expression, ...],
        region: Region,
        *,
        tables: TableLocations,
    ) -> PersonRows:
        """The rows as `coded` gives them, and of each its person and the codes of some columns of whole numbers."""

    def keys(
        self,
        plan: Plan,
        keys: tuple[Expression, ...],
        region: Region,
        *,
        persons: bool,
        tables: TableLocations,
        weights: KeyWeights | None = None,
    ) -> ExactKeys:
        """The keys that exist, sorted, and the exact number of persons (else of rows) of each; with `weights`, what
        its persons add to it, by how many of these keys each of them has.
        """

    def graph(
        self,
        place: TableLocation,
        ends: tuple[str, str] | None,
        *,
        directed: bool,
        nodes: Sequence[Value] | None = None,
        traits: ExactTraits | None = None,
        labels: tuple[str, str] | None = None,
    ) -> ExactGraph:
        """The simple graph of a declared table: of its `ends`, where it was declared with them (None), else of the
        rows between the values of two columns of one type. NULL ends and edges from a node to itself are in none.

        `nodes`: those that there are, as stored codes, in their order; edges with an end that is none of them are left
        out. Else nodes are those with an edge. `traits`: of a table with ends, what persons are. `labels`: of a
        table of rows, the columns that say what either end is. Fails only as EngineFailure.
        """

    def traits(self, place: TableLocation, column: str) -> ExactTraits:
        """What a declared table with one row for each person says of them in a column. Fails only as EngineFailure."""

    def end_texts(self, table: Table, *, folder: Path) -> Generator[Any]:
        """The ends of each row of a source of edges, in Arrow batches of two columns of texts; NULL for nobody.

        Texts are those of `keyed_hashes`, one for a person; rows are of one moment. For `declare` of the engine where
        networks are kept.
        """
