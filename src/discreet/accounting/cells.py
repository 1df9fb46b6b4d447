"""Cells: the finite world that the regions of a history can tell apart.

Every column's line is cut at each endpoint that some region has named; between two cuts no region
changes, so a piece of the line is one cell, and NULL is a cell of its own. All columns' cells lie on
one axis, a column after the other: NULL, then the values in order. A region is cut into disjoint
boxes first, so that a record lies in at most one of them and a union needs no care later.

Cuts are remembered by number and only their positions move when a new one comes, so a charge appends
and rewrites nothing.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from discreet.accounting.region import ANYTHING, Allowed, Box, Region, Value, hull

#: A region that takes more disjoint boxes than this is replaced by its hull. Wider is always safe.
MOST_PIECES = 256

Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]


def disjoint(region: Region) -> list[Box]:
    """The region as boxes of which no record lies in two.

    >>> from discreet.accounting.region import Allowed
    >>> either = Region.of([Box({"sex": Allowed.of([1])}), Box({"age": Allowed.interval(60, None)})])
    >>> [sorted(piece.sides) for piece in disjoint(either)]
    [['sex'], ['age', 'sex']]
    """
    boxes = sorted((box.tidy() for box in region.boxes if possible(box)), key=lambda box: len(box.sides))
    pieces: list[Box] = []
    for number, box in enumerate(boxes):
        fresh = [box]
        for earlier in boxes[:number]:
            fresh = [part for piece in fresh for part in _minus(piece, earlier)]
            if len(pieces) + len(fresh) > MOST_PIECES:
                return [hull(boxes)]
        pieces += fresh
    return pieces


def possible(box: Box) -> bool:
    """Is there a record in the box? No text sorts below the empty one."""
    return all(allowed.null or any(high != "" for _, high in allowed.runs) for allowed in box.sides.values())


def _minus(box: Box, other: Box) -> list[Box]:
    """What of `box` lies outside `other`: one part for each side of `other` that is the first to be left."""
    if (box & other).empty:
        return [box]
    parts, sides = [], dict(box.sides)
    for column, allowed in other.sides.items():
        outside = sides.get(column, ANYTHING) & allowed.complement()
        if not outside.empty:
            parts.append(Box(sides | {column: outside}).tidy())
        sides[column] = sides.get(column, ANYTHING) & allowed
    return parts


@dataclass(slots=True)
class _Column:
    """One column's cuts in order, and the numbers they were given. `null`, `bottom`, `top`: where NULL,
    the first value and the end of the line stand."""

    number: int
    null: int
    ends: list[Value] = field(default_factory=list)
    marks: list[int] = field(default_factory=list)

    @property
    def bottom(self) -> int:
        return self.null + 1

    @property
    def top(self) -> int:
        return self.null + 2

    def copy(self) -> _Column:
        return _Column(self.number, self.null, list(self.ends), list(self.marks))


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """All pieces of a history on the axis. Pieces have sides (one for each column that they narrow),
    sides have runs of cells; parents are ascending numbers.

    `event`: of each piece; `piece`, `column`: of each side; `side`, `start`, `stop`: of each run;
    `first`: of each column its first cell, and at the end the number of cells; `void`: cells that hold no value.
    """

    event: Integers
    piece: Integers
    column: Integers
    side: Integers
    start: Integers
    stop: Integers
    first: Integers
    void: Integers


class Cells:
    """The cuts and pieces of one history. Grows, never shrinks."""

    __slots__ = ("_columns", "_marks", "_rows", "_shape", "_tables")

    def __init__(self) -> None:
        self._columns: dict[str, _Column] = {}
        self._marks = 0
        #: Rows not yet in the tables: pieces (event), sides (piece, column), runs (side, low mark, high mark).
        self._rows: tuple[list[int], list[tuple[int, int]], list[tuple[int, int, int]]] = ([], [], [])
        self._tables = (_table(1), _table(2), _table(3))
        self._shape: Shape | None = None

    def copy(self) -> Cells:
        """Tables are replaced, never written into, so both may keep the same ones."""
        twin = Cells()
        twin._columns = {name: column.copy() for name, column in self._columns.items()}
        twin._marks = self._marks
        twin._rows = (list(self._rows[0]), list(self._rows[1]), list(self._rows[2]))
        twin._tables = self._tables
        twin._shape = self._shape
        return twin

    def add(self, pieces: Iterable[Box], *, event: int) -> None:
        """Append the disjoint boxes of one event's region."""
        events, sides, runs = self._rows
        for piece in pieces:
            for name, allowed in piece.sides.items():
                column = self._column(name)
                for low, high in _with_null(allowed, column):
                    low_mark = low if isinstance(low, _Mark) else self._mark(column, low)
                    high_mark = high if isinstance(high, _Mark) else self._mark(column, high)
                    runs.append((len(self._tables[1]) + len(sides), int(low_mark), int(high_mark)))
                sides.append((len(self._tables[0]) + len(events), column.number))
            events.append(event)
        self._shape = None

    def _column(self, name: str) -> _Column:
        column = self._columns.get(name)
        if column is None:
            column = self._columns[name] = _Column(len(self._columns), self._marks)
            self._marks += 3
        return column

    def _mark(self, column: _Column, value: Value) -> int:
        """The number of this cut, a new one if nobody has cut here."""
        place = bisect_left(column.ends, value)  # type: ignore[type-var]
        if place == len(column.ends) or column.ends[place] != value:
            column.ends.insert(place, value)
            column.marks.insert(place, self._marks)
            self._marks += 1
        return column.marks[place]

    def shape(self) -> Shape:
        """The history as arrays; made once after each addition."""
        if self._shape is None:
            self._tables = tuple(  # type: ignore[assignment]
                np.concatenate((table, np.array(rows, dtype=np.int64).reshape(-1, table.shape[1]))) if rows else table
                for table, rows in zip(self._tables, self._rows, strict=True)
            )
            self._rows = ([], [], [])
            self._shape = self._place()
        return self._shape

    def _place(self) -> Shape:
        position = np.zeros(self._marks, dtype=np.int64)
        order: list[int] = []
        first, tops, void = [0], [], []
        for column in self._columns.values():
            if column.ends and column.ends[0] == "":
                void.append(len(order) + 1)  # no text sorts below the empty one
            order += [column.null, column.bottom, *column.marks]
            first.append(len(order))
            tops.append(column.top)
        position[order] = np.arange(len(order))
        position[tops] = first[1:]
        pieces, sides, runs = self._tables
        return Shape(
            event=pieces[:, 0],
            piece=sides[:, 0],
            column=sides[:, 1],
            side=runs[:, 0],
            start=position[runs[:, 1]],
            stop=position[runs[:, 2]],
            first=np.array(first, dtype=np.int64),
            void=np.array(void, dtype=np.int64),
        )

    def inside(self, box: Box) -> Flags:
        """Which cells hold a value that the box allows. A cell is whole for every event, so touching is enough."""
        shape = self.shape()
        keep = np.ones(int(shape.first[-1]), dtype=np.bool_)
        for name, allowed in box.sides.items():
            column = self._columns.get(name)
            if column is None:
                continue
            base = int(shape.first[column.number])
            keep[base : base + len(column.ends) + 2] = False
            keep[base] = allowed.null
            for low, high in allowed.runs:
                if high == "":
                    continue
                bottom = 0 if low is None else bisect_right(column.ends, low)  # type: ignore[type-var]
                top = len(column.ends) if high is None else bisect_left(column.ends, high)  # type: ignore[type-var]
                keep[base + 1 + bottom : base + 2 + top] = True
        keep[shape.void] = False
        return keep

    def holding(self, point: Integers) -> Integers:
        """The events that hold the record with these cells, one for each column."""
        shape = self.shape()
        at = point[shape.column[shape.side]]
        hit = (shape.start <= at) & (at < shape.stop)
        met = np.bincount(shape.side, hit, len(shape.piece))
        held = np.ones(len(shape.event), dtype=np.bool_)
        held[shape.piece[met == 0]] = False
        return shape.event[held]

    def record(self, box: Box, cells: Sequence[int]) -> dict[str, Value | None]:
        """A record of the box whose column number c lies in cell cells[c]."""
        found: dict[str, Value | None] = {}
        first = self.shape().first
        for name, column in self._columns.items():
            cell = cells[column.number] - int(first[column.number])
            found[name] = _value(box.sides.get(name, ANYTHING), column.ends, cell)
        for name, allowed in box.sides.items():
            if name not in found:
                found[name] = _value(allowed, [], 0 if allowed.null else 1)
        return found


