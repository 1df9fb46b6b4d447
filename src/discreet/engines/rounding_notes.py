"""How far values were moved to a decimal column's grid: for the owner's note, and for nothing else.

A value is read a second time, on a finer grid of which a step has `parts_per_step` parts. The difference of the two
codes is how far it was moved, to the nearest part. Both codes come from the same conversion, so that engines agree on
it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from discreet.engines.table_file import MOST_STORED
from discreet.schema.column import MOST_CODE, Column, NumberColumn

#: A step has so many parts, where its own digits and the bounds leave room for them.
_MOST_PARTS = 1000
_SMALLEST = Fraction(1, 10**12)


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundingNote:
    """How many values of a column were rounded to its step, and by how much at most. Exact: for the owner only."""

    exact_values: int
    exact_most: Fraction


def is_rounded(column: Column) -> bool:
    """Whether values of a column are rounded to a grid."""
    return isinstance(column, NumberColumn) and column.type == "decimal"


def parts_per_step(column: NumberColumn) -> int:
    """Into how many parts a step is cut, to see how far a value was moved: 1 where there is no room."""
    limits = [abs(limit) for limit in (column.low, column.high) if limit is not None]
    part_count = _MOST_PARTS
    while part_count > 1 and (
        column.step / part_count < _SMALLEST or any((limit + 1) * part_count > MOST_CODE for limit in limits)
    ):
        part_count //= 10
    return part_count


def finer_column(column: NumberColumn) -> NumberColumn:
    """The column on the finer grid, a step further than its bounds: half a step beyond them still rounds to a bound."""
    cut = parts_per_step(column)
    if cut == 1:
        return column
    low = None if column.low is None else (column.low - 1) * cut
    high = None if column.high is None else (column.high + 1) * cut
    return replace(column, step=column.step / cut, low=low, high=high, edges=None)


def rounding_distance(column: NumberColumn, code: int, fine: int) -> int:
    """By how many parts of a step a value was moved, given its code and that on the finer grid."""
    return abs(fine - code * parts_per_step(column)) if abs(fine) <= MOST_STORED else 0


def rounding_distance_sql(column: NumberColumn, code: str, fine: str, *, wide: str) -> str:
    """`rounding_distance`, as SQL; `wide`: a type in which a code can be multiplied."""
    difference = f"CAST({fine} AS {wide}) - CAST({code} AS {wide}) * {parts_per_step(column)}"
    size = f"CASE WHEN {difference} < 0 THEN 0 - ({difference}) ELSE {difference} END"
    return f"CASE WHEN {fine} BETWEEN -{MOST_STORED} AND {MOST_STORED} THEN {size} ELSE 0 END"


def make_rounding_notes(columns: Mapping[NumberColumn, tuple[int, int]]) -> dict[str, RoundingNote]:
    """What the owner is told, of how many values were moved and by how many parts of a step at most."""
    return {
        column.name: RoundingNote(exact_values=values, exact_most=most * column.step / parts_per_step(column))
        for column, (values, most) in columns.items()
    }
