"""A batch as it is stored: its plan, which is stored before the draw, and what its steps drew. And how both are read.

Post-processing: noisy values and public facts alone.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet import exact
from discreet.accounting.events import ReservationEvent
from discreet.accounting.region import Region
from discreet.answers.answer_block import AnswerBlock
from discreet.answers.reconcile.derived import DerivedReading, EstimatedBlock
from discreet.answers.reconcile.earlier_estimate import EarlierEstimate, EstimatedCell
from discreet.answers.refine import AnswerReading
from discreet.answers.repeats import STATEMENT_SEPARATOR, Reads, merged_inquiry
from discreet.answers.workload.batch_cells import CellGrid, GridNumber, has_plain_columns
from discreet.answers.workload.batch_plan import Floats
from discreet.answers.workload.batch_quote import BatchQuote, PricedGrid, answer_half_widths
from discreet.answers.workload.grid_answers import GridAnswers
from discreet.errors import LedgerFault, Refused, UsageError
from discreet.kernel.measurement import Law, Measurement, law_from_data, law_to_data
from discreet.kernel.version import Version
from discreet.ledger.ledger import Ledger
from discreet.mechanisms.packed_integers import pack_integers, unpack_integers
from discreet.mechanisms.strategy.strategy import Strategy
from discreet.mechanisms.strategy.strategy_data import strategy_from_data, strategy_to_data
from discreet.plan import relation
from discreet.plan.cell_statistics import Statistic, statistic_data
from discreet.plan.cells import Axis
from discreet.plan.expressions import Code
from discreet.plan.expressions import to_data as expression_data
from discreet.sql.catalog import Catalog
from discreet.sql.parsed_query import OutputColumn, ParsedQuery

KIND = "batch"


@dataclass(frozen=True, kw_only=True)
class StoredGrid:
    """A grid of a stored batch. `numbers` go by the places of groups; `relation` and `statistic` are digests."""

    relation: str
    statistic: str
    axes: tuple[Axis, ...]
    numbers: tuple[GridNumber, ...]
    strategy: Strategy
    law: Law
    words: str

    @staticmethod
    def of(priced: PricedGrid, groups: Sequence[int]) -> StoredGrid:
        grid = priced.planned.grid
        return StoredGrid(
            relation=digest_of(relation.to_data(grid.plan)),
            statistic=digest_of(statistic_data(grid.statistic)),
            axes=grid.axes,
            numbers=tuple(
                GridNumber(
                    statement=groups[each.statement],
                    place=each.place,
                    index=each.index,
                    cell=each.cell,
                    cells=each.cells,
                )
                for each in grid.numbers
            ),
            strategy=priced.planned.strategy,
            law=priced.law,
            words=priced.planned.words,
        )

    def is_of(self, grid: CellGrid) -> bool:
        """Whether it measures the relation and the statistic of a grid."""
        return (self.relation, self.statistic) == (
            digest_of(relation.to_data(grid.plan)),
            digest_of(statistic_data(grid.statistic)),
        )

    @cached_property
    def answers(self) -> GridAnswers:
        """How its numbers follow from what the strategy measures."""
        return GridAnswers.of_cells([number.cells for number in self.numbers], self.strategy)

    def to_data(self) -> dict[str, Any]:
        cells = [number.cells for number in self.numbers]
        steps = [np.diff(own, prepend=0) for own in cells]
        return {
            "relation": self.relation,
            "statistic": self.statistic,
            "columns": [[axis.of.column, axis.null] for axis in self.axes if isinstance(axis.of, Code)],
            "edges": [pack_integers(np.array(axis.edges, dtype=np.int64)) for axis in self.axes],
            "numbers": pack_integers(
                np.array([[n.statement, n.place, n.index, n.cell, len(n.cells)] for n in self.numbers]).ravel()
            ),
            "places": pack_integers(np.concatenate(steps) if steps else np.zeros(0, dtype=np.int64)),
            "strategy": strategy_to_data(self.strategy),
            "law": law_to_data(self.law),
            "words": self.words,
        }

    @staticmethod
    def from_data(data: Mapping[str, Any]) -> StoredGrid:
        axes = []
        for (column, null), packed in zip(data["columns"], data["edges"], strict=True):
            edges = tuple(int(edge) for edge in unpack_integers(packed).tolist())
            axes.append(Axis(of=Code(column, edges[0], edges[-1] - 1, null), edges=edges, null=null, labels=()))
        places = unpack_integers(data["places"]).astype(np.int64)
        numbers, start = [], 0
        for statement, place, index, cell, many in unpack_integers(data["numbers"]).reshape(-1, 5).tolist():
            cells = np.cumsum(places[start : start + many])
            start += many
            numbers.append(GridNumber(statement=statement, place=place, index=index, cell=cell, cells=cells))
        return StoredGrid(
            relation=data["relation"],
            statistic=data["statistic"],
            axes=tuple(axes),
            numbers=tuple(numbers),
            strategy=strategy_from_data(data["strategy"]),
            law=law_from_data(data["law"]),
            words=data["words"],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredGroup:
    """Statements that are one measurement: their places in the batch, and what they measure, by digests.

    `rows`: of the plan and what else says whose rows; `sets`: of each grouping set; `statistics`: of each statistic and
    quantile. `share`: of epsilon or of rho, where they are measured by themselves, with `delta` and `confidence`.
    """

    statements: tuple[int, ...]
    rows: str
    sets: tuple[str, ...]
    statistics: tuple[str, ...]
    share: Fraction | None = None
    delta: Fraction = Fraction(0)
    confidence: Fraction = Fraction(95, 100)

    def to_data(self) -> list[Any]:
        lone = None if self.share is None else [exact.write(each) for each in (self.share, self.delta, self.confidence)]
        return [list(self.statements), self.rows, list(self.sets), list(self.statistics), lone]

    @staticmethod
    def of(
        query: ParsedQuery, statements: Sequence[int], lone: tuple[Fraction, Fraction, Fraction] | None
    ) -> StoredGroup:
        """Of a query that asks for all that the group asks for. `lone`: its share, delta and confidence."""
        share, delta, confidence = (None, Fraction(0), Fraction(95, 100)) if lone is None else lone
        return StoredGroup(
            statements=tuple(statements),
            rows=rows_digest(query),
            sets=set_digests(query),
            statistics=statistic_digests(query),
            share=share,
            delta=delta,
            confidence=confidence,
        )

    def places_of(self, query: ParsedQuery) -> tuple[list[int], list[int]] | None:
        """Where a query's grouping sets and statistics stand here; None where it asks for something else."""
        sets, statistics = set_digests(query), statistic_digests(query)
        if rows_digest(query) != self.rows or not set(sets) <= set(self.sets):
            return None
        if not set(statistics) <= set(self.statistics):
            return None
        return [self.sets.index(own) for own in sets], [self.statistics.index(own) for own in statistics]

    @staticmethod
    def from_data(data: Sequence[Any]) -> StoredGroup:
        statements, rows, sets, statistics, lone = data
        share, delta, confidence = (None, "0/1", "19/20") if lone is None else lone
        return StoredGroup(
            statements=tuple(statements),
            rows=rows,
            sets=tuple(sets),
            statistics=tuple(statistics),
            share=None if share is None else exact.read(share),
            delta=exact.read(delta),
            confidence=exact.read(confidence),
        )