class _Mark(int):
    """The number of a cut, told apart from a value."""


def _with_null(allowed: Allowed, column: _Column) -> list[tuple[Value | _Mark, Value | _Mark]]:
    """The runs with marks for their open ends, and NULL as a run of its own, joined where they touch."""
    runs: list[tuple[Value | _Mark, Value | _Mark]] = [
        (_Mark(column.bottom) if low is None else low, _Mark(column.top) if high is None else high)
        for low, high in allowed.runs
    ]
    if not allowed.null:
        return runs
    if allowed.runs and allowed.runs[0][0] is None:
        return [(_Mark(column.null), runs[0][1]), *runs[1:]]
    return [(_Mark(column.null), _Mark(column.bottom)), *runs]


def _value(allowed: Allowed, ends: list[Value], cell: int) -> Value | None:
    """Some value that is allowed and lies in this cell of the column: 0 is NULL, then the values in order."""
    if cell == 0:
        return None
    low = ends[cell - 2] if cell >= 2 else None
    high = ends[cell - 1] if cell <= len(ends) else None
    here = Allowed.interval(low, high) & allowed
    start, stop = next(run for run in here.runs if run[1] != "")
    if start is not None:
        return start
    if stop is None:
        return 0
    return "" if isinstance(stop, str) else stop - 1


def _table(width: int) -> Integers:
    return np.zeros((0, width), dtype=np.int64)
