"""A batch cut into cells: which numbers of which statements are sums over which cells of common grids.

Public facts alone: statements, declarations and public tables. Nothing is measured, and nothing is rounded: a number
whose rows are not exactly some cells is measured by itself.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from discreet.accounting.region import ANYTHING, Box, Region, ValueSet
from discreet.answers.reconcile.exact_region import cells_of, exact_region, intersect_regions
from discreet.answers.workload.column_cuts import (
    Cuts,
    box_places,
    cells_between,
    cut_columns,
    cuts_of,
    merged_cuts,
)
from discreet.inference.reconcile import ColumnDomains
from discreet.plan.cell_statistics import RowCount, Statistic, Sum
from discreet.plan.cells import Axis
from discreet.plan.expressions import Code, Expression, walk
from discreet.plan.predicate import TRUE, span
from discreet.plan.relation import Filter, JoinPerson, JoinPublic, LimitGroups, PerPerson, Plan, Scan
from discreet.sql.parsed_query import ParsedQuery

#: A grid has no more cells than this.
MOST_CELLS = 2**20

#: Nor more cells times numbers than this.
MOST_PLACES = 2**26

#: A grouping set with more groups than this is measured by itself, and a grid has no more numbers.
MOST_NUMBERS = 2**13


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class GridNumber:
    """One number of an answer: the sum over `cells` of what the grid counts.

    `statement`: its place in the batch. `place`, `index`: the grouping set and the statistic, as the statement's own
    inquiry numbers them. `cell`: the group within the set, row-major. Without cells the number is 0, whatever the data.
    """

    statement: int
    place: int
    index: int
    cell: int
    cells: NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class CellGrid:
    """Cells of one relation, all axes crossed, row-major; and the numbers that are sums over them.

    Guarantee: whatever the rows, each number is the sum of `statistic` over its cells.
    Because: every row of `plan` lies in exactly one cell, the axes being cut over all values that their columns can
        take; and the rows of a number are exactly those of its cells (`exact_region`, `cells_of`). A statistic here
        adds one term for each row, which depends on that row alone.
    """

    plan: Plan
    axes: tuple[Axis, ...]
    statistic: RowCount | Sum
    numbers: tuple[GridNumber, ...]

    @property
    def size(self) -> int:
        return math.prod(axis.size for axis in self.axes)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(axis.size for axis in self.axes)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class BatchCut:
    """A batch as grids, and the statements that are measured by themselves: each statement is in one or the other."""

    grids: tuple[CellGrid, ...]
    alone: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Table:
    """One statistic over one grouping set of a statement: the exact boxes of each of its numbers."""

    statement: int
    place: int
    index: int
    relation: Plan
    statistic: RowCount | Sum
    boxes: tuple[tuple[Box, ...], ...]
    cuts: Cuts

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(sorted(self.cuts))


def cut_cells(queries: Sequence[ParsedQuery], domain: ColumnDomains) -> BatchCut:
    """The grids of a batch. `domain`: of the declared columns, for queries that do not bring their own schema."""
    families: dict[tuple[Plan, Statistic], list[_Table]] = {}
    domains: dict[Plan, dict[str, ValueSet]] = {}
    alone: list[int] = []
    for number, query in enumerate(queries):
        relation, _ = _unfiltered(query.inquiry.plan)
        own = {**domains.get(relation, {}), **_domains(query, domain)}
        tables = _tables(number, query, own)
        if tables is None:
            alone.append(number)
            continue
        domains[relation] = own
        for table in tables:
            families.setdefault((table.relation, table.statistic), []).append(table)
    grids = [
        _grid(cluster, domains[relation])
        for (relation, _), tables in families.items()
        for cluster in _clusters(tables, domains[relation])
    ]
    return BatchCut(grids=tuple(grids), alone=tuple(alone))


def _unfiltered(plan: Plan) -> tuple[Plan, Region | None]:
    """The relation beneath a statement's own row filters, and the rows that these keep."""
    conditions: list[Region | None] = []
    while isinstance(plan, Filter):
        conditions.append(exact_region(plan.where))
        plan = plan.source
    return plan, intersect_regions(conditions)


