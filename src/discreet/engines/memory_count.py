"""Counting in plain Python: a relation as a list of rows, and what the statistics of rows are. Slow and obvious."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, assert_never

import numpy as np

from discreet.accounting.region import Region, Value
from discreet.engines.engine import Integers, Tables
from discreet.engines.files import path_of
from discreet.engines.stored import PERSON, persons_file
from discreet.plan.cells import Axis, Cells
from discreet.plan.evaluate import holds, value
from discreet.plan.expressions import Expression
from discreet.plan.relation import Filter, JoinPerson, JoinPublic, PerPerson, Plan, Scan, base
from discreet.plan.statistics import Distinct, Highest, Inner, Lowest, Mean, Persons, Rows, Statistic, Sum
from discreet.schema.unit import OURS

Record = dict[str, Any]

#: Whose rows the other side of a join are, while it is made.
_WHOSE = f"{OURS}whose"


@dataclass(frozen=True, slots=True, kw_only=True)
class Counting:
    """Counts over the tables of one question."""

    tables: Tables
    region: Region
    _read: dict[Path, list[Record]] = field(default_factory=dict)

    def cells(self, cells: Cells) -> tuple[Integers, ...]:
        """The exact cells, a vector for each statistic."""
        groups: dict[int, list[Record]] = {}
        for row in self.rows(cells.plan, asked=True):
            places = [place(axis, value(axis.of, row)) for axis in cells.axes]
            if cells.found is not None:
                key = tuple(value(of, row) for of in cells.found.of)
                places = [cells.found.keys.index(key) if key in cells.found.keys else None, *places]
            if None not in places:
                groups.setdefault(flat(cells.shape, places), []).append(row)
        return tuple(self._vector(statistic, groups, cells.size) for statistic in cells.statistics)

    def places(self, plan: Plan, axes: tuple[Axis, ...]) -> list[list[int]]:
        """For each row that has a cell on every axis, the numbers of those cells."""
        found = []
        for row in self.rows(plan, asked=True):
            places = [place(axis, value(axis.of, row)) for axis in axes]
            known = [number for number in places if number is not None]
            if len(known) == len(axes):
                found.append(known)
        return found

    def _vector(self, statistic: Statistic, groups: dict[int, list[Record]], size: int) -> Integers:
        found = {
            number: self._statistic(statistic, [row for row in rows if holds(statistic.where, row)])
            for number, rows in groups.items()
        }
        wide = any(abs(each) >= 2**62 for each in found.values())
        vector = np.zeros(size, dtype=object if wide else np.int64)
        for number, each in found.items():
            vector[number] = each
        return vector

    def _statistic(self, statistic: Statistic, rows: list[Record]) -> int:
        match statistic:
            case Rows():
                return len(rows)
            case Persons():
                return len({row[PERSON] for row in rows})
            case Distinct(of=of):
                return len(set(_given(of, rows)))
            case Sum(of=of, centre=centre, grain=grain):
                return sum(int(each) - centre for each in _given(of, rows)) // grain
            case _:
                assert_never(statistic)

    def keys(
        self, plan: Plan, keys: tuple[Expression, ...], *, persons: bool
    ) -> tuple[list[tuple[Value | None, ...]], list[int]]:
        """The keys that exist, NULL last, and how many persons, or rows, have each."""
        found: dict[tuple[Value | None, ...], list[Record]] = {}
        for row in self.rows(plan, asked=True):
            found.setdefault(tuple(value(key, row) for key in keys), []).append(row)
        ordered = sorted(found, key=lambda key: [(part is None, 0 if part is None else part) for part in key])
        counts = [len({row[PERSON] for row in found[key]} if persons else found[key]) for key in ordered]
        return ordered, counts

    def rows(self, plan: Plan, *, asked: bool) -> list[Record]:
        """The rows of a plan. `asked`: the table asked about lies below, and only its region counts."""
        match plan:
            case Scan(roster=True):
                persons = self._file(persons_file(path_of(self.tables.file(plan))))
                return [{PERSON: row["number"], "rows": row["rows"]} for row in persons]
            case Scan():
                rows = self._file(path_of(self.tables.file(plan)))
                return [row for row in rows if not asked or row in self.region]
            case Filter(source=source, where=where):
                return [row for row in self.rows(source, asked=asked) if holds(where, row)]
            case JoinPublic():
                return self._public(plan, asked=asked)
            case JoinPerson():
                return self._person(plan, asked=asked)
            case PerPerson():
                return self._per_person(plan, asked=asked)
            case _:
                assert_never(plan)

    def _file(self, file: Path) -> list[Record]:
        import pyarrow.parquet as pq

        if file not in self._read:
            self._read[file] = pq.read_table(file, partitioning=None).to_pylist()
        return self._read[file]

    def _public(self, plan: JoinPublic, *, asked: bool) -> list[Record]:
        public = self.tables.publics[plan.place].to_pylist()
        empty = dict.fromkeys(self.tables.publics[plan.place].column_names)

        def matches(row: Record, other: Record) -> bool:
            return all(value(left, row) is not None and value(left, row) == other[right] for left, right in plan.on)

        return _joined(self.rows(plan.source, asked=asked), public, matches, empty if plan.outer else None)

    def _person(self, plan: JoinPerson, *, asked: bool) -> list[Record]:
        mine, theirs = self._tags(base(plan.source)), self._tags(base(plan.other))
        others = [
            {name: value(of, row) for name, of in plan.columns} | {_WHOSE: theirs[row[PERSON]]}
            for row in self.rows(plan.other, asked=False)
        ]
        empty = dict.fromkeys([*(name for name, _ in plan.columns), _WHOSE])

        def matches(row: Record, other: Record) -> bool:
            return bool(mine[row[PERSON]] == other[_WHOSE])

        return _joined(self.rows(plan.source, asked=asked), others, matches, empty if plan.outer else None)

    def _tags(self, scan: Scan) -> dict[int, bytes]:
        return {row["number"]: row["tag"] for row in self._file(persons_file(path_of(self.tables.file(scan))))}

    def _per_person(self, plan: PerPerson, *, asked: bool) -> list[Record]:
        groups: dict[tuple[Any, ...], list[Record]] = {}
        for row in self.rows(plan.source, asked=asked):
            key = (row[PERSON], *(value(of, row) for _, of in plan.keys))
            groups.setdefault(key, []).append(row)
        names = [PERSON, *(name for name, _ in plan.keys)]
        return [
            dict(zip(names, key, strict=True)) | {name: _inner(inner, rows) for name, inner in plan.values}
            for key, rows in groups.items()
        ]


def _inner(inner: Inner, rows: list[Record]) -> int | None:
    """A statistic of one person's rows; NULL where it has no value."""
    rows = [row for row in rows if holds(inner.where, row)]
    match inner:
        case Rows():
            return len(rows)
        case Distinct(of=of):
            return len(set(_given(of, rows)))
        case Sum(of=of) | Lowest(of=of) | Highest(of=of) | Mean(of=of):
            given = [int(each) for each in _given(of, rows)]
            if not given:
                return None
            match inner:
                case Sum():
                    return sum(given)
                case Mean(finer=finer):
                    return sum(given) * finer // len(given)
                case _:
                    return min(given) if isinstance(inner, Lowest) else max(given)
        case _:
            assert_never(inner)


def _given(of: Expression, rows: Iterable[Record]) -> list[Value]:
    """The values that are not NULL."""
    return [found for row in rows if (found := value(of, row)) is not None]


def _joined(
    rows: list[Record], others: list[Record], matches: Callable[[Record, Record], bool], empty: Record | None
) -> list[Record]:
    """Each row with each other that it matches; with `empty` where it matches none and the join is outer."""
    found = []
    for row in rows:
        met = [row | other for other in others if matches(row, other)]
        found += met or ([row | empty] if empty is not None else [])
    return found


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
