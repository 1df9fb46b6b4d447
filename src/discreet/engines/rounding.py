"""How far values were moved to a decimal column's grid: for the owner's note, and for nothing else.

A value is read a second time, on a finer grid of which a step has `parts` parts. The difference of the two codes is how
far it was moved, to the nearest part. Both codes come from the same conversion, so that engines agree on it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from discreet.engines.stored import MOST_STORED
from discreet.schema.column import MOST_CODE, Column, Number

#: A step has so many parts, where its own digits and the bounds leave room for them.
_MOST_PARTS = 1000
_SMALLEST = Fraction(1, 10**12)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rounded:
    """How many values of a column were rounded to its step, and by how much at most. Exact: for the owner only."""

    exact_values: int
    exact_most: Fraction


def rounds(column: Column) -> bool:
    """Whether values of a column are rounded to a grid."""
    return isinstance(column, Number) and column.type == "decimal"


def parts(column: Number) -> int:
    """Into how many parts a step is cut, to see how far a value was moved: 1 where there is no room."""
    limits = [abs(limit) for limit in (column.low, column.high) if limit is not None]
    found = _MOST_PARTS
    while found > 1 and (column.step / found < _SMALLEST or any((limit + 1) * found > MOST_CODE for limit in limits)):
        found //= 10
    return found


def finer(column: Number) -> Number:
    """The column on the finer grid, a step further than its bounds: half a step beyond them still rounds to a bound."""
    cut = parts(column)
    if cut == 1:
        return column
    low = None if column.low is None else (column.low - 1) * cut
    high = None if column.high is None else (column.high + 1) * cut
    return replace(column, step=column.step / cut, low=low, high=high, edges=None)


def moved(column: Number, code: int, fine: int) -> int:
    """By how many parts of a step a value was moved, given its code and that on the finer grid."""
    return abs(fine - code * parts(column)) if abs(fine) <= MOST_STORED else 0


def moved_sql(column: Number, code: str, fine: str, *, wide: str) -> str:
    """`moved`, as SQL; `wide`: a type in which a code can be multiplied."""
    difference = f"CAST({fine} AS {wide}) - CAST({code} AS {wide}) * {parts(column)}"
    size = f"CASE WHEN {difference} < 0 THEN 0 - ({difference}) ELSE {difference} END"
    return f"CASE WHEN {fine} BETWEEN -{MOST_STORED} AND {MOST_STORED} THEN {size} ELSE 0 END"


def roundings(columns: Mapping[Number, tuple[int, int]]) -> dict[str, Rounded]:
    """What the owner is told, of how many values were moved and by how many parts of a step at most."""
    return {
        column.name: Rounded(exact_values=values, exact_most=most * column.step / parts(column))
        for column, (values, most) in columns.items()
    }