def _tables(number: int, query: ParsedQuery, domains: Mapping[str, ValueSet]) -> list[_Table] | None:
    """What a statement measures, as exact boxes; None where some of it is not a plain sum over such."""
    inquiry = query.inquiry
    if inquiry.keys or inquiry.quantiles or query.having is not None or not _is_plain(query):
        return None
    relation, rows = _unfiltered(inquiry.plan)
    if isinstance(relation, LimitGroups):  # which rows count depends on the groups of that statement
        return None
    if any(math.prod(axis.size for axis in axes) > MOST_NUMBERS for axes in inquiry.sets):
        return None
    tables = []
    for place, axes in enumerate(inquiry.sets):
        key_cells = [cells_of(axis, domains) for axis in axes]
        for index, statistic in enumerate(inquiry.statistics):
            if not isinstance(statistic, RowCount | Sum) or (isinstance(statistic, Sum) and statistic.grain > 1):
                return None
            counted = intersect_regions([rows, exact_region(statistic.where)])
            groups = [
                intersect_regions([counted, *cell])
                for cell in itertools.product(*(each if each is not None else (None,) for each in key_cells))
            ]
            boxes = tuple(_possible_boxes(group, domains) for group in groups if group is not None)
            cuts = cuts_of(itertools.chain(*boxes), domains)
            if len(boxes) < len(groups) or cuts is None:
                return None
            table = _Table(
                statement=number,
                place=place,
                index=index,
                relation=relation,
                statistic=replace(statistic, where=TRUE),
                boxes=boxes,
                cuts=cuts,
            )
            if not _Cluster(domains).add([table]):
                return None
            tables.append(table)
    return tables


def has_plain_columns(query: ParsedQuery) -> bool:
    """Is every column a key, or a multiple of one statistic?"""
    return all(output.plain is not None for output in query.outputs if output.formula is not None) and all(
        output.quantile is None for output in query.outputs
    )


def _is_plain(query: ParsedQuery) -> bool:
    """Does it have plain columns that show all of its statistics?

    (Statements of a batch that share their rows share an inquiry: only all of them together show all of it.)
    """
    shown = {output.plain[0] for output in query.outputs if output.plain is not None}
    return has_plain_columns(query) and shown == set(range(len(query.inquiry.statistics)))


def _possible_boxes(region: Region, domains: Mapping[str, ValueSet]) -> tuple[Box, ...]:
    """The boxes that somebody can be in, without the sides that leave nobody out."""
    boxes = []
    for box in region.boxes:
        sides = {column: allowed & domains.get(column, ANYTHING) for column, allowed in box.sides.items()}
        if not any(allowed.empty for allowed in sides.values()):
            boxes.append(Box({column: own for column, own in sides.items() if own != domains.get(column)}))
    return tuple(boxes)


def _domains(query: ParsedQuery, domain: ColumnDomains) -> dict[str, ValueSet]:
    """The values that the columns of a statement's relation can take, as far as that is known."""
    relation, _ = _unfiltered(query.inquiry.plan)
    domains: dict[str, ValueSet] = {}
    if _has_declared_columns(relation):
        schema = query.schemas.get(query.table)
        domains |= (domain if schema is None else ColumnDomains.of(schema.columns)).columns
    for expression in _expressions(query, relation):
        for part in walk(expression):
            if isinstance(part, Code) and part.column not in domains:
                domains[part.column] = span(part)
    return {**domains, **_public_domains(query, relation)}


