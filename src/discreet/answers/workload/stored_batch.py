"""A batch as it is stored: its plan, which is stored before the draw. How it is read: `drawn_batch`."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from discreet import exact
from discreet.accounting.region import Region
from discreet.answers.repeats import STATEMENT_SEPARATOR
from discreet.answers.workload.batch_cells import CellGrid, GridNumber
from discreet.answers.workload.batch_quote import BatchQuote, PricedGrid
from discreet.answers.workload.grid_answers import GridAnswers
from discreet.errors import LedgerFault
from discreet.kernel.measurement import Law, law_from_data, law_to_data
from discreet.mechanisms.packed_integers import pack_integers, unpack_integers
from discreet.mechanisms.strategy.strategy import Strategy
from discreet.mechanisms.strategy.strategy_data import strategy_from_data, strategy_to_data
from discreet.plan import relation
from discreet.plan.cell_statistics import Statistic, statistic_data
from discreet.plan.cells import Axis
from discreet.plan.expressions import Code
from discreet.plan.expressions import to_data as expression_data
from discreet.sql.parsed_query import ParsedQuery

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
