"""The SELECT that makes a declared table: one row of codes for each row of the source, in any engine's SQL.

Guarantee: the stored form of a row depends on that row and the declaration alone, in every column.
Because: each expression looks at one value of the row (`ConversionForms`), or at a code that was made of it; a
    category's list is joined by equality on a key without doubles.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from discreet.engines.rounding_notes import finer_column, is_rounded, rounding_distance_sql
from discreet.engines.table_file import code_bounds
from discreet.schema.column import BooleanColumn, CategoryColumn, Column, MomentColumn, NumberColumn
from discreet.schema.schema import Schema

#: What `unread` is of a value that does not fit, and of a mark that stands for a missing one.
NULLED, MARK = 1, 2


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversionForms:
    """What an engine writes in its own way.

    raw: the code of a value before it is clamped or filled in, NULL where it does not fit: a column, the value's SQL,
        its kind, and `code`, where a category's code stands once its list has been joined.
    word: a value as the text that categories are compared with. storage: the type that holds every code of a column.
    missing: whether a value of a column, of a kind, stands for none.
    wide: a whole-number type with room for products of codes.
    fence: ends the inner SELECT, where it has to be kept from being written into the outer one. alias: of a SELECT.
    """

    raw: Callable[..., str]
    word: Callable[[str, Any], str]
    storage: Callable[[Column], str]
    missing: Callable[[Column, str, Any], str]
    wide: str
    fence: str = ""
    alias: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowSelection:
    """Which rows and columns are selected. For persons: further `joins`, other values `beside` by name, a condition,
    only some `places`, and nothing that the owner is told.
    """

    joins: Sequence[str] = ()
    beside: Mapping[str, str] = field(default_factory=dict)
    where: str = "true"
    places: Collection[int] | None = None
    with_counts: bool = True


#: Every row and column, and what the owner is told of them.
EVERYTHING = RowSelection()


def select_sql(
    schema: Schema,
    values: Sequence[str],
    kinds: Sequence[Any],
    *,
    source: str,
    forms: ConversionForms,
    selection: RowSelection = EVERYTHING,
) -> str:
    """The declared table and, beside each column, what the owner is told about it."""
    beside, places, with_counts = selection.beside, selection.places, selection.with_counts
    inner, outer, lists = [f"{value} AS {name}" for name, value in beside.items()], list(beside), []
    for place, (column, value, kind) in enumerate(zip(schema.columns, values, kinds, strict=True)):
        if places is not None and place not in places:
            continue
        inner.append(f"{forms.raw(column, value, kind, code=f'list_{place}.code')} AS raw_{place}")
        inner.append(f"{_given(column, value, kind, forms)} AS given_{place}")
        outer.append(f"CAST({_filled(column, place)} AS {forms.storage(column)}) AS stored_{place}")
        if with_counts and isinstance(column, NumberColumn) and is_rounded(column):
            inner.append(f"{forms.raw(finer_column(column), value, kind)} AS fine_{place}")
        outer += _count_columns(column, place, forms) if with_counts else []
        if isinstance(column, CategoryColumn):
            lists.append(f"LEFT JOIN list_{place} ON {forms.word(value, kind)} = list_{place}.word")
    return "SELECT\n  {}\nFROM (\n  SELECT\n    {}\n  FROM {} AS s\n  {}\n  WHERE {}{}\n){}".format(
        ",\n  ".join(outer),
        ",\n    ".join(inner),
        source,
        "\n  ".join([*selection.joins, *lists]),
        selection.where,
        forms.fence,
        forms.alias,
    )


def _given(column: Column, value: str, kind: Any, forms: ConversionForms) -> str:
    """Whether a value is given: 0 where it is NULL or empty, `MARK` where it is a mark such as NA, else 1."""
    missing = forms.missing(column, value, kind)
    marked = (
        ""
        if missing == "false"
        else (f"WHEN {missing} THEN CASE WHEN {forms.word(value, kind)} = '' THEN 0 ELSE {MARK} END ")
    )
    return f"CASE WHEN {value} IS NULL THEN 0 {marked}ELSE 1 END"


def _filled(column: Column, place: int) -> str:
    """A raw code, clamped, or put in place of what did not fit."""
    raw = f"raw_{place}"
    match column:
        case NumberColumn() | MomentColumn():
            # Not least and greatest: they pass over NULL and would turn it into a bound.
            low, high = code_bounds(column) or (0, 0)
            null = f"WHEN {raw} IS NULL THEN {low} " if column.closed else ""
            return f"CASE {null}WHEN {raw} < {low} THEN {low} WHEN {raw} > {high} THEN {high} ELSE {raw} END"
        case CategoryColumn():
            if column.other is not None:
                other = column.values.index(column.other)
                raw = f"CASE WHEN {raw} IS NULL AND given_{place} = 1 THEN {other} ELSE {raw} END"
            return f"coalesce({raw}, 0)" if column.closed else raw
        case BooleanColumn():
            return f"coalesce({raw}, 0)" if column.closed else raw
        case _:
            return raw


def _count_columns(column: Column, place: int, forms: ConversionForms) -> list[str]:
    """Whether a value was given and did not fit, or was a mark and is missing; and whether it was clamped.

    Both of the first are one number, `unread`: PostgreSQL lets a SELECT have so many columns and no more.
    Of a decimal column one number says how it was moved: -1 to a bound, else by so many parts of a step (`rounding`).
    """
    lost = f"raw_{place} IS NULL"
    if isinstance(column, CategoryColumn) and column.other is not None:
        lost += f" AND given_{place} = {MARK}"
    columns = [f"CAST(CASE WHEN {lost} THEN given_{place} ELSE 0 END AS SMALLINT) AS unread_{place}"]
    if isinstance(column, NumberColumn | MomentColumn):
        low, high = code_bounds(column) or (0, 0)
        clamped = f"raw_{place} < {low} OR raw_{place} > {high}"
        if isinstance(column, NumberColumn) and is_rounded(column):
            parts = rounding_distance_sql(column, f"raw_{place}", f"fine_{place}", wide=forms.wide)
            columns.append(f"CAST(CASE WHEN {clamped} THEN -1 ELSE {parts} END AS SMALLINT) AS moved_{place}")
        else:
            columns.append(f"({clamped}) AS clamped_{place}")
    return columns
