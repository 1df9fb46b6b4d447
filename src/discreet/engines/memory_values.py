"""Values as the declared table holds them, one by one: what is stored, and what the owner is told of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from discreet.accounting.region import Value
from discreet.engines.missing_values import is_missing, marks_of
from discreet.engines.rounding_notes import RoundingNote, finer_column, make_rounding_notes, rounding_distance
from discreet.engines.source_values import SourceValue, cell_code
from discreet.engines.table_file import code_bounds
from discreet.schema.column import BooleanColumn, CategoryColumn, Column, MomentColumn, NumberColumn, TextColumn


def stored_code(column: Column, value: SourceValue) -> Value | None:
    """What the declared table holds for a source value. One that is missing is no other value, and fits."""
    code = cell_code(column, value)
    match column:
        case NumberColumn() | MomentColumn():
            low, high = code_bounds(column) or (0, 0)
            if code is None:
                return low if column.closed else None
            return min(max(int(code), low), high)
        case CategoryColumn() if code is None and not is_missing(value, marks_of(column)) and column.other is not None:
            return column.values.index(column.other)
        case CategoryColumn() | BooleanColumn():
            return 0 if code is None and column.closed else code
        case TextColumn():
            return None if is_missing(value, marks_of(column)) else code


def is_lost(column: Column, value: SourceValue) -> bool:
    """Whether a value was given and did not fit."""
    kept = isinstance(column, CategoryColumn) and column.other is not None
    return not is_missing(value, marks_of(column)) and cell_code(column, value) is None and not kept


def is_missing_mark(column: Column, value: SourceValue) -> bool:
    """Whether a value is a mark such as NA, and is read as missing. A category that lists one means it."""
    unread = isinstance(column, TextColumn) or cell_code(column, value) is None
    return value is not None and value != "" and is_missing(value, marks_of(column)) and unread


def is_clamped(column: Column, value: SourceValue) -> bool:
    """Whether a value was clamped."""
    code = cell_code(column, value)
    limits = code_bounds(column)
    return isinstance(code, int) and limits is not None and not limits[0] <= code <= limits[1]


def rounding_parts(column: Column, value: SourceValue) -> int:
    """By how many parts of a step a value was rounded; 0 where it was clamped, or is none."""
    if not isinstance(column, NumberColumn) or is_clamped(column, value):
        return 0
    code, fine = cell_code(column, value), cell_code(finer_column(column), value)
    return rounding_distance(column, code, fine) if isinstance(code, int) and isinstance(fine, int) else 0


def rounding_notes_of(moves: Mapping[Column, Sequence[int]]) -> dict[str, RoundingNote]:
    """What the owner is told of values that were rounded."""
    columns = {column: distances for column, distances in moves.items() if isinstance(column, NumberColumn)}
    return make_rounding_notes(
        {
            column: (sum(each > 0 for each in distances), max(distances, default=0))
            for column, distances in columns.items()
        }
    )
