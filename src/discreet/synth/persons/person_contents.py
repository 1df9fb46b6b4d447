"""A model of persons: each with what is constant, a number of rows, a first row and the rows that follow it.

It holds noisy numbers, public facts and what follows from them: sampling is free.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from discreet.errors import UsageError
from discreet.schema.column import CategoryColumn, Column, TextColumn, domain
from discreet.synth import cell_decoder
from discreet.synth.attribute import Attribute
from discreet.synth.attribute_discovery import has_no_words
from discreet.synth.cell_decoder import NULL
from discreet.synth.model import Model, ModelCard
from discreet.synth.persons.chain import Chain
from discreet.synth.persons.person_layout import after_name
from discreet.synth.row_sampler import RowSampler

if TYPE_CHECKING:
    import pyarrow as pa

Codes = NDArray[np.int64]

#: Persons are made so many at a time; a sample has at most so many.
AT_ONCE = 100_000
MOST_PERSONS = 10**8

#: No person of a model that is read has more rows.
MOST_ROWS = 10**6

#: A row whose time would lie beyond the last moment of the table is drawn anew so often.
REDRAWS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonContents:
    """Synthetic persons of one table.

    `columns`: the table's, as they come out, after those of `person`, which hold new numbers. `records`: a model of one
    record a person: the first row and the number of rows, called `rows_name`. `steps`: the following rows, each given
    the one before; None where all columns are constant. `constants`, `time`, `afters`: see `person_layout`.
    """

    card: ModelCard
    columns: tuple[Column, ...]
    person: tuple[str, ...]
    constants: tuple[str, ...]
    time: str | None
    afters: tuple[str, ...]
    rows_name: str
    records: Model
    steps: Chain | None
    _attributes: dict[str, Attribute] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        attributes = {attribute.name: attribute for attribute in self.records.attributes}
        object.__setattr__(self, "_attributes", attributes)

    def check(self) -> None:
        """Raise ValueError where the parts of a model that was read do not fit together."""
        names = {column.name for column in self.columns}
        times = {self.time} - {None}
        chained = set() if self.steps is None else {variable.column for variable in self.steps.variables}
        if not {*self.constants, *times, *self.afters} <= names or (self.afters and not times):
            raise ValueError("it names columns that it does not have")
        if self.rows_name not in self._attributes or not chained <= names | {self.rows_name}:
            raise ValueError("its parts do not match")
        needed = {after_name(name, self.time or "") if name in self.afters else name for name in chained}
        if not needed <= set(self._attributes):
            raise ValueError("its parts do not match")
        attribute = self._attributes[self.rows_name]
        if attribute.null or attribute.edges[0] < 1 or attribute.edges[-1] > MOST_ROWS + 1:
            raise ValueError("its numbers of rows are wrong")

    @property
    def total(self) -> float:
        """About how many persons the table has: a noisy number."""
        return self.records.total

    @property
    def rows_per_person(self) -> NDArray[np.float64]:
        """About how many persons have 1 row, 2 rows, and so on."""
        attribute = self._attributes[self.rows_name]
        counts = self.records.calibrated.project([self.records.place(self.rows_name)])
        sums = np.bincount(attribute.groups, weights=attribute.weights)
        sizes = np.bincount(attribute.groups)
        parts = np.where(
            sums[attribute.groups] > 0,
            attribute.weights / np.maximum(sums, 1e-300)[attribute.groups],
            1 / sizes[attribute.groups],
        )
        fine = counts[attribute.groups] * parts
        widths = np.diff(attribute.edges)
        return np.repeat(fine / widths, widths)

    @property
    def total_rows(self) -> float:
        """About how many rows the table has."""
        persons = self.rows_per_person
        return float((persons * np.arange(1, len(persons) + 1)).sum())

    def sample(
        self, persons: int | None = None, *, given: Mapping[str, object] | None = None, seed: int | None = None
    ) -> pa.Table:
        """Sample persons with all their rows, as an Arrow table: a person's rows together, in their order.

        Without `persons`: about as many as the real table has. `given`: fix the values of columns that are constant
        for a person, such as {"sex": "F"}. `seed`: get the same persons again.
        """
        import pyarrow as pa

        return pa.concat_tables(self.batches(persons, given=given, seed=seed))

    def batches(
        self, persons: int | None = None, *, given: Mapping[str, object] | None = None, seed: int | None = None
    ) -> Iterator[pa.Table]:
        """Sample in batches of whole persons, so that memory does not grow with their number."""
        for number, codes, start in self.coded_batches(persons, given=given, seed=seed):
            yield self._table(number, codes, start)

    def persons(self, persons: int | None) -> int:
        """How many persons a sample has."""
        count = round(self.total) if persons is None else persons
        if not isinstance(count, int) or isinstance(count, bool) or not 0 <= count <= MOST_PERSONS:
            raise UsageError(f"a sample can have 0 to {MOST_PERSONS:,} persons, got {persons!r}")
        return count

    def coded_batches(
        self, persons: int | None = None, *, given: Mapping[str, object] | None = None, seed: int | None = None
    ) -> Iterator[tuple[Codes, dict[str, Codes], int]]:
        """Samples as codes: of each row the number of its person, from 0 on, and the codes of its columns.

        And by how many rows others come before.
        """
        count = self.persons(persons)
        if seed is not None and (type(seed) is not int or seed < 0):
            raise UsageError(f"the seed must be a whole number, 0 or more, got {seed!r}")
        generator = np.random.default_rng(seed)
        fixed = self._fixed(given or {})
        drawing = RowSampler.of(self.records.attributes, self.records.constraints, self.records.calibrated, fixed)
        first_person = first_row = 0
        for records in drawing.sample_rows(count, generator, at_once=AT_ONCE):
            number, codes = self.histories(records, generator)
            yield number + first_person, codes, first_row
            first_person += len(records[self.rows_name])
            first_row += len(number)

    def _fixed(self, given: Mapping[str, object]) -> dict[int, int]:
        for name in given:
            if name.lower() not in [each.lower() for each in (*self.constants, self.rows_name)]:
                raise UsageError(
                    f"{name[:60]!r} changes from row to row: only what is constant for a person can be given"
                )
        return self.records.fixed_codes(given)

    def histories(self, records: Mapping[str, Codes], generator: np.random.Generator) -> tuple[Codes, dict[str, Codes]]:
        """The rows of persons whose records are given: of each row the place of its person, and its codes."""
        return _Histories(self, records, generator).rows()

    def _shown_column(self, column: Column) -> Column:
        """The column whose values rows have: of text whose words were bought a category of these."""
        attribute = self._attributes.get(column.name)
        if attribute is None or has_no_words(attribute):
            return column
        own = attribute.column
        is_text = isinstance(column, TextColumn) and isinstance(own, CategoryColumn) and len(own.values) == 1
        return column if is_text else own

    def _table(self, number: Codes, codes: dict[str, Codes], start: int) -> pa.Table:
        columns = [self._shown_column(column) for column in self.columns]
        table = cell_decoder.arrow_table(columns, codes, rows=len(number), start=start)
        for place, column in enumerate(self.columns):
            if isinstance(columns[place], TextColumn) and column.name in self.constants and len(number):
                missing = codes[column.name] == NULL if column.name in codes else None
                texts = [f"{column.name} {each + 1}" for each in number.tolist()]
                table = table.set_column(place, column.name, cell_decoder.string_column(texts, missing))
        for place, name in enumerate(self.person):
            table = table.add_column(place, name, cell_decoder.whole_numbers(number + 1))
        return table


class _Histories:
    """Persons' rows in the making: all first rows, then all second ones, and so on."""

    def __init__(self, model: PersonContents, records: Mapping[str, Codes], generator: np.random.Generator) -> None:
        self.model = model
        self.records = records
        self.generator = generator
        self.counts = records[model.rows_name]
        self.starts = np.cumsum(self.counts) - self.counts
        size = int(self.counts.sum())
        names = [column.name for column in model.columns if self._is_coded(column.name)]
        self.codes = {name: np.full(size, NULL, dtype=np.int64) for name in names}
        #: The last moment of each person that is known.
        self.clock = np.full(len(self.counts), NULL, dtype=np.int64)

    def _is_coded(self, name: str) -> bool:
        is_after = name in self.model.afters
        return (after_name(name, self.model.time or "") if is_after else name) in self.records

    def rows(self) -> tuple[Codes, dict[str, Codes]]:
        model = self.model
        number = np.repeat(np.arange(len(self.counts)), self.counts)
        for name, codes in self.codes.items():
            if name in model.constants:
                codes[:] = self.records[name][number]
            elif name in model.afters:
                assert model.time is not None
                codes[self.starts] = self._later(self.records[model.time], self.records[after_name(name, model.time)])
            else:
                codes[self.starts] = self.records[name]
        if model.time is not None:
            self.clock = self.records[model.time].copy()
        if model.steps is not None:
            self._follow(model.steps)
        self._keep_bounds()
        return number, self.codes

    def _later(self, times: Codes, differences: Codes) -> Codes:
        """Moments by their difference from others; NULL where either is."""
        is_null = (times == NULL) | (differences == NULL)
        return np.where(is_null, NULL, np.where(is_null, 0, times) + np.where(is_null, 0, differences))

    def _follow(self, chain: Chain) -> None:
        """All rows after the first."""
        settled, before = {}, {}
        for place, variable in enumerate(chain.variables):
            name = variable.column
            if variable.role in ("trait", "rows"):
                settled[place] = chain.settled_cells(place, self.records[name])
            elif variable.role == "previous":
                before[place] = chain.settled_cells(place, self._first(name))
        for turn in range(1, int(self.counts.max(initial=0))):
            alive = np.flatnonzero(self.counts > turn)
            given = {place: cells[alive] for place, cells in (settled | before).items()}
            drawn, codes = self._next(chain, given, alive)
            rows = self.starts[alive] + turn
            for name, own in codes.items():
                if name not in self.model.constants:
                    self.codes[name][rows] = own
            for place, cells in before.items():
                if chain.variables[place].column not in self.model.constants:
                    cells[alive] = drawn[chain.place("next", chain.variables[place].column)]

    def _first(self, name: str) -> Codes:
        return self.records[after_name(name, self.model.time or "") if name in self.model.afters else name]

    def _next(self, chain: Chain, given: dict[int, Codes], alive: Codes) -> tuple[dict[int, Codes], dict[str, Codes]]:
        """The cells and the codes of the next row of persons. None is later than the table's last moment."""
        time = self.model.time
        if time is not None:
            for place, variable in enumerate(chain.variables):
                if variable.role == "time":
                    given[place] = chain.settled_cells(place, self.clock[alive])
        drawn = chain.draw(given, len(alive), self.generator)
        codes: dict[str, Codes] = {}
        if time is not None:
            drawn, codes[time] = self._times(chain, given, alive, drawn)
        for place, cells in drawn.items():
            variable = chain.variables[place]
            if variable.role == "gap":
                continue
            own = chain.codes(place, cells, self.generator)
            is_after = variable.column in self.model.afters
            codes[variable.column] = self._later(codes[time or ""], own) if is_after else own
        return drawn, codes

    def _times(
        self, chain: Chain, given: Mapping[int, Codes], alive: Codes, drawn: dict[int, Codes]
    ) -> tuple[dict[int, Codes], Codes]:
        """The moments of the next rows, which are no earlier than the last ones."""
        assert self.model.time is not None
        place = chain.place("gap", self.model.time)
        last = self.model.records.attributes[self.model.records.place(self.model.time)].edges[-1] - 1
        clock = self.clock[alive]
        times = self._later(clock, chain.codes(place, drawn[place], self.generator))
        for _ in range(REDRAWS):
            late = np.flatnonzero(times > last)
            if not len(late):
                break
            other = chain.draw({each: cells[late] for each, cells in given.items()}, len(late), self.generator)
            for each, cells in other.items():
                drawn[each][late] = cells
            times[late] = self._later(clock[late], chain.codes(place, other[place], self.generator))
        late = np.flatnonzero(times > last)
        times[late] = self.generator.integers(clock[late], last + 1)
        self.clock[alive] = np.where(times == NULL, clock, times)
        return drawn, times

    def _keep_bounds(self) -> None:
        """Moments that are kept as differences stay within the declared bounds of their columns."""
        for column in self.model.columns:
            limits = domain(column)
            if column.name in self.model.afters and column.name in self.codes and limits is not None:
                codes = self.codes[column.name]
                clipped = np.clip(codes, limits[0], limits[1] - 1)
                self.codes[column.name] = np.where(codes == NULL, NULL, clipped)