def _public_domains(query: ParsedQuery, relation: Plan) -> dict[str, ValueSet]:
    """Of the columns of public tables the range of the codes that are there: public, and exact."""
    domains: dict[str, ValueSet] = {}
    while not isinstance(relation, Scan | PerPerson):
        if isinstance(relation, JoinPublic) and relation.place in query.publics:
            table = query.publics[relation.place]
            for name in relation.columns:
                codes = (
                    [code for code in table[name].to_pylist() if code is not None] if name in table.schema.names else []
                )
                if codes and all(type(code) is int for code in codes):
                    null = relation.outer or len(codes) < table.num_rows
                    domains[name] = ValueSet(((min(codes), max(codes) + 1),), null)
        relation = relation.source
    return domains


def _has_declared_columns(plan: Plan) -> bool:
    """Whether a name that is not ours is a declared column: not where rows are made for each person, or are persons."""
    while not isinstance(plan, Scan):
        if isinstance(plan, PerPerson):
            return False
        plan = plan.source
    return not plan.roster


def _expressions(query: ParsedQuery, relation: Plan) -> Iterator[Expression]:
    """What is computed over the relation: it names its columns with their bounds."""
    for axes in query.inquiry.sets:
        for axis in axes:
            yield axis.of
    for statistic in query.inquiry.statistics:
        if isinstance(statistic, Sum):
            yield statistic.of
    while not isinstance(relation, Scan):
        if isinstance(relation, JoinPerson):
            for name, expression in relation.columns:
                yield Code(name, expression.low, expression.high, expression.null or relation.outer)
        if isinstance(relation, PerPerson):
            return
        relation = relation.source


class _Cluster:
    """Tables that are cut together, as long as their cells are not too many."""

    def __init__(self, domains: Mapping[str, ValueSet]) -> None:
        self._domains = domains
        self.tables: list[_Table] = []
        self._cuts: Cuts = {}
        self._numbers = 0

    @property
    def cells(self) -> int:
        return cells_between(self._cuts, self._domains)

    def add(self, tables: Sequence[_Table]) -> bool:
        """Take these in, or say that there is no room."""
        cuts = merged_cuts([self._cuts, *(table.cuts for table in tables)])
        numbers = self._numbers + sum(len(table.boxes) for table in tables)
        cells = cells_between(cuts, self._domains)
        if cells > MOST_CELLS or numbers > MOST_NUMBERS or cells * numbers > MOST_PLACES:
            return False
        self.tables += tables
        self._cuts, self._numbers = cuts, numbers
        return True


def _clusters(tables: list[_Table], domains: Mapping[str, ValueSet]) -> list[list[_Table]]:
    """All tables together, if there is room; else those over the same columns, with others as long as there is."""
    whole = _Cluster(domains)
    if whole.add(tables):
        return [whole.tables]
    by_names: dict[tuple[str, ...], list[_Table]] = {}
    for table in tables:
        by_names.setdefault(table.names, []).append(table)
    chunks: list[_Cluster] = []
    for own in by_names.values():
        chunk = _Cluster(domains)
        chunks.append(chunk)
        for table in own:
            if not chunk.add([table]):
                chunk = _Cluster(domains)
                chunk.add([table])
                chunks.append(chunk)
    chunks.sort(key=lambda chunk: -chunk.cells)
    clusters: list[_Cluster] = []
    for chunk in chunks:
        if not any(cluster.add(chunk.tables) for cluster in clusters):
            clusters.append(chunk)
    return [cluster.tables for cluster in clusters]


def _grid(tables: list[_Table], domains: Mapping[str, ValueSet]) -> CellGrid:
    columns = cut_columns(merged_cuts(table.cuts for table in tables), domains)
    numbers = tuple(
        GridNumber(
            statement=table.statement,
            place=table.place,
            index=table.index,
            cell=cell,
            cells=box_places(columns, boxes),
        )
        for table in tables
        for cell, boxes in enumerate(table.boxes)
    )
    axes = tuple(column.axis for column in columns)
    return CellGrid(plan=tables[0].relation, axes=axes, statistic=tables[0].statistic, numbers=numbers)
