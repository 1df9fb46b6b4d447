"""What the steps of a batch drew, read as answers. Post-processing: noisy values and public facts alone."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.accounting.events import ReservationEvent
from discreet.answers.answer_block import AnswerBlock
from discreet.answers.reconcile.derived import DerivedReading, EstimatedBlock
from discreet.answers.reconcile.earlier_estimate import EarlierEstimate, EstimatedCell
from discreet.answers.refine import AnswerReading
from discreet.answers.repeats import STATEMENT_SEPARATOR, Reads, merged_inquiry
from discreet.answers.workload.batch_cells import has_plain_columns
from discreet.answers.workload.batch_plan import Floats
from discreet.answers.workload.batch_quote import answer_half_widths
from discreet.answers.workload.plain_statements import statements_as_stored
from discreet.answers.workload.stored_batch import (
    KIND,
    StoredBatch,
    StoredGroup,
    rows_digest,
    set_digests,
    statistic_digests,
)
from discreet.errors import Refused, UsageError
from discreet.kernel.measurement import Measurement
from discreet.kernel.version import Version
from discreet.ledger.ledger import Ledger
from discreet.mechanisms.packed_integers import unpack_integers
from discreet.plan.inquiry import Inquiry
from discreet.sql.catalog import Catalog
from discreet.sql.parsed_query import OutputColumn, ParsedQuery


@dataclass(frozen=True, kw_only=True)
class DrawnBatch:
    """A batch that was measured. `noisy`: of each grid what its strategy's rows came to; `lone`: of each group that was
    measured by itself its measurement."""

    id: str
    stored: StoredBatch
    event: ReservationEvent
    noisy: tuple[NDArray[Any], ...]
    lone: Mapping[int, Measurement]
    is_resumed: bool = False
    _values: dict[int, Floats] = field(default_factory=dict, init=False, repr=False, compare=False)
    _widths: dict[tuple[int, Fraction], Floats] = field(default_factory=dict, init=False, repr=False, compare=False)

    @staticmethod
    def read(ledger: Ledger, id_: str) -> DrawnBatch | None:
        """A batch from the ledger; None where not all of it was drawn."""
        payloads = {id_: ledger.answer(id_)}
        stored = StoredBatch.from_text(payloads[id_])
        for number in range(1, stored.steps + 1):
            if f"{id_}.{number}" not in ledger.state.answers:
                return None
            payloads[f"{id_}.{number}"] = ledger.answer(f"{id_}.{number}")
        return DrawnBatch.of(id_, payloads, ledger.reservation(id_).event)

    @staticmethod
    def of(id_: str, payloads: Mapping[str, str], event: ReservationEvent) -> DrawnBatch:
        """A batch from what is stored under it."""
        stored = StoredBatch.from_text(payloads[id_])
        steps = [json.loads(payloads[f"{id_}.{number}"]) for number in range(1, stored.steps + 1)]
        noisy = tuple(unpack_integers(step["noisy"][0]) for step in steps[: len(stored.grids)])
        lone = {
            place: Measurement.from_text(json.dumps(step))
            for place, step in zip(stored.alone, steps[len(stored.grids) :], strict=True)
        }
        return DrawnBatch(id=id_, stored=stored, event=event, noisy=noisy, lone=lone)

    def values(self, grid: int) -> Floats:
        """The least-squares estimates of a grid's numbers."""
        if grid not in self._values:
            self._values[grid] = self.stored.grids[grid].answers.answers(self.noisy[grid])
        return self._values[grid]

    @property
    def measurement(self) -> Measurement:
        """What stands for the whole batch where one measurement is spoken of: its id, its texts and its event."""
        text = STATEMENT_SEPARATOR.join(self.stored.texts)
        return Measurement(id=self.id, text=text, parts=(), event=self.event, is_resumed=self.is_resumed)

    def reading(self, place: int, query: ParsedQuery, *, reads: Reads | None = None) -> AnswerReading | None:
        """The reading of a statement of a group; None where it does not measure what the query asks for.

        `reads`: for statements that were measured by themselves and are read as if asked alone.
        """
        group = self.stored.groups[place]
        stored_places = group.places_of(query)
        if stored_places is None:
            return None
        if place in self.lone:
            return self._lone_reading(place, query, reads)
        if not has_plain_columns(query):  # the errors of its parts depend on each other
            return None
        sets, statistics = stored_places
        cells: dict[tuple[int, int], tuple[EstimatedCell, ...]] = {}
        rows: dict[tuple[int, int], tuple[int, NDArray[np.int64]]] = {}
        for own, stored_set in enumerate(sets):
            for index, stored_index in enumerate(statistics):
                numbers = self._numbers.get((place, stored_set, stored_index))
                if numbers is None:
                    return None
                rows[own, index] = numbers
                cells[own, index] = self._cells(*numbers)
        return BatchReading(
            query=query,
            measurement=self.measurement,
            earlier_estimate=EarlierEstimate(query=query, cells=cells),
            batch=self,
            rows_of=rows,
        )

    @cached_property
    def _numbers(self) -> dict[tuple[int, int, int], tuple[int, NDArray[np.int64]]]:
        """Of each group, grouping set and statistic: its grid, and its numbers there, cell by cell."""
        by_key: dict[tuple[int, int, int], list[tuple[int, int, int]]] = {}
        for number, grid in enumerate(self.stored.grids):
            for at, each in enumerate(grid.numbers):
                by_key.setdefault((each.statement, each.place, each.index), []).append((each.cell, number, at))
        return {
            key: (own[0][1], np.array([at for _, _, at in sorted(own)], dtype=np.int64)) for key, own in by_key.items()
        }

    def _cells(self, grid: int, order: NDArray[np.int64]) -> tuple[EstimatedCell, ...]:
        stored = self.stored.grids[grid]
        values, variances = self.values(grid), stored.answers.variances * float(stored.law.variance())
        return tuple(
            EstimatedCell(
                value=float(values[at]),
                variance=float(variances[at]),
                parts=(),  # `BatchBlock` takes the widths of all numbers of a grid
                releases=(self.id,),
            )
            for at in order
        )

    def _lone_reading(self, place: int, query: ParsedQuery, reads: Reads | None) -> AnswerReading | None:
        group, drawn = self.stored.groups[place], self.lone[place]
        measurement = Measurement(
            id=self.id,
            text=self.stored.text_of(place),
            parts=drawn.parts,
            event=self.event,
            is_resumed=self.is_resumed,
        )
        if len(statistic_digests(query)) == len(group.statistics) and reads is None:
            return AnswerReading(query=query, measurement=measurement)
        if reads is None:
            return None
        try:
            whole = self._lone_inquiry(group, reads)
        except (Refused, UsageError):  # something that it named has changed
            return None
        return None if whole is None else AnswerReading(query=query, measurement=measurement, within=whole)

    def _lone_inquiry(self, group: StoredGroup, reads: Reads) -> Inquiry | None:
        """All that a group measured that was measured by itself, by the texts of the batch; None where they tell less.

        It may measure a number of rows that other statements over the same rows name.
        """
        queries = [reads(text) for text in self.stored.texts]
        alike = [each for each in queries if rows_digest(each) == group.rows and set_digests(each) == group.sets]
        if not alike:
            return None
        merged = replace(alike[0], inquiry=merged_inquiry([each.inquiry for each in alike]))
        digests, statistics = statistic_digests(merged), merged.inquiry.statistics
        inquiry = replace(
            merged.inquiry,
            statistics=tuple(each for each, own in zip(statistics, digests, strict=False) if own in group.statistics),
            quantiles=tuple(
                each
                for each, own in zip(merged.inquiry.quantiles, digests[len(statistics) :], strict=True)
                if own in group.statistics
            ),
        )
        is_whole = set(statistic_digests(replace(merged, inquiry=inquiry))) == set(group.statistics)
        return inquiry if is_whole else None

    def widths(self, grid: int, confidence: Fraction) -> Floats:
        """For each number of a grid a width that its error stays within."""
        if (grid, confidence) not in self._widths:
            stored = self.stored.grids[grid]
            numbers = len(stored.numbers)
            self._widths[grid, confidence] = answer_half_widths(stored.answers, numbers, stored.law, confidence)
        return self._widths[grid, confidence]


