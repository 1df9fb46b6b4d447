"""A model of several tables that share their persons: traits, the rows of each table, and what refers to a row.

It holds noisy numbers, public facts and what follows from them: sampling is free.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from discreet.errors import UsageError
from discreet.schema.column import Column, domain
from discreet.synth import cell_decoder
from discreet.synth.cell_decoder import NULL
from discreet.synth.model import Model, ModelCard
from discreet.synth.persons.chain import Chain, ChainVariable
from discreet.synth.persons.person_contents import AT_ONCE, MOST_PERSONS
from discreet.synth.persons.person_model import PersonModel
from discreet.synth.row_sampler import RowSampler

if TYPE_CHECKING:
    import pyarrow as pa

Codes = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferringModel:
    """Rows of a table that refer to rows of another: how many is a column there, called `number`.

    `columns`: as they come out. `on`: the column that says which row is meant, in both tables. `rows`: a model of one
    row given the row that is meant and the person's traits, whose columns go by `TABLE.COLUMN`. `afters`: columns of
    moments that are kept as how much later they are than that row's time.
    """

    name: str
    columns: tuple[Column, ...]
    on: str
    number: str
    rows: Chain
    afters: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkedModel:
    """Rows of a table of which a person has several: how many is a trait of the person, called `number`.

    `columns`: as they come out, after those of `person`. `model`: persons with their rows; what is constant in it are
    the traits, called `TABLE.COLUMN` of the main table, and what this table declares as constant. `repeated`: columns
    that repeat one of the main table.
    """

    name: str
    columns: tuple[Column, ...]
    person: tuple[str, ...]
    number: str
    model: PersonModel
    repeated: tuple[str, ...] = ()
    referring: tuple[ReferringModel, ...] = ()

    @property
    def traits(self) -> tuple[str, ...]:
        """What the rows take from the main table."""
        own = {column.name for column in self.columns}
        return tuple(name for name in self.model.constants if name not in own)

    def first_rows(self) -> Chain:
        """The first row of a person, given the traits and the number of rows."""
        roles = dict.fromkeys(self.traits, "trait") | {self.model.rows_name: "rows"}
        names = [attribute.name for attribute in self.model.records.attributes]
        variables = [ChainVariable(role=roles.get(name, "next"), column=name) for name in names]  # type: ignore[arg-type]
        return Chain(self.model.records, variables)


@dataclass(frozen=True, slots=True, kw_only=True)
class SampledTables:
    """Tables of sampled persons: codes of each table's rows, and which rows belong together.

    `persons` says, of each row of a linked table, the number of its person; `rows`, of each row of a table that refers
    to another, the number of the row that is meant.
    """

    traits: Mapping[str, Codes]
    persons: Mapping[str, Codes]
    rows: Mapping[str, Codes]
    codes: Mapping[str, Mapping[str, Codes]]


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonTablesContents:
    """Synthetic persons in several tables. `records`: the traits of persons, and their numbers of rows.

    `columns`: those of the main table, as they come out, after those of `person`, which hold new numbers.
    """

    card: ModelCard
    main: str
    columns: tuple[Column, ...]
    person: tuple[str, ...]
    records: Model
    linked: tuple[LinkedModel, ...]

    @property
    def total(self) -> float:
        """About how many persons there are: a noisy number."""
        return self.records.total

    @property
    def tables(self) -> tuple[str, ...]:
        """The names of the tables, the main one first."""
        others = [name for each in self.linked for name in (each.name, *(other.name for other in each.referring))]
        return (self.main, *others)

    @property
    def table_columns(self) -> dict[str, tuple[Column, ...]]:
        """The declared columns of each table, as they come out."""
        referring = {other.name: other.columns for each in self.linked for other in each.referring}
        return {self.main: self.columns} | {each.name: each.columns for each in self.linked} | referring

    def persons(self, persons: int | None) -> int:
        """How many persons a sample has."""
        count = round(self.total) if persons is None else persons
        if not isinstance(count, int) or isinstance(count, bool) or not 0 <= count <= MOST_PERSONS:
            raise UsageError(f"a sample can have 0 to {MOST_PERSONS:,} persons, got {persons!r}")
        return count

    def sample(
        self, persons: int | None = None, *, given: Mapping[str, object] | None = None, seed: int | None = None
    ) -> dict[str, pa.Table]:
        """Sample persons with all their rows in all tables: an Arrow table for each name, whose ids join.

        Without `persons`: about as many as there really are. `given`: fix the values of columns of the main table.
        """
        import pyarrow as pa

        parts: dict[str, list[pa.Table]] = {name: [] for name in self.tables}
        for batch in self.batches(persons, given=given, seed=seed):
            for name, table in batch.items():
                parts[name].append(table)
        return {name: pa.concat_tables(own) for name, own in parts.items()}

    def batches(
        self, persons: int | None = None, *, given: Mapping[str, object] | None = None, seed: int | None = None
    ) -> Iterator[dict[str, pa.Table]]:
        """Sample in batches of whole persons, so that memory does not grow with their number."""
        starts = dict.fromkeys(self.tables, 0)
        for sampled in self.coded_batches(persons, given=given, seed=seed):
            yield _TableWriter(self, sampled, starts).tables()
            for name in self.tables:
                starts[name] += _height(self, sampled, name)

    def coded_batches(
        self, persons: int | None = None, *, given: Mapping[str, object] | None = None, seed: int | None = None
    ) -> Iterator[SampledTables]:
        """Samples as codes. Numbers of persons and rows begin at 0 in each batch."""
        if seed is not None and (type(seed) is not int or seed < 0):
            raise UsageError(f"the seed must be a whole number, 0 or more, got {seed!r}")
        generator = np.random.default_rng(seed)
        fixed = self.records.fixed_codes(given or {})
        drawing = RowSampler.of(self.records.attributes, self.records.constraints, self.records.calibrated, fixed)
        chains = {each.name: each.first_rows() for each in self.linked}
        for traits in drawing.sample_rows(self.persons(persons), generator, at_once=AT_ONCE):
            sampled = SampledTables(traits=traits, persons={}, rows={}, codes={})
            for each in self.linked:
                sampled = _Sampling(self, each, chains[each.name], generator).extend(sampled)
            yield sampled

    def check(self) -> None:
        """Raise ValueError where the parts of a model that was read do not fit together."""
        traits = {attribute.name for attribute in self.records.attributes}
        for linked in self.linked:
            names = {column.name for column in linked.model.columns}
            brought = {name.removeprefix(f"{self.main}.") for name in linked.traits}
            if linked.number not in traits or not brought <= traits:
                raise ValueError("its tables do not match")
            if not {name.lower() for name in linked.repeated} <= {name.lower() for name in traits}:
                raise ValueError("its tables do not match")
            for referring in linked.referring:
                settled = {each.column for each in referring.rows.variables if not each.is_next}
                own = {name.removeprefix(f"{linked.name}.") for name in settled if name.startswith(f"{linked.name}.")}
                others = {name.removeprefix(f"{self.main}.") for name in settled if name.startswith(f"{self.main}.")}
                is_whole = len(own) + len(others) == len(settled)
                if referring.number not in names or not (is_whole and own <= names and others <= traits):
                    raise ValueError("its tables do not match")
                if referring.afters and linked.model.time is None:
                    raise ValueError("its tables do not match")


def _height(model: PersonTablesContents, sampled: SampledTables, name: str) -> int:
    """How many rows a sampled table has."""
    if name == model.main:
        return len(next(iter(sampled.traits.values())))
    return len(sampled.persons[name] if name in sampled.persons else sampled.rows[name])


class _Sampling:
    """The rows of one linked table, and of those that refer to it, in the making."""

    def __init__(
        self, model: PersonTablesContents, linked: LinkedModel, first: Chain, generator: np.random.Generator
    ) -> None:
        self.model = model
        self.linked = linked
        self.first = first
        self.generator = generator

    def extend(self, sampled: SampledTables) -> SampledTables:
        """The sample with the rows of this table, and of those that refer to it."""
        linked = self.linked
        number, codes = self._rows(sampled.traits)
        persons = {**sampled.persons, linked.name: number}
        rows, others = dict(sampled.rows), {**sampled.codes, linked.name: codes}
        for referring in linked.referring:
            rows[referring.name], others[referring.name] = self._referring(referring, sampled.traits, number, codes)
        return SampledTables(traits=sampled.traits, persons=persons, rows=rows, codes=others)

    def _rows(self, traits: Mapping[str, Codes]) -> tuple[Codes, dict[str, Codes]]:
        """All rows of persons, each given their traits and how many there are."""
        model = self.linked.model
        numbers = traits[self.linked.number]
        alive = np.flatnonzero(numbers != NULL)
        records = {name: traits[self._trait(name)][alive] for name in self.linked.traits if name in self._settled()}
        records[model.rows_name] = numbers[alive]
        settled = {
            place: self.first.settled_cells(place, records[variable.column])
            for place, variable in enumerate(self.first.variables)
            if not variable.is_next
        }
        for place, cells in self.first.draw(settled, len(alive), self.generator).items():
            records[self.first.variables[place].column] = self.first.codes(place, cells, self.generator)
        place_of_person, codes = model.histories(records, self.generator)
        return alive[place_of_person], codes

    def _settled(self) -> set[str]:
        return {attribute.name for attribute in self.linked.model.records.attributes}

    def _trait(self, name: str) -> str:
        return name.removeprefix(f"{self.model.main}.")

    def _referring(
        self, referring: ReferringModel, traits: Mapping[str, Codes], number: Codes, codes: Mapping[str, Codes]
    ) -> tuple[Codes, dict[str, Codes]]:
        """The rows that refer to each row, given that row and the traits of its person."""
        chain = referring.rows
        times = np.maximum(codes[referring.number], 0)
        row = np.repeat(np.arange(len(times)), times)
        settled = {}
        for place, variable in enumerate(chain.variables):
            if variable.is_next:
                continue
            name = variable.column.removeprefix(f"{self.linked.name}.")
            is_own = name != variable.column
            own = codes[name][row] if is_own else traits[self._trait(name)][number[row]]
            settled[place] = chain.settled_cells(place, own)
        drawn = chain.draw(settled, len(row), self.generator)
        made = {
            chain.variables[place].column: chain.codes(place, cells, self.generator) for place, cells in drawn.items()
        }
        time = self.linked.model.time
        for name in referring.afters:
            assert time is not None
            made[name] = _later(codes[time][row], made[name], next(c for c in referring.columns if c.name == name))
        return row, made


def _later(times: Codes, differences: Codes, column: Column) -> Codes:
    """Moments by their difference from others, within the column's bounds; NULL where either is."""
    is_null = (times == NULL) | (differences == NULL)
    moments = np.where(is_null, 0, times) + np.where(is_null, 0, differences)
    limits = domain(column)
    if limits is not None:
        moments = np.clip(moments, limits[0], limits[1] - 1)
    return np.where(is_null, NULL, moments)


