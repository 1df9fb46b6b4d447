"""Counting in plain Python: a relation as a list of rows, and what the statistics of rows are. Slow and obvious."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, assert_never

import numpy as np
import pyarrow.parquet as pq

from discreet.accounting.region import Region, Value
from discreet.engines.engine import NULL_CODE, Integers, TableLocations
from discreet.engines.file_backed_engine import path_of
from discreet.engines.keyed_hashes import limit_digest
from discreet.engines.table_file import PERSON, persons_file
from discreet.plan.cell_statistics import (
    DistinctCount,
    Inner,
    PersonCount,
    PersonMaximum,
    PersonMean,
    PersonMinimum,
    RowCount,
    Statistic,
    Sum,
)
from discreet.plan.cells import Axis, Cells, KeyWeights
from discreet.plan.evaluate import holds, value
from discreet.plan.expressions import Expression
from discreet.plan.relation import Filter, JoinPerson, JoinPublic, LimitGroups, PerPerson, Plan, Scan, base
from discreet.schema.privacy_unit import OURS

Record = dict[str, Any]

#: Whose rows the other side of a join are, while it is made.
_WHOSE = f"{OURS}whose"


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryCounter:
    """Counts over the tables of one question."""

    tables: TableLocations
    region: Region
    _read: dict[Path, list[Record]] = field(default_factory=dict)

    def cells(self, cells: Cells) -> tuple[Integers, ...]:
        """The exact cells, a vector for each statistic."""
        groups: dict[int, list[Record]] = {}
        for row in self.rows(cells.plan, only_region=True):
            places = [place(axis, value(axis.of, row)) for axis in cells.axes]
            if cells.discovered_axis is not None:
                key = tuple(value(of, row) for of in cells.discovered_axis.of)
                places = [cells.discovered_axis.keys.index(key) if key in cells.discovered_axis.keys else None, *places]
            if None not in places:
                groups.setdefault(flat(cells.shape, places), []).append(row)
        return tuple(self._vector(statistic, groups, cells.size) for statistic in cells.statistics)

    def places(self, plan: Plan, axes: tuple[Axis, ...]) -> list[list[int]]:
        """For each row that has a cell on every axis, the numbers of those cells."""
        rows_of_cells = []
        for row in self.rows(plan, only_region=True):
            places = [place(axis, value(axis.of, row)) for axis in axes]
            cells_of_row = [number for number in places if number is not None]
            if len(cells_of_row) == len(axes):
                rows_of_cells.append(cells_of_row)
        return rows_of_cells

    def person_places(
        self, plan: Plan, axes: tuple[Axis, ...], codes: tuple[Expression, ...]
    ) -> list[tuple[list[int], list[int], int]]:
        """The same with the codes of some columns, and the number of the row's person."""
        rows_of_cells = []
        for row in self.rows(plan, only_region=True):
            places = [place(axis, value(axis.of, row)) for axis in axes]
            cells_of_row = [number for number in places if number is not None]
            if len(cells_of_row) == len(axes):
                own_codes = [value(of, row) for of in codes]
                numbers = [NULL_CODE if code is None else int(code) for code in own_codes]
                rows_of_cells.append((cells_of_row, numbers, int(row[PERSON])))
        return rows_of_cells

    def _vector(self, statistic: Statistic, groups: dict[int, list[Record]], size: int) -> Integers:
        value_by_cell = {
            number: self._statistic(statistic, [row for row in rows if holds(statistic.where, row)])
            for number, rows in groups.items()
        }
        wide = any(abs(each) >= 2**62 for each in value_by_cell.values())
        vector = np.zeros(size, dtype=object if wide else np.int64)
        for number, each in value_by_cell.items():
            vector[number] = each
        return vector

    def _statistic(self, statistic: Statistic, rows: list[Record]) -> int:
        match statistic:
            case RowCount():
                return len(rows)
            case PersonCount():
                return len({row[PERSON] for row in rows})
            case DistinctCount(of=of):
                return len(set(_non_null_values(of, rows)))
            case Sum(of=of, centre=centre, grain=grain):
                return sum(int(each) - centre for each in _non_null_values(of, rows)) // grain
            case _:
                assert_never(statistic)

    def keys(
        self, plan: Plan, keys: tuple[Expression, ...], *, persons: bool, weights: KeyWeights | None = None
    ) -> tuple[list[tuple[Value | None, ...]], list[int]]:
        """The keys that exist, NULL last, and how many persons, or rows, have each, or what its persons add to it."""
        rows_by_key: dict[tuple[Value | None, ...], list[Record]] = {}
        for row in self.rows(plan, only_region=True):
            rows_by_key.setdefault(tuple(value(key, row) for key in keys), []).append(row)
        ordered = sorted(rows_by_key, key=lambda key: [(part is None, 0 if part is None else part) for part in key])
        if weights is not None:
            persons_by_key = {key: {row[PERSON] for row in rows} for key, rows in rows_by_key.items()}
            number = Counter(person for owners in persons_by_key.values() for person in owners)
            added = {person: weight_of(weights, many) for person, many in number.items()}
            return ordered, [sum(added[person] for person in persons_by_key[key]) for key in ordered]
        counts = [len({row[PERSON] for row in rows_by_key[key]} if persons else rows_by_key[key]) for key in ordered]
        return ordered, counts

    def rows(self, plan: Plan, *, only_region: bool) -> list[Record]:
        """The rows of a plan. `only_region`: the table asked about lies below, and only its region counts."""
        match plan:
            case Scan(roster=True):
                persons = self._file(persons_file(path_of(self.tables.file(plan))))
                return [{PERSON: row["number"], "rows": row["rows"]} for row in persons]
            case Scan():
                rows = self._file(path_of(self.tables.file(plan)))
                return [row for row in rows if not only_region or row in self.region]
            case Filter(source=source, where=where):
                return [row for row in self.rows(source, only_region=only_region) if holds(where, row)]
            case JoinPublic():
                return self._public(plan, only_region=only_region)
            case JoinPerson():
                return self._person(plan, only_region=only_region)
            case PerPerson():
                return self._per_person(plan, only_region=only_region)
            case LimitGroups():
                return self._limit_groups(plan, only_region=only_region)
            case _:
                assert_never(plan)

    def _file(self, file: Path) -> list[Record]:
        if file not in self._read:
            self._read[file] = pq.read_table(file, partitioning=None).to_pylist()
        return self._read[file]

    def _public(self, plan: JoinPublic, *, only_region: bool) -> list[Record]:
        public = self.tables.publics[plan.place].to_pylist()
        empty = dict.fromkeys(self.tables.publics[plan.place].column_names)

        def matches(row: Record, other: Record) -> bool:
            return all(value(left, row) is not None and value(left, row) == other[right] for left, right in plan.on)

        return _joined(self.rows(plan.source, only_region=only_region), public, matches, empty if plan.outer else None)

    def _person(self, plan: JoinPerson, *, only_region: bool) -> list[Record]:
        mine, theirs = self._tags(base(plan.source)), self._tags(base(plan.other))
        others = [
            {name: value(of, row) for name, of in plan.columns} | {_WHOSE: theirs[row[PERSON]]}
            for row in self.rows(plan.other, only_region=False)
        ]
        empty = dict.fromkeys([*(name for name, _ in plan.columns), _WHOSE])

        def matches(row: Record, other: Record) -> bool:
            return bool(mine[row[PERSON]] == other[_WHOSE])

        return _joined(self.rows(plan.source, only_region=only_region), others, matches, empty if plan.outer else None)

    def _tags(self, scan: Scan) -> dict[int, bytes]:
        return {row["number"]: row["tag"] for row in self._file(persons_file(path_of(self.tables.file(scan))))}

    def _per_person(self, plan: PerPerson, *, only_region: bool) -> list[Record]:
        groups: dict[tuple[Any, ...], list[Record]] = {}
        for row in self.rows(plan.source, only_region=only_region):
            key = (row[PERSON], *(value(of, row) for _, of in plan.keys))
            groups.setdefault(key, []).append(row)
        names = [PERSON, *(name for name, _ in plan.keys)]
        return [
            dict(zip(names, key, strict=True)) | {name: _inner(inner, rows) for name, inner in plan.values}
            for key, rows in groups.items()
        ]

    def _limit_groups(self, plan: LimitGroups, *, only_region: bool) -> list[Record]:
        """Of each person's groups the first, and of the rows in each of them the first, in the order of their hashes.

        Of equal rows one has occurrence 1, the next 2, and so on, as where a table is made (`keyed_hashes`).
        """
        tags = self._tags(base(plan.source))
        persons: dict[int, dict[tuple[Any, ...], list[Record]]] = {}
        for row in self.rows(plan.source, only_region=only_region):
            places = [place(axis, value(axis.of, row)) for axis in plan.axes]
            if None not in places:
                group = (*places, *(value(key, row) for key in plan.keys))
                persons.setdefault(row[PERSON], {}).setdefault(group, []).append(row)
        kept: list[Record] = []
        for person, groups in persons.items():
            tag = tags[person]
            for group in sorted(groups, key=lambda group: limit_digest(tag, group))[: plan.groups]:
                kept += _first_rows(groups[group], tag, plan)
        return kept


