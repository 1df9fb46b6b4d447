"""Plan to SQL. Everything an engine ever runs for a question is written here, from our own plan.

Numbers and texts are written by us, identifiers are quoted, and no function can fail on a value:
comparisons, and arithmetic on codes that the WHERE clause has already kept within their edges.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import assert_never

from discreet.accounting.region import Allowed, Box, Region, Run
from discreet.plan.cells import Axis, Cells
from discreet.plan.predicate import Every, Member, Predicate, Some
from discreet.schema.schema import Schema

#: The stored integers are 64 bits wide; a run may end beyond them.
_LEAST, _MOST = -(2**63), 2**63 - 1


def count_sql(cells: Cells, schema: Schema, *, source: str) -> str:
    """One SELECT of a flat cell number, row-major over the axes, and how many rows lie in that cell.

    `source` is SQL text: a quoted name, or a table function. Cells without rows are left out.

    Guarantee: a row outside `cells.region` is in no cell, and each row is in at most one.
    Because: the region's boxes are ANDed to the predicate, one row of the source is one row here (no
        join), and GROUP BY is of one expression of that row alone.
    """
    for name in _names(cells):
        if schema.column(name) is None:
            raise ValueError(f"no column {name!r} in the schema")
    kept = [*_conjuncts(cells.plan.where), *_sides(cells.region), *(_within(axis) for axis in cells.axes)]
    conditions = [text for text in dict.fromkeys(kept) if text != "TRUE"]
    lines = [f"SELECT {_cell(cells.axes)} AS cell, count(*) AS rows", f"FROM {source}"]
    if conditions:
        lines.append("WHERE " + "\n  AND ".join(conditions))
    if cells.axes:
        lines.append("GROUP BY 1")
    return "\n".join(lines)


def identifier(name: str) -> str:
    """A name, quoted.

    >>> print(identifier('the "age"'))
    "the ""age\"""
    """
    return '"' + name.replace('"', '""') + '"'


def text_literal(text: str) -> str:
    """A text, quoted; a NUL, which SQL text cannot hold, by its number.

    >>> print(text_literal("it's"), text_literal("a" + chr(0)))
    'it''s' ('a' || chr(0) || '')
    """
    parts = ["'" + part.replace("'", "''") + "'" for part in text.split("\0")]
    return parts[0] if len(parts) == 1 else "(" + " || chr(0) || ".join(parts) + ")"


def predicate_sql(predicate: Predicate) -> str:
    """A predicate as a condition that is TRUE, or FALSE or NULL, where `predicate.holds` says so."""
    match predicate:
        case Member(column=column, allowed=allowed):
            return allowed_sql(column, allowed)
        case Every(parts=parts):
            return _joined(" AND ", [predicate_sql(part) for part in parts], empty="TRUE")
        case Some(parts=parts):
            return _joined(" OR ", [predicate_sql(part) for part in parts], empty="FALSE")
        case _:
            assert_never(predicate)


def region_sql(region: Region) -> str:
    """The records of a region as a condition."""
    return _joined(" OR ", [_box(box) for box in region.boxes], empty="FALSE")


def _box(box: Box) -> str:
    return _joined(" AND ", [allowed_sql(name, allowed) for name, allowed in box.sides.items()], empty="TRUE")


def _conjuncts(predicate: Predicate) -> list[str]:
    """A predicate as conditions that must all hold: one line each, for the reader."""
    parts = predicate.parts if isinstance(predicate, Every) else (predicate,)
    return [predicate_sql(part) for part in parts]


def _sides(region: Region) -> list[str]:
    """A region in the same way. The box of a plain conjunction is that conjunction, and is written once."""
    if len(region.boxes) != 1:
        return [region_sql(region)]
    return [allowed_sql(name, allowed) for name, allowed in region.boxes[0].sides.items()]


def allowed_sql(column: str, allowed: Allowed) -> str:
    """`column` takes an allowed value."""
    name = identifier(column)
    points, spans = [], []
    for run in allowed.runs:
        point = _point(run)
        if point is None:
            spans.append(_span(name, run))
        else:
            points.append(point)
    parts = [f"{name} = {points[0]}"] if len(points) == 1 else []
    parts = [f"{name} IN ({', '.join(points)})"] if len(points) > 1 else parts
    parts += spans
    if allowed.null:
        parts.append(f"{name} IS NULL")
    return _joined(" OR ", parts, empty="FALSE")


def _point(run: Run) -> str | None:
    """The one value in a run, as a literal."""
    match run:
        case (int() as low, int() as high) if high == low + 1 and _LEAST < low <= _MOST:
            return str(low)
        case (str() as low, str() as high) if high == low + "\0":
            return text_literal(low)
        case _:
            return None


def _span(name: str, run: Run) -> str:
    """A run as comparisons. Whole numbers are cut to 64 bits: beyond them an engine compares floats."""
    low, high = run
    if isinstance(low, str) or isinstance(high, str):
        return _joined(" AND ", [*_text_low(name, low), *_text_high(name, high)], empty="TRUE")
    first = None if low is None or low <= _LEAST else low
    last = None if high is None or high > _MOST else high - 1
    if (first is not None and first > _MOST) or (last is not None and last < _LEAST):
        return "FALSE"
    if first is not None and last is not None:
        return f"{name} BETWEEN {first} AND {last}"
    if first is not None:
        return f"{name} >= {first}"
    return f"{name} IS NOT NULL" if last is None else f"{name} <= {last}"


def _text_low(name: str, low: object) -> list[str]:
    """At least `low`. No text lies between s and s + NUL, so a trailing NUL is a strict comparison."""
    if not isinstance(low, str):
        return []
    return [f"{name} > {text_literal(low[:-1])}" if low.endswith("\0") else f"{name} >= {text_literal(low)}"]


def _text_high(name: str, high: object) -> list[str]:
    """Below `high`."""
    if not isinstance(high, str):
        return []
    return [f"{name} <= {text_literal(high[:-1])}" if high.endswith("\0") else f"{name} < {text_literal(high)}"]


def _within(axis: Axis) -> str:
    """The row has a cell on this axis. Always so in a declared table; without it an index could go astray."""
    return allowed_sql(axis.column, Allowed(((axis.edges[0], axis.edges[-1]),), axis.null))


def _cell(axes: tuple[Axis, ...]) -> str:
    """The flat cell number: each axis in turn, the last one varying fastest."""
    text = ""
    for place, axis in enumerate(axes):
        text = f"{f'({text})' if place > 1 else text} * {axis.size} + {_place(axis)}" if place else _place(axis)
    return text or "0"


def _place(axis: Axis) -> str:
    """The number of the cell on one axis, for a code within its edges or, if the axis has such a cell, NULL."""
    first, size, bins = axis.edges[0], axis.edges[-1] - axis.edges[0], len(axis.edges) - 1
    code = f"CAST({identifier(axis.column)} AS BIGINT)"
    steps = f"({code} - {first})" if first > 0 else f"({code} + {-first})" if first < 0 else code
    even = all(edge == first + place * size // bins for place, edge in enumerate(axis.edges))
    if even and (size + 1) * bins < 2**62:
        # With edges at first + place * size // bins, the last edge at or below a code is found by
        # one division: place * size // bins <= x  <=>  place * size < (x + 1) * bins.
        if size % bins:
            steps = f"(({steps} + 1) * {bins} - 1) // {size}"
        elif size > bins:
            steps = f"{steps} // {size // bins}"
        return f"coalesce({steps}, {bins})" if axis.null else steps
    name = identifier(axis.column)
    search = _search(name, axis.edges, 0, bins)
    return f"CASE WHEN {name} IS NULL THEN {bins} ELSE {search} END" if axis.null else search


def _search(name: str, edges: tuple[int, ...], low: int, high: int) -> str:
    """A binary search for the cell among [low, high), as nested CASEs."""
    if high - low == 1:
        return str(low)
    middle = (low + high) // 2
    below, above = _search(name, edges, low, middle), _search(name, edges, middle, high)
    return f"CASE WHEN {name} < {edges[middle]} THEN {below} ELSE {above} END"


def _names(cells: Cells) -> Iterable[str]:
    yield from (axis.column for axis in cells.axes)
    yield from (name for box in cells.region.boxes for name in box.sides)


def _joined(word: str, parts: list[str], *, empty: str) -> str:
    """Conditions joined by AND or OR, in brackets where there are several."""
    if not parts:
        return empty
    return parts[0] if len(parts) == 1 else f"({word.join(parts)})"