@dataclass(frozen=True, kw_only=True)
class StoredBatch:
    """The plan of a batch. `groups`: by their places among all groups of the batch; those that others answer are not.

    Its steps are the grids in their order, then the groups that are measured by themselves.
    """

    texts: tuple[str, ...]
    groups: Mapping[int, StoredGroup]
    grids: tuple[StoredGrid, ...]
    region: Region

    @staticmethod
    def of(quoted: BatchQuote, queries: Sequence[ParsedQuery]) -> StoredBatch:
        """Of a plan, and the statements of the batch in their order."""
        lone = {each.group: (each.share, each.delta, each.confidence) for each in quoted.alone}
        places = {id(query): number for number, query in enumerate(queries)}
        return StoredBatch(
            texts=tuple(query.text for query in queries),
            groups={
                place: StoredGroup.of(
                    quoted.batch.groups[place][0],
                    [places[id(query)] for query in quoted.batch.groups[place]],
                    lone.get(place),
                )
                for place in quoted.groups
            },
            grids=tuple(StoredGrid.of(each, quoted.groups) for each in quoted.grids),
            region=quoted.region,
        )

    @property
    def alone(self) -> list[int]:
        """The groups that are measured by themselves, in the order of their steps."""
        return [place for place, group in self.groups.items() if group.share is not None]

    @property
    def steps(self) -> int:
        return len(self.grids) + len(self.alone)

    @property
    def words(self) -> str:
        """What is measured, for people."""
        alone = sum(len(self.groups[place].statements) for place in self.alone)
        parts = [
            f"{grid.words} ({grid.strategy.rows:,} noisy {'number' if grid.strategy.rows == 1 else 'numbers'} "
            f"for {len(grid.numbers):,})"
            for grid in self.grids
        ]
        parts += ["1 statement by itself" if alone == 1 else f"{alone} statements by themselves"] if alone else []
        return "; ".join(parts)

    def to_text(self) -> str:
        """As the ledger stores it."""
        return json.dumps(
            {
                "kind": KIND,
                "texts": list(self.texts),
                "groups": [[place, *group.to_data()] for place, group in self.groups.items()],
                "grids": [grid.to_data() for grid in self.grids],
                "region": self.region.to_data(),
                "steps": self.steps,
                "words": self.words,
            },
            separators=(",", ":"),
        )

    @staticmethod
    def from_text(text: str) -> StoredBatch:
        data = json.loads(text)
        if data.get("kind") != KIND:
            raise LedgerFault("the release is not a batch")
        return StoredBatch(
            texts=tuple(data["texts"]),
            groups={place: StoredGroup.from_data(rest) for place, *rest in data["groups"]},
            grids=tuple(StoredGrid.from_data(grid) for grid in data["grids"]),
            region=Region.from_data(data["region"]),
        )

    def group_of(self, statement: int) -> int | None:
        """The group of a statement, by its place in the batch; None where it was answered before."""
        return next((place for place, group in self.groups.items() if statement in group.statements), None)

    def text_of(self, place: int) -> str:
        """The statements of a group, as one text."""
        return STATEMENT_SEPARATOR.join(self.texts[number] for number in self.groups[place].statements)


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
        if len(query.inquiry.statistics) == len(group.statistics) and reads is None:
            return AnswerReading(query=query, measurement=measurement)
        if reads is None:
            return None
        try:
            whole = merged_inquiry([reads(self.stored.texts[number]).inquiry for number in group.statements])
        except (Refused, UsageError):  # something that it named has changed
            return None
        return AnswerReading(query=query, measurement=measurement, within=whole)

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