def _first_rows(rows: list[Record], tag: bytes, plan: LimitGroups) -> list[Record]:
    """The first rows of one person in one group."""
    if plan.rows is None:
        return rows
    occurrences: Counter[tuple[Any, ...]] = Counter()
    order = []
    for row in rows:
        content = tuple(row[name] for name in plan.columns)
        occurrences[content] += 1
        order.append((limit_digest(tag, (occurrences[content], *content)), row))
    return [row for _, row in sorted(order, key=lambda pair: pair[0])[: plan.rows]]


def _inner(inner: Inner, rows: list[Record]) -> int | None:
    """A statistic of one person's rows; NULL where it has no value."""
    rows = [row for row in rows if holds(inner.where, row)]
    match inner:
        case RowCount():
            return len(rows)
        case DistinctCount(of=of):
            return len(set(_non_null_values(of, rows)))
        case Sum(of=of) | PersonMinimum(of=of) | PersonMaximum(of=of) | PersonMean(of=of):
            given = [int(each) for each in _non_null_values(of, rows)]
            if not given:
                return None
            match inner:
                case Sum():
                    return sum(given)
                case PersonMean(finer=finer):
                    return sum(given) * finer // len(given)
                case _:
                    return min(given) if isinstance(inner, PersonMinimum) else max(given)
        case _:
            assert_never(inner)


