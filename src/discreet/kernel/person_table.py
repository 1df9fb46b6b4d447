"""Tables made of whole persons: one record a person, and the steps from each of a person's rows to the next.

Part of `program`: exact rows are read when a draw needs them, and leave it only with noise, as steps of a reservation.

A person's rows come in an order of their own: by a column of moments (NULL last), then by their cells. Two tables are
made of them, and either is cut by axes and counted as `BinnedTable` counts:

- *records*: one for each person: what the first row has, and the number of rows;
- *steps*: one for each row that follows another of its person: what it has, what the row before it had, the time
  between both, and the person's number of rows. A step of a person with k of them weighs floor(WEIGHT / k).

Guarantee: a person who comes or goes moves all cells of a marginal of records by 1 in total, and of steps by WEIGHT.
Because: a person's rows in the declared table depend on nothing else (`engines`), and a record or a step is made of one
    person's rows alone; each lies in one cell, and k * floor(WEIGHT / k) <= WEIGHT (docs/proofs/persons.md).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from discreet.accounting.events import Event
from discreet.accounting.sensitivity import Sensitivity
from discreet.engines.engine import NULL_CODE, CodedRows, PersonRows, narrowest
from discreet.engines.secret import Secret
from discreet.kernel.curator import Curator
from discreet.kernel.measurement import Law
from discreet.kernel.program import Program
from discreet.mechanisms.gaussian import DiscreteGaussian
from discreet.mechanisms.laplace import DiscreteLaplace
from discreet.plan.cells import Axis
from discreet.plan.expressions import Expression
from discreet.plan.expressions import to_data as expression_data
from discreet.plan.price import event_of

#: What all steps of one person weigh together, at most: a multiple of every number up to 10.
WEIGHT = 5_040

#: Sums of weights are taken in floats, and are whole numbers below this.
_MOST_EXACT = 2**53

Cells = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonColumn:
    """How a column of records or steps comes from a person's rows.

    row, previous: the cell of the row, or of the row before it, on the axis; the latter in steps alone.
    rows: the person's number of rows. gap: the time since the row before, in steps alone.
    after: by how much the moment number `code` (see `PersonReader`) is later than the row's time; `previous_after`: the
    same of the row before. What lies outside of an axis of `rows`, `gap` or `after` counts in the cell at its end.
    """

    of: Literal["row", "previous", "rows", "gap", "after", "previous_after"]
    axis: Axis
    code: int | None = None

    def to_data(self) -> dict[str, Any]:
        """What is counted, for the digest of a step."""
        return {"of": self.of, "code": self.code}


class SortedRows(Secret):
    """The rows, person by person and in order: cells of each axis, codes, and where each person's begin. Exact."""

    __slots__ = ("codes", "columns", "counts", "starts")

    def __init__(self, columns: dict[Axis, Cells], codes: tuple[Cells, ...], starts: Cells, counts: Cells) -> None:
        self.columns = columns
        self.codes = codes
        self.starts = starts
        self.counts = counts

    def is_changing(self, values: Cells) -> NDArray[np.bool_]:
        """Of each person, whether their rows have different values."""
        if not len(values):
            return np.zeros(0, dtype=np.bool_)
        is_other = values != np.repeat(values[self.starts], self.counts)
        return np.asarray(np.logical_or.reduceat(is_other, self.starts))

    def has_earlier(self, place: int) -> NDArray[np.bool_]:
        """Of each person, whether in one of their rows a code is below the first one; NULL is neither."""
        if not len(self.starts):
            return np.zeros(0, dtype=np.bool_)
        is_null = (self.codes[place] == NULL_CODE) | (self.codes[0] == NULL_CODE)
        is_earlier = ~is_null & (self.codes[place] < self.codes[0])
        return np.asarray(np.logical_or.reduceat(is_earlier, self.starts))


