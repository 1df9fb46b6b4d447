"""Cells: the waist of the hourglass. Every question is a GROUP BY of whole-number statistics over known keys."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
from dataclasses import dataclass
from typing import Any, Literal

from discreet.accounting.region import Region
from discreet.errors import Refused
from discreet.plan.predicate import Predicate, region, to_data
from discreet.schema.column import Column, Label, Moment, Number, Text, domain, nullable

#: No question has more cells than this: an answer must fit in memory and on a screen.
MOST_CELLS = 2_000_000

#: The largest number of single values that a column without declared bins is grouped by.
MOST_VALUES = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """One group key: cell i holds the codes in [edges[i], edges[i + 1]); the last cell holds NULL if `null`.

    `labels` are what the reader sees; they are not part of what is measured.
    """

    column: str
    edges: tuple[int, ...]
    null: bool
    labels: tuple[Label, ...]

    @property
    def size(self) -> int:
        return len(self.edges) - 1 + self.null


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan:
    """The declared table."""

    table: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Rows that satisfy a predicate."""

    source: Scan
    where: Predicate


Plan = Filter
#: The number of rows in a cell. More statistics come with the SQL issue.
Statistic = Literal["rows"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cells:
    """A plan, its keys and its statistics. Axes are in the order of their names, so spelling does not matter."""

    plan: Plan
    axes: tuple[Axis, ...]
    statistics: tuple[Statistic, ...] = ("rows",)

    def __post_init__(self) -> None:
        if list(self.axes) != sorted(self.axes, key=lambda axis: (axis.column, axis.edges)):
            raise ValueError("axes out of order")
        if self.size > MOST_CELLS:
            raise Refused(
                f"the groups make {self.size:,} cells, more than the {MOST_CELLS:,} that one question may have",
                hint="group by fewer columns or wider bins",
            )

    @property
    def table(self) -> str:
        return self.plan.source.table

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(axis.size for axis in self.axes)

    @property
    def size(self) -> int:
        return math.prod(self.shape) * len(self.statistics)

    @property
    def region(self) -> Region:
        """Which records the question can touch."""
        return region(self.plan.where)

    def to_data(self) -> dict[str, Any]:
        """What is measured, as JSON data; equal questions have equal data."""
        return {
            "table": self.table,
            "where": to_data(self.plan.where),
            "axes": [[axis.column, list(axis.edges), axis.null] for axis in self.axes],
            "statistics": list(self.statistics),
        }

    def question(self) -> str:
        """The hash of what is measured."""
        text = json.dumps(self.to_data(), sort_keys=True, separators=(",", ":"), ensure_ascii=True)
        return hashlib.sha256(text.encode()).hexdigest()


def axis(column: Column) -> Axis | None:
    """A column as a group key, by its declared bins or single values; None where its values are not declared."""
    limits = domain(column)
    if limits is None or isinstance(column, Text):
        return None
    if isinstance(column, Number | Moment) and column.edges is not None:
        bins = [_interval(column, low, high, last=high == limits[1]) for low, high in _pairs(column.edges)]
        return Axis(column=column.name, edges=column.edges, null=True, labels=(*bins, None))
    low, high = limits
    if isinstance(column, Number | Moment) and high - low > MOST_VALUES:
        return None
    null = nullable(column)
    values = [column.label(code) for code in range(low, high)]
    return Axis(
        column=column.name,
        edges=tuple(range(low, high + 1)),
        null=null,
        labels=(*values, None) if null else tuple(values),
    )


def width_axis(column: Number, width: int) -> Axis | None:
    """`floor(x / width) * width` as a group key: the multiples of `width` codes that meet the bounds."""
    limits = domain(column)
    if limits is None or width < 1 or (limits[1] - limits[0]) // width > MOST_VALUES:
        return None
    first = limits[0] // width * width
    edges = tuple(range(first, limits[1] + width, width))
    edges = edges if edges[-2] < limits[1] else edges[:-1]
    return Axis(
        column=column.name,
        edges=edges,
        null=True,
        labels=(*(column.label(edge) for edge in edges[:-1]), None),
    )


def _pairs(edges: tuple[int, ...]) -> list[tuple[int, int]]:
    return list(itertools.pairwise(edges))


def _interval(column: Number | Moment, low: int, high: int, *, last: bool) -> str:
    """A bin for people: [0, 100), and the last one [500, 20000]."""
    return f"[{column.label(low)}, {column.label(high - last)}{']' if last else ')'}"