def digest_of(data: Any) -> str:
    """What stands for data that is compared and never read."""
    return hashlib.sha256(json.dumps(data, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def statistic_digests(query: ParsedQuery) -> tuple[str, ...]:
    """What a query measures, by digests, in the order of its inquiry."""
    inquiry = query.inquiry
    return (*map(_statistic_digest, inquiry.statistics), *(digest_of(each.to_data()) for each in inquiry.quantiles))


def set_digests(query: ParsedQuery) -> tuple[str, ...]:
    """The grouping sets of a query, by digests."""
    return tuple(digest_of([axis.to_data() for axis in axes]) for axes in query.inquiry.sets)


def rows_digest(query: ParsedQuery) -> str:
    """Whose rows a query groups, and by which keys that are not declared."""
    inquiry = query.inquiry
    return digest_of([relation.to_data(inquiry.plan), [expression_data(key) for key in inquiry.keys], inquiry.top])


def _statistic_digest(statistic: Statistic) -> str:
    return digest_of(statistic_data(statistic))


def stored_batches(ledger: Ledger, version: Version) -> Iterator[str]:
    """The ids of the batches of a version that were planned as one, and drawn in full."""
    state = ledger.refresh()
    for id_ in state.reservations:
        charge = state.charges[id_]
        if (
            (charge.table, charge.version) == (version.table, version.number)
            and id_ in state.answers
            and id_ not in _OTHERS
        ):
            if is_batch(ledger, id_):
                yield id_
            else:
                _OTHERS.add(id_)


def is_batch(ledger: Ledger, id_: str) -> bool:
    """Whether what a program stored under its reservation is the plan of a batch."""
    return ledger.answer(id_).startswith(f'{{"kind":"{KIND}",')


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
    return drawn.reading(place, queries[statement])