class _TableWriter:
    """Sampled codes as Arrow tables, with ids that join."""

    def __init__(self, model: PersonTablesContents, sampled: SampledTables, starts: Mapping[str, int]) -> None:
        self.model = model
        self.sampled = sampled
        self.starts = starts

    def tables(self) -> dict[str, pa.Table]:
        model, sampled = self.model, self.sampled
        count = len(next(iter(sampled.traits.values())))
        first_person = self.starts[model.main]
        main = cell_decoder.arrow_table(model.columns, dict(sampled.traits), rows=count, start=first_person)
        tables = {model.main: self._with_ids(main, model.person, np.arange(count) + first_person)}
        for linked in model.linked:
            number = sampled.persons[linked.name]
            start = self.starts[linked.name]
            codes = dict(sampled.codes[linked.name])
            for name in linked.repeated:
                codes[name] = sampled.traits[self._trait_name(name)][number]
            own = cell_decoder.arrow_table(linked.columns, codes, rows=len(number), start=start)
            for on in dict.fromkeys(each.on for each in linked.referring):
                own = self._with_ids(own, (on,), np.arange(len(number)) + start)
            tables[linked.name] = self._with_ids(own, linked.person, number + first_person)
            for referring in linked.referring:
                row = sampled.rows[referring.name]
                rows = cell_decoder.arrow_table(
                    referring.columns,
                    dict(sampled.codes[referring.name]),
                    rows=len(row),
                    start=self.starts[referring.name],
                )
                tables[referring.name] = self._with_ids(rows, (referring.on,), row + start)
        return tables

    def _trait_name(self, name: str) -> str:
        return next(trait for trait in self.sampled.traits if trait.lower() == name.lower())

    def _with_ids(self, table: pa.Table, names: tuple[str, ...], numbers: Codes) -> pa.Table:
        """A table with new numbers, from 1 on, in the columns of these names: first, where it has no such column."""
        ids = cell_decoder.whole_numbers(numbers + 1)
        for place, name in enumerate(names):
            if name in table.column_names:
                table = table.set_column(table.column_names.index(name), name, ids)
            else:
                table = table.add_column(place, name, ids)
        return table
