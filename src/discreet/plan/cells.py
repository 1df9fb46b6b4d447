"""Cells: the waist of the hourglass. Every question is a GROUP BY of whole-number statistics over known keys."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from discreet.accounting.region import Value
from discreet.errors import Refused
from discreet.plan import relation
from discreet.plan.axis import Axis as Axis
from discreet.plan.cell_statistics import Statistic, statistic_data
from discreet.plan.expressions import Expression
from discreet.plan.relation import Plan

#: No question has more cells than this: an answer must fit in memory and on a screen.
MOST_CELLS = 2_000_000

#: What an engine counts at once, before it is reduced to an answer: a gigabyte of numbers.
MOST_COUNTED = 100_000_000

#: The largest number of single values that a column without declared bins is grouped by.
MOST_VALUES = 10_000


#: Pairs of a number of keys and a weight, upwards: who has at most so many keys adds this weight to each of them.
KeyWeights = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscoveredAxis:
    """Keys that were discovered: cell i holds the rows whose expressions have the values `keys[i]`."""

    of: tuple[Expression, ...]
    keys: tuple[tuple[Value | None, ...], ...]

    @property
    def size(self) -> int:
        return len(self.keys)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cells:
    """What an engine counts: a plan, its keys and its statistics. A cell's number is row-major over the axes.

    `found` is the first axis, where there is one.
    """

    plan: Plan
    axes: tuple[Axis, ...]
    statistics: tuple[Statistic, ...]
    discovered_axis: DiscoveredAxis | None = None

    def __post_init__(self) -> None:
        if not self.statistics:
            raise ValueError("cells need a statistic")
        if math.prod(axis.size for axis in self.axes) * len(self.statistics) > MOST_COUNTED:
            raise ValueError("more cells than an engine can count at once")

    @property
    def shape(self) -> tuple[int, ...]:
        own = tuple(axis.size for axis in self.axes)
        return own if self.discovered_axis is None else (self.discovered_axis.size, *own)

    @property
    def size(self) -> int:
        """The cells of one statistic."""
        return math.prod(self.shape)

    def to_data(self) -> dict[str, Any]:
        """What is measured, as JSON data; equal cells have equal data."""
        return {
            "plan": relation.to_data(self.plan),
            "axes": [axis.to_data() for axis in self.axes],
            "statistics": [statistic_data(statistic) for statistic in self.statistics],
        }


def check_cells(size: int) -> None:
    """Refuse more cells than an answer may have."""
    if size > MOST_CELLS:
        raise Refused(
            f"the groups make {size:,} cells; one query can have at most {MOST_CELLS:,}",
            hint="group by fewer columns or wider bins",
        )


def equal_edges(low: int, high: int, most: int) -> tuple[int, ...]:
    """Edges of at most `most` cells of [low, high) that are equally wide; but the last one may be narrower.

    What is drawn as bars needs them: cells of one and of two codes by turns look like a saw.

    >>> equal_edges(0, 10, 3)
    (0, 4, 8, 10)
    """
    width = -((low - high) // most)
    return (*range(low, high, width), high)


def even_edges(low: int, high: int, most: int) -> tuple[int, ...]:
    """Edges of at most `most` even cells of [low, high), whole codes each.

    >>> even_edges(0, 10, 3)
    (0, 3, 6, 10)
    """
    cells = min(most, high - low)
    return tuple(low + place * (high - low) // cells for place in range(cells + 1))