class PersonReader:
    """The rows of a program's table with their persons, read once, when a draw first needs them.

    `axes`: those of the rows' columns, which also decide an order among rows of one time. `codes`: columns of moments;
    the first is the rows' time, where there is one.
    """

    def __init__(self, program: Program, axes: Sequence[Axis], codes: Sequence[Expression] = ()) -> None:
        self.program = program
        self.axes = tuple(axes)
        self.codes = tuple(codes)
        self._exact: SortedRows | None = None

    def to_data(self) -> dict[str, Any]:
        """What the rows are cut and ordered by, for the digest of a step."""
        return {"axes": [axis.to_data() for axis in self.axes], "codes": [expression_data(of) for of in self.codes]}

    def sorted_rows(self) -> SortedRows:
        """For the tables of this file alone."""
        if self._exact is None:
            self._exact = sort_rows(self.read(), self.axes)
        return self._exact

    def read(self) -> PersonRows:
        """The rows as they come from the engine, for this file alone."""
        return self.program.read_person_rows(self.axes, self.codes)

    @property
    def most_rows(self) -> int:
        """How many rows a person has at most."""
        return self.program.version.schema.unit.rows

    def measure_changes(
        self, axes: Sequence[Axis], codes: Sequence[int], *, share: Fraction
    ) -> tuple[NDArray[np.int64], Law]:
        """Noisy numbers, as one step: of persons with several rows, and of those whose rows differ on each of `axes`
        or in each of `codes`, which are meant by their places.
        """
        of = {"changes": [[self.axes.index(axis) for axis in axes], list(codes)]}

        def exact_persons(rows: SortedRows) -> list[NDArray[np.bool_]]:
            values = [*(rows.columns[axis] for axis in axes), *(rows.codes[place] for place in codes)]
            return [rows.counts > 1, *(rows.is_changing(own) for own in values)]

        return self._measure_persons(of, 1 + len(axes) + len(codes), exact_persons, share=share)

    def measure_earlier(self, codes: Sequence[int], *, share: Fraction) -> tuple[NDArray[np.int64], Law]:
        """Noisy numbers, as one step: of all persons, and of those who have a row in which each of `codes` is earlier
        than the row's time.
        """

        def exact_persons(rows: SortedRows) -> list[NDArray[np.bool_]]:
            return [rows.counts > 0, *(rows.has_earlier(place) for place in codes)]

        return self._measure_persons({"earlier": list(codes)}, 1 + len(codes), exact_persons, share=share)

    def _measure_persons(
        self,
        of: dict[str, Any],
        width: int,
        exact_persons: Callable[[SortedRows], list[NDArray[np.bool_]]],
        *,
        share: Fraction,
    ) -> tuple[NDArray[np.int64], Law]:
        """So many noisy numbers of persons of whom something is true, as one step.

        Guarantee: the step's loss is the law's, for neighbours under the version's unit.
        Because: what is true of a person follows from that person's rows, so that one adds 0 or 1 to each number.
        """
        moves = Sensitivity(
            l0=width, l1=width, l2_squared=width, linf=1, because=("a person adds at most 1 to each number",)
        )
        law = law_of(self.program, moves, share)

        def draw(curator: Curator) -> tuple[Any, Event]:
            numbers = [int(own.sum()) for own in exact_persons(self.sorted_rows())]
            if len(numbers) != width:
                raise ValueError("the sensitivity of these numbers is not bounded")
            noisy, event = curator.add_noise(law, np.array(numbers, dtype=np.int64), moves)
            return noisy.tolist(), event

        noisy = self.program.step({**of, "persons": self.to_data()}, event_of(law, moves), draw, word="describing")
        return np.array(noisy, dtype=np.int64), law