def _non_null_values(of: Expression, rows: Iterable[Record]) -> list[Value]:
    """The values that are not NULL."""
    return [code for row in rows if (code := value(of, row)) is not None]


def _joined(
    rows: list[Record], others: list[Record], matches: Callable[[Record, Record], bool], empty: Record | None
) -> list[Record]:
    """Each row with each other that it matches; with `empty` where it matches none and the join is outer."""
    joined_rows = []
    for row in rows:
        met = [row | other for other in others if matches(row, other)]
        joined_rows += met or ([row | empty] if empty is not None else [])
    return joined_rows


def weight_of(weights: KeyWeights, keys: int) -> int:
    """What a person with so many keys adds to each; nothing where they are more than any weight is for."""
    return next((weight for end, weight in weights if keys <= end), 0)


def place(axis: Axis, code: Value | None) -> int | None:
    """The number of the cell that a code lies in; None where it lies in none."""
    if code is None:
        return axis.size - 1 if axis.null else None
    if not isinstance(code, int) or not axis.edges[0] <= code < axis.edges[-1]:
        return None
    return bisect_right(axis.edges, code) - 1


def flat(shape: tuple[int, ...], places: list[int | None]) -> int:
    """The number of a cell among all cells: the last axis varies fastest."""
    number = 0
    for size, here in zip(shape, places, strict=True):
        number = number * size + (here or 0)
    return number