@dataclass(frozen=True, kw_only=True)
class BatchBlock(EstimatedBlock):
    """One grouping set of a statement of a batch, whose widths are those of its grid."""

    batch: DrawnBatch
    rows_of: Mapping[int, tuple[int, NDArray[np.int64]]]

    def _ends(self, output: OutputColumn, confidence: Fraction) -> tuple[Floats, Floats]:
        assert output.plain is not None and output.formula is not None
        index, step = output.plain
        if (output.formula, confidence) not in self.ends:
            grid, order = self.rows_of[index]
            widths = abs(float(step)) * self.batch.widths(grid, confidence)[order]
            values = float(step) * np.array([cell.value for cell in self.cell_estimates[index]])
            self.ends[output.formula, confidence] = values - widths, values + widths
        return self.ends[output.formula, confidence]


@dataclass(frozen=True, kw_only=True)
class BatchReading(DerivedReading):
    """A statement's reading of a batch. `rows_of`: by grouping set and statistic, its grid and its numbers there."""

    batch: DrawnBatch
    rows_of: Mapping[tuple[int, int], tuple[int, NDArray[np.int64]]]

    def for_query(self, query: ParsedQuery) -> BatchReading:
        return replace(self, query=query, earlier_estimate=replace(self.earlier_estimate, query=query))

    def variance(self) -> Fraction:
        """The largest variance of its noise."""
        variances = [cell.variance for cells in self.earlier_estimate.cells.values() for cell in cells]
        return Fraction(max(variances, default=0.0))

    def _block(self, place: int) -> AnswerBlock:
        plain = super()._block(place)
        assert isinstance(plain, EstimatedBlock)
        block = BatchBlock(
            query=plain.query,
            place=plain.place,
            keys=plain.keys,
            shape=plain.shape,
            cell_estimates=plain.cell_estimates,
            batch=self.batch,
            rows_of={index: rows for (own, index), rows in self.rows_of.items() if own == place},
        )
        block.values.update(plain.values)
        return block