def sort_rows(rows: PersonRows, axes: Sequence[Axis]) -> SortedRows:
    """Rows by person, time and cells, where NULL is the last time."""
    times = [np.where(code == NULL_CODE, -NULL_CODE, code) for code in rows.exact_codes]
    keys = [*times[1:][::-1], *rows.exact_columns[::-1], *times[:1], rows.exact_persons]
    order = np.lexsort(keys)
    persons = rows.exact_persons[order]
    starts = np.flatnonzero(np.diff(persons, prepend=persons[:1] - 1))
    return SortedRows(
        columns={axis: column[order].astype(np.int64) for axis, column in zip(axes, rows.exact_columns, strict=True)},
        codes=tuple(code[order] for code in rows.exact_codes),
        starts=starts,
        counts=np.diff(np.append(starts, len(persons))),
    )


def law_of(program: Program, moves: Sensitivity, share: Fraction) -> Law:
    """The noise on numbers that move so that costs this share of a reservation, exactly."""
    event = program.event
    if event.epsilon is not None:
        return DiscreteLaplace(scale=moves.l1 / (event.epsilon * share))
    return DiscreteGaussian(sigma2=Fraction(moves.l2_squared) / (2 * event.rho * share))


class WeightedSteps(CodedRows):
    """Coded rows that weigh differently: a marginal is a sum of whole weights."""

    __slots__ = ("exact_weights",)

    def __init__(
        self, exact_columns: tuple[NDArray[Any], ...], sizes: tuple[int, ...], exact_weights: NDArray[np.int64]
    ) -> None:
        super().__init__(exact_columns, sizes)
        if exact_weights.sum(dtype=np.float64) >= _MOST_EXACT:
            raise ValueError("the weights are too large to be added up exactly")
        self.exact_weights = exact_weights

    def _count_marginal(self, places: tuple[int, ...]) -> NDArray[np.int64]:
        number = np.zeros(len(self.exact_weights), dtype=np.int64)
        for place in places:
            number = number * self.sizes[place] + self.exact_columns[place]
        cells = math.prod(self.sizes[place] for place in places)
        return np.bincount(number, weights=self.exact_weights, minlength=cells).astype(np.int64)

    def merged(self, groups: tuple[NDArray[np.int64], ...]) -> WeightedSteps:
        """The same rows over coarser cells: cell c of axis i becomes `groups[i][c]`."""
        columns = tuple(narrowest(group)[column] for column, group in zip(self.exact_columns, groups, strict=True))
        return WeightedSteps(columns, tuple(int(group.max()) + 1 for group in groups), self.exact_weights)


class PersonProgram(Program):
    """Steps of a program that count records or steps of persons, from a share of what the program has left.

    What it takes is taken from the program, whose steps go on after its own.
    """

    def __init__(
        self, program: Program, reader: PersonReader, columns: Sequence[PersonColumn], *, share: Fraction
    ) -> None:
        super().__init__(program._curator, program.version, program.id)
        self._spent = program._spent
        self._contents = program._contents
        self.shares = program.shares
        self._reader = reader
        self._columns = tuple(columns)
        self._kept = super().share_left - share

    @property
    def share_left(self) -> Fraction:
        """What is left of its own share."""
        return super().share_left - self._kept

    def with_columns(self, columns: Sequence[PersonColumn]) -> PersonProgram:
        """The same share, counted over other columns."""
        return type(self)(self, self._reader, columns, share=self.share_left)

    def step(
        self, of: Any, event: Event, draw: Callable[[Curator], tuple[Any, Event]], *, word: str = "measuring"
    ) -> Any:
        """Take one step of persons: see `ReservationSteps.step`."""
        made = {"of": type(self).__name__, "columns": [column.to_data() for column in self._columns]}
        return super().step({**of, "persons": {**made, **self._reader.to_data()}}, event, draw, word=word)


def cells_of_rows(column: PersonColumn, rows: SortedRows, own: Cells) -> Cells:
    """The cells of the rows numbered `own` in a column; `previous` looks one row back."""
    match column.of:
        case "row":
            return rows.columns[column.axis][own]
        case "previous":
            return rows.columns[column.axis][own - 1]
        case "rows":
            person = np.searchsorted(rows.starts, own, side="right") - 1
            return _clipped(column.axis, rows.counts[person])
        case "gap":
            return _difference(column.axis, rows.codes[0][own], rows.codes[0][own - 1])
        case "after" | "previous_after":
            assert column.code is not None
            at = own - (column.of == "previous_after")
            return _difference(column.axis, rows.codes[column.code][at], rows.codes[0][at])


