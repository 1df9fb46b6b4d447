"""The ruler of a column: its values as people write them, the cells it is cut into, and back."""

from __future__ import annotations

import bisect
import math
from collections.abc import Iterator
from dataclasses import dataclass

from discreet import exact
from discreet.errors import Command, Flag, Message, UsageError
from discreet.plan.cells import Axis
from discreet.schema.column import Column, Label, MomentColumn, NumberColumn, moment_code
from discreet.sql.group_keys import declared_axis
from discreet.sql.typed_expression import column_expression
from discreet.tables.ranges.ruler_cut import bin_edges, width_of, width_text

#: A column is cut into single values as long as there are not more of them than this.
MOST_CELLS = 2**20

#: Widths of cells of a timestamp, in microseconds: those that people count in.
_SECOND = 10**6
_MOMENTS = (1, 1000, _SECOND, 60 * _SECOND, 3600 * _SECOND, 86400 * _SECOND, 7 * 86400 * _SECOND)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruler:
    """A column with bounds, cut at `edges`: cell i holds the codes in [edges[i], edges[i + 1]).

    `cut`: the width of bins that were asked for; empty where the column is cut as it is declared.
    """

    column: NumberColumn | MomentColumn
    edges: tuple[int, ...]
    cut: str = ""

    @property
    def cells(self) -> int:
        return len(self.edges) - 1

    def axis(self) -> Axis:
        """The cells to count in. Rows whose value is NULL lie in none."""
        of = column_expression(self.column).expression
        return Axis(of=of, edges=self.edges, null=False, labels=())

    def code(self, value: object, *, up: bool) -> int:
        """A value as people write it as a code, rounded up or down to the column's grid."""
        column = self.column
        try:
            if isinstance(column, NumberColumn):
                grid_position = exact.number(value, name=column.name) / column.step
            else:
                grid_position = moment_code(value, column.type)
        except (UsageError, ValueError):
            what = "a number" if isinstance(column, NumberColumn) else f"a {column.type}, such as 2026-11-15"
            raise UsageError(f"{str(value)[:60]!r} is not {what}, the type of column {column.name!r}") from None
        return math.ceil(grid_position) if up else math.floor(grid_position)

    def cells_of(self, low: object, high: object) -> tuple[int, int]:
        """The cells of a range, both ends included; an empty end is the column's own bound.

        Ends beyond the bounds are those of the bounds: no row lies there. Within declared bins a range must begin
        and end where bins do; `high` may also be the value at which the next bin begins.
        """
        assert self.column.low is not None and self.column.high is not None
        first, last = self.edges[0], self.edges[-1] - 1
        if not _empty(low) and (code := self.code(low, up=True)) > self.column.low:
            first = code
        if not _empty(high) and (code := self.code(high, up=False)) < self.column.high:
            last = code
        if first > last:
            raise UsageError(f"column {self.column.name!r} has no value in the range {_range_text(low, high)}")
        begin, end = self._edge(first), self._edge(last + 1)
        if end is None and last > first:
            end = self._edge(last)  # as bins are spoken of: 0 to 100 is up to, not including, 100
        if begin is None or end is None:
            raise UsageError(
                f"the range {_range_text(low, high)} splits a bin of {self.column.name!r}",
                hint=f"start and end where bins start; nearby bins start at "
                f"{', '.join(dict.fromkeys(self._near(first, last)))}",
            )
        return begin, end - 1

    def _edge(self, code: int) -> int | None:
        """The number of the edge at a code."""
        place = bisect.bisect_left(self.edges, code)
        return place if place < len(self.edges) and self.edges[place] == code else None

    def _near(self, first: int, last: int) -> Iterator[str]:
        """Where bins near a range begin."""
        for code in (first, last + 1):
            place = bisect.bisect_left(self.edges, code)
            for edge in dict.fromkeys((max(0, place - 1), min(place, self.cells))):
                yield str(self.column.label(self.edges[edge]))

    def low(self, cell: int) -> Label:
        """The least value of a cell."""
        assert self.column.low is not None
        return self.column.label(max(self.edges[cell], self.column.low))

    def high(self, cell: int) -> Label:
        """The largest value of a cell."""
        assert self.column.high is not None
        return self.column.label(min(self.edges[cell + 1] - 1, self.column.high))


def ruler_of(column: Column, *, table: str = "TABLE", bins: object = None, width: object = None) -> Ruler:
    """The ruler of a declared column: its bins, its single values, or as many equal cells as may be.

    `bins`, `width`: other bins than the declared ones.
    """
    if not isinstance(column, NumberColumn | MomentColumn):
        raise UsageError(
            f"{column.name!r} cannot have ranges: its values have no order",
            hint=Message(Command("histogram"), " counts each of its values"),
        )
    if column.low is None or column.high is None:
        raise UsageError(
            f"ranges of {column.name!r} need declared bounds",
            hint=Message(
                "declare low and high; or ",
                Command("bounds", table, column.name, Flag("epsilon", 0.1)),
                " measures them",
            ),
        )
    if (wide := width_of(column, bins=bins, width=width)) is not None:
        return Ruler(column=column, edges=bin_edges(column, wide), cut=width_text(wide))
    binned = declared_axis(column) if column.edges is not None else None
    if binned is not None:
        return Ruler(column=column, edges=binned.edges)
    size = column.high - column.low + 1
    width = _width(column, -(-size // MOST_CELLS))
    first = column.low - column.low % width
    return Ruler(column=column, edges=tuple(range(first, column.high + width + 1, width)))


def _width(column: NumberColumn | MomentColumn, least: int) -> int:
    """A round width of cells, in codes, no smaller than `least`."""
    if least <= 1:
        return 1
    if isinstance(column, MomentColumn) and column.type == "timestamp":
        return next((width for width in _MOMENTS if width >= least), 86400 * _SECOND * -(-least // (86400 * _SECOND)))
    rounds = (digit * int(10**power) for power in range(40) for digit in (1, 2, 5))
    return next(width for width in rounds if width >= least)


def _empty(value: object) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


def _range_text(low: object, high: object) -> str:
    """A range in words: one of its ends may be left out."""
    if _empty(low):
        return "of all values" if _empty(high) else f"up to {str(high)[:60]}"
    return f"from {str(low)[:60]}" + (" upwards" if _empty(high) else f" to {str(high)[:60]}")
