"""Rows of several tables that share their persons, read together: one table's rows, with what joins bring along.

Part of `program`: exact rows are read when a draw needs them, and leave it only with noise, as steps of a reservation.
The reservation is for one of the tables, and is charged to everybody in the population: it pays for all of them.

Guarantee: as `person_table`: a person who comes or goes, with their rows in all tables, moves all cells of a marginal
    of records by 1 in total, and of weighted rows by WEIGHT.
Because: in every table a person's rows depend on that person alone (`engines`), and a join on the person brings
    together rows of one person only. So the rows that are read are a person's own, and what is made of them is made of
    one person's rows (docs/proofs/person-tables.md). Rows that refer to no row, or to another person's, count nowhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.accounting.sensitivity import Sensitivity
from discreet.engines.engine import NULL_CODE, CodedRows, PersonRows, narrowest
from discreet.kernel.person_table import (
    WEIGHT,
    PersonColumn,
    PersonProgram,
    PersonReader,
    SortedRows,
    WeightedSteps,
    cells_of_rows,
    check_axes,
)
from discreet.kernel.program import Program
from discreet.plan import relation
from discreet.plan.cells import Axis
from discreet.plan.expressions import Expression
from discreet.plan.expressions import to_data as expression_data
from discreet.plan.relation import Plan, scans


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferringRows:
    """How many rows of another table refer to each row: a column more, on an axis of its own.

    `plan` brings to each row all numbers of its person: `key` is the id that is referred to, `number` by how many rows.
    They belong to the row whose id, `row_id`, is the same. What has no number has 0; above the axis, the last cell.
    """

    axis: Axis
    plan: Plan
    row_id: Expression
    key: Expression
    number: Expression

    def to_data(self) -> Any:
        """What is counted, for the digest of a step."""
        expressions = (self.row_id, self.key, self.number)
        return [relation.to_data(self.plan), [expression_data(of) for of in expressions], list(self.axis.edges)]


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinedRows:
    """Which rows are read: those of a plan, of which a person has at most `most_rows`.

    `same`: only rows in which both are equal, and neither is NULL. `referring`: see `ReferringRows`.
    """

    plan: Plan
    most_rows: int
    same: tuple[Expression, Expression] | None = None
    referring: tuple[ReferringRows, ...] = ()

    def to_data(self) -> Any:
        """What is read, for the digest of a step."""
        same = None if self.same is None else [expression_data(of) for of in self.same]
        return [relation.to_data(self.plan), same, [each.to_data() for each in self.referring]]


class JoinedReader(PersonReader):
    """The rows of a table of the same population with their persons, read once, when a draw first needs them."""

    def __init__(
        self, program: Program, axes: Sequence[Axis], codes: Sequence[Expression] = (), *, rows: JoinedRows
    ) -> None:
        super().__init__(program, axes, codes)
        self.rows = rows

    @property
    def most_rows(self) -> int:
        return self.rows.most_rows

    def to_data(self) -> dict[str, Any]:
        """What the rows are, and what they are cut and ordered by, for the digest of a step."""
        return {**super().to_data(), "joined": self.rows.to_data()}

    def read(self) -> PersonRows:
        """For the tables of `person_table` alone."""
        assert isinstance(self.program, JoinedProgram)
        return read_joined(self.program.read_joined_rows, self.rows, self.axes, self.codes)


#: Reads the rows of a plan on an engine: cells on axes, codes, persons.
ReadRows = Callable[[Plan, tuple[Axis, ...], tuple[Expression, ...]], PersonRows]


def read_joined(
    read_rows: ReadRows, rows: JoinedRows, axes: tuple[Axis, ...], codes: tuple[Expression, ...]
) -> PersonRows:
    """The rows that are meant, on these axes, with these codes."""
    counted = {each.axis for each in rows.referring}
    plain = tuple(axis for axis in axes if axis not in counted)
    beside = (*(rows.same or ()), *(each.row_id for each in rows.referring))
    coded = read_rows(rows.plan, plain, (*codes, *beside))
    own, others = coded.exact_codes[: len(codes)], coded.exact_codes[len(codes) :]
    columns: dict[Axis, NDArray[Any]] = dict(zip(plain, coded.exact_columns, strict=True))
    ids = others[2:] if rows.same else others
    for each, row_id in zip(rows.referring, ids, strict=True):
        columns[each.axis] = _referring_cells(read_rows, each, coded.exact_persons, row_id)
    kept = np.ones(len(coded.exact_persons), dtype=np.bool_)
    if rows.same is not None:
        kept = (others[0] == others[1]) & (others[0] != NULL_CODE)
    return PersonRows(
        tuple(columns[axis][kept] for axis in axes), tuple(code[kept] for code in own), coded.exact_persons[kept]
    )


def _referring_cells(
    read_rows: ReadRows, referring: ReferringRows, persons: NDArray[Any], ids: NDArray[np.int64]
) -> NDArray[Any]:
    """The cell of each row: by how many rows of the other table it is referred to."""
    coded = read_rows(referring.plan, (), (referring.row_id, referring.key, referring.number))
    row_id, key, number = coded.exact_codes
    matched = (row_id == key) & (key != NULL_CODE)
    pairs = np.stack([coded.exact_persons[matched].astype(np.int64), key[matched]], axis=1)
    whole = np.concatenate([pairs, np.stack([persons.astype(np.int64), ids], axis=1)])
    names = np.unique(whole, axis=0, return_inverse=True)[1].ravel()
    numbers = np.zeros(len(whole), dtype=np.int64)
    numbers[names[: len(pairs)]] = number[matched]
    times = np.where(ids == NULL_CODE, 0, numbers[names[len(pairs) :]])
    return narrowest(np.clip(times, 0, referring.axis.size - 1))


class JoinedProgram(Program):
    """Steps that read several tables of one population, under a reservation for one of them."""

    def read_joined_rows(self, plan: Plan, axes: tuple[Axis, ...], codes: tuple[Expression, ...]) -> PersonRows:
        """The rows of a plan over these tables, with their persons, for `JoinedReader` alone."""
        versions = {(version.table, version.number): version for version in (self.version, *self._joined)}
        of_scan = {scan: versions[scan.table, scan.version] for scan in scans(plan)}
        if any(version.population != self.version.population for version in of_scan.values()):
            raise ValueError("a program cannot read two populations")
        tables = self._curator.locate_tables(of_scan, {})
        return self._curator.engine.at(self.version.engine).person_rows(plan, axes, codes, self._region, tables=tables)


def row_moves(most_rows: int) -> Sensitivity:
    """How far a marginal of weighted rows moves when a person comes or goes."""
    return Sensitivity(
        l0=most_rows,
        l1=WEIGHT,
        l2_squared=WEIGHT**2,
        linf=WEIGHT,
        because=("the rows of a person weigh at most 1 together",),
    )


def weighted_rows(rows: SortedRows, columns: Sequence[PersonColumn]) -> WeightedSteps:
    """All rows of persons; each of a person's k rows weighs floor(WEIGHT / k)."""
    own = np.arange(int(rows.counts.sum()))
    weights = np.repeat(WEIGHT // np.maximum(rows.counts, 1), rows.counts)
    cells = [narrowest(cells_of_rows(column, rows, own)) for column in columns]
    return WeightedSteps(tuple(cells), tuple(column.axis.size for column in columns), weights)


class RowProgram(PersonProgram):
    """Counts all rows of persons, with weights."""

    def __init__(
        self, program: Program, reader: PersonReader, columns: Sequence[PersonColumn], *, share: Fraction
    ) -> None:
        super().__init__(program, reader, columns, share=share)
        if any(column.of in ("previous", "gap", "previous_after") for column in columns):
            raise ValueError("the rows before are not counted here")
        self.moves = row_moves(reader.most_rows)

    def read_coded_rows(self, axes: tuple[Axis, ...]) -> CodedRows:
        """The rows with their weights, for `BinnedTable` alone."""
        check_axes(self._columns, axes)
        return weighted_rows(self._reader.sorted_rows(), self._columns)