def _clipped(axis: Axis, codes: Cells) -> Cells:
    """The cell of each code; beyond the ends, the one at the end."""
    cells = np.searchsorted(np.array(axis.edges, dtype=np.int64), codes, side="right") - 1
    return np.clip(cells, 0, len(axis.edges) - 2)


def _difference(axis: Axis, codes: Cells, others: Cells) -> Cells:
    """The cell of a difference of codes; that of NULL where one of them is."""
    is_null = (codes == NULL_CODE) | (others == NULL_CODE)
    cells = _clipped(axis, np.where(is_null, 0, codes) - np.where(is_null, 0, others))
    return np.where(is_null, axis.size - 1, cells)


#: How far a marginal of records moves when a person comes or goes.
RECORD_MOVES = Sensitivity(l0=1, l1=1, l2_squared=1, linf=1, because=("a person has one record",))


def step_moves(most_rows: int) -> Sensitivity:
    """How far a marginal of steps moves when a person of at most so many rows comes or goes."""
    return Sensitivity(
        l0=max(1, most_rows - 1),
        l1=WEIGHT,
        l2_squared=WEIGHT**2,
        linf=WEIGHT,
        because=("the steps of a person weigh at most 1 together",),
    )


def record_rows(rows: SortedRows, columns: Sequence[PersonColumn]) -> CodedRows:
    """One record for each person."""
    cells = [narrowest(cells_of_rows(column, rows, rows.starts)) for column in columns]
    return CodedRows(tuple(cells), tuple(column.axis.size for column in columns))


def step_rows(rows: SortedRows, columns: Sequence[PersonColumn]) -> WeightedSteps:
    """The steps of all persons, with their weights."""
    is_step = np.ones(int(rows.counts.sum()), dtype=np.bool_)
    is_step[rows.starts] = False
    own = np.flatnonzero(is_step)
    weights = np.repeat(WEIGHT // np.maximum(rows.counts - 1, 1), rows.counts)[own]
    cells = [narrowest(cells_of_rows(column, rows, own)) for column in columns]
    return WeightedSteps(tuple(cells), tuple(column.axis.size for column in columns), weights)


class RecordProgram(PersonProgram):
    """Counts one record for each person."""

    def __init__(
        self, program: Program, reader: PersonReader, columns: Sequence[PersonColumn], *, share: Fraction
    ) -> None:
        super().__init__(program, reader, columns, share=share)
        if any(column.of in ("previous", "gap", "previous_after") for column in columns):
            raise ValueError("nothing is before a person's first row")
        self.moves = RECORD_MOVES

    def read_coded_rows(self, axes: tuple[Axis, ...]) -> CodedRows:
        """One record for each person, for `BinnedTable` alone."""
        check_axes(self._columns, axes)
        return record_rows(self._reader.sorted_rows(), self._columns)


class StepProgram(PersonProgram):
    """Counts the steps from a person's row to the next, with weights."""

    def __init__(
        self, program: Program, reader: PersonReader, columns: Sequence[PersonColumn], *, share: Fraction
    ) -> None:
        super().__init__(program, reader, columns, share=share)
        self.moves = step_moves(reader.most_rows)

    def read_coded_rows(self, axes: tuple[Axis, ...]) -> CodedRows:
        """The steps, for `BinnedTable` alone."""
        check_axes(self._columns, axes)
        return step_rows(self._reader.sorted_rows(), self._columns)


def check_axes(columns: Sequence[PersonColumn], axes: Sequence[Axis]) -> None:
    """A table is cut by the axes of its columns, in their order."""
    if tuple(column.axis for column in columns) != tuple(axes):
        raise ValueError("these are not the axes of the columns")