def stored_batches(ledger: Ledger, version: Version) -> Iterator[str]:
    """The ids of the batches of a version that were planned as one, and drawn in full."""
    state = ledger.refresh()
    for id_ in state.reservations:
        charge = state.charges[id_]
        is_of_version = (charge.table, charge.version) == (version.table, version.number)
        if is_of_version and id_ in state.answers and is_batch(ledger, id_):
            yield id_


def is_batch(ledger: Ledger, id_: str) -> bool:
    """Whether what a program stored under its reservation is the plan of a batch; read once, and then remembered."""
    if id_ in _OTHERS:
        return False
    if ledger.answer(id_).startswith(f'{{"kind":"{KIND}",'):
        return True
    _OTHERS.add(id_)
    return False


#: Reservations of other kinds. What is stored never changes, and ids are drawn at random, once for ever.
_OTHERS: set[str] = set()
#: Batches as they were read.
_READ: dict[str, DrawnBatch] = {}
_MOST_READ = 16


def drawn_batch(ledger: Ledger, id_: str) -> DrawnBatch | None:
    """A batch that was drawn in full; read once, and then remembered."""
    if id_ not in _READ:
        drawn = DrawnBatch.read(ledger, id_)
        if drawn is None:
            return None
        if len(_READ) >= _MOST_READ:
            _READ.clear()
        _READ[id_] = drawn
    return _READ[id_]


def readings_in_batches(
    query: ParsedQuery, *, version: Version, ledger: Ledger, reads: Reads | None
) -> Iterator[AnswerReading]:
    """Readings of a question in the batches that asked it and were planned as one."""
    for id_ in stored_batches(ledger, version):
        drawn = drawn_batch(ledger, id_)
        for place in () if drawn is None else drawn.stored.groups:
            assert drawn is not None
            reading = drawn.reading(place, query, reads=reads)
            if reading is not None:
                yield reading
                break


def statement_reading(drawn: DrawnBatch, statement: int, catalog: Catalog) -> AnswerReading | None:
    """The reading of a statement, by its place in the batch, where texts mean what they meant; else None.

    A statement that was answered before the batch was asked is not in it.
    """
    from discreet.sql.query_parser import parse_batch  # with all of the parser

    place = drawn.stored.group_of(statement)
    if place is None:
        return None
    try:
        queries = parse_batch(STATEMENT_SEPARATOR.join(drawn.stored.texts), catalog)
    except (Refused, UsageError):  # something that it named has changed
        return None
    return drawn.reading(place, statements_as_stored(queries, drawn.stored)[statement])
